"""Certificates: what the data prove of two answers, at every time and under any sampling.

One claim. "Arm i beats arm j along y >= 0", y.(mu_i - mu_j) > 0, is tested against
y.(mu_i - mu_j) <= 0. For an arm with true mean m after N results of mean x-hat and
variance s^2 = y'Sigma y, the ratio of the likelihood averaged over shifts of m to that of m
is a nonnegative martingale of mean 1, however the arms are chosen; so is the product over
two arms. The shifts of i are mostly positive, those of j mostly negative: normal with
precision rho / s^2, mixed over a few rho, and a mass q
of the wrong sign is kept. With v = N e / (s sqrt(N + rho)), e = x-hat - m,

    g(e) = sum_rho weight (1 + N / rho)^(-1/2) 2 ((1 - q) Phi(v) + q Phi(-v)) exp(v^2 / 2),

and the product is g_i(e_i) g_j(-e_j). Log g is convex (a cumulant generating function) and
smallest at some e < 0; so over all means with y.(mu_i - mu_j) <= 0, that is over
e_i - e_j >= y.D-hat > 0, the product is smallest on the line of equality, and its logarithm
E there is found by a line search. By Ville's inequality, if the claim is false,
P(E >= L at any time) <= exp(-L).

Linear problems: the self-normalised bound of theta y, with the parameter bound B, holds for
all pairs at once: 2 E = (y.D-hat / ||x - z||_{V^-1} - sqrt(xi) B)^2 / s^2 - log det(V / xi).

Without one covariance for all arms, or with holes in results: see `psips.kernels.marginal`.

With a tolerance the claim is "i beats j along y up to epsilon", y.(mu_i - mu_j + epsilon) > 0.
What is tested is another number than 0, and the lead y.D-hat grows by y.epsilon; nothing else
changes, as the law of e does not depend on what is tested.

What follows from all claims together is in `psips.kernels.settling`.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats
from psips.kernels.belief import Belief
from psips.kernels.grids import floats, floats2
from psips.kernels.halfspace import may_beat, may_hold
from psips.kernels.jit import bare, part, standing
from psips.kernels.marginal import LOG_WEIGHTS as LOG_WEIGHTS
from psips.kernels.marginal import RHOS as RHOS
from psips.kernels.marginal import beats, singly
from psips.kernels.model import BALL, Model

ASTRAY = 0.1  # mass q of the shifts of the wrong sign: a far better known arm needs them
TIGHT = 1e-3  # nats to which the line search bounds its minimum from below
LOG_FOUR = 2.0 * math.log(2.0)


@part
def log_mixture(N: float, s: float, e: float, out: Floats) -> None:
    """Log g(e), its slope and about its curvature into ``out`` (3,)."""
    top = -np.inf
    total = slope = curve = 0.0
    for k in range(len(RHOS)):
        root = N / (s * math.sqrt(N + RHOS[k]))
        v = root * e
        sides = 2.0 * ASTRAY + (1.0 - 2.0 * ASTRAY) * math.erfc(-v * 0.7071067811865476)
        one = LOG_WEIGHTS[k] + math.log(sides) + 0.5 * (v * v - math.log1p(N / RHOS[k]))
        tilt = (1.0 - 2.0 * ASTRAY) * 0.7978845608028654 * math.exp(-0.5 * v * v) / sides
        if one > top:
            shrink = math.exp(top - one)
            total *= shrink
            slope *= shrink
            curve *= shrink
            top = one
        share = math.exp(one - top)
        total += share
        slope += share * root * (v + tilt)
        curve += share * root * root
    out[0] = top + math.log(total)
    out[1] = slope / total
    out[2] = curve / total


@part
def evidence(first: float, second: float, s: float, lead: float) -> float:
    """E of "i beats j" for arms with ``first`` and ``second`` pulls; a lower bound, 0 if none.

    ``lead`` is y.D-hat and ``s`` the standard deviation of y.x of one measurement.
    """
    return evidence_of_two(first, second, s, s, lead)


@part
def evidence_of_two(first: float, second: float, s: float, t: float, lead: float) -> float:
    """Return the same for a measurement of j that has the standard deviation ``t``."""
    if lead <= 0.0 or first <= 0.0 or second <= 0.0:
        return 0.0
    a = floats(3)
    b = floats(3)
    wide = RHOS[len(RHOS) - 1]
    low = -4.0 * s * math.sqrt(first + wide) / first  # here g_i falls, and there g_j does
    high = lead + 4.0 * t * math.sqrt(second + wide) / second
    e = lead * second / (first + second)
    best = 0.0
    for _ in range(100):
        log_mixture(first, s, e, a)
        log_mixture(second, t, lead - e, b)
        slope = a[1] - b[1]
        fall = slope * (e - low) if slope > 0.0 else -slope * (high - e)
        best = a[0] + b[0] - fall  # a convex function lies above its tangent
        if fall < TIGHT:
            break
        if slope > 0.0:
            high = e
        else:
            low = e
        e -= slope / (a[2] + b[2])
        if e <= low or e >= high:
            e = 0.5 * (low + high)
    return max(best, 0.0)


@part
def directions(d: int, Sigma: Floats) -> Floats:
    """Directions y (m, d): each objective, each two of them together, and all."""
    m = d + d * (d - 1) // 2
    if d > 2:
        m += 1
    Y = floats2(m, d)
    row = 0
    for c in range(d):
        Y[row, c] = 1.0
        row += 1
    for c in range(d):
        for e in range(c):
            Y[row, c] = 1.0 / math.sqrt(Sigma[c, c])
            Y[row, e] = 1.0 / math.sqrt(Sigma[e, e])
            row += 1
    if d > 2:
        for c in range(d):
            Y[row, c] = 1.0 / math.sqrt(Sigma[c, c])
    return Y


@part
def looked_along(model: Model) -> Floats:
    """Directions (m, d) of the claims; each objective alone if noise is not one for all."""
    if not singly(model):
        return directions(model.d, model.Sigma)
    Y = floats2(model.d, model.d)
    for c in range(model.d):
        Y[c, c] = 1.0
    return Y


@part
def value(model: Model, belief: Belief, a: int, c: int) -> float:
    """Estimate of answer ``a`` in objective ``c``."""
    if model.unstructured:
        return belief.theta[a, c]
    total = 0.0
    for i in range(model.h):
        total += model.Z[a, i] * belief.theta[i, c]
    return total


@part
def log_volume(model: Model, belief: Belief) -> float:
    """Log det(V / xi) of a linear problem, 0 otherwise."""
    if model.unstructured:
        return 0.0
    h = model.h
    L = floats2(h, h)
    total = -h * math.log(model.xi)
    for i in range(h):
        for j in range(i + 1):
            rest = belief.V[i, j]
            for k in range(j):
                rest -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(rest) if i == j else rest / L[j, j]
        total += 2.0 * math.log(L[i, i])
    return total


@part
def claim(
    model: Model, belief: Belief, y: Floats, i: int, j: int, volume: float, enough: float
) -> float:
    """E of "answer i beats answer j along y"; where it is below ``enough``, some such value."""
    lead = variance = bound = 0.0
    for c in range(model.d):
        if y[c] != 0.0:
            ahead = value(model, belief, i, c) - value(model, belief, j, c)
            lead += y[c] * (ahead - model.slack[c])
    if lead <= 0.0:
        return 0.0
    for c in range(model.d):
        if y[c] != 0.0:
            for e in range(model.d):
                variance += y[c] * y[e] * model.Sigma[c, e]
    if model.unstructured:
        first, second = belief.N[i], belief.N[j]
        if first == 0.0 or second == 0.0:
            return 0.0
        most = 0.5 * lead * lead / (variance * (1.0 / first + 1.0 / second)) + LOG_FOUR
        if most < enough:
            return most * enough / (enough + LOG_FOUR + 4.0)  # for people to read only
        return evidence(first, second, math.sqrt(variance), lead)
    if model.kind != BALL:
        return 0.0
    square = 0.0
    for k in range(model.h):
        along = 0.0
        for f in range(model.h):
            along += (model.Z[i, f] - model.Z[j, f]) * belief.F[f, k]
        square += along * along
    for c in range(model.d):
        bound += y[c] * model.ball[c]
    clear = lead / math.sqrt(max(square, 1e-300)) - math.sqrt(model.xi) * bound
    if clear <= 0.0:
        return 0.0
    return max(0.5 * (clear * clear / variance - volume), 0.0)


@bare
def faint(
    theta: Floats,
    N: Floats,
    Sigma: Floats,
    slack: Floats,
    Y: Floats,
    row: int,
    i: int,
    j: int,
    enough: float,
) -> float:
    """Return what ``claim`` gives along Y[row] where that takes no search, else -1.

    Most claims of a large problem are of this kind, and handing the state on costs more.
    """
    lead = variance = 0.0
    d = theta.shape[1]
    for c in range(d):
        if Y[row, c] != 0.0:
            lead += Y[row, c] * (theta[i, c] - theta[j, c] - slack[c])
    if lead <= 0.0 or N[i] == 0.0 or N[j] == 0.0:
        return 0.0
    for c in range(d):
        if Y[row, c] != 0.0:
            for e in range(d):
                variance += Y[row, c] * Y[row, e] * Sigma[c, e]
    most = 0.5 * lead * lead / (variance * (1.0 / N[i] + 1.0 / N[j])) + LOG_FOUR
    if most < enough:
        return most * enough / (enough + LOG_FOUR + 4.0)  # for people to read only
    return -1.0


@standing
@part
def dominance(
    model: Model, belief: Belief, Y: Floats, x: int, z: int, volume: float, enough: float
) -> float:
    """E of "x dominates z": the least over the objectives; 0 if an exact metric says no."""
    if not may_hold(model.facts, model.give, x, z):
        return 0.0
    least = np.inf
    for c in range(model.d):
        found = -1.0
        if singly(model):
            found = beats(model, belief, x, z, c, model.slack[c], enough)
        elif model.unstructured:
            found = faint(belief.theta, belief.N, model.Sigma, model.slack, Y, c, x, z, enough)
        if found < 0.0:
            found = claim(model, belief, Y[c], x, z, volume, enough)
        least = min(least, found)
        if least == 0.0:
            break
    return least


@standing
@part
def escape(
    model: Model, belief: Belief, Y: Floats, z: int, x: int, volume: float, enough: float
) -> float:
    """E of "x does not dominate z": the most over the directions, or a fact."""
    if not may_beat(model.facts, model.give, x, z):
        return np.inf
    most = 0.0
    for row in range(Y.shape[0]):
        spare = 0.0 if row < model.d else LOG_FOUR
        found = -1.0
        if singly(model):
            found = beats(model, belief, z, x, row, model.slack[row], enough)
        elif model.unstructured:
            limit = enough + spare
            found = faint(belief.theta, belief.N, model.Sigma, model.slack, Y, row, z, x, limit)
        if found < 0.0:
            found = claim(model, belief, Y[row], z, x, volume, enough + spare)
        most = max(most, found - spare)
        if most >= enough:
            break
    return most
