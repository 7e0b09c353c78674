"""The noise of one measurement, as users give it: known, guessed or to be estimated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, quote, unknown
from psips.input.checks import (
    Nested,
    by_name,
    frozen,
    nested,
    read_covariance,
    read_positive,
    read_variances,
)
from psips.problem.scales import Scale
from psips.state.codes import FEWEST_ARMS
from psips.state.model import EACH, OWN, POOLED, SHARED, NoiseModel

KNOWN, ESTIMATE, PER_ARM = "known", "estimate", "per-arm"
UNKNOWN = (ESTIMATE, PER_ARM)
WIDEST = 1500  # answers times objectives, where their whole covariance is kept


@dataclass(frozen=True)
class NoiseGuess:
    """What the covariance of one measurement is thought to be, before it is estimated.

    Parameters
    ----------
    covariance : matrix, or one variance per objective
    results : float
        How many results of every arm the guess is worth.
    """

    covariance: Nested
    results: float

    def __post_init__(self) -> None:
        matrix = nested("the covariance of the noise guess", self.covariance)
        object.__setattr__(self, "covariance", matrix)
        worth = read_positive(
            "the number of results that the noise guess is worth", self.results
        )
        object.__setattr__(self, "results", worth)


def read_noise(
    objectives: Sequence[str], arms: Sequence[str], given: object, exact: Sequence[str] = ()
) -> tuple[str, Floats | None]:
    """Return how the noise is known and its covariance: (d, d), (K, d, d), or None.

    It is 0 in metrics that are ``exact``, as registered, or because that is what was given.

    Examples
    --------
    >>> read_noise(["yield"], ["A", "B"], "per-arm")
    ('per-arm', None)
    >>> read_noise(["yield"], ["A", "B"], {"A": [1], "B": [4]})[1].tolist()
    [[[1.0]], [[4.0]]]
    """
    if isinstance(given, str):
        if given not in UNKNOWN:
            raise unknown("covariance", given, UNKNOWN)
        return given, None
    each = _by_arm(objectives, arms, given)
    if each is None:
        return KNOWN, frozen(read_some(objectives, given, exact))
    found = []
    for arm, one in zip(arms, each, strict=True):
        try:
            found.append(read_some(objectives, one, exact))
        except InputError as error:
            raise InputError(f"arm {quote(arm)}: {error}") from None
    covariance = np.array(found)
    none = np.diagonal(covariance, axis1=1, axis2=2) == 0.0  # (K, d)
    for c in np.flatnonzero(none.any(axis=0) & ~none.all(axis=0)).tolist():
        arm = arms[int(np.flatnonzero(none[:, c])[0])]
        raise InputError(
            f"the variance of {quote(objectives[c])} is 0 for arm {quote(arm)} and not for "
            f"others: a metric without noise (kind = 'exact') has none for any arm"
        )
    return KNOWN, frozen(covariance)


def read_some(objectives: Sequence[str], given: object, exact: Sequence[str]) -> Floats:
    """Return a covariance (d, d) that is 0 in exact metrics, and positive definite otherwise.

    Examples
    --------
    >>> read_some(["time", "size"], {"time": 2}, exact=["size"]).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    S = read_variances(objectives, given, exact)
    full = S if S.ndim == 2 else np.diag(S)
    for c, objective in enumerate(objectives):
        if objective in exact and full[c, c] != 0.0:
            raise InputError(
                f"{quote(objective)} is exact, without noise, but its variance is given as "
                f"{full[c, c]:g}: leave one of the two out"
            )
    noisy = [c for c in range(len(objectives)) if full[c, c] != 0.0]
    for c, e in np.argwhere(full != 0.0).tolist():
        if c not in noisy or e not in noisy:
            raise InputError(
                f"the covariance of {quote(objectives[c])} and {quote(objectives[e])} is "
                f"{full[c, e]:g}, but one of them has the variance 0: it is exact, and varies "
                f"with nothing"
            )
    found = np.zeros_like(full)
    if noisy:
        part = S[noisy] if S.ndim == 1 else S[np.ix_(noisy, noisy)]
        found[np.ix_(noisy, noisy)] = read_covariance([objectives[c] for c in noisy], part)
    return found


