"""What the data prove of limits, and of two answers where there are limits.

The claims of answer z: "it keeps limit l", "it breaks limit l", and "it beats x in objective c
up to the tolerance". Each has evidence that reaches L, ever, with probability at most exp(-L)
if the claim is false: that of one arm, or of two of which one is multiplied by a limit's
factor, from `psips.kernels.certificates` where one covariance of all results is known, and from
`psips.kernels.marginal` otherwise. What follows from them together: `psips.session.keeping`.
"""

from __future__ import annotations

import math

from psips.aliases import Floats
from psips.kernels.belief import Belief
from psips.kernels.certificates import evidence, evidence_of_two, log_mixture
from psips.kernels.constraint import applies
from psips.kernels.grids import as_array, floats, floats2, floats3
from psips.kernels.jit import kernel, part
from psips.kernels.marginal import (
    FLOOR,
    FOURTH,
    MEAN,
    PLACES,
    SECOND,
    THIRD,
    WIDTH,
    beats,
    capital,
    describe,
    evidence_apart,
    law_of,
    singly,
)
from psips.kernels.model import Model


@part
def scale(arm: Floats, factor: float) -> None:
    """Describe the values of an arm times a positive number."""
    arm[MEAN] *= factor
    arm[SECOND] *= factor**2
    arm[THIRD] *= factor**3
    arm[FOURTH] *= factor**4
    arm[FLOOR] *= factor
    arm[WIDTH] *= factor


@part
def above(model: Model, belief: Belief, a: int, c: int, sign: float, m: float) -> float:
    """E of "the mean of arm ``a`` in ``c``, times ``sign``, is above m"."""
    one = floats(PLACES)
    if singly(model):
        describe(model, belief, a, c, sign, one)
        return max(capital(law_of(model, c), one, m), 0.0)
    lead = sign * belief.theta[a, c] - m
    if lead <= 0.0 or belief.N[a] <= 0.0:
        return 0.0
    log_mixture(belief.N[a], math.sqrt(model.Sigma[c, c]), lead, one)
    return max(one[0], 0.0)


@part
def ahead(
    model: Model, belief: Belief, z: int, x: int, c: int, sign: float, factor: float, m: float
) -> float:
    """E of "the mean of z less ``factor`` > 0 times that of x, times ``sign``, is above m"."""
    if singly(model):
        first, second = floats(PLACES), floats(PLACES)
        describe(model, belief, z, c, sign, first)
        describe(model, belief, x, c, -sign, second)
        scale(second, factor)
        return evidence_apart(law_of(model, c), first, second, m, 0.0)
    s = math.sqrt(model.Sigma[c, c])
    lead = sign * (belief.theta[z, c] - factor * belief.theta[x, c]) - m
    return evidence_of_two(belief.N[z], belief.N[x], s, factor * s, lead)


@part
def of_limit(model: Model, belief: Belief, z: int, l: int, side: float) -> float:  # noqa: E741
    """E of "z keeps limit ``l``" (``side`` 1), or "breaks it" (-1); 0 where none is known."""
    limits = model.limits
    c, factor = limits.metric[l], limits.factor[l]
    sign, bound = side * limits.sign[l], side * limits.bound[l]
    if factor == 0.0:
        return above(model, belief, z, c, sign, bound)
    if z != limits.control:
        if factor < 0.0:
            return 0.0
        return ahead(model, belief, z, limits.control, c, sign, factor, bound)
    left = 1.0 - factor
    if left > 0.0:
        return above(model, belief, z, c, sign, bound / left)
    return above(model, belief, z, c, -sign, bound / -left)


@kernel
def evidence_within(model: Model, belief: Belief) -> tuple[Floats, Floats, Floats]:
    """Return evidence that limits are kept (n, L), broken (n, L), and of leads (n, n, d).

    ``leads[z, x, c]``: z beats x in c up to the tolerance; 0 in what is only limited. A limit
    that says nothing of z has infinite evidence that it is kept.
    """
    n, d, L = model.n, model.d, model.limits.metric.shape[0]
    kept, broken, leads = floats2(n, L), floats2(n, L), floats3(n, n, d)
    for z in range(n):
        for l in range(L):  # noqa: E741
            if applies(model.limits, z, l):
                kept[z, l] = of_limit(model, belief, z, l, 1.0)
                broken[z, l] = of_limit(model, belief, z, l, -1.0)
            else:
                kept[z, l] = math.inf
        for x in range(n):
            for c in range(d):
                if x == z or model.limits.aims[c] == 0.0:
                    continue
                if singly(model):
                    leads[z, x, c] = beats(model, belief, z, x, c, model.slack[c], 0.0)
                else:
                    lead = belief.theta[z, c] - belief.theta[x, c] - model.slack[c]
                    s = math.sqrt(model.Sigma[c, c])
                    leads[z, x, c] = evidence(belief.N[z], belief.N[x], s, lead)
    return as_array(kept), as_array(broken), as_array(leads)
