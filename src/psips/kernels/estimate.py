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

from psips.kernels.belief import Belief
from psips.kernels.cover import NATS, Cover, empty_cover
from psips.kernels.draws import Draw, draw_rest, empty_draw, literal_draw
from psips.kernels.firsthit import FREQUENT, LEARNER, _propose, weigh
from psips.kernels.front import COVERED, EAGER, RECORDS, Front, empty_front, image
from psips.kernels.jit import kernel, part
from psips.kernels.model import Floats, Model
from psips.kernels.pareto import pareto_set
from psips.kernels.rng import ESTIMATE, Stream, seed, uniform
from psips.kernels.tree import build

LOOK = 32  # draws between two looks at whether the matter is clear


@part
def total_mass(front: Front, cover: Cover, draw: Draw) -> tuple[float, float, float]:
    """Return (P e^-top, top, limit) of a cover; (1, 0, 0) where plain draws serve."""
    if front.size[COVERED] == 0:
        return 1.0, 0.0, 0.0
    limit = math.sqrt(max(front.reach[0], 0.0) ** 2 + 2.0 * NATS)
    P, top = weigh(1.0, limit, front.size[RECORDS], cover, LEARNER, draw.p)
    if math.log(P) + top > math.log(FREQUENT):
        return 1.0, 0.0, 0.0
    return P, top, limit


@part
def _complete(model: Model, belief: Belief, front: Front, draw: Draw) -> None:
    """Draw, or compute, the answers of a hit that were not looked at."""
    if model.unstructured:
        draw_rest(
            draw.stream,
            model.L,
            belief.theta,
            front.inverse,
            1.0,
            draw.values,
            draw.drawn,
            int(draw.made[2]),
        )
    else:
        for a in range(model.n):
            image(model.Z, draw.theta, a, draw.values)


@part
def estimate_change(
    model: Model,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    draws: int,
    log_ceiling: float,
    changes: Floats,
) -> tuple[float, float]:
    """Log P(Alt(S_hat) | data) and its relative standard error, from at most ``draws`` points.

    It ends early once the probability is clearly above e^log_ceiling. ``changes`` (n,), or
    (0,), becomes by answer the share of the hits in which it enters or leaves the set.
    """
    P, top, limit = total_mass(front, cover, draw)
    log_P = math.log(P) + top
    best = np.empty(changes.shape[0], np.bool_)
    for a in range(changes.shape[0]):
        changes[a] = 0.0
    hits = made = 0.0
    for k in range(draws):
        made += 1.0
        if limit == 0.0:
            hit = literal_draw(model, belief, front, draw, 1.0)
        else:
            pick = uniform(draw.stream) * P
            hit = _propose(model, belief, front, cover, draw, 1.0, limit, LEARNER, pick)
        if hit:
            hits += 1.0
            if changes.shape[0] > 0:
                _complete(model, belief, front, draw)
                pareto_set(draw.values, best)
                for a in range(changes.shape[0]):
                    if best[a] != front.inside[a]:
                        changes[a] += 1.0
        if (k + 1) % LOOK == 0 and hits > 0.0:
            share = hits / made
            spread = math.sqrt(share * (1.0 - share) / made)
            if share > 4.0 * spread and math.log(share - 4.0 * spread) + log_P > log_ceiling:
                break
    for a in range(changes.shape[0]):
        changes[a] /= max(hits, 1.0)
    if hits == 0.0:
        return -np.inf, np.inf
    share = hits / made
    return log_P + math.log(share), math.sqrt((1.0 - share) / hits)


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
        build(model, belief, front, cover, front.reach[2])
    P, top, _ = total_mass(front, cover, draw)
    log_P = math.log(P) + top
    if log_P <= log_delta:
        return log_P  # the cover contains Alt
    if log_P > log_delta + 3.0 and log_P < 0.0:
        return 0.0
    log_p, error = estimate_change(
        model, belief, front, cover, draw, 1024, log_delta, np.empty(0)
    )
    if error == np.inf:
        return log_P + math.log(3.0 / 1024.0)  # no hit in 1024: below that with 95%
    return log_p + math.log1p(2.0 * error)


@kernel
def probabilities(
    model: Model, belief: Belief, key: Stream, capacity: int, draws: int
) -> tuple[Floats, Floats, float, float]:
    """Posterior probabilities for callers in Python; nothing of the run is changed.

    Returns
    -------
    tuple
        By answer the probability of being Pareto-optimal, and its standard error; log of
        P(Alt(S_hat) | data), and its relative standard error.
    """
    front = empty_front(model)
    cover = empty_cover(model, capacity)
    draw = empty_draw(model, capacity)
    build(model, belief, front, cover, 1.0)
    seed(draw.stream, key, belief.tally[0], ESTIMATE)
    changes = np.empty(model.n)
    log_p, error = estimate_change(model, belief, front, cover, draw, draws, np.inf, changes)
    optimal = np.empty(model.n)
    spread = np.empty(model.n)
    P = math.exp(log_p)
    for a in range(model.n):
        change = P * changes[a]
        optimal[a] = 1.0 - change if front.inside[a] else change
        square = 0.0 if error == np.inf else error * error
        hits = max(1.0, (1.0 - P) / max(square, 1e-300)) if square > 0.0 else float(draws)
        own = changes[a] * (1.0 - changes[a]) / hits
        spread[a] = P * math.sqrt(changes[a] * changes[a] * square + own)
    return optimal, spread, log_p, error
