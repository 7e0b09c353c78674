"""The loop of a run: choose an arm, pull it, learn, renew the candidate set, judge.

What a rule does is behind a pointer to its step, so that the loop is compiled once, and a rule
when it is first used.
"""

from __future__ import annotations

from psips.kernels.belief import RESULTS, learn, ready
from psips.kernels.grids import as_grid, floats, words
from psips.kernels.jit import call, kernel
from psips.kernels.model import Stream
from psips.kernels.noise import Source, pull
from psips.kernels.outcome import STOPPED
from psips.kernels.state import Run

TELL, ASK, RUN = range(3)
PREDICT = -2  # in the place of an arm: a set is to be predicted


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

    A run pulls from ``source`` until the rule stops or ``results`` results are in.
    """
    model, belief = run.scene.model, run.scene.belief
    x, stream, noise = floats(model.d), words(4), as_grid(noise_key)
    arm = -1
    while True:
        if mode != TELL:
            if mode == RUN and (
                belief.tally[RESULTS] >= results or run.outcome[STOPPED] == 1.0
            ):
                break
            arm = call(choose, run)
            if mode == ASK:
                break
            pull(source, noise, arm, int(belief.pulls[arm]), stream, x)
            run.learner.pending[arm] -= 1.0
            learn(model, belief, arm, x)
        if ready(model, belief):
            call(renew, run)
            if call(judge, run) == PREDICT:
                arm = PREDICT
                break
        if mode == TELL:
            break
    return arm
