"""Errors about what the user gave: one sentence that says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

SHOWN = 12  # names listed in a message before "and n more"
QUOTED = 200  # characters of what came that a message repeats


_ON_PAGE = ContextVar("on_page", default=False)


@contextmanager
def on_page() -> Iterator[None]:
    """Write messages for people at a page, who have no options to give."""
    token = _ON_PAGE.set(True)
    try:
        yield
    finally:
        _ON_PAGE.reset(token)


def advice(command: str, page: str) -> str:
    """Return what to do about an error: with an option of the command line, or on a page.

    Examples
    --------
    >>> advice("say which with --sheet", "leave one sheet in the file")
    'say which with --sheet'
    >>> with on_page():
    ...     advice("say which with --sheet", "leave one sheet in the file")
    'leave one sheet in the file'
    """
    return page if _ON_PAGE.get() else command


class InputError(ValueError):
    """An argument, file or command cannot be used.

    The message is one sentence that names the thing, what was expected, what came and,
    where it is not plain, what to do.
    """


class NoProofError(InputError):
    """A rule was to be proven for a problem for which no proof is known."""


def quote(given: object) -> str:
    """Return what came as it appears in a message: of a long thing its two ends.

    Examples
    --------
    >>> quote("x"), quote([1, "y"])
    ("'x'", "[1, 'y']")
    >>> len(quote("x" * 1000))
    200
    >>> quote(10**5000)
    'a whole number of about 5,000 digits'
    """
    from reprlib import Repr  # an error path: do not pay for it at import

    class Short(Repr):
        def repr_int(self, x: int, _: int) -> str:
            if x.bit_length() <= 3 * QUOTED:
                return repr(x)
            return f"a whole number of about {x.bit_length() * 0.30103:,.0f} digits"

    short = Short()
    short.maxstring = short.maxother = QUOTED
    short.maxlist = short.maxtuple = short.maxdict = short.maxset = SHOWN
    text = short.repr(str(given) if isinstance(given, str) else given)  # a ticket is its arm
    if not isinstance(given, str):
        text = " ".join(text.split())  # arrays and tables print over several lines
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 9]}...{text[-6:]}"


def listing(names: Iterable[str]) -> str:
    """Names as they appear in a message, the long lists cut short.

    Examples
    --------
    >>> listing(["a", "b"])
    "'a', 'b'"
    >>> listing(str(i) for i in range(14))
    "'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11' and 2 more"
    """
    every = list(names)
    shown = ", ".join(quote(name) for name in every[:SHOWN])
    return shown if len(every) <= SHOWN else f"{shown} and {len(every) - SHOWN} more"


def unknown(kind: str, name: object, known: Sequence[str]) -> InputError:
    """Build the error for a name that is not one of the known ones, with the nearest of them.

    Examples
    --------
    >>> print(unknown("sampling rule", "projcted", ["posterior", "projected"]))
    unknown sampling rule 'projcted': did you mean 'projected'? known: 'posterior', 'projected'
    >>> print(unknown("arm", "x", ["left", "right"]))
    unknown arm 'x'; known: 'left', 'right'
    """
    near = nearest(str(name), known)
    hint = f": did you mean {quote(near)}?" if near else ";"
    return InputError(f"unknown {kind} {quote(str(name))}{hint} known: {listing(known)}")


def nearest(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that is most like one that is not; case and spaces do not count.

    Examples
    --------
    >>> nearest("bnt half", ["BNT", "BNT Half"]), nearest("x", ["left"])
    ('BNT Half', None)
    """
    from difflib import get_close_matches  # an error path: do not pay for it at import

    folded: dict[str, str] = {}
    for one in known:
        folded.setdefault(fold(one), one)
    near = get_close_matches(fold(name[:QUOTED]), list(folded), n=1)
    return folded[near[0]] if near else None


def fold(name: str) -> str:
    """Return what is left of a name if case and spaces do not count."""
    return "".join(name.casefold().split())


def check_keys(kind: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raise `InputError` for the first key that is not known.

    Examples
    --------
    >>> check_keys("key", ["name"], ["name", "arms"])
    >>> check_keys("key", ["nmae"], ["name", "arms"])
    Traceback (most recent call last):
    psips.errors.InputError: unknown key 'nmae': did you mean 'name'? known: 'name', 'arms'
    """
    for key in given:
        if key not in known:
            raise unknown(kind, key, known)


def check_distinct(kind: str, names: Sequence[str]) -> None:
    """Raise `InputError` if a name comes twice.

    Examples
    --------
    >>> check_distinct("arm", ["a", "b", "a"])
    Traceback (most recent call last):
    psips.errors.InputError: duplicate arm 'a' (positions 1 and 3): names must differ
    """
    first: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if name in first:
            raise InputError(
                f"duplicate {kind} {quote(name)} (positions {first[name]} and {position}): "
                "names must differ"
            )
        first[name] = position


def counted(number: int, what: str) -> str:
    """Put a number of things into words.

    Examples
    --------
    >>> counted(1, "event"), counted(2000, "result")
    ('1 event', '2,000 results')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
