"""What the payload of an event holds: each field with its type and its range.

Every event is checked against this when it is read. The replay checks that results and arms
exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from psips.errors import InputError, quote
from psips.store import CLOCK, Event, is_time

CREATED, ASKED, TOLD = "created", "asked", "told"
CORRECTED, WITHDRAWN, CONFIRMED, CLOSED = "corrected", "withdrawn", "confirmed", "closed"
SCHEMA = 4  # of the events' payloads
SCHEMAS = (1, 2, 3, 4)  # that can be read
MAX_INTEGER = 2**63 - 1
LARGEST_NUMBER = 1e300  # of a number, either way

Check = Callable[[Any, str], None]  # raises, naming the place of what is wrong


def _wrong(place: str, expected: str, given: Any) -> InputError:
    return InputError(f"{place} must be {expected}, got {quote(given)[:80]}")


def _text(most: int = 100_000, least: int = 0, pattern: str = "") -> Check:
    form = re.compile(pattern) if pattern else None
    expected = f"a text of {least} to {most:,} characters" if not form else f"like {pattern}"

    def check(value: Any, place: str) -> None:
        fits = isinstance(value, str) and least <= len(value) <= most and "\0" not in value
        if not fits or (form is not None and not form.fullmatch(value)):
            raise _wrong(place, expected, value)

    return check


def _whole(least: int) -> Check:
    def check(value: Any, place: str) -> None:
        if type(value) is not int or not least <= value <= MAX_INTEGER:
            raise _wrong(place, f"a whole number of at least {least}", value)

    return check


def _number(value: Any, place: str) -> None:
    if type(value) not in (int, float) or not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
        raise _wrong(place, "a number", value)


def _flag(value: Any, place: str) -> None:
    if value is not True and value is not False:
        raise _wrong(place, "true or false", value)


def _time(value: Any, place: str) -> None:
    if not is_time(value):
        raise _wrong(place, "a time", value)


def _printable(value: Any, place: str) -> None:
    _text(100, 1)(value, place)
    if not value.isprintable():
        raise _wrong(place, "printable", value)


def _missing_or(check: Check) -> Check:
    return lambda value, place: None if value is None else check(value, place)


def _list(of: Check) -> Check:
    def check(value: Any, place: str) -> None:
        if not isinstance(value, list):
            raise _wrong(place, "a list", value)
        for number, entry in enumerate(value):
            of(entry, f"{place}[{number}]")

    return check


def _map(of: Check) -> Check:
    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(place, "an object", value)
        for name, entry in value.items():
            of(entry, f"{place}[{quote(name)[:50]}]")

    return check


def _record(
    fields: Mapping[str, Check], optional: Mapping[str, Check] | None = None, open: bool = False
) -> Check:
    """Check an object with these fields, and no others unless it is ``open``."""
    every = {**fields, **(optional or {})}

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(place, "an object", value)
        for name in fields:
            if name not in value:
                raise InputError(f"{place.removesuffix(':')} lacks the field {name!r}")
        for name, entry in value.items():
            if name in every:
                every[name](entry, f"{place}{' ' if place.endswith(':') else '.'}{name}")
            elif not open:
                raise InputError(
                    f"{place.removesuffix(':')} has a field {quote(name)[:80]}, which this "
                    "version of psips does not know"
                )

    return check


def _data(value: Any, place: str) -> None:
    """Check numbers, texts and lists of them: what `Problem` and `Rules` look at further."""
    if isinstance(value, list):
        for entry in value:
            _data(entry, place)
    elif isinstance(value, dict):
        for name, entry in value.items():
            _data(entry, f"{place}[{quote(name)[:50]}]")
    elif value is not None and not isinstance(value, str):
        _number(value, place)


def _flag_or_names(value: Any, place: str) -> None:
    if not isinstance(value, bool):
        _list(TEXT)(value, place)


TEXT = _text()
NAME = _printable
REASON = _text(2000)
DIGEST = _text(64, 64, "[0-9a-f]{64}")
NUMBERS = _list(_whole(1))
VALUES = _map(_missing_or(_number))

PROBLEM = _record(
    {
        "name": TEXT,
        "objectives": _list(TEXT),
        "directions": _list(TEXT),
        "covariance": _data,
        "arms": _list(TEXT),
        "feature_names": _list(TEXT),
        "features": _missing_or(_list(_list(_number))),
        "answers": _missing_or(_list(_data)),
        "ball": _missing_or(_number),
        "box": _missing_or(_list(_data)),
        "regularization": _missing_or(_number),
    },
    {
        "intercept": _flag,
        "prior": _data,
        "costs": _list(_number),
        "control": TEXT,
        "epsilon": _data,
        "limits": _data,
        "noise_guess": _data,
        "scales": _list(_data),
        "partial": _flag,
        "blocks": _flag_or_names,
    },
    open=True,  # `Problem` refuses what it does not know
)
FIELDS: dict[str, tuple[dict[str, Check], dict[str, Check]]] = {  # required, optional
    CREATED: (
        {
            "problem": PROBLEM,
            "rules": _map(_data),
            "seed": _whole(0),
            "versions": _map(_text(100)),
        },
        {"budget": _number, "goal": TEXT, "time_limit": _number, "of": TEXT},
    ),
    ASKED: (
        {
            "tickets": _list(_record({"id": TEXT, "arm": TEXT}, {"item": TEXT})),
            "expires": _missing_or(_time),
        },
        {},
    ),
    TOLD: (
        {
            "results": _list(
                _record(
                    {"ticket": _missing_or(TEXT), "arm": TEXT, "values": VALUES},
                    {"kept": _map(TEXT), "item": TEXT},
                )
            )
        },
        {"file": _record({"name": TEXT, "digest": DIGEST}, {"skipped": _list(TEXT)})},
    ),
    CORRECTED: (
        {"result": _whole(1), "values": VALUES, "instead_of": VALUES, "reason": REASON},
        {"awaits": _flag},
    ),
    WITHDRAWN: (
        {"results": NUMBERS, "tickets": _list(TEXT), "reason": REASON},
        {"awaits": _flag},
    ),
    CONFIRMED: ({"results": NUMBERS, "events": NUMBERS, "reason": REASON}, {}),
    CLOSED: ({"reason": REASON}, {}),
    CLOCK: ({"from": _time}, {}),
}
OF_ALL: dict[str, Check] = {  # from schema 2 on
    "by": _record(
        dict.fromkeys(("user", "host", "program"), _text(100)), {"login": _text(100)}
    ),
    "key": NAME,
}
OF_THE_FIRST: dict[str, Check] = {  # the same
    "id": _text(100, 1),
    "conduct": _map(lambda *_: None),  # `Conduct` looks at it
}


def _payload(kind: str, schema: int) -> Check:
    required, optional = FIELDS[kind]
    required = {"schema": _whole(1), **required}
    if schema > 1:
        required |= OF_ALL | (OF_THE_FIRST if kind == CREATED else {})
        optional = {"request": DIGEST, **optional}
    return _record(required, optional)


PAYLOADS = {(kind, schema): _payload(kind, schema) for kind in FIELDS for schema in SCHEMAS}


def read_payload(event: Event) -> dict[str, Any]:
    """Return the payload of an event, every field of it checked."""
    data = event.payload
    place = f"event {event.seq} ({event.kind[:32]}):"
    schema = data.get("schema") if isinstance(data, dict) else None
    if type(schema) is not int or schema not in SCHEMAS:
        found = schema if isinstance(data, dict) else data
        raise InputError(
            f"event {event.seq} of {event.study[:100]!r} has schema {quote(found)[:50]}, but "
            f"this version of psips reads schemas up to {SCHEMA}"
        )
    if (event.kind, schema) not in PAYLOADS:
        raise InputError(
            f"event {event.seq} is of the kind {event.kind[:50]!r}, which this version of "
            "psips does not know"
        )
    PAYLOADS[event.kind, schema](data, place)
    return data
