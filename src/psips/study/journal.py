"""One study's log in a store, and the state that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from psips.errors import InputError, advice, unknown
from psips.session.restoring import UNREADABLE
from psips.store import (
    CLOCK,
    ConflictError,
    DamagedError,
    Event,
    LostError,
    Store,
    StoreError,
    UnknownOutcomeError,
    Writer,
)
from psips.study.inputs import ahead, stamp
from psips.study.people import read_key, signature
from psips.study.requests import Request
from psips.study.schema import CREATED, SCHEMA
from psips.study.state import Recorded, State, changes_the_past

TAIL = 200  # events after the cached state from which on a new one is saved
TAIL_SHARE = 0.01  # the same, as a share of a long log

Clock = Callable[[], datetime]
Entry = tuple[str, Mapping[str, Any]]  # kind and payload
Decide = Callable[[State, str], Entry | None]


class Journal:
    """Reads what others have recorded, and records, one transaction at a time."""

    def __init__(
        self, name: str, store: Store, clock: Clock | None = None, user: str | None = None
    ) -> None:
        self.name = name
        self.store = store
        self._clock = clock  # for tests; that of the store otherwise
        self.by = signature(user)
        self._state: State | None = None
        self._kept = 0  # sequence number of the cached state
        self._cached = True  # whether cached states may be used
        self._seen: tuple[int, str] | None = None  # number and hash of the last event read

    def adopt(self, state: State) -> None:
        """Go on from a state that was got by replay, and use no cache from now on."""
        self._state = state
        self._seen = (state.seq, state.hash)
        self._cached = False

    def begin(self, payload: Mapping[str, Any], key: str) -> None:
        """Record the creation of the study; it is opened before that is final."""
        payload = {"schema": SCHEMA, **payload, "by": self.by, "key": key}
        kept = self.store.load_snapshot(self.name)
        if kept is not None and kept.outlives(None) and not self.store.read(self.name, 0, 1):
            raise DamagedError(
                f"a study {self.name!r} was in this store, and its log has gone: restore a "
                "backup, or choose another name"
            )
        for again in (False, True):
            try:
                with self.store.writing(self.name) as writer:
                    (created,) = writer.append([(stamp(self.now(writer)), CREATED, payload)], 0)
                    state = State(created)
                    state.snapshot()
                break
            except ConflictError:
                found = self.store.read(self.name, 0, 1)
                if found and found[0].schema > 1 and found[0].payload.get("key") == key:
                    state = State(found[0])  # it was recorded, though the answer was lost
                    break
                raise InputError(
                    f"there is a study {self.name!r} in this store already: choose another name"
                ) from None
            except LostError:
                if again:
                    raise
            except (ValueError, OverflowError, FloatingPointError, ArithmeticError) as error:
                if isinstance(error, InputError):
                    raise
                raise InputError(
                    f"a study of this problem could not be opened again ({error}): its numbers "
                    "are too large or too small; choose other units"
                ) from None
        self._know(state)

    def now(self, writer: Writer | None = None) -> datetime:
        """Return the time."""
        return (writer or self.store).now() if self._clock is None else self._clock()

    def _know(self, state: State) -> None:
        self._state = state
        self._seen = (state.seq, state.hash)

    @property
    def known(self) -> State:
        """The state as last read: enough for what never changes."""
        return self._state or self.refresh()

    def record(
        self, request: Request, decide: Decide, key: str, chosen: bool = False
    ) -> tuple[State, Recorded | None]:
        """Decide on an event, with everything before it known, and add it to the log.

        What the event leads to is worked out before the transaction ends, so an error means
        that nothing was recorded; `UnknownOutcomeError` means that it is not known. After a
        lost connection it is tried once more, under the same key.

        Parameters
        ----------
        request : Request
            What is asked for: the key is bound to it, and to who asks.
        decide : callable
            From the state and the time to an event, or None if there is nothing to record.
        key : str
            Of the event; if the same was recorded with it before, that event is returned.
        chosen : bool
            Whether deciding moves the session on, as asking does.
        """
        try:
            return self._record(request, decide, key, chosen)
        except LostError as error:
            first = error
        try:
            return self._record(request, decide, key, chosen)
        except StoreError as error:
            if isinstance(first, UnknownOutcomeError) or isinstance(error, UnknownOutcomeError):
                raise UnknownOutcomeError(
                    f"{error}; it is not known whether it was recorded: repeat it with the key "
                    f"{key!r}{advice(' (--key)', '')}, which records it once, or look at "
                    f"{advice('`psips study log`', 'the log')}"
                ) from error
            raise

    def _record(
        self, request: Request, decide: Decide, key: str, chosen: bool
    ) -> tuple[State, Recorded | None]:
        self.refresh()  # this may take a while: others need not wait for it
        with self.store.writing(self.name) as writer:
            state = self.refresh(writer)
            known = state.keys.get(key)
            if known is not None:
                (event,) = writer.read(known.seq - 1, known.seq)
                request.check(event, key, state, self.by["user"])
                return state, known
            if state.closed:
                raise InputError(f"the study {self.name!r} is closed: nothing can be recorded")
            self._state = None  # perhaps ahead of the log until the event is in it
            at = self._time(writer, state)
            asked = request.fingerprint(state, self.by["user"])
            entry = decide(state, at)
            if entry is not None:
                kind, payload = entry
                payload = {"schema": SCHEMA, **payload, "by": self.by, "key": key}
                payload["request"] = asked
                events = writer.append([(at, kind, payload)], state.seq)
                state.catch_up(events, lambda seq: writer.read(0, seq), chosen)
        self._know(state)
        self._save()
        return state, state.keys.get(key)

    def _time(self, writer: Writer, state: State) -> str:
        """Return the time for an event: what the clock says, and not before the last event.

        Clocks differ by minutes. One that is further behind the last event shows that one of
        the two is wrong: an event says so, and the log goes on from there.
        """
        at = stamp(self.now(writer))
        if not ahead(state.at, at):
            return max(at, state.at)
        payload = {"schema": SCHEMA, "from": state.at, "by": self.by, "key": read_key(None)}
        events = writer.append([(at, CLOCK, payload)], state.seq)
        state.catch_up(events, lambda seq: writer.read(0, seq))
        return at

    def refresh(self, reader: Writer | None = None) -> State:
        """Bring the state up to date with the log."""
        state, self._state = self._state, None  # an exception must not leave half a state
        state = state or self._load()
        read = self._history if reader is None else reader.read
        events = self._following(state, read(state.seq - 1))
        if any(map(changes_the_past, events)):  # someone may have worked it out already
            state = self._load()
            events = self._following(state, read(state.seq - 1))
        with self._readable():
            state.catch_up(events, lambda seq: read(0, seq))
        self._know(state)
        if reader is None:
            self._save()
        return state

    def _following(self, state: State, events: list[Event]) -> list[Event]:
        """Check that the log still has the last event known, and return what follows it."""
        self._check((state.seq, state.hash), events)
        return events[1:]

    def _check(self, seen: tuple[int, str], events: list[Event]) -> None:
        if not events or (events[0].seq, events[0].hash) != seen:
            raise DamagedError(
                f"the log of {self.name!r} is not the one that was read before: its event "
                f"{seen[0]} has gone or was changed; see `psips study verify`"
            )

    def _load(self) -> State:
        """Take the cached state if it can be used, the first event otherwise."""
        created = self.store.read(self.name, 0, 1)
        if not created:
            if self.name in self.store.studies():
                raise DamagedError(
                    f"the log of {self.name!r} has lost its first event; see "
                    "`psips study verify`"
                )
            raise unknown("study", self.name, self.store.studies())
        if self._seen is not None:  # an error has made this process forget the rest
            seq = self._seen[0]
            self._check(self._seen, self.store.read(self.name, seq - 1, seq))
        state = self._restored(created[0])
        self._kept = 0 if state is None else state.seq
        with self._readable():
            return state or State(created[0])

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Say of a log whose hashes fit, and that means nothing, that it cannot be read."""
        try:
            yield
        except UNREADABLE as error:
            if isinstance(error, InputError):
                raise
            raise DamagedError(
                f"the log of {self.name!r} cannot be replayed: {str(error)[:200]}; see "
                "`psips study verify`"
            ) from error

    def _restored(self, created: Event) -> State | None:
        """Return the cached state; None if it cannot be used."""
        kept = self.store.load_snapshot(self.name)  # before its event, which was there first
        if kept is None:
            return None
        found = self.store.read(self.name, kept.seq - 1, kept.seq)
        event = found[0] if found else None
        if kept.outlives(event):
            raise DamagedError(
                f"the log of {self.name!r} has lost event {kept.seq}, of which there is a "
                "cached state: it was cut off or rewritten; see `psips study verify`"
            )
        return State.restore(created, kept) if self._cached and kept.of(event) else None

    def _save(self) -> None:
        """Cache the state if the log has grown enough, or if getting it took a rebuild."""
        state = self._state
        if state is None:
            return
        tail = state.seq - self._kept
        if tail >= max(TAIL, TAIL_SHARE * state.seq) or (tail and state.rebuilt):
            self._kept = state.seq
            state.rebuilt = False
            try:
                snapshot = state.snapshot()
            except (ValueError, OverflowError):  # a number that JSON has no word for
                return
            self.store.save_snapshot(self.name, snapshot)

    def _history(self, after: int, until: int | None = None) -> list[Event]:
        return self.store.read(self.name, after, until)
