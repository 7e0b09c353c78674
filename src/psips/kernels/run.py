"""The entries into the compiled rounds: a session's single steps and whole runs."""

from __future__ import annotations

import numpy as np

from psips.kernels.belief import Belief, learn
from psips.kernels.cover import Cover
from psips.kernels.draws import Draw
from psips.kernels.evidence import weigh_evidence
from psips.kernels.front import Front
from psips.kernels.jit import kernel
from psips.kernels.lending import (
    lend_belief,
    lend_cover,
    lend_draw,
    lend_front,
    lend_learner,
    lend_model,
)
from psips.kernels.model import Floats, Model
from psips.kernels.noise import Source, pull
from psips.kernels.rng import LEARN, Stream, seed
from psips.kernels.round import (
    ASKED,
    STOPPED,
    Learner,
    Options,
    evaluate,
    evaluate_literally,
    find_response,
    find_response_literally,
    fixed_weights,
    next_arm,
    play,
    unseen,
)

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
    model = lend_model(model)
    belief = lend_belief(belief)
    front = lend_front(front)
    cover = lend_cover(cover)
    draw = lend_draw(draw)
    learner = lend_learner(learner)
    x = np.empty(model.d)
    w = np.empty(model.K)
    stream = np.empty(4, np.uint64)
    arm = -1
    while True:
        if mode != TELL:
            if mode == RUN and (belief.tally[0] >= results or outcome[STOPPED] == 1.0):
                break
            arm = unseen(model, belief, learner)
            if arm >= 0:
                learner.pending[arm] += 1.0
            else:
                learner.tally[ASKED] += 1
                learned = not fixed_weights(model, options, belief, w)
                if learned:
                    seed(draw.stream, key, learner.tally[ASKED], LEARN)
                    scale = find_response(model, options, belief, front, cover, draw, outcome)
                    play(model, options, belief, front, draw, learner, scale, w)
                arm = next_arm(model, options, belief, learner, draw, key, learned, w)
            if mode == ASK:
                break
            pull(source, noise_key, arm, int(belief.pulls[arm]), stream, x)
            learner.pending[arm] -= 1.0
            learn(model, belief, arm, x)
        evaluate(model, options, belief, front, cover, draw, outcome, key)
        if mode == TELL:
            break
    return arm


@kernel
def drive_literally(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    draw: Draw,
    learner: Learner,
    outcome: Floats,
    key: Stream,
    source: Source,
    noise_key: Stream,
    mode: int,
    results: int,
) -> int:
    """As ``drive``, drawing as published."""
    x = np.empty(model.d)
    w = np.empty(model.K)
    stream = np.empty(4, np.uint64)
    arm = -1
    while True:
        if mode != TELL:
            if mode == RUN and (belief.tally[0] >= results or outcome[STOPPED] == 1.0):
                break
            arm = unseen(model, belief, learner)
            if arm >= 0:
                learner.pending[arm] += 1.0
            else:
                learner.tally[ASKED] += 1
                learned = not fixed_weights(model, options, belief, w)
                if learned:
                    seed(draw.stream, key, learner.tally[ASKED], LEARN)
                    scale = find_response_literally(
                        model, options, belief, front, draw, learner, outcome
                    )
                    play(model, options, belief, front, draw, learner, scale, w)
                arm = next_arm(model, options, belief, learner, draw, key, learned, w)
            if mode == ASK:
                break
            pull(source, noise_key, arm, int(belief.pulls[arm]), stream, x)
            learner.pending[arm] -= 1.0
            learn(model, belief, arm, x)
        evaluate_literally(model, options, belief, front, draw, learner, outcome, key)
        if mode == TELL:
            break
    return arm


@kernel
def drive_certainly(
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
    """As ``drive``, with the stopping rules that weigh the evidence instead of drawing."""
    x = np.empty(model.d)
    w = np.empty(model.K)
    stream = np.empty(4, np.uint64)
    arm = -1
    while True:
        if mode != TELL:
            if mode == RUN and (belief.tally[0] >= results or outcome[STOPPED] == 1.0):
                break
            arm = unseen(model, belief, learner)
            if arm >= 0:
                learner.pending[arm] += 1.0
            else:
                learner.tally[ASKED] += 1
                learned = not fixed_weights(model, options, belief, w)
                if learned:
                    seed(draw.stream, key, learner.tally[ASKED], LEARN)
                    scale = find_response(model, options, belief, front, cover, draw, outcome)
                    play(model, options, belief, front, draw, learner, scale, w)
                arm = next_arm(model, options, belief, learner, draw, key, learned, w)
            if mode == ASK:
                break
            pull(source, noise_key, arm, int(belief.pulls[arm]), stream, x)
            learner.pending[arm] -= 1.0
            learn(model, belief, arm, x)
        weigh_evidence(model, options, belief, front, cover, draw, outcome, key)
        if mode == TELL:
            break
    return arm
