"""Processes that are killed while they write, and processes that write at the same time.

PSIPS_KILLS and PSIPS_OPERATIONS make the runs longer.
"""

from __future__ import annotations

import os
import random
import signal
import time

from psips.store import open_store
from psips.study import Study
from store.nursery import Nursery, nursery, problem, step

KILLS = {"sqlite": 200, "postgresql": 40}
OPERATIONS = 200


def kill_one(writers: Nursery, url: str, rng: random.Random) -> list[tuple[int, str]]:
    """Start a writer, kill it after a while, and return what it was told is recorded."""
    writers.start((url, "crashed", "killed"))
    word, pid = writers.read()
    assert word == "born"
    if rng.random() < 0.9:
        first = writers.read()
        assert first == ["open"], " ".join(first)
        time.sleep(rng.uniform(0.0, 0.06))
    else:
        time.sleep(rng.uniform(0.0, 0.1))  # while it opens the study, perhaps
    os.kill(int(pid), signal.SIGKILL)
    kept = []
    while (line := writers.read())[0] != "gone":
        assert line[0] in ("open", "kept"), line
        if line[0] == "kept":
            kept.append((int(line[1]), line[2]))
    return kept


def test_killed_writers_lose_nothing(url: str) -> None:
    kills = int(os.environ.get("PSIPS_KILLS", KILLS[url.split(":")[0].split("+")[0]]))
    rng = random.Random(1)
    Study.create(problem(), url, name="crashed", seed=5).store.close()
    acknowledged: dict[int, str] = {}
    useful = 0
    with nursery() as writers:
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
    assert [(e.kind, e.payload) for e in mine] == [(e.kind, e.payload) for e in theirs]
    assert survivor.state.session.snapshot() == twin.state.session.snapshot()
    for _ in range(5):
        assert [t.arm for t in survivor.ask(3)] == [t.arm for t in twin.ask(3)]
        step(survivor)
        step(twin)
    print(f"{kills} kills, {useful} of them of writers at work, {len(log)} events")
    survivor.store.close()


def test_two_writers_at_once(url: str) -> None:
    operations = int(os.environ.get("PSIPS_OPERATIONS", OPERATIONS))
    Study.create(problem(), url, name="shared", seed=5).store.close()
    tickets: list[str] = []
    done = []
    start = time.perf_counter()
    with nursery() as writers:
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
    assert len(study.results) == operations
    assert study.verify().problems == ()
    with study.store.engine.begin() as connection:  # type: ignore[attr-defined]
        connection.exec_driver_sql("DELETE FROM snapshots")
    replayed = Study.open("shared", study.store)
    assert replayed.state.snapshot() == study.state.snapshot()
    assert [t.arm for t in replayed.ask(4)] == [t.arm for t in study.tickets[-4:]]
    study.store.close()
