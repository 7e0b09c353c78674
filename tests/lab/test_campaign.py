"""Campaigns: the same files whoever computes them, whatever dies on the way."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import psips.simulation.runs
from psips.errors import InputError
from psips.lab import cells as cells_module
from psips.lab.campaign import ATTEMPTS, Campaign
from psips.lab.cells import Cell, perform, seed_of
from psips.lab.reproduction.figure import Row, table
from psips.simulation.summary import simulate_many

SAMPLING = ("directed", "round-robin", "oracle")


def some_cells(runs: int = 6, delta: float = 0.1) -> list[Cell]:
    plain = [
        Cell("correlated", {"delta": delta, "sampling": name}, run, {"rho": -0.9})
        for name in SAMPLING
        for run in range(runs)
    ]
    return [*plain, Cell("rotated", {"delta": delta}, 1, marks=(20, 60), posterior=True)]


def exported(campaign: Campaign, cells: Sequence[Cell]) -> bytes:
    """The file of every run, without the times."""
    rows = [Row("", str(cell.rules.get("sampling")), "", 0.0, cell) for cell in cells]
    frame = table(rows, campaign.outcomes())
    assert len(frame) == len(cells) + sum(max(0, len(c.marks) - 1) for c in cells)
    return bytes(frame.drop(columns="seconds").to_csv(index=False), "utf-8")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    cells = some_cells()
    campaign = Campaign(cells, tmp_path_factory.mktemp("one") / "c.sqlite", seed=3)
    assert campaign.run(jobs=1) == []
    return exported(campaign, cells)


def test_two_workers_give_the_same_file(expected: bytes, tmp_path: Path) -> None:
    campaign = Campaign(some_cells(), tmp_path / "c.sqlite", seed=3)
    assert campaign.run(jobs=2) == []
    assert exported(campaign, some_cells()) == expected


def test_dask_gives_the_same_file(expected: bytes, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with distributed.LocalCluster(**options, dashboard_address=None) as cluster:
        by_address = Campaign(some_cells(), tmp_path / "address.sqlite", seed=3)
        assert by_address.run(dask=cluster.scheduler_address) == []
        assert exported(by_address, some_cells()) == expected
        with distributed.Client(cluster):
            in_scope = Campaign(some_cells(), tmp_path / "scope.sqlite", seed=3)
            in_scope.run()
            assert exported(in_scope, some_cells()) == expected


def test_seeds_that_depend_on_the_order_are_caught(
    expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter(range(1000))
    monkeypatch.setattr(cells_module, "seed_of", lambda seed, run: seed_of(seed, next(calls)))
    campaign = Campaign(some_cells(), tmp_path / "c.sqlite", seed=3)
    campaign.run(jobs=1)
    assert exported(campaign, some_cells()) != expected


def noise_keys(monkeypatch: pytest.MonkeyPatch, cells: Sequence[Cell]) -> list[list[int]]:
    """Keys of the noise that the cells' runs meet."""
    seen: list[list[int]] = []
    play = psips.simulation.runs.play

    def watched(session: Any, environment: Any, key: Any, **more: Any) -> Any:
        seen.append(key.tolist())
        return play(session, environment, key, **more)

    monkeypatch.setattr(psips.simulation.runs, "play", watched)
    for cell in cells:
        perform(cell, 3)
    return seen


def test_rules_and_deltas_meet_the_same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [
        Cell("correlated", {"delta": delta, "sampling": name}, run)
        for run in (0, 1)
        for delta in (0.1, 0.01)
        for name in SAMPLING
    ]
    keys = noise_keys(monkeypatch, cells)
    first, second = keys[:6], keys[6:]
    assert all(key == first[0] for key in first)
    assert all(key == second[0] for key in second)
    assert first[0] != second[0]


def test_noise_that_depends_on_the_rule_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    current = [""]
    broken = lambda seed, run: seed_of(seed, run + len(current[0]))  # noqa: E731
    monkeypatch.setattr(cells_module, "seed_of", broken)
    keys = []
    for name in SAMPLING[:2]:
        current[0] = name
        keys += noise_keys(
            monkeypatch, [Cell("correlated", {"delta": 0.1, "sampling": name}, 0)]
        )
    assert keys[0] != keys[-1]


def test_runs_are_those_of_simulate(expected: bytes) -> None:
    from psips.lab.instances import instance

    summary = simulate_many(instance("correlated", rho=-0.9), runs=6, seed=3, delta=0.1)
    column = [float(line.split(b",")[6]) for line in expected.splitlines()[1:7]]
    assert column == summary.samples.tolist()


