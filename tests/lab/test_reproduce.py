"""Figures: each writes its files and statements; the page is written from them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from psips.cli import app
from psips.errors import InputError
from psips.lab.cells import Cell
from psips.lab.reproduction import reproduce, trajectories
from psips.lab.reproduction.contenders import LOOKS
from psips.lab.reproduction.figure import (
    FAILS,
    HOLDS,
    OPEN,
    Row,
    claim_errors,
    claim_samples,
    mean,
    ratio,
    table,
)
from psips.lab.reproduction.reproduce import FIGURES, Reproduction, chosen
from psips.lab.reproduction.results import write_page
from psips.rules import SAMPLING

KINDS = ("png", "pdf", "csv", "txt")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The same figures with runs of a moment; what is drawn of them, by name."""
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(trajectories, "ROUNDS", 500)
    monkeypatch.setattr(trajectories, "REJECTION_ROUNDS", 300)
    monkeypatch.setattr(trajectories, "ERROR_ROUNDS", 200)
    monkeypatch.setattr(trajectories, "RATE_ROUNDS", {"correlated": 400, "cov-boost": 400})

    def shrunk(figure: Any) -> Any:
        def rows(_: int) -> list[Row]:
            short = [row for row in figure.rows(2) if row.cell.run < 2]
            return [row._replace(cell=replace(row.cell, max_results=200)) for row in short]

        def draw(frame: pd.DataFrame) -> Any:
            drawn[figure.name] = figure.draw(frame)
            return drawn[figure.name]

        return replace(figure, rows=rows, draw=draw)

    few = {name: shrunk(figure) for name, figure in FIGURES.items()}
    monkeypatch.setattr(reproduce, "FIGURES", few)
    return drawn


def test_every_figure_and_the_page(small: dict[str, Any], tmp_path: Path) -> None:
    work = Reproduction([], tmp_path, runs=2)
    assert work.campaign.run(jobs=1) == []
    claims = work.write()
    assert list(claims) == list(FIGURES)
    for name in FIGURES:
        axes = small[name].axes
        assert all(ax.get_xlabel() for ax in axes), name
        marks = [label.get_text() for label in axes[0].get_yticklabels()]
        assert axes[0].get_ylabel() or all(mark[0].isalpha() for mark in marks), name
        for kind in KINDS:
            assert (tmp_path / f"{name}.{kind}").stat().st_size > 0, (name, kind)
        lines = (tmp_path / f"{name}.txt").read_text().splitlines()
        assert all(line.startswith((HOLDS, FAILS, OPEN)) for line in lines)
        assert "seconds" not in pd.read_csv(tmp_path / f"{name}.csv")
        assert "seconds" in pd.read_csv(tmp_path / f"{name}-timings.csv")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.suffix != ".sqlite"}
    again = Reproduction(["random", "error"], tmp_path, runs=2)
    assert again.campaign.missing() == []
    again.write()
    for name, content in before.items():
        if not name.endswith(("-wal", "-shm")):
            assert (tmp_path / name).read_bytes() == content, name
    page = tmp_path / "docs" / "results.md"
    write_page(tmp_path, page)
    text = page.read_text()
    for name, figure in FIGURES.items():
        assert f"## {figure.title}" in text
        assert (page.parent / "figures" / f"{name}.png").exists()
    assert " nan" not in text


def test_every_rule_has_a_look_of_its_own() -> None:
    assert set(SAMPLING) <= set(LOOKS)
    for part in zip(*LOOKS.values(), strict=True):
        assert len(set(part)) == len(LOOKS)


def test_choosing() -> None:
    assert [figure.name for figure in chosen(["noc", "cov-boost"])] == ["cov-boost", "noc"]
    with pytest.raises(InputError, match="did you mean 'cov-boost'"):
        chosen(["cov-bost"])
    assert [FIGURES[name].runs(500) for name in ("cov-boost", "random", "error")] == [
        500,
        250,
        1000,
    ]


def frame_of(samples: dict[str, list[int]], wrong: int = 0) -> pd.DataFrame:
    rows, outcomes = [], []
    for rule, each in samples.items():
        for run, value in enumerate(each):
            cell = Cell("correlated", {"delta": 0.1}, run)
            rows.append(Row("p", rule, "own", math.nan, cell))
            outcomes.append(
                {"samples": value, "stopped": True, "correct": run >= wrong, "seconds": 0.1}
            )
    return table(rows, outcomes)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [([10, 11, 12, 13], HOLDS), ([40, 41, 42, 43], FAILS), ([5, 40, 10, 30], OPEN)],
)
def test_verdicts(ours: list[int], verdict: str) -> None:
    frame = frame_of({"directed": ours, "posterior": [20, 21, 20, 22]})
    (claim,) = claim_samples(frame, "fewer", "directed", "posterior")
    assert claim.verdict == verdict
    assert str(claim).startswith(f"{verdict}: fewer (p: ratio of mean samples ")
    assert claim_samples(frame, "fewer", "directed", "ape") == []


def test_too_many_errors_are_seen() -> None:
    fine = frame_of({"directed": [10] * 100}, wrong=1)
    assert claim_errors(fine).verdict == HOLDS
    unclear = frame_of({"directed": [10] * 100}, wrong=10)
    assert claim_errors(unclear).verdict == OPEN
    bad = frame_of({"directed": [10] * 100}, wrong=25)
    assert claim_errors(bad).verdict == FAILS
    assert "25 of 100" in claim_errors(bad).numbers


def test_intervals_cover() -> None:
    rng = np.random.default_rng(1)
    covered = [0, 0]
    for _ in range(1000):
        b = rng.normal(10, 1, 60)
        a = 2 * b + rng.normal(0, 1, 60)
        for k, found in enumerate((mean(b), ratio(a, b))):
            covered[k] += found.low <= (10, 2)[k] <= found.high
    assert all(920 <= hits <= 975 for hits in covered)


def test_command_line(tmp_path: Path) -> None:
    run = CliRunner()
    listed = run.invoke(app, ["lab", "reproduce", "--list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in FIGURES)
    out = str(tmp_path / "out")
    done = run.invoke(
        app, ["lab", "reproduce", "correlation", "--runs", "2", "--out", out, "--jobs", "1"]
    )
    assert done.exit_code == 0, done.output
    assert "errors stay within delta" in done.output
    page = tmp_path / "page.md"
    assert run.invoke(app, ["lab", "results", out, "--out", str(page)]).exit_code == 0
    assert "psips lab reproduce correlation --runs 2 --seed 0" in page.read_text()
    with pytest.raises(InputError, match=r"has no reproduce\.json"):
        write_page(tmp_path, page)
