"""Truths on which a stopping rule is likely to err: near-ties, hair's breadths, odd units.

All unstructured ones have noise of unit variance, so that every difference is in standard
deviations of one measurement. Each builder is deterministic: its parameters say everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, unknown
from psips.input.checks import Table
from psips.problem.gaps import gaps
from psips.problem.item_noise import ItemNoise
from psips.problem.parameters import Ball
from psips.problem.problem import Problem

CLEAR = 0.5  # how clearly the arms that are clear distractors differ from the others, in sd
SPREAD = 2.0  # their standard deviation
HOPELESS_GAP = 100.0  # sd by which hopeless arms are behind
TRIES = 10_000  # drawn before giving up
KINDS = ("dominated", "incomparable", "tied")


class Truth(NamedTuple):
    """A problem, its theta, the shape of its noise, and what a rule does not know of it."""

    problem: Problem
    theta: Floats
    noise: str = "gaussian"
    known: Problem | None = None
    items: ItemNoise | None = None


def near_tie(
    gap: float = 0.1, d: int = 1, lead: float = 2.0, rho: float = 0.0, hopeless: int = 0
) -> Truth:
    """Two arms, the first ahead by gap in one objective, else by lead; hopeless others."""
    _check_d(d, 1)
    _check_nonzero("gap", gap)
    _check_nonzero("lead", lead)
    ahead = np.full(d, float(lead))
    ahead[0] = gap
    check_count("hopeless", hopeless, 0)
    means = np.full((2 + hopeless, d), -HOPELESS_GAP)
    means[:2] = [ahead, np.zeros(d)]
    return plain_truth("near-tie", means, equal(d, rho))


def worse(
    d: int = 4,
    gap: float = 0.3,
    rho: float = 0.0,
    K: int = 2,
    seed: int = 0,
    clear: float = 0.0,
) -> Truth:
    """Arm 2 is worse than arm 1 by gap in every objective; more arms stand clear of both.

    With ``clear`` above 0 it is worse by that in one more, whose noise is independent.
    """
    _check_d(d, 1)
    check_positive("gap", gap)
    pair = np.vstack([np.zeros(d), np.full(d, -gap)])
    covariance = equal(d, rho)
    if clear > 0.0:
        pair = np.hstack([pair, [[0.0], [-clear]]])
        covariance = np.pad(covariance, (0, 1))
        covariance[d, d] = 1.0
    return plain_truth("worse", _among(pair, K, seed), covariance)


def worse_but_one(
    d: int = 4, gap: float = 0.3, edge: float = 0.1, rho: float = 0.0, K: int = 2, seed: int = 0
) -> Truth:
    """Arm 2 is worse than arm 1 by gap in all objectives but one, and better by edge there."""
    _check_d(d, 2)
    check_positive("gap", gap)
    check_positive("edge", edge)
    pair = np.vstack([np.zeros(d), np.full(d, -gap)])
    pair[1, -1] = edge
    return plain_truth("worse-but-one", _among(pair, K, seed), equal(d, rho))


def corner(d: int = 4, gap: float = 0.1, lead: float = 5.0, rho: float = 0.0) -> Truth:
    """Arm 1 is ahead of each of d others by gap in one objective, behind by lead elsewhere."""
    _check_d(d, 2)
    check_positive("gap", gap)
    check_positive("lead", lead)
    means = np.vstack([np.zeros(d), np.full((d, d), float(lead))])
    np.fill_diagonal(means[1:], -gap)
    return plain_truth("corner", means, equal(d, rho))


def variant(
    d: int = 6, K: int = 5, low: float = 0.1, high: float = 0.5, seed: int = 0
) -> Truth:
    """Random arms, the last a variant of the first that is worse by low to high throughout."""
    _check_d(d, 1)
    check_count("K", K, 2)
    if not 0 < low <= high:
        raise InputError(f"low and high must be 0 < low <= high, got {low} and {high}")
    rng = seeded(seed)
    for _ in range(TRIES):
        means = rng.normal(size=(K, d))
        means[-1] = means[0] - rng.uniform(low, high, d)
        if gaps(means).min() >= low:  # no closer call than the variant by accident
            return plain_truth("variant", means, np.eye(d))
    raise InputError(
        f"none of {TRIES} draws of K = {K} arms with d = {d} differ by {low} and more: lower "
        f"K or low"
    )


def front(K: int = 10, gap: float = 0.05, d: int = 2, rho: float = 0.0) -> Truth:
    """All arms on a front: each is gap ahead of the next in half of the objectives."""
    _check_d(d, 2)
    check_count("K", K, 2)
    check_positive("gap", gap)
    step = gap * np.where(np.arange(d) % 2 == 0, 1.0, -1.0)
    return plain_truth("front", np.arange(K)[:, None] * step, equal(d, rho))


def just_below(
    K: int = 5,
    d: int = 3,
    gap: float = 0.1,
    where: str = "all",
    rho: float = 0.0,
    seed: int = 0,
) -> Truth:
    """Among others, arm 2 is below arm 1 by gap: in all objectives, or in one and else by 1."""
    _check_d(d, 1)
    check_positive("gap", gap)
    if where not in ("all", "one"):
        raise unknown("where", where, ("all", "one"))
    pair = np.vstack([np.zeros(d), np.full(d, -gap)])
    if where == "one":
        pair[1, 1:] = -1.0
    return plain_truth("just-below", _among(pair, K, seed), equal(d, rho))


def adverse(
    K: int = 3,
    d: int = 3,
    gap: float = 0.1,
    kind: str = "dominated",
    edge: float = 0.1,
    seed: int = 0,
) -> Truth:
    """Random correlations, and a dominated, incomparable or tied pair among other arms.

    The correlation matrix is random, with the smallest eigenvalue ``edge``. A tied pair
    differs by ``gap`` in one objective and by about 1 in the others.
    """
    _check_d(d, 1)
    check_positive("gap", gap)
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    if not 0 < edge <= 1:
        raise InputError(f"edge must lie in (0, 1], got {edge}")
    if kind == "incomparable" and d == 1:
        raise InputError("an incomparable pair needs d >= 2, got 1")
    rng = seeded(seed)
    step = -gap * rng.uniform(0.5, 2.0, d)
    if kind == "incomparable":
        step[rng.permutation(d)[: rng.integers(1, d)]] *= -1.0
    elif kind == "tied":
        step = rng.uniform(0.5, 2.0, d) * rng.choice([-1.0, 1.0], d)
        step[rng.integers(d)] = gap
    covariance = _random_correlation(d, edge, rng)
    pair = np.vstack([np.zeros(d), step])
    return plain_truth("adverse", _among(pair, K, seed), covariance)


def correlated_alternative(beyond: float = 1e-3) -> Truth:
    """`correlated` with rho -0.6, moved to its nearest alternative and a little beyond.

    There arm 1 is equal to arm 4 in the first objective and to arm 5 in the second, and here
    it leads both by ``beyond``: a rule that keeps delta on `correlated` alone errs here.
    """
    check_positive("beyond", beyond)
    first, second = 0.79520912, 1.31325863
    means = [
        [first + beyond, second + beyond],
        [0.45524805, -0.63317069],
        [0.62826926, 1.27683777],
        [first, 2.40622874],
        [2.18192691, second],
    ]
    return plain_truth("correlated-alternative", np.array(means), equal(2, -0.6))


def linear(
    K: int = 8,
    h: int = 3,
    d: int = 2,
    norm: float = 3.0,
    scale: float = 1.0,
    unit: float = 1.0,
    spread: float = 1.0,
    answers: int = 0,
    ball: float = 0.0,
    seed: int = 0,
) -> Truth:
    """Linear arms in any units: features times scale, results times unit.

    Features are random, of length 1 before ``scale``, and theta's columns have length ``norm``
    in units of the noise; theta is divided by ``scale``, so that the means stay. The last
    feature is the first one plus ``spread`` times something else: nearly collinear if small.
    With ``answers`` the question is about so many others (transductive). With ``ball`` the
    parameter is known to lie in a ball of so many times its own length.
    """
    _check_d(d, 1)
    check_count("K", K, 2)
    check_count("h", h, 2)
    check_count("answers", answers, 0)
    if h + (answers > 0) > K:
        raise InputError(
            f"linear needs at least as many arms as features, and one more with answers, so "
            f"that they span a constant too: got {K} arms and {h} features"
        )
    for name, value in (("norm", norm), ("scale", scale), ("unit", unit), ("spread", spread)):
        check_positive(name, value)
    if answers == 1:
        raise InputError("answers must be 0 for none or at least 2, got 1")
    rng = seeded(seed)
    for _ in range(TRIES):
        rows = rng.normal(size=(K + answers, h))
        rows[:, -1] = (1 - min(spread, 1.0)) * rows[:, 0] + spread * rows[:, -1]
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        theta = rng.normal(size=(h, d))
        theta *= norm / np.linalg.norm(theta, axis=0)
        means = rows[K:] @ theta if answers else rows @ theta
        if gaps(means).min() >= 0.05 * norm:
            arms, asked = scale * rows[:K], scale * rows[K:]
            return linear_truth("linear", arms, theta * unit / scale, unit, ball, asked)
    raise InputError(
        f"none of {TRIES} draws has answers that differ clearly: lower K, answers or d"
    )


def linear_pair(
    low: float = 25.0, high: float = 50.0, scale: float = 1.0, ball: float = 0.0
) -> Truth:
    """Two arms with a feature each, of coefficients low and high: far from 0, and far apart."""
    check_positive("scale", scale)
    if low == high:
        raise InputError(f"low and high must differ, got {low} twice")
    theta = np.array([[float(low)], [float(high)]]) / scale
    return linear_truth("linear-pair", scale * np.eye(2), theta, 1.0, ball)


def linear_slope(
    K: int = 5,
    offset: float = 20.0,
    slope: float = -1.0,
    scale: float = 1.0,
    unit: float = 1.0,
    ball: float = 0.0,
) -> Truth:
    """Y = offset + slope x at K places of [0, 1], with a column of ones."""
    check_count("K", K, 2)
    check_positive("scale", scale)
    check_positive("unit", unit)
    _check_nonzero("slope", slope)
    x = np.linspace(0.0, 1.0, K)
    features = np.column_stack([np.ones(K), scale * x])
    theta = unit * np.array([[offset], [slope / scale]])
    return linear_truth("linear-slope", features, theta, unit, ball)


BUILDERS: dict[str, Callable[..., Truth]] = {
    "near-tie": near_tie,
    "worse": worse,
    "worse-but-one": worse_but_one,
    "corner": corner,
    "variant": variant,
    "front": front,
    "just-below": just_below,
    "adverse": adverse,
    "correlated-alternative": correlated_alternative,
    "linear": linear,
    "linear-pair": linear_pair,
    "linear-slope": linear_slope,
}


def _objectives(d: int) -> list[str]:
    return [f"objective {c + 1}" for c in range(d)]


def plain_truth(name: str, means: Floats, covariance: Floats) -> Truth:
    """Return arms without features."""
    K, d = means.shape
    problem = Problem(name=name, arms=K, objectives=_objectives(d), covariance=covariance)
    return Truth(problem, means)


def linear_truth(
    name: str,
    features: Floats,
    theta: Floats,
    unit: float,
    ball: float,
    answers: Floats | None = None,
) -> Truth:
    """Features as they are: the truth has the coefficients named here, and no others."""
    if ball != 0 and not (np.isfinite(ball) and ball >= 1):
        raise InputError(f"ball must be 0 for none or at least 1, got {ball}")
    d = theta.shape[1]
    asked = answers if answers is not None and len(answers) else None
    columns = tuple(f"x{c + 1}" for c in range(features.shape[1]))
    problem = Problem(
        name=name,
        objectives=_objectives(d),
        covariance=unit**2 * np.eye(d),
        features=Table(tuple(f"arm {i + 1}" for i in range(len(features))), columns, features),
        answers=asked
        if asked is None
        else Table(tuple(f"answer {i + 1}" for i in range(len(asked))), columns, asked),
        parameter_set=Ball(float(ball * np.linalg.norm(theta, axis=0).max())) if ball else None,
    )
    return Truth(problem, theta)


def _among(pair: Floats, K: int, seed: int) -> Floats:
    """Return the pair and K - 2 random arms that dominate neither and differ clearly."""
    check_count("K", K, 2)
    rng = seeded(seed)
    means = pair
    for _ in range(TRIES):
        if len(means) == K:
            return means
        new = rng.normal(scale=SPREAD, size=pair.shape[1])
        behind = (means - new).max(axis=1)  # where each of the others leads most
        clear = np.abs([behind, (new - means).max(axis=1)]) >= CLEAR
        if clear.all() and (behind[:2] > 0).all():
            means = np.vstack([means, new])
    raise InputError(
        f"no room for K = {K} arms with d = {pair.shape[1]} that differ clearly: lower K"
    )


def equal(d: int, rho: float) -> Floats:
    """Return the covariance of unit variances and equal correlations."""
    least = -1.0 / (d - 1) if d > 1 else -1.0
    if not least < rho < 1:
        raise InputError(
            f"correlations between {d} objectives can all be rho only if it lies strictly "
            f"between {least:.4g} and 1, got {rho}"
        )
    return np.asarray((1.0 - rho) * np.eye(d) + rho)


def _random_correlation(d: int, edge: float, rng: np.random.Generator) -> Floats:
    """Random correlations whose smallest eigenvalue is ``edge``."""
    rows = rng.normal(size=(d, 2 * d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    beyond = rows @ rows.T - np.eye(d)  # of independence
    if d == 1:
        return np.eye(1)
    return np.asarray(np.eye(d) - (1.0 - edge) / np.linalg.eigvalsh(beyond)[0] * beyond)


def seeded(seed: int) -> np.random.Generator:
    """Return the random numbers of a seed."""
    check_count("seed", seed, 0)
    return np.random.default_rng(seed)


def _check_d(d: int, least: int) -> None:
    check_count("d", d, least)


def check_count(what: str, value: int, least: int) -> None:
    """Refuse what is not a whole number, or too small."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise InputError(f"{what} must be a whole number of at least {least}, got {value!r}")


def check_positive(what: str, value: float) -> None:
    """Refuse what is not a positive number."""
    if not (np.isfinite(value) and value > 0):
        raise InputError(f"{what} must be positive, got {value}")


def _check_nonzero(what: str, value: float) -> None:
    if not np.isfinite(value) or value == 0:
        raise InputError(
            f"{what} must not be 0, which would be an exact tie that no number of results "
            f"settles, nor infinite, got {value}"
        )
