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

from psips.kernels.belief import RESULTS, Belief
from psips.kernels.cover import FEWER_NATS, NATS, Cover
from psips.kernels.draws import NUMBER, Draw, draw_row, draw_theta, literal_draw
from psips.kernels.firsthit import FREQUENT, LEARNER, _propose, weigh
from psips.kernels.front import COVERED, EAGER, MEMBERS, NEAREST, RECORDS, SPARE, Front, image
from psips.kernels.grids import as_array, as_grid, flags, floats
from psips.kernels.jit import kernel, part
from psips.kernels.model import Floats, Model, Stream
from psips.kernels.pareto import dominates, pareto_set
from psips.kernels.rng import ESTIMATE, PLACES, log_tail, seed, uniform
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
def total_mass(
    front: Front, cover: Cover, draw: Draw, nats: float
) -> tuple[float, float, float]:
    """Return (P e^-top, top, limit) of a cover; (1, 0, 0) where plain draws serve."""
    if front.size[COVERED] == 0:
        return 1.0, 0.0, 0.0
    limit = math.sqrt(max(front.reach[NEAREST], 0.0) ** 2 + 2.0 * nats)
    P, top = weigh(1.0, limit, front.size[RECORDS], cover, LEARNER, draw.p)
    if math.log(P) + top > math.log(FREQUENT):
        return 1.0, 0.0, 0.0
    return P, top, limit


@part
def changes_place(model: Model, belief: Belief, front: Front, draw: Draw, z: int) -> bool:
    """Whether z enters or leaves the Pareto set at the point drawn, as far as it is drawn.

    An arm that could not reach z but by a deviation of REACH is left undrawn.
    """
    values, drawn, number = draw.values, draw.drawn, int(draw.made[NUMBER])
    optimal = True
    for step in range(-1, model.n):
        a = z if step < 0 else step  # z itself first
        if drawn[a] != number or not model.unstructured:
            if not model.unstructured:
                image(model.Z, draw.theta, a, values)
            else:
                near = True
                for c in range(model.d):
                    sd = math.sqrt(front.inverse[a] * model.Sigma[c, c])
                    if step >= 0 and values[z, c] - belief.theta[a, c] > REACH * sd:
                        near = False
                if not near:
                    continue
                sd = math.sqrt(front.inverse[a])
                draw_row(draw.stream, model.L, belief.theta, sd, a, values)
            drawn[a] = number
        if a != z and dominates(values, a, z):
            optimal = False
            break
    return optimal != front.inside[z]


@part
def estimate_change(
    model: Model,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    draws: int,
    log_ceiling: float,
    who: int,
) -> tuple[float, float]:
    """Log P(Alt(S_hat) | data) and its relative standard error, from at most ``draws`` points.

    With ``who`` >= 0: that this answer enters or leaves the set, if the cover is one of that.
    It ends early once the probability is clearly above e^log_ceiling. Without a hit the
    first number is -inf, and the second the log of the probability that one hit would mean.
    """
    nats = NATS if who < 0 else FEWER_NATS
    P, top, limit = total_mass(front, cover, draw, nats)
    log_P = math.log(P) + top
    hits = made = 0.0
    for k in range(draws):
        made += 1.0
        if limit == 0.0:
            hit = literal_draw(model, belief, front, draw, 1.0)
        else:
            pick = uniform(draw.stream) * P
            hit = _propose(
                model, belief, front, cover, draw, 1.0, limit, LEARNER, pick, who >= 0
            )
        if hit and (who < 0 or changes_place(model, belief, front, draw, who)):
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
def sure_enough(
    model: Model, belief: Belief, front: Front, cover: Cover, draw: Draw, log_delta: float
) -> float:
    """Log of P(Alt(S_hat) | data), with two standard errors added; the rule ``bayes``.

    0 where it is plainly too large.
    """
    if front.size[EAGER] == 1:
        hits = 0
        for _ in range(16):
            if literal_draw(model, belief, front, draw, 1.0):
                hits += 1
        if hits > 4.0 + 16.0 * math.exp(log_delta):
            return 0.0
        front.size[EAGER] = 0
        build(model, belief, front, cover, front.reach[SPARE])
    P, top, _ = total_mass(front, cover, draw, NATS)
    log_P = math.log(P) + top
    if log_P <= log_delta:
        return log_P  # the cover contains Alt
    if log_P > log_delta + 3.0 and log_P < 0.0:
        return 0.0
    log_p, error = estimate_change(model, belief, front, cover, draw, 1024, log_delta, -1)
    if log_p == -np.inf:
        return error + math.log(3.0)  # no hit in 1024: below that with 95%
    return log_p + math.log1p(2.0 * error)


