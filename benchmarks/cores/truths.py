"""Problems with the truth attached, in every kind that the library knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from psips.lab.instances import instance
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.problem.item_noise import read_item_noise
from psips.problem.parameters import Ball
from psips.simulation.environments import ItemEnvironment


def names(d: int) -> list[str]:
    return [f"objective {c + 1}" for c in range(d)]


def covariance(d: int, full: bool) -> Any:
    """Return variances from 0.5 to 1.5, or a full matrix with both signs of correlations."""
    variances = np.linspace(0.5, 1.5, d)
    if not full or d == 1:
        return variances.tolist()
    turn = np.where(np.arange(d) % 2 == 0, 1.0, -1.0)
    R = 0.5 * np.eye(d) + 0.5 * np.outer(turn, turn) * np.linspace(0.4, 1.0, d)
    R = (R + R.T) / 2.0
    np.fill_diagonal(R, 1.0)
    sd = np.sqrt(variances)
    return (R * np.outer(sd, sd)).tolist()


def spread(
    K: int, d: int, full: bool = False, size: float = 1.5, mixed: bool = False, **more: Any
) -> Instance:
    """Random means; with ``mixed`` every other objective is minimised."""
    means = size * np.random.default_rng(100 * K + d).normal(size=(K, d))
    objectives: Any = names(d)
    if mixed:
        objectives = {o: ("max", "min")[c % 2] for c, o in enumerate(objectives)}
    given = {"objectives": objectives, "covariance": covariance(d, full), "arms": K, **more}
    problem = Problem(**given)
    noise = given["covariance"]
    unknown = noise is None or isinstance(noise, str)
    given.pop("noise_guess", None)
    truth = Problem(**{**given, "covariance": covariance(d, full)}) if unknown else None
    return Instance("spread", problem, means, truth=truth)


def far() -> Instance:
    """Return means that differ little, far from 0."""
    one = spread(4, 2, size=0.7)
    return Instance("far", one.problem, one.theta + np.array([1e9, -1e6]))


def each_covariance(K: int, d: int, full: bool) -> Any:
    """Return a covariance for each arm, of sizes 0.3 to 3."""
    one = np.array(covariance(d, full))
    one = np.diag(one) if one.ndim == 1 else one
    return [(size * one).tolist() for size in np.geomspace(0.3, 3.0, K)]


def featured(
    K: int = 12, h: int = 3, d: int = 2, n: int = 0, size: float = 1.5, **more: Any
) -> Instance:
    """Random features; with ``n`` the question is about so many other answers."""
    rng = np.random.default_rng(1000 * K + 10 * h + d)
    A, Z = rng.normal(size=(K, h)), rng.normal(size=(n, h))
    given: dict[str, Any] = {
        "objectives": names(d),
        "covariance": covariance(d, False),
        "features": A.tolist(),
        "intercept": False,
        **more,
    }
    if n:
        given["answers"] = ([f"answer {k + 1}" for k in range(n)], Z.tolist())
    problem = Problem(**given)
    theta = size * rng.normal(size=(h, d))
    if problem.intercept:
        theta = np.vstack([theta, rng.normal(size=(1, d))])
    truth = None
    if problem.covariance is None:
        given.pop("noise_guess", None)
        truth = Problem(**{**given, "covariance": covariance(d, True)})
    return Instance("featured", problem, theta, truth=truth)


def correlated() -> Instance:
    return instance("correlated", rho=-0.5)


def line() -> Instance:
    means = np.array([[0.0], [0.5], [0.9], [1.3], [0.2]])
    return Instance("line", Problem(objectives=["y"], covariance=[1], arms=5), means)


def limited(d: int = 2, **more: Any) -> Instance:
    """Six options whose efficacy and toxicity rise together; an upper limit on the latter."""
    dose = np.linspace(0.0, 2.5, 6)
    means = np.column_stack([dose, 0.5 * dose**2, 1.0 - 0.3 * dose])[:, :d]
    objectives = dict(
        zip(("efficacy", "toxicity", "comfort")[:d], ("max", "min", "max"), strict=False)
    )
    given: dict[str, Any] = {
        "objectives": objectives,
        "covariance": covariance(d, False),
        "arms": 6,
        "limits": ["toxicity <= 1.4"],
        **more,
    }
    problem = Problem(**given)
    truth = None
    if problem.covariance is None:
        truth = Problem(**{**given, "covariance": covariance(d, False)})
    return Instance("limited", problem, means, truth=truth)


def round_values(_arm: int, x: Any) -> Any:
    """Values in steps of a half, within -3 and 3."""
    return np.clip(np.round(2.0 * x) / 2.0, -3.0, 3.0)


def with_exact(arm: int, x: Any) -> Any:
    """The last metric is a number of the arm."""
    x = np.array(x, float)
    x[-1] = (7 * arm) % 5
    return x


def speed_in_e(_arm: int, x: Any) -> Any:
    """The first value is the logarithm of what is told."""
    return np.array([np.exp(x[0]), *x[1:]])


def bounded(d: int, **more: Any) -> Instance:
    objectives = {name: {"direction": "max", "range": [-3, 3]} for name in names(d)}
    return spread(5, d, size=0.8, objectives=objectives, covariance="per-arm", **more)


def binary(told_noise: Any, both: bool, **more: Any) -> Instance:
    """Two metrics, the first or both 0 or 1."""
    kind = {"kind": "binary"}
    objectives: Any = {"cured": kind, "lasting": kind if both else {"direction": "max"}}
    rates = np.array([[0.2, 0.7], [0.5, 0.5], [0.8, 0.3], [0.4, 0.4]])
    given = {"objectives": objectives, "arms": 4, **more}
    known = np.array([np.diag([p * (1 - p), q * (1 - q) if both else 0.5]) for p, q in rates])
    truth = Problem(**{**given, "covariance": known.tolist()})
    return Instance("binary", Problem(**given, covariance=told_noise), rates, truth=truth)


def item_problem(d: int, binary_first: bool = False, items: Any = True, **more: Any) -> Any:
    first = {"kind": "binary"} if binary_first else {"direction": "max"}
    objectives = {"score": first, "speed": "max", "cost": "min"}
    chosen = dict(list(objectives.items())[:d])
    problem = Problem(objectives=chosen, arms=4, items=items, **more)
    means = np.random.default_rng(d).normal(size=(4, d)) * 0.5
    if binary_first:
        means[:, 0] = [0.3, 0.5, 0.6, 0.4]
    noise = {name: 1.0 for name in chosen if not (binary_first and name == "score")}
    return problem, ItemEnvironment(problem, means, read_item_noise(problem, noise, 0.6))


def named_features() -> Instance:
    """Return features of arms with names and a control."""
    rng = np.random.default_rng(9)
    problem = Problem(
        objectives=names(2),
        covariance=[1.0, 1.0],
        arms=[f"arm {k + 1}" for k in range(8)],
        features=rng.normal(size=(8, 3)).tolist(),
        intercept=False,
        control="arm 2",
        parameter_set=Ball(8.0),
    )
    return Instance("named", problem, 1.5 * rng.normal(size=(3, 2)))
