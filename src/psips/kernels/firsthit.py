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

from psips.aliases import Floats
from psips.kernels.cover import (
    ANSWER,
    CONSTRAINTS,
    GROUP,
    GROUPS,
    KIND,
    LEARNER,
    MARGIN,
    NEAREST,
    OBJECTIVE,
    RECORDS,
    REJECTED,
    RIVAL,
    STOPPER,
    Cover,
    is_complete,
    leave,
)
from psips.kernels.draws import (
    OUTSIDE,
    PATIENCE,
    allowed,
    begin_draw,
    find_change,
    literal_draw,
    look_at,
)
from psips.kernels.front import LIVE, MEMBERS
from psips.kernels.halfspace import PAIR, beats, held, lead
from psips.kernels.jit import bare, part, standing
from psips.kernels.rng import log_geometric, log_tail, normal_above, uniform
from psips.kernels.scene import ABOVE, BELOW, HALT, NUMBER, PROPOSALS, Scene
from psips.kernels.shifts import move, move_point

FREQUENT = 0.3  # above this P hits are frequent: draw literally
DRIFT = 1e-3  # of the stopping rule's scale, before the sets are weighed anew
LATE = -1.0  # in the place of an index's logarithm: there was no hit
TRIES = 16  # literal draws before a cover is built for an eager front, at least


@bare
def _forms(scene: Scene, k: int, e: Floats) -> None:
    """Add the linear forms of set ``k`` at the point drawn to ``e``, by group."""
    cover, draw, slack = scene.cover, scene.draw, scene.posterior.slack
    z = cover.shape[k, ANSWER]
    for i in range(cover.shape[k, CONSTRAINTS]):
        x, c = cover.terms[k, i, RIVAL], cover.terms[k, i, OBJECTIVE]
        e[cover.terms[k, i, GROUP]] += cover.y[k, i] * lead(draw.values, slack, z, x, c)


@bare
def contained(scene: Scene, k: int) -> bool:
    """Whether set ``k`` of the cover contains the point: L^-1 f >= 0."""
    L, e = scene.cover.L, scene.draw.forms
    groups = scene.cover.shape[k, GROUPS]
    for g in range(groups):
        e[g] = 0.0
    _forms(scene, k, e)
    for g in range(groups):
        for f in range(g):
            e[g] -= L[k, g, f] * e[f]
        e[g] /= L[k, g, g]
        if e[g] < 0.0:
            return False
    return True


@bare
def _push(scene: Scene, k: int, scale: float) -> None:
    """Shift the point drawn so that it is a draw conditioned on set ``k`` of the cover.

    The standardised forms e become independent normals above b / scale; the point follows
    by regression: coefficients L^-T (e' - e) on the groups' directions.
    """
    cover, draw, p = scene.cover, scene.draw, scene.posterior
    z, m, groups = cover.shape[k, ANSWER], cover.shape[k, CONSTRAINTS], cover.shape[k, GROUPS]
    terms, L, e = cover.terms[k], cover.L[k], draw.forms
    for g in range(groups):
        e[g] = cover.gap[k, g]
    _forms(scene, k, e)
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
        draw.xs[j] = terms[j, RIVAL]
        draw.cs[j] = terms[j, OBJECTIVE]
        draw.y[j] = cover.y[k, j] * e[terms[j, GROUP]]
    move(p, z, m, draw.xs, draw.cs, draw.y, draw.shift)
    move_point(p, z, m, draw.xs, draw.shift, draw.values, draw.theta)


@bare
def probability(cover: Cover, k: int, above: float, below: float) -> float:
    """Bound of the probability of set ``k`` at scales from ``below`` to ``above``."""
    value = 1.0
    for g in range(cover.shape[k, GROUPS]):
        b = cover.b[k, g]
        value *= 0.5 * math.erfc(b * 0.7071067811865476 / (above if b > 0.0 else below))
    return value


@standing
@bare
def weigh(scene: Scene, scale: float, limit: float, who: int) -> tuple[float, float]:
    """Probabilities of the cover's sets into ``draw.p``, relative to e^top: (sum, top).

    They are kept while a set does not change: for the learner, whose scale is constant,
    as they are; for the stopping rule, whose scale drifts, as bounds that hold for a while
    (``cover.scale``), which the proposals make up for.
    """
    cover, p = scene.cover, scene.draw.p
    size = cover.life[RECORDS]
    top = -np.inf
    total = 0.0
    if limit < 20.0 * scale:  # nothing underflows
        drift = DRIFT if who == STOPPER else 0.0
        if not cover.scale[who] * (1.0 - drift) <= scale <= cover.scale[who]:
            cover.scale[who] = scale * (1.0 + 0.9 * drift)
            for k in range(size):
                cover.mass[k, who] = -1.0
        above = cover.scale[who]
        for k in range(size):
            p[k] = 0.0
            if cover.r[k] <= limit:
                if cover.mass[k, who] < 0.0:
                    cover.mass[k, who] = probability(cover, k, above, above * (1.0 - drift))
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
def _look_at_record(scene: Scene, k: int, scale: float, foreign: bool) -> None:
    """Make the answer that record ``k`` is about; if ``foreign``, its rivals too.

    Without foreign ones these are members, which are made already.
    """
    cover = scene.cover
    look_at(scene, cover.shape[k, ANSWER], scale)
    if foreign:
        for i in range(cover.shape[k, CONSTRAINTS]):
            look_at(scene, cover.terms[k, i, RIVAL], scale)


