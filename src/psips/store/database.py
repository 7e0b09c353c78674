"""A store in SQLite or PostgreSQL, by URL, with the same statements."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from psips.errors import InputError
from psips.store.events import START, Event, Snapshot
from psips.store.interface import ConflictError, StoreError

WAIT = 60  # seconds that a writer waits for another

TABLES = sa.MetaData()
EVENTS = sa.Table(
    "events",
    TABLES,
    sa.Column("study", sa.String(200), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.String(32), nullable=False),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("previous", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)
SNAPSHOTS = sa.Table(
    "snapshots",
    TABLES,
    sa.Column("study", sa.String(200), primary_key=True),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("payload", sa.Text, nullable=False),
)


def open_store(url: str, create: bool = False) -> DatabaseStore:
    """Open the store at a URL: ``sqlite:///file.db`` or ``postgresql://user@host/database``.

    Parameters
    ----------
    url : str
    create : bool
        Whether to make the file or the tables if they are missing; an error otherwise.

    Examples
    --------
    >>> open_store("mysql://host/studies")
    Traceback (most recent call last):
    psips.errors.InputError: a store is in SQLite or PostgreSQL, as in sqlite:///psips.db ...
    """
    where = _read_url(url)
    if where.get_backend_name() == "sqlite" and where.database not in (None, "", ":memory:"):
        _check_file(Path(str(where.database)), create)
    try:
        engine = sa.create_engine(where, **_settings(where))
    except ImportError as error:
        raise InputError(
            f"the package {error.name!r}, which connects to PostgreSQL, is missing: "
            "pip install 'psips[postgres]'"
        ) from None
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine)
    store = DatabaseStore(engine)
    try:
        store.prepare(create)
    except BaseException:
        store.close()
        raise
    return store


class DatabaseStore:
    """Events and cached states in two tables; use `open_store` to get one."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.url = engine.url.render_as_string(hide_password=True)

    def prepare(self, create: bool) -> None:
        """Make the tables, or see that they are there."""
        if create:
            with self._transaction("psips: tables") as connection:
                TABLES.create_all(connection)
            return
        with self._connection() as connection:
            found = sa.inspect(connection).has_table(EVENTS.name)
        if not found:
            raise StoreError(
                f"there are no studies in {self.url}: create one with `psips study create`, "
                "or name another store"
            )

    @contextmanager
    def writing(self, study: str) -> Iterator[DatabaseWriter]:
        """Open a transaction that other writers of the study wait for."""
        with self._transaction(study) as connection:
            yield DatabaseWriter(connection, study)

    def read(self, study: str, after: int = 0, until: int | None = None) -> list[Event]:
        """Return the events with a number above ``after``, up to ``until``, in order."""
        with self._connection() as connection:
            return _read(connection, study, after, until)

    def studies(self) -> list[str]:
        """Return the names of the studies, sorted."""
        with self._connection() as connection:
            names = connection.scalars(sa.select(EVENTS.c.study).where(EVENTS.c.seq == 1))
            return sorted(names)

    def load_snapshot(self, study: str) -> Snapshot | None:
        """Return the cached state, if there is one and the log still has its event."""
        same = (EVENTS.c.study == SNAPSHOTS.c.study) & (EVENTS.c.seq == SNAPSHOTS.c.seq)
        same &= EVENTS.c.hash == SNAPSHOTS.c.hash
        columns = (SNAPSHOTS.c.seq, SNAPSHOTS.c.hash, SNAPSHOTS.c.payload)
        query = sa.select(*columns).join(EVENTS, same).where(SNAPSHOTS.c.study == study)
        with self._connection() as connection:
            row = connection.execute(query).first()
        return None if row is None else Snapshot(*row)

    def save_snapshot(self, study: str, snapshot: Snapshot) -> None:
        """Keep a state in place of an older one; a store that cannot is left as it is."""
        values = {"seq": snapshot.seq, "hash": snapshot.hash, "payload": snapshot.text}
        mine = SNAPSHOTS.c.study == study
        with suppress(StoreError), self._transaction(study) as connection:
            kept = connection.scalar(sa.select(SNAPSHOTS.c.seq).where(mine))
            if kept is None:
                connection.execute(SNAPSHOTS.insert().values(study=study, **values))
            else:
                connection.execute(SNAPSHOTS.update().where(mine).values(**values))

    def close(self) -> None:
        """Let go of connections."""
        self.engine.dispose()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """Connect; what the database says against it becomes a sentence."""
        try:
            with self.engine.connect() as connection:
                yield connection
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise StoreError(
                f"the store {self.url} cannot be used: {_reason(error)}"
            ) from error

    @contextmanager
    def _transaction(self, lock: str) -> Iterator[Connection]:
        """Write, alone among those who take the same lock."""
        with self._connection() as connection:
            connection = connection.execution_options(psips_writes=True)
            with connection.begin():
                _lock(connection, lock)
                yield connection

    def __enter__(self) -> DatabaseStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class DatabaseWriter:
    """The transaction of `DatabaseStore.writing`."""

    def __init__(self, connection: Connection, study: str) -> None:
        self._connection = connection
        self._study = study

    def read(self, after: int = 0, until: int | None = None) -> list[Event]:
        """Return the events with a number above ``after``, up to ``until``, in order."""
        return _read(self._connection, self._study, after, until)

    def append(
        self, entries: Sequence[tuple[str, str, Mapping[str, Any]]], expected: int
    ) -> list[Event]:
        """Add events, each given by time, kind and payload, to a log of ``expected`` events."""
        query = sa.select(EVENTS.c.seq, EVENTS.c.hash).where(EVENTS.c.study == self._study)
        row = self._connection.execute(query.order_by(EVENTS.c.seq.desc()).limit(1)).first()
        last = (0, START) if row is None else (int(row.seq), str(row.hash))
        if last[0] != expected:
            raise ConflictError(
                f"the log of {self._study!r} has {last[0]} events, not {expected}"
            )
        events = []
        for at, kind, payload in entries:
            event = Event.after(last, self._study, at, kind, payload)
            last = (event.seq, event.hash)
            events.append(event)
        if events:
            self._connection.execute(EVENTS.insert(), [_row(event) for event in events])
        return events


