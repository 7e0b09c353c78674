"""Tests of results against what is assumed of them: normal, independent, one covariance.

Under what is assumed, each test has a law that does not depend on the means of the arms, nor
(but for that of the covariance) on the size of the noise. It is exact for arms chosen
beforehand, except where something else is said. All of them return p-values that are corrected
for the number of arms, objectives or results that were looked at.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats, Ints
from psips.diagnostics.residuals import Residuals, residuals_of
from psips.laws import (
    MOST,
    beta_tails,
    chi_square_tails,
    f_tails,
    normal_tails,
    students_tails,
)

LEAST_FREEDOM = 20  # degrees of freedom from which on skewness and autocorrelation are tested
ROUNDING = 1e-12  # share of a sum of squares that may be rounding errors


class Found(NamedTuple):
    """How far something is from what is assumed, at one place.

    Parameters
    ----------
    p_value : float
        Corrected for the number of places.
    place : tuple of int
        Position of the arm or of the result, if the test has one, and of the objective.
    size : float
        How large the deviation is, in the units of the test.
    sd : float
        Of results that are compared with a standard deviation, which that is.
    """

    p_value: float
    place: tuple[int, ...]
    size: float
    sd: float = math.nan


def wrong_covariance(found: Residuals, covariance: Floats) -> float | None:
    """Compare the scatter with a covariance that was given; None if there is too little.

    With the scatter W of f degrees of freedom in coordinates in which the noise is given as
    the identity, and W = T T^T its Cholesky factor, the squares of the diagonal of T are
    chi-square with f, f - 1, ... degrees of freedom, what is below it is standard normal, and
    all are independent (Bartlett).
    """
    d = found.values.shape[1]
    if found.freedom < d:
        return None
    white = np.linalg.solve(np.linalg.cholesky(covariance), found.values.T)
    T = np.asarray(np.linalg.qr(white.T, mode="r")).T  # up to signs
    freedoms = found.freedom - np.arange(d)
    squares = np.diag(T) ** 2
    sides = np.minimum(*chi_square_tails(freedoms, squares))
    below = np.abs(T[np.tril_indices(d, -1)])
    least = float(np.min([*(2.0 * sides), *(2.0 * normal_tails(below)[1])]))
    count = d * (d + 1) // 2
    return float(-np.expm1(count * np.log1p(-least))) if least < 1.0 else 1.0


def unequal_variances(found: Residuals) -> list[Found]:
    """Compare the variance of each arm with that of all others: F tests.

    The size is the ratio of the two.
    """
    K, d = int(found.arms.max()) + 1, found.values.shape[1]
    own = np.bincount(found.arms, minlength=K) - 1
    arms = np.flatnonzero((own > 0) & (own < found.freedom))
    total = found.squares
    if not len(arms) or not np.all(total > 0):
        return []
    squares = np.zeros((K, d))
    np.add.at(squares, found.arms, found.values**2)
    squares, freedom = squares[arms], own[arms, None]
    others = found.freedom - freedom
    rest = np.maximum(total - squares, ROUNDING * total)
    ratios = (squares / freedom) / (rest / others)
    sides = np.minimum(*f_tails(freedom, others, ratios))
    p = np.minimum(1.0, 2.0 * sides * sides.size)
    return [
        Found(float(p[k, c]), (int(arm), c), float(ratios[k, c]))
        for k, arm in enumerate(arms)
        for c in range(d)
    ]


def furthest(found: Residuals) -> list[Found]:
    """Look for the result that is furthest from the others of its arm.

    Each is compared with a variance to which it has not contributed: t with f - 1 degrees of
    freedom. The size is in these standard deviations.
    """
    rows = np.flatnonzero(found.sizes > 1)
    if found.freedom < 2 or not np.all(found.squares > 0):
        return []
    x, left = found.values[rows], 1.0 - 1.0 / found.sizes[rows, None]
    rest = np.maximum(found.squares - x**2 / left, ROUNDING * found.squares)
    sd = np.sqrt(rest / (found.freedom - 1))
    scores = x / (np.sqrt(left) * sd)
    i, c = divmod(int(np.argmax(np.abs(scores))), scores.shape[1])
    p = 2.0 * float(students_tails(found.freedom - 1, abs(scores[i, c]))[1]) * scores.size
    return [Found(min(1.0, p), (int(rows[i]), c), float(scores[i, c]), float(sd[i, c]))]


def skewness(found: Residuals) -> list[Found]:
    """Test whether deviations upwards and downwards are alike.

    The third moment of residuals has an exact variance; the tails are approximated as those of
    one sample of f + 1 results are (D'Agostino). The size is the skewness.
    """
    sizes = found.sizes
    # The sum over arms with m results of 6 (m - 1) (m - 2) / m: each result has its share.
    spread = float((6.0 * (sizes - 1) * (sizes - 2) / sizes**2).sum())
    f, d = found.freedom, found.values.shape[1]
    if f < LEAST_FREEDOM or spread <= 0 or not np.all(found.squares > 0):
        return []
    skews = (found.values**3).sum(axis=0) / found.squares**1.5
    variance = spread / (f * (f + 2.0) * (f + 4.0))
    p = np.minimum(1.0, d * _tails_of_skewness(skews / np.sqrt(variance), f + 1.0))
    thirds = spread / 6.0  # what the sum of cubes is a multiple of
    sizes_of = skews * f**1.5 / thirds
    return [Found(float(p[c]), (c,), float(sizes_of[c])) for c in range(d)]


def _tails_of_skewness(scores: Floats, n: float) -> Floats:
    """Two-sided tails by D'Agostino's transformation to a normal (Biometrika 57, 1970)."""
    kurtosis = 3.0 * (n**2 + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0)
    kurtosis /= (n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0)
    W2 = np.sqrt(2.0 * (kurtosis - 1.0)) - 1.0
    scale = np.sqrt(2.0 / (W2 - 1.0))
    z = np.arcsinh(np.abs(scores) / scale) / np.sqrt(0.5 * np.log(W2))
    return 2.0 * normal_tails(z)[1]


def drift(found: Residuals) -> tuple[list[Found], Residuals]:
    """Test for a trend in time, the same for all arms: t with f - 1 degrees of freedom.

    The size is the change from the first result to the last, in standard deviations. The
    residuals that are returned are those that the trends leave.
    """
    N, d = found.values.shape
    f = found.freedom - 1
    times = residuals_of(found.arms, np.linspace(0.0, 1.0, N)[:, None]).values
    spread = float((times**2).sum())
    if f < 2 or spread < ROUNDING or not np.all(found.squares > 0):
        return [], found
    slopes = (times * found.values).sum(axis=0) / spread
    rest = found.values - times * slopes
    sd = np.sqrt(np.maximum((rest**2).sum(axis=0), ROUNDING * found.squares) / f)
    p = np.minimum(1.0, 2.0 * d * students_tails(f, np.abs(slopes) * np.sqrt(spread) / sd)[1])
    trends = [Found(float(p[c]), (c,), float(slopes[c] / sd[c])) for c in range(d)]
    return trends, Residuals(found.arms, rest, found.sizes, f)


def autocorrelation(found: Residuals) -> list[Found]:
    """Test whether results are alike if one follows the other in time.

    The sum of products of neighbours over the sum of squares has, for residuals of arms, known
    mean and variance (Durbin and Watson); its law is approximated by a beta distribution with
    these, between the smallest and the largest value it can have. The size is the correlation.
    """
    N, d = found.values.shape
    x = found.values
    if found.freedom < LEAST_FREEDOM or not np.all(found.squares > 0):
        return []
    r = (x[1:] * x[:-1]).sum(axis=0) / found.squares
    mean, variance = _moments(found.arms, found.sizes, found.freedom)
    if found.freedom * variance < ROUNDING:  # it is the same whatever the results are
        return []
    end = np.cos(np.pi / (N + 1))
    centre = (mean + end) / (2.0 * end)  # on a scale from 0 to 1
    total = min(centre * (1.0 - centre) * 4.0 * end**2 / variance - 1.0, MOST)
    a, b = centre * total, (1.0 - centre) * total
    at = np.clip((r + end) / (2.0 * end), 0.0, 1.0)
    sides = np.minimum(*beta_tails(a, b, at))
    p = np.minimum(1.0, 2.0 * d * sides)
    return [Found(float(p[c]), (c,), float(r[c] - mean)) for c in range(d)]


def _moments(arms: Ints, sizes: Ints, f: int) -> tuple[float, float]:
    """Mean and variance of e^T A e / e^T e, where A has 1/2 next to its diagonal.

    With M the projection that takes the means of the arms away, they follow from the traces of
    MA and MAMA. M = I - P, and P has 1/m where two results are of one arm with m results.
    """
    N, K = len(arms), int(arms.max()) + 1
    next_same = (arms[1:] == arms[:-1]) / sizes[1:]
    after_same = (arms[2:] == arms[:-2]) / sizes[2:]
    first = -float(next_same.sum())
    neighbours = np.full(N, 2.0)
    neighbours[[0, -1]] = 1.0
    squared = 0.25 * neighbours.sum()  # tr A A
    once = 0.25 * float((neighbours / sizes).sum()) + 0.5 * float(after_same.sum())  # tr P A A
    one, other = arms[1:], arms[:-1]
    shares = np.tile(0.5 / np.sqrt(sizes[1:] * sizes[:-1]), 2)
    _, pair = np.unique([*(one * K + other), *(other * K + one)], return_inverse=True)
    twice = float((np.bincount(pair, shares) ** 2).sum())  # tr P A P A
    second = squared - 2.0 * once + twice
    variance = 2.0 * (f * second - first**2) / (f**2 * (f + 2.0))
    return first / f, variance
