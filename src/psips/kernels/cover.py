"""A cover of Alt(S_hat) by sets whose posterior probability is known exactly.

A record (z; x_k, c_k, y_k, g_k) covers the piece "z above x_k in objective c_k for all k".
Within group g the multipliers y of the projection give the linear form
f_g = sum_{k in g} y_k (z - x_k)(c_k), which is >= 0 on the piece; f has mean -gap and
covariance Gamma = L L^T. Groups are formed so that Gamma has no positive entry off the
diagonal: then L^-1 >= 0 and the piece lies in { e >= b }, where e is the standardised
L^-1 (f + gap) and b = L^-1 gap, whose probability is prod_j P(N > b_j / scale). With one
group this is the half-space tangent to the piece; with a diagonal Sigma there is one group
for each objective, and "i below j" is covered by itself.

"i below j" gives one record. "z escapes" gives the leaves of a branch-and-bound tree: while
some x in S still dominates z at the nearest point, branch on the objective in which z gets
above x. Any cut through the tree is a cover.

The structure is kept between rounds and its numbers are refreshed: a record stays valid,
if a little loose, whatever theta becomes. Pieces with less than e^-40 of the largest one's
mass are left out when the cover is built, and it is built anew before that margin can have
shrunk to 30: precision only grows, so no distance shrinks by more than theta moves.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.kernels.belief import Belief
from psips.kernels.cone import Metric, inner, project, still_dominating
from psips.kernels.front import (
    AGE,
    BUILT,
    COVERED,
    LIVE,
    MEMBERS,
    RECORDS,
    REJECTED,
    Front,
    elect,
    find_change,
    image,
    metric_of,
    refresh_listed,
    refresh_means,
)
from psips.kernels.jit import kernel, part
from psips.kernels.model import Floats, Ints, Model

NATS = 40.0  # pieces with less than e^-NATS of the largest piece's mass are left out
MARGIN = 30.0  # what must remain of NATS while the cover is used
REFINE = 4.0  # nodes within e^-REFINE of the largest are split until they touch Alt
DEPTH = 12  # constraints a record can hold

# Places in Cover.shape.
ANSWER, CONSTRAINTS, GROUPS = range(3)


class Cover(NamedTuple):
    """Records, the first ``Front.size[RECORDS]``, and where theta was when they were made."""

    shape: Ints  # (records, 3) z, number of constraints, number of groups
    terms: Ints  # (records, DEPTH, 3) x_k, c_k, g_k
    y: Floats  # (records, DEPTH)
    gap: Floats  # (records, DEPTH) by group
    L: Floats  # (records, DEPTH, DEPTH) by group
    b: Floats  # (records, DEPTH) by group
    r: Floats  # (records,) distance of theta: norm of the positive part of b
    theta: Floats  # (h, d)
    N: Floats  # (K,) pulls then, (0,) if linear
    V: Floats  # (h, h) precision then, (0, 0) if unstructured


@kernel
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
        np.zeros((model.h, model.d)),
        np.zeros(model.K if model.unstructured else 0),
        np.zeros((width, width)),
    )


@part
def displacement(
    P: Floats, theta: Floats, then: Floats, N: Floats, V: Floats
) -> float:
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


@part
def _gamma(metric: Metric, diagonal: bool, z: int, m: int, terms: Ints, y: Floats, G: Floats) -> None:
    """Covariance of the groups' forms into ``G`` (lower triangle)."""
    for k in range(m):
        g = terms[k, 2]
        for j in range(k + 1):
            f = terms[j, 2]
            if diagonal and g != f:
                continue
            shared = inner(metric, z, terms[k, 0], terms[j, 0])
            value = y[k] * y[j] * shared * metric.Sigma[terms[k, 1], terms[j, 1]]
            if g == f:
                G[g, g] += value if j == k else 2.0 * value
            elif g > f:
                G[g, f] += value
            else:
                G[f, g] += value


@part
def measure(
    metric: Metric,
    diagonal: bool,
    z: int,
    m: int,
    groups: int,
    terms: Ints,
    y: Floats,
    gap: Floats,
    L: Floats,
    b: Floats,
) -> float:
    """Refresh gap, L and b of a record; return its distance, or -1 if its groups clash."""
    mu = metric.mu
    for g in range(groups):
        gap[g] = 0.0
        for f in range(g + 1):
            L[g, f] = 0.0
    for k in range(m):
        c = terms[k, 1]
        gap[terms[k, 2]] += y[k] * (mu[terms[k, 0], c] - mu[z, c])
    _gamma(metric, diagonal, z, m, terms, y, L)
    square = 0.0
    for g in range(groups):
        rest = gap[g]
        if diagonal:
            L[g, g] = math.sqrt(L[g, g])
        else:
            for f in range(g + 1):
                total = L[g, f]
                for k in range(f):
                    total -= L[g, k] * L[f, k]
                if f < g:
                    if total > 1e-12 * L[g, g]:
                        return -1.0
                    L[g, f] = min(total, 0.0) / L[f, f]
                elif total <= 1e-12 * L[g, g]:
                    return -1.0
                else:
                    L[g, g] = math.sqrt(total)
            for f in range(g):
                rest -= L[g, f] * b[f]
        b[g] = rest / L[g, g]
        square += max(b[g], 0.0) ** 2
    return math.sqrt(square)


