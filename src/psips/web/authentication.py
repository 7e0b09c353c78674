"""Who makes a request, and what they may do: tokens, visits, forms that are ours."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import deque
from typing import NamedTuple

from fastapi import Request

from psips.store.tokens import ROLES, Tokens
from psips.web.problems import FORBIDDEN, NOT_SIGNED_IN, TOO_MANY, RefusedError

COOKIE = "psips"  # of who has signed in
VISIT = "psips_visit"  # of every browser: what its forms are tied to
WINDOW = 300.0  # seconds
TRIES = 10  # wrong tokens of an address in that time before the next one has to wait
REMEMBERED = 10_000  # wrong tokens of all addresses
VIEWER, RECORDER, OWNER = ROLES
DOES = {VIEWER: "view studies", RECORDER: "record", OWNER: "make or close a study"}


class Person(NamedTuple):
    """Who is at work; ``name`` is None where no tokens are needed: the login counts then."""

    name: str | None
    role: str

    def may(self, role: str) -> bool:
        """Whether they may do what a role may."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Authenticator:
    """Authenticates requests."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self._failed: deque[tuple[float, str]] = deque(maxlen=REMEMBERED)
        self._lock = threading.Lock()

    def by_token(self, request: Request) -> Person:
        """Return who calls the JSON interface, as the header of the request says."""
        if not self.tokens.needed():
            return Person(None, OWNER)
        scheme, _, rest = request.headers.get("authorization", "").partition(" ")
        secret = rest.strip() if scheme.lower() == "bearer" else ""
        token = self.tokens.find(secret) if secret else None
        if token is None:
            if secret:
                self._slow_down(request)
            raise RefusedError(
                NOT_SIGNED_IN,
                "this needs a valid token: send it as `Authorization: Bearer TOKEN`; "
                "`psips serve token add` makes one",
            )
        request.scope["psips.who"] = ascii(token.name)
        return Person(token.name, token.role)

    def reader(self, request: Request) -> Person:
        """Return who reads how the JSON interface is used: a program or a person."""
        return self.by_cookie(request) or self.by_token(request)

    def by_cookie(self, request: Request) -> Person | None:
        """Return who opens a page; None if they have to sign in first."""
        if not self.tokens.needed():
            return Person(None, OWNER)
        secret = request.cookies.get(COOKIE)
        token = self.tokens.find_sign_in(secret) if secret else None
        if token is None:
            return None
        request.scope["psips.who"] = ascii(token.name)
        return Person(token.name, token.role)

    def sign_in(self, request: Request, secret: str) -> str:
        """Return the secret of a new visit, if the token is valid."""
        token = self.tokens.find(secret.strip())
        if token is not None:
            return self.tokens.sign_in(token)
        self._slow_down(request)
        raise RefusedError(
            FORBIDDEN, "this token is not valid: it is mistyped, expired or revoked"
        )

    def _slow_down(self, request: Request) -> None:
        """Note a wrong token, and refuse it as such if too many came before.

        A valid token is let in however many wrong ones came before: those are 256 random bits
        away from it, and whoever sends them must not be able to lock others out.
        """
        if self._tried(request.client.host if request.client else "") > TRIES:
            raise RefusedError(
                TOO_MANY,
                "this token is not valid, and too many others were tried: wait five minutes",
            )

    def _tried(self, address: str) -> int:
        """Note a wrong token, and return how many came from an address of late."""
        with self._lock:
            at = time.monotonic()
            self._failed.append((at, address))
            while self._failed[0][0] < at - WINDOW:
                self._failed.popleft()
            return sum(1 for _, other in self._failed if other == address)


def require(person: Person, role: str) -> Person:
    """Refuse whoever may not do what a role may."""
    if not person.may(role):
        raise RefusedError(
            FORBIDDEN,
            f"your token has the role {person.role}: to {DOES[role]} you need the role {role}",
        )
    return person


def new_visit() -> str:
    """Return what ties forms to a browser."""
    return secrets.token_urlsafe(24)


def form_token(request: Request, visit: str | None = None) -> str:
    """Return what a form must bring along: only a page of ours can know it."""
    secret = request.cookies.get(COOKIE) or visit or request.cookies.get(VISIT, "")
    return hmac.new(secret.encode(), b"psips form", hashlib.sha256).hexdigest()


def check_form(request: Request, given: str) -> None:
    """Refuse a form that no page of ours has made for this browser."""
    known = request.cookies.get(COOKIE) or request.cookies.get(VISIT)
    expected = form_token(request)
    if not known or not hmac.compare_digest(expected.encode(), given.encode()):
        raise RefusedError(
            FORBIDDEN,
            "this form is not from a page that this browser opened: open the page again",
        )
