"""Stopping rules: whether the results told so far suffice.

Each rule is one step ``judge(run)``, taken after the candidate set was renewed; it writes
into ``run.outcome``.
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import RESULTS
from psips.kernels.choosing import first_hit
from psips.kernels.codes import GOAL, WHOLE
from psips.kernels.cover import SPARE, STOPPER, begin_round, is_eager
from psips.kernels.estimate import sure_enough
from psips.kernels.front import MEMBERS
from psips.kernels.grids import ints
from psips.kernels.jit import call, part, step
from psips.kernels.outcome import (
    EVIDENCE,
    HINT,
    INFLATION,
    LOG_BUDGET,
    LOG_HIT,
    STOPPED,
    THRESHOLD,
)
from psips.kernels.ratio import (
    glr_threshold,
    is_time,
    nearest_falls_short,
    passes,
    weigh_pieces,
)
from psips.kernels.renewing import elect_plainly, refresh
from psips.kernels.rng import STOP, seed
from psips.kernels.settling import all_settled, reached
from psips.kernels.state import NEW, REBUILD, Run
from psips.kernels.thresholds import MEASURED, inflation_and_budget
from psips.kernels.tree import build


@step
def renew_set(run: Run) -> int:
    """Bring the candidate set up to date."""
    elect_plainly(run.scene)
    return 0


@step
def renew_cover(run: Run) -> int:
    """Bring the candidate set up to date, and its cover if there is one."""
    begin_round(run.scene.cover)
    if is_eager(run.scene.cover):
        elect_plainly(run.scene)
    elif not refresh(run.scene):
        call(run.steps[REBUILD], run)
    return 0


@step
def rebuild(run: Run) -> int:
    """Make the candidate set and its cover anew."""
    build(run.scene, run.scene.cover.reach[SPARE])
    return 0


@part
def calibrate(run: Run) -> None:
    """Inflation and budget for the results told so far, and how far a cover must reach."""
    calibrate_published(run)
    run.scene.cover.reach[SPARE] = max(run.outcome[INFLATION], 1.0 / run.options.eta)


@part
def calibrate_published(run: Run) -> None:
    """Inflation and budget for the results told so far."""
    t = float(run.scene.belief.tally[RESULTS])
    run.outcome[INFLATION], run.outcome[LOG_BUDGET] = inflation_and_budget(
        run.scene.model, run.options.calibration, t, run.scene.front.size[MEMBERS]
    )


@part
def no_draws(run: Run) -> None:
    """Let a cover reach as far as the learner's draws: the rule itself draws nothing."""
    run.scene.cover.reach[SPARE] = max(1.0, 1.0 / run.options.eta)


@step
def judge_never(run: Run) -> int:
    """Go on."""
    calibrate(run)
    return 0


@step
def judge_posterior(run: Run) -> int:
    """Stop when none of M draws of the inflated posterior is in Alt(S_hat)."""
    outcome = run.outcome
    calibrate(run)
    seed(run.scene.draw.stream, run.key, run.scene.belief.tally[RESULTS], STOP)
    scale = math.sqrt(outcome[INFLATION])
    outcome[LOG_HIT] = first_hit(run, STOPPER, scale, outcome[LOG_BUDGET])
    outcome[STOPPED] = 1.0 if outcome[LOG_HIT] == np.inf else 0.0
    return 0


@step
def judge_glr(run: Run) -> int:
    """Stop when the likelihood ratio against every other set is large.

    EVIDENCE is told at the stop only: before it, a bound from an earlier round may have been
    enough to go on. `psips.kernels.ratio.weigh_ratio` has it in full.
    """
    scene, outcome, calibration = run.scene, run.outcome, run.options.calibration
    calibrate(run)
    t = scene.belief.tally[RESULTS]
    threshold = glr_threshold(scene.model, calibration, float(t))
    if calibration.code == MEASURED:
        found = 0.0
        if is_time(t, run.latest[NEW]) and not nearest_falls_short(
            scene, calibration, threshold
        ):
            no_draws(run)
            call(run.steps[REBUILD], run)
            found, threshold = weigh_pieces(scene, calibration)
    else:
        found = passes(scene, threshold)
    outcome[THRESHOLD] = threshold
    outcome[STOPPED] = 1.0 if found >= threshold else 0.0
    outcome[EVIDENCE] = found if found >= threshold else 0.0
    return 0


@step
def judge_certified(run: Run) -> int:
    """Stop when no verdict is open, or the goal is reached."""
    no_draws(run)
    scene, log_inverse, goal = run.scene, run.options.calibration.log_inverse, run.options.goal
    model, belief, front = scene.model, scene.belief, scene.front
    hint = run.outcome[HINT:]
    if goal[GOAL] == WHOLE:
        nothing = ints(model.n)
        settled = all_settled(model, belief, front, log_inverse, nothing, hint)
    else:
        settled = reached(model, belief, front, log_inverse, goal, hint)
    run.outcome[STOPPED] = 1.0 if settled else 0.0
    return 0


@step
def judge_bayes(run: Run) -> int:
    """Stop when the posterior probability of Alt(S_hat) is at most delta."""
    outcome, log_inverse = run.outcome, run.options.calibration.log_inverse
    no_draws(run)
    seed(run.scene.draw.stream, run.key, run.scene.belief.tally[RESULTS], STOP)
    outcome[THRESHOLD] = log_inverse
    outcome[EVIDENCE] = -sure_enough(run.scene, -log_inverse)
    outcome[STOPPED] = 1.0 if outcome[EVIDENCE] >= outcome[THRESHOLD] else 0.0
    return 0
