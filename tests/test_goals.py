"""Goals other than the whole set: reached by proofs, and claiming no more than they prove."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips import Problem, Session
from psips.errors import InputError, NoProofError
from psips.problem.instances import Instance
from psips.problem.problem_file import read_problem_file
from psips.report import report
from psips.simulation import simulate, simulate_many
from psips.simulation.environments import environment_of
from psips.study import Study

# A is clearly optimal; B and C nearly tie; P, the placebo, is clearly dominated by A.
MEANS = np.array([[2.0, 1.0], [0.0, 2.0], [0.05, 1.95], [-1.0, -1.0]])


def problem(**choices: Any) -> Problem:
    return Problem(
        objectives=["x", "y"], covariance=[1, 1], arms=["A", "B", "C", "P"], **choices
    )


TRUTH = Instance("", problem(control="P"), MEANS)


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        (
            "5 optimal",
            "asks for 5 Pareto-optimal answers: expected 1 to 4, the number of answers",
        ),
        ("0 optimal", "expected 1 to 4"),
        ("settle D", "unknown answer 'D'"),
        (
            "settle",
            "the goal must be 'N optimal', 'settle NAME' or 'beat control', got 'settle'",
        ),
        ("best", "the goal must be"),
        (3, "the goal must be .* got 3"),
        ("beat control", "needs a control"),
    ],
)
def test_bad_goals(goal: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        Session(problem(), goal=goal)


def test_unknown_control() -> None:
    with pytest.raises(InputError, match="unknown answer 'Q'"):
        problem(control="Q")
    data = problem(control="P").to_dict()
    assert Problem.from_dict(data).control == "P"
    assert "control" not in problem().to_dict()


def test_refused_where_nothing_is_proven_of_single_answers() -> None:
    with pytest.raises(
        InputError, match=r"'glr' does not look for: choose stopping='certified'"
    ):
        Session(problem(), goal="1 optimal", stopping="glr")
    linear = Problem(objectives=["x"], covariance=[1], arms=3, features=[[1], [2], [3.5]])
    with pytest.raises(NoProofError):
        Session(linear, goal="1 optimal")
    assert Session(problem(), goal="1 optimal").rules.stopping == "certified"


@pytest.mark.parametrize(
    ("goal", "claim"),
    [
        ("1 optimal", "proven optimal: A"),
        ("settle A", "A is proven optimal: nothing dominates it"),
        ("beat control", "P is proven not optimal: A dominates it"),
    ],
)
def test_a_goal_is_reached_long_before_the_whole_set(goal: str, claim: str) -> None:
    session = Session(TRUTH.problem, goal=goal, rng=1)
    trial = environment_of(TRUTH).start(1)
    while not session.stopped:
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
    assert session.results < 1000  # the near-tie takes many thousands
    assert session.claim == claim
    assert session.pareto_set is None
    assert session.proven["open"]
    text = str(session.status())
    assert f"goal, {goal}: {claim}" in " ".join(text.split())
    assert "Pareto set:" not in text
    assert session.status().evidence["fraction"] == 1.0
    run = simulate(TRUTH.problem, environment_of(TRUTH), rng=5, goal=goal)
    assert run.stopped
    assert run.pareto_set is None
    twin = Session.restore(session.snapshot())
    assert (twin.claim, twin.stopped) == (claim, True)


def test_a_goal_out_of_reach_ends_with_the_whole_set() -> None:
    """Two are optimal and three are asked for: the stop comes when all is proven."""
    two = Instance("", problem(), np.array([[3.0, 0], [0, 3.0], [-1, -1], [-2, -2]]))
    run = simulate(two.problem, environment_of(two), rng=1, goal="3 optimal")
    assert run.stopped
    assert run.pareto_set == ("A", "B")


def test_errors_are_wrong_verdicts() -> None:
    found = simulate_many(TRUTH, runs=20, goal="1 optimal")
    assert (found.stopped, found.errors) == (20, 0)
    # the candidate set is often wrong at that time: it is no claim, so it is no error
    assert any(not TRUTH.is_right(run.candidate_set) for run in found.each)
    wrong = Instance("", TRUTH.problem, -MEANS)  # a truth in which those proofs are false
    assert all(
        type(found)(found.each, wrong, 0.0, found.settings).is_wrong(r) for r in found.each
    )


def test_studies_and_files(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    head = 'arms = ["A", "B", "C", "P"]\ncovariance = [[1.0, 0.0], [0.0, 1.0]]\n'
    head += 'objectives = ["x", "y"]\n'
    path.write_text(f'{head}control = "P"\ngoal = "beat control"\n')
    assert read_problem_file(path).problem.control == "P"
    study = Study.create(path, "sqlite://", seed=1)
    rng = np.random.default_rng(0)
    while not study.stopped:
        rows = [
            {"arm": a, "x": x, "y": y}
            for a, (x, y) in zip("ABCP", MEANS + rng.normal(size=(4, 2)), strict=True)
        ]
        study.tell_many(rows)
    assert study.pareto_set is None
    page = report(study)
    assert "P is proven not optimal: A dominates it" in page
    assert "Nothing is claimed about the others" in page
    path.write_text(f'{head}control = "Q"\n')
    with pytest.raises(InputError, match=r"a.toml: unknown answer 'Q'"):
        read_problem_file(path)
