"""What the data say: counts, sums, the estimated noise, and the posterior they give.

What is done with them is in `src/core/belief`.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints
from psips.state.model import OWN, POOLED, SHARED, Model
from psips.state.records import Record, record

# Places in Belief.tally.
RESULTS, UPDATES, SPANNED = range(3)
VARIANCE, DEGREES, LEAST = range(3)  # places in NoiseEstimate.prior
NOW, THEN = range(2)  # places in NoiseEstimate.fitted
FORMS = 4  # matrices that a covariance of linear problems is kept in
COVARIANCE, FACTOR, INVERSE, UNIT = range(4)


@record
class NoiseEstimate(Record):
    """Sums over results, less the first value of the arm; updated in place.

    All arrays are empty if the noise is known, the same for all arms, and nothing is missing.
    """

    origin: Floats  # (K, d) the first value seen
    count: Floats  # (K, d, d) results that have both objectives
    sums: Floats  # (K, d, d) of the first objective over these
    cross: Floats  # (K, d, d) of the products of both
    higher: Floats  # (K, d, 2) of cubes and fourth powers; empty if no objective has a range
    seen: Floats  # (K, 2^d) results by pattern of objectives; (0, 0) without missing values
    seen_sums: Floats  # (K, 2^d, d) their sums
    C: Floats  # (K, d, d) covariance of each arm's mean; linear: see FORMS
    freedom: Floats  # (K,) degrees of freedom of the noise; below 1 it is not known yet
    level: Floats  # (1,) z^2
    prior: Floats  # (3, d) s0^2, d0, and from which nu on they count; zeros at first
    fitted: Floats  # (2,) results, and how many there were when ``prior`` was estimated


@record
class Belief(Record):
    """Sufficient statistics and the posterior they give; updated in place."""

    pulls: Floats  # (K,) results of each arm
    N: Floats  # (K,) the same, with those that a prior is worth
    B: Floats  # (h, d) sum of a x^T
    theta: Floats  # (h, d) posterior mean
    V: Floats  # (h, h) precision, (0, 0) if unstructured; (h d, h d) if joint
    F: Floats  # (h, h) factor of V^-1, (0, 0) if unstructured
    tally: Ints  # (3,) results told; rank-one updates since F was factored; arms span
    sums: Floats  # (K, d) of the results of each arm, (0, 0) if unstructured
    noise_estimate: NoiseEstimate  # empty unless noise is unknown or values are missing
    G: Floats  # (n d, n d) covariance of all answers' means if joint, (0, 0) otherwise
    X: Floats  # (h d, n d) that of theta with them, likewise; G itself if unstructured


def empty_noise_estimate(model: Model) -> NoiseEstimate:
    """Return the noise estimate before any result."""
    noise, d = model.noise, model.d
    K = model.K if noise.mode != SHARED or noise.partial else 0
    K, d = (K, d) if K else (0, 0)
    ranged = noise.mode in (POOLED, OWN) and bool(np.isfinite(noise.low).any())
    H, P = (K, 2**d) if noise.partial else (0, 0)
    each = K if model.unstructured else min(K, 1)  # linear: all arms have one covariance
    matrices = each if model.unstructured else FORMS * each
    return NoiseEstimate(
        origin=np.zeros((K, d)),
        count=np.zeros((K, d, d)),
        sums=np.zeros((K, d, d)),
        cross=np.zeros((K, d, d)),
        higher=np.zeros((K if ranged else 0, d, 2)),
        seen=np.zeros((H, P)),
        seen_sums=np.zeros((H, P, d if H else 0)),
        C=np.zeros((matrices, d, d)),
        freedom=np.zeros(each),
        level=np.zeros(1),
        prior=np.zeros((3, d)),
        fitted=np.zeros(2),
    )


def empty_belief(model: Model) -> Belief:
    """Return the belief before any result."""
    wide = model.h * model.d if model.joint else 0
    width = wide if model.unstructured or model.joint else model.h
    G = np.zeros((model.n * model.d if model.joint else 0,) * 2)
    V = np.zeros((width, width))
    F = np.zeros((width, width))
    for i in range(width):
        V[i, i] = model.xi
        if model.xi > 0.0:
            F[i, i] = 1.0 / math.sqrt(model.xi)
    tally = np.zeros(3, np.int64)
    if model.first.shape[0] == 0:
        tally[SPANNED] = 1
    return Belief(
        np.zeros(model.K),
        np.zeros(model.K),
        np.zeros((model.h, model.d)),
        np.zeros((model.h, model.d)),
        V,
        F,
        tally,
        np.zeros((0 if model.unstructured else model.K, 0 if model.unstructured else model.d)),
        empty_noise_estimate(model),
        G,
        G if model.unstructured else np.zeros((wide, len(G))),
    )
