"""Processes that are killed while they write, connections that are cut, writers at once.

PSIPS_KILLS, PSIPS_CUTS and PSIPS_OPERATIONS make the runs longer, PSIPS_SEED others of them.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from psips.store import DatabaseStore, Event, StoreError, UnknownOutcomeError, open_store
from psips.study import Study
from store.worker_pool import WorkerPool, problem, step, worker_pool

KILLS = {"sqlite": 200, "postgresql": 40}
OPERATIONS = 200
CUTS = 40


def told(event: Event) -> tuple[str, dict[str, Any]]:
    """An event without what tells one recording of it from another."""
    data = event.payload
    for name in ("key", "by", "id", "request"):
        data.pop(name, None)
    for ticket in data.get("tickets", []):
        if isinstance(ticket, dict):
            ticket["id"] = ticket["id"].rpartition("-")[2]
    for result in data.get("results", []):
        if isinstance(result, dict) and result["ticket"]:
            result["ticket"] = result["ticket"].rpartition("-")[2]
    return event.kind, data


def kill_one(writers: WorkerPool, url: str, rng: random.Random) -> list[tuple[int, str]]:
    """Start a writer, kill it after a while, and return what it was told is recorded."""
    writers.start((url, "crashed", "killed"))
    word, pid = writers.read()
    assert word == "born"
    kept = []
    if rng.random() < 0.9:
        first = writers.read()
        assert first == ["open"], " ".join(first)
        if rng.random() < 0.5:  # however slow the machine is, some are at work
            word, seq, head = writers.read()
            assert word == "kept"
            kept.append((int(seq), head))
        time.sleep(rng.uniform(0.0, 0.06))
    else:
        time.sleep(rng.uniform(0.0, 0.1))  # while it opens the study, perhaps
    os.kill(int(pid), signal.SIGKILL)
    while (line := writers.read())[0] != "gone":
        assert line[0] in ("open", "kept"), line
        if line[0] == "kept":
            kept.append((int(line[1]), line[2]))
    return kept


@pytest.mark.usefixtures("tags")
def test_killed_writers_lose_nothing(url: str) -> None:
    kills = int(os.environ.get("PSIPS_KILLS", KILLS[url.split(":")[0].split("+")[0]]))
    rng = random.Random(int(os.environ.get("PSIPS_SEED", 1)))
    Study.create(problem(), url, name="crashed", seed=5).store.close()
    acknowledged: dict[int, str] = {}
    useful = 0
    with worker_pool() as writers:
        for _ in range(kills):
            kept = kill_one(writers, url, rng)
            useful += bool(kept)
            acknowledged.update(kept)
    with open_store(url) as store:
        log = {event.seq: event.hash for event in store.read("crashed")}
    lost = [seq for seq, hash in acknowledged.items() if log.get(seq) != hash]
    assert lost == []
    assert useful > kills / 4
    survivor = Study.open("crashed", url)
    assert survivor.verify().problems == ()

    twin = Study.create(problem(), "sqlite://", name="crashed", seed=5)
    while twin.state.seq < survivor.state.seq:
        step(twin)
    mine, theirs = survivor.events(), twin.events()
    assert [told(e) for e in mine] == [told(e) for e in theirs]
    assert survivor.state.session.snapshot() == twin.state.session.snapshot()
    assert survivor.state.asker.snapshot() == twin.state.asker.snapshot()
    for _ in range(5):
        assert [t.arm for t in survivor.ask(3)] == [t.arm for t in twin.ask(3)]
        step(survivor)
        step(twin)
    print(f"{kills} kills, {useful} of them of writers at work, {len(log)} events")
    survivor.store.close()


@contextmanager
def cutting(
    store: DatabaseStore, rng: random.Random, pause: float
) -> Iterator[Callable[[], int]]:
    """Cut the connections of a store now and then; give how many were cut so far."""
    cuts, over = [0], threading.Event()
    live: set[Any] = set()
    server = sa.create_engine(store.engine.url) if store.url.startswith("postgres") else None
    if server is None:
        sa.event.listen(store.engine, "connect", lambda raw, _: live.add(raw))
        store.engine.dispose()
    kill = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = "
        "current_database() AND pid <> pg_backend_pid()"
    )

    def cut() -> None:
        while not over.wait(rng.uniform(0.0, pause)):
            if server is None:
                for raw in list(live):
                    raw.interrupt()
                    cuts[0] += 1
            else:
                with server.connect() as connection:
                    cuts[0] += connection.scalar(sa.text(kill)) or 0

    thread = threading.Thread(target=cut)
    thread.start()
    try:
        yield lambda: cuts[0]
    finally:
        over.set()
        thread.join()
        if server is not None:
            server.dispose()


def test_cut_connections_lose_and_double_nothing(url: str) -> None:
    wanted = int(os.environ.get("PSIPS_CUTS", CUTS))
    errors, unknown, number = 0, 0, 0
    study = Study.create(problem(), url, name="cut", seed=5, conduct={"hold": False})
    assert isinstance(study.store, DatabaseStore)
    start = time.perf_counter()
    for _ in range(10):
        number += 1
        study.tell("A", [number / 8, 0.0])
    pause = (time.perf_counter() - start) / 10 * 4
    with cutting(study.store, random.Random(2), pause) as cuts:
        while cuts() < wanted:
            number += 1
            while True:
                try:
                    study.tell("A", [number / 8, 0.0], key=f"result {number}")
                    break
                except StoreError as error:  # as the sentence says: again, with the same key
                    errors += 1
                    unknown += isinstance(error, UnknownOutcomeError)
        done = cuts()
    print(f"{done} cuts, {number} results, {errors} errors, {unknown} of them not known")
    assert [r.values[0] for r in study.told] == [(i + 1) / 8 for i in range(number)]
    assert study.state.seq == 1 + number
    assert study.verify().problems == ()
    study.store.close()


@pytest.mark.usefixtures("tags")
def test_two_writers_at_once(url: str) -> None:
    operations = int(os.environ.get("PSIPS_OPERATIONS", OPERATIONS))
    Study.create(problem(), url, name="shared", seed=5).store.close()
    tickets: list[str] = []
    done = []
    start = time.perf_counter()
    with worker_pool() as writers:
        writers.start(*[(url, "shared", f"{who}:{operations}") for who in ("one", "two")])
        gone = 0
        while gone < 2:
            word, *rest = writers.read()
            assert word in ("born", "ticket", "done", "gone"), (word, rest)
            gone += word == "gone"
            if word == "ticket":
                tickets.append(rest[1])
            elif word == "done":
                done.append((rest[0], float(rest[1])))
    print(f"{done}, {time.perf_counter() - start:.1f} s in all")
    assert sorted(who for who, _ in done) == ["one", "two"]
    assert len(set(tickets)) == len(tickets) == operations
    study = Study.open("shared", url)
    assert study.state.seq == 1 + 2 * operations
    assert len(study.told) == operations
    assert study.verify().problems == ()
    with study.store.engine.begin() as connection:  # type: ignore[attr-defined]
        connection.exec_driver_sql("DELETE FROM snapshots")
    replayed = Study.open("shared", study.store)
    assert replayed.state.snapshot() == study.state.snapshot()
    assert [t.arm for t in replayed.ask(4)] == [t.arm for t in study.tickets[-4:]]
    study.store.close()
