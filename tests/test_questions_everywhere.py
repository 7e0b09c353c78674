"""Tolerance, limits, costs, budgets and goals: in every place, with every stopping rule.

Each combination either works, or is refused in one sentence that says what to do. The tables
below are what was found by trying; a change in them is a change of what the library does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips.errors import InputError
from psips.lab.campaign import Campaign
from psips.lab.cells import Cell
from psips.lab.loading import load
from psips.plots import axes
from psips.plots.comparing import comparison
from psips.problem.problem_file import ProblemFile, read_problem_file
from psips.report import report
from psips.rules import SAMPLING, STOPPING, Rules
from psips.rules.guarantee import choices_for
from psips.session import Session
from psips.simulation import simulate_many
from psips.simulation.comparing import compare, read_designs
from psips.simulation.planning import plan
from psips.study import Study
from psips.theory.geometry import complexity

HEAD = """
arms = ["low", "middle", "high"]
covariance = [[1.0, 0.2], [0.2, 1.0]]
control = "low"
objectives = [{ name = "efficacy" }, { name = "toxicity", direction = "min" }]
"""
TRUTH = "\n[truth]\nlow = [0.4, -1.0]\nmiddle = [2.0, 0.5]\nhigh = [1.0, 3.0]\n"
KEYS = {
    "tolerance": "epsilon = 0.2\n",
    "percentage": 'epsilon = { toxicity = "5%" }\n',
    "limits": 'limits = ["toxicity <= 2"]\n',
    "limit against the control": 'limits = ["efficacy >= 0.5 * control"]\n',
    "tolerance and limits": 'epsilon = 0.2\nlimits = ["toxicity <= 2"]\n',
    "costs": "costs = { low = 1.0, middle = 5.0, high = 2.0 }\n",
    "budget": "budget = 60\n",
    "goal": 'goal = "1 optimal"\n',
    "costs, budget, tolerance and limits": (
        "costs = { low = 1.0, middle = 5.0, high = 2.0 }\nbudget = 300\nepsilon = 0.2\n"
        'limits = ["toxicity <= 2"]\n'
    ),
}
RULES = ("glr", "posterior", "certified", "predicted", "bayes", "two-stage", "never")
RIVALS = ("ape", "elimination", "ege-sr", "ege-sh")
WORKS = {
    "tolerance": {"glr", "posterior", "certified", "predicted", "bayes", "never"},
    "percentage": {"glr", "posterior", "bayes", "never"},
    "limits": {"glr", "two-stage", "never"},
    "limit against the control": {"glr", "two-stage", "never"},
    "tolerance and limits": {"glr", "two-stage", "never"},
    "costs": {"glr", "posterior", "certified", "predicted", "bayes", "never", "ape"}
    | {"elimination"},
    "budget": {"glr", "posterior", "certified", "predicted", "bayes", "never", *RIVALS},
    "goal": {"certified"},
    "costs, budget, tolerance and limits": {"glr", "two-stage", "never"},
}


@pytest.fixture(autouse=True)
def no_figure_is_left() -> Iterator[None]:
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def written(folder: Path, question: str) -> ProblemFile:
    path = folder / "a.toml"
    path.write_text(HEAD + KEYS[question] + TRUTH)
    return read_problem_file(path)


def asked(file: ProblemFile) -> dict[str, Any]:
    return {"budget": file.budget, "goal": file.goal}


def with_rule(stopping: str) -> dict[str, str]:
    return {"sampling": STOPPING[stopping].partner or "directed", "stopping": stopping}


def test_every_stopping_rule_is_tried() -> None:
    assert {*RULES, *RIVALS} == set(STOPPING)


@pytest.mark.parametrize("question", KEYS)
@pytest.mark.parametrize("stopping", [*RULES, *RIVALS])
def test_a_rule_works_or_says_in_a_sentence_why_not(
    question: str, stopping: str, tmp_path: Path
) -> None:
    file = written(tmp_path, question)
    choices = with_rule(stopping)
    budget = 60 if SAMPLING[choices["sampling"]].budgeted else file.budget
    if stopping not in WORKS[question]:
        with pytest.raises(InputError) as error:
            Session(file.problem, budget=budget, goal=file.goal, **choices)
        text = str(error.value)
        assert "\n" not in text
        assert ":" in text  # what is wrong: what to do
        return
    session = Session(file.problem, rng=1, budget=budget, goal=file.goal, **choices)
    made = load(str(file.path))
    lab = np.random.default_rng(2)
    for _ in range(12):
        arm = session.ask()
        session.tell(arm, made.arm_means[file.problem.arm_index(arm)] + lab.normal(size=2))
    text = str(session.status())
    assert "12 results" in text
    assert session.status().answers["reason"].str.len().min() > 0


@pytest.mark.parametrize("question", KEYS)
def test_every_place(question: str, tmp_path: Path) -> None:
    file = written(tmp_path, question)
    made = load(str(file.path))
    rules = Rules(**choices_for(file.problem, {}, file.goal))
    summary = simulate_many(made, runs=2, seed=1, max_results=400, rules=rules, **asked(file))
    cells = [
        Cell(str(file.path), rules.to_dict(), k, max_results=400, **asked(file)) for k in (0, 1)
    ]
    campaign = Campaign(cells, tmp_path / "campaign.sqlite", seed=1)
    assert campaign.run(jobs=1) == []
    samples = [outcome["samples"] for outcome in campaign.outcomes()]
    assert samples == summary.samples.tolist()
    assert complexity(made.problem, made.theta, tolerance=0.05).t_star > 0
    planned = plan(file, runs=2, deltas=(), cap=400)
    assert planned.forecasts[0].runs == 2
    assert planned.ties
    axes.plan(planned)
    designs = read_designs([file], ["delta=0.1,0.2"])
    comparison(compare(designs, runs=2, cap=400))
    study = Study.create(file.path, "sqlite://", seed=1)
    lab = np.random.default_rng(2)
    while not study.stopped and study.status().results < 30:
        ticket = study.ask()
        mean = made.arm_means[file.problem.arm_index(ticket.arm)]
        study.tell(ticket, mean + lab.normal(size=2))
    assert study.verify().problems == ()
    page = report(study)
    assert "Traceback" not in page
    for draw in (axes.front, axes.pulls, axes.evidence):
        draw(study)