@standing
@bare
def propose(
    scene: Scene, scale: float, limit: float, who: int, pick: float, foreign: bool
) -> bool:
    """Draw from a set of the cover; whether the point is kept and in Alt(S_hat).

    Arms, or answers, come into being when they are first looked at. A point that lies in
    the piece it was drawn for needs no further look.
    """
    p, front, cover, draw = scene.posterior, scene.front, scene.cover, scene.draw
    values, slack = draw.values, p.slack
    members = front.members[: front.size[MEMBERS]]
    k = -1
    for j in range(cover.life[RECORDS]):
        if draw.p[j] > 0.0:
            k = j
            pick -= draw.p[j]
            if pick <= 0.0:
                break
    if k < 0:
        return False  # no set has a probability that a float can hold
    bounded = scale < cover.scale[who] or (who == STOPPER and cover.scale[who] > 0.0)
    if bounded and uniform(draw.stream) * draw.p[k] > probability(cover, k, scale, scale):
        return False
    begin_draw(scene, scale)
    if p.separate:
        for x in members:
            look_at(scene, x, scale)
    _look_at_record(scene, k, scale, foreign or not p.separate)
    _push(scene, k, scale)
    if not p.separate:
        draw.made[NUMBER] += 1.0  # theta has moved, and all answers with it
        for x in members:
            look_at(scene, x, scale)
        _look_at_record(scene, k, scale, foreign)
    for j in range(k):
        if cover.r[j] <= limit:
            _look_at_record(scene, j, scale, foreign)
            if contained(scene, j):
                return False  # that set comes earlier
    z = cover.shape[k, ANSWER]
    draw.piece[ABOVE] = z
    draw.piece[BELOW] = -1
    if cover.shape[k, KIND] == PAIR:
        draw.piece[BELOW] = cover.terms[k, 0, RIVAL]
        inside = beats(values, slack, z, draw.piece[BELOW])
    else:
        inside = not held(values, slack, p.facts, p.give, members, z)
    if not inside:
        for i in range(front.size[LIVE]):
            look_at(scene, front.outside[i], scale)
        if not find_change(scene, values, slack, p.give, front.size[LIVE], 0.0):
            cover.life[REJECTED] += 1
            return False
    return True


@bare
def tries(scene: Scene) -> int:
    """Literal draws that cost about as much as building a cover."""
    n = scene.model.n
    return TRIES + (min(n // 4, 240) if scene.posterior.separate else min(n // 32, 32))


@part
def early_hit(scene: Scene, who: int, scale: float, log_budget: float) -> tuple[float, int]:
    """Return the log of the index of the first hit in a few literal draws, without a cover.

    LATE if none of them is one. The second number counts the learner's hits outside Theta.
    """
    outside = 0
    for index in range(1, tries(scene) + 1):
        if literal_draw(scene, scale):
            if who == STOPPER or allowed(scene, scale):
                return math.log(index), outside
            outside += 1
        if math.log(index) >= log_budget:
            return np.inf, outside
    return LATE, outside


@part
def later_hit(
    scene: Scene, who: int, scale: float, log_budget: float, made: int, outside: int
) -> float:
    """Log of the index of the first hit, by jumps; infinite if above ``log_budget``.

    ``made`` draws were no hits. After a hit ``draw.piece`` says where it is, and
    ``draw.values`` holds the point for the answers that were drawn. The LEARNER's hits are in
    Theta too; where next to none are, because theta_hat is far outside, the last of OUTSIDE
    others must do. The STOPPER looks at Alt(S_hat) alone: a posterior that lies outside
    Theta is no evidence that S_hat is right.
    """
    cover, draw = scene.cover, scene.draw
    learner = who == LEARNER
    index = float(made)  # literal draws made so far
    limit = math.sqrt(max(cover.reach[NEAREST], 0.0) ** 2 + 2.0 * MARGIN * scale * scale)
    P, top = 1.0, 0.0
    if is_complete(cover):
        P, top = weigh(scene, scale, limit, who)
    log_P = math.log(P) + top
    if log_P > math.log(FREQUENT):
        while index < PATIENCE and draw.made[HALT] == 0.0:
            index += 1.0
            if literal_draw(scene, scale):
                outside += 1
                if not learner or allowed(scene, scale) or outside >= OUTSIDE:
                    if index <= 2.0 and learner:
                        leave(cover)  # the learner's hits come at once
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
        if propose(scene, scale, limit, who, pick, False):
            outside += 1
            if not learner or allowed(scene, scale) or outside >= OUTSIDE:
                return log_index
    return np.inf if learner else log_index
