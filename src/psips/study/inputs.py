"""Small things that the calls of a study are given: names, counts and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from psips.errors import InputError
from psips.problem import Problem

NAME_LENGTH = 100
LARGEST = 1e50  # of a result; squares and sums of these stay finite
VARIANCES = (1e-100, 1e100)  # least and largest, for the same reason


def read_name(name: str) -> str:
    """Check the name of a study."""
    if not name or name != name.strip() or not name.isprintable() or len(name) > NAME_LENGTH:
        raise InputError(
            f"a study needs a name of 1 to {NAME_LENGTH} printable characters, without spaces "
            f"around it, got {str(name)[:200]!r}"
        )
    return name


def check_units(problem: Problem) -> None:
    """Check that the variances are such that everything can be reckoned and read again."""
    for objective, variance in zip(
        problem.objectives, problem.covariance.diagonal().tolist(), strict=True
    ):
        if not VARIANCES[0] <= variance <= VARIANCES[1]:
            raise InputError(
                f"the variance of {objective!r} must lie between {VARIANCES[0]:g} and "
                f"{VARIANCES[1]:g}, got {variance:g}: choose other units"
            )


def check_size(objective: str, value: float) -> float:
    """Check that a value of a result is one that can be reckoned with."""
    if not abs(value) <= LARGEST:
        raise InputError(
            f"the value of {objective!r} must lie between {-LARGEST:g} and {LARGEST:g}, got "
            f"{value!r}"
        )
    return value


def read_count(what: str, given: Any, least: int, most: int = 2**63 - 1) -> int:
    """Check a whole number."""
    whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if not whole or given < least:
        shown = repr(given) if not whole else int(given)
        raise InputError(f"{what} must be a whole number of at least {least}, got {shown}")
    if given > most:
        raise InputError(f"{what} must be at most {most}")
    return int(given)


def read_wait(given: float | timedelta) -> timedelta:
    """Read how long a ticket lasts."""
    try:
        wait = given if isinstance(given, timedelta) else timedelta(seconds=float(given))
        if timedelta(0) < wait < timedelta(days=36525):
            return wait
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(
        f"tickets expire after a positive time of at most a hundred years, got {given!r}"
    )


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def stamp(time: datetime) -> str:
    """Write a time so that texts sort as the times do."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
