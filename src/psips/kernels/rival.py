"""The state of the rival methods."""

from __future__ import annotations

import numpy as np

from psips.aliases import Floats, Ints
from psips.kernels.belief import refactor
from psips.kernels.jit import bare, part
from psips.kernels.model import Model
from psips.kernels.posterior import Posterior, fill, follow_control, image, posterior_of
from psips.kernels.records import Record, record

# Standing of an arm in the elimination.
ACTIVE, ACCEPTED, DROPPED = range(3)
# Place in Rival.rounds.
OVER = 0
FLOOR = 1e-12  # weights below this fraction of the largest are raised to it


@record
class Design(Record):
    """A design to respond to, for Track-and-Stop; written anew each time."""

    posterior: Posterior  # with weights in the place of pulls
    V: Floats  # (h, h) its precision, (0, 0) if unstructured


@record
class Rival(Record):
    """State of the rival methods; updated in place."""

    standing: Ints  # (K,) ACTIVE, ACCEPTED or DROPPED
    rounds: Ints  # (1,) rounds of the elimination that are over
    logs: Floats  # (K,) logarithms of Track-and-Stop's weights, the largest 0
    design: Design


def empty_rival(model: Model) -> Rival:
    """Return the state of a method that has not begun."""
    K, width = model.K, model.Z.shape[1]
    theta, F, V = (
        np.zeros((model.h, model.d)),
        np.zeros((width, width)),
        np.zeros((width, width)),
    )
    design = Design(posterior_of(model, np.zeros(K), theta, F), V)
    return Rival(np.zeros(K, np.int64), np.zeros(1, np.int64), np.zeros(K), design)


@part
def weigh_arms(design: Design, w: Floats, mu: Floats) -> None:
    """Make the design that of the weights ``w`` (K,), with means ``mu`` (n, d)."""
    p, V = design.posterior, design.V
    largest = 0.0
    for a in range(w.shape[0]):
        largest = max(largest, w[a])
    for a in range(mu.shape[0]):
        for c in range(mu.shape[1]):
            p.mu[a, c] = mu[a, c]
    follow_control(p)
    for a in range(w.shape[0]):
        p.N[a] = w[a]
        if p.separate:
            p.N[a] = max(w[a], FLOOR * largest)
            fill(p, a)
    if not p.separate:
        _whiten(p, V, largest)


@bare
def _gram(A: Floats, w: Floats, V: Floats) -> float:
    """Write sum_a w_a a a^T into ``V`` (h, h); return the largest square of a feature."""
    scale, h = 0.0, V.shape[0]
    for i in range(h):
        for j in range(h):
            V[i, j] = 0.0
    for a in range(A.shape[0]):
        for i in range(h):
            scale = max(scale, A[a, i] ** 2)
            for j in range(h):
                V[i, j] += w[a] * A[a, i] * A[a, j]
    return scale


@part
def _whiten(p: Posterior, V: Floats, largest: float) -> None:
    """Write V, F and W of a linear design."""
    scale = _gram(p.A, p.N, V)
    for i in range(V.shape[0]):
        V[i, i] += FLOOR * largest * scale
    refactor(V, p.F)
    for a in range(p.mu.shape[0]):
        image(p.Z, p.F, a, p.W)
