"""The values of a metric on two sides, and an interval of the difference of their means."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError
from psips.evaluation.scores import Scores
from psips.laws import students_quantile

FEWEST_ITEMS = 2  # that a table must have
SHARED = 0.5  # of the items of the smaller side, for comparing item by item
SKEWED = 0.5  # skewness of a mean from which on its interval is doubted, of so many items:
MANY = 10
ROUNDING = 1e-13  # of the largest value: means and deviations below it are 0


class Estimate(NamedTuple):
    """The difference of two means, and how it errs."""

    middle: float
    error: float  # standard error
    freedom: float  # degrees of freedom of the error
    skewness: float  # of the estimate


class Sides:
    """The values of a metric that are compared: item by item, or of all items."""

    exact = False  # whether the metric has no noise: set where all of it is known

    def __init__(self, before: Floats, after: Floats, log: bool) -> None:
        there = ~np.isnan(before), ~np.isnan(after)
        both = there[0] & there[1]
        least = min(there[0].sum(), there[1].sum())
        self.paired = bool(both.sum() >= max(FEWEST_ITEMS, SHARED * least))
        chosen = (both, both) if self.paired else there
        self.base, self.new = before[chosen[0]], after[chosen[1]]
        self._given = self.base, self.new
        self.binary = not log and bool(np.isin([*self.base, *self.new], (0.0, 1.0)).all())
        if log:
            self.base, self.new = np.log(self.base), np.log(self.new)
        self.log = log

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of an interval of the difference of the means."""
        if self.exact:
            return self.change, self.change
        found = self.estimate
        if found.error * math.sqrt(len(self.new)) <= self._least:
            reach = self._reach_of_the_unseen(level)
            return self.change - reach, self.change + reach
        t = float(students_quantile(found.freedom, 0.5 - level / 2.0))
        return skewed_interval(found, t)

    def _reach_of_the_unseen(self, level: float) -> float:
        """Return how far the mean may be off where all items changed alike.

        As large a share of items may do otherwise as is seen in none of so many; one that does
        can change by the range of the values, the other way round.
        """
        both = np.concatenate([self.base, self.new])
        fewest = min(len(self.base), len(self.new))
        share = -math.expm1(math.log(1.0 - level) / fewest)
        return share * (float(np.ptp(both)) + abs(self.change))

    @property
    def estimate(self) -> Estimate:
        """The difference of the means as it is estimated for the interval."""
        if self.paired:
            return _of_pairs(self.new - self.base, self.binary)
        return _of_two(self.base, self.new, self.binary)

    @property
    def change(self) -> float:
        """Difference of the means; 0 if it is no more than their rounding."""
        found = float(self.new.mean() - self.base.mean())
        return 0.0 if abs(found) <= self._least else found

    @property
    def means(self) -> tuple[float, float]:
        """The means of the two sides as they are shown, of logarithms the geometric ones."""
        found = []
        for given, x in zip(self._given, (self.base, self.new), strict=True):
            mean = float(np.exp(x.mean()) if self.log else x.mean())
            found.append(float(given[0]) if (given == given[0]).all() else mean)
        return found[0], found[1]

    @property
    def _least(self) -> float:
        """What differences come from rounding alone."""
        return ROUNDING * float(max(np.abs(self.base).max(), np.abs(self.new).max(), 0.0))

    @property
    def constant(self) -> bool:
        """Whether the values of each side are all the same."""
        return not self.binary and bool(
            (self.base == self.base[0]).all() and (self.new == self.new[0]).all()
        )

    @property
    def skewed(self) -> bool:
        """Whether a few items make up so much of the change that its interval is doubtful."""
        if self.binary or self.exact or min(len(self.base), len(self.new)) < MANY:
            return False
        return abs(self.estimate.skewness) > SKEWED

    @property
    def positive(self) -> bool:
        """Whether the values could be compared by their ratios."""
        return not self.log and float(min(self.base.min(), self.new.min())) > 0.0

    @property
    def repeats(self) -> int:
        """Values that agree with an earlier one of their side, if all do."""
        return len(self.base) + len(self.new) - 2


