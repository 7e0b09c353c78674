"""Stopping rules that weigh the evidence against Alt(S_hat) instead of drawing from it.

``glr``: stop when half the squared distance of theta_hat to Alt(S_hat), in the metric of the
counts, exceeds a threshold; with beta(t, delta) of Lemma concentration_threshold the truth
is nearer than that at all times with probability 1 - delta. ``certified``: stop when no
verdict is open, see `psips.kernels.certificates`. ``bayes``: stop when the posterior
probability of Alt(S_hat) is at most delta, see `psips.kernels.estimate`. ``ape``: stop when
all of APE's indices are at least 0, see `psips.kernels.rivals`.
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import Belief, ready
from psips.kernels.certificates import all_settled
from psips.kernels.cone import Metric
from psips.kernels.cover import Cover, refresh
from psips.kernels.draws import Draw
from psips.kernels.estimate import sure_enough
from psips.kernels.front import (
    EAGER,
    MEMBERS,
    Front,
    elect_plainly,
    image,
    metric_of,
    refresh_means,
)
from psips.kernels.jit import part, spliced
from psips.kernels.model import Floats, Model
from psips.kernels.response import best_response
from psips.kernels.rivals import clear_arms
from psips.kernels.rng import STOP, Stream, seed
from psips.kernels.round import (
    BY_APE,
    BY_BAYES,
    BY_CERTIFICATES,
    BY_GLR,
    EVIDENCE,
    HINT,
    STOPPED,
    THRESHOLD,
    Options,
)
from psips.kernels.thresholds import PROVEN, Calibration, beta
from psips.kernels.tree import build


@part
def glr_threshold(model: Model, calibration: Calibration, t: float) -> float:
    """Return what the GLR must exceed after ``t`` results."""
    log_inverse = calibration.log_inverse
    if calibration.code == PROVEN:
        return beta(
            model.unstructured,
            model.K,
            model.h,
            model.d,
            model.xi,
            calibration.extent,
            calibration.bias,
            t,
            log_inverse,
        )
    return log_inverse + math.log(math.log(1.0 + max(t, math.e)))


@part
def likelihood_ratio(model: Model, belief: Belief, front: Front, ceiling: float) -> float:
    """GLR of theta_hat against Alt(S_hat), or ``ceiling`` if it is larger."""
    refresh_means(model.unstructured, belief.N, belief.theta, model.Z, front.mu, front.inverse)
    if not model.unstructured:
        for a in range(model.n):
            image(model.Z, belief.F, a, front.W)
    size = front.size[MEMBERS]
    room = max(size, model.d)
    piece = np.empty(2, np.int64)
    over, by, weight = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    metric: Metric = metric_of(model, front)
    square = best_response(metric, front.members[:size], 2.0 * ceiling, piece, over, by, weight)
    return 0.5 * square


@spliced
def weigh_evidence(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    outcome: Floats,
    key: Stream,
) -> None:
    """Candidate set and stopping rule for the data as they stand."""
    size = front.size
    outcome[STOPPED] = 0.0
    if ready(model.unstructured, belief.pulls, belief.tally):
        if size[EAGER] == 2:
            size[EAGER] = 1
        if size[EAGER] == 1:
            elect_plainly(model, belief, front, draw.piece)
        elif not refresh(model, belief, front, cover, draw.piece):
            build(model, belief, front, cover, front.reach[2])
        front.reach[2] = max(1.0, 1.0 / options.eta)
        if options.stopping == BY_GLR:
            t = float(belief.tally[0])
            outcome[THRESHOLD] = glr_threshold(model, options.calibration, t)
            outcome[EVIDENCE] = likelihood_ratio(model, belief, front, outcome[THRESHOLD])
            if outcome[EVIDENCE] >= outcome[THRESHOLD]:
                outcome[STOPPED] = 1.0
        elif options.stopping == BY_CERTIFICATES:
            log_inverse = options.calibration.log_inverse
            if all_settled(model, belief, front, log_inverse, outcome[HINT:]):
                outcome[STOPPED] = 1.0
        elif options.stopping == BY_APE:
            log_inverse = options.calibration.log_inverse
            outcome[THRESHOLD] = float(model.K)
            outcome[EVIDENCE] = float(clear_arms(model, belief, front, log_inverse))
            if outcome[EVIDENCE] >= outcome[THRESHOLD]:
                outcome[STOPPED] = 1.0
        elif options.stopping == BY_BAYES:
            seed(draw.stream, key, belief.tally[0], STOP)
            outcome[THRESHOLD] = options.calibration.log_inverse
            outcome[EVIDENCE] = -sure_enough(
                model, belief, front, cover, draw, -options.calibration.log_inverse
            )
            if outcome[EVIDENCE] >= outcome[THRESHOLD]:
                outcome[STOPPED] = 1.0