@part
def survey(model: Model, belief: Belief, front: Front, draw: Draw, changes: Floats) -> float:
    """Plain draws, each looked at for all answers; return how many.

    ``changes`` (n,) becomes in how many of them an answer enters or leaves the set.
    """
    n, d = model.n, model.d
    keep = flags(n)
    made = spent = 0.0
    while made < LEAST_SURVEY or (spent < SURVEY and made < ALTOGETHER):
        made += 1.0
        if model.unstructured:
            for a in range(n):
                sd = math.sqrt(front.inverse[a])
                draw_row(draw.stream, model.L, belief.theta, sd, a, draw.values)
        else:
            draw_theta(
                draw.stream, model.L, belief.F, belief.theta, 1.0, draw.work[0], draw.theta
            )
            for a in range(n):
                image(model.Z, draw.theta, a, draw.values)
        pareto_set(draw.values, keep)
        optimal = 0
        for z in range(n):
            if keep[z]:
                optimal += 1
            if keep[z] != front.inside[z]:
                changes[z] += 1.0
        spent += n * (4.0 * d + (2.0 * optimal if d > 3 else 100.0) + model.Z.shape[1])
    return made


@kernel
def change_probability(
    model: Model,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    key: Stream,
    draws: int,
) -> tuple[float, float]:
    """Log of P(Alt(S_hat) | data) and its relative standard error, for callers in Python."""
    build(model, belief, front, cover, 1.0)
    seed(draw.stream, as_grid(key), belief.tally[RESULTS], ESTIMATE)
    each = 10.0 * front.size[RECORDS] + 4.0 * model.n * model.d
    draws = min(draws, max(5 * FEWEST, int(FRONT / each)))
    log_p, error = estimate_change(model, belief, front, cover, draw, draws, np.inf, -1)
    return log_p, error if log_p > -np.inf else np.inf


@kernel
def probabilities(
    model: Model,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    key: Stream,
    draws: int,
) -> tuple[Floats, Floats]:
    """By answer, the posterior probability of being Pareto-optimal and its standard error.

    Each answer has a cover and draws of its own, so that its probability of changing place
    is accurate however small it is. Where the change is farther than FAR, it is given as 0
    with a bound for the error; where none of the draws shows it, the error is what one of
    them would have meant. Of more than FEW answers that is done for those that hardly ever
    change in draws common to all, one after the other, as far as SINGLY goes; the others
    are given the share of common draws.
    """
    n = model.n
    build(model, belief, front, cover, 1.0)
    seed(draw.stream, as_grid(key), belief.tally[RESULTS], PLACES)
    optimal = floats(n)
    spread = floats(n)
    changes = floats(n)
    common = spent = 0.0
    others = n if n <= MANY else front.size[MEMBERS]
    nodes = NODES
    if n > FEW:
        common = survey(model, belief, front, draw, changes)
        nodes = int(min(NODES, max(FEWEST, SINGLY / n / others)))
    each = min(draws, max(FEWEST, ALTOGETHER // n))
    for z in range(n):
        change = 0.0
        if n > FEW and (changes[z] >= SEEN or spent > SINGLY):
            change = changes[z] / common
            hits = max(changes[z], 1.0)  # without one, the error is what one would mean
            spread[z] = math.sqrt(hits * (1.0 - hits / (common + 1.0))) / common
        else:
            distance = build_around(model, front, cover, z, FAR, nodes)
            records = front.size[RECORDS]
            spent += 30.0 * n + records * (200.0 + 2.0 * others)
            if distance > FAR:
                spread[z] = max(n, model.d) * math.exp(log_tail(distance))
            else:
                spent += each * (10.0 * records + 8.0 * n * model.d)
                log_p, error = estimate_change(
                    model, belief, front, cover, draw, each, np.inf, z
                )
                change = math.exp(log_p)
                spread[z] = change * error if log_p > -np.inf else math.exp(error)
        optimal[z] = 1.0 - change if front.inside[z] else change
    return as_array(optimal), as_array(spread)