def check_noise_of_fit(noise: str, joint: bool, n: int, d: int) -> None:
    """Refuse noise that cannot be used for arms with features."""
    if noise == PER_ARM:
        raise InputError(
            "with features the noise is estimated from all results together, not for each arm: "
            "leave the covariance out, or give one for each arm"
        )
    if joint and n * d > WIDEST:
        raise InputError(
            f"with features, missing values and noise of each arm's own are possible "
            f"for {WIDEST // d:,} answers in {d} objectives at most, got {n:,}: give one "
            f"covariance for all arms and complete results, or ask about fewer answers"
        )


def read_guess(
    objectives: Sequence[str], noise: str, guess: object, exact: Sequence[str] = ()
) -> NoiseGuess | None:
    """Check a guess of the noise against the problem."""
    if guess is None:
        return None
    if not isinstance(guess, NoiseGuess):
        raise InputError(f"noise_guess must be a NoiseGuess, got {quote(guess)}")
    if noise == KNOWN:
        raise InputError(
            "the covariance is given, so a guess of it has no use: leave out noise_guess, or "
            "set covariance to 'per-arm' or 'estimate'"
        )
    matrix = read_some(objectives, guess.covariance, exact)
    for c in np.flatnonzero(np.diag(matrix) == 0.0).tolist():
        if objectives[c] not in exact:
            raise InputError(
                f"the noise of {quote(objectives[c])} is guessed to be 0: register it with "
                f"kind = 'exact' if it has none"
            )
    return guess


def _by_arm(objectives: Sequence[str], arms: Sequence[str], given: object) -> list[Any] | None:
    """Return one covariance for each arm, in their order; None if it is one for all."""
    if isinstance(given, Mapping):
        keys = {str(key) for key in given}
        if keys <= set(objectives) or not keys & set(arms):
            return None
        return by_name("covariance", "arm", arms, given)
    if hasattr(given, "to_dict"):
        return None
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if array.ndim != 3:
        return None
    if len(array) != len(arms):
        raise InputError(
            f"the covariance has matrices for {len(array)} arms, but there are {len(arms)}: "
            f"give one for each, or one for all"
        )
    return list(array)


def noise_model(
    noise: str,
    covariance: Floats | None,
    guess: NoiseGuess | None,
    scales: Sequence[Scale],
    K: int,
    signs: Floats,
    partial: bool,
) -> NoiseModel:
    """Return what is known of the noise as the kernels read it."""
    d, turn = len(scales), np.outer(signs, signs)
    given, matrix, worth, least = np.zeros((0, d, d)), np.zeros((d, d)), 0.0, 1
    if covariance is not None:
        mode = SHARED if covariance.ndim == 2 else EACH
        if mode == EACH or partial:
            given = np.broadcast_to(covariance * turn + 0.0, (K, d, d)).copy()
    else:
        mode, arms = (POOLED, K) if noise == ESTIMATE else (OWN, 1)
        if guess is not None:
            objectives = [str(c) for c in range(d)]
            matrix = read_covariance(objectives, guess.covariance) * turn + 0.0
            worth = guess.results * arms
        least = 1 + max(0, math.ceil((d - worth) / arms))
        if mode == OWN and K >= FEWEST_ARMS:
            least = min(least, 2)  # arms may inform each other; if not, more are asked for
    binary = np.array([float(scale.binary) for scale in scales])
    ends = signs[:, None] * np.array([scale.ends for scale in scales]).reshape(-1, 2)
    low, high = ends.min(axis=1), ends.max(axis=1)
    return NoiseModel(mode, partial, given, matrix, worth, binary, low, high, least)
