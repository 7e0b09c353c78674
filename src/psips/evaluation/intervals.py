"""The values of a metric on two sides, and an interval of the difference of their means."""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError
from psips.evaluation.scores import Scores

FEWEST = 2  # items
SHARED = 0.5  # of the items of the smaller side, for comparing item by item


class Sides:
    """The values of a metric that are compared: item by item, or of all items."""

    def __init__(self, before: Floats, after: Floats, log: bool) -> None:
        there = ~np.isnan(before), ~np.isnan(after)
        both = there[0] & there[1]
        least = min(there[0].sum(), there[1].sum())
        self.paired = bool(both.sum() >= max(FEWEST, SHARED * least))
        chosen = (both, both) if self.paired else there
        self.base, self.new = before[chosen[0]], after[chosen[1]]
        self.binary = not log and bool(np.isin([*self.base, *self.new], (0.0, 1.0)).all())
        if log:
            self.base, self.new = np.log(self.base), np.log(self.new)
        self.log = log

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of an interval of the difference of the means."""
        if self.exact:
            return self.change, self.change
        if self.paired:
            middle, error, freedom = _of_pairs(self.new - self.base, self.binary)
        else:
            middle, error, freedom = _of_two(self.base, self.new, self.binary)
        from scipy.stats import t

        reach = float(t.ppf(0.5 + level / 2.0, freedom)) * error
        if error == 0.0:  # all changed alike: as many may do otherwise as none of these did
            both = np.concatenate([self.base, self.new])
            reach = float(np.ptp(both)) * (1.0 - (1.0 - level) ** (1.0 / len(self.new)))
        return middle - reach, middle + reach

    @property
    def change(self) -> float:
        """Difference of the means."""
        return float(self.new.mean() - self.base.mean())

    @property
    def exact(self) -> bool:
        """Whether the values do not scatter at all, so that there is nothing to estimate."""
        return not self.binary and bool(
            (self.base == self.base[0]).all() and (self.new == self.new[0]).all()
        )


def _of_pairs(difference: Floats, binary: bool) -> tuple[float, float, float]:
    """Return mean, standard error and degrees of freedom of differences of pairs.

    Of values of 0 or 1 half a pair is added to each of the four kinds (Agresti and Min), since
    few that differ say little of how many others do.
    """
    n = len(difference)
    if binary:
        up, down = (difference > 0).sum() + 0.5, (difference < 0).sum() + 0.5
        mean = float(up - down) / (n + 2)
        return mean, math.sqrt(max(up + down - (n + 2) * mean**2, 0.0)) / (n + 2), n - 1
    return float(difference.mean()), float(difference.std(ddof=1)) / math.sqrt(n), n - 1


def _of_two(base: Floats, new: Floats, binary: bool) -> tuple[float, float, float]:
    """Return the same of two sets of values (Welch; 0 or 1: Agresti and Caffo)."""
    if binary:
        rates = [float((x.sum() + 1) / (len(x) + 2)) for x in (base, new)]
        each = [p * (1 - p) / (len(x) + 2) for p, x in zip(rates, (base, new), strict=True)]
        return rates[1] - rates[0], math.sqrt(sum(each)), min(len(base), len(new)) - 1
    parts = [float(x.var(ddof=1)) / len(x) for x in (base, new)]
    squares = [v**2 / (len(x) - 1) for v, x in zip(parts, (base, new), strict=True)]
    freedom = sum(parts) ** 2 / sum(squares) if sum(squares) > 0.0 else 1.0
    return float(new.mean() - base.mean()), math.sqrt(sum(parts)), freedom


def sides_of(
    base: Scores, new: Scores, before: str, after: str, metric: str, log: bool
) -> Sides | None:
    """Return the values to compare; None if there are too few."""
    items = list(dict.fromkeys([*base.items, *new.items]))
    place = {item: j for j, item in enumerate(items)}
    values = np.full((2, len(items)), np.nan)
    for side, (scores, option) in enumerate(((base, before), (new, after))):
        row = scores.values[scores.arms.index(option), :, scores.metrics.index(metric)]
        values[side, [place[item] for item in scores.items]] = row
    if log and (values <= 0.0).any():
        raise InputError(f"{metric} has values of 0 or less: compare it without --log")
    if (~np.isnan(values)).sum(axis=1).min() < FEWEST:
        return None
    return Sides(values[0], values[1], log)
