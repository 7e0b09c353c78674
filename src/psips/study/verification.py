"""The check of a whole log: hashes, and a replay from the first event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from psips.errors import InputError, unknown
from psips.store import Event, Snapshot, Store, broken_links
from psips.study.inputs import read_known_name
from psips.study.state import State


class Verification(NamedTuple):
    """What a check of the whole log found; ``head`` is the hash of the last event."""

    events: int
    head: str
    problems: tuple[str, ...]


def verify_log(study: str, store: Store) -> Verification:
    """Check the log of a study and its cached state; works on a damaged log too.

    Parameters
    ----------
    study : str
    store : Store
    """
    events = store.read(read_known_name(study))
    if not events:
        raise unknown("study", study, store.studies())
    kept = store.load_snapshot(study)
    problems = broken_links(events)
    if not problems:
        try:
            problems = _replay(events, kept)
        except (InputError, KeyError, TypeError, ValueError, IndexError) as error:
            problems = [f"the log cannot be replayed: {error}"]
    return Verification(len(events), events[-1].hash, tuple(problems))


def _replay(events: Sequence[Event], kept: Snapshot | None) -> list[str]:
    """Replay event by event, so that every ask is made again."""
    problems = []
    state = State(events[0])
    for event in events[1:]:
        state.catch_up([event], lambda seq: events[:seq])
        if kept is not None and kept.seq == event.seq:
            restored = State.restore(events[0], kept)
            if restored is not None and restored.snapshot() != state.snapshot():
                problems.append(
                    f"the cached state of event {event.seq} is not what the log gives"
                )
    return problems + state.diverged
