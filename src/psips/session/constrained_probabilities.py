"""Posterior probabilities where answers have to keep limits, by plain draws."""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Mask, Stream
from psips.problem.limits import optimal_and_allowed
from psips.state.model import Model

DRAWS = 4000


def _drawn(model: Model, means: Floats, covariances: Floats, key: Stream) -> tuple[Mask, Mask]:
    """Return the set at the estimate (n,), and at posterior draws (DRAWS, n)."""
    rng = np.random.default_rng(key.tolist())
    factors = np.linalg.cholesky(covariances)
    noise = rng.normal(size=(DRAWS, *means.shape))
    points = means + np.einsum("ace,sae->sac", factors, noise)
    rest = model.limits, model.facts
    found = np.array([optimal_and_allowed(point, *rest) for point in points])
    return optimal_and_allowed(means, *rest), found


def probabilities_within(
    model: Model, means: Floats, covariances: Floats, key: Stream
) -> tuple[Floats, Floats]:
    """By answer, the probability of keeping the limits and being optimal, and its error."""
    _, found = _drawn(model, means, covariances, key)
    share = found.mean(axis=0)
    hits = np.clip(share * DRAWS, 1.0, DRAWS - 1.0) / DRAWS  # one draw, where there is none
    return share, np.sqrt(hits * (1 - hits) / DRAWS)


def change_within(
    model: Model, means: Floats, covariances: Floats, key: Stream
) -> tuple[float, float]:
    """Log of the probability of another set and its relative error; -inf below 1 in DRAWS."""
    now, found = _drawn(model, means, covariances, key)
    share = float((found != now).any(axis=1).mean())
    if share == 0.0:
        return -math.inf, math.inf
    return math.log(share), math.sqrt((1 - share) / share / DRAWS)
