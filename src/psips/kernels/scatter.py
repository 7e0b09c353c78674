"""How results of an arm scatter, and the covariance of its mean that follows.

Known noise: Sigma_a is given. Unknown noise, OWN: Sigma_a is estimated from the results of the
arm, its correlations drawn towards 0 by d + 1 results, and its variances towards that of the
other arms as far as these are alike (`psips.kernels.moderation`): with the variance s0^2 and
the d0 degrees of freedom that they are worth, a variance is (d0 s0^2 + nu s^2) / (d0 + nu).
An arm whose results are all the same in an objective that varies elsewhere (a score of 5 out of
5) has a variance as if one more result lay STAND_IN standard deviations of the others away.
POOLED: from the results of all arms. A mean then has Student's law, not a normal one, and what
stopping rules look at is its far tail. So the covariance is inflated: with ``level`` the square
z^2 of the normal that the rule looks at, by the t^2 / z^2 at which Student's law has the tail
that the normal has at z. By Wallace (1959)

    t^2 = nu (exp(z^2 ((8 nu + 3) / (8 nu + 1))^2 / nu) - 1),

a little more than exact for nu < 3. Directions that combine d objectives are taken into
account with d - 1 degrees of freedom less.

Results with holes: with n_p results of the pattern p of objectives and E_p the rows of the
identity that it has, the precision of the mean is sum_p n_p E_p' (E_p Sigma E_p')^-1 E_p, and
the mean is the weighted least squares estimate. The scatter of two objectives comes from the
results that have both.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats
from psips.kernels.grids import floats, floats2, ints
from psips.kernels.jit import bare, kernel, part
from psips.kernels.model import EACH, OWN, POOLED, SHARED, Model, NoiseModel
from psips.kernels.records import Record, record

LATEST = 60.0  # exponent from which on Student's tail is as good as infinite
ENOUGH = 1.0  # degrees of freedom from which on noise counts as known
VARIANCE, DEGREES, LEAST = range(3)  # places in Scatter.prior
OUTLYING = 4.0  # times the common variance: from there on an arm's variance is its own
STAND_IN = 2.0  # standard deviations at which a result is imagined where all are the same
NOW, THEN = range(2)  # places in Scatter.fitted
SHRINKINGS = 64  # of correlations that do not fit together, each by half: none is left then
FORMS = 4  # matrices that a covariance of linear problems is kept in, `psips.kernels.fitted`


@record
class Scatter(Record):
    """Sums over results, less the first value of the arm; updated in place.

    All arrays are empty if the noise is known, the same for all arms, and nothing is missing.
    """

    origin: Floats  # (K, d) the first value seen
    count: Floats  # (K, d, d) results that have both objectives
    sums: Floats  # (K, d, d) of the first objective over these
    cross: Floats  # (K, d, d) of the products of both
    higher: Floats  # (K, d, 2) of cubes and fourth powers; empty if no objective has a range
    seen: Floats  # (K, 2^d) results by pattern of objectives; (0, 0) without holes
    seen_sums: Floats  # (K, 2^d, d) their sums
    C: Floats  # (K, d, d) covariance of each arm's mean; linear: see `psips.kernels.fitted`
    freedom: Floats  # (K,) degrees of freedom of the noise; below 1 it is not known yet
    level: Floats  # (1,) z^2
    prior: Floats  # (3, d) s0^2, d0, and from which nu on they count; zeros at first
    fitted: Floats  # (2,) results, and how many there were when ``prior`` was estimated


def empty_scatter(model: Model) -> Scatter:
    """Return the scatter of no results."""
    noise, d = model.noise, model.d
    K = model.K if noise.mode != SHARED or noise.partial else 0
    K, d = (K, d) if K else (0, 0)
    ranged = noise.mode in (POOLED, OWN) and bool(np.isfinite(noise.low).any())
    H, P = (K, 2**d) if noise.partial else (0, 0)
    each = K if model.unstructured else min(K, 1)  # linear: all arms have one covariance
    matrices = each if model.unstructured else FORMS * each
    return Scatter(
        origin=np.zeros((K, d)),
        count=np.zeros((K, d, d)),
        sums=np.zeros((K, d, d)),
        cross=np.zeros((K, d, d)),
        higher=np.zeros((K if ranged else 0, d, 2)),
        seen=np.zeros((H, P)),
        seen_sums=np.zeros((H, P, d if H else 0)),
        C=np.zeros((matrices, d, d)),
        freedom=np.zeros(each),
        level=np.zeros(1),
        prior=np.zeros((3, d)),
        fitted=np.zeros(2),
    )


@kernel
def students_share(freedom: float, level: float) -> float:
    """Return t^2 / z^2 of equal tails, z^2 the level."""
    if level <= 0.0:
        return 1.0
    bend = (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0)
    exponent = level * bend * bend / freedom
    if exponent > LATEST:
        exponent = LATEST
    return freedom * math.expm1(exponent) / level


@bare
def take(s: Scatter, arm: int, x: Floats) -> None:
    """Add a result ``x`` (d,) with NaN where a value is missing."""
    d = x.shape[0]
    pattern = 0
    for c in range(d):
        if not math.isnan(x[c]):
            pattern += 1 << c
            if s.count[arm, c, c] == 0.0:
                s.origin[arm, c] = x[c]
    for c in range(d):
        if math.isnan(x[c]):
            continue
        here = x[c] - s.origin[arm, c]
        if s.higher.shape[0] > 0:
            s.higher[arm, c, 0] += here * here * here
            s.higher[arm, c, 1] += here * here * here * here
        for e in range(d):
            if not math.isnan(x[e]):
                s.count[arm, c, e] += 1.0
                s.sums[arm, c, e] += here
                s.cross[arm, c, e] += here * (x[e] - s.origin[arm, e])
        if s.seen.shape[0] > 0:
            s.seen_sums[arm, pattern, c] += here
    if s.seen.shape[0] > 0:
        s.seen[arm, pattern] += 1.0


@bare
def add_up(s: Scatter, arm: int, c: int, e: int) -> float:
    """Return the sum of products of two objectives around the means of the arm."""
    n = s.count[arm, c, e]
    if n == 0.0:
        return 0.0
    return s.cross[arm, c, e] - s.sums[arm, c, e] * s.sums[arm, e, c] / n


@bare
def _binary_variance(s: Scatter, first: int, last: int, c: int) -> float:
    """Variance of values that are 0 or 1, with one of each added to the results."""
    total = ones = 0.0
    for a in range(first, last):
        n = s.count[a, c, c]
        total += n
        ones += abs(n * s.origin[a, c] + s.sums[a, c, c])
    share = (ones + 1.0) / (total + 2.0)
    return share * (1.0 - share)


@bare
def is_flat(noise: NoiseModel, s: Scatter, arm: int, c: int) -> bool:
    """Whether an arm has several results in an objective, and all are the same."""
    several = s.count[arm, c, c] >= 2.0 and noise.binary[c] == 0.0 and noise.worth == 0.0
    return several and not add_up(s, arm, c, c) > 0.0


@bare
def _flat_variance(s: Scatter, arm: int, c: int) -> float:
    """Variance where all results of an arm are the same; 0 if those of all arms are."""
    total = free = 0.0
    for a in range(s.count.shape[0]):
        here = add_up(s, a, c, c)
        if here > 0.0:
            total += here
            free += s.count[a, c, c] - 1.0
    if free == 0.0:
        return 0.0
    return STAND_IN * STAND_IN * total / (free * (s.count[arm, c, c] + 1.0))


@part
def covariance(noise: NoiseModel, s: Scatter, arm: int, out: Floats) -> float:
    """Write the covariance of one result of ``arm``; return its degrees of freedom.

    0 if a variance is not known yet.
    """
    d = out.shape[0]
    if noise.mode == SHARED or noise.mode == EACH:
        for c in range(d):
            for e in range(d):
                out[c, e] = noise.given[arm, c, e]
        return np.inf
    first, last = (0, s.count.shape[0]) if noise.mode == POOLED else (arm, arm + 1)
    free = floats2(d, d)
    for c in range(d):
        for e in range(d):
            free[c, e] = noise.worth
            out[c, e] = noise.worth * noise.guess[c, e]
            for a in range(first, last):
                free[c, e] += max(s.count[a, c, e] - 1.0, 0.0)
                out[c, e] += add_up(s, a, c, e)
    if noise.mode == OWN:
        for c in range(d):
            if is_flat(noise, s, arm, c):
                out[c, c] = free[c, c] * _flat_variance(s, arm, c)
            if free[c, c] <= 0.0 or (noise.binary[c] == 0.0 and not out[c, c] > 0.0):
                return 0.0
    least = normalise(noise, s, first, last, free, out)
    if noise.mode == OWN:
        least = draw_together(noise, s, free, out)
    return least


@part
def draw_together(noise: NoiseModel, s: Scatter, free: Floats, out: Floats) -> float:
    """Draw the variances of a covariance towards those of other arms; return its freedom.

    A variance that is far larger than theirs, or of too few results to tell, stays as it is.
    """
    d = out.shape[0]
    least = np.inf
    for c in range(d):
        own, nu, common = out[c, c], free[c, c], s.prior[VARIANCE, c]
        worth = s.prior[DEGREES, c]
        if noise.binary[c] != 0.0 or nu < s.prior[LEAST, c] or own > OUTLYING * common:
            worth = 0.0
        least = min(least, nu + worth)
        if worth > 0.0:
            share = math.sqrt((worth * common / own + nu) / (worth + nu))
            for e in range(d):
                out[c, e] *= share
                out[e, c] *= share
    return least - (d - 1.0)


@part
def normalise(
    noise: NoiseModel, s: Scatter, first: int, last: int, free: Floats, out: Floats
) -> float:
    """Make of sums of products ``out`` (d, d), with ``free`` degrees each, a covariance.

    Return its degrees of freedom, 0 if a variance is not known yet. Binary values are those of
    the arms from ``first`` to ``last``.
    """
    d = out.shape[0]
    least = np.inf
    sd = floats(d)
    for c in range(d):
        least = min(least, free[c, c])
        if free[c, c] <= 0.0 or (noise.binary[c] == 0.0 and not out[c, c] > 0.0):
            return 0.0
        sd[c] = math.sqrt(max(out[c, c], 0.0) / free[c, c])
    for c in range(d):
        for e in range(d):
            if c != e:
                spread = sd[c] * sd[e] * (free[c, e] + d + 1.0)
                out[c, e] = out[c, e] / spread if spread > 0.0 else 0.0
    for c in range(d):
        if noise.binary[c] != 0.0 and noise.worth == 0.0:
            sd[c] = math.sqrt(_binary_variance(s, first, last, c))
        out[c, c] = sd[c] * sd[c]
    for c in range(d):
        for e in range(d):
            if c != e:
                out[c, e] *= sd[c] * sd[e]
    return least - (d - 1.0)


@part
def cholesky(S: Floats, R: Floats) -> bool:
    """Write the lower Cholesky factor; False if the matrix is not positive definite."""
    d = S.shape[0]
    for i in range(d):
        for j in range(d):
            R[i, j] = 0.0
        for j in range(i + 1):
            total = S[i, j]
            for k in range(j):
                total -= R[i, k] * R[j, k]
            if i == j:
                if not total > 1e-12 * S[i, i]:
                    return False
                R[i, i] = math.sqrt(total)
            else:
                R[i, j] = total / R[j, j]
    return True


@part
def invert(S: Floats, m: int, out: Floats) -> None:
    """Write the inverse of the leading (m, m) block of a positive definite matrix."""
    L = floats2(m, m)
    for i in range(m):
        for j in range(i + 1):
            total = S[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(max(total, 1e-300)) if i == j else total / L[j, j]
    inner = floats2(m, m)  # L^-1
    for j in range(m):
        for i in range(j, m):
            total = 1.0 if i == j else 0.0
            for k in range(j, i):
                total -= L[i, k] * inner[k, j]
            inner[i, j] = total / L[i, i]
    for i in range(m):
        for j in range(m):
            total = 0.0
            for k in range(max(i, j), m):
                total += inner[k, i] * inner[k, j]
            out[i, j] = total


@part
def weighted_mean(s: Scatter, arm: int, Sigma: Floats, mean: Floats, C: Floats) -> None:
    """Mean (d,) of results with holes and its covariance (d, d), all objectives seen."""
    d = Sigma.shape[0]
    precision, sub, inverse = floats2(d, d), floats2(d, d), floats2(d, d)
    right, idx = floats(d), ints(d)
    for pattern in range(1, s.seen.shape[1]):
        n = s.seen[arm, pattern]
        if n == 0.0:
            continue
        m = 0
        for c in range(d):
            if (pattern >> c) & 1:
                idx[m] = c
                m += 1
        for i in range(m):
            for j in range(m):
                sub[i, j] = Sigma[idx[i], idx[j]]
        invert(sub, m, inverse)
        for i in range(m):
            for j in range(m):
                precision[idx[i], idx[j]] += n * inverse[i, j]
                right[idx[i]] += inverse[i, j] * s.seen_sums[arm, pattern, idx[j]]
    invert(precision, d, C)
    for c in range(d):
        mean[c] = s.origin[arm, c]
        for e in range(d):
            mean[c] += C[c, e] * right[e]


@part
def settle(noise: NoiseModel, s: Scatter, N: Floats, arm: int, theta: Floats) -> None:
    """Bring C, the degrees of freedom and, with holes, the mean of an arm up to date."""
    d = theta.shape[1]
    Sigma, R, mean = floats2(d, d), floats2(d, d), floats(d)
    s.freedom[arm] = covariance(noise, s, arm, Sigma)
    for c in range(d):
        if s.count[arm, c, c] == 0.0:
            s.freedom[arm] = 0.0
    if s.freedom[arm] < ENOUGH:
        if noise.partial:
            for c in range(d):
                n = max(s.count[arm, c, c], 1.0)
                theta[arm, c] = s.origin[arm, c] + s.sums[arm, c, c] / n
        return
    for _ in range(SHRINKINGS):  # scatter of pairs, with holes, need not fit together
        if cholesky(Sigma, R):
            break
        for c in range(d):
            for e in range(d):
                if c != e:
                    Sigma[c, e] *= 0.5
    if noise.partial:
        weighted_mean(s, arm, Sigma, mean, s.C[arm])
        for c in range(d):
            theta[arm, c] = mean[c]
    else:
        for c in range(d):
            for e in range(d):
                s.C[arm, c, e] = Sigma[c, e] / N[arm]
    if noise.mode == OWN or noise.mode == POOLED:
        factor = students_share(s.freedom[arm], s.level[0])
        for c in range(d):
            for e in range(d):
                s.C[arm, c, e] *= factor
