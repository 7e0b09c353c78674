"""Where studies live: an append-only log of events, chained by hashes, in a database."""

from psips.store.database import DatabaseStore, open_store
from psips.store.events import Event, Snapshot, broken_links
from psips.store.interface import ConflictError, Store, StoreError, Writer

__all__ = [
    "ConflictError",
    "DatabaseStore",
    "Event",
    "Snapshot",
    "Store",
    "StoreError",
    "Writer",
    "broken_links",
    "open_store",
]
