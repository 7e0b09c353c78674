"""Comments on pull requests: of tables and studies, and before a stop without a claim."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from psips import InputError, Problem
from psips.cli import app
from psips.evaluation.matrix import replay
from psips.evaluation.scores import Scores
from psips.report.pull_request import matrix_comment
from psips.study import Study

NASTY = "a|b @me <img>"


def scores(gap: float) -> Scores:
    rng = np.random.default_rng(1)
    item = rng.normal(size=60)
    values = item + 0.3 * rng.normal(size=(2, 60))
    values[1] += gap - (values[1] - values[0]).mean()
    return Scores([NASTY, "other"], [f"q{j}" for j in range(60)], ["score"], values[..., None])


def test_a_table_that_stopped() -> None:
    text = matrix_comment(replay(scores(1.0)))
    assert text.startswith("> [!TIP]\n> **Pareto set: `other`** (90% confidence, validated; ")
    assert "| `a\\|b @me <img>` |" in text
    assert "<details>\n<summary>How this was found</summary>" in text


def test_a_table_that_did_not() -> None:
    text = matrix_comment(replay(scores(0.001)))
    assert text.startswith("> [!NOTE]\n> **Not certain yet.** Pareto set of these items:")
    assert "> [!TIP]" not in text


def study(folder) -> tuple[str, str]:
    url = f"sqlite:///{folder / 'a.db'}"
    objectives = {"gain": "max"}
    problem = Problem(objectives=objectives, covariance=[1.0], arms=["A", "B"])
    made = Study.create(problem, url, name="trial", seed=1)
    for _ in range(4):
        ticket = made.ask(1)[0]
        made.tell(ticket, 0.1)
    made.store.close()
    return "trial", url


def test_a_study(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    name, url = study(tmp_path)
    words = ["report", name, "--store", url, "--format", "github"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(
        "> [!NOTE]\n> `trial`: **Open after 4 results: nothing is claimed.**"
    )
    assert "Pareto set:" not in done.stdout.split("<details>")[0]
    assert not (tmp_path / "report.html").exists()
    assert CliRunner().invoke(app, [*words, "--out", "c.md"]).exit_code == 0
    assert (tmp_path / "c.md").read_text() == done.stdout
    again = CliRunner().invoke(app, [*words, "--out", "c.md"])
    assert isinstance(again.exception, InputError)
    with_stop = Study.open(name, url)
    while not with_stop.stopped:
        ticket = with_stop.ask(1)[0]
        with_stop.tell(ticket, {"A": 2.0, "B": -2.0}[ticket.arm])
    with_stop.store.close()
    done = CliRunner().invoke(app, words)
    assert done.stdout.startswith("> [!TIP]\n> `trial`: **Pareto set: `A`** (90% confidence")


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_formats_that_are_not_there(form: str) -> None:
    done = CliRunner().invoke(app, ["matrix", "x.csv", "--format", form])
    assert done.exit_code == 2
