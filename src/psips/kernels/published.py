"""PSIPS as published: stopping rule and learner read the same posterior draws."""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import RESULTS
from psips.kernels.choosing import (
    follow,
    hedge,
    informed,
    opening,
    share_of_exploring,
)
from psips.kernels.draws import NUMBER
from psips.kernels.front import LIVE, MEMBERS, copy_rows, find_change, image
from psips.kernels.grids import floats
from psips.kernels.jit import part, step
from psips.kernels.judging import calibrate_published
from psips.kernels.learner import posterior_gains, projected_gains, shares
from psips.kernels.literal import in_ball_hit, shared_draws
from psips.kernels.outcome import INFLATION, LOG_BUDGET, LOG_HIT, LOG_LEARNED, STOPPED
from psips.kernels.rng import LEARN, STOP, seed
from psips.kernels.state import ASKED, DIRECTED, FRESH, NOBODY, POSTERIOR, TRACK, Run
from psips.kernels.thresholds import radius_of_rewards


@step
def judge_unpublished(run: Run) -> int:
    """Go on."""
    prepare(run)
    return 0


@part
def prepare(run: Run) -> None:
    """Inflation and budget, and the radius of Algorithm 2 if it is in use."""
    belief, front = run.belief, run.front
    run.learner.tally[FRESH] = 0
    calibrate_published(run)
    if run.options.eta == 0.0:
        radius_of_rewards(
            run.model.P,
            belief.N,
            belief.theta,
            front.inside,
            front.members[: front.size[MEMBERS]],
            float(belief.tally[RESULTS]),
            run.learner.estimate,
        )


@step
def judge_published(run: Run) -> int:
    """Stop when none of M draws is in Alt(S_hat); the learner's hit is found on the way."""
    model, belief, front = run.model, run.belief, run.front
    learner, outcome, eta = run.learner, run.outcome, run.options.eta
    prepare(run)
    members = front.members[: front.size[MEMBERS]]
    seed(run.draw.stream, run.key, belief.tally[RESULTS], STOP)
    outcome[LOG_HIT], outcome[LOG_LEARNED] = shared_draws(
        model,
        belief,
        front,
        run.draw,
        members,
        outcome[INFLATION],
        outcome[LOG_BUDGET],
        max(eta, 1e-300),
        eta > 0.0 and run.options.learner != NOBODY,
        learner.point,
    )
    outcome[STOPPED] = 1.0 if outcome[LOG_HIT] == np.inf else 0.0
    learner.tally[FRESH] = 1 if outcome[LOG_LEARNED] < np.inf else 0
    return 0


@part
def find_hit(run: Run) -> float:
    """Take the hit of the shared draws, or of further ones; return its scale, 0 if none."""
    model, front, draw = run.model, run.front, run.draw
    learner, outcome = run.learner, run.outcome
    members = front.members[: front.size[MEMBERS]]
    eta = run.options.eta
    seed(draw.stream, run.key, learner.tally[ASKED], LEARN)
    if eta == 0.0:
        radius = learner.estimate[0] + learner.estimate[1]
        eta = 1.0 / (8.0 * radius * radius)
        outcome[LOG_LEARNED] = in_ball_hit(
            model, run.belief, front, draw, members, eta, radius, learner.point
        )
    elif learner.tally[FRESH] == 0:
        _, outcome[LOG_LEARNED] = shared_draws(
            model,
            run.belief,
            front,
            draw,
            members,
            1.0 / eta,
            outcome[LOG_BUDGET] + np.inf,
            eta,
            True,
            learner.point,
        )
    learner.tally[FRESH] = 0
    scale = 0.0
    if outcome[LOG_LEARNED] < np.inf:
        copy_rows(learner.point, draw.theta)
        draw.made[NUMBER] += 1.0
        for a in range(model.n):
            draw.drawn[a] = int(draw.made[NUMBER])
            if model.unstructured:
                for c in range(model.d):
                    draw.values[a, c] = learner.point[a, c]
            else:
                image(model.Z, learner.point, a, draw.values)
        live = front.live[: front.size[LIVE]]
        if find_change(draw.values, members, live, front.keeper, draw.piece):
            scale = 1.0 / math.sqrt(eta)
    return scale


@step
def choose_published(run: Run) -> int:
    """Learn from that hit, by the rule that ``run.options.learner`` says."""
    arm = opening(run)
    if arm >= 0:
        return arm
    if not informed(run):
        return follow(run, run.model.explore, 0.0, run.options.tracking == TRACK)
    w, gains = floats(run.model.K), floats(run.model.K)
    scale = find_hit(run)
    hit = scale > 0.0
    if hit and run.options.learner == POSTERIOR:
        posterior_gains(run.model, run.belief, run.front, run.draw, scale, gains)
    elif hit:
        hit = projected_gains(run.model, run.belief, run.front, run.draw, gains)
    gamma = share_of_exploring(run)
    if run.options.learner == DIRECTED:
        shares(run.belief.N, gains, run.model.costs, run.model.thrift, gamma, w)
        gamma = 0.0
    else:
        hedge(run, hit, gains, w)
    return follow(run, w, gamma, run.options.tracking == TRACK)
