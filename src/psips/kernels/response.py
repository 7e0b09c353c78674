"""Best response to Alt(S): its point nearest to theta, in the metric of a design.

Branch and bound over the convex pieces of Alt(S) (see `psips.kernels.cone`). "i below j"
is one projection. "z escapes" is a tree whose nodes are lists of constraints "z above x_k
in objective c_k": project theta on them; if some x in S still dominates z at the nearest
point p, branch on the objective in which z is to get above it. Whatever lies in the child is
at least as far from p as the half-space it adds, hence, p being a projection on a convex set,

    distance(child)^2 >= distance(node)^2 + lead_c^2 / (||z - x||^2_{V^-1} Sigma_cc)

with lead_c = mu_x(c) - mu_z(c) at p. A node is therefore worth at least its own value plus
the largest, over x, of the smallest, over c, of these terms: children are visited in that
order and most of them are never projected. With V = V_w the squared distance is
F(w) = min_{lambda in Alt(S)} sum_a w_a ||(theta - lambda)^T a||^2_{Sigma^-1}.
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.cone import Metric, inner, move, moved, project
from psips.kernels.grids import as_array, as_grid, floats, floats2, ints
from psips.kernels.jit import kernel, part
from psips.kernels.model import Floats, Ints, Mask

PAIR, ESCAPE = range(2)  # kinds of pieces
CLEAR = 2.0  # standard errors behind, beyond which an objective is not in play
FREE = 1e-10  # a lead below this many standard deviations of one measurement is none


@part
def _hardest(
    metric: Metric,
    z: int,
    m: int,
    xs: Ints,
    cs: Ints,
    y: Floats,
    members: Ints,
    shift: Floats,
    work: Floats,
    bounds: Floats,
) -> int:
    """Which x in S costs z most to escape from at the nearest point; -1 if none holds it.

    ``bounds`` (d,) becomes what getting above that x adds to the squared distance at least,
    by objective.
    """
    d = metric.mu.shape[1]
    at_z, at_x, added = work[0], work[1], work[2]
    if m == 0:
        at_z = metric.mu[z]
    else:
        move(metric, z, m, xs, cs, y, shift)
        moved(metric, z, shift, True, at_z)
    hardest, most = -1, -1.0
    for x in members:
        listed = False
        for k in range(m):
            if xs[k] == x:
                listed = True
                break
        if listed:
            continue
        if m == 0:
            at_x = metric.mu[x]
        else:
            moved(metric, x, shift, False, at_x)
        held = True
        for c in range(d):
            if at_x[c] - at_z[c] <= FREE * math.sqrt(metric.Sigma[c, c]):
                held = False
                break
        if not held:
            continue
        square = inner(metric, z, x, x)
        least = np.inf
        for c in range(d):
            lead = at_x[c] - at_z[c]
            added[c] = lead * lead / (square * metric.Sigma[c, c])
            least = min(least, added[c])
        if least > most:
            hardest, most = x, least
            for c in range(d):
                bounds[c] = added[c]
    return hardest


@part
def _keep(
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
    piece[0] = z
    piece[1] = m
    for k in range(m):
        over[k] = xs[k]
        by[k] = cs[k]
        weight[k] = y[k]


@part
def counts_for(metric: Metric, pair: bool, z: int, m: int, x: int, y: Floats) -> int:
    """How many inequalities of a piece are in play, at most d.

    Of "x below z" (``pair``) those objectives in which z is not clearly above x; of "z
    escapes" the constraints that hold the nearest point.
    """
    d = metric.mu.shape[1]
    count = 0
    if pair:
        square = inner(metric, z, x, x)
        for c in range(d):
            ahead = metric.mu[x, c] - metric.mu[z, c]
            if ahead > -CLEAR * math.sqrt(square * metric.Sigma[c, c]):
                count += 1
    else:
        for k in range(m):
            if y[k] > 0.0:
                count += 1
    return min(count, d)


@part
def held_back(
    metric: Metric, z: int, m: int, xs: Ints, cs: Ints, y: Floats, members: Ints
) -> bool:
    """Whether a member still dominates z at the nearest point of a piece."""
    n, d = metric.mu.shape
    shift = floats2(n if metric.unstructured else metric.W.shape[1], d)
    work, bounds = floats2(3, d), floats(d)
    return _hardest(metric, z, m, xs, cs, y, members, shift, work, bounds) >= 0


@part
def best_response(
    metric: Metric,
    members: Ints,
    ceiling: float,
    handicap: Floats,
    piece: Ints,
    over: Ints,
    by: Ints,
    weight: Floats,
) -> float:
    """Squared distance from theta to Alt(S), S = ``members`` its Pareto set.

    Parameters
    ----------
    metric : Metric
    members : (s,) S as a list
    ceiling : float
        Distances from here on do not interest: the search goes no further. Infinite for
        the best response; twice a threshold if all that matters is whether the GLR passes.
    handicap : (2, d + 1) of a PAIR and of an ESCAPE, by how many of its inequalities are in
        play, what a squared distance counts for; falling, ones for the distance itself
    piece : (2,) becomes z and the number m of constraints of the nearest piece; z = -1 if
        nothing lies below the ceiling
    over, by : (max(s, d),) become the constraints "z above x_k in c_k", the first m
    weight : (max(s, d),) becomes their multipliers y_k

    Returns
    -------
    float
        The smaller of the squared distance and the ceiling; 0 if theta is on the boundary.
    """
    n, d = metric.mu.shape
    s = members.shape[0]
    mu, Sigma = metric.mu, metric.Sigma
    room = max(s, d)
    xs, cs, y = ints(room), ints(room), floats(room)
    lowest = min(handicap[PAIR, d], handicap[ESCAPE, d])
    best = ceiling
    piece[0] = -1
    piece[1] = 0
    for i in members:  # i below j
        for j in members:
            if i == j:
                continue
            least = 0.0
            for c in range(d):
                gap = mu[i, c] - mu[j, c]
                if gap > 0.0:
                    least = max(least, gap * gap / Sigma[c, c])
            square = inner(metric, j, i, i)
            if square <= 0.0 or lowest * least >= best * square:  # equal answers never part
                continue
            for c in range(d):
                xs[c] = i
                cs[c] = c
            value = project(metric, j, d, xs, cs, y)
            value *= handicap[PAIR, counts_for(metric, True, j, d, i, y)]
            if value < best:
                best = value
                _keep(j, d, xs, cs, y, piece, over, by, weight)
    shift = floats2(n if metric.unstructured else metric.W.shape[1], d)
    work = floats2(3, d)
    bounds = floats2(s + 1, d)  # by depth: what is known of the children not yet visited
    roots = floats2(n, d)  # the same for every answer's tree before it is opened
    holder = ints(n)  # whom to escape from first
    floor = floats(n)  # smallest entry of roots
    for x in members:
        floor[x] = np.inf
    m = d - d  # a literal 0 would compile everything below twice
    for z in range(n):
        if floor[z] == 0.0:
            holder[z] = _hardest(metric, z, m, xs, cs, y, members, shift, work, roots[z])
            if holder[z] < 0:  # nothing dominates z: theta is on the boundary
                piece[0] = z
                piece[1] = 0
                return 0.0
            floor[z] = np.inf
            for c in range(d):
                floor[z] = min(floor[z], roots[z, c])
    while True:
        z = members[0]
        for a in range(n):
            if floor[a] < floor[z]:
                z = a
        if lowest * floor[z] >= best:
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
            if lowest * bounds[m, c] >= best:
                m -= 1
                continue
            bounds[m, c] = np.inf
            cs[m] = c
            value = project(metric, z, m + 1, xs, cs, y)
            if lowest * value >= best:
                continue
            x = _hardest(metric, z, m + 1, xs, cs, y, members, shift, work, bounds[m + 1])
            if x < 0:
                value *= handicap[ESCAPE, counts_for(metric, False, z, m + 1, z, y)]
                if value < best:
                    best = value
                    _keep(z, m + 1, xs, cs, y, piece, over, by, weight)
            else:
                m += 1
                xs[m] = x
                for e in range(d):
                    bounds[m, e] += value


@part
def no_handicap(d: int) -> Floats:
    """Return factors (2, d + 1) with which a squared distance counts for itself."""
    ones = floats2(2, d + 1)
    for k in range(d + 1):
        ones[PAIR, k] = 1.0
        ones[ESCAPE, k] = 1.0
    return ones


@part
def response_move(
    metric: Metric, piece: Ints, over: Ints, by: Ints, weight: Floats, shift: Floats
) -> None:
    """Write how theta moves to the best response, divided by Sigma.

    Unstructured: ``shift`` (n, d), lambda - theta = shift Sigma. Linear: ``shift`` (h, d),
    lambda - theta = F shift Sigma with F the factor of V^-1 in W = Z F.
    """
    for i in range(shift.shape[0]):
        for c in range(shift.shape[1]):
            shift[i, c] = 0.0
    if piece[0] >= 0:
        move(metric, piece[0], piece[1], over, by, weight, shift)


@part
def response_gains(Sigma: Floats, AF: Floats, shift: Floats, gains: Floats) -> None:
    """Gains g(a) = ||(theta - lambda)^T a||^2_{Sigma^-1}; ``AF`` (K, h), or (0, 0), is A F.

    The gradient of F at w, and, whatever the other weights, F(w) <= w . g.
    """
    d = shift.shape[1]
    row = floats(d)
    for a in range(gains.shape[0]):
        for c in range(d):
            row[c] = 0.0
            if AF.shape[0] == 0:
                row[c] = shift[a, c]
            else:
                for i in range(shift.shape[0]):
                    row[c] += AF[a, i] * shift[i, c]
        gains[a] = 0.0
        for c in range(d):
            for e in range(d):
                gains[a] += row[c] * Sigma[c, e] * row[e]


def respond(
    Sigma: Floats,
    mu: Floats,
    inside: Mask,
    inverse: Floats,
    W: Floats,
    AF: Floats,
    ceiling: float,
) -> tuple[float, Ints, Ints, Ints, Floats, Floats, Floats]:
    """Best response for callers in Python.

    Parameters
    ----------
    Sigma : (d, d)
    mu : (n, d) means of the answers
    inside : (n,) their Pareto set
    inverse : (n,) 1 / w, (0,) if linear
    W : (n, h) Z F with F F^T = V_w^-1, (0, 0) if unstructured
    AF : (K, h) A F, (0, 0) if unstructured
    ceiling : float
        See `best_response`.

    Returns
    -------
    tuple
        Squared distance; z and m; the m constraints x_k and c_k and multipliers y_k; shift
        as in `response_move`; gains by arm.
    """
    metric = Metric(W.shape[0] == 0, inverse, W, Sigma, mu)
    found: tuple[float, Ints, Ints, Ints, Floats, Floats, Floats] = _respond(
        metric, np.flatnonzero(inside), AF, ceiling
    )
    return found


@kernel
def _respond(
    metric: Metric, inside: Ints, arms: Floats, ceiling: float
) -> tuple[float, Ints, Ints, Ints, Floats, Floats, Floats]:
    n, d = metric.mu.shape
    members, AF = as_grid(inside), as_grid(arms)
    piece = ints(2)
    room = max(members.shape[0], d)
    over, by, weight = ints(room), ints(room), floats(room)
    value = best_response(metric, members, ceiling, no_handicap(d), piece, over, by, weight)
    shift = floats2(n if metric.unstructured else metric.W.shape[1], d)
    response_move(metric, piece, over, by, weight, shift)
    gains = floats(n if metric.unstructured else AF.shape[0])
    response_gains(metric.Sigma, AF, shift, gains)
    m = piece[1]
    return (
        value,
        as_array(piece),
        as_array(over[:m]),
        as_array(by[:m]),
        as_array(weight[:m]),
        as_array(shift),
        as_array(gains),
    )
