"""Texts of pages: events, times and estimates in words."""

from __future__ import annotations

from typing import Any, NamedTuple

from psips.input.quantities import in_words
from psips.store import CLOCK, Event, is_time
from psips.study.schema import ASKED, CLOSED, CONFIRMED, CORRECTED, CREATED, TOLD, WITHDRAWN

LISTED = 4  # measurements or tickets of an event that are named


def moment(at: str) -> str:
    """Write a time."""
    return f"{at[:10]} {at[11:19]} UTC" if is_time(at) else "at no valid time"


class Entry(NamedTuple):
    """An event in words: a line of the log."""

    seq: int
    at: str
    who: str
    what: str


def entry(event: Event) -> Entry:
    """Write an event in words."""
    data = event.payload
    return Entry(event.seq, moment(event.at), _who(data), _what(event.kind, data))


def _who(data: dict[str, Any]) -> str:
    """Say who recorded an event, and from where."""
    by = data.get("by")
    if not isinstance(by, dict):
        return "not recorded"
    program = str(by.get("program", "")).rpartition(", ")[2]
    return f"{by.get('user')} ({program} on {by.get('host')})"


def _what(kind: str, data: dict[str, Any]) -> str:
    """Say what an event did."""
    reason = f"; {data['reason']}" if data.get("reason") else ""
    if kind == CREATED:
        return f"created with psips {data['versions']['psips']}, seed {data['seed']}"
    if kind == ASKED:
        tickets = [f"{t['arm']} ({t['id']})" for t in data["tickets"]]
        return f"asked for {_few(tickets)}"
    if kind == TOLD:
        results = data["results"]
        told = [f"{r['arm']}: {_values(r['values'])}" for r in results[:LISTED]]
        file = f" from {data['file']['name']}" if data.get("file") else ""
        count = f"{of(len(results), 'measurement')}{file}"
        return f"entered {count}: {_few(told, len(results))}"
    waits = " (waits for another person)" if data.get("awaits") else ""
    if kind == CORRECTED:
        old, new = _values(data["instead_of"]), _values(data["values"])
        return f"corrected measurement {data['result']}: {old} became {new}{waits}{reason}"
    if kind == WITHDRAWN:
        numbers = [f"measurement {n}" for n in data["results"]]
        tickets = [f"ticket {t}" for t in data["tickets"]]
        verb = "withdrew" if numbers else "cancelled"
        return f"{verb} {_few(numbers + tickets)}{waits}{reason}"
    if kind == CONFIRMED:
        parts = [f"measurement {n}" for n in data["results"]]
        parts += [f"event {n}" for n in data["events"]]
        return f"confirmed {_few(parts)}{reason}"
    if kind == CLOCK:
        return f"set the clock back from {moment(data['from'])}"
    return f"closed the study{reason}" if kind == CLOSED else str(kind)


def _few(parts: list[str], size: int | None = None) -> str:
    shown = "; ".join(parts[:LISTED])
    more = (len(parts) if size is None else size) - LISTED
    return shown if more <= 0 else f"{shown}; and {more:,} more"


def _values(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {in_words(value)}" for name, value in values.items())


def of(count: int, what: str) -> str:
    """Write a count with what is counted.

    Examples
    --------
    >>> of(1, "option"), of(1200, "measurement")
    ('1 option', '1,200 measurements')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"
