"""Building a cover of Alt(S_hat), see ``cover``.

"i below j" gives one record. "z escapes" gives the leaves of a branch-and-bound tree: while
some x in S still dominates z at the nearest point, branch on the objective in which z gets
above x. Any cut through the tree is a cover.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints
from psips.kernels.cone import project, still_holding
from psips.kernels.cover import (
    ANSWER,
    CONSTRAINTS,
    DEPTH,
    FEWER_NATS,
    GROUP,
    GROUPS,
    KIND,
    LEFT_OUT,
    NATS,
    NEAREST,
    OBJECTIVE,
    RECORDS,
    RIVAL,
    SPARE,
    begin_building,
    give_up,
    is_complete,
    measure,
)
from psips.kernels.front import LIVE, MEMBERS, elect
from psips.kernels.grids import floats, floats2, ints, ints2
from psips.kernels.halfspace import ESCAPE, PAIR, lead, may_beat, may_hold
from psips.kernels.jit import bare, part, standing
from psips.kernels.posterior import (
    Posterior,
    apart,
    cov,
    refresh_all,
    variance,
)
from psips.kernels.scene import Scene

MANY = 100  # answers beyond which not every one is looked at
EVERY = 1 << 60  # nodes of a tree, without a bound
REFINE = 4.0  # nodes within e^-REFINE of the largest are split until they touch Alt


@part
def _group(p: Posterior, z: int, kept: int, terms: Ints, y: Floats) -> int:
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
    while not p.diagonal:
        G = floats2(groups, groups)
        for k in range(kept):
            for j in range(kept):
                x, c, v, e = (
                    terms[k, RIVAL],
                    terms[k, OBJECTIVE],
                    terms[j, RIVAL],
                    terms[j, OBJECTIVE],
                )
                G[terms[k, GROUP], terms[j, GROUP]] += y[k] * y[j] * cov(p, z, x, c, v, e)
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
                _order(p, z, kept, terms, y, G)
            break
        groups -= 1
        for k in range(kept):
            if terms[k, GROUP] > clash:
                terms[k, GROUP] -= 1
    return groups


@part
def _order(p: Posterior, z: int, kept: int, terms: Ints, y: Floats, G: Floats) -> None:
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
        rest[terms[k, GROUP]] -= y[k] * lead(p.mu, p.slack, z, x, c)
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
def _store(scene: Scene, kind: int, z: int, m: int) -> None:
    """Add the record of the piece in ``draw.xs``, ``cs`` and ``y``, projected.

    With as many groups as the signs allow.
    """
    p, cover, draw = scene.posterior, scene.cover, scene.draw
    r = cover.life[RECORDS]
    if r >= cover.r.shape[0]:
        give_up(cover)
        return
    terms, weight = cover.terms[r], cover.y[r]
    kept = 0
    for j in range(m):
        if draw.y[j] > 0.0:
            terms[kept, RIVAL] = draw.xs[j]
            terms[kept, OBJECTIVE] = draw.cs[j]
            weight[kept] = draw.y[j]
            kept += 1
    if kept == 0:  # theta is in the piece: any of its constraints will do
        terms[0, RIVAL] = draw.xs[0]
        terms[0, OBJECTIVE] = draw.cs[0]
        weight[0] = 1.0
        kept = 1
    cover.shape[r, ANSWER] = z
    cover.shape[r, CONSTRAINTS] = kept
    cover.shape[r, KIND] = kind
    cover.shape[r, GROUPS] = _group(p, z, kept, terms, weight)
    if measure(p, cover, r, r + 1, -1) < 0.0:  # one group is always valid
        cover.shape[r, GROUPS] = 1
        for k in range(kept):
            terms[k, GROUP] = 0
        measure(p, cover, r, r + 1, -1)
    cover.life[RECORDS] = r + 1


@bare
def distance_from(p: Posterior, z: int, x: int) -> float:
    """How far z is from reaching x in some objective, whatever the slack; -1 if it has.

    -2 if x never holds it.
    """
    if not may_hold(p.facts, p.give, x, z):
        return -2.0
    least = np.inf
    near = apart(p, z, x)
    for c in range(p.mu.shape[1]):
        ahead = p.mu[x, c] - p.mu[z, c]
        if ahead < 0.0:
            return -1.0
        least = min(least, ahead * ahead / variance(p, z, x, c, near))
    return math.sqrt(least)


@bare
def find_keeper(p: Posterior, z: int, members: Ints) -> tuple[int, float]:
    """Return the member that dominates z most safely, and z's distance from its level."""
    best, distance = members[0], -2.0
    for x in members:
        far = distance_from(p, z, x)
        if far > distance:
            best, distance = x, far
    return best, max(distance, -1.0)


