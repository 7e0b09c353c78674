"""Events: what happened in a study, each carrying the hash of the one before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

START = "0" * 64  # stands for the hash before the first event


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

    def digest(self) -> str:
        """Return the hash that this event should have."""
        head = canonical([self.study, self.seq, self.at, self.kind])
        return hashlib.sha256(f"{self.previous}{head}{self.text}".encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the event as plain data, for logs and exports."""
        return {
            "seq": self.seq,
            "at": self.at,
            "kind": self.kind,
            "payload": self.payload,
            "previous": self.previous,
            "hash": self.hash,
        }


class Snapshot(NamedTuple):
    """A cached state: of which event on, what, and that event's hash, to be checked."""

    seq: int
    hash: str
    text: str


def broken_links(events: Iterable[Event]) -> list[str]:
    """Say where a log was changed: one sentence for each event that does not fit.

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
    seq, previous = 0, START
    for event in events:
        if event.seq != seq + 1:
            problems.append(f"event {seq + 1} is missing: event {event.seq} follows {seq}")
        elif event.previous != previous:
            problems.append(
                f"event {event.seq} ({event.kind}) does not follow event {seq}: it carries "
                "another hash of it"
            )
        if event.hash != event.digest():
            problems.append(
                f"event {event.seq} ({event.kind}) was changed: its hash is not that of what "
                "it says"
            )
        seq, previous = event.seq, event.hash
    return problems
