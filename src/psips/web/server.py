"""The server process: listens, answers, ends what it has begun."""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import uvicorn

from psips.errors import InputError, quote, unknown
from psips.store import open_store
from psips.store.tokens import Tokens
from psips.study.outliers import FarValueWarning
from psips.web.app import make_app
from psips.web.connections import CONNECTIONS, Impatient
from psips.web.guard import LOCAL, OFF, OPEN, TOKEN

GRACE = 10  # seconds that requests under way have at the end
FILES = CONNECTIONS + 500  # that the process may have open: connections, databases, its own


def serve(
    url: str,
    host: str,
    port: int,
    say: Callable[[str], object],
    proxies: Sequence[str] = (),
    api_docs: str = OPEN,
    create: bool = False,
) -> None:
    """Serve a store until the process is told to end.

    Parameters
    ----------
    url : str
        Of the store.
    host, port : str, int
        To listen on.
    say : callable
        Prints a sentence.
    proxies : sequence of str
        Addresses or networks of proxies that are trusted about the client's address and TLS.
    api_docs : "open", "token" or "off"
        Who may read how the JSON interface is used.
    create : bool
        Whether to make the store if there is none.
    """
    check_proxies(proxies)
    if api_docs not in (OPEN, TOKEN, OFF):
        raise unknown("value of --api-docs", api_docs, [OPEN, TOKEN, OFF])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    warnings.simplefilter("ignore", FarValueWarning)  # receipts have them
    with open_store(url, create=create) as store:
        guarded = Tokens(store).needed()
        if not guarded and (host not in LOCAL or proxies):
            raise InputError(
                f"there are no tokens in {store.url}, and without them only 127.0.0.1 is "
                "served: make one first with `psips serve token add NAME --role owner`"
            )
        listening = _listen(host, port)
        if not guarded:
            say("no tokens: only this machine is served, and anyone on it may do everything")
        config = settings(make_app(store, api_docs), proxies)
        where = f"[{host}]" if ":" in host else host
        say(f"{store.url}: http://{where}:{listening.getsockname()[1]}/ (Ctrl-C ends it)")
        _allow_files()
        server = uvicorn.Server(config)
        for end in (signal.SIGINT, signal.SIGTERM):  # it ends what it has begun, then with 0
            signal.signal(end, lambda *_: setattr(server, "should_exit", True))
        server.run(sockets=[listening])


def settings(app: Any, proxies: Sequence[str] = ()) -> uvicorn.Config:
    """Return how an application is served: with limits, and without a log of its own."""
    return uvicorn.Config(
        app,
        http=Impatient,  # which bounds connections too
        ws="none",
        access_log=False,
        log_level="warning",
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=32_768,
    )


def check_proxies(proxies: Sequence[str]) -> None:
    """Refuse what is no address of a proxy, and what is everybody's address."""
    for given in proxies:
        try:
            network = ipaddress.ip_network(given, strict=False)
        except ValueError:
            raise InputError(
                f"--proxy must be an address like 10.0.0.5 or a network like 10.0.0.0/24, got "
                f"{quote(given)}"
            ) from None
        if network.prefixlen == 0:
            raise InputError(
                f"--proxy {given} would believe everybody who claims to be a proxy: name the "
                "address of yours"
            )


def _allow_files() -> None:
    """Allow as many open files as there may be connections, if the system lets us."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


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
