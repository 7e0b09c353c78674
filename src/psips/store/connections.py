"""Connections to a database that keep what they acknowledge, and never wait for ever."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine

from psips.errors import InputError
from psips.store.interface import StoreError
from psips.store.urls import file_of, is_memory

T = TypeVar("T")

LOG = logging.getLogger("psips")
WAIT = 60  # seconds that a writer waits for another
SILENT = 2  # seconds of them without a word
CONNECT = 10  # seconds that a server has to answer


def make_engine(where: URL, create: bool) -> tuple[Engine, bool]:
    """Return an engine for a store, and whether it can only be read."""
    read_only = False
    file = file_of(where)
    if file is not None:
        _check_file(file, create)
        engine, read_only = _file_engine(file, create)
    elif is_memory(where):
        engine = sa.create_engine("sqlite://")
    else:
        engine = _server_engine(where)
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine, new=create and (file is None or _is_new(file)))
    return engine, read_only


def _file_engine(file: Path, create: bool) -> tuple[Engine, bool]:
    """Open a file to the letter of its path, in a way that its permissions allow."""
    exists = file.exists()
    writable = not exists or (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))
    mode = "rwc" if create and not exists else "rw"
    if not writable:
        mode = "ro"
        wal = Path(f"{file}-wal")
        if not wal.exists() or wal.stat().st_size == 0:
            mode = "ro&immutable=1"  # no one can be writing, and no file can be made next to it
    if mode == "rwc":
        _make_private(file)
    uri = f"file:{quote(str(file.absolute()))}?mode={mode}"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            uri, uri=True, timeout=SILENT, check_same_thread=False, factory=_Patient
        )

    pool = sa.pool.QueuePool
    return sa.create_engine("sqlite://", creator=connect, poolclass=pool), not writable


def _make_private(file: Path) -> None:
    """Make the file of a new store, which its owner alone may read.

    What SQLite keeps next to it, in -wal and -shm, gets the same permissions.
    """
    with suppress(OSError):  # SQLite says why
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))


class _Patient(sqlite3.Connection):
    """Waits for locks as long as `WAIT`, and says so."""

    def cursor(self, _: Any = None) -> Any:
        """Return a cursor that waits."""
        return super().cursor(_PatientCursor)

    def commit(self) -> None:
        """Commit; a commit that finds the file locked may be tried again."""
        _patiently(super().commit)


class _PatientCursor(sqlite3.Cursor):
    def execute(self, *given: Any) -> Any:
        """Execute a statement; one that finds the file locked has done nothing."""
        execute = super().execute
        return _patiently(lambda: execute(*given))


def _patiently(act: Callable[[], T]) -> T:
    until = time.monotonic() + WAIT
    waited = False
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            code = error.sqlite_errorcode
            locked = code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL)
            if not locked or code == sqlite3.SQLITE_BUSY_SNAPSHOT or time.monotonic() > until:
                raise
        if not waited:
            say_waiting()
        waited = True


def say_waiting() -> None:
    """Say why nothing happens."""
    LOG.warning(
        "psips: waiting for the lock of the store: another process is writing to it, or its "
        "file system grants no locks; giving up after %d s",
        WAIT,
    )


def _server_engine(where: URL) -> Engine:
    query = dict(where.query)
    given = query.pop("options", "")  # what the URL says comes last: it wins
    given = given if isinstance(given, str) else " ".join(given)
    options = f"-c lock_timeout={WAIT}s -c synchronous_commit=on {given}".strip()
    limits = {
        "connect_timeout": CONNECT,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 1000 * WAIT,
    }
    settings: dict[str, Any] = {k: v for k, v in limits.items() if k not in query}
    try:
        return sa.create_engine(
            where.set(query=query),
            connect_args={"options": options, **settings},
            isolation_level="READ COMMITTED",  # who waited sees what they waited for
            pool_pre_ping=True,
        )
    except ImportError as error:
        raise InputError(
            f"the package {error.name!r}, which connects to PostgreSQL, is missing: "
            "pip install 'psips[postgres]'"
        ) from None


def _check_file(file: Path, create: bool) -> None:
    try:
        exists, folder = file.exists(), file.parent.is_dir()
    except (OSError, ValueError) as error:
        raise StoreError(f"{str(file)[:200]!r} cannot be a file: {error}") from None
    if not create and not exists:
        raise StoreError(
            f"there is no store {str(file)!r}: create a study with `psips study create`, or "
            "name another store with --store or PSIPS_STORE"
        )
    if create and not folder:
        raise StoreError(f"the folder of the store {str(file)!r} does not exist: make it first")


def _is_new(file: Path) -> bool:
    return not file.exists() or (file.is_file() and file.stat().st_size == 0)


def _prepare_sqlite(engine: Engine, new: bool) -> None:
    """Make SQLite keep what it acknowledged, and let one writer in at a time.

    Only a new file is switched to WAL, in which readers and the writer never wait for each
    other; the file remembers it.
    """

    @sa.event.listens_for(engine, "connect")
    def connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver must not begin transactions itself
        cursor = connection.cursor()
        if new:
            cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")  # WAL alone loses the last commits
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("psips_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
