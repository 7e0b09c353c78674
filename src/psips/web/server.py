"""The server process: listens, answers, ends what it has begun."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import warnings
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from psips.errors import InputError, quote
from psips.store import open_store
from psips.store.tokens import Tokens
from psips.study.slips import FarValueWarning
from psips.web.app import make_app
from psips.web.guard import LOCAL

FIRST = 10.0  # seconds in which a connection must have sent the head of its first request
GRACE = 10  # seconds that requests under way have at the end
CONNECTIONS = 1000


class Impatient(H11Protocol):
    """HTTP that does not wait for ever for clients who send a request letter by letter."""

    def connection_made(self, transport: Any) -> None:
        """Give a new connection some seconds."""
        super().connection_made(transport)
        self._patience = asyncio.get_running_loop().call_later(FIRST, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget about it."""
        self._patience.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if self.cycle is None:
            self.transport.close()


def serve(
    url: str, host: str, port: int, behind_proxy: bool, say: Callable[[str], object]
) -> None:
    """Serve a store until the process is told to end.

    Parameters
    ----------
    url : str
        Of the store.
    host, port : str, int
        To listen on.
    behind_proxy : bool
        Whether to trust what a proxy on this machine says of clients and of TLS.
    say : callable
        Prints a sentence.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    warnings.simplefilter("ignore", FarValueWarning)  # receipts have them
    with open_store(url) as store:
        guarded = Tokens(store).needed()
        if not guarded and (host not in LOCAL or behind_proxy):
            raise InputError(
                f"there are no tokens in {store.url}, and without them only 127.0.0.1 is "
                "served: make one first with `psips serve token add NAME --role owner`"
            )
        listening = _listen(host, port)
        if not guarded:
            say("no tokens: only this machine is served, and anyone on it may do everything")
        config = settings(make_app(store), behind_proxy)
        where = f"[{host}]" if ":" in host else host
        say(f"{store.url}: http://{where}:{listening.getsockname()[1]}/ (Ctrl-C ends it)")
        server = uvicorn.Server(config)
        for end in (signal.SIGINT, signal.SIGTERM):  # it ends what it has begun, then with 0
            signal.signal(end, lambda *_: setattr(server, "should_exit", True))
        server.run(sockets=[listening])


def settings(app: Any, behind_proxy: bool = False) -> uvicorn.Config:
    """Return how an application is served: with limits, and without a log of its own."""
    return uvicorn.Config(
        app,
        http=Impatient,
        access_log=False,
        log_level="warning",
        proxy_headers=behind_proxy,
        forwarded_allow_ips="127.0.0.1",
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=32_768,
    )


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise InputError(f"--port must be a number from 0 to 65535, got {port}")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        made = socket.create_server((host, port), family=family, backlog=512)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot listen on {quote(host)}, port {port}: {why}; choose another --port or "
            "--host"
        ) from None
    return made
