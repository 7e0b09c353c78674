"""An intercept where one is due, and coordinates in which units do not show."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psips import InputError, Problem
from psips.lab.instances import instance
from psips.problem.coordinates import orthonormal
from psips.problem.instances import Instance
from psips.problem.parameters import Ball, Box
from psips.problem.problem_file import read_problem_file
from psips.simulation.environments import GaussianEnvironment

LINE = [[0.0], [0.5], [1.0]]


def problem(features: Any = LINE, **more: Any) -> Problem:
    return Problem(objectives=["y"], covariance=[1.0], features=features, **more)


@pytest.mark.parametrize(
    ("features", "fitted"),
    [
        (LINE, True),
        ([[0.0, 1.0], [0.5, 1.0], [1.0, 1.0]], False),  # a column of ones
        ([[0.0, 7.0], [0.5, 7.0], [1.0, 7.0]], False),  # or of anything else
        ([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]], False),  # shares that sum to 1
        (np.eye(3), False),
        (1e-9 * np.array([[0.0], [0.5], [1.0]]), True),
        ([[1e6 + 1.0], [1e6 + 2.0], [1e6 + 4.0]], True),
    ],
)
def test_an_intercept_unless_the_features_span_a_constant(features: Any, fitted: bool) -> None:
    made = problem(features)
    assert made.intercept == fitted
    assert (made.feature_names[-1] == "intercept") == fitted
    assert made.features is not None
    if fitted:
        assert (made.features[:, -1] == 1.0).all()
        assert not problem(features, intercept=False).intercept
        assert problem(features, intercept=True) == made
    else:
        assert made.h == np.shape(features)[1]
        with pytest.raises(InputError, match="they have an intercept already"):
            problem(features, intercept=True)


def test_a_constant_must_be_one_for_the_answers_too() -> None:
    shares = [[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]]
    spanned = problem(shares, answers=(["p", "q"], [[0.4, 0.6], [0.7, 0.3]]))
    assert not spanned.intercept
    # the answers leave the line on which a constant and the shares are the same
    with pytest.raises(InputError, match=r"with an intercept the arms do not span.*=False"):
        problem(shares, answers=(["p", "q"], [[0.4, 0.6], [0.7, 0.7]]))
    apart = problem(shares, answers=(["p", "q"], [[0.4, 0.6], [0.7, 0.7]]), intercept=False)
    assert apart.h == 2


def test_what_is_refused() -> None:
    frame = pd.DataFrame({"intercept": [0.0, 1.0, 3.0]}, index=["a", "b", "c"])
    with pytest.raises(InputError, match="a feature 'intercept' that is not 1 everywhere"):
        problem(frame)
    assert problem(frame, intercept=False).feature_names == ("intercept",)
    with pytest.raises(
        InputError, match="intercept must be True, False or left out, got 'yes'"
    ):
        problem(intercept="yes")
    with pytest.raises(InputError, match="an intercept belongs to features"):
        Problem(objectives=["y"], covariance=[1.0], arms=2, intercept=True)
    twice = [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]
    with pytest.raises(InputError, match=r"the 3 features of the arms have rank 2.*a Box"):
        problem(twice, parameter_set=Box(-9, 9))
    problem(twice, parameter_set=Box(-9, 9), regularization=1.0)
    problem(twice, parameter_set=Ball(9))


def test_a_truth_may_leave_the_intercept_out() -> None:
    made = problem()
    short, full = np.array([[2.0]]), np.array([[2.0], [0.0]])
    assert Instance("", made, short).theta.tolist() == full.tolist()
    assert Instance("", made, full + 1).arm_means.ravel().tolist() == [1.0, 2.5, 4.0]
    assert GaussianEnvironment(made, short).means.ravel().tolist() == [0.0, 1.0, 2.0]
    frame = pd.DataFrame({"y": [2.0]}, index=["feature 1"])
    assert GaussianEnvironment(made, frame).theta.tolist() == full.tolist()
    frame.loc["intercept"] = [1.0]
    assert GaussianEnvironment(made, frame).theta.tolist() == [[2.0], [1.0]]
    with pytest.raises(InputError, match="one row per feature"):
        Instance("", problem(intercept=False), full)


def test_problem_files(tmp_path: Any) -> None:
    (tmp_path / "a.csv").write_text("arm,x\nA,0\nB,0.5\nC,1\n")
    text = 'arms = "a.csv"\nobjectives = [{name = "y", variance = 1.0}]\n'
    for line, rows, h in (
        ("", "", 2),
        ("intercept = true\n", "intercept = [5.0]\n", 2),
        ("intercept = false\n", "", 1),
    ):
        path = tmp_path / "p.toml"
        path.write_text(f"{text}{line}[theta]\nx = [2.0]\n{rows}[guess]\nx = [[1, 3]]\n")
        file = read_problem_file(path)
        assert file.problem.h == h
        assert file.theta is not None
        assert file.guess is not None
        assert file.theta.ravel().tolist() == [2.0, 5.0 if rows else 0.0][:h]
        assert file.guess.high.ravel().tolist() == [3.0, 0.0][:h]
    path.write_text(f"{text}[theta]\nintercept = [2.0]\n")
    with pytest.raises(InputError, match="missing row of 'theta': 'x'"):
        read_problem_file(path)


def test_plain_data_and_back() -> None:
    answers = (["p", "q"], [[0.25], [0.75]])
    for more in ({}, {"intercept": False}, {"answers": answers}, {"regularization": 2.0}):
        made = problem(**more)
        data = json.loads(json.dumps(made.to_dict()))
        assert data["features"] == LINE
        twin = Problem.from_dict(data)
        assert twin == made
        assert twin.intercept == made.intercept == (more != {"intercept": False})
        assert twin.regularization == more.get("regularization")


def test_a_problem_stored_before_there_were_intercepts_is_what_it_was() -> None:
    data = {**problem(np.eye(3) + 0.1, regularization=1.0).to_dict()}
    del data["intercept"]
    old = Problem.from_dict(data)
    assert not old.intercept
    assert old.model.xi == 1.0
    assert old.model.A.tolist() == data["features"]
    assert len(old.model.first) == 0


def test_the_papers_instances_have_none() -> None:
    for name in ("noc", "noc-transductive"):
        assert not instance(name).problem.intercept


def test_coordinates_do_not_show_units() -> None:
    rng = np.random.default_rng(1)
    A = np.column_stack([rng.normal(size=(9, 3)), np.ones(9)])
    A = np.column_stack([A, A[:, 0] - 2 * A[:, 3]])  # a fifth that depends on them
    found = orthonormal(A)
    assert found.A.shape == (9, 4)
    np.testing.assert_allclose(found.A.T @ found.A, 9 * np.eye(4), atol=1e-10)
    np.testing.assert_allclose(A @ found.basis, found.A, atol=1e-10)
    for _ in range(20):
        scaled = orthonormal(A * 10 ** rng.uniform(-6, 6, 5))
        np.testing.assert_allclose(scaled.A, found.A, atol=1e-11)


def test_a_design_with_ties_is_explored_the_same_in_any_units() -> None:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    ours = problem(corners).model
    rng = np.random.default_rng(2)
    for _ in range(20):
        theirs = problem(corners * 10 ** rng.uniform(-2, 2, 3)).model
        assert theirs.A.tolist() == ours.A.tolist()
        assert theirs.first.tolist() == ours.first.tolist()
        assert theirs.explore.tolist() == ours.explore.tolist()


def test_the_regularisation_with_a_ball() -> None:
    ball = Problem(
        objectives=["a", "b"], covariance=[4.0, 9.0], features=LINE, parameter_set=Ball([2, 6])
    )
    assert ball.model.xi == pytest.approx((4 / 4 + 9 / 36) / 2)
    assert problem().model.xi == 0.0
    assert problem(parameter_set=Ball(2.0), regularization=3.0).model.xi == 3.0
