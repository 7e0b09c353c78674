"""Stopping rules that weigh the evidence against Alt(S_hat) instead of drawing from it.

``glr``: stop when the likelihood ratio is large, see `psips.kernels.ratio`. ``certified``:
stop when no verdict is open, see `psips.kernels.certificates`. ``bayes``: stop when the
posterior probability of Alt(S_hat) is at most delta, see `psips.kernels.estimate`. ``ape``:
stop when all of APE's indices are at least 0, see `psips.kernels.rivals`.
"""

from __future__ import annotations

from psips.kernels.belief import Belief, ready
from psips.kernels.certificates import all_settled
from psips.kernels.cover import Cover, refresh
from psips.kernels.draws import Draw
from psips.kernels.estimate import sure_enough
from psips.kernels.front import (
    EAGER,
    Front,
    elect_plainly,
)
from psips.kernels.jit import spliced
from psips.kernels.model import Floats, Model
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
    judge_by_ratio,
)
from psips.kernels.tree import build


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
            judge_by_ratio(model, options, belief, front, cover, draw, outcome)
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
