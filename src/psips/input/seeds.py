"""Where randomness enters: a generator given by the user, and the keys drawn from it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psips.errors import InputError, quote

Key = npt.NDArray[np.uint64]  # (2,)
RECORDED_BITS = 48  # of a seed that is drawn to be recorded
Seed = int | np.random.SeedSequence | np.random.Generator | None


def generator(rng: Seed) -> np.random.Generator:
    """Return the generator that ``rng`` stands for, as in `numpy.random.default_rng`.

    Examples
    --------
    >>> generator(-1)
    Traceback (most recent call last):
    psips.errors.InputError: the seed must be None, a whole number of at least 0, ...
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            "the seed must be None, a whole number of at least 0, a numpy SeedSequence or a "
            f"numpy Generator, got {quote(rng)}"
        ) from None


def either_seed(rng: Seed, seed: Seed) -> Seed:
    """Return what was given of two names for the same thing."""
    if rng is not None and seed is not None:
        raise InputError(
            f"rng={quote(rng)} and seed={quote(seed)} are two names of the same thing: give "
            f"one of them"
        )
    return seed if rng is None else rng


def whole_seed(rng: Seed, seed: Seed) -> int | None:
    """Return what was given as a whole number, which can be recorded; None if nothing was.

    Of a generator or a `SeedSequence` it is the next random number.

    Examples
    --------
    >>> whole_seed(None, 7), whole_seed(7, None), whole_seed(None, None)
    (7, 7, None)
    >>> whole_seed(np.random.default_rng(1), None) == whole_seed(np.random.default_rng(1), None)
    True
    """
    given = either_seed(rng, seed)
    if isinstance(given, np.random.Generator | np.random.SeedSequence):
        return int(generator(given).integers(2**RECORDED_BITS))
    return given


def draw_key(rng: Seed) -> Key:
    """Draw the key of a session or of an environment: the next two words of 64 bits.

    Examples
    --------
    >>> draw_key(1).dtype
    dtype('uint64')
    """
    return generator(rng).integers(0, 2**64, size=2, dtype=np.uint64)
