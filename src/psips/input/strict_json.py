"""JSON that others wrote, read strictly: no key twice, and only numbers that there are."""

from __future__ import annotations

import json
import math
from typing import Any

from psips.errors import InputError, quote


def read_json(text: str | bytes, constants: bool = False) -> Any:
    """Read JSON; an error says what no reader would understand as another does.

    ``constants`` allows NaN and Infinity, which some programs write.

    Examples
    --------
    >>> read_json('{"n": 1}')
    {'n': 1}
    >>> read_json('{"n": 1, "n": 2}')
    Traceback (most recent call last):
    psips.errors.InputError: the key 'n' comes twice in one object: leave one of them out
    >>> read_json("[1e999]")
    Traceback (most recent call last):
    psips.errors.InputError: the number 1e999 is too large
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_distinct,
            parse_float=float if constants else _finite,
            parse_constant=float if constants else _refuse,
        )
    except RecursionError:
        raise InputError("the JSON is nested too deeply") from None
    except InputError:
        raise
    except UnicodeDecodeError:
        raise InputError("this is not JSON: it is not written in UTF-8") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"this is not JSON: {error.msg[:100]} ({place})") from None
    except ValueError as error:  # a whole number of thousands of digits
        raise InputError(f"this JSON cannot be read: {str(error)[:200]}") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InputError(
                    f"the key {quote(key)} comes twice in one object: leave one of them out"
                )
            seen.add(key)
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InputError(f"the number {text[:50]} is too large")
    return number


def _refuse(word: str) -> float:
    raise InputError(f"{word} is not a number of JSON: write null for a value that is missing")
