"""Designs side by side."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from psips import plots
from psips.errors import InputError
from psips.problem.problem_file import read_problem_file
from psips.simulation.comparing import compare, read_designs
from psips.simulation.planning import plan

TEXT = """
arms = ["A", "B", "C"]
objectives = [{name = "x", variance = 1.0}, {name = "y", variance = 1.0}]
%s
[guess]
A = [1.0, 0.0]
B = [0.0, 1.0]
C = [-0.5, -0.5]
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    plain, dear = tmp_path / "plain.toml", tmp_path / "dear.toml"
    plain.write_text(TEXT % "delta = 0.1")
    dear.write_text(TEXT % "costs = {B = 10.0}")
    return plain, dear


def test_every_combination(files: tuple[Path, Path]) -> None:
    read = [read_problem_file(path) for path in files]
    designs = read_designs(read, ["delta=0.05,0.2", "stopping=glr,certified"])
    assert [one.name for one in designs][:2] == [
        "plain, delta 0.05, stopping glr",
        "plain, delta 0.05, stopping certified",
    ]
    assert len(designs) == 8
    assert designs[1].rules.stopping == "certified"
    (alone,) = read_designs(read[:1], ["budget=30"])
    assert (alone.name, alone.budget) == ("budget 30", 30.0)
    (rival,) = read_designs(read[:1], ["sampling=ape"])
    assert rival.rules.stopping == "ape"
    (goal,) = read_designs(read[:1], ["goal=1 optimal"])
    assert goal.rules.stopping == "certified"


@pytest.mark.parametrize(
    ("vary", "text"),
    [
        (["delta"], "must be key=value,value, got 'delta'"),
        (["delat=0.1"], "unknown key to vary 'delat': did you mean 'delta'"),
        (["delta=0.1", "delta=0.2"], "'delta' is varied twice"),
        (["delta=low"], "the value of 'delta' must be a number, got 'low'"),
        (["delta=2"], "expected a number between 0 and 1, got 2"),
        (["budget=1"], "the budget must cover the first results"),
        (["goal=9 optimal"], "expected 1 to 3"),
        (["sampling=best"], "unknown sampling rule 'best'"),
        (["kappa=" + ",".join(map(str, range(1, 60)))], "at most 50 designs are compared"),
    ],
)
def test_refused(files: tuple[Path, Path], vary: list[str], text: str) -> None:
    with pytest.raises(InputError, match=text):
        read_designs([read_problem_file(files[0])], vary)


def test_figures_are_those_of_a_plan(files: tuple[Path, Path]) -> None:
    file = read_problem_file(files[0])
    seen: list[str] = []
    found = compare(
        read_designs([file], ["delta=0.1,0.3"]), runs=30, seed=3, progress=seen.append
    )
    assert seen == ["delta 0.1"] * 30 + ["delta 0.3"] * 30
    strict, loose = found.designs
    assert loose.samples < strict.samples
    planned = plan(file, deltas=(0.3,), runs=30, seed=3).forecasts
    assert [one.mean for one in planned] == [loose.samples, strict.samples]
    assert [one.errors for one in planned] == [loose.errors, strict.errors]
    low, high = strict.samples_interval
    assert low < strict.samples < high
    assert not found.has_costs
    assert strict.cost == strict.samples


def test_the_seed_is_0_if_left_out(files: tuple[Path, Path]) -> None:
    designs = read_designs([read_problem_file(path) for path in files], [])
    left, same, other = (
        [one.samples for one in compare(designs, runs=5, **seed).designs]
        for seed in ({}, {"seed": 0}, {"seed": 1})
    )
    assert left == same != other


def test_costs_and_budgets(files: tuple[Path, Path]) -> None:
    read = [read_problem_file(path) for path in files]
    found = compare(read_designs(read, ["budget=12,400"]), runs=10)
    by_name = {one.name: one for one in found.designs}
    assert found.has_costs
    assert by_name["plain, budget 12"].samples <= 12
    assert by_name["plain, budget 12"].stopped < 10
    assert by_name["dear, budget 400"].cost <= 400
    assert by_name["dear, budget 400"].cost > by_name["dear, budget 400"].samples
    figure = plots.comparison(found)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == [one.name for one in found.designs]
    assert np.isfinite(figure.axes[1].get_xlim()).all()
    figure.draw_without_rendering()
    legends = [ax.get_legend().get_window_extent() for ax in figure.axes]
    labels = [ax.xaxis.label.get_window_extent() for ax in figure.axes]
    assert legends[0].y1 == pytest.approx(legends[1].y1)  # side by side, below both axes
    assert legends[0].y1 < min(label.y0 for label in labels)
    assert min(legend.y0 for legend in legends) >= 0.0


def test_command(files: tuple[Path, Path], tmp_path: Path) -> None:
    plot = tmp_path / "c.png"
    command = [sys.executable, "-m", "psips", "plan", *map(str, files), "--runs", "5"]
    done = subprocess.run(
        [*command, "--json", "--plot", str(plot)], capture_output=True, text=True, check=True
    )
    assert [one["name"] for one in json.loads(done.stdout)["designs"]] == ["plain", "dear"]
    assert plot.stat().st_size > 5000
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "cost (95%)" in table
    bad = subprocess.run([*command, "--delta", "0.1"], capture_output=True, text=True)
    assert bad.returncode == 2
    assert "to compare designs, vary delta" in bad.stderr
