"""How many more results the stop takes: one estimate, with an interval.

The evidence of a run does not grow in a straight line. A run stops when its evidence first
passes the threshold, and before that it stayed below: half of the way the evidence is about a
quarter of what is needed, not half. How evidence relates to the share of the way is nearly the
same for all kinds of problems, so it was measured once, on random ones
(`benchmarks/progress.py`): `TENTH`, `MEDIAN` and `NINETIETH` are what 10%, 50% and 90% of runs
have when they are a share `SHARES` of their way. Read the other way round, evidence gives that
share: one run in ten has less evidence there, and one in ten has more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from psips.input.durations import duration_text
from psips.session.verdicts import Verdict

SHARES = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0)
TENTH = (-0.18, -0.12, 0.0, 0.045, 0.17, 0.34, 0.53, 1.0)  # evidence / threshold
MEDIAN = (0.0, 0.035, 0.13, 0.255, 0.40, 0.58, 0.70, 1.0)
NINETIETH = (0.10, 0.225, 0.41, 0.545, 0.655, 0.79, 0.85, 1.0)
HARDEST = 3  # comparisons that are named


@dataclass(frozen=True)
class Progress:
    """How many more results a run takes, if it goes as runs do.

    Parameters
    ----------
    more : float
        Results, with an even chance; infinite if that is more than can be said.
    low, high : float
        Four in five runs take so many; ``high`` is infinite if that cannot be said.
    beyond : float
        Results that ``more`` or ``high`` are beyond, where they are infinite.
    seconds : float or None
        What one result took so far; of studies.

    Examples
    --------
    >>> print(progress_at(100, 0.255))
    median estimate: 100 more results (80% interval 38 to 346)
    >>> print(progress_at(100, -0.5))
    far from stopping: median estimate over 900 more results
    """

    more: float
    low: float
    high: float
    beyond: float
    seconds: float | None = None

    def __str__(self) -> str:
        if not math.isfinite(self.more):
            return f"far from stopping: median estimate over {self._amount(self.beyond)}"
        high = f"{self.high:,.0f}" if math.isfinite(self.high) else f"over {self.beyond:,.0f}"
        text = f"median estimate: {self._amount(self.more)} "
        text += f"(80% interval {self.low:,.0f} to {high})"
        return text + (f", at the pace so far {self._time}" if self.seconds else "")

    def _amount(self, results: float) -> str:
        return f"{results:,.0f} more result{'' if results == 1 else 's'}"

    @property
    def _time(self) -> str:
        assert self.seconds is not None
        low, more = (duration_text(self.seconds * n) for n in (self.low, self.more))
        if not math.isfinite(self.high):
            return f"{more} ({low} to over {duration_text(self.seconds * self.beyond)})"
        return f"{more} ({low} to {duration_text(self.seconds * self.high)})"

    @property
    def short(self) -> str:
        """The median alone."""
        if not math.isfinite(self.more):
            return f"over {self.beyond:,.0f} more"
        return f"about {self.more:,.0f} more"

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data; None for what is beyond saying."""
        plain = {
            name: value if math.isfinite(value) else None
            for name, value in (("more", self.more), ("low", self.low), ("high", self.high))
        }
        return {**plain, "beyond": self.beyond, "seconds_a_result": self.seconds}


def progress_at(results: int, share: float) -> Progress:
    """Return the estimate after ``results`` with ``share`` of the evidence that is needed."""
    far = 1.0 / SHARES[0] - 1.0

    def further(curve: tuple[float, ...]) -> float:
        if share <= curve[0]:
            return math.inf
        return max(
            1.0, math.ceil(results * (1.0 / float(np.interp(share, curve, SHARES)) - 1.0))
        )

    low = further(TENTH)
    beyond = math.ceil(results * far)
    return Progress(further(MEDIAN), min(low, beyond), further(NINETIETH), beyond)


def hardest(found: list[Verdict], most: int = HARDEST) -> list[Verdict]:
    """Return the open comparisons that take the most further results, the longest first."""
    undecided = [one for one in found if one.verdict == "open" and one.rival is not None]
    endless = [one for one in undecided if not one.more]
    rest = sorted((one for one in undecided if one.more), key=lambda v: -sum(v.more.values()))
    return (endless + rest)[:most]


def progress_of(
    results: int, evidence: dict[str, float | None], change: float, found: list[Verdict]
) -> Progress | None:
    """Return the estimate by what a stopping rule has come to; None if that does not tell.

    Parameters
    ----------
    results : int
    evidence : dict
        As the rule reads it, see `psips.rules.evidence`.
    change : float
        Probability that the Pareto set is another than the candidate set.
    found : list of Verdict
        What is proven: with a rule that stops by proofs, what they lack.
    """
    share = _share(results, evidence, change, found)
    return None if share is None else progress_at(results, share)


def _share(
    results: int, evidence: dict[str, float | None], change: float, found: list[Verdict]
) -> float | None:
    """Return how much of the evidence that a rule needs is there."""
    if math.isnan(change):  # nothing can be judged yet
        return None
    value, threshold = evidence.get("evidence"), evidence.get("threshold")
    if value is not None and threshold is not None and 0.0 < threshold < math.inf:
        return value / threshold
    log_budget = evidence.get("log_budget")
    if log_budget is not None and log_budget > 0.0:  # so unlikely must another set be
        return -math.log(max(change, 1e-300)) / log_budget
    undecided = [one for one in found if one.verdict == "open"]
    if "answers" not in evidence or not any(one.more for one in undecided):
        return None
    if any(not one.more for one in undecided):
        return 0.0
    return results / (results + max(sum(one.more.values()) for one in undecided))


def hardest_text(found: list[Verdict]) -> str:
    """Name the hardest comparisons.

    Examples
    --------
    >>> one = Verdict("A", "open", "B", "yield", (-0.1, 0.25), {"A": 3}, "")
    >>> hardest_text([one])
    'hardest comparison: A and B (yield differs by -0.1 to 0.25)'
    """
    parts, pairs = [], set()
    for one in found:
        pair = frozenset((one.answer, str(one.rival)))
        if pair in pairs:
            continue
        pairs.add(pair)
        text = f"{one.answer} and {one.rival}"
        if one.objective and one.interval and all(map(math.isfinite, one.interval)):
            low, high = one.interval
            text += f" ({one.objective} differs by {low:.3g} to {high:.3g})"
        parts.append(text)
    if not parts:
        return ""
    return f"hardest comparison{'' if len(parts) == 1 else 's'}: {'; '.join(parts)}"
