"""Posterior probabilities: of Alt(S_hat), and of each answer being Pareto-optimal.

The sets H_k of a cover have known probabilities p_k, P = sum p_k. A proposal chooses k with
probability p_k / P, draws the posterior conditioned on H_k and keeps the point if no earlier
set contains it; hence for any event A inside the union

    P(A) = P E[ 1{kept and in A} ],

and the mean over proposals is unbiased with a relative error that does not depend on how
small P(A) is, as long as A fills a fair share of the union. Whatever changes the Pareto set
lies in Alt(S_hat), which the cover contains. Where hits are frequent, plain draws serve.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Stream
from psips.kernels.belief import RESULTS
from psips.kernels.cover import (
    FEWER_NATS,
    LEARNER,
    NATS,
    NEAREST,
    RECORDS,
    SPARE,
    is_complete,
    is_eager,
)
from psips.kernels.draws import begin_draw, literal_draw, look_at, look_at_all
from psips.kernels.firsthit import FREQUENT, propose, weigh
from psips.kernels.front import MEMBERS, elect
from psips.kernels.grids import as_array, as_grid, flags, floats, floats2, ints
from psips.kernels.jit import kernel, part, standing
from psips.kernels.pareto import join, pareto_set, surpasses
from psips.kernels.posterior import refresh_all
from psips.kernels.rng import ESTIMATE, PLACES, log_tail, seed, uniform
from psips.kernels.scene import NUMBER, Scene
from psips.kernels.tree import MANY, build, build_around

LOOK = 32  # draws between two looks at whether the matter is clear
FAR = 9.0  # standard deviations beyond which a change is not looked for: 1e-19
REACH = 6.0  # the same for an arm that would have to spoil a change just found
FEWEST, ALTOGETHER = 20, 20_000  # draws for an answer at least; for all of them about

# Bounds of the work, in steps of about two nanoseconds; they are counted, not timed, so that
# the same question has the same answer everywhere.
FEW = 30  # answers up to which each has draws of its own and nothing is bounded but trees
SURVEY = 1e8  # common draws, for all answers
LEAST_SURVEY = 8  # such draws, whatever they cost
SEEN = 10.0  # changes in them that are enough
SINGLY = 1e8  # draws for single answers
NODES = 2000  # nodes of an answer's tree, at most
FRONT = 1e8  # draws for the whole set


@part
def total_mass(scene: Scene, nats: float) -> tuple[float, float, float]:
    """Return (P e^-top, top, limit) of a cover; (1, 0, 0) where plain draws serve."""
    cover = scene.cover
    if not is_complete(cover):
        return 1.0, 0.0, 0.0
    limit = math.sqrt(max(cover.reach[NEAREST], 0.0) ** 2 + 2.0 * nats)
    P, top = weigh(scene, 1.0, limit, LEARNER)
    if math.log(P) + top > math.log(FREQUENT):
        return 1.0, 0.0, 0.0
    return P, top, limit


@part
def changes_place(scene: Scene, z: int) -> bool:
    """Whether z enters or leaves the Pareto set at the point drawn, as far as it is drawn.

    An arm that could not reach z but by a deviation of REACH is left undrawn.
    """
    p, draw = scene.posterior, scene.draw
    values, number = draw.values, int(draw.made[NUMBER])
    look_at(scene, z, 1.0)
    for a in range(scene.model.n):
        near = a != z
        if near and p.separate and draw.drawn[a] != number:
            for c in range(scene.model.d):
                near = near and values[z, c] - p.mu[a, c] <= REACH * math.sqrt(p.C[a, c, c])
        if near:
            look_at(scene, a, 1.0)
            if surpasses(values, p.facts, a, z):
                return bool(scene.front.inside[z])
    return not scene.front.inside[z]


@standing
@part
def estimate_change(
    scene: Scene, draws: int, log_ceiling: float, who: int
) -> tuple[float, float]:
    """Log P(Alt(S_hat) | data) and its relative standard error, from at most ``draws`` points.

    With ``who`` >= 0: that this answer enters or leaves the set, if the cover is one of that.
    It ends early once the probability is clearly above e^log_ceiling. Without a hit the
    first number is -inf, and the second the log of the probability that one hit would mean.
    """
    P, top, limit = total_mass(scene, NATS if who < 0 else FEWER_NATS)
    log_P = math.log(P) + top
    hits = made = 0.0
    for k in range(draws):
        made += 1.0
        if limit == 0.0:
            hit = literal_draw(scene, 1.0)
        else:
            pick = uniform(scene.draw.stream) * P
            hit = propose(scene, 1.0, limit, LEARNER, pick, who >= 0)
        if hit and (who < 0 or changes_place(scene, who)):
            hits += 1.0
        if (k + 1) % LOOK == 0 and hits > 0.0:
            share = hits / made
            spread = math.sqrt(share * (1.0 - share) / made)
            if share > 4.0 * spread and math.log(share - 4.0 * spread) + log_P > log_ceiling:
                break
    if hits == 0.0:
        return -np.inf, log_P - math.log(made)
    spread = math.sqrt((1.0 - hits / (made + 1.0)) / hits)  # not 0 if all of a few were hits
    return log_P + math.log(hits / made), spread


@part
def sure_enough(scene: Scene, log_delta: float) -> float:
    """Log of P(Alt(S_hat) | data), with two standard errors added; the rule ``bayes``.

    0 where it is plainly too large.
    """
    if is_eager(scene.cover):
        hits = 0
        for _ in range(16):
            if literal_draw(scene, 1.0):
                hits += 1
        if hits > 4.0 + 16.0 * math.exp(log_delta):
            return 0.0
        build(scene, scene.cover.reach[SPARE])
    P, top, _ = total_mass(scene, NATS)
    log_P = math.log(P) + top
    if log_P <= log_delta:
        return log_P  # the cover contains Alt
    if log_P > log_delta + 3.0 and log_P < 0.0:
        return 0.0
    log_p, error = estimate_change(scene, 1024, log_delta, -1)
    if log_p == -np.inf:
        return error + math.log(3.0)  # no hit in 1024: below that with 95%
    return log_p + math.log1p(2.0 * error)


@part
def begin_places(scene: Scene, key: Stream) -> None:
    """Bring the candidate set up to date, and begin the draws of all answers' places."""
    refresh_all(scene.posterior)
    elect(scene.posterior.mu, scene.posterior.facts, scene.front)
    seed(scene.draw.stream, as_grid(key), scene.belief.tally[RESULTS], PLACES)


