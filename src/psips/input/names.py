"""Names of arms, answers, objectives, features and studies: which are taken.

A name is read by people, typed again by others, and compared by machines. So two names that
look the same must not be two names, and a name must not do anything when it is printed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from psips.errors import InputError, quote

LONGEST = 200  # characters of a name
RESERVED = ("arm", "ticket", "item", "result")  # columns of tables of results

_RECORDED = ContextVar("recorded", default=False)

KINDS = {  # what a character of a category is, to say which one is in the way
    "Cc": "a control character",
    "Cf": "an invisible character",
    "Cs": "a byte that is no UTF-8",
    "Zl": "a line separator",
    "Zp": "a paragraph separator",
}


@contextmanager
def as_recorded() -> Iterator[None]:
    """Take names as they stand in a record: what was accepted once can be read for ever."""
    token = _RECORDED.set(True)
    try:
        yield
    finally:
        _RECORDED.reset(token)


def check_name(what: str, name: str) -> None:
    """Raise `InputError` if a name cannot be told from another or does harm when printed.

    Examples
    --------
    >>> check_name("arm 1", "BNT Half")
    >>> check_name("arm 1", "A ")
    Traceback (most recent call last):
    psips.errors.InputError: arm 1 has spaces around its name 'A ': remove them
    """
    if not name.strip():
        raise InputError(f"{what} has an empty name: give it one")
    if _RECORDED.get():
        return
    if name != name.strip():
        raise InputError(f"{what} has spaces around its name {quote(name)}: remove them")
    if len(name) > LONGEST:
        raise InputError(
            f"{what} has a name of {len(name):,} characters, {quote(name)}: the limit is "
            f"{LONGEST}"
        )
    for character in name:
        kind = KINDS.get(unicodedata.category(character))
        if kind is not None:
            raise InputError(
                f"{what} has {kind} (U+{ord(character):04X}) in its name {name!a}: remove it"
            )
    composed = unicodedata.normalize("NFC", name)
    if composed != name:
        raise InputError(
            f"{what} has a name whose accents are characters of their own, {name!a}: write it "
            f"as {composed!a} (Unicode form NFC), which looks the same"
        )


def check_apart(kind: str, names: Sequence[str]) -> None:
    """Raise `InputError` if two names differ only in how wide or which their spaces are.

    Examples
    --------
    >>> check_apart("arm", ["BNT Half", "BNT  Half"])
    Traceback (most recent call last):
    psips.errors.InputError: arms 1 and 2 look alike, 'BNT Half' and 'BNT  Half': rename one
    """
    if _RECORDED.get():
        return
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        seen = first.setdefault(" ".join(name.split()), place)
        if seen != place:
            raise InputError(
                f"{kind}s {seen + 1} and {place + 1} look alike, {names[seen]!a} and "
                f"{name!a}: rename one"
            )


def check_reserved(names: Sequence[str]) -> None:
    """Raise `InputError` for an objective that has the name of another column.

    Examples
    --------
    >>> check_reserved(["yield", "arm"])
    Traceback (most recent call last):
    psips.errors.InputError: an objective cannot be called 'arm', which is a column of ...
    """
    for name in names:
        if name in RESERVED and not _RECORDED.get():
            raise InputError(
                f"an objective cannot be called {name!r}, which is a column of its own in "
                "tables of results: choose another name"
            )
