"""Two measurements of the same options, before and after a change: what is better or worse.

By option and metric the difference of the means, over the items that both have (or of all, if
they share few), with an interval. All intervals hold at once with the confidence asked for:
each is at 1 - delta / m, m being their number (Bonferroni). The promise is of one look at
items that are a random part of those they stand for.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psips.errors import InputError, listing, unknown
from psips.evaluation.intervals import FEWEST_ITEMS, Sides, sides_of
from psips.evaluation.layout import laid_out
from psips.evaluation.scores import Scores
from psips.input.digits import rounded
from psips.input.directions import as_options, guess_text, settle
from psips.session.exact import DIFFER, repeats_that_show
from psips.session.status_text import WIDTH, cut, in_blocks

BETTER, WORSE, SAME, OPEN = "better", "worse", "the same", "not distinguishable"
MIXED = "better and worse"
NAMED = 4  # options that a sentence names
Cell = tuple[tuple[str, str], str]  # an option by its names before and after, and a metric


@dataclass(frozen=True)
class Difference:
    """What changed in one metric of one option.

    Parameters
    ----------
    option, metric : str
    base, new : float
        Means over the items that are compared; of logarithms: geometric ones.
    change, low, high : float
        Of the mean, with its interval; of logarithms: the factor less 1.
    items : int
        That are compared; of both sides, if they are not the same.
    paired : bool
        Whether item by item.
    log : bool
    verdict : str
        "better", "worse", "the same" (within the tolerance) or "not distinguishable".
    """

    option: str
    metric: str
    base: float
    new: float
    change: float
    low: float
    high: float
    items: int
    paired: bool
    log: bool
    verdict: str

    @property
    def text(self) -> str:
        """The change and its interval."""
        low, high = self.low, self.high
        if self.log:
            return f"{self.change:+.1%} ({_percent(low)} to {_percent(high)})"
        error = (high - low) / 4.0
        shown = [rounded(one, error) for one in (self.change, low, high)]
        middle, low_text, high_text = (one if one[0] == "-" else f"+{one}" for one in shown)
        return f"{middle} ({low_text} to {high_text})"


@dataclass(frozen=True)
class Comparison:
    """What changed from one measurement to another.

    Parameters
    ----------
    differences : tuple of Difference
        By option, then by metric.
    options : tuple of str
        That were compared.
    delta : float
        Accepted probability that any of the verdicts better, worse and the same is wrong.
    directions : dict
        By metric "max" or "min".
    notes : tuple of str
        What was guessed, and what could not be compared.
    """

    differences: tuple[Difference, ...]
    options: tuple[str, ...]
    delta: float
    directions: dict[str, str]
    notes: tuple[str, ...]

    def joint(self, option: str) -> str:
        """Return the verdict on all metrics of an option together."""
        found = {one.verdict for one in self.differences if one.option == option}
        if {BETTER, WORSE} <= found:
            return MIXED
        for verdict in (WORSE, BETTER, OPEN):
            if verdict in found:
                return verdict
        return SAME

    @property
    def verdict(self) -> str:
        """The verdict on all options: worse if any metric of any option is."""
        found = {one.verdict for one in self.differences}
        if {BETTER, WORSE} <= found:
            return MIXED
        return next(v for v in (WORSE, BETTER, OPEN, SAME) if v in found)

    @property
    def worse(self) -> bool:
        """Whether some metric of some option is worse."""
        return any(one.verdict == WORSE for one in self.differences)

    @property
    def promise(self) -> str:
        """What stands behind the verdicts."""
        many = len(self.differences)
        all_ = f"all {many} verdicts together (Bonferroni)" if many > 1 else "the verdict"
        all_ = "both verdicts together (Bonferroni)" if many == 2 else all_
        return f"{100 * (1 - self.delta):.10g}% confidence in {all_}"

    @property
    def sentences(self) -> list[str]:
        """One sentence for each verdict there is, the worst first."""
        found = []
        for verdict in (WORSE, BETTER, SAME, OPEN):
            these = [one for one in self.differences if one.verdict == verdict]
            if these:
                found.append(f"{verdict}: {_by_metric(these, len(self.options))}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "verdict": self.verdict,
            "confidence": 1 - self.delta,
            "correction": "Bonferroni",
            "comparisons": len(self.differences),
            "directions": self.directions,
            "options": {option: self.joint(option) for option in self.options},
            "differences": [
                {
                    "option": one.option,
                    "metric": one.metric,
                    "base": one.base,
                    "new": one.new,
                    "relative" if one.log else "change": one.change,
                    "low": one.low,
                    "high": one.high,
                    "items": one.items,
                    "paired": one.paired,
                    "verdict": one.verdict,
                }
                for one in self.differences
            ],
            "notes": list(self.notes),
        }

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Return the table as texts: its header and its rows."""
        head = ["option", "metric", "base", "new", "change (interval)", "verdict"]
        rows = []
        for one in self.differences:
            error = (one.high - one.low) / 4.0 * (one.base if one.log else 1.0)
            means = [rounded(value, error) for value in (one.base, one.new)]
            rows.append([one.option, one.metric, *means, one.text, one.verdict])
        return head, rows

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """Return the results in lines of this width."""
        said = [f"{self.verdict}, with {self.promise}"]
        if len(self.differences) > 1:
            said += [sentence for sentence in self.sentences if self.verdict != OPEN]
        return laid_out(said, self._table(width), self.notes, width)

    def _table(self, width: int) -> list[str]:
        """Return the table; of several options, each has its name above its metrics."""
        head, rows = self.rows()
        several = len(self.options) > 1
        names = [f"{'  ' if several else ''}{cut(row[1])}" for row in rows]
        columns = [(title, [row[c] for row in rows]) for c, title in enumerate(head[2:], 2)]
        lines = in_blocks("metric", names, columns, width=width)
        if not several:
            return lines
        found: list[str] = []
        for number, line in enumerate(lines):  # of each block: its header, then the rows
            place = number % (len(rows) + 2) - 1
            begins = 0 <= place < len(rows) and rows[place][0] != rows[place - 1][0]
            if begins or (place == 0 and len(self.options) == 1):
                option = rows[place][0]
                found.append(f"{cut(option)}: {self.joint(option)}")
            found.append(line)
        return found


