"""Truths with many near-ties at once, of any structure: a search for rules that err draws them.

Rules err most where several things tie. So values are drawn from a few
levels far apart, and those on one level differ slightly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from psips.aliases import Floats, Mask
from psips.errors import InputError
from psips.lab.hard_instances import (
    TRIES,
    Truth,
    check_count,
    check_positive,
    equal,
    linear_truth,
    plain_truth,
    seeded,
)

SCALE = 10.0  # of the units of some features


def ties(
    K: int = 4,
    d: int = 2,
    gap: float = 0.1,
    levels: int = 2,
    lead: float = 5.0,
    rho: float = 0.0,
    seed: int = 0,
) -> Truth:
    """Arms whose values are on levels lead apart, and on a level differ by about gap."""
    check_count("K", K, 2)
    check_count("d", d, 1)
    check_count("levels", levels, 1)
    check_positive("gap", gap)
    check_positive("lead", lead)
    rng = seeded(seed)
    for _ in range(TRIES):
        level = lead * rng.integers(levels, size=(K, d)).astype(float)
        means = level + gap * rng.normal(size=(K, d))
        if _changes(means, level, rng):
            return plain_truth("ties", means, equal(d, rho))
    raise InputError(f"none of {TRIES} draws of K = {K} arms has a tie that matters: lower d")


def hub(gap: float = 0.1, d: int = 2, quiet: float = 1e-3) -> Truth:
    """Arm 1 is noisy, between two that are known: noise either way makes the set another.

    With two objectives arm 1 is ahead of arm 2 by gap in the first, and arm 3 of arm 1; what is
    ahead is behind elsewhere. With three arm 1 dominates arm 2 by gap, and does not arm 3.
    """
    check_positive("gap", gap)
    check_positive("quiet", quiet)
    if d not in (2, 3):
        raise InputError(f"hub has two or three objectives: d must be 2 or 3, got {d}")
    others = [[-gap, 5.0], [gap, -5.0]] if d == 2 else [[-gap, -5.0, -2.0], [gap, -2.0, -5.0]]
    means = np.array([[0.0] * d, *others])
    covariance = np.stack([np.eye(d), *[quiet**2 * np.eye(d)] * 2])
    return plain_truth("hub", means, covariance)


def linear_ties(
    K: int = 4,
    h: int = 2,
    d: int = 1,
    gap: float = 0.01,
    lead: float = 5.0,
    answers: int = 0,
    seed: int = 0,
) -> Truth:
    """Features of -1, 0 and 1; coefficients are 0, lead or -lead, up to about gap.

    Some features are in units ten times as small. With ``answers`` the question is about so
    many others.
    """
    check_count("K", K, h + 1)
    check_count("h", h, 1)
    check_count("d", d, 1)
    check_count("answers", answers, 0)
    check_positive("gap", gap)
    check_positive("lead", lead)
    rng = seeded(seed)
    for _ in range(TRIES):
        rows = rng.integers(-1, 2, size=(K + answers, h)).astype(float)
        level = lead * rng.integers(-1, 2, size=(h, d)) * (rng.uniform(size=(h, d)) < 0.5)
        theta = level + gap * rng.normal(size=(h, d))
        asked = rows[K:] if answers else rows
        distinct = len(np.unique(asked, axis=0)) == len(asked) > 1
        spans = np.linalg.matrix_rank(np.column_stack([np.ones(K), rows[:K]])) == h + 1
        if distinct and spans and _changes(asked @ theta, asked @ level, rng):
            units = SCALE ** rng.integers(0, 2, size=h)
            arms, others = rows[:K] * units, rows[K:] * units
            return linear_truth("linear-ties", arms, theta / units[:, None], 1.0, 0.0, others)
    raise InputError(f"none of {TRIES} draws has a tie that matters: raise K or lower d")


def _optimal(means: Floats) -> Mask:
    ahead = means[:, None] >= means
    above = ahead.all(axis=2) & (means[:, None] > means).any(axis=2)
    return np.asarray(~above.any(axis=0))


def _changes(means: Floats, level: Floats, rng: np.random.Generator) -> bool:
    """Whether other hairs make another Pareto set."""
    now = _optimal(means)
    others = (_optimal(level + 1e-6 * rng.normal(size=level.shape)) for _ in range(20))
    return any((one != now).any() for one in others)


BUILDERS: dict[str, Callable[..., Truth]] = {
    "ties": ties,
    "hub": hub,
    "linear-ties": linear_ties,
}
