"""The min learner's move: from a posterior draw in Alt(S_hat) to the arms' gains.

``posterior`` is the published learner: lambda_t is the draw itself. ``projected`` keeps of
the draw only which convex piece of Alt it fell in, and takes the point of that piece
nearest to theta in the metric of the counts: the gains are then free of posterior noise.
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import Belief
from psips.kernels.cone import Metric, move, moved, project
from psips.kernels.draws import Draw
from psips.kernels.front import (
    COVERED,
    EAGER,
    LIVE,
    MEMBERS,
    RECORDS,
    Front,
    free,
    metric_of,
    refresh_answer,
)
from psips.kernels.jit import part
from psips.kernels.model import Floats, Ints, Model
from psips.kernels.pareto import dominates
from psips.kernels.rng import normal


@part
def _form(model: Model, x: Floats) -> float:
    """||x||^2 in Sigma^-1."""
    total = 0.0
    for c in range(model.d):
        for e in range(model.d):
            total += x[c] * model.P[c, e] * x[e]
    return total


@part
def _gains_of_theta(model: Model, change: Floats, gains: Floats) -> None:
    """g(a) = ||(theta - lambda)^T a||^2 in Sigma^-1, linear; ``change`` is lambda - theta."""
    x = np.empty(model.d)
    for a in range(model.K):
        for c in range(model.d):
            x[c] = 0.0
        for i in range(model.h):
            for c in range(model.d):
                x[c] += model.A[a, i] * change[i, c]
        gains[a] = _form(model, x)


@part
def posterior_gains(
    model: Model, belief: Belief, front: Front, draw: Draw, scale: float, gains: Floats
) -> None:
    """Gains of the published learner: of the draw that hit.

    Arms that the draw left out, because they cannot decide membership, are drawn now.
    """
    if not model.unstructured:
        _gains_of_theta(model, draw.theta - belief.theta, gains)
        return
    whole = front.size[EAGER] == 1 or front.size[COVERED] == 0 or model.kind != 0
    drawn = np.ones(model.K, np.bool_)
    if not whole:
        drawn[:] = front.inside
        for i in range(front.size[LIVE]):
            drawn[front.live[i]] = True
    x = np.empty(model.d)
    for a in range(model.K):
        if drawn[a]:
            for c in range(model.d):
                x[c] = draw.values[a, c] - belief.theta[a, c]
            gains[a] = _form(model, x)
        else:
            gains[a] = 0.0
            for _ in range(model.d):
                gains[a] += normal(draw.stream) ** 2
            gains[a] *= scale * scale / belief.N[a]


@part
def piece_of(model: Model, front: Front, values: Floats) -> tuple[int, int]:
    """Which piece of Alt the point is in: (j, i) for "i below j", (z, -1) for "z escapes"."""
    size = front.size
    members = front.members[: size[MEMBERS]]
    near = size[EAGER] == 0 and size[COVERED] == 1
    if near:
        for k in range(size[RECORDS]):
            if front.pair[k] and dominates(values, front.z[k], front.xs[k, 0]):
                return front.z[k], front.xs[k, 0]
        for i in range(size[LIVE]):
            if free(front, values, front.live[i]):
                return front.live[i], -1
        return -1, -1
    for i in members:
        for j in members:
            if i != j and dominates(values, j, i):
                return j, i
    for z in range(model.n):
        if not front.inside[z] and free(front, values, z):
            return z, -1
    return -1, -1


@part
def nearest_in_escape(
    metric: Metric, values: Floats, z: int, members: Ints, xs: Ints, cs: Ints, y: Floats
) -> int:
    """Project on the piece "z above each x in S, in the objective where the draw has it most".

    Constraints come in as they are violated; returns how many.
    """
    d = metric.mu.shape[1]
    s = members.shape[0]
    choice = np.empty(s, np.int64)
    listed = np.zeros(s, np.bool_)
    for i in range(s):
        most = -np.inf
        for c in range(d):
            lead = (values[z, c] - values[members[i], c]) / math.sqrt(metric.Sigma[c, c])
            if lead > most:
                most = lead
                choice[i] = c
    shift = np.zeros((metric.mu.shape[0] if metric.unstructured else metric.W.shape[1], d))
    at_z = np.empty(d)
    at_x = np.empty(d)
    m = 0
    while m < s:
        if m > 0:
            move(metric, z, m, xs, cs, y, shift)
            moved(metric, z, shift, True, at_z)
        else:
            at_z[:] = metric.mu[z]
        worst, most = -1, 1e-10
        for i in range(s):
            if not listed[i]:
                c = choice[i]
                if m > 0 and not metric.unstructured:
                    moved(metric, members[i], shift, True, at_x)
                    ahead = at_x[c] - at_z[c]
                else:
                    ahead = metric.mu[members[i], c] - at_z[c]
                ahead /= math.sqrt(metric.Sigma[c, c])
                if ahead > most:
                    worst, most = i, ahead
        if worst < 0:
            break
        listed[worst] = True
        xs[m] = members[worst]
        cs[m] = choice[worst]
        m += 1
        project(metric, z, m, xs, cs, y)
    return m


@part
def projected_gains(
    model: Model, belief: Belief, front: Front, draw: Draw, gains: Floats
) -> bool:
    """Gains of the projected learner; False if the point is in no piece (rounding)."""
    z, below = piece_of(model, front, draw.values)
    if z < 0:
        return False
    if front.size[EAGER] == 1 and not model.unstructured:
        refresh_answer(model, belief, front, z)
        for i in range(front.size[MEMBERS]):
            refresh_answer(model, belief, front, front.members[i])
    metric = metric_of(model, front)
    members = front.members[: front.size[MEMBERS]]
    room = max(model.d, members.shape[0])
    xs = np.empty(room, np.int64)
    cs = np.empty(room, np.int64)
    y = np.zeros(room)
    if below >= 0:
        m = model.d
        for c in range(m):
            xs[c] = below
            cs[c] = c
        project(metric, z, m, xs, cs, y)
    else:
        m = nearest_in_escape(metric, draw.values, z, members, xs, cs, y)
    if m == 0:
        return False
    move(metric, z, m, xs, cs, y, draw.shift)
    d = model.d
    if model.unstructured:
        gains[:] = 0.0
        for k in range(-1, m):
            a = z if k < 0 else xs[k]
            total = 0.0  # ||Sigma s||^2 in Sigma^-1
            for c in range(d):
                for e in range(d):
                    total += draw.shift[a, c] * model.Sigma[c, e] * draw.shift[a, e]
            gains[a] = total
        return True
    change = np.zeros((model.h, d))
    for i in range(model.h):
        for e in range(d):
            along = 0.0
            for j in range(model.h):
                along += belief.F[i, j] * draw.shift[j, e]
            for c in range(d):
                change[i, c] += model.Sigma[c, e] * along
    _gains_of_theta(model, change, gains)
    return True