def compare(
    base: Scores,
    new: Scores,
    directions: Mapping[str, str | None] | None = None,
    *,
    delta: float = 0.1,
    tolerance: Mapping[str, float | str] | None = None,
    log: Collection[str] = (),
) -> Comparison:
    """Say which metrics of which options became better or worse.

    Parameters
    ----------
    base, new : Scores
        Before and after. If each has one option, these are compared whatever they are called.
    directions : mapping from metric to "max" or "min"
        Guessed by the name where nothing is said.
    delta : float
        Accepted probability that any verdict is wrong.
    tolerance : mapping from metric to a number, or a share such as "2%" of the base
        Differences up to it do not matter: better and worse are those that are larger.
    log : names
        Metrics that are compared by their ratios.
    """
    if not 0.0 < delta < 1.0:
        raise InputError(f"delta must be between 0 and 1, got {delta:g}")
    metrics = [metric for metric in new.metrics if metric in base.metrics]
    if not metrics:
        raise InputError(
            f"the two have no metric in common: {listing(base.metrics)} and "
            f"{listing(new.metrics)}"
        )
    log = [*log, *(m for m in new.ratios if m in base.ratios and m not in log)]
    for what, named in (("tolerance", tolerance or {}), ("log", log)):
        for metric in named:
            if metric not in metrics:
                raise unknown(f"metric of --{what}", metric, metrics)
    given = directions or {}
    ways = {m: given.get(m) or new.ways.get(m) or base.ways.get(m) for m in metrics}
    settled = settle(ways, as_options)
    pairs, notes = _options(base, new)
    told = [guess_text(metric, way) for metric, way in settled.guessed.items()]
    lost = [m for m in dict.fromkeys([*base.metrics, *new.metrics]) if m not in metrics]
    if lost:
        told.append(f"{listing(lost)} only in one of the two: not compared")
    cells = [(pair, metric) for pair in pairs for metric in metrics]
    sides = [sides_of(base, new, *pair, metric, metric in log) for pair, metric in cells]
    kept = [(cell, side) for cell, side in zip(cells, sides, strict=True) if side is not None]
    if not kept:
        raise InputError(
            f"nothing can be compared: fewer than {FEWEST_ITEMS} items have values"
        )
    _find_exact(kept, delta)
    level = 1.0 - delta / len(kept)
    differences = []
    for ((_, after), metric), side in kept:
        sign = 1.0 if settled.objectives[metric] == "max" else -1.0
        amount = (tolerance or {}).get(metric, 0.0)
        differences.append(_judged(after, metric, side, level, sign, amount, metric in log))
    lacking = [cell for cell, side in zip(cells, sides, strict=True) if side is None]
    told += [
        f"{m} of {b}: fewer than {FEWEST_ITEMS} values, not compared" for (_, b), m in lacking
    ]
    told += _sizes(differences)
    told += _skewed(differences, [side for _, side in kept])
    names = tuple(dict.fromkeys(one.option for one in differences))
    return Comparison(tuple(differences), names, delta, settled.objectives, (*notes, *told))