@part
def _split(
    scene: Scene, z: int, keeper: int, members: Ints, nearest: float, spare: float, nodes: int
) -> tuple[float, int]:
    """Store the leaves of the tree of "z escapes".

    Return the smallest squared distance, and how many nodes were looked at. After ``nodes``
    nodes those that are left are stored as they are: a cover still, if a loose one, and no
    distance to go by.
    """
    p, draw = scene.posterior, scene.draw
    d = p.mu.shape[1]
    xs, cs, y = draw.xs, draw.cs, draw.y
    room = d * DEPTH + 1
    stack_m = ints(room)
    stack_x = ints2(room, DEPTH)
    stack_c = ints2(room, DEPTH)
    top = seen = 0
    for c in range(d):
        stack_m[top] = 1
        stack_x[top, 0] = keeper
        stack_c[top, 0] = c
        top += 1
    while top > 0 and is_complete(scene.cover):
        top -= 1
        seen += 1
        m = stack_m[top]
        for k in range(m):
            xs[k] = stack_x[top, k]
            cs[k] = stack_c[top, k]
        square = project(p, z, m, xs, cs, y)
        if square > nearest + 2.0 * NATS * spare:
            continue
        if seen <= nodes and square < nearest + 2.0 * REFINE * spare:
            x = still_holding(p, z, m, xs, cs, y, members, draw.shift)
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
        _store(scene, ESCAPE, z, m)
    return nearest, seen


@part
def _pair(scene: Scene, i: int, j: int, most: float) -> float:
    """Store "i below j" and return its squared distance; infinite if plainly above ``most``."""
    p, draw = scene.posterior, scene.draw
    d = p.mu.shape[1]
    xs, cs, y = draw.xs, draw.cs, draw.y
    near = apart(p, j, i)
    if near <= 0.0 or not may_beat(p.facts, p.give, j, i):
        return np.inf  # equal answers never part; nor does noise decide exact metrics
    square = farthest = 0.0
    for c in range(d):
        xs[c] = i
        cs[c] = c
        ahead = max(-lead(p.mu, p.slack, j, i, c), 0.0)
        y[c] = ahead / variance(p, j, i, c, near)
        square += ahead * y[c]
        farthest = max(farthest, ahead * y[c])
    if farthest > most:
        return np.inf
    if d > DEPTH:
        give_up(scene.cover)
        return square
    if not p.diagonal:
        square = project(p, j, d, xs, cs, y)
    _store(scene, PAIR, j, d)
    return square


