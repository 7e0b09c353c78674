"""The state of the rival methods."""

from __future__ import annotations

import numpy as np

from psips.kernels.cone import Metric
from psips.kernels.front import Front
from psips.kernels.model import Floats, Ints, Model
from psips.kernels.records import Record, record

# Standing of an arm in the elimination.
ACTIVE, ACCEPTED, DROPPED = range(3)


@record
class Design(Record):
    """A design to respond to, for Track-and-Stop; written anew each time."""

    metric: Metric
    AF: Floats  # (K, h) arms, whitened; (0, 0) if unstructured


@record
class Rival(Record):
    """State of the rival methods; updated in place."""

    standing: Ints  # (K,) ACTIVE, ACCEPTED or DROPPED
    rounds: Ints  # (1,) rounds of the elimination that are over
    logs: Floats  # (K,) logarithms of Track-and-Stop's weights, the largest 0
    design: Design


def empty_rival(model: Model, front: Front) -> Rival:
    """Return the state of a method that has not begun."""
    K = model.K
    W, inverse = np.zeros_like(front.W), np.zeros_like(front.inverse)
    metric = Metric(model.unstructured, inverse, W, model.Sigma, front.mu)
    design = Design(metric, np.zeros((model.A.shape[0], W.shape[1])))
    return Rival(np.zeros(K, np.int64), np.zeros(1, np.int64), np.zeros(K), design)
