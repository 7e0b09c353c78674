"""One round: take in what was told (``evaluate``), say what to pull next (``choose``).

Sessions call these one at a time; the fused loop of ``run`` calls the same two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.kernels.belief import Belief, in_theta, ready
from psips.kernels.draws import FIRST_HIT, Draw, draw_all, first_hit, literal_hit
from psips.kernels.front import (
    EAGER,
    MEMBERS,
    Front,
    build,
    elect_plainly,
    refresh,
)
from psips.kernels.hedge import feed, weights
from psips.kernels.jit import kernel, part, spliced
from psips.kernels.learner import posterior_gains, projected_gains
from psips.kernels.model import Floats, Ints, Model
from psips.kernels.pareto import in_alternative
from psips.kernels.rng import LEARN, PULL, STOP, Stream, seed, uniform
from psips.kernels.thresholds import Calibration, inflation_and_budget, radius_of_rewards

# Sampling rules.
POSTERIOR, PROJECTED, UNIFORM, ROUND_ROBIN, ORACLE = range(5)
# Stopping rules.
NEVER, BY_POSTERIOR = range(2)
# How the weights become arms.
TRACK, DRAW = range(2)

# Places in Learner.count.
ASKED, FRESH = range(2)
# Places in Outcome.
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
    point: Floats  # (n, d) or (h, d): a hit of the shared literal draws, kept for the learner
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
def _shared_literal(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    draw: Draw,
    learner: Learner,
    outcome: Floats,
    eta: float,
) -> None:
    """Algorithm 1's inner loop: stopping rule and min learner read the same draws."""
    members = front.members[: front.size[MEMBERS]]
    n, h, d = model.n, model.h, model.d
    inflation = math.sqrt(outcome[INFLATION])
    wide = 1.0 / math.sqrt(eta)
    point = np.empty((h, d))
    values = np.empty((n, d))
    learns = options.sampling == POSTERIOR or options.sampling == PROJECTED
    found_stop, found_learn = False, not learns
    index = 0.0
    while not (found_stop and found_learn):
        index += 1.0
        draw_all(model, belief, draw, 1.0)
        if not found_stop:
            point[:] = belief.theta + inflation * (draw.theta - belief.theta)
            if _hits(model, front, point, values):
                found_stop = True
                outcome[LOG_HIT] = math.log(index)
            elif math.log(index) >= outcome[LOG_BUDGET]:
                outcome[LOG_HIT] = np.inf
                outcome[STOPPED] = 1.0
                return
        if not found_learn:
            point[:] = belief.theta + wide * (draw.theta - belief.theta)
            if _hits(model, front, point, values):
                found_learn = True
                learner.point[:] = point
                learner.count[FRESH] = 1
                outcome[LOG_LEARNED] = math.log(index)
        if members.shape[0] == 0:
            return


@part
def _hits(model: Model, front: Front, theta: Floats, values: Floats) -> bool:
    """Whether ``theta`` lies in Theta and Alt(S_hat)."""
    if model.unstructured:
        values[:] = theta
    else:
        values[:] = np.dot(model.Z, theta)
    members = front.members[: front.size[MEMBERS]]
    return in_alternative(values, front.inside, members) and in_theta(model, theta)


@part
def _eta(model: Model, options: Options, belief: Belief, front: Front, learner: Learner) -> float:
    """Return eta_t, after the step of Algorithm 2 where it is asked for."""
    if options.eta > 0.0:
        return options.eta
    radius = radius_of_rewards(
        model,
        belief.N,
        belief.theta,
        front.inside,
        front.members[: front.size[MEMBERS]],
        float(belief.count[0]),
        learner.estimate,
    )
    return 1.0 / (8.0 * radius * radius)


@spliced
def evaluate(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    draw: Draw,
    learner: Learner,
    outcome: Floats,
    key: Stream,
) -> None:
    """Candidate set and stopping rule for the data as they stand."""
    outcome[STOPPED] = 0.0
    outcome[LOG_HIT] = 0.0
    learner.count[FRESH] = 0
    if not ready(model, belief):
        return
    t = float(belief.count[0])
    literal = options.draws != FIRST_HIT
    inflation, log_budget = inflation_and_budget(
        model, options.calibration, t, front.size[MEMBERS]
    )
    spare = max(inflation, 1.0 / options.eta if options.eta > 0.0 else 1.0)
    if front.size[EAGER] == 2:
        front.size[EAGER] = 1
    if literal or front.size[EAGER] == 1:
        elect_plainly(model, belief, front)
        front.reach[2] = spare
    elif not refresh(model, belief, front):
        build(model, belief, front, spare)
    eta = _eta(model, options, belief, front, learner)
    inflation, log_budget = inflation_and_budget(
        model, options.calibration, t, front.size[MEMBERS]
    )
    outcome[INFLATION] = inflation
    outcome[LOG_BUDGET] = log_budget
    if options.stopping == BY_POSTERIOR:
        seed(draw.stream, key, belief.count[0], STOP)
        if literal and options.eta > 0.0:
            _shared_literal(model, options, belief, front, draw, learner, outcome, eta)
        elif literal:
            _literal_stop(model, belief, front, draw, outcome)
        else:
            outcome[LOG_HIT] = first_hit(
                model, belief, front, draw, math.sqrt(inflation), log_budget
            )
            outcome[STOPPED] = 1.0 if outcome[LOG_HIT] > log_budget else 0.0