@standing
@part
def build_around(scene: Scene, z: int, most: float, nodes: int) -> tuple[float, int]:
    """Cover the points at which z enters, or leaves, the Pareto set; S_hat is elected.

    A member leaves where another answer is above it in every objective, and another answer
    enters where it escapes from all the others (of more than MANY, from the members: a wider
    set, and fewer to look at). Return how far that is at least, and how many nodes of a
    tree were looked at, which ``nodes`` bounds. If it is farther than ``most``, the cover is
    not complete.
    """
    p, front, cover, n = scene.posterior, scene.front, scene.cover, scene.model.n
    begin_building(cover)
    members = front.members[: front.size[MEMBERS]]
    nearest, seen = np.inf, 0
    if front.inside[z]:
        for j in range(n):
            if j != z and is_complete(cover):
                nearest = min(nearest, _pair(scene, z, j, nearest + 2.0 * FEWER_NATS))
    else:
        keeper, distance = find_keeper(p, z, members)
        if distance > most:
            return distance, seen
        others = members
        if n <= MANY:
            others = ints(n - 1)
            for a in range(n - 1):
                others[a] = a if a < z else a + 1
        nearest, seen = _split(scene, z, keeper, others, nearest, 1.0, nodes)
    distance = math.sqrt(nearest)
    cover.reach[NEAREST] = distance
    for k in range(cover.life[RECORDS]):
        distance = min(distance, cover.r[k])
    return distance, seen


@standing
@part
def build(scene: Scene, spare: float) -> None:
    """Make S_hat and the cover anew; ``spare`` is the largest inflation of any draw."""
    refresh_all(scene.posterior)
    elect(scene.posterior.mu, scene.posterior.facts, scene.front)
    cover_alternative(scene, spare)


@standing
@part
def cover_alternative(scene: Scene, spare: float) -> None:
    """Cover the alternative of the set in ``scene.front``; see `build`."""
    p, front, cover, size = scene.posterior, scene.front, scene.cover, scene.front.size
    _remember(scene)
    begin_building(cover)
    members = front.members[: size[MEMBERS]]
    n = scene.model.n
    nearest = np.inf

    # pairs: "i below j" is j above i in every objective
    for i in members:
        for k in range(n if p.tolerant else size[MEMBERS]):
            j = k if p.tolerant else members[k]
            if i != j and is_complete(cover):
                nearest = min(nearest, _pair(scene, i, j, nearest + 2.0 * NATS * spare))

    # escapes, the nearest first: it tells what else can matter
    distance = floats(n)
    first, closest = -1, np.inf
    for i in range(size[LIVE]):
        z = front.outside[i]
        distance[z] = distance_from(p, z, front.keeper[z])
        if distance[z] ** 2 <= nearest + 2.0 * NATS * spare:
            front.keeper[z], distance[z] = find_keeper(p, z, members)
        if distance[z] < closest:
            first, closest = z, distance[z]
    for i in range(-1, size[LIVE]):
        z = first if i < 0 else front.outside[i]
        if z < 0 or (i >= 0 and z == first):
            continue
        if is_complete(cover) and distance[z] ** 2 <= nearest + 2.0 * NATS * spare:
            nearest, _ = _split(scene, z, front.keeper[z], members, nearest, spare, EVERY)

    limit = math.sqrt(nearest + 2.0 * NATS * spare)
    cover.reach[NEAREST] = math.sqrt(nearest)
    cover.reach[LEFT_OUT] = limit
    cover.reach[SPARE] = spare
    for k in range(cover.life[RECORDS]):  # whatever a record speaks of is kept up to date
        distance[cover.shape[k, ANSWER]] = 0.0
    if is_complete(cover):
        size[LIVE] = 0
        rest = n - size[MEMBERS]
        for z in range(n):  # the live ones in order, then the others
            if not front.inside[z] and distance[z] <= limit:
                front.outside[size[LIVE]] = z
                size[LIVE] += 1
        for z in range(n):
            if not front.inside[z] and distance[z] > limit:
                rest -= 1
                front.outside[rest] = z


@bare
def _remember(scene: Scene) -> None:
    """Note where theta is, and how well it is known."""
    p, cover, V = scene.posterior, scene.cover, scene.belief.V
    for i in range(scene.model.h):
        for c in range(scene.model.d):
            cover.theta[i, c] = p.theta[i, c]
    for a in range(cover.R.shape[0]):
        for c in range(scene.model.d):
            for e in range(c + 1):
                cover.R[a, c, e] = p.R[a, c, e]
    for i in range(cover.V.shape[0]):
        for j in range(cover.V.shape[0]):
            cover.V[i, j] = V[i, j]
