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

from psips.kernels.belief import refactor
from psips.kernels.choosing import follow, informed, opening, share_of_exploring
from psips.kernels.front import MEMBERS, Front, image, refresh_means
from psips.kernels.grids import floats, floats2, ints
from psips.kernels.jit import part, step
from psips.kernels.model import Floats, Model
from psips.kernels.response import best_response, no_handicap, response_gains, response_move
from psips.kernels.rival import Design
from psips.kernels.state import ASKED, TRACK, Run

FLOOR = 1e-12  # weights below this fraction of the largest are raised to it


@part
def supergradient(model: Model, front: Front, design: Design, w: Floats, gains: Floats) -> None:
    """Gains of the best response to ``w`` (K,), with the means as ``front`` has them."""
    n, d, h = model.n, model.d, model.h
    largest = 0.0
    for a in range(model.K):
        largest = max(largest, w[a])
    metric, AF = design.metric, design.AF
    inverse, W = metric.inverse, metric.W
    if model.unstructured:
        for a in range(model.K):
            inverse[a] = 1.0 / max(w[a], FLOOR * largest)
    else:
        V, F = floats2(h, h), floats2(h, h)
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
    piece = ints(2)
    over, by, weight = ints(room), ints(room), floats(room)
    best_response(metric, front.members[:size], np.inf, no_handicap(d), piece, over, by, weight)
    shift = floats2(n if model.unstructured else h, d)
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


@step
def choose_track_and_stop(run: Run) -> int:
    """Follow weights that ascend towards w* on the estimates."""
    arm = opening(run)
    if arm >= 0:
        return arm
    model, belief, front, logs = run.model, run.belief, run.front, run.rival.logs
    track = run.options.tracking == TRACK
    if not informed(run):
        return follow(run, model.explore, 0.0, track)
    refresh_means(  # a cover refreshes only what it needs
        model.unstructured, belief.N, belief.theta, model.Z, front.mu, front.inverse
    )
    w, gains = floats(model.K), floats(model.K)
    normalise(logs, w)
    supergradient(model, front, run.rival.design, w, gains)
    ascend(logs, gains, float(run.learner.tally[ASKED]))
    normalise(logs, w)
    return follow(run, w, share_of_exploring(run), track)
