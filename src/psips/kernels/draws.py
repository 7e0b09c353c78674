"""The first posterior draw in Theta and Alt(S_hat): literally, or by jumping to it.

Literal: draw until a point lies in the alternative. First hit: with half-spaces H_k of
posterior probability p_k that cover Alt, P = sum p_k <= 1, each draw makes a proposal with
probability P: choose k with probability p_k / P, draw conditioned on H_k, keep the point
if no earlier half-space contains it. Per draw a kept point has exactly the law of the
posterior on the union, so the wait for a proposal is Geometric(P) draws, and the first
kept point in Theta and Alt has the index and the law of the literal loop's hit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.kernels.belief import Belief, in_theta
from psips.kernels.cone import Metric, move
from psips.kernels.front import (
    COVERED,
    EAGER,
    LIVE,
    MEMBERS,
    NATS,
    RECORDS,
    REJECTED,
    Front,
    build,
    escapes,
    metric_of,
)
from psips.kernels.jit import kernel, part
from psips.kernels.model import Floats, Model
from psips.kernels.pareto import dominates, in_alternative
from psips.kernels.rng import (
    Stream,
    log_geometric,
    log_tail,
    normal,
    normal_above,
    uniform,
)

FIRST_HIT = 0
LITERAL = 1

FREQUENT = 0.3  # above this P hits are frequent: draw literally
TRIES = 16  # literal draws before a cover is built for an eager front
PATIENCE = 1_000_000  # draws after which a learner goes without a hit


class Draw(NamedTuple):
    """Room for one posterior draw."""

    stream: Stream  # (4,)
    theta: Floats  # (h, d) the draw; linear problems and bounded Theta
    values: Floats  # (n, d) its answers
    shift: Floats  # (h, d)
    noise: Floats  # (h, d)
    log_p: Floats  # (records,)
    proposals: Floats  # (2,) proposals made, literal draws made


@kernel
def empty_draw(model: Model, capacity: int) -> Draw:
    """Return the room that ``first_hit`` and ``literal_hit`` work in."""
    shape = (model.h, model.d)
    return Draw(
        np.zeros(4, np.uint64),
        np.zeros(shape),
        np.zeros((model.n, model.d)),
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(capacity),
        np.zeros(2),
    )


@part
def _draw_arm(model: Model, belief: Belief, draw: Draw, scale: float, a: int) -> None:
    """Draw the mean of arm ``a`` (unstructured) into ``values``."""
    sd = scale / math.sqrt(belief.N[a])
    for e in range(model.d):
        draw.noise[a, e] = normal(draw.stream)
    for c in range(model.d):
        total = 0.0
        for e in range(c + 1):
            total += model.L[c, e] * draw.noise[a, e]
        draw.values[a, c] = belief.theta[a, c] + sd * total


@part
def _draw_theta(model: Model, belief: Belief, draw: Draw, scale: float) -> None:
    """Draw theta (linear): theta + scale F noise L^T."""
    h, d = model.h, model.d
    correlated = np.empty(d)
    for i in range(h):
        for e in range(d):
            draw.noise[i, e] = normal(draw.stream)
        draw.theta[i] = belief.theta[i]
    for j in range(h):
        for c in range(d):
            total = 0.0
            for e in range(c + 1):
                total += model.L[c, e] * draw.noise[j, e]
            correlated[c] = scale * total
        for i in range(h):
            for c in range(d):
                draw.theta[i, c] += belief.F[i, j] * correlated[c]


@part
def _value(model: Model, draw: Draw, a: int) -> None:
    """Value of answer ``a`` at the drawn theta (linear)."""
    for c in range(model.d):
        draw.values[a, c] = 0.0
    for i in range(model.h):
        for c in range(model.d):
            draw.values[a, c] += model.Z[a, i] * draw.theta[i, c]


@part
def draw_all(model: Model, belief: Belief, draw: Draw, scale: float) -> None:
    """One posterior draw of theta and of every answer."""
    draw.proposals[1] += 1.0
    if model.unstructured:
        for a in range(model.K):
            _draw_arm(model, belief, draw, scale, a)
        draw.theta[:] = draw.values
        return
    _draw_theta(model, belief, draw, scale)
    for a in range(model.n):
        _value(model, draw, a)


@part
def _draw_near(model: Model, belief: Belief, front: Front, draw: Draw, scale: float) -> None:
    """One posterior draw of the answers the cover speaks of (linear: of theta alone)."""
    if not model.unstructured:
        _draw_theta(model, belief, draw, scale)
    elif model.kind != 0:
        for a in range(model.K):
            _draw_arm(model, belief, draw, scale, a)
    else:
        for i in range(front.size[MEMBERS]):
            _draw_arm(model, belief, draw, scale, front.members[i])
        for i in range(front.size[LIVE]):
            _draw_arm(model, belief, draw, scale, front.live[i])


@part
def _value_near(model: Model, front: Front, draw: Draw) -> None:
    """Values of the answers the cover speaks of, for the theta drawn."""
    if model.unstructured:
        if model.kind != 0:
            draw.theta[:] = draw.values
        return
    for i in range(front.size[MEMBERS]):
        _value(model, draw, front.members[i])
    for i in range(front.size[LIVE]):
        _value(model, draw, front.live[i])


@part
def _near_alternative(front: Front, values: Floats) -> bool:
    """Membership of Alt(S_hat) among the pieces that can matter."""
    for k in range(front.size[RECORDS]):
        if front.pair[k] and dominates(values, front.z[k], front.xs[k, 0]):
            return True
    return escapes(front, values)


@part
def draw_in_ball(
    model: Model, belief: Belief, draw: Draw, scale: float, radius: float
) -> None:
    """One draw of every arm, conditioned on Theta_t: ||lambda_a|| < radius in Sigma^-1.

    Theta_t is a product over the arms, so each arm is drawn until it is inside.
    """
    for a in range(model.K):
        for _ in range(PATIENCE):
            _draw_arm(model, belief, draw, scale, a)
            square = 0.0
            for c in range(model.d):
                for e in range(model.d):
                    square += draw.values[a, c] * model.P[c, e] * draw.values[a, e]
            if square < radius * radius:
                break
    draw.theta[:] = draw.values


@part
def literal_hit(
    model: Model,
    belief: Belief,
    front: Front,
    draw: Draw,
    scale: float,
    radius: float,
) -> float:
    """Log of the index of the first hit, drawing every point; infinite if none comes."""
    members = front.members[: front.size[MEMBERS]]
    for index in range(1, PATIENCE):
        if radius < np.inf:
            draw_in_ball(model, belief, draw, scale, radius)
        else:
            draw_all(model, belief, draw, scale)
        if in_alternative(draw.values, front.inside, members) and in_theta(model, draw.theta):
            return math.log(index)
    return np.inf


@part
def _keep(front: Front, values: Floats, k: int, limit: float) -> bool:
    """Whether no earlier half-space of the cover contains the point."""
    for j in range(k):
        if front.r[j] <= limit:
            z = front.z[j]
            side = 0.0
            for i in range(front.m[j]):
                x, c = front.xs[j, i], front.cs[j, i]
                side += front.y[j, i] * (values[z, c] - values[x, c])
            if side >= 0.0:
                return False
    return True


@part
def _push(
    model: Model, belief: Belief, front: Front, metric: Metric, draw: Draw, k: int, scale: float
) -> None:
    """Shift the point drawn so that it is a draw conditioned on half-space ``k``."""
    z, m = front.z[k], front.m[k]
    xs, cs, y = front.xs[k], front.cs[k], front.y[k]
    gap, now = 0.0, 0.0
    for j in range(m):
        x, c = xs[j], cs[j]
        gap += y[j] * (front.mu[x, c] - front.mu[z, c])
        if model.unstructured:
            now += y[j] * (draw.values[z, c] - draw.values[x, c])
        else:
            for i in range(model.h):
                now += y[j] * (model.Z[z, i] - model.Z[x, i]) * draw.theta[i, c]
    sd = gap / front.r[k]
    target = scale * sd * normal_above(draw.stream, front.r[k] / scale) - gap
    factor = (target - now) / (sd * sd)
    move(metric, z, m, xs, cs, y, draw.shift)
    d = model.d
    if model.unstructured:
        for j in range(-1, m):
            a = z if j < 0 else xs[j]
            repeated = False
            for i in range(j):
                if i >= 0 and xs[i] == a:
                    repeated = True
            if not repeated:
                for c in range(d):
                    for e in range(d):
                        draw.values[a, c] += factor * model.Sigma[c, e] * draw.shift[a, e]
        return
    for i in range(model.h):
        for e in range(d):
            along = 0.0
            for j in range(model.h):
                along += belief.F[i, j] * draw.shift[j, e]
            for c in range(d):
                draw.theta[i, c] += factor * model.Sigma[c, e] * along


@part
def first_hit(
    model: Model,
    belief: Belief,
    front: Front,
    draw: Draw,
    scale: float,
    log_budget: float,
) -> float:
    """Log of the index of the first hit, by jumps; above ``log_budget`` if none.

    After a hit ``draw.values`` holds the point for the answers the front speaks of.
    """
    members = front.members[: front.size[MEMBERS]]
    index = 0.0  # literal draws made so far
    if front.size[EAGER] == 1:
        while index < TRIES:
            index += 1.0
            draw_all(model, belief, draw, scale)
            if in_alternative(draw.values, front.inside, members) and in_theta(
                model, draw.theta
            ):
                return math.log(index)
            if math.log(index) >= log_budget:
                return np.inf
        front.size[EAGER] = 0
        build(model, belief, front, front.reach[2])

    limit = math.sqrt(max(front.reach[0], 0.0) ** 2 + 2.0 * NATS * scale * scale)
    P = 0.0
    top = -np.inf
    if front.size[COVERED] == 1:
        for k in range(front.size[RECORDS]):
            if front.r[k] <= limit:
                draw.log_p[k] = log_tail(front.r[k] / scale)
                top = max(top, draw.log_p[k])
        for k in range(front.size[RECORDS]):
            if front.r[k] <= limit:
                P += math.exp(draw.log_p[k] - top)
    if front.size[COVERED] == 0 or math.log(P) + top > math.log(FREQUENT):
        while index < PATIENCE:
            index += 1.0
            hit = False
            if front.size[COVERED] == 1:
                draw.proposals[1] += 1.0
                _draw_near(model, belief, front, draw, scale)
                _value_near(model, front, draw)
                hit = _near_alternative(front, draw.values)
            else:
                draw_all(model, belief, draw, scale)
                hit = in_alternative(draw.values, front.inside, members)
            if hit and in_theta(model, draw.theta):
                if index <= 4.0 and log_budget == np.inf:
                    front.size[EAGER] = 2  # the learner's hits come at once
                return math.log(index)
            if math.log(index) >= log_budget:
                return np.inf
        return np.inf if log_budget == np.inf else math.log(index)

    log_index = math.log(index) if index > 0.0 else -np.inf
    metric = metric_of(model, front)
    tries = 0
    while tries < PATIENCE:
        tries += 1
        jump = log_geometric(draw.stream, math.log(P) + top)
        larger = max(jump, log_index)
        log_index = larger + math.log1p(math.exp(min(jump, log_index) - larger))
        if log_index > log_budget:
            return np.inf
        draw.proposals[0] += 1.0
        pick = uniform(draw.stream) * P
        k = -1
        for j in range(front.size[RECORDS]):
            if front.r[j] <= limit:
                k = j
                pick -= math.exp(draw.log_p[j] - top)
                if pick <= 0.0:
                    break
        _draw_near(model, belief, front, draw, scale)
        _push(model, belief, front, metric, draw, k, scale)
        _value_near(model, front, draw)
        if not _keep(front, draw.values, k, limit):
            continue
        if _near_alternative(front, draw.values):
            if in_theta(model, draw.theta):
                return log_index
        else:
            front.size[REJECTED] += 1
    return np.inf if log_budget == np.inf else log_index
