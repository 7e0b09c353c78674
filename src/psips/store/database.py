"""A store in SQLite or PostgreSQL, by URL, with the same statements."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from psips.errors import InputError
from psips.store.connections import SILENT, make_engine, say_waiting
from psips.store.events import START, Event, Snapshot, broken_links
from psips.store.interface import (
    ConflictError,
    DamagedError,
    LostError,
    Store,
    StoreError,
    UnknownOutcomeError,
)
from psips.store.tables import EVENTS, FORMAT, SNAPSHOTS, create, find_damage, read_format
from psips.store.tables import migrate as migrate_tables
from psips.store.urls import read_url, secrets_of, shown

# Made once: putting a statement together takes longer than the database does.
_OF_STUDY = EVENTS.c.study == sa.bindparam("study")
READ = sa.select(EVENTS).where(_OF_STUDY, EVENTS.c.seq > sa.bindparam("after"))
READ = READ.order_by(EVENTS.c.seq)
READ_UNTIL = READ.where(EVENTS.c.seq <= sa.bindparam("until"))
READ_LAST = sa.select(EVENTS.c.seq, EVENTS.c.hash).where(_OF_STUDY)
READ_LAST = READ_LAST.order_by(EVENTS.c.seq.desc()).limit(1)


def open_store(url: str, create: bool = False, damaged: bool = False) -> DatabaseStore:
    """Open the store at a URL: ``sqlite:///file.db`` or ``postgresql://user@host/database``.

    Parameters
    ----------
    url : str
        Or the path of a SQLite file.
    create : bool
        Whether to make the file or the tables if they are missing; an error otherwise.
    damaged : bool
        Whether to open a file that SQLite finds damaged, to see what can be read.

    Examples
    --------
    >>> open_store("mysql://host/studies")
    Traceback (most recent call last):
    psips.errors.InputError: a store is in SQLite or PostgreSQL, as in sqlite:///psips.db ...
    """
    where = read_url(url)
    engine, read_only = make_engine(where, create)
    store = DatabaseStore(engine, where, read_only)
    try:
        store.prepare(create, damaged)
    except BaseException:
        store.close()
        raise
    return store


@contextmanager
def opened(store: Store | str, create: bool = False) -> Iterator[Store]:
    """Open a store that is given by its URL, and close it if what follows fails."""
    if not isinstance(store, str):
        yield store
        return
    found = open_store(store, create)
    try:
        yield found
    except BaseException:
        found.close()
        raise


class DatabaseStore:
    """Events and cached states in two tables; use `open_store` to get one."""

    def __init__(self, engine: Engine, where: URL, read_only: bool = False) -> None:
        self.engine = engine
        self.url = shown(where)
        self.read_only = read_only
        self.format = 0
        self._secrets = secrets_of(where)

    def prepare(self, make: bool, damaged: bool = False) -> None:
        """Make the tables, or see that they are there and of a format that is known."""
        with self._connection() as connection:
            self.format = read_format(connection, self.url)
            found = None if damaged else find_damage(connection, quick=True)
        if found:
            raise StoreError(
                f"the store {self.url} is damaged ({found}): restore a backup; "
                "`psips study verify` says what can still be read"
            )
        if self.format == 0 and make:
            with self._transaction("psips: tables") as connection:
                create(connection)
            self.format = FORMAT
        if self.format == 0:
            raise StoreError(
                f"there are no studies in {self.url}: create one with `psips study create`, "
                "or name another store"
            )

    def migrate(self) -> tuple[int, int]:
        """Bring the tables to the present format; return the format before and after."""
        before = self.format
        if before < FORMAT:
            self._check_writable()
            with self._transaction("psips: tables") as connection:
                migrate_tables(connection)
            self.format = FORMAT
        return before, self.format

    def damage(self) -> str | None:
        """Let the database check its own file; return what it finds, None if nothing."""
        try:
            with self._connection() as connection:
                return find_damage(connection, quick=False)
        except StoreError as error:
            return str(error)

    @contextmanager
    def writing(self, study: str) -> Iterator[DatabaseWriter]:
        """Open a transaction that other writers of the study wait for."""
        check_name(study)
        self._check_writable()
        if self.format < FORMAT:
            raise StoreError(
                f"the store {self.url} has format {self.format} of an older psips: it can be "
                "read as it is; run `psips study migrate` to write to it"
            )
        with self._transaction(study) as connection:
            yield DatabaseWriter(connection, study)

    def _check_writable(self) -> None:
        if self.read_only:
            raise StoreError(f"the store {self.url} is read-only: nothing can be recorded")

    def read(self, study: str, after: int = 0, until: int | None = None) -> list[Event]:
        """Return the events with a number above ``after``, up to ``until``, in order."""
        with self._connection() as connection:
            return _read(connection, study, after, until)

    def read_all(self) -> list[Event]:
        """Return the events of all studies as they were at one moment, in order by study."""
        query = sa.select(EVENTS).order_by(EVENTS.c.study, EVENTS.c.seq)  # one statement
        with self._connection() as connection:
            return [Event(*row) for row in connection.execute(query)]

    def now(self) -> datetime:
        """Return the time of the server; a file has no clock but that of this machine."""
        if self.engine.dialect.name == "sqlite":
            return datetime.now(UTC)
        with self._connection() as connection:
            return _now(connection)

    def studies(self) -> list[str]:
        """Return the names of the studies, sorted."""
        with self._connection() as connection:
            names = connection.scalars(sa.select(EVENTS.c.study).distinct())
            return sorted(str(name) for name in names)

    def load_snapshot(self, study: str) -> Snapshot | None:
        """Return the cached state, if there is one, whether or not the log has its event."""
        columns = (SNAPSHOTS.c.seq, SNAPSHOTS.c.hash, SNAPSHOTS.c.payload)
        query = sa.select(*columns).where(SNAPSHOTS.c.study == study)
        with self._connection() as connection:
            row = connection.execute(query).first()
        found = None if row is None else Snapshot(*row)
        return found if found is not None and found.sound else None

    def save_snapshot(self, study: str, snapshot: Snapshot) -> None:
        """Keep a state in place of an older one; a store that cannot is left as it is."""
        if self.read_only or self.format < FORMAT:
            return
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
        except UnicodeDecodeError:  # a byte of a text was changed
            raise StoreError(
                f"the store {self.url} is damaged (a text in it is not UTF-8): restore a backup"
            ) from None
        except (SQLAlchemyError, sqlite3.Error) as error:
            lost = isinstance(error, DBAPIError) and error.connection_invalidated
            kind = LostError if lost else StoreError
            raise kind(f"the store {self.url} cannot be used: {self._reason(error)}") from error

    @contextmanager
    def _transaction(self, lock: str) -> Iterator[Connection]:
        """Write, alone among those who take the same lock."""
        with self._connection() as connection:
            connection = connection.execution_options(psips_writes=True)
            transaction = connection.begin()
            try:
                _lock(connection, lock)
                yield connection
            except BaseException:
                with suppress(SQLAlchemyError):
                    transaction.rollback()
                raise
            try:
                transaction.commit()
            except SQLAlchemyError as error:
                raise UnknownOutcomeError(
                    f"the store {self.url} failed while it recorded a change: "
                    f"{self._reason(error)}"
                ) from error

    def _reason(self, error: Exception) -> str:
        cause = error.orig if isinstance(error, DBAPIError) else error
        text = " ".join(str(cause).split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text[:300]

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
        last = self._last()
        if last[0] != expected:
            raise ConflictError(
                f"the log of {self._study!r} has {last[0]} events, not {expected}"
            )
        events = []
        for at, kind, payload in entries:
            event = Event.after(last, self._study, at, kind, payload)
            last = (event.seq, event.hash)
            events.append(event)
        self._insert(events)
        return events

    def copy(self, events: Sequence[Event]) -> None:
        """Add the events of a whole log, hashes included, where there is none."""
        wrong = broken_links(events) or [e.study for e in events if e.study != self._study]
        if wrong or not events:
            raise DamagedError(
                f"the log of {self._study!r} is not as it was written: "
                f"{wrong[0] if wrong else 'it is empty'}"
            )
        if self._last()[0] != 0:
            raise ConflictError(f"there is a log of {self._study!r} already")
        # what is cached is of another log: the one that comes back begins without
        self._connection.execute(SNAPSHOTS.delete().where(SNAPSHOTS.c.study == self._study))
        self._insert(events)

    def now(self) -> datetime:
        """Return the time of the server; a file has no clock but that of this machine."""
        return _now(self._connection)

    def _last(self) -> tuple[int, str]:
        row = self._connection.execute(READ_LAST, {"study": self._study}).first()
        return (0, START) if row is None else (row.seq, row.hash)

    def _insert(self, events: Sequence[Event]) -> None:
        rows = [
            {
                "study": event.study,
                "seq": event.seq,
                "at": event.at,
                "kind": event.kind,
                "payload": event.text,
                "previous": event.previous,
                "hash": event.hash,
            }
            for event in events
        ]
        if rows:
            self._connection.execute(EVENTS.insert(), rows)


def check_name(study: str) -> None:
    """Refuse a name that no database can hold."""
    try:
        study.encode()
    except UnicodeEncodeError:
        study = "\0"
    if "\0" in study:
        raise InputError("the name of a study must be text in UTF-8 without the character NUL")


def _read(connection: Connection, study: str, after: int, until: int | None) -> list[Event]:
    check_name(study)
    bounds = {"study": study, "after": after}
    if until is None:
        return [Event(*row) for row in connection.execute(READ, bounds)]
    return [Event(*row) for row in connection.execute(READ_UNTIL, {**bounds, "until": until})]


def _now(connection: Connection) -> datetime:
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    found: datetime = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
    return found.astimezone(UTC)


def _lock(connection: Connection, name: str) -> None:
    """Wait for the other writers: those of this name, or all of them in SQLite (BEGIN)."""
    if connection.dialect.name == "postgresql":
        digest = hashlib.sha256(name.encode()).digest()
        number = int.from_bytes(digest[:8], signed=True)
        if connection.scalar(sa.select(sa.func.pg_try_advisory_xact_lock(number))):
            return
        word = threading.Timer(SILENT, say_waiting)
        word.start()
        try:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))
        finally:
            word.cancel()
