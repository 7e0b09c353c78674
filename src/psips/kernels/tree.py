"""Building a cover of Alt(S_hat), see ``cover``.

"i below j" gives one record. "z escapes" gives the leaves of a branch-and-bound tree: while
some x in S still dominates z at the nearest point, branch on the objective in which z gets
above x. Any cut through the tree is a cover.
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import Belief
from psips.kernels.cone import Metric, inner, project, still_dominating
from psips.kernels.cover import (
    ANSWER,
    CONSTRAINTS,
    DEPTH,
    FEWER_NATS,
    GROUP,
    GROUPS,
    NATS,
    OBJECTIVE,
    RIVAL,
    Cover,
    measure_records,
)
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
    copy_rows,
    elect,
    image,
    refresh_means,
)
from psips.kernels.grids import floats, floats2, ints, ints2
from psips.kernels.jit import bare, part
from psips.kernels.model import Floats, Ints, Model

MANY = 100  # answers beyond which not every one is looked at
EVERY = 1 << 60  # nodes of a tree, without a bound
REFINE = 4.0  # nodes within e^-REFINE of the largest are split until they touch Alt


@part
def _group(metric: Metric, diagonal: bool, z: int, kept: int, terms: Ints, y: Floats) -> int:
    """One group an objective, then merge groups that pull the same way; return how many.

    The groups are numbered so that no entry of b is negative, see ``_order``.
    """
    groups = 0
    for k in range(kept):
        terms[k, GROUP] = groups
        for j in range(k):
            if terms[j, OBJECTIVE] == terms[k, OBJECTIVE]:
                terms[k, GROUP] = terms[j, GROUP]
        if terms[k, GROUP] == groups:
            groups += 1
    while not diagonal:
        G = floats2(groups, groups)
        for k in range(kept):
            for j in range(kept):
                shared = inner(metric, z, terms[k, RIVAL], terms[j, RIVAL])
                shared *= y[k] * y[j] * metric.Sigma[terms[k, OBJECTIVE], terms[j, OBJECTIVE]]
                G[terms[k, GROUP], terms[j, GROUP]] += shared
        clash = -1
        for g in range(groups):
            for f in range(g):
                if clash < 0 and G[g, f] > 0.0:
                    clash = g
                    for k in range(kept):
                        if terms[k, GROUP] == g:
                            terms[k, GROUP] = f
        if clash < 0:
            if groups > 1:
                _order(metric, z, kept, terms, y, G)
            break
        groups -= 1
        for k in range(kept):
            if terms[k, GROUP] > clash:
                terms[k, GROUP] -= 1
    return groups


@part
def _order(metric: Metric, z: int, kept: int, terms: Ints, y: Floats, G: Floats) -> None:
    """Renumber the groups so that each comes when its b is the largest of those left.

    Then b >= 0, and { e >= b } lies in the half-space b.e >= b.b tangent to the piece: its
    distance is the piece's own. In another order b can be negative, and the set far too
    large. (If every b left were negative, those in place would be the projection's whole
    support, but every multiplier of a group is positive; putting a group in place raises
    the multipliers of the others, because G has no positive entry off the diagonal.)
    """
    groups = G.shape[0]
    rest = floats(groups)  # gap of each group, given that those in place are at 0
    for k in range(kept):
        x, c = terms[k, RIVAL], terms[k, OBJECTIVE]
        rest[terms[k, GROUP]] += y[k] * (metric.mu[x, c] - metric.mu[z, c])
    place = ints(groups)
    for g in range(groups):
        place[g] = -1
    for position in range(groups):
        chosen, most = -1, -np.inf
        for g in range(groups):
            if place[g] < 0:
                b = rest[g] / math.sqrt(max(G[g, g], 1e-300))
                if chosen < 0 or b > most:
                    chosen, most = g, b
        place[chosen] = position
        for g in range(groups):  # condition the others on it
            if place[g] < 0:
                share = G[g, chosen] / max(G[chosen, chosen], 1e-300)
                rest[g] -= share * rest[chosen]
                for f in range(groups):
                    if place[f] < 0:
                        G[g, f] -= share * G[chosen, f]
    for k in range(kept):
        terms[k, GROUP] = place[terms[k, GROUP]]


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
            terms[kept, RIVAL] = xs[j]
            terms[kept, OBJECTIVE] = cs[j]
            weight[kept] = y[j]
            kept += 1
    if kept == 0:  # theta is in the piece: any of its constraints will do
        terms[0, RIVAL] = xs[0]
        terms[0, OBJECTIVE] = cs[0]
        weight[0] = 1.0
        kept = 1
    cover.shape[r, ANSWER] = z
    cover.shape[r, CONSTRAINTS] = kept
    cover.shape[r, GROUPS] = _group(metric, diagonal, z, kept, terms, weight)
    if (
        measure_records(metric, diagonal, cover, r, r + 1, -1) < 0.0
    ):  # one group is always valid
        cover.shape[r, GROUPS] = 1
        for k in range(kept):
            terms[k, GROUP] = 0
        measure_records(metric, diagonal, cover, r, r + 1, -1)
    size[RECORDS] = r + 1


@bare
def distance_from(metric: Metric, z: int, x: int) -> float:
    """How far z is from reaching x in some objective; -1 if x does not dominate it."""
    gap = np.inf
    for c in range(metric.mu.shape[1]):
        ahead = (metric.mu[x, c] - metric.mu[z, c]) / math.sqrt(metric.Sigma[c, c])
        gap = min(gap, ahead)
        if gap < 0.0:
            return -1.0
    return gap / math.sqrt(inner(metric, z, x, x))


@bare
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
    nodes: int,
    shift: Floats,
) -> float:
    """Store the leaves of the tree of "z escapes"; return the smallest squared distance.

    After ``nodes`` nodes those that are left are stored as they are: a cover still, if a
    loose one, and no distance to go by.
    """
    d = metric.mu.shape[1]
    room = d * DEPTH + 1
    stack_m = ints(room)
    stack_x = ints2(room, DEPTH)
    stack_c = ints2(room, DEPTH)
    y = floats(DEPTH)
    top = 0
    for c in range(d):
        stack_m[top] = 1
        stack_x[top, 0] = keeper
        stack_c[top, 0] = c
        top += 1
    xs = ints(DEPTH)
    cs = ints(DEPTH)
    while top > 0 and size[COVERED] == 1:
        top -= 1
        nodes -= 1
        m = stack_m[top]
        for k in range(m):
            xs[k] = stack_x[top, k]
            cs[k] = stack_c[top, k]
        square = project(metric, z, m, xs, cs, y)
        if square > nearest + 2.0 * NATS * spare:
            continue
        if nodes >= 0 and square < nearest + 2.0 * REFINE * spare:
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
def _pair(
    metric: Metric, diagonal: bool, cover: Cover, size: Ints, i: int, j: int, most: float
) -> float:
    """Store "i below j" and return its squared distance; infinite if plainly above ``most``."""
    d = metric.mu.shape[1]
    lead = 0.0
    for c in range(d):
        ahead = metric.mu[i, c] - metric.mu[j, c]
        lead = max(lead, ahead / math.sqrt(metric.Sigma[c, c]))
    near = inner(metric, j, i, i)
    if lead * lead / near > most:
        return np.inf
    xs = ints(d)
    cs = ints(d)
    y = floats(d)
    square = 0.0
    for c in range(d):
        xs[c] = i
        cs[c] = c
        ahead = max(metric.mu[i, c] - metric.mu[j, c], 0.0)
        y[c] = ahead / (near * metric.Sigma[c, c])
        square += ahead * y[c]
    if not diagonal:
        square = project(metric, j, d, xs, cs, y)
    if d <= DEPTH:
        _store(metric, diagonal, cover, size, j, d, xs, cs, y)
    else:
        size[COVERED] = 0
    return square


@part
def build_around(
    model: Model, front: Front, cover: Cover, z: int, most: float, nodes: int
) -> float:
    """Cover the points at which z enters, or leaves, the Pareto set; after ``build``.

    A member leaves where another answer is above it in every objective, and another answer
    enters where it escapes from all the others (of more than MANY, from the members: a wider
    set, and fewer to look at). Return how far that is at least; if farther than ``most``,
    the cover is not complete. ``nodes`` bounds the work for an escape.
    """
    size = front.size
    size[RECORDS] = 0
    size[COVERED] = 1
    metric = front.metric
    members = front.members[: size[MEMBERS]]
    nearest = np.inf
    if front.inside[z]:
        for j in range(model.n):
            if j != z and size[COVERED] == 1:
                limit = nearest + 2.0 * FEWER_NATS
                square = _pair(metric, model.diagonal, cover, size, z, j, limit)
                nearest = min(nearest, square)
    else:
        keeper, distance = find_keeper(metric, z, members)
        if distance > most:
            return distance
        others = members
        if model.n <= MANY:
            others = ints(model.n - 1)
            for a in range(model.n - 1):
                others[a] = a if a < z else a + 1
        shift = floats2(model.h, model.d)
        nearest = _split(
            metric, model.diagonal, cover, size, z, keeper, others, nearest, 1.0, nodes, shift
        )
    front.reach[NEAREST] = math.sqrt(nearest)
    distance = front.reach[NEAREST]
    for k in range(size[RECORDS]):
        distance = min(distance, cover.r[k])
    return distance


@part
def build(model: Model, belief: Belief, front: Front, cover: Cover, spare: float) -> None:
    """Make S_hat and the cover anew; ``spare`` is the largest inflation of any draw."""
    size = front.size
    refresh_means(model.unstructured, belief.N, belief.theta, model.Z, front.mu, front.inverse)
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
    metric = front.metric
    members = front.members[: size[MEMBERS]]
    n, d = front.mu.shape
    nearest = np.inf

    # pairs: "i below j" is j above i in every objective
    for i in members:
        for j in members:
            if i != j and size[COVERED] == 1:
                limit = nearest + 2.0 * NATS * spare
                square = _pair(metric, model.diagonal, cover, size, i, j, limit)
                nearest = min(nearest, square)

    # escapes, the nearest first: it tells what else can matter
    distance = floats(n)
    first, closest = -1, np.inf
    for i in range(size[LIVE]):
        z = front.live[i]
        distance[z] = distance_from(metric, z, front.keeper[z])
        if distance[z] ** 2 <= nearest + 2.0 * NATS * spare:
            front.keeper[z], distance[z] = find_keeper(metric, z, members)
        if distance[z] < closest:
            first, closest = z, distance[z]
    shift = floats2(model.h, d)
    for i in range(-1, size[LIVE]):
        z = first if i < 0 else front.live[i]
        if z < 0 or (i >= 0 and z == first):
            continue
        if size[COVERED] == 1 and distance[z] ** 2 <= nearest + 2.0 * NATS * spare:
            keeper = front.keeper[z]
            nearest = _split(
                metric,
                model.diagonal,
                cover,
                size,
                z,
                keeper,
                members,
                nearest,
                spare,
                EVERY,
                shift,
            )

    limit = math.sqrt(nearest + 2.0 * NATS * spare)
    front.reach[NEAREST] = math.sqrt(nearest)
    front.reach[LEFT_OUT] = limit
    front.reach[SPARE] = spare
    for k in range(size[RECORDS]):  # whatever a record speaks of is kept up to date
        distance[cover.shape[k, ANSWER]] = 0.0
    if size[COVERED] == 1:
        size[LIVE] = 0
        for z in range(n):
            if not front.inside[z] and distance[z] <= limit:
                front.live[size[LIVE]] = z
                size[LIVE] += 1
