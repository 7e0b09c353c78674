"""What a figure is: its runs, how it is drawn, and what the paper says about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.lab.cells import Cell
from psips.laws import students_quantile

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

HOLDS, FAILS, OPEN = "holds", "does not hold", "not settled"


class Row(NamedTuple):
    """A run and where it stands in the figure."""

    panel: str
    rule: str
    stop: str
    x: float
    cell: Cell


class Claim(NamedTuple):
    """A statement, whether it holds here, and the numbers behind it."""

    text: str
    verdict: str
    numbers: str

    def __str__(self) -> str:
        return f"{self.verdict}: {self.text} ({self.numbers})"


@dataclass(frozen=True)
class Figure:
    """A figure as data.

    Parameters
    ----------
    name, title : str
    share : float
        Of ``--runs``, how many runs each of its cells has; with 500 it is the paper's size.
    rows : callable
        From the number of runs to the rows.
    draw : callable
        From the table of runs to the drawing.
    judge : callable
        From the table of runs to the claims.
    timed : bool
        Whether it shows times, which no second campaign repeats.
    """

    name: str
    title: str
    share: float
    rows: Callable[[int], list[Row]]
    draw: Callable[[pd.DataFrame], Drawing]
    judge: Callable[[pd.DataFrame], list[Claim]]
    timed: bool = False

    def runs(self, asked: int) -> int:
        """Return the runs of a cell when ``asked`` are asked for; at least two."""
        return max(2, round(asked * self.share))


LABELS = ("panel", "rule", "stop", "x")
TIMES = ("seconds", "clock")


def table(rows: Sequence[Row], outcomes: Sequence[dict[str, Any] | None]) -> pd.DataFrame:
    """Return one line per run, or per run and mark; ``seconds`` is its last column."""
    import pandas as pd

    lines = []
    for row, outcome in zip(rows, outcomes, strict=True):
        if outcome is None:
            continue
        delta, run = row.cell.rules["delta"], row.cell.run
        line = {**{name: getattr(row, name) for name in LABELS}, "delta": delta, "run": run}
        line |= {k: v for k, v in outcome.items() if k not in ("trace", *TIMES)}
        if "trace" not in outcome:
            lines.append({**line, "seconds": outcome["seconds"]})
        for seen, seconds in zip(
            outcome.get("trace", ()), outcome.get("clock", ()), strict=True
        ):
            lines.append({**line, **seen, "seconds": seconds})
    return pd.DataFrame(lines)


def pick(
    frame: pd.DataFrame, rule: str, panel: str | None = None, **where: Any
) -> pd.DataFrame:
    """Return the lines of a contender, in the order of the runs."""
    chosen: pd.DataFrame = frame[
        (frame["rule"] == rule) & (frame["stop"] == where.pop("stop", "own"))
    ]
    if panel is not None:
        chosen = chosen[chosen["panel"] == panel]
    for name, value in where.items():
        chosen = chosen[chosen[name] == value]
    return chosen.sort_values(["panel", "x", "run"], kind="stable")


def contenders_in(frame: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield rule, stop and lines of each contender, in the order of the table."""
    for (rule, stop), chosen in frame.groupby(["rule", "stop"], sort=False):
        yield str(rule), str(stop), chosen


class Interval(NamedTuple):
    """An estimate and its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f}, 95% interval {self.low:.2f} to {self.high:.2f}"


def mean(values: Any) -> Interval:
    """Return the mean with its interval.

    Examples
    --------
    >>> str(mean([1.0, 2.0, 3.0]))
    '2.00, 95% interval -0.48 to 4.48'
    """
    x = np.asarray(values, float)
    half = _half_width(x)
    return Interval(float(x.mean()), float(x.mean() - half), float(x.mean() + half))


def _half_width(x: Floats) -> float:
    """Half of Student's 95% interval of a mean."""
    if len(x) < 2:
        return math.inf
    return float(students_quantile(len(x) - 1, 0.025) * x.std(ddof=1) / math.sqrt(len(x)))


def ratio(above: Any, below: Any) -> Interval:
    """Return the ratio of two means over the same runs, with its interval.

    Examples
    --------
    >>> ratio([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    Interval(value=2.0, low=2.0, high=2.0)
    """
    a, b = np.asarray(above, float), np.asarray(below, float)
    value = a.mean() / b.mean()
    half = _half_width(a - value * b) / b.mean()
    return Interval(float(value), float(value - half), float(value + half))


def claim_between(text: str, found: Interval, low: float, high: float, what: str) -> Claim:
    """Judge whether a quantity lies between two bounds, as far as its interval can tell."""
    if low <= found.low and found.high <= high:
        verdict = HOLDS
    elif found.high < low or found.low > high:
        verdict = FAILS
    else:
        verdict = OPEN
    return Claim(text, verdict, f"{what} {found}")


def claim_samples(
    frame: pd.DataFrame,
    text: str,
    rule: str,
    other: str,
    between: tuple[float, float] = (-math.inf, 1.0),
    **where: Any,
) -> list[Claim]:
    """Judge the ratio of two rules' mean samples, panel by panel, on the same noise.

    No claim comes of a rule that is not in the table.
    """
    stop, panel = where.get("stop", "own"), where.get("panel")
    claims = []
    for name in dict.fromkeys(frame["panel"]) if panel is None else [panel]:
        a, b = pick(frame, rule, name), pick(frame, other, name, stop=stop)
        if len(a) and len(a) == len(b):
            found = ratio(a["samples"], b["samples"])
            what = f"{name}: ratio of mean samples"
            claims.append(claim_between(text, found, *between, what))
    return claims


def claim_errors(frame: pd.DataFrame) -> Claim:
    """Judge whether every contender errs with probability at most delta, cell by cell."""
    from psips.simulation.summary import clopper_pearson

    settled, worst = True, ""
    cells = [
        (f"{panel}, {rule}, {stop} stop", delta, lines[lines["delta"] == delta])
        for panel in dict.fromkeys(frame["panel"])
        for rule, stop, lines in contenders_in(frame[frame["panel"] == panel])
        for delta in lines["delta"].unique()
    ]
    for name, delta, chosen in cells:
        stopped = int(chosen["stopped"].sum())
        errors = int((chosen["stopped"] & ~chosen["correct"]).sum())
        low, high = clopper_pearson(errors, max(1, stopped))
        settled = settled and high <= delta
        if low > delta:
            worst += f"; {name}, delta {delta:g}: {errors} of {stopped}"
    verdict = FAILS if worst else HOLDS if settled else OPEN
    errors = int((frame["stopped"] & ~frame["correct"]).sum())
    said = f"{errors} errors in {int(frame['stopped'].sum())} runs{worst}"
    if verdict == OPEN:
        said += "; the interval of no cell lies above delta, nor that of every cell below"
    return Claim("errors stay within delta", verdict, said)
