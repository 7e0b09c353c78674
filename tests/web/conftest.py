"""A server in a thread of its own, on a store in a file, with a token for each role."""

from __future__ import annotations

import socket
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from psips.problem import Problem
from psips.store import open_store
from psips.store.tokens import Tokens
from psips.study import Study
from psips.web.addresses import slug
from psips.web.app import make_app
from psips.web.server import settings

NAME = "trial 1"
PROBLEM = Problem(
    objectives={"efficacy": "max", "toxicity": "min"},
    covariance=[1.0, 0.25],
    arms=["A", "B", "C", "D"],
)
MEANS = {"A": (5.0, 2.0), "B": (4.0, 1.0), "C": (3.0, 4.0), "D": (8.0, 5.0)}


class Browser(httpx.Client):
    """A browser, which asks again while a study is being read, as the page says that it does.

    On a slow or busy machine that takes longer than a page waits.
    """

    def get(self, *where: Any, **how: Any) -> httpx.Response:
        """Open a page; of a study the one with the study."""
        end = time.monotonic() + 60
        while "of this study is being read" in (answer := super().get(*where, **how)).text:
            assert time.monotonic() < end
            time.sleep(0.1)
        return answer


@dataclass
class Served:
    """A running server."""

    url: str
    store: str
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def api(self) -> str:
        return f"{self.url}/api/v1/studies/{slug(NAME)}"

    @property
    def page(self) -> str:
        return f"{self.url}/studies/{slug(NAME)}"

    def caller(self, role: str | None = None) -> httpx.Client:
        """A program with the token of a role."""
        headers = {"authorization": f"Bearer {self.tokens[role]}"} if role else {}
        return httpx.Client(headers=headers, timeout=30)

    @contextmanager
    def visitor(self, role: str | None = None) -> Iterator[httpx.Client]:
        """A browser, signed in with the token of a role."""
        with Browser(base_url=self.url, timeout=30) as client:
            if role:
                token = form_token(client.get("/sign-in").text)
                sent = {"token": self.tokens[role], "form_token": token}
                assert client.post("/sign-in", data=sent).status_code == 303
            yield client

    def dump(self) -> list[str]:
        """Everything in the store, as text; visits, which come with sign-ins, left out."""
        with sqlite3.connect(self.store.removeprefix("sqlite:///")) as connection:
            return [line for line in connection.iterdump() if "psips_sign_ins" not in line]

    def events(self) -> list[Any]:
        with open_store(self.store) as store:
            return store.read(NAME)


def form_token(html: str) -> str:
    """The token that the forms of a page carry."""
    return html.split('name="form_token" value="')[1].split('"')[0]


@contextmanager
def running(store: str, proxies: Sequence[str] = (), api_docs: str = "open") -> Iterator[str]:
    """Serve a store from a thread; yield the URL."""
    with open_store(store) as opened, socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(settings(make_app(opened, api_docs), proxies))
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


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with a study."""
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    Study.create(PROBLEM, url, name=NAME, seed=1).store.close()
    return url


@pytest.fixture
def alone(url: str) -> Iterator[Served]:
    """A server without tokens."""
    with running(url) as where:
        yield Served(where, url)


@pytest.fixture
def served(url: str) -> Iterator[Served]:
    """A server with a token for each role."""
    with open_store(url) as store:
        tokens = Tokens(store)
        made = {role: tokens.add(f"{role} one", role) for role in ROLES}
    with running(url) as where:
        yield Served(where, url, made)


ROLES = ("viewer", "recorder", "owner")
