"""Truths whose noise is not told to the rules: of other sizes from arm to arm, of other shapes.

As in `psips.problem.hard_instances` each builder is deterministic. The noise that results have
is that of ``known``; ``problem`` is what a rule is told.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from psips.errors import InputError, unknown
from psips.problem.hard_instances import Truth, check_count, check_positive, equal
from psips.problem.item_noise import read_item_noise
from psips.problem.noise import UNKNOWN
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
    """Arm 2 of 4 is worse than arm 1 by gap; variances from 1 / spread to spread, not told."""
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


def shared_items(
    gap: float = 0.3, d: int = 2, between: float = 0.6, shape: str = "gaussian"
) -> Truth:
    """As untold, with a share of the variance between items that all arms go through."""
    made = untold(gap=gap, d=d, shape=shape)
    problem = Problem(
        name="shared-items",
        objectives=made.problem.objectives,
        arms=made.problem.arms,
        blocks=True,
    )
    items = read_item_noise(problem, [1.0] * d, between)
    return Truth(problem, made.theta, shape, items=items)


def _check_told(told: str) -> None:
    if told not in UNKNOWN:
        raise unknown("told", told, UNKNOWN)


BUILDERS: dict[str, Callable[..., Truth]] = {
    "untold": untold,
    "chances": chances,
    "shared-items": shared_items,
}
