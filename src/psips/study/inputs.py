"""Checks of a study's small arguments: names, counts and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from psips.errors import InputError, quote
from psips.input.names import check_name
from psips.problem import Problem

NAME_LENGTH = 100
CLOCKS_DIFFER = timedelta(minutes=5)  # at most, those of machines that are set right
MAX_COUNT = 10_000  # of anything that is counted out at once
VARIANCES = (1e-100, 1e100)  # least and largest: squares and sums of results stay finite


def read_name(name: str) -> str:
    """Check the name of a new study."""
    plain = isinstance(name, str) and name == name.strip() and name.isprintable()
    if not plain or not 1 <= len(name) <= NAME_LENGTH:
        raise InputError(
            f"a study needs a name of 1 to {NAME_LENGTH} printable characters, without spaces "
            f"around it, got {quote(name)}"
        )
    check_name("the study", name)
    return name


def read_known_name(name: str) -> str:
    """Check the name of a study that is looked for: whether it can be looked for at all."""
    if not isinstance(name, str) or "\0" in name or not _encodable(name):
        raise InputError(f"no study has the name {quote(name)}: a name is printable text")
    return name


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes of a command line that are no UTF-8
        return False
    return True


def check_units(problem: Problem) -> None:
    """Check that the variances are such that everything can be computed and read again."""
    each = problem.usual_covariance if problem.covariance is None else problem.covariance
    variances = np.diagonal(each, axis1=-2, axis2=-1).reshape(-1, problem.d)
    for c, variance in ((c, v) for row in variances.tolist() for c, v in enumerate(row)):
        objective = problem.objectives[c]
        if problem.scales[c].exact:
            continue
        if not np.isnan(variance) and not VARIANCES[0] <= variance <= VARIANCES[1]:
            raise InputError(
                f"the variance of {quote(objective)} must lie between {VARIANCES[0]:g} and "
                f"{VARIANCES[1]:g}, got {variance:g}: choose other units"
            )


def read_count(what: str, given: Any, least: int, most: int = 2**63 - 1) -> int:
    """Check a whole number."""
    whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if not whole or given < least:
        raise InputError(
            f"{what} must be a whole number of at least {least}, got {quote(given)}"
        )
    if given > most:
        raise InputError(f"{what} is at most {most:,}, got {quote(int(given))}")
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
        f"tickets expire after a positive time of at most a hundred years, got {quote(given)}"
    )


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def ahead(at: str, other: str) -> bool:
    """Whether a time is later than another by more than clocks may differ.

    Examples
    --------
    >>> ahead("2026-01-31T09:30:00.000000Z", "2026-01-31T09:29:00.000000Z")
    False
    """
    return datetime.fromisoformat(at) - datetime.fromisoformat(other) > CLOCKS_DIFFER


def stamp(time: datetime) -> str:
    """Write a time so that texts sort as the times do."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
