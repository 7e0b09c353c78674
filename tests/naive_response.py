"""Naive twin of the best response: every piece of Alt(S), one quadratic program each."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import daqp
import numpy as np


class Game(NamedTuple):
    """Arms, answers, noise, truth (all objectives maximised) and weights."""

    A: np.ndarray  # (K, h)
    Z: np.ndarray  # (n, h)
    Sigma: np.ndarray
    theta: np.ndarray  # (h, d)
    w: np.ndarray

    @property
    def mu(self) -> np.ndarray:
        return self.Z @ self.theta

    @property
    def inside(self) -> np.ndarray:
        mu = self.mu
        beaten = (mu[:, None] <= mu[None]).all(-1) & (mu[:, None] < mu[None]).any(-1)
        return ~beaten.any(axis=1)

    def pieces(self) -> int:
        s = int(self.inside.sum())
        return s * (s - 1) + (len(self.Z) - s) * self.theta.shape[1] ** s

    def cost(self, change: np.ndarray) -> float:
        """Sum of w_a ||change^T a||^2 in Sigma^-1."""
        rows = self.A @ change
        return float(self.w @ np.einsum("ac,ce,ae->a", rows, np.linalg.inv(self.Sigma), rows))


def nearest(game: Game, constraints: list[tuple[int, int, int]]) -> np.ndarray:
    """Least change of theta after which z >= x in objective c for all (z, x, c)."""
    h, d = game.theta.shape
    V = game.A.T @ (game.w[:, None] * game.A)
    H = np.kron(V, np.linalg.inv(game.Sigma))
    rows, low = [], []
    for z, x, c in constraints:
        u = game.Z[z] - game.Z[x]
        if u.any():  # equal answers stay equal
            rows.append(np.kron(u, np.eye(d)[c]))
            low.append(-u @ game.theta[:, c])
    if not rows:
        return np.zeros((h, d))
    size = np.linalg.norm(rows, axis=1)
    G, b = np.array(rows) / size[:, None], np.array(low) / size
    change, _, flag, _ = daqp.solve(
        H / np.trace(H), np.zeros(h * d), G, np.full(len(b), 1e30), b, primal_tol=1e-11
    )
    assert flag == 1, flag
    return np.asarray(change).reshape(h, d)


def changes(game: Game) -> list[np.ndarray]:
    """Nearest point of every piece."""
    d = game.theta.shape[1]
    members = np.flatnonzero(game.inside)
    found = [
        nearest(game, [(j, i, c) for c in range(d)])
        for i in members
        for j in members
        if i != j and np.any(game.Z[i] != game.Z[j])
    ]
    for z in np.flatnonzero(~game.inside):
        for objectives in product(range(d), repeat=len(members)):
            constraints = [(z, x, c) for x, c in zip(members, objectives, strict=True)]
            found.append(nearest(game, constraints))
    return found


def best_change(game: Game) -> np.ndarray:
    return min(changes(game), key=game.cost)


def brute_force(game: Game) -> float:
    return game.cost(best_change(game))
