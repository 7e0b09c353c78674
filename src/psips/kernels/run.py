"""Whole runs in one compiled loop, from the same kernels as a session."""

from __future__ import annotations

import numpy as np

from psips.kernels.belief import Belief, empty_belief, learn
from psips.kernels.draws import Draw, empty_draw
from psips.kernels.front import Front, empty_front
from psips.kernels.jit import kernel
from psips.kernels.model import Floats, Model
from psips.kernels.noise import Source, pull
from psips.kernels.rng import Stream
from psips.kernels.round import (
    STOPPED,
    Learner,
    Options,
    choose,
    empty_learner,
    evaluate,
)


@kernel
def advance(
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
    results: int,
) -> None:
    """Pull and tell until the rule stops or ``results`` results are in."""
    x = np.empty(model.d)
    stream = np.empty(4, np.uint64)
    if belief.count[0] == 0:
        evaluate(model, options, belief, front, draw, learner, outcome, key)
    while belief.count[0] < results and outcome[STOPPED] == 0.0:
        arm = choose(model, options, belief, front, draw, learner, outcome, key)
        pull(source, noise_key, arm, int(belief.N[arm]), stream, x)
        learner.pending[arm] -= 1.0
        learn(model, belief, arm, x)
        evaluate(model, options, belief, front, draw, learner, outcome, key)


@kernel
def run(
    model: Model,
    options: Options,
    capacity: int,
    key: Stream,
    source: Source,
    noise_key: Stream,
    results: int,
) -> tuple[Belief, Front, Learner, Floats, Floats]:
    """One run from nothing; returns its state, the outcome and the counts of draws."""
    belief = empty_belief(model)
    front = empty_front(model, capacity)
    draw = empty_draw(model, capacity)
    learner = empty_learner(model)
    outcome = np.zeros(8)
    advance(
        model, options, belief, front, draw, learner, outcome, key, source, noise_key, results
    )
    return belief, front, learner, outcome, draw.proposals
