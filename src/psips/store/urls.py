"""Where a store is: URLs and paths read as they are meant, and shown without secrets."""

from __future__ import annotations

import re
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from psips.errors import InputError

MEMORY = ("", ":memory:")
SHOWN = 200  # characters of a URL in a message
_SQLITE = re.compile(r"sqlite(?:\+pysqlite)?://(?:/(.*))?", re.DOTALL)
_POSTGRES = re.compile(r"postgres(?:ql)?(\+\w+)?://")


def read_url(url: str) -> URL:
    """Read the URL of a store; the rest of ``sqlite:///`` is a path to the letter.

    Examples
    --------
    >>> read_url("sqlite:///q?m.db").database
    'q?m.db'
    >>> read_url("postgres://ann@host/trials").drivername
    'postgresql+psycopg'
    >>> read_url("trials.db").database
    'trials.db'
    >>> read_url("mysql://ann:secret@host/x")
    Traceback (most recent call last):
    psips.errors.InputError: a store is in SQLite or PostgreSQL, as in sqlite:///psips.db ...
    """
    if not isinstance(url, str) or "\0" in url:
        raise _refused(str(url))
    found = _SQLITE.fullmatch(url)
    if found:
        return URL.create("sqlite", database=found[1] or "")
    if url and ":" not in url and "@" not in url:  # a plain path
        return URL.create("sqlite", database=url)
    if not _POSTGRES.match(url):
        raise _refused(url)
    try:
        where = sa.make_url(re.sub(r"^postgres(ql)?:", "postgresql+psycopg:", url))
    except (ArgumentError, ValueError):
        raise _refused(url) from None
    return where


def is_memory(where: URL) -> bool:
    """Whether a store lives as long as its process only."""
    return where.get_backend_name() == "sqlite" and (where.database or "") in MEMORY


def file_of(where: URL) -> Path | None:
    """Return the file of a store; None if it has none of its own."""
    if where.get_backend_name() != "sqlite" or is_memory(where):
        return None
    return Path(str(where.database))


def shown(where: URL) -> str:
    """Return a URL for messages: neither a password nor the options are in it.

    Examples
    --------
    >>> shown(read_url("postgresql://ann:secret@host:5433/trials?password=other"))
    'postgresql://ann@host:5433/trials'
    """
    if where.get_backend_name() == "sqlite":
        return f"sqlite:///{where.database}" if where.database else "sqlite://"
    user = f"{where.username}@" if where.username else ""
    port = f":{where.port}" if where.port else ""
    return f"postgresql://{user}{where.host or ''}{port}/{where.database or ''}"


def secrets_of(where: URL) -> list[str]:
    """Return what must not appear in a message."""
    values = [str(where.password or "")]
    for name in ("password", "sslpassword", "passfile"):
        value = where.query.get(name, ())
        values += [value] if isinstance(value, str) else list(value)
    return [value for value in values if value]


def without_secrets(url: str) -> str:
    """Return a text that may be a URL without what may be a password.

    Examples
    --------
    >>> without_secrets("postgresql:/ann:s@cret@host/x?password=y")
    'postgresql:/***@host/x?***'
    """
    url = re.sub(r"\?.*", "?***", url, count=1, flags=re.DOTALL)
    scheme, slashes, rest = re.match(r"([\w+.-]*:)?(/*)(.*)", url, re.DOTALL).groups("")  # type: ignore[union-attr]
    if "@" in rest:
        rest = f"***@{rest.rpartition('@')[2]}"
    return f"{scheme}{slashes}{rest}"[:SHOWN]


def _refused(url: str) -> InputError:
    return InputError(
        "a store is in SQLite or PostgreSQL, as in sqlite:///psips.db or "
        f"postgresql://user@host/database; got {without_secrets(url)!r}"
    )
