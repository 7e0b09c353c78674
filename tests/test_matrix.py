"""Tables of scores, replayed as if they were being measured."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from psips import InputError
from psips.cli import app
from psips.evaluation.matrix import Scores, read_scores, replay

ARMS = [f"m{a}" for a in range(6)]
MEANS = np.array([[0.8, 1.0], [0.75, 2.0], [0.6, 0.5], [0.5, 3.0], [0.3, 2.5], [0.4, 2.0]])
RIGHT = ("m0", "m2")  # accuracy up, seconds down


def table(items: int = 400, seed: int = 1) -> Scores:
    """Accuracies of 0 or 1 and seconds; items differ in how hard and how long they are."""
    rng = np.random.default_rng(seed)
    hard, long = rng.random(items), rng.normal(size=items)
    shift = 0.3 * rng.normal(size=(6, items))
    accuracy = (hard + shift * 0.3 < MEANS[:, :1]).astype(float)
    seconds = MEANS[:, 1:] + 0.6 * long + shift
    return Scores(
        ARMS,
        [f"q{j}" for j in range(items)],
        ["accuracy", "seconds"],
        np.stack([accuracy, seconds], axis=2),
    )


def write_lines(scores: Scores, path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["arm", "item", *scores.metrics])
        for j, item in enumerate(scores.items):
            for a, arm in enumerate(scores.arms):
                cells = ["" if np.isnan(v) else repr(float(v)) for v in scores.values[a, j]]
                writer.writerow([arm, item, *cells])


def write_sheets(scores: Scores, folder) -> list[str]:
    files = []
    for c, metric in enumerate(scores.metrics):
        path = folder / f"{metric}.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["question", *scores.arms])
            for j, item in enumerate(scores.items):
                cells = ["" if np.isnan(v) else repr(float(v)) for v in scores.values[:, j, c]]
                writer.writerow([item, *cells])
        files.append(f"{metric}={path}")
    return files


def with_holes(scores: Scores) -> Scores:
    values = scores.values.copy()
    values[np.random.default_rng(2).random(values.shape) < 0.1] = np.nan
    return scores._replace(values=values)


def test_a_part_of_the_table_is_enough() -> None:
    found = replay(table(), {"seconds": "min"}, seed=3)
    assert found.stopped
    assert found.pareto_set == RIGHT == found.whole
    assert found.cells == len(found.looked_at) == len(set(found.looked_at))
    assert found.cells < 0.5 * found.of == 1200
    assert "the whole table says: the same set" in str(found)


@pytest.mark.parametrize("holes", [False, True])
def test_both_forms_of_file_say_the_same(holes: bool, tmp_path) -> None:
    scores = with_holes(table(60)) if holes else table(60)
    write_lines(scores, tmp_path / "lines.csv")
    lines = read_scores([tmp_path / "lines.csv"])
    sheets = read_scores(write_sheets(scores, tmp_path))
    for read in (lines, sheets):
        assert read.arms == scores.arms
        assert read.items == scores.items
        assert np.array_equal(read.values, scores.values, equal_nan=True)


def test_cells_that_are_not_there_are_never_looked_at() -> None:
    scores = with_holes(table(25))
    found = replay(scores, {"seconds": "min"}, delta=1e-9)
    assert not found.stopped
    assert found.cells == found.of == int(scores.there.sum()) < 150
    there = {
        (arm, item)
        for a, arm in enumerate(scores.arms)
        for j, item in enumerate(scores.items)
        if scores.there[a, j]
    }
    assert set(found.looked_at) == there
    assert "were used without a stop" in str(found)
    assert 0.0 <= found.probability <= 1.0


def test_the_command(tmp_path) -> None:
    write_lines(table(), tmp_path / "s.csv")
    options = ["--objective", "accuracy", "--objective", "seconds=min"]
    cells = tmp_path / "cells.csv"
    done = CliRunner().invoke(
        app, ["matrix", str(tmp_path / "s.csv"), *options, "--json", "--cells", str(cells)]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert tuple(found["pareto_set"]) == RIGHT
    assert len(cells.read_text().splitlines()) == found["cells"] + 1
    files = write_sheets(table(), tmp_path)
    again = CliRunner().invoke(app, ["matrix", *files, "--objective", "seconds=min", "--json"])
    assert json.loads(again.stdout) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arm,item,x\nA,q1,1\nA,q1,2\n", "has a line for item 'q1' already"),
        ("arm,item,x\nA,q1,one\n", "'x'.*one"),
        ("arm,x\nA,1\n", "has no column 'item'"),
        ("arm,item,x\nA,q1,1\nB,q1,2\n", "at least 2 items"),
        ("arm,item,x\nA,q1,1\nB,q1,\nA,q2,1\n", "'B' has no complete cell"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(text: str, words: str, tmp_path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        replay(read_scores([path]))
