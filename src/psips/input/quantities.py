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
    """Return the accepted probability of being wrong that leaves a confidence.

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


def expected_of(given: object) -> float | tuple[float, float]:
    """Read how many measurements an experiment is expected to take: a number or a range.

    Examples
    --------
    >>> expected_of(300), expected_of([100, 1000.0])
    (300, (100, 1000))
    >>> expected_of((1000, 100))
    Traceback (most recent call last):
    psips.errors.InputError: expected_results must be a number of measurements, at least 2, ...
    """
    pair = given if isinstance(given, tuple | list) and len(given) == 2 else (given,)
    ends = [as_float(one) for one in pair]
    found = [end for end in ends if end is not None and 2.0 <= end < math.inf]
    if len(found) < len(ends) or found != sorted(found):
        raise InputError(
            f"expected_results must be a number of measurements, at least 2, or a range "
            f"(low, high) of them, got {quote(given)}: 300, say, or (100, 1000)"
        )
    whole = [int(end) if end.is_integer() and end < 2**53 else end for end in found]
    return whole[0] if len(whole) == 1 else (whole[0], whole[1])


def parse_expected(text: str) -> float | tuple[float, float]:
    """Read a number or a range of measurements from a text.

    Examples
    --------
    >>> parse_expected("300"), parse_expected("100:1000")
    (300, (100, 1000))
    """
    low, colon, high = text.partition(":")
    numbers = [
        parse_number("expected_results", one) for one in ([low, high] if colon else [low])
    ]
    return expected_of(tuple(numbers) if colon else numbers[0])


def expected_text(expected: float | tuple[float, float]) -> str:
    """Return a number or a range of measurements for people to read.

    Examples
    --------
    >>> expected_text(300), expected_text((100, 20000))
    ('300', '100 to 20,000')
    """
    ends = expected if isinstance(expected, tuple) else (expected,)
    return " to ".join(f"{end:,.10g}" for end in ends)
