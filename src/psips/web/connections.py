"""Connections: how many there are, and how long they may owe us something.

A client owes the rest of a request that it has begun, be it the first of its connection or a
later one, and it has to read what we answer. A client that keeps us waiting is cut off. If
there are too many connections, of one address or altogether, the one that has kept us waiting
or idled for longest makes room for the new one; only if all of them are being answered is the
new one turned away.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import json
import time
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_TIME = 10.0  # seconds from the first byte of a request to the end of its head
REST_TIME = 20.0  # seconds for the rest of a body that no one is interested in any more
STALL_TIME = 30.0  # seconds in which nothing of an answer is taken
CONNECTIONS = 1000
OF_AN_ADDRESS = 200  # connections; a proxy that we trust has no such limit
HEALTH = "/healthz"


class Impatient(H11Protocol):
    """HTTP that does not wait for ever."""

    _owed: tuple[str, object] | None = None  # what the client has to send, of which request
    _timer: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._watch()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._since = time.monotonic()
        self._watch()
        self._see_it_taken()

    def pause_writing(self) -> None:
        """Wait until the client has read."""
        super().pause_writing()
        self._see_it_taken()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget about it."""
        for timer in (self._timer, self._stall):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    # What the client owes

    def _owes(self) -> tuple[str, object] | None:
        """Return what is missing of which request; None if the client may rest."""
        if self.conn.their_state is h11.SEND_BODY:
            return ("body", self.cycle)
        if self.conn.their_state is h11.IDLE:
            begun = self.cycle is None or bool(self.conn.trailing_data[0])
            return ("head", self.cycle) if begun else None
        return None

    def _watch(self) -> None:
        owed = self._owes()
        if owed == self._owed:
            return
        self._owed, self._since = owed, time.monotonic()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if owed is not None:
            patience = HEAD_TIME if owed[0] == "head" else REST_TIME
            self._timer = self.loop.call_later(patience, self._give_up)

    def _give_up(self) -> None:
        if self._answering:  # the application waits for the body, and not for ever either
            self._timer = self.loop.call_later(REST_TIME, self._give_up)
        else:
            self.transport.abort()

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    # What the client does not read

    def _see_it_taken(self) -> None:
        if self._stall is None and self.transport.get_write_buffer_size():
            self._check_again(self.transport.get_write_buffer_size())

    def _check_again(self, left: int) -> None:
        def check() -> None:
            self._stall = None
            now = self.transport.get_write_buffer_size()
            if now and now >= left:
                self.transport.abort()
            elif now:
                self._check_again(now)

        self._stall = self.loop.call_later(STALL_TIME, check)

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    # How many there are

    def _make_room(self) -> None:
        """End another connection if there are too many; if none can be, answer with 503."""
        address = self._address
        crowd = [one for one in self.connections if _of(one) == address]
        if len(crowd) <= OF_AN_ADDRESS or self._is_proxy(address):
            if len(self.connections) <= CONNECTIONS:
                return
            crowd = list(self.connections)
        idle = [c for c in crowd if isinstance(c, Impatient) and c is not self and c._may_go]
        if not idle:
            self.app = _Busy(self.app)
            return
        oldest = min(idle, key=lambda one: one._since)
        self.connections.discard(oldest)
        oldest.transport.abort()

    @property
    def _may_go(self) -> bool:
        """Whether it is the client who keeps this connection waiting."""
        if not self._answering:
            return True
        return self.conn.their_state is h11.SEND_BODY and not self.flow.read_paused

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def _is_proxy(self, address: str) -> bool:
        allowed = self.config.forwarded_allow_ips
        return bool(self.config.proxy_headers) and is_among(address, tuple(allowed or ()))


class _Busy:
    """Answers only whether the server is well."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") == HEALTH:
            await self._app(scope, receive, send)
            return
        detail = "the server has too many connections: repeat the request in a moment"
        problems = [{"message": detail, "line": None, "field": None}]
        data = {"status": 503, "exit_code": 2, "detail": detail, "problems": problems}
        body = json.dumps(data).encode()
        headers = [
            (b"content-type", b"application/problem+json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            (b"retry-after", b"1"),
        ]
        await send({"type": "http.response.start", "status": 503, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _of(connection: Any) -> str:
    return connection._address if isinstance(connection, Impatient) else ""


@functools.lru_cache(maxsize=4096)
def is_among(address: str, networks: tuple[str, ...]) -> bool:
    """Whether an address is one of some addresses and networks.

    Examples
    --------
    >>> ours = ("127.0.0.1", "10.0.0.0/24")
    >>> is_among("10.0.0.7", ours), is_among("10.0.1.7", ours)
    (True, False)
    """
    try:
        given = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(given in ipaddress.ip_network(one, strict=False) for one in networks)
