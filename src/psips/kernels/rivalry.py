"""The entries into the rounds of rival methods, as `psips.kernels.run` has them for the rest.

Each compiles only what it needs: the rivals with their own stopping rules are small.
"""

from __future__ import annotations

import numpy as np

from psips.kernels.belief import Belief, learn, ready
from psips.kernels.cover import Cover
from psips.kernels.draws import Draw
from psips.kernels.evidence import weigh_evidence
from psips.kernels.front import Front, refresh_means
from psips.kernels.gradient import choose_by_gradient, judge_plainly
from psips.kernels.jit import kernel, part, spliced
from psips.kernels.lending import (
    lend_belief,
    lend_draw,
    lend_front,
    lend_learner,
    lend_model,
    lend_rival,
    lend_source,
)
from psips.kernels.model import Floats, Model
from psips.kernels.noise import Source, pull
from psips.kernels.rivals import Rival, choose_by_rule, judge_by_radii
from psips.kernels.rng import Stream
from psips.kernels.round import STOPPED, TRACK_AND_STOP, Learner, Options, evaluate
from psips.kernels.run import ASK, RUN, TELL


@part
def measure(
    model: Model,
    belief: Belief,
    learner: Learner,
    source: Source,
    noise_key: Stream,
    arm: int,
    stream: Stream,
    x: Floats,
) -> None:
    """Pull ``arm``, which was asked for, and learn from the result."""
    pull(source, noise_key, arm, int(belief.pulls[arm]), stream, x)
    learner.pending[arm] -= 1.0
    learn(model, belief, arm, x)


@spliced
def choose(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    draw: Draw,
    learner: Learner,
    rival: Rival,
    key: Stream,
    w: Floats,
) -> int:
    """Return the next arm by any of the rival methods."""
    if options.sampling == TRACK_AND_STOP:
        if ready(
            model.unstructured, belief.pulls, belief.tally
        ):  # a cover refreshes only what it needs
            refresh_means(
                model.unstructured, belief.N, belief.theta, model.Z, front.mu, front.inverse
            )
        arm = choose_by_gradient(model, options, belief, front, draw, learner, rival, key, w)
    else:
        arm = choose_by_rule(model, options, belief, front, draw, learner, rival, key, w)
    return arm


@kernel
def drive_rivals(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,  # noqa: ARG001  the entries are called alike
    draw: Draw,
    learner: Learner,
    rival: Rival,
    outcome: Floats,
    key: Stream,
    source: Source,
    noise_key: Stream,
    mode: int,
    results: int,
) -> int:
    """As ``drive``, for methods that compare radii: APE, elimination; or never stop."""
    model, belief = lend_model(model), lend_belief(belief)
    front, learner, draw = lend_front(front), lend_learner(learner), lend_draw(draw)
    rival, source = lend_rival(rival), lend_source(source)
    x, w, stream = np.empty(model.d), np.empty(model.K), np.empty(4, np.uint64)
    arm = -1
    while True:
        if mode != TELL:
            if mode == RUN and (belief.tally[0] >= results or outcome[STOPPED] == 1.0):
                break
            arm = choose_by_rule(model, options, belief, front, draw, learner, rival, key, w)
            if mode == ASK:
                break
            measure(model, belief, learner, source, noise_key, arm, stream, x)
        judge_by_radii(model, options, belief, front, draw, rival, outcome)
        if mode == TELL:
            break
    return arm


@kernel
def drive_gradient(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    learner: Learner,
    rival: Rival,
    outcome: Floats,
    key: Stream,
    source: Source,
    noise_key: Stream,
    mode: int,
    results: int,
) -> int:
    """As ``drive``, for Track-and-Stop with the likelihood ratio."""
    model, belief = lend_model(model), lend_belief(belief)
    front, learner, draw = lend_front(front), lend_learner(learner), lend_draw(draw)
    rival, source = lend_rival(rival), lend_source(source)
    x, w, stream = np.empty(model.d), np.empty(model.K), np.empty(4, np.uint64)
    arm = -1
    while True:
        if mode != TELL:
            if mode == RUN and (belief.tally[0] >= results or outcome[STOPPED] == 1.0):
                break
            arm = choose_by_gradient(
                model, options, belief, front, draw, learner, rival, key, w
            )
            if mode == ASK:
                break
            measure(model, belief, learner, source, noise_key, arm, stream, x)
        if ready(model.unstructured, belief.pulls, belief.tally):
            judge_plainly(model, options, belief, front, cover, draw, outcome)
        if mode == TELL:
            break
    return arm


@kernel
def drive_rivals_drawing(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    learner: Learner,
    rival: Rival,
    outcome: Floats,
    key: Stream,
    source: Source,
    noise_key: Stream,
    mode: int,
    results: int,
) -> int:
    """As ``drive``, for any rival method with the posterior stopping rule."""
    x, w, stream = np.empty(model.d), np.empty(model.K), np.empty(4, np.uint64)
    arm = -1
    while True:
        if mode != TELL:
            if mode == RUN and (belief.tally[0] >= results or outcome[STOPPED] == 1.0):
                break
            arm = choose(model, options, belief, front, draw, learner, rival, key, w)
            if mode == ASK:
                break
            measure(model, belief, learner, source, noise_key, arm, stream, x)
        evaluate(model, options, belief, front, cover, draw, outcome, key)
        if mode == TELL:
            break
    return arm


@kernel
def drive_rivals_certainly(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    learner: Learner,
    rival: Rival,
    outcome: Floats,
    key: Stream,
    source: Source,
    noise_key: Stream,
    mode: int,
    results: int,
) -> int:
    """As ``drive_certainly``, for any rival method."""
    x, w, stream = np.empty(model.d), np.empty(model.K), np.empty(4, np.uint64)
    arm = -1
    while True:
        if mode != TELL:
            if mode == RUN and (belief.tally[0] >= results or outcome[STOPPED] == 1.0):
                break
            arm = choose(model, options, belief, front, draw, learner, rival, key, w)
            if mode == ASK:
                break
            measure(model, belief, learner, source, noise_key, arm, stream, x)
        weigh_evidence(model, options, belief, front, cover, draw, outcome, key)
        if mode == TELL:
            break
    return arm
