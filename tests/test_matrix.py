"""Tables of scores, replayed as if they were being measured."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from psips import InputError
from psips.cli import app
from psips.evaluation.matrix import replay
from psips.evaluation.scores import Scores, read_scores

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


def with_missing(scores: Scores) -> Scores:
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


@pytest.mark.parametrize("missing", [False, True])
def test_both_forms_of_file_say_the_same(missing: bool, tmp_path) -> None:
    scores = with_missing(table(60)) if missing else table(60)
    write_lines(scores, tmp_path / "lines.csv")
    lines = read_scores([tmp_path / "lines.csv"])
    sheets = read_scores(write_sheets(scores, tmp_path))
    for read in (lines, sheets):
        assert read.arms == scores.arms
        assert read.items == scores.items
        assert np.array_equal(read.values, scores.values, equal_nan=True)


def test_cells_that_are_not_there_are_never_looked_at() -> None:
    scores = with_missing(table(25))
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
        ("item,A,B\nq1,1,2\n", "column of its own, give the file as metric=file"),
        ("arm,item,x\nA,q1,1\nB,q1,2\n", "at least 2 items"),
        ("arm,item,x\nA,q1,1\nB,q1,\nA,q2,1\n", "'B' has no complete cell"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(text: str, words: str, tmp_path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        replay(read_scores([path]))


def test_a_long_table_given_as_that_of_a_metric_is_refused(tmp_path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("arm,x\nA,1\nA,2\n")
    with pytest.raises(InputError, match="one line for each item, and a column for each arm"):
        read_scores([f"x={path}"])


def solver_runs(path, folds: int = 3, cutoff: float = 300.0) -> None:
    """Run times with a cutoff, of two solvers that nearly tie, as benchmarks publish them."""
    rng = np.random.default_rng(3)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["instance", "fold", "algorithm", "runtime", "memory", "runstatus"])
        for j in range(60):
            hard = rng.normal(3, 2)
            for fold in range(folds):
                for solver, slow in {"a": 0.0, "b": 0.3, "c": 0.31, "d": 1.2}.items():
                    seconds = float(np.exp(hard + slow + 0.5 * rng.normal()))
                    memory = float(100 * np.exp(-slow) + 5 * rng.normal())
                    status = "ok" if seconds < cutoff else "timeout"
                    name = f"bench/{j} \U0001f469\u200d\U0001f52c"
                    cells = [repr(min(seconds, cutoff)), repr(memory), status]
                    writer.writerow([name, fold, solver, *cells])


def run_matrix(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["matrix", *words])
    text = str(done.exception) if isinstance(done.exception, InputError) else done.stdout
    return (2 if isinstance(done.exception, InputError) else done.exit_code), text


def test_less_of_a_time_is_better_and_that_is_said(tmp_path) -> None:
    write_lines(table(), tmp_path / "s.csv")
    code, text = run_matrix(str(tmp_path / "s.csv"))
    assert code == 0
    assert "seconds: less is better (guessed by the name)\n" in text
    assert "accuracy: more is better (guessed by the name)\n" in text
    assert "Pareto set: m0, m2\n" in text
    unclear = table()._replace(metrics=["accuracy", "x"])
    write_lines(unclear, tmp_path / "s.csv")
    code, text = run_matrix(str(tmp_path / "s.csv"))
    assert code == 2
    assert "more or less of 'x' is better does not follow from the name" in text
    assert "as in --objective accuracy=max --objective x=max" in text
    with pytest.raises(InputError, match="more or less of 'x'"):
        replay(unclear)


def test_a_table_of_solver_runs(tmp_path) -> None:
    solver_runs(tmp_path / "runs.csv")
    runs = [str(tmp_path / "runs.csv"), "--arm", "algorithm"]
    code, text = run_matrix(*runs, "--item", "instance")
    assert code == 2
    assert "line 6: arm 'a' has a line for item" in text
    assert "line 2: if the lines are repeats" in text
    assert text.endswith("as in --item instance,fold")
    code, text = run_matrix(*runs, "--item", "instance,fold", "--json")
    assert code == 0
    found = json.loads(text)
    assert found["directions"] == {"runtime": "min", "memory": "min"}
    assert found["of"] == 720
    left_out = "runstatus is text: left out (a metric with --map solved=runstatus==ok)"
    assert left_out in found["notes"]
    lines = (tmp_path / "runs.csv").read_text().splitlines()
    (tmp_path / "twice.csv").write_text("\n".join([*lines, lines[1]]) + "\n")
    again = [str(tmp_path / "twice.csv"), "--arm", "algorithm", "--item", "instance,fold"]
    code, text = run_matrix(*again)
    assert code == 2
    assert text.endswith("make it part of the item")  # no column does, so that none is named
    (censored,) = [note for note in found["notes"] if "cutoff" in note]
    assert "are the largest, 300, and look censored" in censored
    assert "the means compared here are too low, most of all that of d" in censored
    assert censored.endswith("let the share below the cutoff be a metric as well")
    assert all(0.0 <= row["probability"] <= 1.0 for row in found["arms"])


def test_a_status_is_a_metric(tmp_path) -> None:
    solver_runs(tmp_path / "runs.csv")
    runs = [str(tmp_path / "runs.csv"), "--arm", "algorithm", "--item", "instance,fold"]
    code, text = run_matrix(*runs, "--map", "solved=runstatus==ok", "--log", "runtime")
    assert code == 0
    assert "solved: more is better (guessed by the name)\n" in text
    assert "runtime: less is better (guessed by the name), logarithms are compared\n" in text
    assert "geometric means of runtime" in " ".join(text.split())
    assert "let the share" not in text
    scores = read_scores(
        [tmp_path / "runs.csv"],
        ["solved"],
        arm_column="algorithm",
        item_column=["instance", "fold"],
        maps={"solved": "runstatus!=timeout"},
    )
    lines = list(csv.DictReader((tmp_path / "runs.csv").open()))
    share = np.mean([line["runstatus"] == "ok" for line in lines])
    assert scores.values.mean() == pytest.approx(share)
    assert scores.items[1] == "bench/0 \U0001f469\u200d\U0001f52c / 1"
    with pytest.raises(InputError, match="'runstatus==ok' or"):
        read_scores([tmp_path / "runs.csv"], maps={"solved": "runstatus=ok"})


def automl_runs(path) -> None:
    """Scores of two kinds of task, full marks, and errors, as the AutoML benchmark has them."""
    rng = np.random.default_rng(6)
    lines = ["framework,task,fold,info,duration,acc,auc,logloss"]
    for name, skill, seconds in (("a", 0.85, 100.0), ("b", 0.95, 3000.0), ("c", 0.7, 9.0)):
        for task in range(30):
            acc = min(1.0, rng.normal(skill, 0.05))
            info = "Error: out of memory" if name == "b" and task % 4 == 0 else ""
            scores = f"{acc},,{1 - acc}" if task % 2 else f"{acc},{acc / 2},"
            scores = ",," if info and task == 8 else scores
            seconds_here = seconds * rng.uniform(0.9, 1.1)
            lines.append(f"{name},t{task},0,{info},{seconds_here},{scores}")
    path.write_text("\n".join(lines) + "\n")


def test_a_table_of_automl_runs(tmp_path) -> None:
    automl_runs(tmp_path / "runs.csv")
    runs = [str(tmp_path / "runs.csv"), "--arm", "framework", "--item", "task,fold"]
    code, text = run_matrix(*runs)
    assert code == 2
    assert text.endswith(
        "no cell of the table has a value of every metric ('duration', 'acc', 'auc', "
        "'logloss'): choose metrics that go together, as in --objective duration"
    )
    chosen = ["--objective", "acc", "--objective", "duration", "--map", "failed=info!="]
    code, text = run_matrix(*runs, *chosen, "--objective", "failed=min", "--json")
    assert code == 0
    found = json.loads(text)
    assert found["of"] == 89  # an empty info is a value if it is what the map asks for
    (left_out,) = [note for note in found["notes"] if "left out (1 of" in note]
    assert left_out.startswith("1 cell without 'acc' left out (1 of b): if these are failures")
    assert not any("cutoff" in note for note in found["notes"])  # full marks are no cutoff


def test_repeats_are_averaged_if_asked_for(tmp_path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(
        "arm,item,score,cost\nA,q1,1,2\nA,q1,0,8\nA,q1,1,\nB,q1,1,1\nA,q2,1,3\nB,q2,0,1\n"
    )
    scores = read_scores([path], repeats=True, log=["cost"])
    assert scores.values[0, 0] == pytest.approx([2 / 3, 4.0])
    assert scores.lines == 6
    code, text = run_matrix(str(path), "--repeats")
    assert code == 0
    assert "6 lines are 4 cells: means of repeats are compared" in text


def test_a_table_that_ends_in_a_near_tie_says_which_tolerance_ends_it(tmp_path) -> None:
    solver_runs(tmp_path / "runs.csv")
    runs = [str(tmp_path / "runs.csv"), "--arm", "algorithm", "--item", "instance,fold"]
    code, text = run_matrix(*runs)
    assert code == 0
    assert "all 720 cells were used without a stop" in text
    assert "the candidate set did not change after cell " in text
    options = [line for line in text.splitlines() if line.startswith("  --tolerance ")]
    assert len(options) == 1
    words = "".join(text.split("with a tolerance of ")[1].split("\n", 2)[:2])
    stopped = int(words.split("stopped at")[1].split(",")[0].replace(",", ""))
    code, again = run_matrix(*runs, *options[0].split())
    assert code == 0
    assert "stopped after " in again
    taken = int(again.split("stopped after ")[1].split(" of")[0])
    assert 0.5 < taken / stopped < 2.0  # it asks for other cells


SHARE_OK = (
    *("--map", "x=runstatus==ok", "--map", "solved=runstatus==ok"),
    *("--limit", "runtime <= 1"),
)


def test_limits_and_one_objective(tmp_path) -> None:
    solver_runs(tmp_path / "runs.csv")
    runs = [str(tmp_path / "runs.csv"), "--arm", "algorithm", "--item", "instance,fold"]
    code, text = run_matrix(*runs, "--objective", "memory", "--limit", "runtime <= 200")
    assert code == 0
    assert "runtime: limited, no objective\n" in text
    assert "Pareto set: d\n" in text
    code, text = run_matrix(*runs, "--objective", "memory", "--limit", "runtime <= 1")
    assert code == 0
    assert "Pareto set: nothing keeps the limits\n" in text
    code, text = run_matrix(*runs, "--objective", "solved", "--objective", "x", *SHARE_OK)
    assert code == 2
    assert "--objective solved=max --objective x=max (max: more" in text  # not runtime=limit


def test_a_plot_and_a_page(tmp_path) -> None:
    write_lines(table(), tmp_path / "s.csv")
    plot, page = tmp_path / "p.png", tmp_path / "p.html"
    words = [str(tmp_path / "s.csv"), "--plot", str(plot), "--html", str(page)]
    assert run_matrix(*words)[0] == 0
    assert plot.read_bytes().startswith(b"\x89PNG")
    text = page.read_text()
    assert "<strong>Pareto set: m0, m2.</strong>" in text
    assert "seconds: less is better (guessed by the name)" in text
    assert "<svg" in text
    code, said = run_matrix(*words)
    assert code == 2
    assert "exists already" in said
    assert run_matrix(*words, "--force")[0] == 0