SCRIPT = """
import sys
sys.path[:0] = {path!r}
from lab.test_campaign import some_cells
from psips.lab.campaign import Campaign
if __name__ == "__main__":
    Campaign(some_cells(40, 0.001), sys.argv[1], seed=3).run(jobs=2)
"""


def saved(path: Path) -> int:
    try:
        with sqlite3.connect(path) as db:
            return int(db.execute("SELECT COUNT(*) FROM runs").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_a_killed_campaign_goes_on(tmp_path: Path) -> None:
    cells = some_cells(40, 0.001)
    whole = Campaign(cells, tmp_path / "whole.sqlite", seed=3)
    whole.run(jobs=1)
    path = tmp_path / "killed.sqlite"
    code = SCRIPT.format(path=[str(Path(__file__).parents[1])])
    (tmp_path / "go.py").write_text(code)
    process = subprocess.Popen([sys.executable, str(tmp_path / "go.py"), str(path)])
    end = time.monotonic() + 120
    while saved(path) < 10 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    had = saved(path)
    assert 10 <= had < len(cells)
    again = Campaign(cells, path, seed=3)
    done: list[int] = []
    again.run(jobs=2, progress=lambda: done.append(1))
    assert len(done) == len(cells) - had  # nothing is computed twice
    assert exported(again, cells) == exported(whole, cells)
    again.run(jobs=2, progress=lambda: done.append(1))
    assert len(done) == len(cells) - had


def test_a_killed_worker_costs_its_own_run_only(tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    cells = some_cells(40, 0.001)
    whole = Campaign(cells, tmp_path / "whole.sqlite", seed=3)
    whole.run(jobs=1)
    killed: list[int] = []
    done: list[int] = []

    def kill_one() -> None:
        done.append(1)
        if len(done) in (5, 20):
            workers = [
                child
                for child in psutil.Process().children()
                if child.status() != psutil.STATUS_ZOMBIE
                and any("popen_loky" in word for word in child.cmdline())
            ]
            victim = workers[len(killed) % len(workers)]
            victim.kill()
            killed.append(victim.pid)

    campaign = Campaign(cells, tmp_path / "c.sqlite", seed=3)
    assert campaign.run(jobs=2, progress=kill_one) == []
    assert len(killed) == 2
    assert len(done) == len(cells)
    assert exported(campaign, cells) == exported(whole, cells)


class Deadly(dict[str, Any]):
    """Parameters that end whoever unpickles them."""

    def __reduce__(self) -> Any:
        return os._exit, (1,)


def test_a_run_that_always_kills_is_left_out(tmp_path: Path) -> None:
    assert ATTEMPTS == 3
    good = some_cells(2)
    cells = [*good, Cell("correlated", {"delta": 0.1}, 0, Deadly(rho=0.0))]
    campaign = Campaign(cells, tmp_path / "c.sqlite")
    lost = campaign.run(jobs=2)
    assert lost == [cells[-1]]
    outcomes = campaign.outcomes()
    assert outcomes[-1] is None
    assert all(outcome is not None for outcome in outcomes[:-1])


def test_what_decides_a_run_is_in_its_key() -> None:
    cell = Cell("correlated", {"delta": 0.1}, 0)
    others = [
        Cell("rotated", {"delta": 0.1}, 0),
        Cell("correlated", {"delta": 0.2}, 0),
        Cell("correlated", {"delta": 0.1}, 1),
        Cell("correlated", {"delta": 0.1}, 0, {"rho": 0.5}),
        Cell("correlated", {"delta": 0.1}, 0, max_results=10),
        Cell("correlated", {"delta": 0.1}, 0, marks=(10,)),
    ]
    assert len({one.key(0) for one in [cell, *others]} | {cell.key(1)}) == 8
    assert cell.key(0) == Cell("correlated", {"delta": 0.1, "sampling": "directed"}, 0).key(0)


def test_refusals(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database " * 100)
    with pytest.raises(InputError, match="cannot be the file of a campaign"):
        Campaign([], tmp_path / "text")
    campaign = Campaign(some_cells(1), tmp_path / "c.sqlite")
    with pytest.raises(InputError, match="jobs must be at least 1"):
        campaign.run(jobs=0)


def test_a_run_observed_at_marks_is_the_run_itself() -> None:
    stopped = perform(Cell("rotated", {"delta": 0.1}, 5), 0)
    marks = tuple(np.linspace(10, stopped["samples"] + 50, 7).astype(int).tolist())
    observed = perform(Cell("rotated", {"delta": 0.1}, 5, marks=marks), 0)
    assert observed["samples"] == stopped["samples"]
    assert [seen["t"] for seen in observed["trace"]] == list(marks)
