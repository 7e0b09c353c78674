"""The one entry into the compiled rounds: a session's single steps and whole runs."""

from __future__ import annotations

import numpy as np

from psips.kernels.belief import Belief, learn
from psips.kernels.cover import Cover
from psips.kernels.draws import Draw
from psips.kernels.front import Front
from psips.kernels.jit import kernel
from psips.kernels.model import Floats, Model
from psips.kernels.noise import Source, pull
from psips.kernels.rng import Stream
from psips.kernels.round import STOPPED, Learner, Options, choose, evaluate

TELL, ASK, RUN = range(3)


@kernel
def drive(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    learner: Learner,
    outcome: Floats,
    key: Stream,
    source: Source,
    noise_key: Stream,
    mode: int,
    results: int,
) -> int:
    """TELL: judge the data as they stand. ASK: return the next arm. RUN: do both in turn.

    A run pulls from ``source`` until the rule stops or ``results`` results are in.
    """
    arm = -1
    x = np.empty(model.d)
    stream = np.empty(4, np.uint64)
    while True:
        if mode != TELL:
            if mode == RUN and (belief.count[0] >= results or outcome[STOPPED] == 1.0):
                break
            arm = choose(model, options, belief, front, cover, draw, learner, outcome, key)
            if mode == ASK:
                break
            pull(source, noise_key, arm, int(belief.N[arm]), stream, x)
            learner.pending[arm] -= 1.0
            learn(model, belief, arm, x)
        evaluate(model, options, belief, front, cover, draw, learner, outcome, key)
        if mode == TELL:
            break
    return arm