@part
def _store(
    metric: Metric,
    diagonal: bool,
    cover: Cover,
    size: Ints,
    z: int,
    m: int,
    xs: Ints,
    cs: Ints,
    y: Floats,
) -> None:
    """Add the record of a projected piece, with as many groups as the signs allow."""
    r = size[RECORDS]
    if r >= cover.r.shape[0]:
        size[COVERED] = 0  # no room: draw literally until the next build
        return
    terms, weight = cover.terms[r], cover.y[r]
    kept = 0
    for j in range(m):
        if y[j] > 0.0:
            terms[kept, 0] = xs[j]
            terms[kept, 1] = cs[j]
            weight[kept] = y[j]
            kept += 1
    if kept == 0:  # theta is in the piece: any of its constraints will do
        terms[0, 0] = xs[0]
        terms[0, 1] = cs[0]
        weight[0] = 1.0
        kept = 1
    # one group an objective, then merge groups that pull the same way
    groups = 0
    for k in range(kept):
        terms[k, 2] = groups
        for j in range(k):
            if terms[j, 1] == terms[k, 1]:
                terms[k, 2] = terms[j, 2]
        if terms[k, 2] == groups:
            groups += 1
    if not diagonal:
        G = np.empty((groups, groups))
        while True:
            G[:] = 0.0
            _gamma(metric, diagonal, z, kept, terms, weight, G)
            clash = -1
            for g in range(groups):
                for f in range(g):
                    if clash < 0 and G[g, f] > 0.0:
                        clash = g
                        for k in range(kept):
                            if terms[k, 2] == g:
                                terms[k, 2] = f
            if clash < 0:
                break
            groups -= 1
            for k in range(kept):
                if terms[k, 2] > clash:
                    terms[k, 2] -= 1
    gap, L, b = cover.gap[r], cover.L[r], cover.b[r]
    distance = measure(metric, diagonal, z, kept, groups, terms, weight, gap, L, b)
    if distance < 0.0:  # rounding: one group is always valid
        groups = 1
        for k in range(kept):
            terms[k, 2] = 0
        distance = measure(metric, diagonal, z, kept, groups, terms, weight, gap, L, b)
    cover.shape[r, ANSWER] = z
    cover.shape[r, CONSTRAINTS] = kept
    cover.shape[r, GROUPS] = groups
    cover.r[r] = distance
    size[RECORDS] = r + 1


@part
def find_keeper(metric: Metric, z: int, members: Ints) -> tuple[int, float]:
    """Return the member that dominates z most safely, and z's distance from its level."""
    d = metric.mu.shape[1]
    best, distance = -1, -1.0
    for x in members:
        gap = np.inf
        for c in range(d):
            ahead = (metric.mu[x, c] - metric.mu[z, c]) / math.sqrt(metric.Sigma[c, c])
            gap = min(gap, ahead)
            if gap < 0.0:
                break
        if gap >= 0.0:
            far = gap / math.sqrt(inner(metric, z, x, x))
            if far > distance:
                best, distance = x, far
    return best, distance


@part
def _split(
    metric: Metric,
    diagonal: bool,
    cover: Cover,
    size: Ints,
    z: int,
    keeper: int,
    members: Ints,
    nearest: float,
    spare: float,
    shift: Floats,
) -> float:
    """Store the leaves of the tree of "z escapes"; return the smallest squared distance."""
    d = metric.mu.shape[1]
    room = d * DEPTH + 1
    stack_m = np.empty(room, np.int64)
    stack_x = np.empty((room, DEPTH), np.int64)
    stack_c = np.empty((room, DEPTH), np.int64)
    y = np.empty(DEPTH)
    top = 0
    for c in range(d):
        stack_m[top] = 1
        stack_x[top, 0] = keeper
        stack_c[top, 0] = c
        top += 1
    xs = np.empty(DEPTH, np.int64)
    cs = np.empty(DEPTH, np.int64)
    while top > 0:
        top -= 1
        m = stack_m[top]
        for k in range(m):
            xs[k] = stack_x[top, k]
            cs[k] = stack_c[top, k]
        square = project(metric, z, m, xs, cs, y)
        if square > nearest + 2.0 * NATS * spare:
            continue
        if square < nearest + 2.0 * REFINE * spare:
            x = still_dominating(metric, z, m, xs, cs, y, members, shift)
            if x < 0:
                nearest = min(nearest, square)
            elif m < DEPTH:
                for c in range(d):
                    stack_m[top] = m + 1
                    for k in range(m):
                        stack_x[top, k] = xs[k]
                        stack_c[top, k] = cs[k]
                    stack_x[top, m] = x
                    stack_c[top, m] = c
                    top += 1
                continue
        _store(metric, diagonal, cover, size, z, m, xs, cs, y)
    return nearest


