"""The first posterior draw in Alt(S_hat): literally, or by jumping to it.

Literal: draw until a point lies in the alternative. First hit: with sets H_k of known
posterior probability p_k that cover Alt, P = sum p_k <= 1, each draw makes a proposal with
probability P: choose k with probability p_k / P, draw conditioned on H_k, keep the point
if no earlier set contains it. Per draw a kept point has exactly the law of the posterior
on the union, so the wait for a proposal is Geometric(P) draws, and the first kept point in
Alt has the index and the law of the literal loop's hit.
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import Belief
from psips.kernels.cone import move
from psips.kernels.cover import (
    ANSWER,
    CONSTRAINTS,
    GROUP,
    GROUPS,
    MARGIN,
    OBJECTIVE,
    RIVAL,
    Cover,
)
from psips.kernels.draws import (
    HALT,
    NUMBER,
    OUTSIDE,
    PATIENCE,
    PROPOSALS,
    Draw,
    allowed,
    draw_row,
    draw_rows,
    draw_theta,
    literal_draw,
)
from psips.kernels.front import (
    COVERED,
    EAGER,
    LIVE,
    MEMBERS,
    NEAREST,
    RECORDS,
    REJECTED,
    Front,
    find_change,
    image,
)
from psips.kernels.jit import bare, part
from psips.kernels.model import Floats, Ints, Model
from psips.kernels.pareto import dominates
from psips.kernels.rng import log_geometric, log_tail, normal_above, uniform

# Whose draw it is.
STOPPER, LEARNER = range(2)

FREQUENT = 0.3  # above this P hits are frequent: draw literally
DRIFT = 1e-3  # of the stopping rule's scale, before the sets are weighed anew
LATE = -1.0  # in the place of an index's logarithm: there was no hit
TRIES = 16  # literal draws before a cover is built for an eager front, at least


@bare
def contained(
    j: int, values: Floats, shape: Ints, terms: Ints, y: Floats, L: Floats, e: Floats
) -> bool:
    """Whether set ``j`` of the cover contains the point: L^-1 f >= 0."""
    z, groups = shape[j, ANSWER], shape[j, GROUPS]
    for g in range(groups):
        e[g] = 0.0
    for i in range(shape[j, CONSTRAINTS]):
        x, c = terms[j, i, RIVAL], terms[j, i, OBJECTIVE]
        e[terms[j, i, GROUP]] += y[j, i] * (values[z, c] - values[x, c])
    for g in range(groups):
        for f in range(g):
            e[g] -= L[j, g, f] * e[f]
        e[g] /= L[j, g, g]
        if e[g] < 0.0:
            return False
    return True


@bare
def _push(
    model: Model, belief: Belief, front: Front, cover: Cover, draw: Draw, k: int, scale: float
) -> None:
    """Shift the point drawn so that it is a draw conditioned on set ``k`` of the cover.

    The standardised forms e become independent normals above b / scale; the point follows
    by regression: coefficients L^-T (e' - e) on the groups' directions.
    """
    z, m, groups = cover.shape[k, ANSWER], cover.shape[k, CONSTRAINTS], cover.shape[k, GROUPS]
    terms, y, L = cover.terms[k], cover.y[k], cover.L[k]
    e, weight, xs, cs = draw.work[0], draw.work[1], draw.lists[0], draw.lists[1]
    for g in range(groups):
        e[g] = cover.gap[k, g]
    for j in range(m):
        x, c = terms[j, RIVAL], terms[j, OBJECTIVE]
        if model.unstructured:
            lead = draw.values[z, c] - draw.values[x, c]
        else:
            lead = 0.0
            for i in range(model.h):
                lead += (model.Z[z, i] - model.Z[x, i]) * draw.theta[i, c]
        e[terms[j, GROUP]] += y[j] * lead
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
    for j in range(m):
        xs[j] = terms[j, RIVAL]
        cs[j] = terms[j, OBJECTIVE]
        weight[j] = y[j] * e[terms[j, GROUP]]
    shift, Sigma, d = draw.shift, model.Sigma, model.d
    move(front.metric, z, m, xs, cs, weight, shift)
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


@bare
def probability(cover: Cover, k: int, above: float, below: float) -> float:
    """Bound of the probability of set ``k`` at scales from ``below`` to ``above``."""
    value = 1.0
    for g in range(cover.shape[k, GROUPS]):
        b = cover.b[k, g]
        value *= 0.5 * math.erfc(b * 0.7071067811865476 / (above if b > 0.0 else below))
    return value


@bare
def weigh(
    scale: float, limit: float, size: int, cover: Cover, who: int, p: Floats
) -> tuple[float, float]:
    """Probabilities of the cover's sets into ``p``, relative to e^top; return (sum, top).

    They are kept while a set does not change: for the learner, whose scale is constant,
    as they are; for the stopping rule, whose scale drifts, as bounds that hold for a while
    (``cover.scale``), which the proposals make up for.
    """
    top = -np.inf
    total = 0.0
    if limit < 20.0 * scale:  # nothing underflows
        slack = DRIFT if who == STOPPER else 0.0
        if not cover.scale[who] * (1.0 - slack) <= scale <= cover.scale[who]:
            cover.scale[who] = scale * (1.0 + 0.9 * slack)
            for k in range(size):
                cover.mass[k, who] = -1.0
        above = cover.scale[who]
        for k in range(size):
            p[k] = 0.0
            if cover.r[k] <= limit:
                if cover.mass[k, who] < 0.0:
                    cover.mass[k, who] = probability(cover, k, above, above * (1.0 - slack))
                p[k] = cover.mass[k, who]
                total += p[k]
        return total, 0.0
    cover.scale[who] = 0.0
    for k in range(size):
        p[k] = -np.inf
        if cover.r[k] <= limit:
            p[k] = 0.0
            for g in range(cover.shape[k, GROUPS]):
                p[k] += log_tail(cover.b[k, g] / scale)
            top = max(top, p[k])
    for k in range(size):
        p[k] = math.exp(p[k] - top)
        total += p[k]
    return total, top


@bare
def _look_at(
    model: Model,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    k: int,
    scale: float,
    foreign: bool,
) -> None:
    """Draw, or compute, the answer that record ``k`` is about; if ``foreign``, its rivals too.

    Without foreign ones these are members, which are drawn already.
    """
    number = int(draw.made[NUMBER])
    for i in range(-1, cover.shape[k, CONSTRAINTS] if foreign else 0):
        a = cover.shape[k, ANSWER] if i < 0 else cover.terms[k, i, RIVAL]
        if draw.drawn[a] != number:
            if model.unstructured:
                sd = scale * math.sqrt(front.inverse[a])
                draw_row(draw.stream, model.L, belief.theta, sd, a, draw.values)
            else:
                image(model.Z, draw.theta, a, draw.values)
            draw.drawn[a] = number


@bare
def _propose(
    model: Model,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    scale: float,
    limit: float,
    who: int,
    pick: float,
    foreign: bool,
) -> bool:
    """Draw from a set of the cover; whether the point is kept and in Alt(S_hat).

    Arms, or answers, come into being when they are first looked at. A point that lies in
    the piece it was drawn for needs no further look.
    """
    size, values, drawn = front.size, draw.values, draw.drawn
    stream, mean, inverse, L = draw.stream, belief.theta, front.inverse, model.L
    members = front.members[: size[MEMBERS]]
    draw.made[NUMBER] += 1.0
    number = int(draw.made[NUMBER])
    k = -1
    for j in range(size[RECORDS]):
        if draw.p[j] > 0.0:
            k = j
            pick -= draw.p[j]
            if pick <= 0.0:
                break
    if k < 0:
        return False  # no set has a probability that a float can hold
    bounded = scale < cover.scale[who] or (who == STOPPER and cover.scale[who] > 0.0)
    if bounded and uniform(stream) * draw.p[k] > probability(cover, k, scale, scale):
        return False
    z = cover.shape[k, ANSWER]
    if model.unstructured:
        draw_rows(stream, L, mean, inverse, scale, members, values, drawn, number)
        _look_at(model, belief, front, cover, draw, k, scale, foreign)
        _push(model, belief, front, cover, draw, k, scale)
    else:
        draw_theta(stream, L, belief.F, mean, scale, draw.work[0], draw.theta)
        _push(model, belief, front, cover, draw, k, scale)
        for a in members:
            image(model.Z, draw.theta, a, values)
            drawn[a] = number
        _look_at(model, belief, front, cover, draw, k, scale, foreign)
    e = draw.work[0]
    for j in range(k):
        if cover.r[j] <= limit:
            _look_at(model, belief, front, cover, draw, j, scale, foreign)
            if contained(j, values, cover.shape, cover.terms, cover.y, cover.L, e):
                return False  # that set comes earlier
    draw.piece[0] = z
    draw.piece[1] = -1
    inside = False
    if front.inside[z]:
        draw.piece[1] = cover.terms[k, 0, RIVAL]
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
    return True


@bare
def tries(unstructured: bool, n: int) -> int:
    """Literal draws that cost about as much as building a cover of n answers."""
    return TRIES + (min(n // 4, 240) if unstructured else min(n // 32, 32))


@part
def early_hit(
    model: Model, belief: Belief, front: Front, draw: Draw, scale: float, log_budget: float
) -> tuple[float, int]:
    """Return the log of the index of the first hit in a few literal draws, without a cover.

    LATE if none of them is one. The second number counts the learner's hits outside Theta.
    """
    learner = log_budget == np.inf
    outside = 0
    for index in range(1, tries(model.unstructured, model.n) + 1):
        if literal_draw(model, belief, front, draw, scale):
            if not learner or allowed(model, belief, front, draw, scale):
                return math.log(index), outside
            outside += 1
        if math.log(index) >= log_budget:
            return np.inf, outside
    return LATE, outside


@part
def later_hit(
    model: Model,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    scale: float,
    log_budget: float,
    made: int,
    outside: int,
) -> float:
    """Log of the index of the first hit, by jumps; above ``log_budget`` if none.

    ``made`` draws were no hits. After a hit ``draw.piece`` says where it is, and
    ``draw.values`` holds the point for the answers that were drawn. Without a budget it is
    the learner who draws, whose hits are in Theta too; where next to none are, because
    theta_hat is far outside, the last of OUTSIDE others must do. The stopping rule looks at
    Alt(S_hat) alone: a posterior that lies outside Theta is no evidence that S_hat is right.
    """
    size = front.size
    learner = log_budget == np.inf
    index = float(made)  # literal draws made so far
    limit = math.sqrt(max(front.reach[NEAREST], 0.0) ** 2 + 2.0 * MARGIN * scale * scale)
    P, top = 1.0, 0.0
    who = LEARNER if learner else STOPPER
    if size[COVERED] == 1:
        P, top = weigh(scale, limit, size[RECORDS], cover, who, draw.p)
    log_P = math.log(P) + top
    if log_P > math.log(FREQUENT):
        while index < PATIENCE and draw.made[HALT] == 0.0:
            index += 1.0
            if literal_draw(model, belief, front, draw, scale):
                outside += 1
                if (
                    not learner
                    or allowed(model, belief, front, draw, scale)
                    or outside >= OUTSIDE
                ):
                    if index <= 2.0 and learner:
                        size[EAGER] = 2  # the learner's hits come at once
                    return math.log(index)
            if math.log(index) >= log_budget:
                return np.inf
        return np.inf if learner else math.log(max(index, 1.0))

    log_index = math.log(index) if index > 0.0 else -np.inf
    for _ in range(PATIENCE):
        if draw.made[HALT] != 0.0:
            break
        jump = log_geometric(draw.stream, log_P)
        larger = max(jump, log_index)
        log_index = larger + math.log1p(math.exp(min(jump, log_index) - larger))
        if log_index > log_budget + 1e-12:
            return np.inf
        draw.made[PROPOSALS] += 1.0
        pick = uniform(draw.stream) * P
        if _propose(model, belief, front, cover, draw, scale, limit, who, pick, False):
            outside += 1
            if not learner or allowed(model, belief, front, draw, scale) or outside >= OUTSIDE:
                return log_index
    return np.inf if learner else log_index
