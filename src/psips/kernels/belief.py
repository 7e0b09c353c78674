"""What the data say: counts, sums and the posterior N(theta, Sigma (x) V^-1).

Unstructured: everything is diagonal in the arms and ``theta`` holds their means.
Linear: ``V = xi I + sum a a^T`` and a factor ``F`` with ``F F^T = V^-1``, both by
rank-one updates. Without a regularisation (``xi = 0``, least squares) there is neither ``F``
nor ``theta`` before the arms pulled span all arms: both are 0 until then.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints
from psips.kernels.fitted import settle_fit
from psips.kernels.grids import floats, floats2
from psips.kernels.jit import bare, kernel, part
from psips.kernels.model import BALL, BOX, Model
from psips.kernels.moderation import take_in
from psips.kernels.records import Record, record
from psips.kernels.scatter import ENOUGH, Scatter, empty_scatter, take

REFACTOR_EVERY = 512  # rank-one updates of F between two fresh factorisations
EARLY = 4  # least squares: with fewer results than this many a feature, F is always fresh
LEAP = 100.0  # .. and also where a result is worth more than this many of those before it
CLEAR = 1e-6  # squared length beside the others' span from which on an arm adds to it

# Places in Belief.tally.
RESULTS, UPDATES, SPANNED = range(3)


@record
class Belief(Record):
    """Sufficient statistics and the posterior they give; updated in place."""

    pulls: Floats  # (K,) results told of each arm
    N: Floats  # (K,) the same, with those that a prior is worth
    B: Floats  # (h, d) sum of a x^T
    theta: Floats  # (h, d) posterior mean
    V: Floats  # (h, h) precision, (0, 0) if unstructured; (h d, h d) if joint
    F: Floats  # (h, h) factor of V^-1, (0, 0) if unstructured
    tally: Ints  # (3,) results told; rank-one updates since F was factored; arms span
    sums: Floats  # (K, d) of the results told of each arm, (0, 0) if unstructured
    scatter: Scatter  # how results scatter, where the noise is not known or values are missing
    G: Floats  # (n d, n d) covariance of all answers' means if joint, (0, 0) otherwise
    X: Floats  # (h d, n d) that of theta with them, likewise; G itself if unstructured


def empty_belief(model: Model) -> Belief:
    """Return the belief before any result."""
    wide = model.h * model.d if model.joint else 0
    width = wide if model.unstructured or model.joint else model.h
    G = np.zeros((model.n * model.d if model.joint else 0,) * 2)
    V = np.zeros((width, width))
    F = np.zeros((width, width))
    for i in range(width):
        V[i, i] = model.xi
        if model.xi > 0.0:
            F[i, i] = 1.0 / math.sqrt(model.xi)
    tally = np.zeros(3, np.int64)
    if model.first.shape[0] == 0:
        tally[SPANNED] = 1
    return Belief(
        np.zeros(model.K),
        np.zeros(model.K),
        np.zeros((model.h, model.d)),
        np.zeros((model.h, model.d)),
        V,
        F,
        tally,
        np.zeros((0 if model.unstructured else model.K, 0 if model.unstructured else model.d)),
        empty_scatter(model),
        G,
        G if model.unstructured else np.zeros((wide, len(G))),
    )


@kernel
def spans(frame: Floats, pulls: Floats) -> bool:
    """Whether the arms with results span all arms: Gram-Schmidt, the longest rest first."""
    K, r = frame.shape
    rest = floats2(K, r)
    for a in range(K):
        if pulls[a] > 0.0:
            for i in range(r):
                rest[a, i] = frame[a, i]
    for _ in range(r):
        longest, most = -1, CLEAR
        for a in range(K):
            square = 0.0
            for i in range(r):
                square += rest[a, i] * rest[a, i]
            if square > most:
                longest, most = a, square
        if longest < 0:
            return False
        for a in range(K):
            if a != longest:
                inner = 0.0
                for i in range(r):
                    inner += rest[a, i] * rest[longest, i]
                for i in range(r):
                    rest[a, i] -= inner / most * rest[longest, i]
        for i in range(r):
            rest[longest, i] = 0.0
    return True


@part
def refactor(V: Floats, F: Floats) -> None:
    """Set ``F`` to a factor of ``V^-1`` from scratch: L^-T with V = L L^T."""
    h = V.shape[0]
    L = floats2(h, h)
    for i in range(h):
        for j in range(i + 1):
            total = V[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(total) if i == j else total / L[j, j]
    for j in range(h):  # column j of L^-1 is row j of L^-T
        for i in range(h):
            if i < j:
                F[j, i] = 0.0
            else:
                total = 1.0 if i == j else 0.0
                for k in range(j, i):
                    total -= L[i, k] * F[j, k]
                F[j, i] = total / L[i, i]


@part
def solve(F: Floats, B: Floats, theta: Floats) -> None:
    """Set ``theta`` to F F^T B."""
    h, d = B.shape
    inner = floats2(h, d)
    for j in range(h):
        for i in range(h):
            for c in range(d):
                inner[j, c] += F[i, j] * B[i, c]
    for i in range(h):
        for c in range(d):
            total = 0.0
            for j in range(h):
                total += F[i, j] * inner[j, c]
            theta[i, c] = total


@kernel
def refit(model: Model, belief: Belief) -> None:
    """Bring F and theta of a linear problem up to date with V, B and the pulls."""
    tally = belief.tally
    tally[UPDATES] = 0
    if model.first.shape[0] > 0:
        tally[SPANNED] = 1 if spans(model.frame, belief.pulls) else 0
    if model.xi > 0.0 or tally[SPANNED] == 1:
        refactor(belief.V, belief.F)
        solve(belief.F, belief.B, belief.theta)


@bare
def count(belief: Belief, arm: int) -> None:
    """Count one result of ``arm``."""
    belief.pulls[arm] += 1.0
    belief.N[arm] += 1.0
    belief.tally[RESULTS] += 1


@bare
def average(belief: Belief, arm: int, x: Floats) -> None:
    """Take one complete result ``x`` (d,) of ``arm`` into its mean, without features."""
    count(belief, arm)
    for c in range(x.shape[0]):
        belief.B[arm, c] += x[c]
        belief.theta[arm, c] = belief.B[arm, c] / belief.N[arm]


@kernel
def learn(model: Model, belief: Belief, arm: int, x: Floats) -> None:
    """Take in one result ``x`` (d,) of ``arm``; NaN where a value is missing."""
    pulls, N, B, theta, V, F, tally = (
        belief.pulls,
        belief.N,
        belief.B,
        belief.theta,
        belief.V,
        belief.F,
        belief.tally,
    )
    if model.unstructured and not model.noise.partial:
        average(belief, arm, x)
    else:
        count(belief, arm)
    if model.unstructured:
        if belief.scatter.C.shape[0] > 0:
            take_in(model.noise, belief.scatter, N, arm, x, theta)
        return
    h, d = model.h, model.d
    A = model.A
    for i in range(h):
        for j in range(h):
            V[i, j] += A[arm, i] * A[arm, j]
        for c in range(d):
            B[i, c] += A[arm, i] * x[c]
    for c in range(d):
        belief.sums[arm, c] += x[c]
    if belief.scatter.C.shape[0] > 0:
        take(belief.scatter, arm, x)
    tally[UPDATES] += 1
    careful = model.first.shape[0] > 0  # otherwise older logs would not replay to the bit
    fresh = tally[UPDATES] >= REFACTOR_EVERY
    if careful:
        fresh = fresh or tally[RESULTS] < EARLY * h
        if tally[SPANNED] == 0 and pulls[arm] == 1.0 and spans(model.frame, pulls):
            tally[SPANNED] = 1
            fresh = True
        if tally[SPANNED] == 0 and model.xi == 0.0:
            return
    if fresh:
        tally[UPDATES] = 0
        refactor(V, F)
    else:
        # V'^-1 = F (I - u u^T / (1 + q)) F^T = F (I - g u u^T)^2 F^T, u = F^T a, q = u.u
        u = floats(h)
        q = 0.0
        for j in range(h):
            for i in range(h):
                u[j] += F[i, j] * A[arm, i]
            q += u[j] * u[j]
        if careful and q > LEAP:
            tally[UPDATES] = 0
            refactor(V, F)
        elif q > 0.0:
            g = (1.0 - 1.0 / math.sqrt(1.0 + q)) / q
            for i in range(h):
                projected = 0.0
                for j in range(h):
                    projected += F[i, j] * u[j]
                for j in range(h):
                    F[i, j] -= g * projected * u[j]
    solve(F, B, theta)
    if belief.scatter.C.shape[0] > 0:
        settle_fit(model.noise, belief.scatter, A, pulls, theta)


@bare
def ready(model: Model, belief: Belief) -> bool:
    """Whether results suffice to judge.

    Unstructured: once every arm is pulled. Linear: once the arms pulled span all arms; at
    once with a regularisation that was asked for. Either: not before the noise is known well
    enough, nor before every answer's value of every exact metric is.
    """
    for z in range(model.facts.shape[0]):
        for e in range(model.facts.shape[1]):
            if math.isnan(model.facts[z, e]):
                return False
    if model.unstructured:
        for a in range(model.K):
            if belief.pulls[a] == 0.0:
                return False
    freedom = belief.scatter.freedom
    for a in range(freedom.shape[0]):
        if freedom[a] < ENOUGH:
            return False
    return belief.tally[SPANNED] == 1


@bare
def in_theta(model: Model, theta: Floats) -> bool:
    """Whether ``theta`` (h, d) belongs to the parameter set Theta."""
    ball, low, high = model.ball, model.low, model.high
    if model.kind == BALL:
        for c in range(theta.shape[1]):
            square = 0.0
            for i in range(theta.shape[0]):
                square += theta[i, c] ** 2
            if square > ball[c] ** 2:
                return False
    elif model.kind == BOX:
        for i in range(theta.shape[0]):
            for c in range(theta.shape[1]):
                if theta[i, c] < low[i, c] or theta[i, c] > high[i, c]:
                    return False
    return True


def settle(model: Model, belief: Belief, pulls: Floats, N: Floats, B: Floats) -> None:
    """Set a belief to counts and sums."""
    belief.pulls[:], belief.N[:], belief.B[:], belief.tally[RESULTS] = pulls, N, B, pulls.sum()
    if model.unstructured:
        belief.theta[:] = B / np.where(N > 0, N, 1.0)[:, None]
    else:
        belief.V[:] = model.xi * np.eye(model.h) + model.A.T @ (N[:, None] * model.A)
        refit(model, belief)
