"""Verification of a whole log: hashes, and a replay from the first event."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from psips.errors import unknown
from psips.session.restoring import UNREADABLE
from psips.store import CLOCK, WHOLE_LOG, Event, Snapshot, Store, StoreError, broken_links
from psips.study.inputs import ahead, read_known_name, stamp
from psips.study.people import VERSION
from psips.study.state import State


class Verification(NamedTuple):
    """What a check of the whole log found; ``head`` is the hash of the last event.

    ``problems`` show that the log was changed or cannot be replayed as it was written;
    ``notes`` are of clocks that were wrong when events were recorded.
    """

    events: int
    head: str
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


def verify_log(study: str, store: Store, at: datetime | None = None) -> Verification:
    """Check the log of a study and its cached state; works on a damaged log too.

    Parameters
    ----------
    study : str
    store : Store
    at : datetime, optional
        The time of the check.
    """
    return replay_log(study, store, at)[0]


def replay_log(
    study: str, store: Store, at: datetime | None = None
) -> tuple[Verification, State | None]:
    """Check a log, and return the state it gives without any cache; None if it gives none."""
    try:
        read_known_name(study)
        kept = _kept(study, store)  # before the events, which were there first
        events = store.read(study, WHOLE_LOG)
    except StoreError as error:
        return Verification(0, "", (str(error),)), None
    if not events:
        raise unknown("study", study, store.studies())
    problems = broken_links(events)
    notes = () if problems else _clock_notes(events, stamp(at or store.now()))
    if kept is not None and kept.outlives(event_at(events, kept.seq)):
        problems.append(
            f"event {kept.seq} is missing or was changed: there is a cached state of it, so "
            f"that the log, which ends with event {events[-1].seq}, was cut off or rewritten"
        )
    state = None
    if not problems:
        try:
            state, problems = _replay(events, kept)
        except UNREADABLE as error:
            problems = [f"the log cannot be replayed: {str(error)[:300]}"]
    return Verification(len(events), str(events[-1].hash), tuple(problems), notes), state


def _clock_notes(events: Sequence[Event], now: str) -> tuple[str, ...]:
    """Say where clocks were wrong: each time once, whatever was recorded under it."""
    notes = [
        f"event {event.seq} (clock): the clock was set back from {event.payload['from']} to "
        f"{event.at}, so times before it may be wrong"
        for event in events
        if event.kind == CLOCK
    ]
    last = events[-1]
    if ahead(last.at, now):
        notes.append(
            f"event {last.seq} ({last.kind}) is of {last.at}, a time that has not come yet: a "
            "clock was ahead when it was recorded, and the next event will say so"
        )
    return tuple(notes)


def _kept(study: str, store: Store) -> Snapshot | None:
    try:
        return store.load_snapshot(study)
    except StoreError:
        return None


def event_at(events: Sequence[Event], seq: int) -> Event | None:
    """Return the event with a number; None if there is none."""
    return next((event for event in events if event.seq == seq), None)


def _replay(events: Sequence[Event], kept: Snapshot | None) -> tuple[State, list[str]]:
    """Replay the log, in time that is proportional to its length.

    Every ask is made again that comes before the first change of the past or after the
    last; between them that would take one replay for each change.
    """
    if kept is not None and f'"version":"{VERSION}"' not in (kept.open() or ""):
        kept = None  # no one would use it
    last = _last_change(events)
    stops = {last, len(events)} | ({kept.seq} if kept else set())
    problems = []
    state = State(events[0])
    for stop in sorted(stop for stop in stops if stop >= 1):
        state.catch_up(events[state.seq : stop], lambda seq: events[:seq])
        if kept is not None and kept.seq == stop and state.snapshot() != kept:
            problems.append(f"the cached state of event {stop} is not what the log gives")
    return state, problems + state.diverged


def _last_change(events: Sequence[Event]) -> int:
    """Return the number of the last event that changes the past; 0 if there is none."""
    state, last = State(events[0]), 0
    for event in events[1:]:
        if state._apply(event, learn=False):
            last = event.seq
    return last
