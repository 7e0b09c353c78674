"""Clients that keep the server waiting: they wait for no one, and no one waits for them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import pytest
import uvicorn

from psips.web.server import settings
from web.conftest import Served

GET = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HALF = b"GET /healthz HTTP/1.1\r\nHost: 127"


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def connect(url: str, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port_of(url)), 10, (source, 0))


def answered(connection: socket.socket) -> bool:
    """Read an answer to its end; whether it is a good one."""
    got = b""
    while not got.endswith((b"fine", b"}")):
        part = connection.recv(10_000)
        assert part
        got += part
    return b" 200 " in got


def is_closed(connection: socket.socket, wait: float = 0.0) -> bool:
    """Whether the server has ended a connection, within some seconds."""
    connection.settimeout(max(wait, 0.001))
    try:
        return connection.recv(100_000) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@contextlib.contextmanager
def serving(app: Any, proxies: Sequence[str] = ()) -> Iterator[str]:
    """Serve any application as a store is served."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        server = uvicorn.Server(settings(app, proxies))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()


async def plain(scope: Any, receive: Any, send: Any) -> None:
    """Answers: at /large with 40 MB, at /slow after seconds, elsewhere at once."""
    if scope["type"] != "http":
        return
    if scope["path"] == "/slow":
        await asyncio.sleep(4)
    body = b"x" * 40_000_000 if scope["path"] == "/large" else b"fine"
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def files() -> None:
    resource = pytest.importorskip("resource")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 3000:
        pytest.skip("this machine does not allow 3,000 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (3000, hard))


@pytest.mark.usefixtures("files")
def test_a_thousand_half_requests_on_kept_connections(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From one address: everyone else is answered, of this address too, at every moment."""
    monkeypatch.setattr("psips.web.connections.HEAD_TIME", 5.0, raising=False)
    with contextlib.ExitStack() as kept, served.caller("viewer") as http:
        connections = []
        for n in range(1000):
            one = kept.enter_context(connect(served.url))
            one.sendall(GET)
            assert answered(one)
            one.sendall(HALF)
            connections.append(one)
            if n % 250 == 249:
                assert httpx.get(f"{served.url}/healthz", timeout=5).status_code == 200
                assert http.get(served.api, timeout=5).status_code == 200
        assert sum(not is_closed(one) for one in connections) <= 200
        until = time.monotonic() + 10
        while time.monotonic() < until and not all(map(is_closed, connections)):
            time.sleep(0.2)
        assert all(map(is_closed, connections))
        assert http.get(served.api, timeout=5).status_code == 200


@pytest.mark.parametrize("pipelined", [False, True])
def test_every_head_has_its_time(pipelined: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slowly it takes no longer."""
    monkeypatch.setattr("psips.web.connections.HEAD_TIME", 1.0, raising=False)
    with serving(plain) as url, connect(url) as one:
        if pipelined:
            one.sendall(GET + HALF)
            assert answered(one)
        else:
            for _ in range(3):  # in time
                one.sendall(GET)
                assert answered(one)
                time.sleep(0.5)
            one.sendall(HALF)
        began = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() < began + 5 and not is_closed(one, 0.1):
                one.sendall(b"7")
        assert time.monotonic() - began < 4


def test_a_kept_connection_may_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psips.web.connections.HEAD_TIME", 0.5)
    with serving(plain) as url, connect(url) as one:
        for _ in range(2):
            one.sendall(GET)
            assert answered(one)
            assert not is_closed(one, 1.5)


def test_an_unread_body_does_not_block_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the answer the client goes on sending, byte by byte."""
    monkeypatch.setattr("psips.web.connections.REST_TIME", 1.0, raising=False)
    with serving(plain) as url, connect(url) as one:
        one.sendall(
            b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\nbegun"
        )
        assert answered(one)
        began = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() < began + 5 and not is_closed(one, 0.1):
                one.sendall(b"7")
        assert time.monotonic() - began < 4


def test_an_answer_that_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads slowly is served, who does not read is cut off."""
    monkeypatch.setattr("psips.web.connections.STALL_TIME", 1.0, raising=False)
    ask = b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

    def received(one: socket.socket, pause: float) -> int:
        total = 0
        with contextlib.suppress(OSError):
            one.settimeout(3)
            while part := one.recv(2_000_000):
                total += len(part)
                time.sleep(pause)
        return total

    with serving(plain) as url, connect(url) as slow, connect(url) as stuck:
        slow.sendall(ask)
        assert received(slow, 0.1) > 40_000_000
        stuck.sendall(ask)
        time.sleep(4)
        assert received(stuck, 0.0) < 40_000_000


def answer(url: str, path: str, source: str) -> int:
    with httpx.Client(transport=httpx.HTTPTransport(local_address=source)) as http:
        return http.get(f"{url}{path}", timeout=10).status_code


@pytest.mark.parametrize("proxies", [[], ["127.0.0.2"]])
def test_connections_that_are_all_being_answered(
    proxies: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more of the same address is turned away; its health is told, others are served."""
    monkeypatch.setattr("psips.web.connections.OF_AN_ADDRESS", 5)
    slow = b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with serving(plain, proxies) as url, contextlib.ExitStack() as kept:
        busy = [kept.enter_context(connect(url, "127.0.0.2")) for _ in range(5)]
        for one in busy:
            one.sendall(slow)
        time.sleep(0.5)
        assert answer(url, "/", "127.0.0.2") == (200 if proxies else 503)
        assert answer(url, "/healthz", "127.0.0.2") == 200
        assert answer(url, "/", "127.0.0.3") == 200
        for one in busy:
            assert answered(one)
        assert answer(url, "/", "127.0.0.2") == 200


def test_connections_of_many_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Altogether there is a bound too: the longest idle one makes room."""
    monkeypatch.setattr("psips.web.connections.CONNECTIONS", 10)
    with serving(plain) as url, contextlib.ExitStack() as kept:
        idle = [kept.enter_context(connect(url, f"127.0.0.{n}")) for n in range(2, 12)]
        time.sleep(0.3)
        assert answer(url, "/", "127.0.0.1") == 200
        assert [is_closed(one) for one in idle] == [True, *[False] * 9]


def test_health_is_told_while_every_thread_is_busy(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests that wait for a study, as many as are worked on at once, do not hold it up."""
    release = threading.Event()
    monkeypatch.setattr(
        "psips.web.study_cache.CachedStudy.last", lambda self: release.wait(30) and 1
    )
    with contextlib.ExitStack() as kept:
        token = served.tokens["viewer"]
        path = served.api.removeprefix(served.url)
        head = f"GET {path}/changes HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        for _ in range(70):
            one = kept.enter_context(connect(served.url))
            one.sendall(f"{head}Authorization: Bearer {token}\r\n\r\n".encode())
        time.sleep(1)
        try:
            assert httpx.get(f"{served.url}/healthz", timeout=5).status_code == 200
        finally:
            release.set()


@pytest.mark.parametrize("kind", ["x-www-form-urlencoded", "json"])
def test_a_client_that_leaves_in_the_middle_of_a_body_is_no_failure_of_ours(
    served: Served, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    """Anyone can do that without a token: one line in the log, and no traceback."""
    caplog.set_level(logging.INFO, "psips.web")
    path = "/sign-in" if kind != "json" else served.api.removeprefix(served.url) + "/ask"
    token = served.tokens["recorder"]
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/{kind}\r\nContent-Length: 100\r\n\r\ntoken="
    )
    with connect(served.url) as one:
        one.sendall(head.encode())
        time.sleep(0.3)
    until = time.monotonic() + 10
    while time.monotonic() < until and not any(path in r.getMessage() for r in caplog.records):
        time.sleep(0.05)
    (line,) = [r for r in caplog.records if path in r.getMessage()]
    assert " 400 " in line.getMessage()
    assert [r for r in caplog.records if r.levelno >= logging.ERROR or r.exc_info] == []
