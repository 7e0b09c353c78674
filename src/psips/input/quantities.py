"""Numbers as people give them: as numbers, and as text in files and on the command line."""

from __future__ import annotations

import math
import re
from typing import Any

from psips.errors import InputError, quote

# What is taken for a number in a text. float() takes more: digits of every script, spaces
# that cannot be seen, 1_000. A number that was meant differently must not slip in.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(inf|infinity|nan)", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_BLANKS = " \t\r\n"  # around a number or a cell; no other spaces


def stripped(cell: str) -> str:
    """Return a cell without the blanks around it; other kinds of spaces stay, to be seen."""
    return cell.strip(_BLANKS)


def parse_number(what: str, text: str) -> float:
    """Read a number from a text.

    Digits 0 to 9 and a decimal point, with or without an exponent: nothing else.

    Examples
    --------
    >>> parse_number("the value of 'yield'", "-1.5e3")
    -1500.0
    >>> parse_number("the value of 'yield'", "1,5")
    Traceback (most recent call last):
    psips.errors.InputError: the value of 'yield' must be a number, got '1,5': write 1.5
    """
    cell = stripped(text)
    if _NUMBER.fullmatch(cell):
        value = float(cell)
        if math.isfinite(value):
            return value
        raise InputError(
            f"{what} must be finite, got {quote(text)}: it is too large for a number"
        )
    if _NOT_FINITE.fullmatch(cell):
        raise InputError(f"{what} must be finite, got {quote(text)}")
    hint = ""
    if _COMMA.fullmatch(cell):
        hint = f": write {quote(cell.replace(',', '.'))[1:-1]}"
    elif not text.isascii():
        hint = ": write it with the digits 0 to 9, a point and no other characters"
    shown = quote(text) if text.isascii() or text.isprintable() else ascii(text)[:200]
    raise InputError(f"{what} must be a number, got {shown}{hint}")


def in_words(value: float | None) -> str:
    """Return a value of a result for people to read, also of one that is missing.

    Examples
    --------
    >>> in_words(0.25), in_words(None)
    ('0.25', 'missing')
    """
    return "missing" if value is None else f"{value:g}"


def as_float(given: Any) -> float | None:
    """Return a number as a float; None if it is none: a truth value, a text, a list.

    Examples
    --------
    >>> as_float(2), as_float(True), as_float("2"), as_float(10**400)
    (2.0, None, None, inf)
    """
    if isinstance(given, bool | str | bytes | complex) or type(given).__name__ == "bool":
        return None  # the last is NumPy's
    if getattr(given, "ndim", 0):
        return None
    try:
        return float(given)
    except OverflowError:  # an integer beyond what a float holds
        return math.inf if given > 0 else -math.inf
    except (TypeError, ValueError):
        return None


def delta_of(confidence: object) -> float:
    """Return the accepted probability of a wrong answer that leaves a confidence.

    Examples
    --------
    >>> delta_of(0.95)
    0.05
    """
    value = as_float(confidence)
    if value is None or not 0.0 < value < 1.0:
        raise InputError(
            f"confidence is the probability of a right answer: expected a number between 0 and "
            f"1, got {quote(confidence)}; 0.9 or 0.95 are usual"
        )
    return float(f"{1.0 - value:.12g}")  # not 0.05000000000000004
