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
if a little loose, whatever theta becomes. Pieces with less than e^-34 of the largest one's
mass are left out when the cover is built, and it is built anew before that margin can have
shrunk to e^-25: precision only grows, so no distance shrinks by more than theta moves.
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
    copy_rows,
    elect,
    find_change,
    image,
    metric_of,
    refresh_listed,
    refresh_means,
)
from psips.kernels.jit import kernel, part
from psips.kernels.model import Floats, Ints, Model

NATS = 34.0  # pieces with less than e^-NATS of the largest piece's mass are left out
MARGIN = 25.0  # what must remain of NATS while the cover is used
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
def measure(
    first: int,
    last: int,
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
) -> float:
    """Refresh gap, L, b and r of records ``first`` to ``last``; return the smallest r.

    A record whose groups clash (a positive entry off the diagonal) gets r = -1.
    """
    unstructured = W.shape[0] == 0
    nearest = np.inf
    for record in range(first, last):
        z, m, groups = shape[record, 0], shape[record, 1], shape[record, 2]
        for g in range(groups):
            gap[record, g] = 0.0
            for f in range(g + 1):
                L[record, g, f] = 0.0
        for k in range(m):
            x, c, g = terms[record, k, 0], terms[record, k, 1], terms[record, k, 2]
            weight = y[record, k]
            gap[record, g] += weight * (mu[x, c] - mu[z, c])
            for j in range(k + 1):
                v, e, f = terms[record, j, 0], terms[record, j, 1], terms[record, j, 2]
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
                shared *= weight * y[record, j] * Sigma[c, e]
                if g == f:
                    L[record, g, g] += shared if j == k else 2.0 * shared
                elif g > f:
                    L[record, g, f] += shared
                else:
                    L[record, f, g] += shared
        square = 0.0
        for g in range(groups):
            rest = gap[record, g]
            if diagonal:
                L[record, g, g] = math.sqrt(L[record, g, g])
            else:
                scale = 1e-12 * L[record, g, g]
                for f in range(g + 1):
                    total = L[record, g, f]
                    for k in range(f):
                        total -= L[record, g, k] * L[record, f, k]
                    if f < g:
                        if total > scale:
                            square = -np.inf
                        L[record, g, f] = min(total, 0.0) / L[record, f, f]
                        rest -= L[record, g, f] * b[record, f]
                    else:
                        if total <= scale:
                            square = -np.inf
                        L[record, g, g] = math.sqrt(max(total, scale))
            b[record, g] = rest / L[record, g, g]
            square += max(b[record, g], 0.0) ** 2
        r[record] = math.sqrt(square) if square >= 0.0 else -1.0
        nearest = min(nearest, r[record])
    return nearest


@part
def _group(
    metric: Metric, diagonal: bool, z: int, kept: int, terms: Ints, y: Floats
) -> int:
    """One group an objective, then merge groups that pull the same way; return how many."""
    groups = 0
    for k in range(kept):
        terms[k, 2] = groups
        for j in range(k):
            if terms[j, 1] == terms[k, 1]:
                terms[k, 2] = terms[j, 2]
        if terms[k, 2] == groups:
            groups += 1
    while not diagonal:
        G = np.zeros((groups, groups))
        for k in range(kept):
            for j in range(kept):
                shared = inner(metric, z, terms[k, 0], terms[j, 0])
                shared *= y[k] * y[j] * metric.Sigma[terms[k, 1], terms[j, 1]]
                G[terms[k, 2], terms[j, 2]] += shared
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
    return groups


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
    cover.shape[r, ANSWER] = z
    cover.shape[r, CONSTRAINTS] = kept
    cover.shape[r, GROUPS] = _group(metric, diagonal, z, kept, terms, weight)
    if _measure(metric, diagonal, cover, r, r + 1) < 0.0:  # one group is always valid
        cover.shape[r, GROUPS] = 1
        for k in range(kept):
            terms[k, 2] = 0
        _measure(metric, diagonal, cover, r, r + 1)
    size[RECORDS] = r + 1


@part
def _measure(metric: Metric, diagonal: bool, cover: Cover, first: int, last: int) -> float:
    return measure(
        first,
        last,
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
    )


@part
def distance_from(metric: Metric, z: int, x: int) -> float:
    """How far z is from reaching x in some objective; -1 if x does not dominate it."""
    gap = np.inf
    for c in range(metric.mu.shape[1]):
        ahead = (metric.mu[x, c] - metric.mu[z, c]) / math.sqrt(metric.Sigma[c, c])
        gap = min(gap, ahead)
        if gap < 0.0:
            return -1.0
    return gap / math.sqrt(inner(metric, z, x, x))


@part
def find_keeper(metric: Metric, z: int, members: Ints) -> tuple[int, float]:
    """Return the member that dominates z most safely, and z's distance from its level."""
    best, distance = members[0], -1.0
    for x in members:
        far = distance_from(metric, z, x)
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
    copy_rows(belief.theta, cover.theta)
    if model.unstructured:
        for a in range(model.K):
            cover.N[a] = belief.N[a]
    else:
        copy_rows(belief.V, cover.V)
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
    cs = np.empty(d, np.int64)
    for c in range(d):
        cs[c] = c
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
                    for c in range(d):
                        xs[c] = i
                    if model.diagonal:
                        square = 0.0
                        near = inner(metric, j, i, i)
                        for c in range(d):
                            ahead = max(metric.mu[i, c] - metric.mu[j, c], 0.0)
                            y[c] = ahead / (near * model.Sigma[c, c])
                            square += ahead * y[c]
                    else:
                        square = project(metric, j, d, xs, cs, y)
                    nearest = min(nearest, square)
                    if d <= DEPTH:
                        _store(metric, model.diagonal, cover, size, j, d, xs, cs, y)
                    else:
                        size[COVERED] = 0

    # escapes, the nearest first: it tells what else can matter
    distance = np.empty(n)
    first, closest = -1, np.inf
    for i in range(size[LIVE]):
        z = front.live[i]
        distance[z] = distance_from(metric, z, front.keeper[z])
        if distance[z] ** 2 <= nearest + 2.0 * NATS * spare:
            front.keeper[z], distance[z] = find_keeper(metric, z, members)
        if distance[z] < closest:
            first, closest = z, distance[z]
    shift = np.zeros((model.h, d))
    for i in range(-1, size[LIVE]):
        z = first if i < 0 else front.live[i]
        if z < 0 or (i >= 0 and z == first):
            continue
        if size[COVERED] == 1 and distance[z] ** 2 <= nearest + 2.0 * NATS * spare:
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
    nearest = _measure(metric, model.diagonal, cover, 0, size[RECORDS])
    if nearest < 0.0:
        return False
    front.reach[0] = nearest
    return left_out > 0.0 and left_out**2 > nearest**2 + 2.0 * MARGIN * front.reach[2]