def _row(event: Event) -> dict[str, Any]:
    return {
        "study": event.study,
        "seq": event.seq,
        "at": event.at,
        "kind": event.kind,
        "payload": event.text,
        "previous": event.previous,
        "hash": event.hash,
    }


def _read(connection: Connection, study: str, after: int, until: int | None) -> list[Event]:
    chosen = (EVENTS.c.study == study) & (EVENTS.c.seq > after)
    if until is not None:
        chosen &= EVENTS.c.seq <= until
    rows = connection.execute(sa.select(EVENTS).where(chosen).order_by(EVENTS.c.seq))
    return [Event(*row) for row in rows]


def _lock(connection: Connection, name: str) -> None:
    """Wait for the other writers: those of this name, or all of them in SQLite (BEGIN)."""
    if connection.dialect.name == "postgresql":
        digest = hashlib.sha256(name.encode()).digest()
        number = int.from_bytes(digest[:8], signed=True)
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def _read_url(url: str) -> URL:
    try:
        where = sa.make_url(url)
        name = where.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        name = ""
    if name not in ("sqlite", "postgresql"):
        raise InputError(
            "a store is in SQLite or PostgreSQL, as in sqlite:///psips.db or "
            f"postgresql://user@host/database; got {url!r}"
        )
    if where.drivername == "postgresql":
        where = where.set(drivername="postgresql+psycopg")
    return where


def _check_file(file: Path, create: bool) -> None:
    if not create and not file.exists():
        raise StoreError(
            f"there is no store {str(file)!r}: create a study with `psips study create`, or "
            "name another store with --store or PSIPS_STORE"
        )
    if create and not file.parent.is_dir():
        raise StoreError(f"the folder of the store {str(file)!r} does not exist: make it first")


def _settings(where: URL) -> dict[str, Any]:
    if where.get_backend_name() == "sqlite":
        return {"connect_args": {"timeout": WAIT}}
    options = f"-c lock_timeout={WAIT}s -c synchronous_commit=on"
    return {
        "connect_args": {"options": options},
        "isolation_level": "READ COMMITTED",  # a writer that waited sees what it waited for
        "pool_pre_ping": True,
    }


def _prepare_sqlite(engine: Engine) -> None:
    """Make SQLite keep what it acknowledged, and let one writer in at a time."""

    @sa.event.listens_for(engine, "connect")
    def connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver must not begin transactions itself
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")  # WAL alone loses the last commits
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("psips_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _reason(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(cause).split())
