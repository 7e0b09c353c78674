"""What is wrong with a request, as data: the command line's exit codes as HTTP codes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from psips.errors import InputError, quote
from psips.store import DamagedError, StoreError, UnknownOutcomeError
from psips.study import KeyUsedError, ProblemsError

MALFORMED, NOT_SIGNED_IN, FORBIDDEN, NOT_FOUND = 400, 401, 403, 404
STOPPED = KEY_USED = 409
BAD_INPUT, TOO_MANY = 422, 429
DAMAGED, UNAVAILABLE, UNKNOWN_OUTCOME = 500, 503, 504
_PLACE = re.compile(r"^(?:.{0,300}? line|result) (\d+):? ", re.DOTALL)


class RefusedError(InputError):
    """A request that is refused with a code of its own.

    Parameters
    ----------
    code : int
        Of HTTP.
    message : str
    exit_code : int
        What the command line would end with.
    """

    def __init__(self, code: int, message: str, exit_code: int = 2) -> None:
        self.code = code
        self.exit_code = exit_code
        super().__init__(message)


def code_of(error: InputError) -> int:
    """Return the HTTP code of an error.

    Examples
    --------
    >>> code_of(InputError("a sentence")), code_of(UnknownOutcomeError("lost"))
    (422, 504)
    """
    if isinstance(error, RefusedError):
        return error.code
    if isinstance(error, KeyUsedError):
        return KEY_USED
    if isinstance(error, UnknownOutcomeError):
        return UNKNOWN_OUTCOME
    if isinstance(error, StoreError):
        return UNAVAILABLE
    return DAMAGED if isinstance(error, DamagedError) else BAD_INPUT


def problem_data(error: InputError, objectives: Sequence[str] = ()) -> dict[str, Any]:
    """Return an error as data: code, sentence, and each thing that is wrong by itself."""
    sentences = error.problems if isinstance(error, ProblemsError) else [str(error)]
    return {
        "status": code_of(error),
        "exit_code": getattr(error, "exit_code", 2),
        "detail": str(error)[:2000],
        "problems": [problem(sentence, objectives) for sentence in sentences],
    }


def without_place(sentence: str) -> str:
    """Return what is wrong without the line it is in.

    Examples
    --------
    >>> without_place("a.csv line 3: the value of 'cost' is missing")
    "the value of 'cost' is missing"
    """
    return _PLACE.sub("", sentence, count=1)


def problem(sentence: str, objectives: Sequence[str] = ()) -> dict[str, Any]:
    """Return one thing that is wrong: the sentence, and the line and the field if it has them.

    Examples
    --------
    >>> problem("a.csv line 3: the value of 'cost' is missing", ["cost"])
    {'message': "a.csv line 3: the value of 'cost' is missing", 'line': 3, 'field': 'cost'}
    """
    place = _PLACE.match(sentence)
    field = next((o for o in objectives if f"the value of {quote(o)}" in sentence), None)
    return {
        "message": sentence[:1000],
        "line": int(place[1]) if place else None,
        "field": field,
    }
