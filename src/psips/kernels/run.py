"""The entries into the compiled rounds: a session's single steps and whole runs."""

from __future__ import annotations

import numpy as np

from psips.kernels.belief import Belief, learn
from psips.kernels.cover import Cover
from psips.kernels.draws import Draw
from psips.kernels.evidence import weigh_evidence
from psips.kernels.front import Front
from psips.kernels.jit import kernel, lent
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
    model = Model(
        model.unstructured,
        model.diagonal,
        model.K,
        model.n,
        model.h,
        model.d,
        lent(model.A),
        lent(model.Z),
        lent(model.Sigma),
        lent(model.L),
        lent(model.P),
        model.xi,
        model.kind,
        lent(model.ball),
        lent(model.low),
        lent(model.high),
        lent(model.explore),
    )
    belief = Belief(
        lent(belief.pulls),
        lent(belief.N),
        lent(belief.B),
        lent(belief.theta),
        lent(belief.V),
        lent(belief.F),
        lent(belief.tally),
    )
    front = Front(
        lent(front.inside),
        lent(front.members),
        lent(front.live),
        lent(front.keeper),
        lent(front.mu),
        lent(front.W),
        lent(front.inverse),
        lent(front.reach),
        lent(front.size),
    )
    cover = Cover(
        lent(cover.shape),
        lent(cover.terms),
        lent(cover.y),
        lent(cover.gap),
        lent(cover.L),
        lent(cover.b),
        lent(cover.r),
        lent(cover.mass),
        lent(cover.scale),
        lent(cover.theta),
        lent(cover.N),
        lent(cover.V),
    )
    draw = Draw(
        lent(draw.stream),
        lent(draw.theta),
        lent(draw.values),
        lent(draw.drawn),
        lent(draw.shift),
        lent(draw.piece),
        lent(draw.p),
        lent(draw.made),
        lent(draw.lists),
        lent(draw.work),
    )
    learner = Learner(
        lent(learner.gains),
        lent(learner.gap),
        lent(learner.played),
        lent(learner.pending),
        lent(learner.estimate),
        lent(learner.point),
        lent(learner.tally),
    )
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
