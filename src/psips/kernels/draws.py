"""The first posterior draw in Theta and Alt(S_hat): literally, or by jumping to it.

Literal: draw until a point lies in the alternative. First hit: with sets H_k of known
posterior probability p_k that cover Alt, P = sum p_k <= 1, each draw makes a proposal with
probability P: choose k with probability p_k / P, draw conditioned on H_k, keep the point
if no earlier set contains it. Per draw a kept point has exactly the law of the posterior
on the union, so the wait for a proposal is Geometric(P) draws, and the first kept point in
Theta and Alt has the index and the law of the literal loop's hit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.kernels.belief import Belief, in_theta
from psips.kernels.cone import move
from psips.kernels.cover import NATS, Cover, build
from psips.kernels.front import (
    COVERED,
    EAGER,
    LIVE,
    MEMBERS,
    RECORDS,
    REJECTED,
    Front,
    copy_rows,
    find_change,
    image,
    metric_of,
)
from psips.kernels.jit import kernel, part, spliced
from psips.kernels.model import Floats, Ints, Model
from psips.kernels.pareto import dominates
from psips.kernels.rng import Stream, log_geometric, log_tail, normal, normal_above, uniform

FIRST_HIT = 0
LITERAL = 1

FREQUENT = 0.3  # above this P hits are frequent: draw literally
TRIES = 16  # literal draws before a cover is built for an eager front, at least
PATIENCE = 1_000_000  # draws after which a learner goes without a hit


class Draw(NamedTuple):
    """Room for one posterior draw."""

    stream: Stream  # (4,)
    theta: Floats  # (h, d) the draw; linear problems, or once it is complete
    values: Floats  # (n, d) its answers, as far as they were needed
    drawn: Ints  # (n,) unstructured: number of the draw in which an arm's value was made
    shift: Floats  # (h, d)
    piece: Ints  # (2,) piece of Alt in which the point was found, see ``find_change``
    p: Floats  # (records,) probabilities of the cover's sets, relative to the largest
    made: Floats  # (3,) proposals made, literal draws made, number of the current draw


@kernel
def empty_draw(model: Model, capacity: int) -> Draw:
    """Return the room that the searches work in."""
    shape = (model.h, model.d)
    return Draw(
        np.zeros(4, np.uint64),
        np.zeros(shape),
        np.zeros((model.n, model.d)),
        np.zeros(model.n, np.int64),
        np.zeros(shape),
        np.zeros(2, np.int64),
        np.zeros(capacity),
        np.zeros(3),
    )


@spliced
def draw_row(
    stream: Stream, L: Floats, mean: Floats, sd: float, a: int, values: Floats
) -> None:
    """Draw row ``a`` of ``values`` ~ N(mean[a], sd^2 L L^T)."""
    d = L.shape[0]
    for c in range(d):
        values[a, c] = normal(stream)
    for c in range(d - 1, -1, -1):
        total = 0.0
        for e in range(c + 1):
            total += L[c, e] * values[a, e]
        values[a, c] = mean[a, c] + sd * total


@part
def draw_rows(
    stream: Stream,
    L: Floats,
    mean: Floats,
    inverse: Floats,
    scale: float,
    which: Ints,
    values: Floats,
    drawn: Ints,
    number: int,
) -> None:
    """Draw the arms of a list (unstructured)."""
    for a in which:
        draw_row(stream, L, mean, scale * math.sqrt(inverse[a]), a, values)
        drawn[a] = number


@part
def draw_rest(
    stream: Stream,
    L: Floats,
    mean: Floats,
    inverse: Floats,
    scale: float,
    values: Floats,
    drawn: Ints,
    number: int,
) -> None:
    """Draw the arms that were not needed so far (unstructured)."""
    for a in range(mean.shape[0]):
        if drawn[a] != number:
            draw_row(stream, L, mean, scale * math.sqrt(inverse[a]), a, values)
            drawn[a] = number


@part
def draw_theta(
    stream: Stream, L: Floats, F: Floats, mean: Floats, scale: float, theta: Floats
) -> None:
    """Draw theta (linear): mean + scale F G L^T, G standard normal."""
    h, d = mean.shape
    copy_rows(mean, theta)
    row = np.empty(d)
    for j in range(h):
        for c in range(d):
            row[c] = normal(stream)
        for c in range(d - 1, -1, -1):
            total = 0.0
            for e in range(c + 1):
                total += L[c, e] * row[e]
            row[c] = scale * total
        for i in range(h):
            for c in range(d):
                theta[i, c] += F[i, j] * row[c]


@part
def search(
    stream: Stream,
    L: Floats,
    mean: Floats,
    inverse: Floats,
    scale: float,
    members: Ints,
    live: Ints,
    keeper: Ints,
    values: Floats,
    drawn: Ints,
    number: int,
    piece: Ints,
) -> bool:
    """Draw arms one by one (unstructured) until the point is seen to be in Alt(S_hat)."""
    draw_rows(stream, L, mean, inverse, scale, members, values, drawn, number)
    for i in members:
        for j in members:
            if i != j and dominates(values, j, i):
                piece[0] = j
                piece[1] = i
                return True
    for i in range(live.shape[0]):
        z = live[i]
        draw_row(stream, L, mean, scale * math.sqrt(inverse[z]), z, values)
        drawn[z] = number
        if not dominates(values, keeper[z], z):
            held = False
            for x in members:
                if dominates(values, x, z):
                    held = True
                    break
            if not held:
                live[i], live[i // 2] = live[i // 2], z  # look at it sooner next time
                piece[0] = z
                piece[1] = -1
                return True
    return False


@part
def search_image(
    Z: Floats, theta: Floats, members: Ints, live: Ints, keeper: Ints, values: Floats, piece: Ints
) -> bool:
    """Compute answers one by one (linear) until ``theta`` is seen to be in Alt(S_hat)."""
    for x in members:
        image(Z, theta, x, values)
    for i in members:
        for j in members:
            if i != j and dominates(values, j, i):
                piece[0] = j
                piece[1] = i
                return True
    for i in range(live.shape[0]):
        z = live[i]
        image(Z, theta, z, values)
        if not dominates(values, keeper[z], z):
            held = False
            for x in members:
                if dominates(values, x, z):
                    held = True
                    break
            if not held:
                live[i], live[i // 2] = live[i // 2], z  # look at it sooner next time
                piece[0] = z
                piece[1] = -1
                return True
    return False


@part
def literal_draw(model: Model, belief: Belief, front: Front, draw: Draw, scale: float) -> bool:
    """One posterior draw, as far as needed; whether it is in Theta and Alt(S_hat)."""
    draw.made[1] += 1.0
    draw.made[2] += 1.0
    number = int(draw.made[2])
    members = front.members[: front.size[MEMBERS]]
    live = front.live[: front.size[LIVE]]
    if not model.unstructured:
        draw_theta(draw.stream, model.L, belief.F, belief.theta, scale, draw.theta)
        return search_image(
            model.Z, draw.theta, members, live, front.keeper, draw.values, draw.piece
        ) and in_theta(model.kind, model.ball, model.low, model.high, draw.theta)
    hit = search(
        draw.stream,
        model.L,
        belief.theta,
        front.inverse,
        scale,
        members,
        live,
        front.keeper,
        draw.values,
        draw.drawn,
        number,
        draw.piece,
    )
    return hit and allowed(model, belief, front, draw, scale)


@part
def allowed(model: Model, belief: Belief, front: Front, draw: Draw, scale: float) -> bool:
    """Whether the point drawn is in Theta; completes it first if that has to be looked at."""
    if model.kind == 0:
        return True
    if model.unstructured:
        draw_rest(
            draw.stream,
            model.L,
            belief.theta,
            front.inverse,
            scale,
            draw.values,
            draw.drawn,
            int(draw.made[2]),
        )
        copy_rows(draw.values, draw.theta)
    return in_theta(model.kind, model.ball, model.low, model.high, draw.theta)


@part
def contained(
    j: int, values: Floats, shape: Ints, terms: Ints, y: Floats, L: Floats, e: Floats
) -> bool:
    """Whether set ``j`` of the cover contains the point: L^-1 f >= 0."""
    z, groups = shape[j, 0], shape[j, 2]
    for g in range(groups):
        e[g] = 0.0
    for i in range(shape[j, 1]):
        x, c = terms[j, i, 0], terms[j, i, 1]
        e[terms[j, i, 2]] += y[j, i] * (values[z, c] - values[x, c])
    for g in range(groups):
        for f in range(g):
            e[g] -= L[j, g, f] * e[f]
        e[g] /= L[j, g, g]
        if e[g] < 0.0:
            return False
    return True


@spliced
def _push(
    model: Model, belief: Belief, front: Front, cover: Cover, draw: Draw, k: int, scale: float
) -> None:
    """Shift the point drawn so that it is a draw conditioned on set ``k`` of the cover.

    The standardised forms e become independent normals above b / scale; the point follows
    by regression: coefficients L^-T (e' - e) on the groups' directions.
    """
    z, m, groups = cover.shape[k, 0], cover.shape[k, 1], cover.shape[k, 2]
    terms, y, L = cover.terms[k], cover.y[k], cover.L[k]
    e = np.empty(groups)
    for g in range(groups):
        e[g] = cover.gap[k, g]
    for j in range(m):
        x, c = terms[j, 0], terms[j, 1]
        if model.unstructured:
            lead = draw.values[z, c] - draw.values[x, c]
        else:
            lead = 0.0
            for i in range(model.h):
                lead += (model.Z[z, i] - model.Z[x, i]) * draw.theta[i, c]
        e[terms[j, 2]] += y[j] * lead
    for g in range(groups):
        for f in range(g):
            e[g] -= L[g, f] * e[f]
        e[g] /= L[g, g]
    for g in range(groups):
        e[g] = scale * normal_above(draw.stream, cover.b[k, g] / scale) - e[g]
    for g in range(groups - 1, -1, -1):
        for f in range(g + 1, groups):
            e[g] -= L[f, g] * e[f]
        e[g] /= L[g, g]
    xs = np.empty(m, np.int64)
    cs = np.empty(m, np.int64)
    weight = np.empty(m)
    for j in range(m):
        xs[j] = terms[j, 0]
        cs[j] = terms[j, 1]
        weight[j] = y[j] * e[terms[j, 2]]
    shift, Sigma, d = draw.shift, model.Sigma, model.d
    move(metric_of(model, front), z, m, xs, cs, weight, shift)
    if model.unstructured:
        for j in range(-1, m):
            a = z if j < 0 else xs[j]
            for c in range(d):
                total = 0.0
                for f in range(d):
                    total += Sigma[c, f] * shift[a, f]
                draw.values[a, c] += total
            for c in range(d):
                shift[a, c] = 0.0  # an arm that comes twice is moved once
        return
    for i in range(model.h):
        for f in range(d):
            along = 0.0
            for j in range(model.h):
                along += belief.F[i, j] * shift[j, f]
            for c in range(d):
                draw.theta[i, c] += Sigma[c, f] * along


@part
def weigh(scale: float, limit: float, size: int, cover: Cover, p: Floats) -> tuple[float, float]:
    """Probabilities of the cover's sets into ``p``, relative to e^top; return (sum, top)."""
    top = -np.inf
    total = 0.0
    if limit < 20.0 * scale:  # nothing underflows
        for k in range(size):
            p[k] = 0.0
            if cover.r[k] <= limit:
                value = 1.0
                for g in range(cover.shape[k, 2]):
                    value *= 0.5 * math.erfc(cover.b[k, g] * 0.7071067811865476 / scale)
                p[k] = value
                total += value
        return total, 0.0
    for k in range(size):
        p[k] = -np.inf
        if cover.r[k] <= limit:
            p[k] = 0.0
            for g in range(cover.shape[k, 2]):
                p[k] += log_tail(cover.b[k, g] / scale)
            top = max(top, p[k])
    for k in range(size):
        p[k] = math.exp(p[k] - top)
        total += p[k]
    return total, top


@spliced
def _propose(
    model: Model,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    scale: float,
    limit: float,
    pick: float,
) -> bool:
    """Draw from a set of the cover; whether the point is kept and in Theta and Alt(S_hat).

    Arms, or answers, come into being when they are first looked at. A point that lies in
    the piece it was drawn for needs no further look.
    """
    size, values, drawn = front.size, draw.values, draw.drawn
    stream, mean, inverse, L = draw.stream, belief.theta, front.inverse, model.L
    members = front.members[: size[MEMBERS]]
    draw.made[2] += 1.0
    number = int(draw.made[2])
    k = -1
    for j in range(size[RECORDS]):
        if draw.p[j] > 0.0:
            k = j
            pick -= draw.p[j]
            if pick <= 0.0:
                break
    z = cover.shape[k, 0]
    if model.unstructured:
        draw_rows(stream, L, mean, inverse, scale, members, values, drawn, number)
        if drawn[z] != number:
            draw_row(stream, L, mean, scale * math.sqrt(inverse[z]), z, values)
            drawn[z] = number
        _push(model, belief, front, cover, draw, k, scale)
    else:
        draw_theta(stream, L, belief.F, mean, scale, draw.theta)
        _push(model, belief, front, cover, draw, k, scale)
        for a in members:
            image(model.Z, draw.theta, a, values)
            drawn[a] = number
        if drawn[z] != number:
            image(model.Z, draw.theta, z, values)
            drawn[z] = number
    e = np.empty(cover.y.shape[1])
    for j in range(k):
        if cover.r[j] <= limit:
            a = cover.shape[j, 0]
            if drawn[a] != number:
                if model.unstructured:
                    draw_row(stream, L, mean, scale * math.sqrt(inverse[a]), a, values)
                else:
                    image(model.Z, draw.theta, a, values)
                drawn[a] = number
            if contained(j, values, cover.shape, cover.terms, cover.y, cover.L, e):
                return False  # that set comes earlier
    draw.piece[0] = z
    draw.piece[1] = -1
    inside = False
    if front.inside[z]:
        draw.piece[1] = cover.terms[k, 0, 0]
        inside = dominates(values, z, draw.piece[1])
    else:
        inside = True
        for x in members:
            if dominates(values, x, z):
                inside = False
                break
    if not inside:
        live = front.live[: size[LIVE]]
        for a in live:
            if drawn[a] != number:
                if model.unstructured:
                    draw_row(stream, L, mean, scale * math.sqrt(inverse[a]), a, values)
                else:
                    image(model.Z, draw.theta, a, values)
                drawn[a] = number
        if not find_change(values, members, live, front.keeper, draw.piece):
            size[REJECTED] += 1
            return False
    return allowed(model, belief, front, draw, scale)


@part
def tries(unstructured: bool, n: int) -> int:
    """Literal draws that cost about as much as building a cover of n answers."""
    return TRIES + (min(n // 4, 240) if unstructured else min(n // 32, 32))


@part
def first_hit(
    model: Model,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    scale: float,
    log_budget: float,
) -> float:
    """Log of the index of the first hit, by jumps; above ``log_budget`` if none.

    After a hit ``draw.piece`` says where it is, and ``draw.values`` holds the point for
    the answers that were drawn.
    """
    size = front.size
    index = 0.0  # literal draws made so far
    if size[EAGER] == 1:
        most = tries(model.unstructured, model.n)
        while index < most:
            index += 1.0
            if literal_draw(model, belief, front, draw, scale):
                return math.log(index)
            if math.log(index) >= log_budget:
                return np.inf
        size[EAGER] = 0
        build(model, belief, front, cover, front.reach[2])

    limit = math.sqrt(max(front.reach[0], 0.0) ** 2 + 2.0 * NATS * scale * scale)
    P, top = 1.0, 0.0
    if size[COVERED] == 1:
        P, top = weigh(scale, limit, size[RECORDS], cover, draw.p)
    log_P = math.log(P) + top
    if log_P > math.log(FREQUENT):
        while index < PATIENCE:
            index += 1.0
            if literal_draw(model, belief, front, draw, scale):
                if index <= 2.0 and log_budget == np.inf:
                    size[EAGER] = 2  # the learner's hits come at once
                return math.log(index)
            if math.log(index) >= log_budget:
                return np.inf
        return np.inf if log_budget == np.inf else math.log(index)

    log_index = math.log(index) if index > 0.0 else -np.inf
    for _ in range(PATIENCE):
        jump = log_geometric(draw.stream, log_P)
        larger = max(jump, log_index)
        log_index = larger + math.log1p(math.exp(min(jump, log_index) - larger))
        if log_index > log_budget + 1e-12:
            return np.inf
        draw.made[0] += 1.0
        if _propose(model, belief, front, cover, draw, scale, limit, uniform(draw.stream) * P):
            return log_index
    return np.inf if log_budget == np.inf else log_index
