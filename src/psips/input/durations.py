"""Durations as people give them: "1h", "90 min", a number of seconds, a timedelta."""

from __future__ import annotations

import re
from datetime import timedelta

from psips.errors import InputError, quote
from psips.input.quantities import as_float

SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
WORDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("w", "week", "weeks"), "w"),
}
PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)\s*")
FINER = ((86400.0, 3600.0), (3600.0, 60.0), (0.0, 1.0))  # from so many seconds on, to these
LONGEST = 100 * 365.25 * SECONDS["d"]


def read_duration(what: str, given: object) -> float:
    """Return a duration in seconds.

    Examples
    --------
    >>> read_duration("the time limit", "1h 30min"), read_duration("the time limit", 90)
    (5400.0, 90.0)
    >>> read_duration("the time limit", "soon")
    Traceback (most recent call last):
    psips.errors.InputError: the time limit must be a duration such as '90s', ...
    """
    seconds = _seconds(given)
    if seconds is None or not 0.0 < seconds <= LONGEST:
        raise InputError(
            f"{what} must be a duration such as '90s', '30min', '1h' or '2d', or a number of "
            f"seconds, of at most a hundred years; got {quote(given)}"
        )
    return seconds


def _seconds(given: object) -> float | None:
    if isinstance(given, timedelta):
        return given.total_seconds()
    if not isinstance(given, str):
        return as_float(given)
    text, found, at = given.strip().casefold(), 0.0, 0
    while at < len(text):
        part = PART.match(text, at)
        if part is None or part[2] not in WORDS:
            return None
        found += float(part[1]) * SECONDS[WORDS[part[2]]]
        at = part.end()
    return found if text else None


def duration_text(seconds: float) -> str:
    """Write a duration in its two largest units.

    Examples
    --------
    >>> duration_text(5400.0), duration_text(45.2), duration_text(0.25), duration_text(90000.0)
    ('1 h 30 min', '45 s', '0.25 s', '1 d 1 h')
    """
    if seconds < 10.0:
        return f"{seconds:.2g} s"
    finer = next(fine for size, fine in FINER if seconds >= size)
    rest = round(seconds / finer) * finer
    parts = []
    for unit, size in reversed(SECONDS.items()):
        if unit != "w" and rest >= size:
            parts.append(f"{rest // size:,.0f} {unit}")
            rest %= size
    return " ".join(parts)
