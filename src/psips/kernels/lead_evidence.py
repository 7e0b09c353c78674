"""Evidence that a lead gives for a claim; the law of it stands in `psips.kernels.claims`."""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats
from psips.kernels.jit import bare

TIGHT = 1e-3  # nats to which the least evidence is found


@bare
def log_average(A: float, B: float, centre: float, square: float, out: Floats) -> None:
    """Psi(A) and its slope into ``out`` (2,); ``centre`` and ``square`` are m and tau^2."""
    shrink = 1.0 + B * square
    width = math.sqrt(square / shrink)
    u = (A + centre / square) * width
    value = -0.5 * (math.log(shrink) + centre * centre / square)
    value -= math.log(math.erfc(-centre / math.sqrt(2.0 * square)))
    if u > -8.0:
        tail = math.erfc(-u * 0.7071067811865476)
        value += math.log(tail) + 0.5 * u * u
        hazard = 0.7978845608028654 * math.exp(-0.5 * u * u) / tail
    else:
        p = 1.0 / (u * u)
        series = 1.0 - p * (1.0 - 3.0 * p * (1.0 - 5.0 * p))
        value += math.log(0.7978845608028654 / -u * series)
        hazard = -u / series
    out[0] = value
    out[1] = (u + hazard) * width


@bare
def evidence(
    count: int,
    v: Floats,
    q: Floats,
    lead: float,
    centre: float,
    square: float,
    kappa: float,
    out: Floats,
) -> float:
    """Least log E over all theta with f <= 0; a lower bound, tight to TIGHT."""
    if lead <= 0.0:
        return -np.inf
    sum_v = sum_q = left = squares = off = determinant = 0.0
    for a in range(count):
        both = v[a] + kappa * q[a]
        sum_v += v[a]
        sum_q += q[a]
        left += q[a] * v[a] / both
        squares += q[a] * q[a] / both
        off += v[a] * v[a] / q[a]
        determinant += math.log(both / v[a])
    left /= sum_q  # 1 - kappa q'(V + kappa Q)^-1 q / 1'q
    determinant += math.log(left)
    B = squares / (sum_q * sum_q * left)
    return least_evidence(sum_v, sum_q, off, B, determinant, lead, centre, square, kappa, out)


@bare
def least_evidence(
    sum_v: float,
    sum_q: float,
    off: float,
    B: float,
    determinant: float,
    lead: float,
    centre: float,
    square: float,
    kappa: float,
    out: Floats,
) -> float:
    """Least log E from 1'v, 1'q, sum v_a^2 / q_a, B and log det(I + V^-1 R)."""
    A = lead / sum_v
    h = max((off / (sum_v * sum_v) - 1.0 / sum_q) / kappa + 1.0 / sum_v - B, 0.0)
    slope = square / (1.0 + B * square)
    at, best = 0.0, -np.inf
    for _ in range(12):
        log_average(A - h * at, B, centre, square, out)
        miss = at - out[1]
        best = max(best, 0.5 * h * (at * at - miss * miss) + out[0])
        if 0.5 * h * miss * miss < TIGHT:
            break
        at -= miss / (1.0 + h * slope)
    return best - 0.5 * determinant
