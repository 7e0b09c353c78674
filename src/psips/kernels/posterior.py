"""The posterior of the answers, as all other kernels see it: means, covariances, draws.

Separate arms (unstructured problems): the arms' means are independent, and arm ``a`` has the
covariance ``C[a]`` (d, d) with the lower Cholesky factor ``R[a]``. How it came about is known
to `fill` alone: another model of the noise is another way to write C[a] and R[a].
Linear problems: Sigma (x) V^-1, through the rows W = Z F with F F^T = V^-1.
Arms that share blocks: one covariance ``G`` of all arms in all objectives, entry a d + c being
objective c of arm a, with the factor F F^T = G; how it came about is known to
`psips.kernels.blocks` alone. It is what a linear problem is where nothing else is said: points
are drawn whole.
Linear problems whose results lack values, or have noise of each arm's own, are joint too: the
precision of theta is (h d, h d), see `psips.kernels.joint`; ``G`` is of the answers, and ``X``
the covariance of theta with them (with blocks, where answers are rows of theta, G itself).
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints, Stream
from psips.kernels.belief import Belief
from psips.kernels.fitted import FACTOR, UNIT
from psips.kernels.jit import bare
from psips.kernels.model import OWN as OWN_NOISE
from psips.kernels.model import POOLED, Model
from psips.kernels.records import Record, record
from psips.kernels.rng import normal


@record
class Posterior(Record):
    """What is believed of the answers, and the offset of the half-spaces between them.

    ``mu`` is as last refreshed; of a linear problem ``W`` too, perhaps for some answers only.
    """

    separate: bool
    diagonal: bool  # objectives are independent
    mu: Floats  # (n, d) means of the answers
    C: Floats  # (n, d, d) covariance of each arm's mean; (0, 0, 0) if linear
    R: Floats  # (n, d, d) its lower Cholesky factor; linear: (1, d, d) L if it is estimated
    known: Floats  # (n,) pulls that C and R stand for; (0,) if linear
    W: Floats  # (n, h) whitened answers; (0, 0) if separate
    N: Floats  # (K,) pulls of each arm, or weights
    theta: Floats  # (h, d) mean of the parameter
    F: Floats  # (h, h) factor of V^-1; (0, 0) if separate; (h d, h d) if joint
    A: Floats  # (K, h) features of the arms; (0, 0) if separate
    Z: Floats  # (n, h) features of the answers; (0, 0) if separate
    Sigma: Floats  # (d, d) covariance of one measurement, as given or `fitted`
    L: Floats  # (d, d) its lower Cholesky factor
    P: Floats  # (d, d) its inverse
    unit: Floats  # (d,) its standard deviations: what leads are compared in
    slack: Floats  # (d,) offset of the half-spaces
    tolerant: bool  # it is not 0
    relative: Floats  # (d,) which part of a control's mean it is, 0 where it is a number
    control: int  # the control; -1 if nothing is relative
    own: Floats  # (K, d, d) covariance of each arm's mean, if it is not Sigma / N_a
    pooled: bool  # a result of one arm changes that of all
    room: Floats  # (2, d, d) if the covariance can grow, (0, 0, 0) otherwise
    G: Floats  # (n d, n d) covariance of all answers' means if joint, (0, 0) otherwise
    X: Floats  # (h d, n d) that of theta with them, likewise
    H: Floats  # (K, d, n d) what the next result of each arm tells; linear: (K, d, d)
    facts: Floats  # (n, e) exact metrics, see `psips.kernels.halfspace`
    give: Floats  # (e,) their tolerances


OWN = ("mu", "C", "R", "known", "W")  # fields that are refreshed; the others are shared


def posterior_of(
    model: Model,
    N: Floats,
    theta: Floats,
    F: Floats,
    own: Floats | None = None,
    G: Floats | None = None,
    X: Floats | None = None,
) -> Posterior:
    """Return a posterior that reads pulls, mean and factor from here; not refreshed."""
    n, d = model.n, model.d
    estimated = model.noise.mode in (POOLED, OWN_NOISE)
    separate = model.unstructured and not model.joint
    arms = n if separate else 0
    own = np.zeros((0, 0, 0)) if own is None else own
    fitted = estimated and not model.unstructured and not model.joint and len(own) > 0
    blocks = model.unstructured and model.joint
    G = np.zeros((0, 0)) if G is None else G
    covariance, L, P, unit = (
        (*own[:UNIT], own[UNIT, 0])
        if fitted
        else (model.Sigma, model.L, model.P, model.unit.copy() if estimated else model.unit)
    )
    return Posterior(
        separate,
        model.diagonal,
        np.zeros((n, d)),
        np.zeros((arms, d, d)),
        own[FACTOR : FACTOR + 1] if fitted else np.zeros((arms, d, d)),
        np.zeros(arms),
        np.zeros((n, n) if blocks else (0, model.h) if len(G) else model.Z.shape),
        N,
        theta,
        F,
        model.A,
        np.eye(n) if blocks else model.Z,
        covariance,
        L,
        P,
        unit,
        model.slack if model.control < 0 else model.slack.copy(),
        bool(model.slack.any()) or model.control >= 0 or bool(model.give.any()),
        model.relative,
        model.control,
        own if separate else np.zeros((0, 0, 0)),
        model.noise.mode == POOLED,
        np.zeros((2, d, d) if fitted or (estimated and separate) else (0, 0, 0)),
        G,
        np.zeros((0, 0)) if X is None else X,
        np.zeros((model.K, d, n * d if blocks else d) if model.joint else (0, 0, 0)),
        model.facts,
        model.give,
    )


def empty_posterior(model: Model, belief: Belief) -> Posterior:
    """Return the posterior that a belief gives, not refreshed."""
    own, G, X = belief.scatter.C, belief.G, belief.X
    return posterior_of(model, belief.N, belief.theta, belief.F, own, G, X)


# ------------------------------------------------------------------ keeping it up to date


@bare
def fill(p: Posterior, a: int) -> None:
    """Write the covariance of arm ``a``'s mean and its factor: Sigma / N_a, or its own."""
    if p.own.shape[0] > 0:
        for c in range(p.mu.shape[1]):
            for e in range(p.mu.shape[1]):
                p.C[a, c, e] = p.own[a, c, e]
                p.R[a, c, e] = 0.0
            for e in range(c + 1):
                total = p.C[a, c, e]
                for k in range(e):
                    total -= p.R[a, c, k] * p.R[a, e, k]
                p.R[a, c, e] = math.sqrt(total) if c == e else total / p.R[a, e, e]
        return
    n = p.N[a]
    root = math.sqrt(n)
    for c in range(p.mu.shape[1]):
        for e in range(p.mu.shape[1]):
            p.C[a, c, e] = p.Sigma[c, e] / n
            p.R[a, c, e] = p.L[c, e] / root