def skewed_interval(found: Estimate, quantile: float) -> tuple[float, float]:
    """Return the wider of Student's interval and Hall's, at either end.

    Costs and times are skewed: Student's interval misses a mean of which large values make up
    much twice as often as it says, or more. Hall (1992) makes up for the skewness, which has to
    be estimated and is least certain where it matters most; so no end is nearer than Student's.

    Examples
    --------
    >>> skewed_interval(Estimate(0.0, 1.0, 30.0, 0.0), 2.0)
    (-2.0, 2.0)
    >>> low, high = skewed_interval(Estimate(0.0, 1.0, 30.0, 0.3), 2.0)
    >>> round(low, 2), round(high, 2)
    (-2.0, 2.73)
    """
    ends = [_of_hall(end, found.skewness) for end in (quantile, -quantile)]
    low, high = max(quantile, ends[0]), max(quantile, -ends[1])
    return found.middle - low * found.error, found.middle + high * found.error


def _of_hall(quantile: float, skewness: float) -> float:
    """Return the T of which T + A T^2 / 3 + A^2 T^3 / 27 + A / 6 is the quantile."""
    if abs(skewness) < 1e-9:
        return quantile
    cube = 1.0 + skewness * (quantile - skewness / 6.0)
    return 3.0 * (float(np.cbrt(cube)) - 1.0) / skewness


def _of_pairs(difference: Floats, binary: bool) -> Estimate:
    """Return the mean of differences of pairs.

    Of values of 0 or 1 half a pair is added to each of the four kinds (Agresti and Min), since
    few that differ say little of how many others do.
    """
    n = len(difference)
    if binary:
        up, down = (difference > 0).sum() + 0.5, (difference < 0).sum() + 0.5
        n += 2
        mean = float(up - down) / n
        square = float(up + down) / n
        error = math.sqrt(max(square - mean**2, 0.0) / n)
        third = mean - 3.0 * mean * square + 2.0 * mean**3
        return Estimate(mean, error, n - 3, third / n**2 / error**3)
    error = float(difference.std(ddof=1)) / math.sqrt(n)
    return Estimate(
        float(difference.mean()), error, n - 1, _skewness([(difference, 1.0)], error)
    )


def _of_two(base: Floats, new: Floats, binary: bool) -> Estimate:
    """Return the same of two sets of values (Welch; 0 or 1: Agresti and Caffo)."""
    if binary:
        sizes = [len(x) + 2 for x in (base, new)]
        rates = [float(x.sum() + 1) / n for x, n in zip((base, new), sizes, strict=True)]
        both = list(zip(rates, sizes, (-1.0, 1.0), strict=True))
        error = math.sqrt(sum(p * (1 - p) / n for p, n, _ in both))
        third = math.fsum(sign * p * (1 - p) * (1 - 2 * p) / n**2 for p, n, sign in both)
        fewest = min(len(base), len(new)) - 1
        return Estimate(rates[1] - rates[0], error, fewest, third / error**3)
    parts = [float(x.var(ddof=1)) / len(x) for x in (base, new)]
    total = sum(parts) or 1.0
    shares = [(v / total) ** 2 / (len(x) - 1) for v, x in zip(parts, (base, new), strict=True)]
    freedom = 1.0 / sum(shares) if sum(shares) > 0.0 else 1.0
    error = math.sqrt(sum(parts))
    skewness = _skewness([(base, -1.0), (new, 1.0)], error)
    return Estimate(float(new.mean() - base.mean()), error, freedom, skewness)


def _skewness(parts: list[tuple[Floats, float]], error: float) -> float:
    """Return the skewness of a sum of means with signs; two values say about none."""
    third = 0.0
    for x, sign in parts:
        n = float(len(x))
        if n > 2 and error > 0.0:
            scaled = (x - x.mean()) / error
            third += sign * float((scaled**3).sum()) / ((n - 1) * (n - 2) * n)
    return third


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
    if (~np.isnan(values)).sum(axis=1).min() < FEWEST_ITEMS:
        return None
    return Sides(values[0], values[1], log)
