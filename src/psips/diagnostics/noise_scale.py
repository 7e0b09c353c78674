"""How far one result may be from the others of its arm: the noise that is in force.

As it is given; or as estimated from the results, of all arms together or of each by itself, as
the problem says. One result is judged by it, maybe a wrong one, and wrong ones may have been
told before. So the estimates are medians of distances from medians, which such results hardly
change, and the few results behind them count by Student's t: of m results around their median,
the median distance is worth 0.37 (m - 2) degrees of freedom.

Of an arm by itself, few results tell little. What the other arms say about its noise is the
median of their standard deviations, and it is worth two degrees of freedom, until the arm's own
results tell more: noise that is twenty times that of the others is not taken for a slip, and a
decimal point that has moved is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psips.aliases import Floats, Ints
from psips.laws import students_quantile
from psips.problem import Problem
from psips.problem.noise import ESTIMATE, KNOWN, NoiseGuess

RARE = 1e-4  # chance that a value as assumed is called far
LEAST_FREEDOM = 0.5  # below so many degrees of freedom, nothing is far
NEARLY_NORMAL = 1e5  # degrees of freedom from which on Student's law is the normal one
FAR = 10.0  # standard deviations below which nothing is called far, however sure they are
WORTH = 2.0  # degrees of freedom that other arms are worth
FEWEST_RESULTS = 20  # results of arms with three at least, from which on others tell anything
NORMAL = 1.4826  # standard deviations of a normal in its median distance from the median
EFFICIENCY = 0.37  # of the median distance, next to the root mean square
SMALL = (1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107)  # corrections for 3, 4, .. results


class NoiseScale(NamedTuple):
    """The noise of one result of each arm, and how well it is known.

    Parameters
    ----------
    centre : (K, d) array
        Medians of the arms' results; NaN of arms without any.
    sd : (K, d) array
        Standard deviations; NaN where they are not known, of values of 0 or 1, and without
        noise.
    freedom : (K, d) array
        Degrees of freedom behind them; infinite where they are given.
    """

    centre: Floats
    sd: Floats
    freedom: Floats

    @property
    def reach(self) -> Floats:
        """From which distance on a value is far, (K, d); NaN where nothing can be said."""
        known, which = np.unique(np.minimum(self.freedom, NEARLY_NORMAL), return_inverse=True)
        each = students_quantile(np.fmax(known, LEAST_FREEDOM), RARE / 2.0)
        each[~(known >= LEAST_FREEDOM)] = np.inf
        quantile = each[which].reshape(self.freedom.shape)
        return self.sd * np.fmax(FAR, np.where(np.isinf(self.freedom), 0.0, quantile))


def noise_scale(problem: Problem, arms: Ints, values: Floats) -> NoiseScale:
    """Return the noise in force.

    Parameters
    ----------
    problem : Problem
    arms : (N,) array of int
    values : (N, d) array
        As they are compared; NaN where one is missing.
    """
    K, d = problem.K, problem.d
    centre, sd = np.full((2, K, d), np.nan)
    freedom = np.zeros((K, d))
    for c in range(d):
        seen = np.isfinite(values[:, c])
        of, x = arms[seen], values[seen, c]
        middle = _medians(of, x, K)
        count = np.bincount(of, minlength=K).astype(np.float64)
        centre[:, c] = middle
        if problem.noise != KNOWN and not problem.scales[c].binary:
            sd[:, c], freedom[:, c] = _estimate(problem, c, of, x - middle[of], count)
    if problem.covariance is not None:
        sd, freedom = given_deviations(problem), np.full((K, d), np.inf)
    return NoiseScale(centre, sd, freedom)


def given_deviations(problem: Problem) -> Floats:
    """Return the standard deviations (K, d) that are registered; NaN where there are none.

    There are none where the noise is estimated, of values of 0 or 1, and without noise.
    """
    if problem.covariance is None:
        return np.full((problem.K, problem.d), np.nan)
    variances = np.diagonal(problem.covariance, axis1=-2, axis2=-1)
    binary = np.array([scale.binary for scale in problem.scales], dtype=bool)
    sd = np.where((variances > 0.0) & ~binary, np.sqrt(variances), np.nan)
    return np.broadcast_to(sd, (problem.K, problem.d))


def _estimate(
    problem: Problem, c: int, arms: Ints, rest: Floats, count: Floats
) -> tuple[Floats, Floats]:
    """Return standard deviations (K,) of an objective, and their degrees of freedom."""
    own, free = _by_arm(arms, rest, count)
    several = count >= 3
    guess, worth = _guessed(problem.noise_guess, problem, c)
    enough = count[several].sum() >= FEWEST_RESULTS
    if problem.noise == ESTIMATE:
        worth *= problem.K
        free = np.where(several, free, 0.0) * enough
        degrees = np.full(len(count), worth + free.sum())
        squares = np.full(len(count), worth * guess**2 + (free * own**2).sum())
    else:
        if worth == 0.0 and enough:
            guess, worth = float(np.median(own[several])), WORTH
        worth = worth if guess > 0.0 else 0.0
        free = np.where(several, free, 0.0)
        degrees, squares = worth + free, worth * guess**2 + free * own**2
    sd = np.sqrt(squares / np.where(degrees > 0.0, degrees, np.nan))
    return np.where(sd > 0.0, sd, np.nan), degrees


def _by_arm(arms: Ints, rest: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Return each arm's own standard deviation by its median distance, and what it is worth.

    Where more than half of the results are equal, that is 0, and the root mean square stands
    in for it.
    """
    K = len(count)
    mad = np.nan_to_num(_medians(arms, np.abs(rest), K))
    small = np.array([0.0, 0.0, 0.0, *SMALL])
    n = np.maximum(count, 3.0)
    correction = np.where(n < len(small), small[np.minimum(n, len(small) - 1).astype(int)], 1.0)
    correction = np.where(n < len(small), correction, n / (n - 0.8))
    squares = np.bincount(arms, rest**2, K) / np.maximum(count - 1.0, 1.0)
    own = np.where(mad > 0.0, NORMAL * correction * mad, np.sqrt(squares))
    return own, np.where(mad > 0.0, EFFICIENCY, 1.0) * np.maximum(count - 2.0, 0.0)


def _guessed(guess: NoiseGuess | None, problem: Problem, c: int) -> tuple[float, float]:
    if guess is None:
        return 0.0, 0.0
    return float(np.sqrt(problem.usual_covariance[c, c])), max(guess.results, WORTH)


def _medians(groups: Ints, x: Floats, K: int) -> Floats:
    """Return the median of each group (K,); NaN of an empty one."""
    order = np.lexsort((x, groups))
    x = x[order]
    count = np.bincount(groups, minlength=K)
    start = np.concatenate(([0], np.cumsum(count)[:-1]))
    some = count > 0
    found = np.full(K, np.nan)
    low, high = start + (count - 1) // 2, start + count // 2
    found[some] = x[low[some]] + (x[high[some]] - x[low[some]]) / 2.0
    return found
