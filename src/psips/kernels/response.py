"""Best response to Alt(S): its point nearest to theta, in the metric of a design.

Branch and bound over the convex pieces of Alt(S) (see `psips.kernels.cone`). "i below j"
is one projection. "z escapes" is a tree whose nodes are lists of constraints "z above x_k
in objective c_k": project theta on them; if some x in S still dominates z at the nearest
point p, branch on the objective in which z is to get above it. Whatever lies in the child is
at least as far from p as the half-space it adds, hence, p being a projection on a convex set,

    distance(child)^2 >= distance(node)^2 + lead_c^2 / Var((z - x)(c))

with lead_c that of x over z at p. A node is therefore worth at least its own value plus
the largest, over x, of the smallest, over c, of these terms: children are visited in that
order and most of them are never projected. With V = V_w the squared distance is
F(w) = min_{lambda in Alt(S)} sum_a w_a ||(theta - lambda)^T a||^2_{Sigma^-1}.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psips.aliases import Floats, Ints
from psips.kernels.cone import project
from psips.kernels.cover import ANSWER, CONSTRAINTS, KIND
from psips.kernels.grids import as_array, as_grid, floats, floats2, ints
from psips.kernels.halfspace import ESCAPE, PAIR, lead, may_beat, may_hold
from psips.kernels.jit import kernel, part, standing
from psips.kernels.posterior import Posterior, apart, variance
from psips.kernels.shifts import gains_of_move, move, moved, unwhiten

FREE = 1e-10  # a lead below this many standard deviations of one measurement is none


class Room(NamedTuple):
    """Where the search keeps points."""

    shift: Floats  # (n, d) or (h, d), see `psips.kernels.posterior.move`
    at_z: Floats  # (d,)
    at_x: Floats  # (d,)
    added: Floats  # (d,)


@part
def make_room(p: Posterior) -> Room:
    """Return room for a search."""
    n, d = p.mu.shape
    shift = floats2(n if p.separate else p.W.shape[1], d)
    return Room(shift, floats(d), floats(d), floats(d))


@part
def _hardest(
    p: Posterior,
    z: int,
    m: int,
    xs: Ints,
    cs: Ints,
    y: Floats,
    members: Ints,
    room: Room,
    bounds: Floats,
) -> int:
    """Which x in S costs z most to escape from at the nearest point; -1 if none holds it.

    ``bounds`` (d,) becomes what getting above that x adds to the squared distance at least,
    by objective.
    """
    d = p.mu.shape[1]
    at_z, at_x, added = room.at_z, room.at_x, room.added
    if m == 0:
        at_z = p.mu[z]
    else:
        move(p, z, m, xs, cs, y, room.shift)
        moved(p, z, room.shift, True, at_z)
    hardest, most = -1, -1.0
    for x in members:
        listed = False
        for k in range(m):
            if xs[k] == x:
                listed = True
                break
        if listed or not may_hold(p.facts, p.give, x, z):
            continue
        if m == 0:
            at_x = p.mu[x]
        else:
            moved(p, x, room.shift, False, at_x)
        held = True
        for c in range(d):
            if at_x[c] - at_z[c] - p.slack[c] <= FREE * p.unit[c]:
                held = False
                break
        if not held:
            continue
        near = apart(p, z, x)
        least = np.inf
        for c in range(d):
            behind = at_x[c] - at_z[c] - p.slack[c]
            added[c] = behind * behind / variance(p, z, x, c, near)
            least = min(least, added[c])
        if least > most:
            hardest, most = x, least
            for c in range(d):
                bounds[c] = added[c]
    return hardest


@part
def _keep(
    kind: int,
    z: int,
    m: int,
    xs: Ints,
    cs: Ints,
    y: Floats,
    piece: Ints,
    over: Ints,
    by: Ints,
    weight: Floats,
) -> None:
    piece[ANSWER] = z
    piece[CONSTRAINTS] = m
    piece[KIND] = kind
    for k in range(m):
        over[k] = xs[k]
        by[k] = cs[k]
        weight[k] = y[k]


@part
def held_back(
    p: Posterior, z: int, m: int, xs: Ints, cs: Ints, y: Floats, members: Ints
) -> bool:
    """Whether a member still holds z back at the nearest point of a piece."""
    room, bounds = make_room(p), floats(p.mu.shape[1])
    return _hardest(p, z, m, xs, cs, y, members, room, bounds) >= 0


@standing
@part
def best_response(
    p: Posterior,
    members: Ints,
    ceiling: float,
    piece: Ints,
    over: Ints,
    by: Ints,
    weight: Floats,
) -> float:
    """Squared distance from theta to Alt(S), S = ``members`` its Pareto set.

    Parameters
    ----------
    p : Posterior
    members : (s,) S as a list
    ceiling : float
        Distances from here on do not interest: the search goes no further. Infinite for
        the best response; twice a threshold if all that matters is whether the GLR passes.
    piece : (3,) becomes z, the number m of constraints and the kind of the nearest piece;
        z = -1 if nothing lies below the ceiling
    over, by : (max(s, d),) become the constraints "z above x_k in c_k", the first m
    weight : (max(s, d),) becomes their multipliers y_k

    Returns
    -------
    float
        The smaller of the squared distance and the ceiling; 0 if theta is on the boundary.
    """
    n, d = p.mu.shape
    s = members.shape[0]
    length = max(s, d)
    xs, cs, y = ints(length), ints(length), floats(length)
    best = ceiling
    piece[ANSWER] = -1
    piece[CONSTRAINTS] = 0
    for i in members:  # i below j
        for k in range(n if p.tolerant else s):
            j = k if p.tolerant else members[k]
            if i == j or not may_beat(p.facts, p.give, j, i):
                continue
            near = apart(p, j, i)
            if near <= 0.0:  # equal answers never part
                continue
            least = 0.0
            for c in range(d):
                gap = -lead(p.mu, p.slack, j, i, c)
                if gap > 0.0:
                    least = max(least, gap * gap / variance(p, j, i, c, near))
            if least >= best:
                continue
            for c in range(d):
                xs[c] = i
                cs[c] = c
            value = project(p, j, d, xs, cs, y)
            if value < best:
                best = value
                _keep(PAIR, j, d, xs, cs, y, piece, over, by, weight)
    room = make_room(p)
    bounds = floats2(s + 1, d)  # by depth: what is known of the children not yet visited
    roots = floats2(n, d)  # the same for every answer's tree before it is opened
    holder = ints(n)  # whom to escape from first
    floor = floats(n)  # smallest entry of roots
    for x in members:
        floor[x] = np.inf
    m = d - d  # a literal 0 would compile everything below twice
    for z in range(n):
        if floor[z] == 0.0:
            holder[z] = _hardest(p, z, m, xs, cs, y, members, room, roots[z])
            if holder[z] < 0:  # nothing holds z back: theta is on the boundary
                piece[ANSWER] = z
                piece[CONSTRAINTS] = 0
                piece[KIND] = ESCAPE
                return 0.0
            floor[z] = np.inf
            for c in range(d):
                floor[z] = min(floor[z], roots[z, c])
    while True:
        z = members[0]
        for a in range(n):
            if floor[a] < floor[z]:
                z = a
        if floor[z] >= best:
            return best
        floor[z] = np.inf
        m = d - d  # constraints decided; xs[m] is to be escaped from next
        xs[0] = holder[z]
        for c in range(d):
            bounds[0, c] = roots[z, c]
        while m >= 0:
            c = 0
            for e in range(d):
                if bounds[m, e] < bounds[m, c]:
                    c = e
            if bounds[m, c] >= best:
                m -= 1
                continue
            bounds[m, c] = np.inf
            cs[m] = c
            value = project(p, z, m + 1, xs, cs, y)
            if value >= best:
                continue
            x = _hardest(p, z, m + 1, xs, cs, y, members, room, bounds[m + 1])
            if x < 0:
                if value < best:
                    best = value
                    _keep(ESCAPE, z, m + 1, xs, cs, y, piece, over, by, weight)
            else:
                m += 1
                xs[m] = x
                for e in range(d):
                    bounds[m, e] += value


@part
def response_gains(
    p: Posterior,
    piece: Ints,
    over: Ints,
    by: Ints,
    weight: Floats,
    shift: Floats,
    gains: Floats,
) -> None:
    """Write how theta moves to the best response into ``shift``, and the gains by arm.

    g(a) = ||(theta - lambda)^T a||^2_{Sigma^-1} is the gradient of F at w, and, whatever the
    other weights, F(w) <= w . g.
    """
    for i in range(shift.shape[0]):
        for c in range(shift.shape[1]):
            shift[i, c] = 0.0
    z, m = max(piece[ANSWER], 0), piece[CONSTRAINTS]
    move(p, z, m, over, by, weight, shift)
    gains_of_move(p, z, m, over, by, weight, shift, gains)


@kernel
def respond(
    p: Posterior, inside: Ints, ceiling: float
) -> tuple[float, Ints, Ints, Ints, Floats, Floats, Floats]:
    """Best response for callers in Python.

    Parameters
    ----------
    p : Posterior
        Refreshed, with weights in the place of pulls.
    inside : (s,) Pareto set of its means, as a list
    ceiling : float
        See `best_response`.

    Returns
    -------
    tuple
        Squared distance; z, m and kind; the m constraints x_k and c_k and multipliers y_k; the
        change lambda - theta (h, d); gains by arm.
    """
    d = p.mu.shape[1]
    members = as_grid(inside)
    piece = ints(3)
    room = max(members.shape[0], d)
    over, by, weight = ints(room), ints(room), floats(room)
    value = best_response(p, members, ceiling, piece, over, by, weight)
    shift, gains = make_room(p).shift, floats(p.N.shape[0])
    response_gains(p, piece, over, by, weight, shift, gains)
    change = shift
    if not p.separate and p.G.shape[0] == 0:
        change = floats2(shift.shape[0], d)
        unwhiten(p, shift, change)
    m = piece[CONSTRAINTS]
    return (
        value,
        as_array(piece),
        as_array(over[:m]),
        as_array(by[:m]),
        as_array(weight[:m]),
        as_array(change),
        as_array(gains),
    )