@bare
def image(Z: Floats, theta: Floats, a: int, out: Floats) -> None:
    """Row ``a`` of ``out`` becomes row ``a`` of Z theta."""
    for c in range(theta.shape[1]):
        out[a, c] = 0.0
    for i in range(theta.shape[0]):
        for c in range(theta.shape[1]):
            out[a, c] += Z[a, i] * theta[i, c]


@bare
def follow_control(p: Posterior) -> None:
    """Set the offsets that are a part of the control's mean to what it is estimated to be."""
    if p.control >= 0:
        for c in range(p.mu.shape[1]):
            if p.relative[c] > 0.0:
                p.slack[c] = -p.relative[c] * abs(p.mu[p.control, c])


@bare
def refresh_means(p: Posterior) -> int:
    """Bring the means of all answers up to date, and the covariance of separate arms.

    Return the arm whose covariance has changed, if it is one; otherwise -1.
    """
    if not p.separate:
        for a in range(p.mu.shape[0]):
            image(p.Z, p.theta, a, p.mu)
        follow_control(p)
        return -1
    arm, changed = -1, 0
    for a in range(p.mu.shape[0]):
        for c in range(p.mu.shape[1]):
            p.mu[a, c] = p.theta[a, c]
        stale = p.own.shape[0] > 0 and p.C[a, 0, 0] != p.own[a, 0, 0]
        if p.known[a] != p.N[a] or p.pooled or stale:
            p.known[a] = p.N[a]
            fill(p, a)
            arm = a
            changed += 1
    follow_control(p)
    if p.room.shape[0] > 0:
        for c in range(p.mu.shape[1]):
            total = 0.0
            for a in range(p.mu.shape[0]):
                total += p.C[a, c, c] * p.N[a]
            p.unit[c] = math.sqrt(total / p.mu.shape[0])
    return arm if changed == 1 else -1


