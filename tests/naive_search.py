"""Plain twin of the search for the best response: branch and bound, without arrays of places.

Tests change this text to see that they would notice a search with that mistake.
"""

from __future__ import annotations

import math

import numpy as np

from naive_response import Game, nearest

Constraints = list[tuple[int, int, int]]


def variance(game: Game, z: int, x: int, c: int) -> float:
    """Of the lead of z over x in c."""
    V = game.A.T @ (game.w[:, None] * game.A)
    u = game.Z[z] - game.Z[x]
    return float(u @ np.linalg.solve(V, u) * game.Sigma[c, c])


def hardest(game: Game, z: int, above: Constraints) -> np.ndarray | None:
    """Cost by objective of getting above whoever costs most, and who that is; None if free."""
    mu = game.Z @ (game.theta + (nearest(game, above) if above else 0.0))
    members = np.flatnonzero(game.inside)
    found, most = None, -1.0
    for x in members:
        behind = mu[x] - mu[z]
        if x in [other for _, other, _ in above] or (behind <= 1e-8).any():
            continue
        added = [behind[c] ** 2 / variance(game, z, x, c) for c in range(len(behind))]
        if min(added) > most:
            found, most = np.append(added, x), min(added)
    return found


def escape(game: Game, z: int, above: Constraints, value: float, best: float) -> float:
    """Squared distance to the nearest point of a node's tree, or ``best`` if that is less."""
    node = hardest(game, z, above)
    if node is None:
        return min(value, best)
    *added, x = node
    for c in np.argsort(added):
        if value + added[c] >= best:
            break
        below = [*above, (z, int(x), int(c))]
        child = game.cost(nearest(game, below))
        if child < best:
            best = escape(game, z, below, child, best)
    return best


def respond(game: Game) -> float:
    """Squared distance from theta to Alt(S)."""
    mu, d = game.mu, game.theta.shape[1]
    members, best = np.flatnonzero(game.inside), math.inf
    for i in members:  # i below j
        for j in members:
            if np.array_equal(game.Z[i], game.Z[j]):
                continue
            ahead = np.maximum(mu[i] - mu[j], 0.0)
            least = max(ahead[c] ** 2 / variance(game, j, i, c) for c in range(d))
            if least >= best:
                continue
            best = min(best, game.cost(nearest(game, [(j, i, c) for c in range(d)])))
    for z in np.flatnonzero(~game.inside):
        best = escape(game, int(z), [], 0.0, best)
    return best
