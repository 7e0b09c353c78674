"""Gradient Track-and-Stop (Crepon, Garivier, Koolen 2024): weights by mirror ascent.

With F(w) the squared distance of theta_hat to Alt(S_hat) in the metric of the weights w (see
`psips.kernels.response`), the exact best response to w has gains g with F(v) <= v . g for all
v: a supergradient of F at w. Each ask moves the weights along it on the simplex,

    w <- w exp(g sqrt(log K) / (G sqrt(1 + t))), normalised,

with t the asks so far and G the largest entry of this gradient (the largest so far, one of the
first wild estimates, would keep the steps tiny for good), and mixes them with forced
exploration as the other learners do.
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import Belief, refactor
from psips.kernels.cone import Metric
from psips.kernels.cover import Cover
from psips.kernels.draws import Draw
from psips.kernels.front import MEMBERS, Front, elect_plainly, image
from psips.kernels.jit import part
from psips.kernels.model import Floats, Model
from psips.kernels.response import best_response, response_gains, response_move
from psips.kernels.rivals import Rival, clear_arms
from psips.kernels.rng import Stream
from psips.kernels.round import (
    ASKED,
    BY_APE,
    BY_GLR,
    EVIDENCE,
    STOPPED,
    THRESHOLD,
    Learner,
    Options,
    fixed_weights,
    judge_by_ratio,
    next_arm,
    unseen,
)

FLOOR = 1e-12  # weights below this fraction of the largest are raised to it


@part
def supergradient(model: Model, front: Front, w: Floats, gains: Floats) -> None:
    """Gains of the best response to ``w`` (K,), with the means as ``front`` has them."""
    n, d, h = model.n, model.d, model.h
    largest = 0.0
    for a in range(model.K):
        largest = max(largest, w[a])
    width = 0 if model.unstructured else h
    inverse = np.empty(model.K if model.unstructured else 0)
    W, AF = np.empty((model.Z.shape[0], width)), np.empty((model.A.shape[0], width))
    if model.unstructured:
        for a in range(model.K):
            inverse[a] = 1.0 / max(w[a], FLOOR * largest)
    else:
        V, F = np.zeros((h, h)), np.empty((h, h))
        scale = 0.0
        for a in range(model.K):
            for i in range(h):
                scale = max(scale, model.A[a, i] ** 2)
                for j in range(h):
                    V[i, j] += w[a] * model.A[a, i] * model.A[a, j]
        for i in range(h):
            V[i, i] += FLOOR * largest * scale
        refactor(V, F)
        for a in range(n):
            image(model.Z, F, a, W)
        for a in range(model.K):
            image(model.A, F, a, AF)
    size = front.size[MEMBERS]
    room = max(size, d)
    piece = np.empty(2, np.int64)
    over, by, weight = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    metric = Metric(model.unstructured, inverse, W, model.Sigma, front.mu)
    best_response(
        metric, front.members[:size], np.inf, np.ones((2, d + 1)), piece, over, by, weight
    )
    shift = np.empty((n if model.unstructured else h, d))
    response_move(metric, piece, over, by, weight, shift)
    response_gains(model.Sigma, AF, shift, gains)


@part
def ascend(logs: Floats, gains: Floats, t: float) -> None:
    """One step of mirror ascent; ``logs`` (K,) are the weights' logarithms, the largest 0."""
    K = logs.shape[0]
    steepest = 0.0
    for a in range(K):
        steepest = max(steepest, gains[a])
    if steepest > 0.0:
        rate = math.sqrt(math.log(float(K)) / (1.0 + t)) / steepest
        top = -np.inf
        for a in range(K):
            logs[a] += rate * gains[a]
            top = max(top, logs[a])
        for a in range(K):
            logs[a] -= top


@part
def normalise(logs: Floats, w: Floats) -> None:
    """Write the weights (K,)."""
    total = 0.0
    for a in range(logs.shape[0]):
        w[a] = math.exp(logs[a])
        total += w[a]
    for a in range(logs.shape[0]):
        w[a] /= total


@part
def choose_by_gradient(
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
    """Return the next arm; it counts as pending until it is told. ``w`` (K,) is room."""
    arm = unseen(model, belief, learner)
    if arm >= 0:
        learner.pending[arm] += 1.0
        return arm
    learner.tally[ASKED] += 1
    learned = not fixed_weights(model, options, belief, w)
    if learned:
        gains = np.empty(model.K)
        normalise(rival.logs, w)
        supergradient(model, front, w, gains)
        ascend(rival.logs, gains, float(learner.tally[ASKED]))
        normalise(rival.logs, w)
    return next_arm(model, options, belief, learner, draw, key, learned, w)


@part
def judge_plainly(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    outcome: Floats,
) -> None:
    """Candidate set and stopping rule for the data as they stand, without a cover."""
    elect_plainly(model, belief, front, draw.piece)
    outcome[STOPPED] = 0.0
    if options.stopping == BY_GLR:
        judge_by_ratio(model, options, belief, front, cover, draw, outcome)
    elif options.stopping == BY_APE:
        log_inverse = options.calibration.log_inverse
        outcome[THRESHOLD] = float(model.K)
        outcome[EVIDENCE] = float(clear_arms(model, belief, front, log_inverse))
        if outcome[EVIDENCE] >= outcome[THRESHOLD]:
            outcome[STOPPED] = 1.0