@bare
def refresh_listed(p: Posterior, which: Ints) -> None:
    """Bring means and covariances of some answers of a linear problem up to date."""
    if not p.separate:
        for a in which:
            image(p.Z, p.theta, a, p.mu)
            if p.G.shape[0] == 0:
                image(p.Z, p.F, a, p.W)


@bare
def refresh_all(p: Posterior) -> None:
    """Bring means and covariances of all answers up to date."""
    refresh_means(p)
    if not p.separate and p.G.shape[0] == 0:
        for a in range(p.mu.shape[0]):
            image(p.Z, p.F, a, p.W)


# ------------------------------------------------------------------ covariances of leads


@bare
def cov(p: Posterior, z: int, x: int, c: int, v: int, e: int) -> float:
    """Covariance of the leads (z - x)(c) and (z - v)(e)."""
    if p.separate:
        total = p.C[z, c, e]
        if x == v:
            total += p.C[x, c, e]
        return total
    if p.G.shape[0] > 0:
        d = p.mu.shape[1]
        above, below, other = z * d + c, x * d + c, v * d + e
        total = p.G[above, z * d + e] - p.G[above, other]
        return total - p.G[below, z * d + e] + p.G[below, other]
    total = 0.0
    for i in range(p.W.shape[1]):
        total += (p.W[z, i] - p.W[x, i]) * (p.W[z, i] - p.W[v, i])
    return total * p.Sigma[c, e]


@bare
def between(p: Posterior, a: int, c: int, b: int, e: int) -> float:
    """Covariance of the means of answer ``a`` in ``c`` and of answer ``b`` in ``e``."""
    if p.separate:
        return p.C[a, c, e] if a == b else 0.0
    if p.G.shape[0] > 0:
        d = p.mu.shape[1]
        return p.G[a * d + c, b * d + e]
    total = 0.0
    for i in range(p.W.shape[1]):
        total += p.W[a, i] * p.W[b, i]
    return total * p.Sigma[c, e]


@bare
def apart(p: Posterior, z: int, x: int) -> float:
    """Return what `variance` needs of z and x whatever the objective; 0 if they are equal."""
    if p.separate or p.G.shape[0] > 0:
        return 1.0
    total = 0.0
    for i in range(p.W.shape[1]):
        total += (p.W[z, i] - p.W[x, i]) ** 2
    return total


@bare
def variance(p: Posterior, z: int, x: int, c: int, distance: float) -> float:
    """Variance of the lead (z - x)(c); ``distance`` is how far they are `apart`."""
    if p.separate:
        return p.C[z, c, c] + p.C[x, c, c]
    if p.G.shape[0] > 0:
        return cov(p, z, x, c, x, c)
    return distance * p.Sigma[c, c]


# ------------------------------------------------------------------ draws


@bare
def draw_answer(p: Posterior, stream: Stream, scale: float, a: int, values: Floats) -> None:
    """Draw row ``a`` of ``values`` (n, d), separate arms: mean + scale R[a] g."""
    d = values.shape[1]
    for c in range(d):
        values[a, c] = normal(stream)
    for c in range(d - 1, -1, -1):
        total = 0.0
        for e in range(c + 1):
            total += p.R[a, c, e] * values[a, e]
        values[a, c] = p.mu[a, c] + scale * total


@bare
def draw_theta(p: Posterior, stream: Stream, scale: float, row: Floats, theta: Floats) -> None:
    """Draw ``theta`` (h, d), linear: mean + scale F G L^T, G standard normal.

    If joint, mean + scale F g.
    """
    h, d = theta.shape
    for i in range(h):
        for c in range(d):
            theta[i, c] = p.theta[i, c]
    if p.G.shape[0] > 0:
        for j in range(h * d):
            g = scale * normal(stream)
            for i in range(h):
                for c in range(d):
                    theta[i, c] += p.F[i * d + c, j] * g
        return
    for j in range(h):
        for c in range(d):
            row[c] = normal(stream)
        for c in range(d - 1, -1, -1):
            total = 0.0
            for e in range(c + 1):
                total += p.L[c, e] * row[e]
            row[c] = scale * total
        for i in range(h):
            for c in range(d):
                theta[i, c] += p.F[i, j] * row[c]