def _judged(
    option: str,
    metric: str,
    side: Sides,
    level: float,
    sign: float,
    amount: float | str,
    log: bool,
) -> Difference:
    low, high = side.interval(level)
    base, new = side.means
    allowed = _allowed(metric, amount, base, log)
    worst, best = sorted((sign * low, sign * high))
    if worst > allowed:
        verdict = BETTER
    elif best < -allowed:
        verdict = WORSE
    elif -allowed <= worst and best <= allowed and (allowed > 0.0 or side.exact):
        verdict = SAME
    else:
        verdict = OPEN
    change = side.change
    if log:
        change, low, high = (math.expm1(min(one, 700.0)) for one in (change, low, high))
    paired, items = side.paired, len(side.new)
    if not paired:
        items = min(len(side.base), items)
    return Difference(option, metric, base, new, change, low, high, items, paired, log, verdict)


def _allowed(metric: str, amount: float | str, base: float, log: bool) -> float:
    """Return a tolerance in the unit that is compared."""
    if isinstance(amount, str):
        text = amount.strip().removesuffix("%")
        try:
            share = float(text) / 100.0
        except ValueError:
            share = math.nan
        if not (amount.strip().endswith("%") and 0.0 <= share < 1.0):
            raise InputError(
                f"the tolerance on {metric} must be a number or a share such as 2%, got "
                f"{amount!r}"
            )
        return math.log1p(share) if log else share * abs(base)
    if not (amount >= 0.0 and math.isfinite(amount)):
        raise InputError(f"the tolerance on {metric} must be 0 or more, got {amount:g}")
    if log and amount:
        raise InputError(
            f"{metric} is compared by its ratio: give its tolerance as a share, such as 2%"
        )
    return amount


def _options(base: Scores, new: Scores) -> tuple[list[tuple[str, str]], list[str]]:
    """Return which option is compared with which, and what is left out."""
    shared = [arm for arm in new.arms if arm in base.arms]
    if not shared:
        if len(base.arms) == len(new.arms) == 1:
            said = f"{new.arms[0]} is compared with {base.arms[0]}"
            return [(base.arms[0], new.arms[0])], [said]
        raise InputError(
            f"the two have no option in common: {listing(base.arms)} and "
            f"{listing(new.arms)}; name with --arm the column or setting that names the options"
        )
    notes = []
    for arms, others, what in ((base.arms, new.arms, "gone"), (new.arms, base.arms, "new")):
        alone = [arm for arm in arms if arm not in others]
        if alone:
            notes.append(f"{what}, with nothing to compare: {', '.join(alone)}")
    return [(arm, arm) for arm in shared], notes


def _sizes(differences: list[Difference]) -> list[str]:
    """Say how many items were compared, and how."""
    said = []
    for paired, how in ((True, "one by one"), (False, "as a whole, since few are shared")):
        sizes = [one.items for one in differences if one.paired is paired]
        if sizes:
            least, most = min(sizes), max(sizes)
            count = f"{least:,} to {most:,}" if least < most else f"{most:,}"
            said.append(f"{count} items compared {how}")
    return said


def _find_exact(kept: Sequence[tuple[Cell, Sides]], delta: float) -> None:
    """Mark the metrics that have no noise: no value of any option differs, and enough could.

    Scores of 4 and 5 repeat on a few items, too: as in a session it takes so many repeats that
    one of ten values that differ would have shown.
    """
    needed = repeats_that_show(DIFFER, delta)
    for metric in {metric for (_, metric), _ in kept}:
        sides = [side for (_, one), side in kept if one == metric]
        exact = all(side.constant for side in sides)
        for side in sides:
            side.exact = exact and sum(one.repeats for one in sides) >= needed


def _skewed(differences: list[Difference], sides: list[Sides]) -> list[str]:
    """Say which verdicts rest on few items."""
    judged = [(a, b) for a, b in zip(differences, sides, strict=True) if a.verdict != OPEN]
    found = [(one, side) for one, side in judged if side.skewed]
    if not found:
        return []
    options = len({one.option for one in differences})
    names = _by_metric([one for one, _ in found], options)
    ratios = any(side.positive for _, side in found)
    return [
        f"{names}: a few items make up much of the change, so that a wrong verdict is likelier "
        f"than stated; take more items{', or compare ratios with --log' if ratios else ''}"
    ]


def _by_metric(these: list[Difference], options: int) -> str:
    """Return the metrics of differences, with their options if there are several."""
    found: dict[str, list[str]] = {}
    for one in these:
        found.setdefault(one.metric, []).append(one.option)
    said = []
    for metric, names in found.items():
        whose = "all options" if len(names) == options else ", ".join(names[:NAMED])
        if NAMED < len(names) < options:
            whose += f" and {len(names) - NAMED} more"
        said.append(metric if options == 1 else f"{metric} ({whose})")
    return ", ".join(said)


def _percent(value: float) -> str:
    return f"{value:+.1%}"
