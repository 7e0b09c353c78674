"""The candidate set S_hat and a cover of Alt(S_hat) by half-spaces, kept between rounds.

A cover is a list of records (z; x_k, c_k, y_k): the half-space
{ sum_k y_k (z - x_k)(c_k) >= 0 }, tangent to a piece of Alt when it was built and valid,
if a little loose, whatever theta becomes. "i below j" gives one record. "z escapes" gives
the leaves of a branch-and-bound tree: while some x in S still dominates z at the nearest
point, branch on the objective in which z gets above x. Any cut through the tree is a cover.

Between two builds only the numbers are refreshed, and only for pieces that can matter. A
piece at distance r has mass about exp(-r^2/2): those more than 40 above the smallest
exponent are left out when the cover is built, and it is built anew before that margin can
have shrunk to 30: precision only grows, so no distance shrinks by more than theta moves.

While hits come within a few draws (early on, when hardly anything is known) a cover would
be large and useless: the front is then "eager", which means S_hat alone is kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.kernels.belief import Belief, answer_means, whitened
from psips.kernels.cone import Metric, inner, project, spread, still_dominating
from psips.kernels.jit import kernel, part
from psips.kernels.model import Floats, Ints, Model
from psips.kernels.pareto import Mask, dominates, in_alternative, pareto_set

NATS = 40.0  # pieces with less than e^-NATS of the largest piece's mass are left out
MARGIN = 30.0  # what must remain of NATS while the cover is used
REFINE = 4.0  # nodes within e^-REFINE of the largest are split until they touch Alt
DEPTH = 12  # constraints a record can hold

# Places in Front.size. EAGER is 1 while there is no cover, 2 if there should be none from
# the next round on.
MEMBERS, LIVE, RECORDS, AGE, REJECTED, COVERED, EAGER, BUILT = range(8)


class Front(NamedTuple):
    """S_hat, the answers near it and the cover; everything but ``Belief`` a round needs."""

    inside: Mask  # (n,) S_hat
    members: Ints  # (n,) S_hat as a list, the first size[MEMBERS]
    live: Ints  # (n,) answers outside S_hat that could escape, the first size[LIVE]
    keeper: Ints  # (n,) for each answer outside, the x in S_hat that dominates it most safely
    mu: Floats  # (n, d) means of the answers, up to date for members and live ones
    W: Floats  # (n, h) whitened answers, likewise; (0, 0) if unstructured
    inverse: Floats  # (n,) 1 / N; (0,) if linear
    z: Ints  # (records,)
    m: Ints  # (records,)
    pair: Mask  # (records,) whether the piece is "xs[0] below z"
    xs: Ints  # (records, DEPTH)
    cs: Ints  # (records, DEPTH)
    y: Floats  # (records, DEPTH)
    r: Floats  # (records,) distance of theta to the half-space
    theta: Floats  # (h, d) where theta was when the cover was built
    N: Floats  # (K,) pulls then, (0,) if linear
    V: Floats  # (h, h) precision then, (0, 0) if unstructured
    reach: Floats  # (3,) smallest distance now; distance of what was left out; inflation
    size: Ints  # (8,)


@kernel
def empty_front(model: Model, capacity: int) -> Front:
    """Return a front that has seen nothing; ``capacity`` 0 for runs that need no cover."""
    n, d, h = model.n, model.d, model.h
    width = 0 if model.unstructured else h
    arms = model.K if model.unstructured else 0
    size = np.zeros(8, np.int64)
    size[EAGER] = 1
    return Front(
        np.zeros(n, np.bool_),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros((n, d)),
        np.zeros((model.Z.shape[0], width)),
        np.zeros(arms),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.bool_),
        np.zeros((capacity, DEPTH), np.int64),
        np.zeros((capacity, DEPTH), np.int64),
        np.zeros((capacity, DEPTH)),
        np.zeros(capacity),
        np.zeros((h, d)),
        np.zeros(arms),
        np.zeros((width, width)),
        np.zeros(3),
        size,
    )


@part
def metric_of(model: Model, front: Front) -> Metric:
    """Return the metric of the counts, as last refreshed."""
    return Metric(model.unstructured, front.inverse, front.W, model.Sigma, front.mu)


@part
def refresh_answer(model: Model, belief: Belief, front: Front, a: int) -> None:
    """Bring mean and whitened features of answer ``a`` up to date (linear)."""
    for c in range(model.d):
        front.mu[a, c] = 0.0
    for i in range(model.h):
        for c in range(model.d):
            front.mu[a, c] += model.Z[a, i] * belief.theta[i, c]
    for j in range(model.h):
        total = 0.0
        for i in range(model.h):
            total += model.Z[a, i] * belief.F[i, j]
        front.W[a, j] = total


@part
def refresh_means(model: Model, belief: Belief, front: Front) -> None:
    """Bring the means of all answers up to date, and 1 / N."""
    if model.unstructured:
        front.mu[:] = belief.theta
        for a in range(model.K):
            front.inverse[a] = 1.0 / belief.N[a]
    else:
        front.mu[:] = answer_means(model, belief.theta)


@part
def elect(front: Front) -> None:
    """Make S_hat the Pareto set of the current means."""
    front.inside[:] = pareto_set(front.mu)
    size = 0
    for a in range(front.inside.shape[0]):
        if front.inside[a]:
            front.members[size] = a
            size += 1
    front.size[MEMBERS] = size


@part
def elect_plainly(model: Model, belief: Belief, front: Front) -> None:
    """Candidate set without a cover: keep S_hat unless theta is in Alt(S_hat)."""
    refresh_means(model, belief, front)
    members = front.members[: front.size[MEMBERS]]
    if members.shape[0] == 0 or in_alternative(front.mu, front.inside, members):
        elect(front)


@part
def displacement(model: Model, belief: Belief, front: Front) -> float:
    """How far theta has moved since the cover was built, in the metric of that time."""
    square = 0.0
    delta = np.empty(model.d)
    if model.unstructured:
        for a in range(model.K):
            for c in range(model.d):
                delta[c] = belief.theta[a, c] - front.theta[a, c]
            for c in range(model.d):
                for e in range(model.d):
                    square += front.N[a] * delta[c] * model.P[c, e] * delta[e]
        return math.sqrt(max(square, 0.0))
    difference = belief.theta - front.theta
    for i in range(model.h):
        for j in range(model.h):
            for c in range(model.d):
                for e in range(model.d):
                    square += (
                        front.V[i, j] * difference[i, c] * model.P[c, e] * difference[j, e]
                    )
    return math.sqrt(max(square, 0.0))


@part
def _store(
    front: Front, z: int, m: int, xs: Ints, cs: Ints, y: Floats, pair: bool, square: float
) -> None:
    k = front.size[RECORDS]
    if k >= front.z.shape[0]:
        front.size[COVERED] = 0  # no room: this round draws literally
        return
    kept = 0
    for j in range(m):
        if y[j] > 0.0:
            front.xs[k, kept] = xs[j]
            front.cs[k, kept] = cs[j]
            front.y[k, kept] = y[j]
            kept += 1
    if kept == 0:  # theta is in the piece: any of its constraints will do
        front.xs[k, 0] = xs[0]
        front.cs[k, 0] = cs[0]
        front.y[k, 0] = 1.0
        kept = 1
    front.z[k] = z
    front.m[k] = kept
    front.pair[k] = pair
    front.r[k] = math.sqrt(square)
    front.size[RECORDS] = k + 1


@part
def _keeper(metric: Metric, z: int, members: Ints) -> tuple[int, float]:
    """Return the x in S_hat that dominates z most safely, and z's distance from its level."""
    d = metric.mu.shape[1]
    best, distance = -1, 0.0
    for x in members:
        gap = np.inf
        for c in range(d):
            ahead = (metric.mu[x, c] - metric.mu[z, c]) / math.sqrt(metric.Sigma[c, c])
            gap = min(gap, ahead)
            if gap <= 0.0:
                break
        if gap > 0.0:
            far = gap / math.sqrt(inner(metric, z, x, x))
            if best < 0 or far > distance:
                best, distance = x, far
    return best, distance


