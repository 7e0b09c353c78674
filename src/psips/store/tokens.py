"""Who may reach a store through `psips serve`: tokens with a role, and sign-ins by them.

The database has hashes alone: a token is shown once, when it is made. The tables are made
with the first token, so a store without them is as it was, and an older psips can read it.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from psips.errors import InputError, quote, unknown
from psips.input.names import check_name
from psips.store.database import DatabaseStore

ROLES = ("viewer", "recorder", "owner")  # each may do what those before it may
LONGEST_NAME = 100
MOST_DAYS = 3660
SIGNED_IN = timedelta(hours=12)

TABLES = sa.MetaData()
TOKENS = sa.Table(
    "psips_tokens",
    TABLES,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("name", sa.String(LONGEST_NAME), nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("made", sa.String(32), nullable=False),
    sa.Column("expires", sa.String(32), nullable=False),
    sa.Column("revoked", sa.String(32), nullable=True),
)
SIGN_INS = sa.Table(
    "psips_sign_ins",
    TABLES,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("token", sa.String(64), nullable=False),
    sa.Column("expires", sa.String(32), nullable=False),
)


class Token(NamedTuple):
    """What is known of a token; no one can make the token of it."""

    hash: str
    name: str
    role: str
    made: str
    expires: str
    revoked: str | None

    def state(self, at: str) -> str:
        """Return ``"revoked"``, ``"expired"`` or ``"valid"``."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires <= at else "valid"


class Tokens:
    """The tokens of a store.

    Examples
    --------
    >>> from psips.store import open_store
    >>> tokens = Tokens(open_store("sqlite://", create=True))
    >>> tokens.needed()
    False
    >>> secret = tokens.add("ann", "recorder")
    >>> tokens.needed(), tokens.find(secret).role, tokens.find("psips_guess")
    (True, 'recorder', None)
    >>> tokens.revoke("ann")
    >>> tokens.find(secret) is None, tokens.needed()
    (True, True)
    """

    def __init__(self, store: DatabaseStore) -> None:
        self._store = store
        self._there = False  # the tables; they never go

    def needed(self) -> bool:
        """Whether there is a token, of whatever state: no one gets in without one then."""
        if not self._there:
            with self._store._connection() as connection:
                self._there = sa.inspect(connection).has_table(SIGN_INS.name)
        if not self._there:
            return False
        with self._store._connection() as connection:
            return connection.execute(sa.select(TOKENS.c.hash).limit(1)).first() is not None

    def add(self, name: str, role: str, days: int = 90, at: datetime | None = None) -> str:
        """Make a token and return it; it is not kept, and cannot be shown again.

        Parameters
        ----------
        name : str
            Who gets it: the log says that they did what is done with it.
        role : "viewer", "recorder" or "owner"
        days : int
            After which it expires.
        at : datetime, optional
            The time.
        """
        check_name("the token", name)
        if len(name) > LONGEST_NAME:
            raise InputError(
                f"the name of a token has at most {LONGEST_NAME} characters, got {quote(name)}"
            )
        if role not in ROLES:
            raise unknown("role", role, ROLES)
        if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MOST_DAYS:
            raise InputError(f"a token is valid for 1 to {MOST_DAYS:,} days, got {quote(days)}")
        time = at or datetime.now(UTC)
        made, expires = _stamp(time), _stamp(time + timedelta(days=days))
        secret = f"psips_{secrets.token_urlsafe(32)}"
        self._store._check_writable()
        with self._store._transaction("psips: tokens") as connection:
            TABLES.create_all(connection)
            valid = (TOKENS.c.name == name) & TOKENS.c.revoked.is_(None)
            valid &= TOKENS.c.expires > made
            if connection.execute(sa.select(TOKENS.c.hash).where(valid)).first():
                raise InputError(
                    f"{quote(name)} has a token already: revoke it first with "
                    f"`psips serve token revoke`, or choose another name"
                )
            row = Token(_digest(secret), name, role, made, expires, None)
            connection.execute(TOKENS.insert().values(**row._asdict()))
        return secret

    def revoke(self, name: str, at: datetime | None = None) -> None:
        """Make the token of a name worthless, at once, and sign out who signed in with it."""
        self._store._check_writable()
        names = [token.name for token in self.every() if token.revoked is None]
        if name not in names:
            raise unknown("token", name, sorted(set(names)))
        with self._store._transaction("psips: tokens") as connection:
            mine = (TOKENS.c.name == name) & TOKENS.c.revoked.is_(None)
            gone = sa.select(TOKENS.c.hash).where(mine)
            connection.execute(SIGN_INS.delete().where(SIGN_INS.c.token.in_(gone)))
            time = _stamp(at or datetime.now(UTC))
            connection.execute(TOKENS.update().where(mine).values(revoked=time))

    def every(self) -> list[Token]:
        """Return all tokens there ever were, by time."""
        if not self.needed():
            return []
        with self._store._connection() as connection:
            rows = connection.execute(sa.select(TOKENS).order_by(TOKENS.c.made))
            return [Token(*row) for row in rows]

    def find(self, secret: str, at: datetime | None = None) -> Token | None:
        """Return the token with this secret, if it is valid."""
        return self._valid(sa.select(TOKENS).where(TOKENS.c.hash == _digest(secret)), at)

    def sign_in(self, token: Token, at: datetime | None = None) -> str:
        """Begin a visit of whoever has this token; return the secret of the visit."""
        time = at or datetime.now(UTC)
        secret = secrets.token_urlsafe(32)
        self._store._check_writable()
        with self._store._transaction("psips: tokens") as connection:
            connection.execute(SIGN_INS.delete().where(SIGN_INS.c.expires <= _stamp(time)))
            expires = min(_stamp(time + SIGNED_IN), token.expires)
            row = {"hash": _digest(secret), "token": token.hash, "expires": expires}
            connection.execute(SIGN_INS.insert().values(**row))
        return secret

    def find_sign_in(self, secret: str, at: datetime | None = None) -> Token | None:
        """Return the token by which a visit began, if both are valid."""
        time = _stamp(at or datetime.now(UTC))
        same = (SIGN_INS.c.token == TOKENS.c.hash) & (SIGN_INS.c.expires > time)
        same &= SIGN_INS.c.hash == _digest(secret)
        return self._valid(sa.select(TOKENS).join(SIGN_INS, same), at)

    def sign_out(self, secret: str) -> None:
        """End a visit."""
        with self._store._transaction("psips: tokens") as connection:
            connection.execute(SIGN_INS.delete().where(SIGN_INS.c.hash == _digest(secret)))

    def _valid(self, query: sa.Select[Any], at: datetime | None) -> Token | None:
        if not self.needed():
            return None
        with self._store._connection() as connection:
            row = connection.execute(query).first()
        found = None if row is None else Token(*row)
        valid = found is not None and found.state(_stamp(at or datetime.now(UTC))) == "valid"
        return found if valid else None


def _digest(secret: str) -> str:
    """Hash a secret of 256 random bits, which no one can guess from it, however fast."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _stamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