@spliced
def _literal_stop(
    model: Model, belief: Belief, front: Front, draw: Draw, outcome: Floats
) -> None:
    """Draw up to M points one by one."""
    scale = math.sqrt(outcome[INFLATION])
    index = 0.0
    while True:
        index += 1.0
        draw_all(model, belief, draw, scale)
        if _hits(model, front, draw.theta, draw.values):
            outcome[LOG_HIT] = math.log(index)
            return
        if math.log(index) >= outcome[LOG_BUDGET]:
            outcome[LOG_HIT] = np.inf
            outcome[STOPPED] = 1.0
            return


@spliced
def _learn_weights(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    draw: Draw,
    learner: Learner,
    outcome: Floats,
    w: Floats,
) -> None:
    """AdaHedge's weights for this round into ``w``; then feed it the min learner's move."""
    weights(learner.gains, learner.gap[0], w)
    eta = options.eta
    radius = np.inf
    if eta == 0.0:
        radius = learner.estimate[0] + learner.estimate[1]
        eta = 1.0 / (8.0 * radius * radius)
    scale = 1.0 / math.sqrt(eta)
    if learner.count[FRESH] == 1:
        draw.theta[:] = learner.point
        if model.unstructured:
            draw.values[:] = draw.theta
        else:
            draw.values[:] = np.dot(model.Z, draw.theta)
        learner.count[FRESH] = 0
        hit = True
    elif options.draws != FIRST_HIT or radius < np.inf:
        outcome[LOG_LEARNED] = literal_hit(model, belief, front, draw, scale, radius)
        hit = outcome[LOG_LEARNED] < np.inf
    else:
        outcome[LOG_LEARNED] = first_hit(model, belief, front, draw, scale, np.inf)
        hit = outcome[LOG_LEARNED] < np.inf
    if not hit:
        return
    gains = np.empty(model.K)
    if options.sampling == POSTERIOR:
        posterior_gains(model, belief, front, draw, scale, gains)
    elif not projected_gains(model, belief, front, draw, gains):
        return
    learner.gap[0] = feed(learner.gains, learner.gap[0], w, gains)


@spliced
def choose(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    draw: Draw,
    learner: Learner,
    outcome: Floats,
    key: Stream,
) -> int:
    """Return the arm to pull next; it counts as pending until it is told."""
    K = model.K
    pending = learner.pending
    if model.unstructured:  # every arm once, in order
        for a in range(K):
            if belief.N[a] + pending[a] == 0.0:
                pending[a] += 1.0
                return a
    learner.count[ASKED] += 1
    asked = learner.count[ASKED]
    if options.sampling == ROUND_ROBIN:
        arm = int(np.argmin(belief.N + pending))
        pending[arm] += 1.0
        return arm
    w = np.empty(K)
    if options.sampling == UNIFORM:
        w[:] = 1.0 / K
    elif options.sampling == ORACLE:
        w[:] = options.target
    elif not ready(model, belief):  # asked ahead of the first results: explore
        w[:] = model.explore
    else:
        seed(draw.stream, key, asked, LEARN)
        _learn_weights(model, options, belief, front, draw, learner, outcome, w)
        gamma = float(asked) ** -options.alpha
        for a in range(K):
            w[a] = (1.0 - gamma) * w[a] + gamma * model.explore[a]
    arm = 0
    if options.tracking == TRACK and options.sampling != UNIFORM:
        deficit = -np.inf
        for a in range(K):
            learner.played[a] += w[a]
            short = learner.played[a] - belief.N[a] - pending[a]
            if short > deficit:
                arm, deficit = a, short
    else:
        seed(draw.stream, key, asked, PULL)
        u = uniform(draw.stream)
        for a in range(K):
            learner.played[a] += w[a]
            if w[a] > 0.0 and u > 0.0:
                arm = a
            u -= w[a]
    pending[arm] += 1.0
    return arm
