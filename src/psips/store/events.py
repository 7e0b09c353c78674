"""Events: what happened in a study, each carrying the hash of the one before it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from psips.errors import quote

CLOCK = "clock"  # the kind of an event before which the clock was set back
START = "0" * 64  # stands for the hash before the first event
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


def canonical(data: Any) -> str:
    """Write data as JSON in the one way that hashes are taken of.

    Examples
    --------
    >>> canonical({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    return json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


class Event(NamedTuple):
    """One entry of a study's log.

    Parameters
    ----------
    study : str
    seq : int
        1 for the first event of the study; there are no gaps.
    at : str
        When, in UTC: ``2026-01-31T09:30:00.000000Z``.
    kind : str
    text : str
        The payload as canonical JSON.
    previous, hash : str
        SHA-256 of the event before and of this one, in hexadecimal digits.
    """

    study: str
    seq: int
    at: str
    kind: str
    text: str
    previous: str
    hash: str

    @classmethod
    def after(
        cls,
        last: tuple[int, str],
        study: str,
        at: str,
        kind: str,
        payload: Mapping[str, Any],
    ) -> Event:
        """Make the event that follows ``last``, a sequence number and a hash."""
        seq, previous = last[0] + 1, last[1]
        text = canonical(payload)
        event = cls(study, seq, at, kind, text, previous, "")
        return event._replace(hash=event.digest())

    @property
    def payload(self) -> dict[str, Any]:
        """What happened, as data."""
        data: dict[str, Any] = json.loads(self.text)
        return data

    @property
    def schema(self) -> int:
        """Version of the payload; 0 if it cannot be read."""
        try:
            found = self.payload["schema"]
        except (KeyError, TypeError, ValueError, RecursionError):
            return 0
        return found if type(found) is int else 0  # true is not 1

    @property
    def sound(self) -> bool:
        """Whether every field is of its type; a database may hold anything."""
        words = (self.study, self.at, self.kind, self.text, self.previous, self.hash)
        whole = isinstance(self.seq, int) and not isinstance(self.seq, bool)
        return whole and all(isinstance(word, str) for word in words)

    def digest(self) -> str:
        """Return the hash that this event should have; none if it cannot have one."""
        if not self.sound:
            return ""
        head = canonical([self.study, self.seq, self.at, self.kind])
        text = f"{self.previous}{head}{self.text}"
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the event as plain data, for logs and exports; what cannot be read as text."""
        try:
            payload: Any = self.payload
        except (TypeError, ValueError, RecursionError):
            payload = str(self.text)
        return {
            "seq": self.seq,
            "at": self.at,
            "kind": self.kind,
            "payload": payload,
            "previous": self.previous,
            "hash": self.hash,
        }


class Snapshot(NamedTuple):
    """A cached state: of which event on, what, and that event's hash, to be checked."""

    seq: int
    hash: str
    text: str

    @classmethod
    def seal(cls, seq: int, hash: str, body: str) -> Snapshot:
        """Put the checksum of the state and of the head it belongs to before it."""
        return cls(seq, hash, f"{_checksum(seq, hash, body)}\n{body}")

    @property
    def sound(self) -> bool:
        """Whether every field is of its type; a database may hold anything."""
        whole = isinstance(self.seq, int) and not isinstance(self.seq, bool) and self.seq >= 1
        return whole and isinstance(self.hash, str) and isinstance(self.text, str)

    def of(self, event: Event | None) -> bool:
        """Whether this is the state at an event."""
        return event is not None and (event.seq, event.hash) == (self.seq, self.hash)

    def outlives(self, event: Event | None) -> bool:
        """Whether a log was cut or rewritten that has this event, or none, in its place.

        A state is cached when its event has been recorded, and its checksum ties it to that
        event: one that fits is a witness, one that does not says nothing.
        """
        return not self.of(event) and self.open() is not None

    def open(self) -> str | None:
        """Return the state; None if the checksum is not that of this state and head."""
        checksum, _, body = str(self.text).partition("\n")
        return body if checksum == _checksum(self.seq, self.hash, body) else None


def _checksum(seq: int, hash: str, body: str) -> str:
    return hashlib.sha256(f"{seq}:{hash}:{body}".encode(errors="surrogatepass")).hexdigest()


def is_time(text: Any) -> bool:
    """Whether a text is a time as events carry it.

    Examples
    --------
    >>> is_time("2026-01-31T09:30:00.000000Z"), is_time("2026-02-31T09:30:00.000000Z")
    (True, False)
    """
    if not isinstance(text, str) or not TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def broken_link(event: Event, seq: int, previous: str, at: str = "") -> list[str]:
    """Say what does not fit between an event and the one before it.

    Parameters
    ----------
    event : Event
    seq, previous, at : int, str, str
        Number, hash and time of the event before it.
    """
    if not event.sound:
        return [f"event {quote(event.seq)[:50]} holds something else than numbers and texts"]
    problems = []
    name = f"event {event.seq} ({event.kind[:32]})"
    if event.seq < 1:
        problems.append(f"{name} does not belong to the log: events are numbered from 1")
    elif event.seq != seq + 1:
        problems.append(f"event {seq + 1} is missing: event {event.seq} follows {seq}")
    elif event.previous != previous:
        problems.append(f"{name} does not follow event {seq}: it carries another hash of it")
    if event.hash != event.digest():
        problems.append(f"{name} was changed: its hash is not that of what it says")
    if not is_time(event.at):
        problems.append(f"{name} has no valid time")
    elif event.kind == CLOCK and not (event.at < at and _set_back_from(event) == at):
        problems.append(f"{name} does not set the clock back from the event before it")
    elif event.kind != CLOCK and event.schema >= 2 and event.at < at:
        problems.append(f"{name} is earlier than the event before it")
    return problems


def _set_back_from(event: Event) -> Any:
    try:
        return event.payload["from"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def broken_links(events: Iterable[Event]) -> list[str]:
    """Say where a log was changed: one sentence for each event that does not fit.

    Parameters
    ----------
    events : iterable of Event

    Examples
    --------
    >>> first = Event.after((0, START), "tea", "2026-01-01T00:00:00.000000Z", "created", {})
    >>> second = Event.after((1, first.hash), "tea", first.at, "closed", {})
    >>> broken_links([first, second])
    []
    >>> broken_links([first, second._replace(text='{"reason":"another"}')])
    ['event 2 (closed) was changed: its hash is not that of what it says']
    """
    problems = []
    seq, previous, at = 0, START, ""
    for event in events:
        problems += broken_link(event, seq, previous, at)
        if event.sound and event.seq >= 1:
            seq, previous, at = event.seq, event.hash, event.at
    return problems