@kernel
def survey(scene: Scene, key: Stream) -> tuple[Floats, float]:
    """In how many plain draws each answer enters or leaves the set, and how many there are."""
    n, d = scene.posterior.mu.shape
    begin_places(scene, key)
    changes, keep = floats(n), flags(n)
    facts, every = scene.posterior.facts, ints(n)
    for a in range(n):
        every[a] = a
    points = floats2(n, d + facts.shape[1])
    made = spent = 0.0
    while made < LEAST_SURVEY or (spent < SURVEY and made < ALTOGETHER):
        made += 1.0
        begin_draw(scene, 1.0)
        look_at_all(scene, 1.0)
        join(scene.draw.values, facts, every, points)
        pareto_set(points, keep)
        optimal = 0
        for z in range(n):
            if keep[z]:
                optimal += 1
            if keep[z] != scene.front.inside[z]:
                changes[z] += 1.0
        each = 2.0 * optimal if d > 3 else 100.0
        spent += n * (4.0 * d + each + scene.model.Z.shape[1])
    return as_array(changes), made


@kernel
def change_probability(scene: Scene, key: Stream, draws: int) -> tuple[float, float]:
    """Log of P(Alt(S_hat) | data) and its relative standard error, for callers in Python."""
    build(scene, 1.0)
    seed(scene.draw.stream, as_grid(key), scene.belief.tally[RESULTS], ESTIMATE)
    each = 10.0 * scene.cover.life[RECORDS] + 4.0 * scene.model.n * scene.model.d
    draws = min(draws, max(5 * FEWEST, int(FRONT / each)))
    log_p, error = estimate_change(scene, draws, np.inf, -1)
    return log_p, error if log_p > -np.inf else np.inf


@kernel
def probabilities(
    scene: Scene, key: Stream, draws: int, found: Floats, common: float
) -> tuple[Floats, Floats]:
    """By answer, the posterior probability of being Pareto-optimal and its standard error.

    The scene's half-spaces must be without slack. Of more than FEW answers ``found`` and
    ``common`` are what a `survey` of the same scene gave, just before; otherwise zeros.

    Each answer has a cover and draws of its own, so that its probability of changing place
    is accurate however small it is. Where the change is farther than FAR, it is given as 0
    with a bound for the error; where none of the draws shows it, the error is what one of
    them would have meant. Of more than FEW answers that is done for those that hardly ever
    change in draws common to all, if draws of their own tell more (the error is that of
    P / draws, of common ones that of 1 / draws), one after the other, as far as SINGLY goes;
    the others are given the share of common draws.
    """
    n, front, changes = scene.model.n, scene.front, as_grid(found)
    if common == 0.0:
        begin_places(scene, key)
    optimal = floats(n)
    spread = floats(n)
    spent = 0.0
    others = n if n <= MANY else front.size[MEMBERS]
    nodes = NODES
    if n > FEW:
        nodes = int(min(NODES, max(FEWEST, SINGLY / n / others)))
    each = min(draws, max(FEWEST, ALTOGETHER // n))
    for z in range(n):
        change = distance = 0.0
        alone = n <= FEW or (changes[z] < SEEN and spent <= SINGLY)
        if alone:
            distance, seen = build_around(scene, z, FAR, nodes)
            records = scene.cover.life[RECORDS]
            spent += 30.0 * n + 300.0 * records + seen * (300.0 + 20.0 * others)
            if n > FEW and distance <= FAR:
                P, top, _ = total_mass(scene, FEWER_NATS)
                alone = math.log(P) + top < math.log(each / common)  # else its draws tell less
        if not alone:
            change = changes[z] / common
            hits = max(changes[z], 1.0)  # without one, the error is what one would mean
            spread[z] = math.sqrt(hits * (1.0 - hits / (common + 1.0))) / common
        elif distance > FAR:
            spread[z] = max(n, scene.model.d) * math.exp(log_tail(distance))
        else:
            spent += each * (10.0 * scene.cover.life[RECORDS] + 8.0 * n * scene.model.d)
            log_p, error = estimate_change(scene, each, np.inf, z)
            change = math.exp(log_p)
            spread[z] = change * error if log_p > -np.inf else math.exp(error)
        optimal[z] = 1.0 - change if front.inside[z] else change
    return as_array(optimal), as_array(spread)
