"""The result of a comparison of commands: a row for each, the verdict, what is left open."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from psips.commands.labels import Labels
from psips.commands.measuring import Out
from psips.commands.metrics import Metric
from psips.errors import counted
from psips.input.durations import duration_text

FRONT, BEATEN, OUT, OPEN = "front", "beaten", "out", "undecided"
NAMED = 6  # options that a sentence names


@dataclass(frozen=True)
class Estimate:
    """A mean, in seconds, bytes or as printed; geometric where logarithms are compared."""

    value: float
    low: float
    high: float  # of its interval, at the confidence of the comparison

    @property
    def exact(self) -> bool:
        """Whether it has no noise."""
        return self.low == self.high

    @property
    def percent(self) -> float:
        """Half the width of the interval, as a part of the value; NaN if that says nothing."""
        if not self.value > 0.0:
            return math.nan
        return (self.high - self.low) / 2.0 / self.value


@dataclass(frozen=True)
class Row:
    """One option."""

    name: str
    command: str
    role: str  # "front", "beaten", "out", or "undecided"
    runs: int
    estimates: dict[str, Estimate]
    probability: float  # of being Pareto-optimal; NaN if it is not known
    note: str = ""  # what beats it, or why it is out
    ratio: Estimate | None = None  # to the best in the first metric, where ratios are compared


@dataclass(frozen=True)
class Found:
    """The result of a comparison.

    Parameters
    ----------
    stopped : bool
        Whether the Pareto set is known.
    pareto_set : tuple of str or None
        The answer; None if it is not known.
    candidate_set : tuple of str
        The Pareto set of the estimates.
    rows : list of Row
    metrics : list of Metric
    confidence : float
    promise : str
        What stands behind it.
    tolerance : str
    runs, rounds : int
    seconds : float
    more_runs, more_seconds : tuple of (low, median, high) or None
        How many more it takes to know the set.
    ended : str
        Why it ended: "known", "time limit", "interrupted".
    open_text : str
        What is undecided, in words.
    notes : list of str
        What is worth knowing of the machine and the noise.
    out : list of Out
    """

    stopped: bool
    pareto_set: tuple[str, ...] | None
    candidate_set: tuple[str, ...]
    rows: list[Row]
    metrics: list[Metric]
    confidence: float
    promise: str
    tolerance: str
    runs: int
    rounds: int
    seconds: float
    more_runs: tuple[float, float, float] | None
    ended: str
    open_text: str
    notes: list[str]
    out: list[Out]
    seed: int
    study: str = ""
    before: int = 0  # runs that the study knew
    samples: list[dict[str, Any]] = field(default_factory=list, repr=False)
    labels: Labels = field(default_factory=Labels)

    @property
    def more_seconds(self) -> tuple[float, float, float] | None:
        """How much more time it takes, at the pace so far."""
        if self.more_runs is None or not self.runs:
            return None
        low, median, high = (n * self.seconds / self.runs for n in self.more_runs)
        return low, median, high

    @property
    def aims(self) -> list[Metric]:
        """The metrics that are objectives."""
        return [metric for metric in self.metrics if metric.direction != "limit"]

    @property
    def what(self) -> str:
        """The metrics that are objectives, in a row."""
        return " and ".join(_listed([metric.name for metric in self.aims]))

    @property
    def verdict(self) -> str:
        """The answer, in a sentence."""
        what = self.what
        members = self.pareto_set if self.stopped else self.candidate_set
        names = [row.name for row in self.rows if row.name in (members or ())]
        sure = f"{self.confidence:.0%} confidence"
        if not names:
            if self.stopped:
                return f"No option keeps the limits ({sure})."
            return f"Nothing can be said yet after {counted(self.runs, 'run')}."
        if not self.stopped:
            several = "are" if len(names) > 1 else "is"
            so_far = sentence(names, self.labels)
            return f"Not known yet: so far {so_far} {several} ahead in {what}."
        others = len([row for row in self.rows if row.role in (BEATEN, OPEN)])
        if len(names) == 1:
            best = "the best" if len(self.aims) == 1 else f"the best in {what} at once"
            if len(self.aims) == 1:
                best = f"the best in {what}"
            return f"{self.labels[names[0]]} is {best} ({sure})."
        if not others and not self.out:
            every = "Both" if len(names) == 2 else f"All {len(names)}"
            return f"{every} are Pareto-optimal in {what} ({sure})."
        rest = f"; {others} {'is' if others == 1 else 'are'} beaten" if others else ""
        return f"{sentence(names, self.labels)} are Pareto-optimal in {what} ({sure}){rest}."

    @property
    def tolerance_text(self) -> str:
        """The tolerance, in words; amounts that are alike are said once."""
        amounts = [one.partition(" on ") for one in self.tolerance.split(", ")]
        same = {amount for amount, _, _ in amounts}
        names = " and ".join(_listed([name for _, _, name in amounts]))
        said = f"{same.pop()} in {names}" if len(same) == 1 else self.tolerance
        return f"differences up to {said} do not matter"

    @property
    def summary(self) -> str:
        """How much was measured, in a sentence."""
        took = f"{counted(self.runs, 'run')} in {counted(self.rounds, 'round')}"
        why = {"known": "stopped by itself after", "interrupted": "interrupted after"}
        said = why.get(self.ended, "the time limit came after")
        before = f" (and {self.before:,} earlier)" if self.before else ""
        return f"{said} {took}{before}, {duration_text(self.seconds)}"

    @property
    def outlook(self) -> str:
        """What more time would settle, in a sentence."""
        if self.stopped:
            return "More time would only narrow the intervals."
        text = self.open_text
        if self.more_runs is not None and self.more_seconds is not None:
            low, median, high = self.more_seconds
            if math.isfinite(median):
                to = duration_text(high) if math.isfinite(high) else "much more"
                text += (
                    f" About {self.more_runs[1]:,.0f} more runs ({duration_text(median)}; "
                    f"{duration_text(low)} to {to} in four cases of five) would settle it."
                )
            else:
                text += " It is far from settled; a larger --tolerance would settle it sooner."
        return text.strip()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "stopped": self.stopped,
            "ended": self.ended,
            "verdict": self.verdict,
            "pareto_set": None if self.pareto_set is None else list(self.pareto_set),
            "candidate_set": list(self.candidate_set),
            "confidence": self.confidence,
            "promise": self.promise,
            "tolerance": self.tolerance,
            "metrics": [
                {
                    "name": m.name,
                    "unit": m.unit,
                    "direction": m.direction,
                    "logarithms": m.log,
                    "exact": m.exact,
                }
                for m in self.metrics
            ],
            "options": [
                {
                    "name": row.name,
                    "command": row.command,
                    "role": row.role,
                    "runs": row.runs,
                    "note": row.note,
                    "ratio": None
                    if row.ratio is None
                    else [*map(_plain, (row.ratio.value, row.ratio.low, row.ratio.high))],
                    "metrics": {
                        name: {
                            "mean": _plain(one.value),
                            "low": _plain(one.low),
                            "high": _plain(one.high),
                        }
                        for name, one in row.estimates.items()
                    },
                }
                for row in self.rows
            ],
            "runs": self.runs,
            "rounds": self.rounds,
            "runs_before": self.before,
            "seconds": self.seconds,
            "more_runs": None if self.more_runs is None else [*map(_plain, self.more_runs)],
            "outlook": self.outlook,
            "notes": self.notes,
            "seed": self.seed,
            "study": self.study or None,
            "samples": self.samples,
        }


def sentence(given: Any, labels: Labels) -> str:
    """List options, the first of many."""
    names = [labels[name] for name in given]
    if len(names) > NAMED:
        return f"{', '.join(names[: NAMED - 1])} and {len(names) - NAMED + 1} more"
    return " and ".join(_listed(names))


def _listed(names: list[str]) -> list[str]:
    return [", ".join(names[:-1]), names[-1]] if len(names) > 1 else names


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
