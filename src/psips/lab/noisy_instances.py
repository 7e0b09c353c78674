"""Truths whose noise the rules do not know: of other sizes from arm to arm, of other shapes.

As in `psips.lab.hard_instances` each builder is deterministic. The noise that results have
is that of ``known``; ``problem`` is what a rule is told.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, unknown
from psips.lab.hard_instances import (
    Truth,
    check_count,
    check_positive,
    equal,
    linear,
    linear_slope,
)
from psips.problem.item_noise import read_item_noise
from psips.problem.noise import ESTIMATE, UNKNOWN
from psips.problem.problem import Problem

SHAPES = ("gaussian", "student", "lognormal")


def untold(
    gap: float = 0.3,
    d: int = 1,
    spread: float = 1.0,
    rho: float = 0.0,
    shape: str = "gaussian",
    told: str = "per-arm",
) -> Truth:
    """Arm 2 of 4 is worse than arm 1 by gap; variances from 1 / spread to spread, unknown."""
    check_positive("gap", gap)
    check_positive("spread", spread)
    check_count("d", d, 1)
    if shape not in SHAPES:
        raise unknown("shape", shape, SHAPES)
    _check_told(told)
    turn = np.where(np.arange(d) % 2 == 0, -1.0, 1.0)
    others = [turn, turn if d == 1 else -turn]
    means = np.array([np.zeros(d), np.full(d, -gap), *others])
    sizes = [spread, 1.0 / spread, 1.0, math.sqrt(spread)]
    covariances = np.array([size * equal(d, rho) for size in sizes])
    names = [f"objective {c + 1}" for c in range(d)]
    return Truth(
        Problem(name="untold", objectives=names, covariance=told, arms=4),
        means,
        shape,
        Problem(name="untold", objectives=names, covariance=covariances, arms=4),
    )


def noisy_arms(
    K: int = 20, noisy: int = 1, gap: float = 3.0, d: int = 1, told: str = "per-arm"
) -> Truth:
    """Arm 1 is the best by gap; the first ``noisy`` of K arms are ten times as noisy."""
    check_positive("gap", gap)
    check_count("K", K, 2)
    check_count("d", d, 1)
    if not 1 <= noisy <= K:
        raise InputError(f"noisy must be from 1 to K = {K}, got {noisy}")
    _check_told(told)
    means = np.repeat(-gap * (1.0 + np.arange(K) % 3)[:, None], d, axis=1)
    means[0] = 0.0
    sizes = np.where(np.arange(K) < noisy, 100.0, 1.0)
    names = [f"objective {c + 1}" for c in range(d)]
    return Truth(
        Problem(name="noisy-arms", objectives=names, covariance=told, arms=K),
        means,
        "gaussian",
        Problem(
            name="noisy-arms",
            objectives=names,
            covariance=sizes[:, None, None] * np.eye(d),
            arms=K,
        ),
    )


def chances(p: float = 0.5, gap: float = 0.08, told: str = "per-arm") -> Truth:
    """Binary results of 3 arms: arm 1 has the chance p + gap of a 1, the others p."""
    check_positive("gap", gap)
    if not (p > 0.0 and p + gap < 1.0):
        raise InputError(f"p and p + gap must lie between 0 and 1, got p = {p} and gap = {gap}")
    _check_told(told)
    means = np.array([[p + gap], [p], [p]])
    objective: dict[str, Any] = {"objective 1": {"kind": "binary"}}
    return Truth(
        Problem(name="chances", objectives=objective, covariance=told, arms=3),
        means,
        "bernoulli",
        Problem(
            name="chances",
            objectives=objective,
            covariance=(means * (1.0 - means))[:, :, None],
            arms=3,
        ),
    )


def untold_linear(
    K: int = 8,
    h: int = 3,
    d: int = 2,
    norm: float = 3.0,
    scale: float = 1.0,
    unit: float = 1.0,
    answers: int = 0,
    rho: float = 0.0,
    seed: int = 0,
) -> Truth:
    """Linear arms in any units, as `linear` has them; the noise is unknown."""
    made = linear(K, h, d, norm, scale, unit, answers=answers, seed=seed)
    return _untold("untold-linear", made.problem, made.theta, unit**2 * equal(d, rho))


def untold_line(
    K: int = 5,
    slope: float = 0.5,
    d: int = 1,
    across: int = 0,
    offset: float = 20.0,
    rho: float = 0.0,
) -> Truth:
    """Means offset + slope x at K places of [0, 1], falling in ``across`` of d objectives."""
    check_positive("slope", slope)
    check_count("across", across, 0)
    made = linear_slope(K, offset, slope)
    slopes = np.where(np.arange(d) < across, -slope, slope)
    theta = np.vstack([np.full(d, offset), slopes])
    return _untold("untold-line", made.problem, theta, equal(d, rho))


def _untold(name: str, like: Problem, theta: Floats, covariance: Floats) -> Truth:
    """Return a truth with the features of another problem, and unknown noise."""
    data = {**like.to_dict(), "name": name}
    d = theta.shape[1]
    data["objectives"] = [f"objective {c + 1}" for c in range(d)]
    data["directions"] = ["max"] * d
    told, known = (
        Problem.from_dict({**data, "covariance": one})
        for one in (ESTIMATE, covariance.tolist())
    )
    return Truth(told, theta, "gaussian", known)


def shared_items(
    gap: float = 0.3, d: int = 2, between: float = 0.6, shape: str = "gaussian"
) -> Truth:
    """As untold, with a share of the variance between items that all arms go through."""
    made = untold(gap=gap, d=d, shape=shape)
    problem = Problem(
        name="shared-items",
        objectives=made.problem.objectives,
        arms=made.problem.arms,
        items=True,
    )
    items = read_item_noise(problem, [1.0] * d, between)
    return Truth(problem, made.theta, shape, items=items)


def _check_told(told: str) -> None:
    if told not in UNKNOWN:
        raise unknown("told", told, UNKNOWN)


BUILDERS: dict[str, Callable[..., Truth]] = {
    "untold": untold,
    "noisy-arms": noisy_arms,
    "untold-linear": untold_linear,
    "untold-line": untold_line,
    "chances": chances,
    "shared-items": shared_items,
}
