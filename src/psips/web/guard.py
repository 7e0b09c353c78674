"""What every request passes: limits of size and time, who and where it is from, the log."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from psips.errors import InputError, on_page
from psips.web.authentication import Authenticator
from psips.web.connections import HEALTH
from psips.web.problems import NOT_FOUND, NOT_SIGNED_IN, code_of

LARGEST_BODY = 4_000_000  # bytes
LARGEST_SIGN_IN = 20_000  # bytes, of people whom we do not know yet
BODY_TIME = 20.0  # seconds in which a body must have come
REST, REST_TIME = 1_000_000, 2.0  # bytes and seconds read of a body that is refused
LOCAL = ("127.0.0.1", "localhost", "::1")
SAFE = ("GET", "HEAD", "OPTIONS")
DOCUMENTATION = ("/api/v1/docs", "/api/v1/openapi.json")
OPEN, TOKEN, OFF = "open", "token", "off"  # who may read it
LOG = logging.getLogger("psips.web")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}

Message = dict[str, Any]
_LOCAL_HOST = re.compile(
    r"(?:127\.0\.0\.1|localhost|\[::1\])(?::([0-9]{1,5}))?", re.IGNORECASE | re.ASCII
)


class TooMuchError(HTTPException):
    """A body that is too large, or too slow."""


class Guard:
    """ASGI middleware around the whole application.

    Parameters
    ----------
    app : ASGI application
    authenticator : Authenticator
        Knows whether there are tokens. Without them only this machine is served, by names that
        no page elsewhere can make a browser take for its own. With them, who calls the JSON
        interface is looked at here, before anything of the request is.
    api_docs : "open", "token" or "off"
        Who may read how the JSON interface is used.
    """

    def __init__(self, app: Any, authenticator: Authenticator, api_docs: str = OPEN) -> None:
        self._app = app
        self._porter = authenticator
        self._api_docs = api_docs

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.monotonic()
        answered: list[int] = []
        secure = scope.get("scheme") == "https"

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered.append(message["status"])
                message = {**message, "headers": _headers(message["headers"], secure)}
            await send(message)

        try:
            refused = await self._refusal(scope)
            if refused is None:
                with on_page():
                    await self._app(scope, _Body(scope, receive), answer)
            else:
                await _refuse(answer, *refused)
        except TooMuchError as error:
            if not answered:
                await _read_rest(receive)
                await _refuse(answer, error.status_code, error.detail)
        finally:
            took = 1000 * (time.monotonic() - began)
            code = answered[0] if answered else 0
            who = scope.get("psips.who", "-")
            path = scope["path"][:200].encode("unicode_escape").decode()  # no query: no secrets
            LOG.info("%s %s %d %.0f ms %s", scope["method"], path, code, took, who)

    async def _refusal(self, scope: Message) -> tuple[int, str] | None:
        """Say why a request is not even looked at."""
        if scope["path"] == HEALTH:
            return None
        given = _given(scope)
        host = given.get("host", "")
        try:
            if not await asyncio.to_thread(self._porter.tokens.needed):
                local = (scope.get("client") or ("",))[0] in LOCAL
                if not local or not is_local(host) or "x-forwarded-for" in given:
                    return 403, (
                        "this server has no tokens yet, so only its own machine is served, as "
                        "127.0.0.1: make one with `psips serve token add NAME --role owner`"
                    )
            if scope["path"] in DOCUMENTATION and self._api_docs == OFF:
                return NOT_FOUND, "this server does not show how its JSON interface is used"
            if scope["path"].startswith("/api/"):
                await asyncio.to_thread(self._identify, scope)
        except InputError as error:
            return code_of(error), str(error)
        origin = given.get("origin")
        if scope["method"] not in SAFE and origin is not None:
            scheme, _, of = origin.partition("://")
            if of != host or scheme not in ("http", "https"):
                return 403, "this request was made by a page of another site: it is refused"
        if scope["method"] not in SAFE and scope["path"].startswith("/api/"):
            kind = given.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return 415, "send JSON, and say so: Content-Type: application/json"
        return None

    def _identify(self, scope: Message) -> None:
        """Note who calls the JSON interface; `RefusedError` if it is no one we know."""
        request = Request(scope)
        if scope["path"] not in DOCUMENTATION:
            scope["psips.person"] = self._porter.by_token(request)
        elif self._api_docs == TOKEN:
            self._porter.reader(request)


class _Body:
    """Receives a body as long as it is neither too large nor too slow."""

    def __init__(self, scope: Message, receive: Any) -> None:
        self._receive = receive
        self._got = 0
        self._left = BODY_TIME  # of the time that we have waited for the client
        self._whole = False
        self._most = LARGEST_SIGN_IN if scope["path"] == "/sign-in" else LARGEST_BODY
        length = _given(scope).get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self._most:
            raise self._too_large()

    async def __call__(self) -> Message:
        if self._whole:  # what comes now is the end of the connection, whenever that is
            return dict(await self._receive())
        began = time.monotonic()
        try:
            message: Message = await asyncio.wait_for(self._receive(), max(self._left, 0.0))
        except TimeoutError:
            raise TooMuchError(
                408, f"the request took longer than {BODY_TIME:g} seconds to arrive"
            ) from None
        self._left -= time.monotonic() - began
        self._got += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._got > self._most:
            raise self._too_large()
        return message

    def _too_large(self) -> TooMuchError:
        return TooMuchError(
            413, f"this request has at most {self._most:,} bytes: send less at once"
        )


async def _read_rest(receive: Any) -> None:
    """Drop some of a refused body: a client that is cut off while it sends sees no answer."""
    got, end = 0, time.monotonic() + REST_TIME
    while got < REST:
        try:
            message = await asyncio.wait_for(receive(), max(end - time.monotonic(), 0.0))
        except TimeoutError:
            return
        if not message.get("more_body", False):
            return
        got += len(message.get("body", b""))


async def _refuse(send: Any, code: int, sentence: str) -> None:
    data = {
        "status": code,
        "exit_code": 2,
        "detail": sentence,
        "problems": [{"message": sentence, "line": None, "field": None}],
    }
    body = json.dumps(data).encode()
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if code == NOT_SIGNED_IN:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": code, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _headers(given: Any, secure: bool) -> list[tuple[bytes, bytes]]:
    """Add the headers that every answer has, except those it has chosen itself."""
    chosen = {name.lower() for name, _ in given}
    added = dict(HEADERS)
    if secure:
        added["strict-transport-security"] = "max-age=31536000"
    return [
        *given,
        *((k.encode(), v.encode()) for k, v in added.items() if k.encode() not in chosen),
    ]


def _given(scope: Message) -> dict[str, str]:
    return {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}


def is_local(host: str) -> bool:
    """Whether a Host header is a name of this machine, with or without a port.

    Examples
    --------
    >>> is_local("127.0.0.1:8765"), is_local("[::1]:8765"), is_local("LocalHost")
    (True, True, True)
    >>> is_local("evil.example"), is_local("[::1]evil.example"), is_local("127.0.0.1:80@evil")
    (False, False, False)
    """
    found = _LOCAL_HOST.fullmatch(host)
    return found is not None and int(found[1] or 0) < 2**16
