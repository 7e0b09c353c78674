"""Noise around a linear fit: one covariance for all arms, estimated from the residuals.

With n results, h rows of theta and r_a the distance of the mean of arm a from the fit, the
sum of squares around the fit is that around the means of the arms and sum_a N_a r_a r_a^T,
and has n - h degrees of freedom. Correlations and Student's tail are as in
`psips.kernels.scatter`. A model that does not fit makes the noise look larger. With a
regularisation the residuals are larger than those of least squares, and no smaller number
of degrees of freedom is due to them.

What is estimated is kept in FORMS matrices (d, d), which the posterior reads in the place of
what would be given: the covariance of one result with Student's tail, its lower Cholesky
factor, its inverse, and in the first row of the last its standard deviations.
"""

from __future__ import annotations

import math

from psips.aliases import Floats
from psips.kernels.grids import floats, floats2
from psips.kernels.jit import part
from psips.kernels.model import NoiseModel
from psips.kernels.scatter import (
    ENOUGH,
    SHRINKINGS,
    Scatter,
    add_up,
    cholesky,
    invert,
    normalise,
    students_share,
)

COVARIANCE, FACTOR, INVERSE, UNIT = range(4)
ROUNDING = 1e-10  # residuals that are less of the values are rounding: features have 12 digits


@part
def residual_products(
    noise: NoiseModel, s: Scatter, A: Floats, pulls: Floats, theta: Floats, out: Floats
) -> float:
    """Write sums of products (d, d) around the fit; return their degrees of freedom."""
    d = out.shape[0]
    total = -float(theta.shape[0])
    rest, size = floats(d), floats(d)
    for c in range(d):
        for e in range(d):
            out[c, e] = noise.worth * noise.guess[c, e]
    for a in range(A.shape[0]):
        n = pulls[a]
        if n == 0.0:
            continue
        total += n
        for c in range(d):
            rest[c] = s.origin[a, c] + s.sums[a, c, c] / n
            size[c] += n * rest[c] * rest[c]
            for i in range(A.shape[1]):
                rest[c] -= A[a, i] * theta[i, c]
        for c in range(d):
            for e in range(d):
                out[c, e] += add_up(s, a, c, e) + n * rest[c] * rest[e]
    for c in range(d):
        if out[c, c] < ROUNDING * ROUNDING * size[c]:
            out[c, c] = 0.0  # results lie on the fit
    return noise.worth + max(total, 0.0)


@part
def settle_fit(noise: NoiseModel, s: Scatter, A: Floats, pulls: Floats, theta: Floats) -> None:
    """Bring the covariance and its degrees of freedom up to date with the results."""
    d = theta.shape[1]
    Sigma, free = floats2(d, d), floats2(d, d)
    freedom = residual_products(noise, s, A, pulls, theta, Sigma)
    for c in range(d):
        for e in range(d):
            free[c, e] = freedom
    s.freedom[0] = normalise(noise, s, 0, A.shape[0], free, Sigma)
    if s.freedom[0] < ENOUGH:
        return
    for _ in range(SHRINKINGS):  # correlations of 1, but for rounding
        if cholesky(Sigma, s.C[FACTOR]):
            break
        for c in range(d):
            for e in range(d):
                if c != e:
                    Sigma[c, e] *= 0.5
    share = students_share(s.freedom[0], s.level[0])
    for c in range(d):
        for e in range(d):
            s.C[COVARIANCE, c, e] = share * Sigma[c, e]
            s.C[FACTOR, c, e] *= math.sqrt(share)
        s.C[UNIT, 0, c] = math.sqrt(s.C[COVARIANCE, c, c])
    invert(s.C[COVARIANCE], d, s.C[INVERSE])
