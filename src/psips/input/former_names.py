"""Names of earlier versions: they go on working for one version, with a warning."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from psips.errors import InputError


class FormerNameWarning(DeprecationWarning):
    """A name of an earlier version was used; the message says what to write."""


def warn_former(advice: str) -> None:
    """Warn at the line outside psips from which the call came."""
    warnings.warn(advice, FormerNameWarning, stacklevel=_outside())


def read_renamed(name: str, given: Any, former: str, formerly: Any, absent: Any = None) -> Any:
    """Return an argument given by its name or, with a warning, by its former one.

    Examples
    --------
    >>> read_renamed("item", "q1", "block", None)
    'q1'
    >>> read_renamed("item", "q1", "block", "q2")
    Traceback (most recent call last):
    psips.errors.InputError: block= is the former name of item=: give item= alone
    """
    if formerly is None:
        return given
    if given is not absent:
        raise InputError(f"{former}= is the former name of {name}=: give {name}= alone")
    warn_former(f"{former}= is called {name}= now, and will be refused by the next version")
    return formerly


def _outside() -> int:
    """Return how far up the caller of `warn_former` is who does not belong to psips."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("psips."):
        level, frame = level + 1, frame.f_back
    return max(1, level - 1)
