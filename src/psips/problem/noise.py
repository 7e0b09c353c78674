"""The noise of one measurement, as users give it: known, guessed or to be estimated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, quote, unknown
from psips.input.checks import Nested, by_name, frozen, nested, read_covariance, read_positive
from psips.kernels.codes import FEWEST
from psips.kernels.model import EACH, OWN, POOLED, SHARED, NoiseModel
from psips.problem.scales import Scale

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
    objectives: Sequence[str], arms: Sequence[str], given: object
) -> tuple[str, Floats | None]:
    """Return how the noise is known and its covariance: (d, d), (K, d, d), or None.

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
        return KNOWN, frozen(read_covariance(objectives, given))
    found = []
    for arm, one in zip(arms, each, strict=True):
        try:
            found.append(read_covariance(objectives, one))
        except InputError as error:
            raise InputError(f"arm {quote(arm)}: {error}") from None
    return KNOWN, frozen(np.array(found))


def check_noise_of_fit(noise: str, joint: bool, n: int, d: int) -> None:
    """Refuse noise that cannot be reckoned with for arms with features."""
    if noise == PER_ARM:
        raise InputError(
            "with features the noise is estimated from all results together, not for each arm: "
            "leave the covariance out, or give one for each arm"
        )
    if joint and n * d > WIDEST:
        raise InputError(
            f"with features, results with holes and noise of each arm's own are reckoned with "
            f"for {WIDEST // d:,} answers in {d} objectives at most, got {n:,}: give one "
            f"covariance for all arms and complete results, or ask about fewer answers"
        )


def read_guess(objectives: Sequence[str], noise: str, guess: object) -> NoiseGuess | None:
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
    read_covariance(objectives, guess.covariance)
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
        if mode == OWN and K >= FEWEST:
            least = min(least, 2)  # arms may inform each other; if not, more are asked for
    binary = np.array([float(scale.binary) for scale in scales])
    ends = signs[:, None] * [scale.ends for scale in scales]
    low, high = ends.min(axis=1), ends.max(axis=1)
    return NoiseModel(mode, partial, given, matrix, worth, binary, low, high, least)
