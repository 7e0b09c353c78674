"""One word for how well the confidence is founded, and the rule that it takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from psips import Ball, Prior, Problem, Rules, Session, Study
from psips.cli import app
from psips.errors import InputError
from psips.lab.instances import instance
from psips.problem.problem_file import read_problem_file
from psips.rules.promises import kind_of_promise, promise
from psips.simulation import simulate, simulate_many
from psips.simulation.comparing import read_designs
from psips.simulation.environments import environment_of
from psips.simulation.planning import rules_of

PLAIN: dict[str, Any] = {"objectives": ["a", "b"], "arms": 3, "covariance": [1.0, 1.0]}
EYE = np.eye(3)
ALLOWED: list[tuple[dict[str, Any], str]] = [
    ({}, "predicted"),
    ({"epsilon": 0.1}, "predicted"),
    ({"covariance": None}, "certified"),
    ({"covariance": np.array([np.eye(2), 2 * np.eye(2), np.eye(2)])}, "certified"),
    ({"partial": True}, "certified"),
    ({"arms": None, "features": EYE}, "predicted"),
    ({"arms": None, "features": EYE, "parameter_set": Ball(3.0)}, "predicted"),
]
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"limits": ["a >= 1"]}, "proven for limits: leave the limits out"),
    ({"items": True, "covariance": None}, "share items: leave the items out"),
    ({"epsilon": "5%", "control": "arm 1"}, "percentage: give it as a number"),
    ({"prior": Prior(np.zeros((3, 2)), 1.0)}, "with a prior: leave the prior out"),
    ({"arms": None, "features": EYE, "covariance": None}, "one covariance is given"),
    ({"arms": None, "features": EYE, "partial": True}, "results are complete"),
]


def problem_with(**given: Any) -> Problem:
    return Problem(**{k: v for k, v in {**PLAIN, **given}.items() if v is not None})


@pytest.mark.parametrize(("given", "rule"), ALLOWED)
def test_the_cheapest_proven_rule_is_taken(given: dict[str, Any], rule: str) -> None:
    problem = problem_with(**given)
    session = Session(problem, guarantee="proven", rng=1)
    assert session.rules.stopping == rule
    assert kind_of_promise(session.rules) == "proven"
    assert "the measurements of the default" in promise(session.rules, problem)
    again = Session.restore(json.loads(json.dumps(session.snapshot())))
    assert again.rules == session.rules


@pytest.mark.parametrize(("given", "why"), REFUSED)
def test_where_nothing_is_proven_a_sentence_says_what_would_allow_it(
    given: dict[str, Any], why: str
) -> None:
    problem = problem_with(**given)
    with pytest.raises(InputError) as error:
        Session(problem, guarantee="proven")
    assert why in str(error.value)
    assert "or choose guarantee='validated'" in str(error.value)
    if problem.prior is None:
        assert Session(problem, guarantee="validated").rules == Session(problem).rules


def test_validated_is_the_default() -> None:
    problem = problem_with()
    assert Session(problem, guarantee="validated").rules == Rules()


def test_a_goal_is_proven_as_it_is_without_a_word() -> None:
    for choices in ({}, {"guarantee": "proven"}, {"guarantee": "validated"}):
        session = Session(problem_with(), goal="1 optimal", **choices)
        assert session.rules.stopping == "certified"
    linear = problem_with(arms=None, features=EYE)
    with pytest.raises(InputError, match=r"a goal with features: give parameter_set=Ball"):
        Session(linear, goal="1 optimal", guarantee="proven")


@pytest.mark.parametrize(
    ("given", "choices", "why"),
    [
        ({}, {"goal": "1 optimal", "sampling": "top-two"}, "'top-two' finds the best"),
        ({}, {"goal": "1 optimal", "draws": "literal"}, "draws='literal' is the published"),
        ({"arms": None, "features": EYE}, {"sampling": "ape"}, "has no use for features"),
    ],
)
def test_a_choice_that_is_in_the_way_is_named_not_the_goal(
    given: dict[str, Any], choices: dict[str, Any], why: str
) -> None:
    with pytest.raises(InputError) as error:
        Session(problem_with(**given), guarantee="proven", **choices)
    assert why in str(error.value)
    assert "a goal with features" not in str(error.value)


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        ({"guarantee": "prooven"}, "unknown guarantee 'prooven': did you mean 'proven'?"),
        ({"guarantee": True}, "unknown guarantee 'True'"),
        ({"guarantee": "proven", "stopping": "glr"}, "stopping='glr' contradict each other"),
        ({"guarantee": "proven", "calibration": "measured"}, "calibration='measured' contra"),
        ({"guarantee": "validated", "stopping": "bayes"}, "bounds a posterior probability"),
        ({"guarantee": "validated", "sampling": "ape"}, "sampling='ape' contradict"),
        ({"guarantee": "validated", "draws": "literal"}, "draws='literal' contradict"),
        ({"guarantee": "proven", "stopping": "never"}, "promises nothing"),
        ({"guarantee": "proven", "rules": Rules()}, "either rules or 'guarantee', not both"),
    ],
)
def test_wrong_words_and_contradictions(choices: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError) as error:
        Session(problem_with(), **choices)
    assert why in str(error.value)


@pytest.mark.parametrize(
    ("choices", "stopping", "calibration"),
    [
        ({"stopping": "certified"}, "certified", "heuristic"),
        ({"stopping": "glr", "calibration": "proven"}, "glr", "proven"),
        ({"calibration": "proven"}, "glr", "proven"),
        ({"stopping": "own", "calibration": "own"}, "predicted", "heuristic"),
        ({"sampling": "ape"}, "certified", "heuristic"),
    ],
)
def test_a_rule_that_is_proven_is_left(
    choices: dict[str, str], stopping: str, calibration: str
) -> None:
    rules = Session(problem_with(), guarantee="proven", **choices).rules
    assert (rules.stopping, rules.calibration) == (stopping, calibration)


def test_rules_do_not_know_the_problem() -> None:
    with pytest.raises(InputError, match="give it to the session, study or simulation"):
        Rules(guarantee="proven")


def test_simulations_take_the_word() -> None:
    made = instance("correlated")
    run = simulate(made.problem, environment_of(made), rng=1, guarantee="proven")
    same = simulate(made.problem, environment_of(made), rng=1, stopping="predicted")
    assert run.pulls == same.pulls
    summary = simulate_many(made, runs=2, guarantee="proven", max_results=20)
    assert summary.to_dict()["settings"]["rules"]["stopping"] == "predicted"


DESIGN = """
name = "pills"
{top}
arms = ["A", "B"]
objectives = [{{name = "effect", variance = 1.0}}]
{rules}
[truth]
A = [0.0]
B = [2.0]
"""


def design(tmp_path: Path, top: str = "", rules: str = "") -> Path:
    path = tmp_path / "design.toml"
    path.write_text(DESIGN.format(top=top, rules=rules))
    return path


@pytest.mark.parametrize(
    ("top", "rules"),
    [('guarantee = "proven"', ""), ("", '[rules]\nguarantee = "proven"')],
)
def test_files_take_the_word(tmp_path: Path, top: str, rules: str) -> None:
    path = design(tmp_path, top, rules)
    assert rules_of(read_problem_file(path)).stopping == "predicted"
    study = Study.create(path, store=f"sqlite:///{tmp_path / 'a.db'}", seed=1)
    assert study.state.rules.stopping == "predicted"
    other = Study.create(
        path, name="other", store=f"sqlite:///{tmp_path / 'a.db'}", guarantee="validated"
    )
    assert other.state.rules.stopping == "glr"


def test_files_say_what_is_wrong(tmp_path: Path) -> None:
    both = design(tmp_path, 'guarantee = "proven"', '[rules]\nguarantee = "proven"')
    with pytest.raises(InputError, match="in the file and in"):
        read_problem_file(both)
    against = design(tmp_path, 'guarantee = "proven"', '[rules]\nstopping = "glr"')
    with pytest.raises(InputError, match="contradict each other"):
        rules_of(read_problem_file(against))


def test_designs_are_compared_by_it(tmp_path: Path) -> None:
    file = read_problem_file(design(tmp_path, "", '[rules]\nstopping = "certified"'))
    designs = read_designs([file], ["guarantee=validated,proven"])
    assert [one.rules.stopping for one in designs] == ["glr", "predicted"]
    with pytest.raises(InputError, match="'guarantee' chooses the stopping rule"):
        read_designs([file], ["guarantee=proven", "stopping=glr"])


def test_the_command_line_takes_the_word(tmp_path: Path) -> None:
    run = CliRunner().invoke
    asked = ["simulate", "correlated", "--runs", "2", "--max-samples", "20", "--json"]
    found = run(app, [*asked, "--guarantee", "proven"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["settings"]["rules"]["stopping"] == "predicted"
    wrong = run(app, [*asked, "--guarantee", "sure"])
    assert wrong.exit_code != 0
    path = str(design(tmp_path, 'guarantee = "proven"'))
    said = ["simulate", path, "--runs", "2", "--max-samples", "20", "--json"]
    assert json.loads(run(app, said).stdout)["settings"]["rules"]["stopping"] == "predicted"
    over = run(app, [*said, "--stopping", "glr"])
    assert json.loads(over.stdout)["settings"]["rules"]["stopping"] == "glr"
