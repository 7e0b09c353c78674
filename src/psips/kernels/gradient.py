"""Gradient Track-and-Stop (Crepon, Garivier, Koolen 2024): weights by mirror ascent.

With F(w) the squared distance of theta_hat to Alt(S_hat) in the metric of the weights w (see
`psips.kernels.response`), the exact best response to w has gains g with F(v) <= v . g for all
v: a supergradient of F at w. Each ask moves the weights along it on the simplex,

    w <- w exp(g sqrt(log K) / (G sqrt(1 + t))), normalised,

with t the asks so far and G the largest entry of this gradient, and mixes them with forced
exploration as the other learners do. (As published G is the largest entry so far, one of the
first wild estimates, which keeps the steps small; the arm pulled is the one furthest behind the
weights of now; and every arm is pulled about sqrt(t) times. On COV-BOOST that took 13% more
samples at delta 0.1 and 14% more at 0.01, in 100 runs each, whose intervals overlap.)
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats
from psips.kernels.choosing import follow, informed, opening, share_of_exploring
from psips.kernels.front import MEMBERS
from psips.kernels.grids import floats, ints
from psips.kernels.jit import part, step
from psips.kernels.posterior import refresh_means
from psips.kernels.response import best_response, make_room, response_gains
from psips.kernels.rival import Design, weigh_arms
from psips.kernels.scene import Scene
from psips.kernels.state import ASKED, TRACK, Run


@part
def supergradient(scene: Scene, design: Design, w: Floats, gains: Floats) -> None:
    """Gains of the best response to ``w`` (K,), with the means as they are estimated."""
    front, p, d = scene.front, design.posterior, scene.model.d
    weigh_arms(design, w, scene.posterior.mu)
    members = front.members[: front.size[MEMBERS]]
    length = max(members.shape[0], d)
    piece = ints(3)
    over, by, weight = ints(length), ints(length), floats(length)
    best_response(p, members, np.inf, piece, over, by, weight)
    response_gains(p, piece, over, by, weight, make_room(p).shift, gains)


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
    scene, model, logs = run.scene, run.scene.model, run.rival.logs
    track = run.options.tracking == TRACK
    if not informed(run):
        return follow(run, model.explore, 0.0, track)
    refresh_means(scene.posterior)  # a cover refreshes only what it needs
    w, gains = floats(model.K), floats(model.K)
    normalise(logs, w)
    supergradient(scene, run.rival.design, w, gains)
    ascend(logs, gains, float(run.learner.tally[ASKED]))
    normalise(logs, w)
    return follow(run, w, share_of_exploring(run), track)
