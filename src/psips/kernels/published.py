"""PSIPS as published: stopping rule and learner read the same posterior draws."""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import RESULTS
from psips.kernels.choosing import follow, hedge, informed, opening, share_of_exploring
from psips.kernels.draws import changes_set
from psips.kernels.grids import floats
from psips.kernels.jit import part, step
from psips.kernels.judging import calibrate_published
from psips.kernels.learner import aimed, posterior_gains, projected_gains
from psips.kernels.literal import in_ball_hit, shared_draws, write_answers
from psips.kernels.outcome import INFLATION, LOG_BUDGET, LOG_HIT, LOG_LEARNED, STOPPED
from psips.kernels.rng import LEARN, STOP, seed
from psips.kernels.scene import NUMBER
from psips.kernels.state import ASKED, DIRECTED, FRESH, NOBODY, POSTERIOR, TRACK, Run
from psips.kernels.thresholds import CENTRE, SPREAD, radius_of_rewards


@step
def judge_unpublished(run: Run) -> int:
    """Go on."""
    prepare(run)
    return 0


@part
def prepare(run: Run) -> None:
    """Inflation and budget, and the radius of Algorithm 2 if it is in use."""
    scene = run.scene
    run.learner.tally[FRESH] = 0
    calibrate_published(run)
    if run.options.halves:
        radius_of_rewards(
            scene.model,
            scene.belief,
            scene.front,
            run.options.calibration,
            float(scene.belief.tally[RESULTS]),
            run.learner.estimate,
        )


@step
def judge_published(run: Run) -> int:
    """Stop when none of M draws is in Alt(S_hat); the learner's hit is found on the way."""
    scene, learner, outcome, options = run.scene, run.learner, run.outcome, run.options
    prepare(run)
    seed(scene.draw.stream, run.key, scene.belief.tally[RESULTS], STOP)
    learns = options.learner != NOBODY and not options.halves
    outcome[LOG_HIT], outcome[LOG_LEARNED] = shared_draws(
        scene,
        math.sqrt(outcome[INFLATION]),
        outcome[LOG_BUDGET],
        1.0 / math.sqrt(options.eta) if learns else 0.0,
        learner.point,
    )
    outcome[STOPPED] = 1.0 if outcome[LOG_HIT] == np.inf else 0.0
    learner.tally[FRESH] = 1 if outcome[LOG_LEARNED] < np.inf else 0
    return 0


@part
def find_hit(run: Run) -> float:
    """Take the hit of the shared draws, or of further ones; return its scale, 0 if none."""
    scene, draw, learner, outcome = run.scene, run.scene.draw, run.learner, run.outcome
    scale = 1.0 / math.sqrt(run.options.eta)
    seed(draw.stream, run.key, learner.tally[ASKED], LEARN)
    if run.options.halves:
        radius = learner.estimate[SPREAD] + learner.estimate[CENTRE]
        scale = math.sqrt(8.0) * radius
        outcome[LOG_LEARNED] = in_ball_hit(scene, scale, radius, learner.point)
    elif learner.tally[FRESH] == 0:
        _, outcome[LOG_LEARNED] = shared_draws(scene, 0.0, np.inf, scale, learner.point)
    learner.tally[FRESH] = 0
    if outcome[LOG_LEARNED] == np.inf:
        return 0.0
    draw.made[NUMBER] += 1.0
    write_answers(scene, learner.point)
    for a in range(scene.model.n):
        draw.drawn[a] = int(draw.made[NUMBER])
    for i in range(scene.model.h):
        for c in range(scene.model.d):
            draw.theta[i, c] = learner.point[i, c]
    return scale if changes_set(scene, draw.values) else 0.0


@step
def choose_published(run: Run) -> int:
    """Learn from that hit, by the rule that ``run.options.learner`` says."""
    arm = opening(run)
    if arm >= 0:
        return arm
    model = run.scene.model
    if not informed(run):
        return follow(run, model.explore, 0.0, run.options.tracking == TRACK)
    w, gains = floats(model.K), floats(model.K)
    scale = find_hit(run)
    hit = scale > 0.0
    if hit and run.options.learner == POSTERIOR:
        posterior_gains(run.scene, scale, gains)
    elif hit:
        hit = projected_gains(run.scene, gains)
    gamma = share_of_exploring(run)
    if run.options.learner == DIRECTED:
        aimed(model, run.scene.belief.N, gains, gamma, w)
        gamma = 0.0
    else:
        hedge(run, hit, gains, w)
    return follow(run, w, gamma, run.options.tracking == TRACK)
