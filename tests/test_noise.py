"""Noise and values as users give them: unknown, of each arm, bounded, binary, missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psips import InputError, NoiseGuess, Problem
from psips.problem.measurements import read_changes, read_results, read_values
from psips.problem.problem_file import read_problem_file

ARMS = ["A", "B"]


def make(covariance: Any = "per-arm", **more: Any) -> Problem:
    objectives = more.pop("objectives", {"yield": "max", "cost": "min"})
    return Problem(objectives=objectives, covariance=covariance, arms=ARMS, **more)


SCALED = {
    "ok": {"direction": "max", "kind": "binary"},
    "score": {"range": [0, 5]},
    "latency": {"direction": "min", "transform": "log"},
}


@pytest.mark.parametrize("word", ["estimate", "per-arm"])
def test_unknown_noise(word: str) -> None:
    problem = make(word, noise_guess=NoiseGuess([1, 4], 3))
    assert problem.noise == word
    assert problem.covariance is None
    assert problem.usual_covariance.tolist() == [[1, 0], [0, 4]]
    copy = Problem.from_dict(json.loads(json.dumps(problem.to_dict())))
    assert copy == problem
    assert copy.noise_guess == problem.noise_guess


@pytest.mark.parametrize(
    "given",
    [
        {"A": [1, 2], "B": [3, 4]},
        {"B": [[3, 0], [0, 4]], "A": {"yield": 1, "cost": 2}},
        np.array([np.diag([1, 2]), np.diag([3, 4])]),
    ],
)
def test_one_covariance_for_each_arm(given: Any) -> None:
    problem = make(given)
    assert problem.covariance is not None
    assert problem.covariance.tolist() == [np.diag([1, 2]).tolist(), np.diag([3, 4]).tolist()]
    assert Problem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem


def test_variances_by_objective_are_not_taken_for_arms() -> None:
    problem = Problem(objectives=ARMS, covariance={"A": 1, "B": 2}, arms=ARMS)
    assert problem.covariance is not None
    assert problem.covariance.tolist() == [[1, 0], [0, 2]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("per arm", "unknown covariance 'per arm': did you mean 'per-arm'"),
        ({"A": [1, 1]}, "the covariance has no entry for arm 'B'"),
        ({"A": [1, 1], "B": [1, -1]}, "arm 'B': the variance of objective 'cost' must be"),
        (np.ones((3, 2, 2)), "matrices for 3 arms, but there are 2"),
    ],
)
def test_covariances_that_are_none(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(given)


def test_a_guess_goes_with_noise_that_is_not_known() -> None:
    with pytest.raises(InputError, match="leave out noise_guess"):
        make([1, 1], noise_guess=NoiseGuess([1, 1], 5))
    with pytest.raises(InputError, match="worth must be positive"):
        NoiseGuess([1, 1], 0)
    with pytest.raises(InputError, match="2 variances or a 2 x 2 matrix"):
        make(noise_guess=NoiseGuess([1], 5))


def test_scales() -> None:
    problem = make(objectives=SCALED)
    assert problem.directions == ("max", "max", "min")
    assert problem.labels == ("ok", "score", "latency (mean of log)")
    assert read_values(problem, [True, 5, 2.5]).tolist() == [1, 5, 2.5]
    assert problem.compared([1, 5, np.e]).tolist() == [1, 5, 1]
    assert problem.measured([1, 5, 1]) == pytest.approx([1, 5, np.e])
    assert Problem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 1, 1], r"the value of 'ok' must be 0 or 1 \(it is binary\), got 0.5"),
        ([0, 5.5, 1], "the value of 'score' must lie between 0 and 5, got 5.5"),
        ([0, 5, 0], "the value of 'latency' must be positive, since its logarithm is taken"),
    ],
)
def test_values_outside_their_scale(values: list[float], message: str) -> None:
    problem = make(objectives=SCALED)
    with pytest.raises(InputError, match=message):
        read_values(problem, values)
    table = pd.DataFrame([["A", 1, 1, 1], ["B", *values]], columns=["arm", *SCALED])
    with pytest.raises(InputError, match=f"row 2 of the results: {message}"):
        read_results(problem, table)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"kind": "binry"}, "unknown kind of objective 'x' 'binry': did you mean 'binary'"),
        ({"range": [1, 0]}, r"must be \[lowest, highest\], two finite numbers, got \[1, 0\]"),
        ({"range": 3}, "two finite numbers, got 3"),
        ({"kind": "binary", "range": [0, 2]}, "leave out its range"),
        ({"kind": "binary", "transform": "log"}, "leave out its transform"),
        ({"transform": "log", "range": [0, 2]}, "logarithms need values above 0"),
        ({"limit": 3}, "unknown key of objective 'x' 'limit'"),
    ],
)
def test_scales_that_are_none(said: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make([1], objectives={"x": said})


MISSING: list[Any] = [None, float("nan"), "", pd.NA]


@pytest.mark.parametrize("nothing", MISSING)
def test_missing_values(nothing: Any) -> None:
    problem = make(partial=True)
    expected = [3.0, np.nan]
    assert np.array_equal(read_values(problem, [3, nothing]), expected, equal_nan=True)
    assert np.array_equal(read_values(problem, {"yield": 3}), expected, equal_nan=True)
    with pytest.raises(InputError, match="no value in any objective"):
        read_values(problem, [nothing, nothing])
    with pytest.raises(InputError, match=r"'cost' is missing .* with partial=True"):
        read_values(make(), [3, nothing])
    missing = r"no value for objective 'cost': .* with partial=True"
    with pytest.raises(InputError, match=missing):
        read_values(make(), {"yield": 3})
    assert Problem.from_dict(problem.to_dict()).partial
    assert np.isnan(read_changes(problem, {"cost": nothing})["cost"])


def test_missing_values_of_a_table() -> None:
    table = pd.DataFrame({"arm": ARMS, "yield": [1.0, 2.0], "cost": [np.nan, 3.0]})
    assert np.isnan(read_results(make(partial=True), table).values[0, 1])
    with pytest.raises(
        InputError, match="row 1 of the results: the value of 'cost' is missing"
    ):
        read_results(make(), table)
    table.loc[0, "yield"] = np.nan
    with pytest.raises(InputError, match="row 1 of the results has no value in any objective"):
        read_results(make(partial=True), table)


def test_a_problem_file_with_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "trial.toml"
    path.write_text(
        """
        arms = ["A", "B"]
        covariance = "estimate"
        partial = true
        objectives = [
          { name = "ok", kind = "binary" },
          { name = "latency", direction = "min", transform = "log" },
        ]
        [noise_guess]
        covariance = [0.25, 0.1]
        results = 4
        """
    )
    problem = read_problem_file(path).problem
    assert (problem.noise, problem.partial) == ("estimate", True)
    assert problem.scales[0].binary
    assert problem.scales[1].log
    assert problem.noise_guess == NoiseGuess([0.25, 0.1], 4)


def test_a_problem_file_with_a_covariance_of_each_arm(tmp_path: Path) -> None:
    path = tmp_path / "trial.toml"
    path.write_text(
        'arms = ["A", "B"]\nobjectives = ["x"]\n[covariance]\nA = [1.0]\nB = [[4.0]]\n'
    )
    covariance = read_problem_file(path).problem.covariance
    assert covariance is not None
    assert covariance.tolist() == [[[1.0]], [[4.0]]]
