"""Runs on a Dask cluster come to the same as in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from psips.cli import main
from psips.errors import InputError
from psips.lab.instances import instance
from psips.simulation import simulate_many
from psips.simulation.cluster import on_dask

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    options: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with distributed.LocalCluster(**options, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str
) -> dict[str, Any]:
    monkeypatch.setattr(sys, "argv", ["psips", *words, "--json"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_same_runs(address: str) -> None:
    made = instance("correlated")
    here = simulate_many(made, runs=6, seed=3, max_results=3000)
    seen: list[int] = []
    with on_dask(address):
        there = simulate_many(
            made,
            runs=6,
            seed=3,
            max_results=3000,
            progress=lambda run: seen.append(run.results),
        )
    assert [one.results for one in there.each] == [one.results for one in here.each]
    assert [one.candidate_set for one in there.each] == [one.candidate_set for one in here.each]
    assert sorted(seen) == sorted(one.results for one in here.each)


def test_commands_give_the_runs_of_simulate(
    address: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["simulate", "correlated", "--runs", "3", "--max-samples", "2000"]
    here = run(capsys, monkeypatch, *words)
    assert (
        run(capsys, monkeypatch, *words, "--dask", address)["mean_pulls"] == here["mean_pulls"]
    )
    design = tmp_path / "d.toml"
    design.write_text(
        'arms = ["A", "B"]\nobjectives = [{name = "x", variance = 1.0}]\n'
        "[guess]\nA = [[0.0, 0.5]]\nB = [2.0]\n"
    )
    words = ["plan", str(design), "--runs", "3", "--delta", "0.2"]
    here = run(capsys, monkeypatch, *words)
    assert run(capsys, monkeypatch, *words, "--dask", address) == here
    rows = []
    for name, more in (("a", []), ("b", ["--dask", address])):
        out = str(tmp_path / f"{name}.csv")
        asked = ["calibrate", "--runs", "2", "--rule", "bayes", "--family", "rho = 0.9"]
        monkeypatch.setattr(
            sys, "argv", ["psips", *asked, "--delta", "0.1", "--out", out, *more]
        )
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0
        capsys.readouterr()
        rows.append(Path(out).read_text())
    assert rows[0] == rows[1]


def test_no_worker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psips.simulation.cluster.SCHEDULER_TIMEOUT", 1.0)
    with pytest.raises(InputError, match="no Dask scheduler answers"), on_dask("tcp://[::1]:1"):
        pass
