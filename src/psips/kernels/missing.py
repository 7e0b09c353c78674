"""What open verdicts lack: how wide their intervals are."""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import Belief
from psips.kernels.certificates import (
    LOG_FOUR,
    OPEN,
    directions,
    evidence,
    judge_answers,
    log_volume,
    value,
)
from psips.kernels.front import Front
from psips.kernels.jit import kernel, part
from psips.kernels.model import Floats, Ints, Model


@part
def half_width(
    model: Model, belief: Belief, i: int, j: int, c: int, volume: float, L: float
) -> float:
    """How far D-hat_c can be from D_c, either side, before E reaches ``L``."""
    s = math.sqrt(model.Sigma[c, c])
    if not model.unstructured:
        square = 0.0
        for k in range(model.h):
            along = 0.0
            for f in range(model.h):
                along += (model.Z[i, f] - model.Z[j, f]) * belief.F[f, k]
            square += along * along
        spread = s * math.sqrt(2.0 * L + volume)
        return math.sqrt(square) * (spread + math.sqrt(model.xi) * model.ball[c])
    first, second = belief.N[i], belief.N[j]
    unit = s * math.sqrt(2.0 * (1.0 / first + 1.0 / second))
    low = unit * math.sqrt(max(L - LOG_FOUR, 0.0))  # E is at most (width / unit)^2 + log 4
    high = unit * math.sqrt(L)
    while evidence(first, second, s, high) < L:
        low = high
        high *= 1.5
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        if evidence(first, second, s, middle) < L:
            low = middle
        else:
            high = middle
    return high


@kernel
def verdicts(
    model: Model, belief: Belief, front: Front, log_inverse: float
) -> tuple[Ints, Ints, Ints, Floats]:
    """Verdicts for callers in Python, see `psips.kernels.certificates.judge_answers`.

    Returns
    -------
    tuple
        verdict, rival; of open ones the objective in which the two are to be told apart, and
        how far their difference in it can be from the estimate.
    """
    n = model.n
    Y = directions(model.d, model.Sigma)
    verdict = np.empty(n, np.int64)
    rival = np.empty(n, np.int64)
    strength = np.empty(n)
    L = judge_answers(model, belief, front, Y, log_inverse, verdict, rival, strength)
    objective = np.zeros(n, np.int64)
    width = np.zeros(n)
    volume = log_volume(model, belief)
    for z in range(n):
        x = rival[z]
        if verdict[z] == OPEN and x >= 0:
            # a candidate needs one objective to be ahead in, the others are behind in each
            best = -np.inf
            for c in range(model.d):
                lead = value(model, belief, z, c) - value(model, belief, x, c)
                lead /= math.sqrt(model.Sigma[c, c])
                if lead > best:
                    best = lead
                    objective[z] = c
            width[z] = half_width(model, belief, z, x, objective[z], volume, L)
    return verdict, rival, objective, width
