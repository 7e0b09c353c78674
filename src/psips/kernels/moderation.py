"""How far the variances of many arms inform each other (Smyth 2004).

The variances of arms are taken as draws, sigma_a^2 = d0 s0^2 / chi^2_d0. Then s_a^2 / s0^2, on
nu_a degrees of freedom, has the law F(nu_a, d0), and an arm's variance is estimated by
(d0 s0^2 + nu_a s_a^2) / (d0 + nu_a) on d0 + nu_a degrees of freedom. d0 is the least number on
a grid whose likelihood is within CAUTION of the largest: few arms, or arms whose variances
differ without a pattern, lend each other little or nothing.

One arm among many may still be far noisier than all others, and no prior knows of it. If its
variance looks larger than OUTLYING times the common one, it is left as it is. With few results
it may not look so: an arm with NOISIER times the variance passes for an ordinary one with the
probability P(chi^2_nu <= nu OUTLYING / NOISIER). So the others count from that nu on at which
this is at most half of delta.
"""

from __future__ import annotations

import math

from psips.aliases import Floats
from psips.kernels.codes import FEWEST
from psips.kernels.grids import floats
from psips.kernels.jit import bare, kernel, part
from psips.kernels.model import OWN, POOLED, NoiseModel
from psips.kernels.scatter import (
    DEGREES,
    NOW,
    OUTLYING,
    THEN,
    VARIANCE,
    Scatter,
    add_up,
    is_flat,
    settle,
    take,
)

GROWTH = 1.05  # growth of the results after which s0^2 and d0 are estimated again
CAUTION = 2.0  # nats below the largest likelihood that d0 is looked for
DOUBLINGS = 9  # d0 is looked for among 1, 2, 4, ..
NOISIER = 100.0  # variance of an arm that must not pass for an ordinary one


def least_freedom(delta: float) -> float:
    """Return from how many degrees of freedom on other arms count.

    Examples
    --------
    >>> [least_freedom(delta) for delta in (0.1, 0.05, 0.01, 0.001)]
    [2.0, 3.0, 4.0, 6.0]
    """
    nu = 1.0
    while True:
        half = 0.5 * nu * OUTLYING / NOISIER  # of the argument of chi^2; small
        passes = half ** (0.5 * nu) * math.exp(-half) / math.gamma(0.5 * nu + 1.0)
        if passes <= 0.5 * delta:
            return nu
        nu += 1.0


@bare
def digamma(x: float) -> float:
    """Return the derivative of log Gamma at x > 0."""
    below = 0.0
    while x < 6.0:
        below -= 1.0 / x
        x += 1.0
    q = 1.0 / (x * x)
    series = q * (1.0 / 12.0 - q * (1.0 / 120.0 - q * (1.0 / 252.0 - q / 240.0)))
    return below + math.log(x) - 0.5 / x - series


@bare
def log_likelihood(nu: float, d0: float, log_ratio: float) -> float:
    """Log density of log(s^2 / s0^2) where s^2 / s0^2 has the law F(nu, d0)."""
    whole, a, b = 0.5 * (nu + d0), 0.5 * nu, 0.5 * d0
    found = math.lgamma(whole) - math.lgamma(a) - math.lgamma(b)
    scaled = math.log(nu / d0) + log_ratio
    return found + a * scaled - whole * math.log1p(math.exp(min(scaled, 700.0)))


@part
def fit_prior(s: Scatter, c: int) -> None:
    """Estimate s0^2 and d0 of objective ``c``, zeros where arms do not inform each other."""
    K = s.count.shape[0]
    logs, nu = floats(K), floats(K)
    m = 0
    centre = 0.0
    for a in range(K):
        free = s.count[a, c, c] - 1.0
        total = add_up(s, a, c, c)
        if free >= 1.0 and total > 0.0:
            logs[m], nu[m] = math.log(total / free), free
            centre += logs[m] - digamma(0.5 * free) + math.log(0.5 * free)
            m += 1
    s.prior[VARIANCE, c] = 0.0
    s.prior[DEGREES, c] = 0.0
    if m < FEWEST:
        return
    centre /= m
    found = floats(DOUBLINGS)
    best = 0
    for k in range(DOUBLINGS):
        d0 = float(1 << k)
        level = centre + digamma(0.5 * d0) - math.log(0.5 * d0)
        for j in range(m):
            found[k] += log_likelihood(nu[j], d0, logs[j] - level)
        if found[k] > found[best]:
            best = k
    k = 0
    while found[k] < found[best] - CAUTION:
        k += 1
    if k > 0:
        d0 = float(1 << k)
        s.prior[DEGREES, c] = d0
        s.prior[VARIANCE, c] = math.exp(centre + digamma(0.5 * d0) - math.log(0.5 * d0))


@bare
def _flat(noise: NoiseModel, s: Scatter, arm: int) -> int:
    """In how many objectives results of an arm have not varied; those of one result count."""
    found = 0
    for c in range(s.count.shape[1]):
        if s.count[arm, c, c] == 1.0 or is_flat(noise, s, arm, c):
            found += 1
    return found


@kernel
def take_in(
    noise: NoiseModel, s: Scatter, N: Floats, arm: int, x: Floats, theta: Floats
) -> None:
    """Take in a result and settle the arms that it says something of."""
    flat = _flat(noise, s, arm)
    take(s, arm, x)
    every = noise.mode == POOLED
    s.fitted[NOW] += 1.0
    if noise.mode == OWN and s.fitted[NOW] >= GROWTH * s.fitted[THEN]:
        s.fitted[THEN] = s.fitted[NOW]
        every = True
        for c in range(x.shape[0]):
            if noise.binary[c] == 0.0:
                fit_prior(s, c)
    if not every:
        settle(noise, s, N, arm, theta)
        if noise.mode == OWN and _flat(noise, s, arm) < flat:
            for a in range(N.shape[0]):  # this may be the first arm to vary
                if _flat(noise, s, a) > 0:
                    settle(noise, s, N, a, theta)
        return
    for a in range(N.shape[0]):
        if N[a] > 0.0:
            settle(noise, s, N, a, theta)
