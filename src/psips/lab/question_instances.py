"""Truths next to the edge of what was asked: slightly beyond a tolerance, or next to a limit.

As in `psips.lab.hard_instances` each builder is deterministic, and differences are in
standard deviations of one measurement, of arms that are not loud.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, unknown
from psips.lab.hard_instances import (
    TRIES,
    Truth,
    check_count,
    check_positive,
    equal,
    seeded,
)
from psips.problem.noise import UNKNOWN
from psips.problem.problem import Problem

MORE = 1.001  # a difference that matters, over the tolerance
BEATEN = ("worse", "all-worse", "better", "between", "pairs", "equal", "ties", "chain")
SIDES = (
    *("above", "below", "all-above", "but-one", "dominated", "hidden", "control", "wedge"),
    *("either-side", "alone"),
)
TOLD = ("given", *UNKNOWN)


def beside_tolerance(
    kind: str = "worse",
    tolerance: float = 0.3,
    d: int = 1,
    rho: float = 0.0,
    loud: float = 1.0,
    told: str = "given",
) -> Truth:
    """Options that are worse or better by 1.001 of the tolerance; the last has loud sd."""
    check_positive("tolerance", tolerance)
    check_count("d", d, 1)
    if kind not in BEATEN:
        raise unknown("kind", kind, BEATEN)
    if kind in ("better", "between", "pairs") and d != 2:
        raise InputError(f"kind {kind!r} is of two objectives: d must be 2, got {d}")
    return _asked(
        "beside-tolerance",
        _beaten(kind, tolerance, d),
        equal(d, rho),
        loud,
        told,
        objectives=[f"objective {c + 1}" for c in range(d)],
        epsilon=tolerance,
    )


def _beaten(kind: str, tolerance: float, d: int) -> Floats:
    """Return the means (K, d)."""
    much = MORE * tolerance
    best, worse = np.zeros(d), np.full(d, -much)
    if kind == "worse":
        return np.stack([best, worse])
    if kind == "all-worse":  # the best and five that are not
        return np.stack([best] + [worse] * 5)
    if kind == "better":  # in one objective, and worse by what does not matter in the other
        return np.array([[0.0, 0.0], [much, -0.5 * tolerance]])
    if kind == "between":  # .. than each of three
        beside = [0.5 + much, 0.5 - 0.5 * tolerance]
        return np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], beside])
    if kind == "pairs":
        front = np.linspace(0, 2, 4)[:, None] * [1.0, -1.0]
        return np.concatenate([front, front - much])
    if kind == "equal":  # five equal and one worse
        return np.stack([best] * 5 + [worse])
    if kind == "ties":
        return np.stack([best] * 4)
    return np.asarray(-0.6 * tolerance * np.arange(5.0)[:, None] * np.ones(d))  # a chain


def beside_limit(
    kind: str = "above",
    by: float = 0.1,
    rho: float = 0.0,
    loud: float = 1.0,
    tolerance: float = 0.0,
    told: str = "given",
) -> Truth:
    """Options a little next to a limit, of toxicity mostly; the last has loud sd."""
    check_positive("by", by)
    if kind not in SIDES:
        raise unknown("kind", kind, SIDES)
    question: dict[str, Any] = {"epsilon": tolerance, "control": "arm 1"}
    if kind == "alone":  # one metric, which the best is too low in
        means = np.array([[-by], [-1.0 - by], [-2.0 - by]])
        question |= {"objectives": ["efficacy"], "limits": ["efficacy >= 0"]}
        return _asked("beside-limit", means, np.eye(1), loud, told, **question)
    far = 10.0 * loud
    means = {
        "above": np.array([[0.0, -1.0], [1.0, by]]),
        "below": np.array([[0.0, -1.0 - by], [1.0, -by]]),
        "all-above": np.array([[0.0, by], [0.5, by], [1.0, by]]),
        "but-one": np.array([[0.0, -by]] + [[1.0, by]] * 4),
        "dominated": np.array([[1.0, -1.0], [0.9, by]]),
        "hidden": np.array([[by, -by], [0.0, -5.0]]),  # out by either of two hairs
        "control": np.array([[0.0, 2.0], [1.0, 2.0 + by]]),  # more toxic than the first
        "wedge": np.array([[-by, 0.0], [0.0, -by]]),  # better and less toxic, by hairs
        "either-side": np.array([[0.0, -by], [far, by], [-far, 0.0]]),  # of the control, last
    }[kind]
    if kind == "either-side":
        question["control"] = "arm 3"
    compared = kind in ("control", "wedge", "either-side")
    limit = "toxicity <= control" if compared else "toxicity <= 0"
    aim = "limit" if kind in ("wedge", "either-side") else "min"
    question |= {"objectives": {"efficacy": "max", "toxicity": aim}, "limits": [limit]}
    return _asked("beside-limit", means, equal(2, rho), loud, told, **question)


def dose_finding(
    K: int = 4, limit: float = 0.3, clear: float = 0.06, told: str = "given", seed: int = 0
) -> Truth:
    """K doses of two schedules: efficacy levels off, toxicity rises beyond a limit."""
    check_count("K", K, 2)
    check_positive("limit", limit)
    check_positive("clear", clear)
    rng = seeded(seed)
    dose = np.linspace(0.2, 1.0, K)
    for _ in range(TRIES):
        rows = []
        for _ in range(2):
            top, half, rate = rng.uniform(0.5, 1.2), rng.uniform(0.1, 0.6), rng.uniform(1, 3)
            efficacy = top * dose / (dose + half)
            toxicity = limit * rng.uniform(1.2, 3.0) * dose**rate
            rows.append(np.stack([efficacy, toxicity], axis=1))
        means = np.concatenate(rows)
        if np.abs(means[:, 1] - limit).min() >= clear and _tells(means, limit, clear):
            return _asked(
                "dose-finding",
                means,
                np.array([[0.04, 0.01], [0.01, 0.04]]),
                1.0,
                told,
                arms=[f"{s} {k + 1}" for s in ("daily", "weekly") for k in range(K)],
                objectives={"efficacy": "max", "toxicity": "min"},
                limits=[f"toxicity <= {limit!r}"],
            )
    raise InputError(f"no doses were found with K = {K} that are {clear} apart: lower it")


def _tells(means: Floats, limit: float, clear: float) -> bool:
    """Whether no two doses that keep the limit are near a tie that matters."""
    kept = means[means[:, 1] <= limit] * [1.0, -1.0]
    lead = kept[:, None] - kept
    worst = np.where(np.eye(len(kept), dtype=bool), np.inf, np.abs(lead.min(axis=2)))
    return bool(len(kept) > 0 and worst.min() >= clear)


def _asked(
    name: str, means: Floats, one: Floats, loud: float, told: str, **question: Any
) -> Truth:
    """Return the question about ``means``, with noise ``one`` (d, d) that is told or not."""
    check_positive("loud", loud)
    if told not in TOLD:
        raise unknown("told", told, TOLD)
    K = len(means)
    question.setdefault("arms", K)
    noise = one if loud == 1.0 else np.array([one] * (K - 1) + [loud**2 * one])
    known = Problem(name=name, covariance=noise, **question)
    if told == "given":
        return Truth(known, means)
    asked = Problem(name=name, covariance=told, **question)
    return Truth(asked, means, known=known)


BUILDERS: dict[str, Callable[..., Truth]] = {
    "beside-tolerance": beside_tolerance,
    "beside-limit": beside_limit,
    "dose-finding": dose_finding,
}