@part
def build(model: Model, belief: Belief, front: Front, cover: Cover, spare: float) -> None:
    """Make S_hat and the cover anew; ``spare`` is the largest inflation of any draw."""
    size = front.size
    refresh_means(
        model.unstructured, belief.N, belief.theta, model.Z, front.mu, front.inverse
    )
    elect(front.mu, front.inside, front.members, front.live, front.keeper, size)
    cover.theta[:] = belief.theta
    if model.unstructured:
        cover.N[:] = belief.N
    else:
        cover.V[:] = belief.V
        for a in range(model.n):
            image(model.Z, belief.F, a, front.W)
    size[RECORDS] = 0
    size[AGE] = 0
    size[REJECTED] = 0
    size[COVERED] = 1
    size[BUILT] += 1
    metric = metric_of(model, front)
    members = front.members[: size[MEMBERS]]
    n, d = front.mu.shape
    nearest = np.inf

    # pairs: "i below j" is j above i in every objective
    xs = np.empty(d, np.int64)
    cs = np.arange(d)
    y = np.empty(d)
    for i in members:
        for j in members:
            if i != j and size[COVERED] == 1:
                lead = 0.0
                for c in range(d):
                    ahead = metric.mu[i, c] - metric.mu[j, c]
                    lead = max(lead, ahead / math.sqrt(model.Sigma[c, c]))
                floor = lead * lead / inner(metric, j, i, i)
                if floor <= nearest + 2.0 * NATS * spare:
                    xs[:] = i
                    square = project(metric, j, d, xs, cs, y)
                    nearest = min(nearest, square)
                    if d <= DEPTH:
                        _store(metric, model.diagonal, cover, size, j, d, xs, cs, y)
                    else:
                        size[COVERED] = 0

    # escapes, nearest first
    distance = np.full(n, np.inf)
    for i in range(size[LIVE]):
        z = front.live[i]
        front.keeper[z], distance[z] = find_keeper(metric, z, members)
    shift = np.zeros((model.h, d))
    order = np.argsort(distance)
    for i in range(size[LIVE]):
        z = order[i]
        if size[COVERED] == 0 or distance[z] ** 2 > nearest + 2.0 * NATS * spare:
            break
        keeper = front.keeper[z]
        nearest = _split(
            metric, model.diagonal, cover, size, z, keeper, members, nearest, spare, shift
        )

    limit = math.sqrt(nearest + 2.0 * NATS * spare)
    front.reach[0] = math.sqrt(nearest)
    front.reach[1] = limit
    front.reach[2] = spare
    if size[COVERED] == 1:
        size[LIVE] = 0
        for z in range(n):
            if not front.inside[z] and distance[z] <= limit:
                front.live[size[LIVE]] = z
                size[LIVE] += 1


@part
def refresh(model: Model, belief: Belief, front: Front, cover: Cover, piece: Ints) -> bool:
    """Bring the numbers of a built cover up to date; False if it has to be built anew."""
    size = front.size
    size[AGE] += 1
    if size[COVERED] == 0 or size[AGE] > 32 + belief.count[0] // 64:
        return False
    if size[REJECTED] > 16 + size[AGE] // 2:
        return False
    members = front.members[: size[MEMBERS]]
    live = front.live[: size[LIVE]]
    if model.unstructured:
        refresh_means(
            model.unstructured, belief.N, belief.theta, model.Z, front.mu, front.inverse
        )
    else:
        refresh_listed(model.Z, belief.theta, belief.F, members, front.mu, front.W)
        refresh_listed(model.Z, belief.theta, belief.F, live, front.mu, front.W)
    if find_change(front.mu, members, live, front.keeper, piece):
        return False
    moved = displacement(model.P, belief.theta, cover.theta, cover.N, cover.V)
    left_out = front.reach[1] - moved
    metric = metric_of(model, front)
    nearest = np.inf
    for k in range(size[RECORDS]):
        z, m, groups = cover.shape[k, 0], cover.shape[k, 1], cover.shape[k, 2]
        cover.r[k] = measure(
            metric,
            model.diagonal,
            z,
            m,
            groups,
            cover.terms[k],
            cover.y[k],
            cover.gap[k],
            cover.L[k],
            cover.b[k],
        )
        if cover.r[k] < 0.0:
            return False
        nearest = min(nearest, cover.r[k])
    front.reach[0] = nearest
    return left_out > 0.0 and left_out**2 > nearest**2 + 2.0 * MARGIN * front.reach[2]
