"""One study's log in a store, and the state that it amounts to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from psips.errors import InputError, unknown
from psips.store import ConflictError, Event, Store, Writer
from psips.study.inputs import stamp
from psips.study.state import CREATED, State, changes_the_past

TAIL = 200  # events after the cached state from which on a new one is saved
TAIL_SHARE = 0.01  # the same, as a share of a long log

Clock = Callable[[], datetime]
Entry = tuple[str, Mapping[str, Any]]  # kind and payload


class Journal:
    """Reads what others have recorded, and records, one transaction at a time."""

    def __init__(self, name: str, store: Store, clock: Clock) -> None:
        self.name = name
        self.store = store
        self.clock = clock
        self._state: State | None = None
        self._kept = 0  # sequence number of the cached state

    def begin(self, payload: Mapping[str, Any]) -> None:
        """Record the creation of the study."""
        try:
            with self.store.writing(self.name) as writer:
                (created,) = writer.append([(stamp(self.clock()), CREATED, payload)], 0)
        except ConflictError:
            raise InputError(
                f"there is a study {self.name!r} in this store already: choose another name"
            ) from None
        self._state = State(created)

    @property
    def known(self) -> State:
        """The state as last read: enough for what never changes."""
        return self._state or self.refresh()

    def record(
        self, decide: Callable[[State, str], Entry | None], chosen: bool = False
    ) -> State:
        """Decide on an event, with everything before it known, and add it to the log.

        Parameters
        ----------
        decide : callable
            From the state and the time to an event, or None if there is nothing to record.
        chosen : bool
            Whether deciding moves the session on, as asking does.
        """
        self.refresh()  # this may take a while: others need not wait for it
        with self.store.writing(self.name) as writer:
            state = self.refresh(writer)
            if state.closed:
                raise InputError(f"the study {self.name!r} is closed: nothing can be recorded")
            if chosen:
                self._state = None  # ahead of the log until the event is in it
            at = stamp(self.clock())
            entry = decide(state, at)
            events = writer.append([(at, *entry)], state.seq) if entry else []
        self._state = None
        state.catch_up(events, lambda seq: self._history(0, seq), chosen)
        self._state = state
        self._save()
        return state

    def refresh(self, reader: Writer | None = None) -> State:
        """Bring the state up to date with the log."""
        state, self._state = self._state, None  # an exception must not leave half a state
        state = state or self._load()
        read = self._history if reader is None else reader.read
        events = read(state.seq)
        if any(map(changes_the_past, events)):  # someone may have worked it out already
            state = self._load()
            events = read(state.seq)
        state.catch_up(events, lambda seq: read(0, seq))
        self._state = state
        if reader is None:
            self._save()
        return state

    def _load(self) -> State:
        """Take the cached state if it can be used, the first event otherwise."""
        created = self.store.read(self.name, 0, 1)
        if not created:
            raise unknown("study", self.name, self.store.studies())
        kept = self.store.load_snapshot(self.name)
        state = None if kept is None else State.restore(created[0], kept)
        self._kept = 0 if state is None else state.seq
        return state or State(created[0])

    def _save(self) -> None:
        """Cache the state if the log has grown enough, or if getting it took a rebuild."""
        state = self._state
        if state is None:
            return
        tail = state.seq - self._kept
        if tail >= max(TAIL, TAIL_SHARE * state.seq) or (tail and state.rebuilt):
            self._kept = state.seq
            state.rebuilt = False
            self.store.save_snapshot(self.name, state.snapshot())

    def _history(self, after: int, until: int | None = None) -> list[Event]:
        return self.store.read(self.name, after, until)
