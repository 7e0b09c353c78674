"""Where randomness enters: a generator given by the user, and the keys drawn from it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psips.errors import InputError, quote

Key = npt.NDArray[np.uint64]  # (2,)
Seed = int | np.random.SeedSequence | np.random.Generator | None


def generator(rng: Seed) -> np.random.Generator:
    """Return the generator that ``rng`` stands for, as in `numpy.random.default_rng`.

    Examples
    --------
    >>> generator(-1)
    Traceback (most recent call last):
    psips.errors.InputError: rng must be None, a whole number of at least 0, ...
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            "rng must be None, a whole number of at least 0, a numpy SeedSequence or a numpy "
            f"Generator, got {quote(rng)}"
        ) from None


def either_seed(rng: Seed, seed: Seed) -> Seed:
    """Return what was given of two names for the same thing."""
    if rng is not None and seed is not None:
        raise InputError(
            f"rng={quote(rng)} and seed={quote(seed)} are two names of the same thing: give "
            f"one of them"
        )
    return seed if rng is None else rng


def draw_key(rng: Seed) -> Key:
    """Draw the key of a session or of an environment: the next two words of 64 bits.

    Examples
    --------
    >>> draw_key(1).dtype
    dtype('uint64')
    """
    return generator(rng).integers(0, 2**64, size=2, dtype=np.uint64)
