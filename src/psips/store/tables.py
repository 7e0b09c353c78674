"""The tables of a store, and which format they have."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from psips.store.interface import StoreError

FORMAT = 2  # of the tables; 1 had no table that says so
STATED = 2  # the first format that a store states
APPLICATION = 0x70736970  # "psip", in the header of a SQLite file
LARGE = 8_000_000  # bytes of a SQLite file above which it is not checked on opening

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
ABOUT = sa.Table(
    "psips_store",
    TABLES,
    sa.Column("format", sa.Integer, primary_key=True, autoincrement=False),
)


def read_format(connection: Connection, url: str) -> int:
    """Return the format of a store; 0 if there is none yet, an error if it cannot be used."""
    found = sa.inspect(connection)
    names = set(found.get_table_names())
    views = sorted(set(found.get_view_names()) & set(TABLES.tables))
    if views:
        raise StoreError(
            f"the store {url} has a view instead of its table {views[0]!r}: restore a backup"
        )
    if ABOUT.name in names:
        version = _stated_format(connection, url)
        for table in (EVENTS, SNAPSHOTS):
            there = table.name in names
            columns = {c["name"] for c in found.get_columns(table.name)} if there else set()
            if columns != set(table.c.keys()):
                raise StoreError(
                    f"the store {url} lacks the table {table.name!r} as format {version} has "
                    "it: restore a backup"
                )
        return version
    if EVENTS.name in names:
        columns = {column["name"] for column in found.get_columns(EVENTS.name)}
        if columns == set(EVENTS.c.keys()) and SNAPSHOTS.name in names:
            return 1
    elif not names or connection.dialect.name == "postgresql":
        return 0
    raise StoreError(f"{url} is the database of another application: name another store")


def _stated_format(connection: Connection, url: str) -> int:
    """Return the format that a store says it has."""
    stated = list(connection.scalars(sa.select(ABOUT.c.format)))
    known = [v for v in stated if type(v) is int and STATED <= v <= FORMAT]
    if stated and len(known) == len(stated):
        return max(known)
    odd = next((v for v in stated if v not in known), None)
    newer = type(odd) is int and odd > FORMAT
    raise StoreError(
        f"the store {url} has format {str(odd)[:50]!r}, but this version of psips knows "
        f"formats up to {FORMAT}: {'use a newer psips' if newer else 'restore a backup'}"
    )


def create(connection: Connection) -> None:
    """Make the tables."""
    TABLES.create_all(connection)
    if connection.scalar(sa.select(sa.func.count()).select_from(ABOUT)) == 0:
        connection.execute(ABOUT.insert().values(format=FORMAT))
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")


def migrate(connection: Connection) -> None:
    """Bring tables of an older format to the present one; no event is touched."""
    create(connection)
    connection.execute(SNAPSHOTS.delete())  # caches of format 1 carry no checksum


def find_damage(connection: Connection, quick: bool) -> str | None:
    """Return what the database finds wrong with its file; None if nothing, or no file."""
    if connection.dialect.name != "sqlite":
        return None

    def ask(pragma: str) -> Any:
        return connection.exec_driver_sql(f"PRAGMA {pragma}").scalar()

    if quick and ask("page_count") * ask("page_size") > LARGE:
        return None
    said = str(ask("quick_check(1)" if quick else "integrity_check(1)"))
    return None if said == "ok" else " ".join(said.split())[:200]