@part
def _split(
    front: Front,
    metric: Metric,
    z: int,
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
        stack_x[top, 0] = front.keeper[z]
        stack_c[top, 0] = c
        top += 1
    xs = np.empty(DEPTH, np.int64)
    cs = np.empty(DEPTH, np.int64)
    while top > 0:
        top -= 1
        m = stack_m[top]
        xs[:m] = stack_x[top, :m]
        cs[:m] = stack_c[top, :m]
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
                    stack_x[top, :m] = xs[:m]
                    stack_c[top, :m] = cs[:m]
                    stack_x[top, m] = x
                    stack_c[top, m] = c
                    top += 1
                continue
        _store(front, z, m, xs, cs, y, False, square)
    return nearest


@part
def build(model: Model, belief: Belief, front: Front, spare: float) -> None:
    """Make S_hat and the cover anew; ``spare`` is the largest inflation of any draw."""
    refresh_means(model, belief, front)
    elect(front)
    front.theta[:] = belief.theta
    if model.unstructured:
        front.N[:] = belief.N
    else:
        front.V[:] = belief.V
        front.W[:] = whitened(model, belief.F)
    size = front.size
    size[RECORDS] = 0
    size[LIVE] = 0
    size[AGE] = 0
    size[REJECTED] = 0
    size[COVERED] = 1
    size[BUILT] += 1
    metric = metric_of(model, front)
    members = front.members[: size[MEMBERS]]
    n, d = front.mu.shape
    nearest = np.inf

    # pairs: "i below j" is j above i in every objective
    xs = np.empty(max(d, DEPTH), np.int64)
    cs = np.arange(max(d, DEPTH))
    y = np.empty(max(d, DEPTH))
    for i in members:
        for j in members:
            if i != j:
                lead = 0.0
                for c in range(d):
                    ahead = metric.mu[i, c] - metric.mu[j, c]
                    lead = max(lead, ahead / math.sqrt(model.Sigma[c, c]))
                floor = lead * lead / inner(metric, j, i, i)
                if floor <= nearest + 2.0 * NATS * spare:
                    xs[:d] = i
                    square = project(metric, j, d, xs, cs, y)
                    nearest = min(nearest, square)
                    _store(front, j, d, xs, cs, y, True, square)

    # escapes, nearest first
    distance = np.full(n, np.inf)
    for z in range(n):
        if not front.inside[z]:
            front.keeper[z], distance[z] = _keeper(metric, z, members)
    shift = np.zeros((model.h, d))
    order = np.argsort(distance)
    for z in order:
        if front.inside[z] or size[COVERED] == 0:
            break
        if distance[z] ** 2 > nearest + 2.0 * NATS * spare:
            break
        nearest = _split(front, metric, z, members, nearest, spare, shift)

    limit = math.sqrt(nearest + 2.0 * NATS * spare)
    for z in range(n):
        if not front.inside[z] and (distance[z] <= limit or size[COVERED] == 0):
            front.live[size[LIVE]] = z
            size[LIVE] += 1
    front.reach[0] = math.sqrt(nearest)
    front.reach[1] = limit
    front.reach[2] = spare


@part
def stands(front: Front) -> bool:
    """Whether S_hat is still the Pareto set of the current means."""
    for k in range(front.size[RECORDS]):
        if front.pair[k] and dominates(front.mu, front.z[k], front.xs[k, 0]):
            return False
    return not escapes(front, front.mu)


@part
def escapes(front: Front, values: Floats) -> bool:
    """Whether some live answer is dominated by no member of S_hat in ``values``."""
    for i in range(front.size[LIVE]):
        z = front.live[i]
        if not dominates(values, front.keeper[z], z) and free(front, values, z):
            return True
    return False


@part
def free(front: Front, values: Floats, z: int) -> bool:
    """Whether no member of S_hat dominates ``z`` in ``values``."""
    for i in range(front.size[MEMBERS]):
        if dominates(values, front.members[i], z):
            return False
    return True


@part
def refresh(model: Model, belief: Belief, front: Front) -> bool:
    """Bring the numbers of a built cover up to date; False if it has to be built anew."""
    size = front.size
    size[AGE] += 1
    if size[COVERED] == 0 or size[AGE] > 32 + belief.count[0] // 64:
        return False
    if size[REJECTED] > 16 + size[AGE] // 2:
        return False
    if model.unstructured:
        refresh_means(model, belief, front)
    else:
        for i in range(size[MEMBERS]):
            refresh_answer(model, belief, front, front.members[i])
        for i in range(size[LIVE]):
            refresh_answer(model, belief, front, front.live[i])
    if not stands(front):
        return False
    metric = metric_of(model, front)
    nearest = np.inf
    for k in range(size[RECORDS]):
        z, m = front.z[k], front.m[k]
        gap = 0.0
        for j in range(m):
            x, c = front.xs[k, j], front.cs[k, j]
            gap += front.y[k, j] * (front.mu[x, c] - front.mu[z, c])
        front.r[k] = gap / math.sqrt(
            spread(metric, z, m, front.xs[k], front.cs[k], front.y[k])
        )
        nearest = min(nearest, front.r[k])
    front.reach[0] = nearest
    left_out = front.reach[1] - displacement(model, belief, front)
    return left_out > 0.0 and left_out**2 > nearest * abs(nearest) + 2.0 * MARGIN * front.reach[2]
