"""Where studies live: an append-only log of events, chained by hashes, in a database."""

from psips.store.database import DatabaseStore, open_store, opened
from psips.store.events import CLOCK, Event, Snapshot, broken_link, broken_links, is_time
from psips.store.interface import (
    WHOLE_LOG,
    ConflictError,
    DamagedError,
    LostError,
    Store,
    StoreError,
    UnknownOutcomeError,
    Writer,
)

__all__ = [
    "CLOCK",
    "WHOLE_LOG",
    "ConflictError",
    "DamagedError",
    "DatabaseStore",
    "Event",
    "LostError",
    "Snapshot",
    "Store",
    "StoreError",
    "UnknownOutcomeError",
    "Writer",
    "broken_link",
    "broken_links",
    "is_time",
    "open_store",
    "opened",
]
