"""AdaHedge (de Rooij, van Erven, Grunwald, Koolen 2014), in gains.

State: cumulative gains G (K,) and the cumulative mixability gap Delta, which sets the
learning rate eta = log K / Delta. At Delta = 0 the rate is infinite and the weights are
uniform on the leaders.
"""

from __future__ import annotations

import math

from psips.aliases import Floats
from psips.kernels.jit import part


@part
def weights(G: Floats, gap: float, w: Floats) -> None:
    """Write the weights to play next into ``w``."""
    K = G.shape[0]
    best = G[0]
    for k in range(1, K):
        best = max(best, G[k])
    total = 0.0
    if gap <= 0.0:
        for k in range(K):
            w[k] = 1.0 if G[k] == best else 0.0
            total += w[k]
    else:
        eta = math.log(K) / gap
        for k in range(K):
            behind = eta * (G[k] - best)
            w[k] = math.exp(behind) if behind > -60.0 else 0.0  # adds nothing to a sum of 1
            total += w[k]
    for k in range(K):
        w[k] /= total


@part
def feed(G: Floats, gap: float, w: Floats, gains: Floats) -> float:
    """Take in the gains of a round in which ``w`` was played; return the new Delta.

    The mix gain is log(sum w exp(eta g)) / eta; arms without gain need no exponential.
    """
    K = G.shape[0]
    hedge = 0.0
    for k in range(K):
        hedge += w[k] * gains[k]
    if gap <= 0.0:
        before, after = G[0], G[0] + gains[0]
        for k in range(K):
            before = max(before, G[k])
            G[k] += gains[k]
            after = max(after, G[k])
        return gap + max(0.0, after - before - hedge)
    if K == 1:
        G[0] += gains[0]
        return gap
    eta = math.log(K) / gap
    top = 0.0
    for k in range(K):
        if w[k] > 0.0:
            top = max(top, gains[k])
    excess = 0.0  # sum w (exp(eta (g - top)) - exp(-eta top))
    floor = math.exp(-eta * top)
    for k in range(K):
        if gains[k] != 0.0 and w[k] > 0.0:
            excess += w[k] * (math.exp(eta * (gains[k] - top)) - floor)
        G[k] += gains[k]
    mix = top + math.log(max(floor + excess, 1e-300)) / eta
    return gap + max(0.0, mix - hedge)
