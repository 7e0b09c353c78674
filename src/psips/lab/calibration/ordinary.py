"""The ordinary families of the calibration: drawn at random."""

from __future__ import annotations

from functools import cache

import numpy as np

from psips.lab.instances import instance
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.problem.parameters import Ball
from psips.theory.geometry import complexity

INSTANCES = 10  # of each family
NAMES = (
    "random",
    "near-ties",
    "closer ties",
    "many arms",
    "many objectives",
    "rho = -0.9",
    "rho = 0.9",
    "linear",
    "bernoulli",
)


@cache
def ordinary() -> dict[str, list[Instance]]:
    """Return the ordinary families by name, each with its instances."""
    rng = np.random.default_rng(20240601)
    apart = np.random.default_rng(20240602)
    made = (
        [instance("random-gaussian", K=5, d=2, seed=s) for s in range(INSTANCES)],
        [_near_tie(rng, 0.2, 0.4) for _ in range(INSTANCES)],
        [_near_tie(apart, 0.04, 0.08) for _ in range(INSTANCES)],
        [_spread(rng, 20, 2) for _ in range(INSTANCES)],
        [_spread(rng, 6, 5) for _ in range(INSTANCES)],
        [instance("correlated", rho=-0.9)],
        [instance("correlated", rho=0.9)],
        [_linear(rng) for _ in range(INSTANCES)],
        [instance("random-bernoulli", K=5, d=2, seed=s) for s in range(INSTANCES)],
    )
    return dict(zip(NAMES, made, strict=True))


def _names(d: int) -> list[str]:
    return [f"objective {c}" for c in range(1, d + 1)]


def _near_tie(rng: np.random.Generator, least: float, most: float) -> Instance:
    """Two arms that are almost equal, and one that is in the way of neither."""
    close = rng.normal(size=2)
    step = rng.uniform(least, most, 2) * rng.choice([-1.0, 1.0], 2)
    means = np.vstack([close, close + step, close + np.array([3.0, -3.0])])
    problem = Problem(objectives=_names(2), covariance=[1.0, 1.0], arms=3)
    return Instance("near-tie", problem, means)


def _spread(rng: np.random.Generator, K: int, d: int) -> Instance:
    """Uniform means, and noise that makes T* = 100."""
    means = rng.uniform(-1.0, 1.0, (K, d))
    plain = Problem(objectives=_names(d), covariance=[1.0] * d, arms=K)
    variance = 100.0 / complexity(plain, means, tolerance=0.05).t_star
    problem = Problem(objectives=_names(d), covariance=[variance] * d, arms=K)
    return Instance("spread", problem, means)


def _linear(rng: np.random.Generator) -> Instance:
    """Arms with features, drawn again until they do not take too long."""
    while True:
        features = rng.normal(size=(8, 3))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        theta = rng.uniform(-1.0, 1.0, (3, 2))
        problem = Problem(
            objectives=_names(2),
            covariance=[0.25, 0.25],
            features=features,
            intercept=False,
            parameter_set=Ball(2.0),
        )
        made = Instance("linear", problem, theta)
        if complexity(made.problem, made.theta, tolerance=0.05).t_star < 150.0:
            return made
