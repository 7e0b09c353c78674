"""Posterior states with a known probability of the alternative, for the tests of laws."""

from __future__ import annotations

import math

import numpy as np

from core.entries import State, plain_model, state
from psips.lab.bench import EDGES
from psips.state.search import NEAREST

CORRELATED = np.array(
    [
        [0.72875559, 1.20119222],
        [0.45524805, -0.63317069],
        [0.62826926, 1.27683777],
        [0.94570734, 2.31592981],
        [2.08131887, 1.4809387],
    ]
)


def pair(rho: float) -> np.ndarray:
    return np.array([[1.0, rho], [rho, 1.0]])


def uniform(K: int, d: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (K, d))


def six_objectives() -> np.ndarray:
    """Eight arms, six of them optimal; arms 6 and 7 have several dominators."""
    means = uniform(8, 6, 5)
    means[6] = np.minimum(means[0], means[1]) - 0.2
    means[7] = np.minimum(means[2], means[3]) - 0.1
    return means


ARMS = np.random.default_rng(9).normal(size=(6, 3))
ANSWERS = np.random.default_rng(10).normal(size=(8, 3))
FIVE = np.array([1.0, 0.5, 0.8, 1.2, 1.0])
UNEVEN = np.linspace(0.5, 1.5, 6)

# What makes P(Alt) about 0.3, 0.15, 0.01 and 0.0005: pulls of an average arm.
PULLS = {
    "independent": (6.2, 12, 65, 141),
    "negative": (4.0, 7.0, 29, 64),
    "positive": (8.9, 23, 111, 223),
    "three": (258, 518, 1956, 3740),
    "six": (84, 181, 600, 1110),
    "linear": (108, 420, 2087, 4056),
    "linear three": (104, 329, 1668, 3241),
    "ball": (3.0, 6.2, 40, 90),
    "linear ball": (108, 420, 2087, 4056),
}
LEVELS = (0.3, 0.15, 0.01, 0.0005)


def at(name: str, level: float, scale: float = 1.0) -> State:
    """The state of that name where P(Alt) is about ``level``."""
    pulls = PULLS[name][LEVELS.index(level)]
    ball = math.inf
    if name in ("independent", "negative", "positive", "ball"):
        rho = {"negative": -0.9, "positive": 0.9}.get(name, 0.0)
        ball = 3.2 if name == "ball" else ball
        model = plain_model(pair(rho), K=5, ball=ball)
        return state(model, CORRELATED, pulls * FIVE, scale)
    if name == "three":
        model = plain_model(np.diag([1.0, 0.5, 2.0]), K=6)
        return state(model, uniform(6, 3, 3), pulls * UNEVEN, scale)
    if name == "six":
        model = plain_model(np.eye(6), K=8)
        return state(model, six_objectives(), pulls * np.linspace(0.6, 1.4, 8), scale)
    if name == "linear three":
        model = plain_model(np.eye(3), A=ARMS)
        theta = np.random.default_rng(11).normal(size=(3, 3))
        return state(model, theta, pulls * UNEVEN, scale)
    ball = 2.0 if name == "linear ball" else ball
    model = plain_model(pair(0.3), A=ARMS, Z=ANSWERS, ball=ball)
    theta = np.random.default_rng(12).normal(size=(3, 2))
    return state(model, theta, pulls * UNEVEN, scale)


def edge(label: str, distance: float) -> State:
    """A state of the bench, with as many pulls of each arm as put Alt at that distance."""
    R, means = (np.array(part) for part in EDGES[label])
    model = plain_model(R, K=len(means))
    near = state(model, means, np.ones(len(means))).cover.reach[NEAREST]
    return state(model, means, np.full(len(means), (distance / near) ** 2))
