"""The likelihood ratio against every other Pareto set, and what it must exceed.

GLR = half the squared distance of theta_hat to Alt(S_hat), in the metric of the counts. With
beta(t, delta) of Lemma concentration_threshold the truth is nearer than that at all times
with probability 1 - delta (``proven``). ``heuristic`` is log(1/delta) + log log(1 + t).

``measured`` puts right where ``heuristic`` errs. A look after every result needs a threshold
that grows with log log t, but most of the chances to err lie at early times, so

    log(1/delta) + log(8 + log t) - 1.1

is as safe on near-ties and lower where it matters. And the noise that takes theta_hat out of
"i below j" in k objectives at once has the squared length of k normals: such a distance
counts for less, ``handicap``, see `psips.rules.handicaps`.

Whether the GLR has passed the threshold is found without the whole search in most rounds: the
piece of Alt that was nearest last time bounds the distance from above.
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import RESULTS, Belief
from psips.kernels.cone import Metric, inner, project
from psips.kernels.cover import ANSWER, CONSTRAINTS, RIVAL, Cover
from psips.kernels.draws import Draw
from psips.kernels.front import (
    COVERED,
    MEMBERS,
    RECORDS,
    Front,
    image,
    refresh_listed,
    refresh_means,
)
from psips.kernels.grids import floats, ints
from psips.kernels.jit import kernel, part
from psips.kernels.model import Floats, Ints, Model
from psips.kernels.response import ESCAPE, PAIR, best_response, counts_for, held_back
from psips.kernels.thresholds import MEASURED, PROVEN, Calibration, beta
from psips.kernels.tree import build

EARLY = 8.0  # e-folds of results by which the clock of the threshold is ahead
OFFSET = -1.1  # measured, together with EARLY
REACH = 3.0  # standard errors within which a member might dominate an answer, or might not
LATE = 11.0  # e-folds of results by which a near-tie has had most of its chances to err
EVERY = 500  # all pieces are summed about this often while the results grow e-fold


@part
def glr_threshold(model: Model, calibration: Calibration, t: float) -> float:
    """Return what the GLR must exceed after ``t`` results."""
    log_inverse = calibration.log_inverse
    if calibration.code == PROVEN:
        return beta(
            model.unstructured,
            model.K,
            model.h,
            model.d,
            model.xi,
            calibration.extent,
            calibration.bias,
            t,
            log_inverse,
        )
    if calibration.code == MEASURED:
        return log_inverse + math.log(EARLY + math.log(max(t, 1.0))) + OFFSET
    return log_inverse + math.log(math.log(1.0 + max(t, math.e)))


@part
def likelihood_ratio(
    model: Model, belief: Belief, front: Front, draw: Draw, handicap: Floats, ceiling: float
) -> float:
    """GLR of theta_hat against Alt(S_hat), or ``ceiling`` if it is larger."""
    refresh_means(model.unstructured, belief.N, belief.theta, model.Z, front.mu, front.inverse)
    if not model.unstructured:
        for a in range(model.n):
            image(model.Z, belief.F, a, front.W)
    size = front.size[MEMBERS]
    room = max(size, model.d)
    over, by, weight = ints(room), ints(room), floats(room)
    metric = front.metric
    square = best_response(
        metric, front.members[:size], 2.0 * ceiling, handicap, draw.nearest, over, by, weight
    )
    for k in range(draw.nearest[1]):
        draw.lists[3, k] = over[k]
        draw.lists[4, k] = by[k]
    return 0.5 * square


@part
def bound_of_ratio(
    model: Model, belief: Belief, front: Front, draw: Draw, handicap: Floats
) -> float:
    """Return a value that the GLR is at most: by the piece that was nearest last time."""
    z, m = draw.nearest[0], draw.nearest[1]
    if z < 0 or m == 0:
        return np.inf
    members = front.members[: front.size[MEMBERS]]
    xs, cs, y = draw.lists[3], draw.lists[4], floats(m)
    for k in range(m):
        if not front.inside[xs[k]]:
            return np.inf
        if front.inside[z] and (m != model.d or xs[k] != xs[0]):
            return np.inf  # z escaped when it was no member
    if model.unstructured:
        refresh_means(True, belief.N, belief.theta, model.Z, front.mu, front.inverse)
    else:
        refresh_listed(model.Z, belief.theta, belief.F, draw.nearest[:1], front.mu, front.W)
        refresh_listed(model.Z, belief.theta, belief.F, members, front.mu, front.W)
    metric = front.metric
    square = project(metric, z, m, xs, cs, y)
    if not front.inside[z] and held_back(metric, z, m, xs, cs, y, members):
        return np.inf  # the nearest point of that piece is not in Alt any more
    pair = front.inside[z]
    in_play = counts_for(metric, pair, z, m, xs[0], y)
    return 0.5 * square * handicap[PAIR if pair else ESCAPE, in_play]


@part
def passes(
    model: Model,
    belief: Belief,
    front: Front,
    draw: Draw,
    handicap: Floats,
    threshold: float,
) -> float:
    """Return the GLR if it is below the threshold, or a bound that is; else the threshold."""
    bound = bound_of_ratio(model, belief, front, draw, handicap)
    if bound < threshold:
        return bound
    return likelihood_ratio(model, belief, front, draw, handicap, threshold)


@part
def stake(model: Model, metric: Metric, z: int, x: int, t: float) -> float:
    """Share of the chance to err that a tie of z and x has had in as many results as it got."""
    n = t
    if model.unstructured:
        n = 1.0 / inner(metric, z, x, x)
    return min((math.log(max(n, 1.0)) / LATE) ** 2, 1.0)


@part
def all_pieces(model: Model, front: Front, cover: Cover, handicap: Floats, t: float) -> float:
    """Evidence against all of Alt together, from a fresh cover.

    Every near-tie is a chance to err. One alone is what the threshold is made for; of several,
    exp(-GLR) is summed over the pairs of members and over the answers outside (of which the
    nearest piece counts), each with its stake. An answer that is out by one member while
    others are within reach had more than one chance to be taken for dominated.
    """
    metric = front.metric
    members = front.members[: front.size[MEMBERS]]
    if front.size[COVERED] == 0:
        return 0.0
    total = nearest = 0.0
    last, most = -1, 0.0  # an answer outside S_hat; of its nearest piece
    for k in range(front.size[RECORDS]):
        z, m = cover.shape[k, ANSWER], cover.shape[k, CONSTRAINTS]
        x = cover.terms[k, 0, RIVAL]
        pair = front.inside[z]
        in_play = counts_for(metric, True, z, m, x, cover.y[k]) if pair else min(m, model.d)
        factor = handicap[PAIR if pair else ESCAPE, in_play]
        value = math.exp(-0.5 * factor * cover.r[k] ** 2)
        nearest = max(nearest, value)
        value *= stake(model, metric, z, x, t)
        if pair:
            total += value
        else:
            if z != last:
                total += most * within_reach(metric, last, members)
                last, most = z, 0.0
            most = max(most, value)
    total += most * within_reach(metric, last, members)
    return -math.log(max(total, nearest, 1e-300))


@part
def within_reach(metric: Metric, z: int, members: Ints) -> int:
    """How many members neither clearly dominate z nor clearly fail to; at least 1."""
    count = 0
    if z < 0:
        return 1
    for x in members:
        square = inner(metric, z, x, x)
        lead = np.inf
        for c in range(metric.mu.shape[1]):
            ahead = metric.mu[x, c] - metric.mu[z, c]
            lead = min(lead, ahead / math.sqrt(square * metric.Sigma[c, c]))
        if -REACH < lead < REACH:
            count += 1
    return 1 + count


@kernel
def weigh_ratio(
    model: Model,
    calibration: Calibration,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    spare: float,
) -> tuple[float, float]:
    """Evidence and threshold for the data as they stand, in full, for people to read.

    ``spare`` is the largest inflation of any draw, as in `psips.kernels.tree.build`.
    """
    t = float(belief.tally[RESULTS])
    build(model, belief, front, cover, spare)
    found = likelihood_ratio(model, belief, front, draw, calibration.handicap, np.inf)
    if calibration.code == MEASURED:
        found = min(found, all_pieces(model, front, cover, calibration.handicap, t))
    return found, glr_threshold(model, calibration, t)
