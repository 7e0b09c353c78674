"""The loop of a run: choose an arm, pull it, learn, renew the candidate set, judge.

What a rule does is behind a pointer to its step, so that the loop is compiled once, and a rule
when it is first used.
"""

from __future__ import annotations

import math

from psips.aliases import Stream
from psips.kernels.belief import RESULTS, average, learn, ready
from psips.kernels.budget import NO_ROOM, within_budget
from psips.kernels.grids import as_grid, words
from psips.kernels.jit import call, kernel, step
from psips.kernels.noise import Source, pull
from psips.kernels.outcome import STOPPED
from psips.kernels.state import ARM, LEARN, ROOM, Run

TELL, ASK, RUN = range(3)
PREDICT = -2  # in the place of an arm: a set is to be predicted


@step
def learn_pulled(run: Run) -> int:
    """Take in the result just pulled, where that is more than its arm's mean."""
    learn(run.scene.model, run.scene.belief, run.latest[ARM], run.result)
    return 0


@kernel
def drive(
    run: Run,
    choose: int,
    renew: int,
    judge: int,
    source: Source,
    noise_key: Stream,
    mode: int,
    results: int,
) -> int:
    """TELL: judge the data as they stand. ASK: return the next arm. RUN: do both in turn.

    A run pulls from ``source`` until the rule stops, ``results`` results are in, or nothing is
    left that the budget has room for: NO_ROOM is returned then.
    """
    model, belief = run.scene.model, run.scene.belief
    x, stream, noise = run.result, words(4), as_grid(noise_key)
    arm = -1
    while True:
        if mode != TELL:
            if mode == RUN and (
                belief.tally[RESULTS] >= results or run.outcome[STOPPED] == 1.0
            ):
                break
            arm = call(choose, run)
            if run.room[ROOM] < math.inf:
                arm = within_budget(run, arm)
            if mode == ASK or arm == NO_ROOM:
                break
            pull(source, noise, arm, int(belief.pulls[arm]), stream, x)
            run.learner.pending[arm] -= 1.0
            if run.steps[LEARN] == 0:
                average(belief, arm, x)
            else:
                run.latest[ARM] = arm
                call(run.steps[LEARN], run)
        if ready(model, belief):
            call(renew, run)
            if call(judge, run) == PREDICT:
                arm = PREDICT
                break
        if mode == TELL:
            break
    return arm
