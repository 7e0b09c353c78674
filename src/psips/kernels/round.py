"""One round: take in what was told (``evaluate``), say what to pull next (``choose``)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.kernels.belief import Belief, ready
from psips.kernels.cover import Cover, build, refresh
from psips.kernels.draws import FIRST_HIT, Draw, first_hit
from psips.kernels.front import (
    EAGER,
    LIVE,
    MEMBERS,
    Front,
    copy_rows,
    elect_plainly,
    find_change,
    image,
)
from psips.kernels.hedge import feed, weights
from psips.kernels.jit import kernel, spliced
from psips.kernels.learner import posterior_gains, projected_gains
from psips.kernels.literal import in_ball_hit, shared_draws
from psips.kernels.model import Floats, Ints, Model
from psips.kernels.rng import LEARN, PULL, STOP, Stream, seed, uniform
from psips.kernels.thresholds import Calibration, inflation_and_budget, radius_of_rewards

# Sampling rules.
POSTERIOR, PROJECTED, UNIFORM, ROUND_ROBIN, ORACLE = range(5)
# Stopping rules.
NEVER, BY_POSTERIOR = range(2)
# How the weights become arms.
TRACK, MIXTURE = range(2)

# Places in Learner.count.
ASKED, FRESH = range(2)
# Places in the outcome.
STOPPED, LOG_HIT, LOG_BUDGET, INFLATION, LOG_LEARNED = range(5)


class Options(NamedTuple):
    """Which rules, and their numbers."""

    sampling: int
    stopping: int
    draws: int
    tracking: int
    eta: float  # 0: Algorithm 2, "Estimate and Halve"
    alpha: float
    calibration: Calibration
    target: Floats  # (K,) weights of the oracle, (0,) otherwise


class Learner(NamedTuple):
    """State of the sampling rule; updated in place."""

    gains: Floats  # (K,) cumulative gains of AdaHedge
    gap: Floats  # (1,) its cumulative mixability gap
    played: Floats  # (K,) sum of the weights played
    pending: Floats  # (K,) asked and not yet told
    estimate: Floats  # (2,) p_t and C_t of Algorithm 2, 0 if not yet set
    point: Floats  # (h, d) the learner's hit among the shared literal draws
    count: Ints  # (2,) asks made; whether ``point`` is fresh


@kernel
def empty_learner(model: Model) -> Learner:
    """Return the state of a sampling rule that has not been asked."""
    return Learner(
        np.zeros(model.K),
        np.zeros(1),
        np.zeros(model.K),
        np.zeros(model.K),
        np.zeros(2),
        np.zeros((model.h, model.d)),
        np.zeros(2, np.int64),
    )


@spliced
def evaluate(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    learner: Learner,
    outcome: Floats,
    key: Stream,
) -> None:
    """Candidate set and stopping rule for the data as they stand."""
    outcome[STOPPED] = 0.0
    outcome[LOG_HIT] = 0.0
    learner.count[FRESH] = 0
    if ready(model.unstructured, belief.N):
        t = float(belief.count[0])
        literal = options.draws != FIRST_HIT
        size = front.size
        spare = max(front.reach[2], 1.0)
        if size[EAGER] == 2:
            size[EAGER] = 1
        if literal or size[EAGER] == 1:
            elect_plainly(model, belief, front, draw.piece)
        elif not refresh(model, belief, front, cover, draw.piece):
            build(model, belief, front, cover, spare)
        inflation, log_budget = inflation_and_budget(
            model.unstructured,
            model.K,
            model.h,
            model.d,
            model.xi,
            options.calibration,
            t,
            size[MEMBERS],
        )
        outcome[INFLATION] = inflation
        outcome[LOG_BUDGET] = log_budget
        eta = options.eta
        if eta == 0.0:
            radius = radius_of_rewards(
                model.P,
                belief.N,
                belief.theta,
                front.inside,
                front.members[: size[MEMBERS]],
                t,
                learner.estimate,
            )
            eta = 1.0 / (8.0 * radius * radius)
        front.reach[2] = max(inflation, 1.0 / eta)
        if options.stopping == BY_POSTERIOR:
            seed(draw.stream, key, belief.count[0], STOP)
            if literal:
                learns = options.eta > 0.0 and options.sampling <= PROJECTED
                stop_hit, learn_hit = shared_draws(
                    model,
                    belief,
                    front,
                    draw,
                    front.members[: size[MEMBERS]],
                    inflation,
                    log_budget,
                    eta,
                    learns,
                    learner.point,
                )
                outcome[LOG_HIT] = stop_hit
                outcome[LOG_LEARNED] = learn_hit
                learner.count[FRESH] = 1 if learn_hit < np.inf else 0
            else:
                outcome[LOG_HIT] = first_hit(
                    model, belief, front, cover, draw, math.sqrt(inflation), log_budget
                )
            outcome[STOPPED] = 1.0 if outcome[LOG_HIT] == np.inf else 0.0


@spliced
def learn_weights(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    learner: Learner,
    outcome: Floats,
    w: Floats,
) -> None:
    """AdaHedge's weights for this round into ``w``; then feed it the min learner's move."""
    weights(learner.gains, learner.gap[0], w)
    members = front.members[: front.size[MEMBERS]]
    eta = options.eta
    radius = np.inf
    if eta == 0.0:
        radius = learner.estimate[0] + learner.estimate[1]
        eta = 1.0 / (8.0 * radius * radius)
    scale = 1.0 / math.sqrt(eta)
    whole = options.draws != FIRST_HIT or radius < np.inf
    if learner.count[FRESH] == 0:
        if radius < np.inf:
            outcome[LOG_LEARNED] = in_ball_hit(
                model, belief, front, draw, members, eta, radius, learner.point
            )
        elif whole:
            _, outcome[LOG_LEARNED] = shared_draws(
                model, belief, front, draw, members, 1.0 / eta, np.inf, eta, True, learner.point
            )
        else:
            outcome[LOG_LEARNED] = first_hit(
                model, belief, front, cover, draw, scale, np.inf
            )
    learner.count[FRESH] = 0
    hit = outcome[LOG_LEARNED] < np.inf
    if hit and whole:  # the point is complete: note so, and look which piece it is in
        copy_rows(learner.point, draw.theta)
        draw.made[2] += 1.0
        for a in range(model.n):
            draw.drawn[a] = int(draw.made[2])
            if model.unstructured:
                for c in range(model.d):
                    draw.values[a, c] = learner.point[a, c]
            else:
                image(model.Z, learner.point, a, draw.values)
        live = front.live[: front.size[LIVE]]
        hit = find_change(draw.values, members, live, front.keeper, draw.piece)
    if hit:
        gains = np.zeros(model.K)
        if options.sampling == POSTERIOR:
            posterior_gains(model, belief, front, draw, scale, gains)
        else:
            hit = projected_gains(model, belief, front, draw, gains)
        if hit:
            learner.gap[0] = feed(learner.gains, learner.gap[0], w, gains)


@spliced
def choose(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    learner: Learner,
    outcome: Floats,
    key: Stream,
) -> int:
    """Return the arm to pull next; it counts as pending until it is told."""
    K = model.K
    pending = learner.pending
    arm = -1
    if model.unstructured:  # every arm once, in order
        for a in range(K):
            if belief.N[a] + pending[a] == 0.0:
                arm = a
                break
    if arm < 0:
        learner.count[ASKED] += 1
        asked = learner.count[ASKED]
        w = np.zeros(K)
        if options.sampling == UNIFORM:
            for a in range(K):
                w[a] = 1.0 / K
        elif options.sampling == ORACLE:
            for a in range(K):
                w[a] = options.target[a]
        elif options.sampling == ROUND_ROBIN or not ready(model.unstructured, belief.N):
            for a in range(K):  # of use only while results are awaited
                w[a] = model.explore[a]
        else:
            seed(draw.stream, key, asked, LEARN)
            learn_weights(
                model, options, belief, front, cover, draw, learner, outcome, w
            )
            gamma = float(asked) ** -options.alpha
            for a in range(K):
                w[a] = (1.0 - gamma) * w[a] + gamma * model.explore[a]
        if options.sampling == ROUND_ROBIN:
            arm = 0
            for a in range(K):
                if belief.N[a] + pending[a] < belief.N[arm] + pending[arm]:
                    arm = a
        elif options.tracking == TRACK and options.sampling != UNIFORM:
            deficit = -np.inf
            for a in range(K):
                learner.played[a] += w[a]
                short = learner.played[a] - belief.N[a] - pending[a]
                if short > deficit:
                    arm, deficit = a, short
        else:
            seed(draw.stream, key, asked, PULL)
            u = uniform(draw.stream)
            arm = 0
            for a in range(K):
                learner.played[a] += w[a]
                if w[a] > 0.0 and u > 0.0:
                    arm = a
                u -= w[a]
    pending[arm] += 1.0
    return arm
