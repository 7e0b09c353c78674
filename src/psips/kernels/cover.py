"""A cover of Alt(S_hat) by sets whose posterior probability is known exactly.

A record (z; x_k, c_k, y_k, g_k) covers the piece "z above x_k in objective c_k for all k".
Within group g the multipliers y of the projection give the linear form
f_g = sum_{k in g} y_k (z - x_k)(c_k), which is >= 0 on the piece; f has mean -gap and
covariance Gamma = L L^T. Groups are formed so that Gamma has no positive entry off the
diagonal: then L^-1 >= 0 and the piece lies in { e >= b }, where e is the standardised
L^-1 (f + gap) and b = L^-1 gap, whose probability is prod_j P(N > b_j / scale). The groups
come in an order in which b >= 0 (``tree._order``), so that the set is never larger than the
half-space tangent to the piece. With one group it is that half-space; with a diagonal Sigma
there is one group for each objective, and "i below j" is covered by itself.

The structure is kept between rounds and its numbers are refreshed: a record stays valid,
if a little loose, whatever theta becomes. Pieces with less than e^-28 of the largest one's
mass are left out when the cover is built, and it is built anew before that margin can have
shrunk to e^-20: precision only grows, so no distance shrinks by more than theta moves.
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import RESULTS, Belief
from psips.kernels.cone import Metric
from psips.kernels.front import (
    AGE,
    COVERED,
    LEFT_OUT,
    LIVE,
    MEMBERS,
    NEAREST,
    RECORDS,
    REJECTED,
    SPARE,
    Front,
    find_change,
    refresh_listed,
    refresh_means,
)
from psips.kernels.jit import bare
from psips.kernels.model import Floats, Ints, Model
from psips.kernels.records import Record, record

NATS = 28.0  # pieces with less than e^-NATS of the largest piece's mass are left out
FEWER_NATS = 14.0  # the same for a single answer, whose probability is an estimate anyway
MARGIN = 20.0  # what must remain of NATS while the cover is used
DEPTH = 12  # constraints a record can hold

# Places in Cover.shape.
ANSWER, CONSTRAINTS, GROUPS = range(3)
# .. and of one of its constraints.
RIVAL, OBJECTIVE, GROUP = range(3)


@record
class Cover(Record):
    """Records, the first ``Front.size[RECORDS]``, and where theta was when they were made."""

    shape: Ints  # (records, 3) z, number of constraints, number of groups
    terms: Ints  # (records, DEPTH, 3) x_k, c_k, g_k
    y: Floats  # (records, DEPTH)
    gap: Floats  # (records, DEPTH) by group
    L: Floats  # (records, DEPTH, DEPTH) by group
    b: Floats  # (records, DEPTH) by group
    r: Floats  # (records,) distance of theta: norm of the positive part of b
    mass: Floats  # (records, 2) bounds of the probability at ``scale``; -1 if not known
    scale: Floats  # (2,) largest scale of the stopping rule's and of the learner's draws
    theta: Floats  # (h, d)
    N: Floats  # (K,) pulls then, (0,) if linear
    V: Floats  # (h, h) precision then, (0, 0) if unstructured


def empty_cover(model: Model, capacity: int) -> Cover:
    """Return room for ``capacity`` records."""
    width = 0 if model.unstructured else model.h
    depth = DEPTH if capacity > 0 else 0
    return Cover(
        np.zeros((capacity, 3), np.int64),
        np.zeros((capacity, depth, 3), np.int64),
        np.zeros((capacity, depth)),
        np.zeros((capacity, depth)),
        np.zeros((capacity, depth, depth)),
        np.zeros((capacity, depth)),
        np.zeros(capacity),
        np.zeros((capacity, 2)),
        np.zeros(2),
        np.zeros((model.h, model.d)),
        np.zeros(model.K if model.unstructured else 0),
        np.zeros((width, width)),
    )


@bare
def displacement(P: Floats, theta: Floats, then: Floats, N: Floats, V: Floats) -> float:
    """How far theta has moved since the cover was built, in the metric of that time."""
    h, d = theta.shape
    square = 0.0
    if V.shape[0] == 0:
        for a in range(h):
            for c in range(d):
                moved = N[a] * (theta[a, c] - then[a, c])
                for e in range(d):
                    square += moved * P[c, e] * (theta[a, e] - then[a, e])
    else:
        for i in range(h):
            for j in range(h):
                for c in range(d):
                    moved = V[i, j] * (theta[i, c] - then[i, c])
                    for e in range(d):
                        square += moved * P[c, e] * (theta[j, e] - then[j, e])
    return math.sqrt(max(square, 0.0))


@bare
def measure(
    first: int,
    last: int,
    only: int,
    diagonal: bool,
    shape: Ints,
    terms: Ints,
    y: Floats,
    mu: Floats,
    inverse: Floats,
    W: Floats,
    Sigma: Floats,
    gap: Floats,
    L: Floats,
    b: Floats,
    r: Floats,
    mass: Floats,
) -> float:
    """Refresh gap, L, b and r of records ``first`` to ``last``; return the smallest r.

    Of an unstructured problem only those that speak of arm ``only``, unless it is negative.
    A record whose groups clash (a positive entry off the diagonal) gets r = -1.
    """
    unstructured = W.shape[0] == 0
    nearest = np.inf
    for one in range(first, last):
        z, m, groups = shape[one, ANSWER], shape[one, CONSTRAINTS], shape[one, GROUPS]
        if only >= 0 and z != only:
            spoken_of = False
            for k in range(m):
                if terms[one, k, RIVAL] == only:
                    spoken_of = True
                    break
            if not spoken_of:
                nearest = min(nearest, r[one])
                continue
        mass[one, 0] = -1.0
        mass[one, 1] = -1.0
        if diagonal and unstructured and groups == m:  # one constraint a group, all independent
            square = 0.0
            for k in range(m):
                x, c, g = terms[one, k, RIVAL], terms[one, k, OBJECTIVE], terms[one, k, GROUP]
                gap[one, g] = y[one, k] * (mu[x, c] - mu[z, c])
                for f in range(g):
                    L[one, g, f] = 0.0
                L[one, g, g] = y[one, k] * math.sqrt((inverse[z] + inverse[x]) * Sigma[c, c])
                b[one, g] = gap[one, g] / L[one, g, g]
                square += max(b[one, g], 0.0) ** 2
            r[one] = math.sqrt(square)
            nearest = min(nearest, r[one])
            continue
        for g in range(groups):
            gap[one, g] = 0.0
            for f in range(g + 1):
                L[one, g, f] = 0.0
        for k in range(m):
            x, c, g = terms[one, k, RIVAL], terms[one, k, OBJECTIVE], terms[one, k, GROUP]
            weight = y[one, k]
            gap[one, g] += weight * (mu[x, c] - mu[z, c])
            for j in range(k + 1):
                v, e, f = terms[one, j, RIVAL], terms[one, j, OBJECTIVE], terms[one, j, GROUP]
                if diagonal and g != f:
                    continue
                if unstructured:
                    shared = inverse[z]
                    if v == x:
                        shared += inverse[x]
                else:
                    shared = 0.0
                    for i in range(W.shape[1]):
                        shared += (W[z, i] - W[x, i]) * (W[z, i] - W[v, i])
                shared *= weight * y[one, j] * Sigma[c, e]
                if g == f:
                    L[one, g, g] += shared if j == k else 2.0 * shared
                elif g > f:
                    L[one, g, f] += shared
                else:
                    L[one, f, g] += shared
        square = 0.0
        for g in range(groups):
            rest = gap[one, g]
            if diagonal:
                L[one, g, g] = math.sqrt(L[one, g, g])
            else:
                scale = 1e-12 * L[one, g, g]
                for f in range(g + 1):
                    total = L[one, g, f]
                    for k in range(f):
                        total -= L[one, g, k] * L[one, f, k]
                    if f < g:
                        if total > scale:
                            square = -np.inf
                        L[one, g, f] = min(total, 0.0) / L[one, f, f]
                        rest -= L[one, g, f] * b[one, f]
                    else:
                        if total <= scale:
                            square = -np.inf
                        L[one, g, g] = math.sqrt(max(total, scale))
            b[one, g] = rest / L[one, g, g]
            square += max(b[one, g], 0.0) ** 2
        r[one] = math.sqrt(square) if square >= 0.0 else -1.0
        nearest = min(nearest, r[one])
    return nearest


@bare
def measure_records(
    metric: Metric, diagonal: bool, cover: Cover, first: int, last: int, only: int
) -> float:
    """Refresh records ``first`` to ``last`` of a cover, see ``measure``."""
    return measure(
        first,
        last,
        only,
        diagonal,
        cover.shape,
        cover.terms,
        cover.y,
        metric.mu,
        metric.inverse,
        metric.W,
        metric.Sigma,
        cover.gap,
        cover.L,
        cover.b,
        cover.r,
        cover.mass,
    )


@bare
def refresh(model: Model, belief: Belief, front: Front, cover: Cover, piece: Ints) -> bool:
    """Bring the numbers of a built cover up to date; False if it has to be built anew."""
    size = front.size
    size[AGE] += 1
    if size[COVERED] == 0 or size[AGE] > 32 + belief.tally[RESULTS] // 64:
        return False
    if size[REJECTED] > 16 + size[AGE] // 2:
        return False
    members = front.members[: size[MEMBERS]]
    live = front.live[: size[LIVE]]
    only = -1  # the one arm pulled since the last time, if it is one
    if model.unstructured:
        pulled = 0
        for a in range(model.K):
            if front.inverse[a] != 1.0 / belief.N[a]:
                only = a
                pulled += 1
        if pulled > 1:
            only = -1
        refresh_means(
            model.unstructured, belief.N, belief.theta, model.Z, front.mu, front.inverse
        )
    else:
        refresh_listed(model.Z, belief.theta, belief.F, members, front.mu, front.W)
        refresh_listed(model.Z, belief.theta, belief.F, live, front.mu, front.W)
    if find_change(front.mu, members, live, front.keeper, piece):
        return False
    moved = displacement(model.P, belief.theta, cover.theta, cover.N, cover.V)
    left_out = front.reach[LEFT_OUT] - moved
    metric = front.metric
    nearest = measure_records(metric, model.diagonal, cover, 0, size[RECORDS], only)
    if nearest < 0.0:
        return False
    front.reach[NEAREST] = nearest
    return left_out > 0.0 and left_out**2 > nearest**2 + 2.0 * MARGIN * front.reach[SPARE]
