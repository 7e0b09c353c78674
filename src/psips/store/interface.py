"""What a store must do. Every implementation passes the same suite of tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from psips.errors import InputError
from psips.store.events import Event, Snapshot

WHOLE_LOG = -(2**31)  # read after this number to see rows that no writer of psips made


class StoreError(InputError):
    """The store cannot be read or written: it is gone, locked, full or not a store."""


class LostError(StoreError):
    """The connection was lost before the end of a transaction: nothing was recorded."""


class UnknownOutcomeError(LostError):
    """The connection was lost at the end: it is not known whether it was recorded."""

    exit_code = 4


class DamagedError(InputError):
    """A log is not as it was written."""


class ConflictError(RuntimeError):
    """The log has moved on: it does not end where the caller expected."""


class Writer(Protocol):
    """One transaction on one study, alone among the writers of that study."""

    def read(self, after: int = 0, until: int | None = None) -> list[Event]:
        """Return the events with a number above ``after``, up to ``until``, in order."""

    def append(
        self, entries: Sequence[tuple[str, str, Mapping[str, Any]]], expected: int
    ) -> list[Event]:
        """Add events, each given by time, kind and payload, to a log of ``expected`` events.

        They are kept once the transaction ends without an exception, and none of them
        otherwise; after an `UnknownOutcomeError` it may be either.
        """

    def copy(self, events: Sequence[Event]) -> None:
        """Add the events of a whole log, hashes included, where there is none."""

    def now(self) -> datetime:
        """Return the time by the clock that all who write to the store share."""


class Store(Protocol):
    """Logs of events by study, and a cache of states that may be lost at any time."""

    url: str  # without a password

    def writing(self, study: str) -> AbstractContextManager[Writer]:
        """Open a transaction; when it has ended, what was appended survives a power cut."""

    def read(self, study: str, after: int = 0, until: int | None = None) -> list[Event]:
        """Return the events with a number above ``after``, up to ``until``, in order."""

    def read_all(self) -> list[Event]:
        """Return the events of all studies as they were at one moment, in order by study."""

    def now(self) -> datetime:
        """Return the time by the clock that all who write to the store share."""

    def studies(self) -> list[str]:
        """Return the names of the studies, sorted."""

    def load_snapshot(self, study: str) -> Snapshot | None:
        """Return the cached state, if there is one, whether or not the log has its event."""

    def save_snapshot(self, study: str, snapshot: Snapshot) -> None:
        """Keep a state in place of an older one; failing to is not an error."""

    def close(self) -> None:
        """Let go of connections."""
