"""Environments: the n-th result of an arm is fixed by the key, and has the right law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from psips.errors import InputError
from psips.lab.instances import instance, instances
from psips.problem import Problem
from psips.problem.noise import NoiseGuess
from psips.problem.problem_file import read_problem_file
from psips.simulation.environments import (
    BernoulliEnvironment,
    Environment,
    GaussianEnvironment,
    ItemEnvironment,
    ResamplingEnvironment,
    environment_of,
)

N = 4000


def problem(**changes: Any) -> Problem:
    given: dict[str, Any] = {
        "objectives": {"gain": "max", "loss": "min"},
        "covariance": [[1.0, 0.8], [0.8, 2.0]],
        "arms": ["A", "B", "C"],
    }
    return Problem(**(given | changes))


MEANS = np.array([[0.3, 0.9], [0.0, 1.0], [0.5, 0.2]])
ROWS = pd.DataFrame(
    {
        "arm": ["B", "A", "C", "A", "B", "B"],
        "loss": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "gain": [10.0, 20.0, 30.0, 40.0, 50.0, 60.0],
    }
)


def all_kinds() -> dict[str, Environment]:
    return {
        "gaussian": GaussianEnvironment(problem(), MEANS),
        "bernoulli": BernoulliEnvironment(problem(), MEANS),
        "resampling": ResamplingEnvironment(problem(), ROWS),
    }


def sample(environment: Environment, arm: str, seed: int = 3) -> np.ndarray:
    trial = environment.start(seed)
    return np.array([trial.pull(arm) for _ in range(N)])


def far_from(x: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> bool:
    """Whether mean or second moments of rows x are more than 4.5 standard errors off."""
    centred = x - mean
    products = np.column_stack([centred[:, i] * centred[:, j] for i in (0, 1) for j in (0, 1)])
    seen = np.column_stack([centred, products])
    expected = np.concatenate([[0.0, 0.0], covariance.ravel()])
    z = (seen.mean(axis=0) - expected) / (seen.std(axis=0) / np.sqrt(len(x)) + 1e-12)
    return bool(np.any(np.abs(z) > 4.5))


# One contract for every kind of environment.


@pytest.mark.parametrize("kind", all_kinds())
def test_nth_result_depends_on_key_arm_and_n_only(kind: str) -> None:
    environment = all_kinds()[kind]
    one, other = environment.start(5), environment.start(5)
    first = {arm: [one.pull(arm).tolist() for _ in range(5)] for arm in ("A", "B", "C")}
    for n in range(5):
        for arm in ("C", "A", "B"):
            assert other.pull(arm).tolist() == first[arm][n]
            assert environment.pull(arm, n, one.key).tolist() == first[arm][n]


@pytest.mark.parametrize("kind", all_kinds())
def test_keys_arms_and_repeats_differ(kind: str) -> None:
    environment = all_kinds()[kind]
    x = sample(environment, "A")
    assert len(np.unique(x, axis=0)) > 1
    assert not np.array_equal(x, sample(environment, "A", seed=4))
    lagged = np.corrcoef(x[1:, 0], x[:-1, 0])[0, 1]
    assert abs(lagged) < 4.5 / np.sqrt(N)
    other = "B" if kind == "resampling" else "C"
    beside = np.corrcoef(x[:, 0], sample(environment, other)[:, 0])[0, 1]
    assert abs(beside) < 4.5 / np.sqrt(N)


@pytest.mark.parametrize("kind", all_kinds())
def test_means_are_those_stated(kind: str) -> None:
    environment = all_kinds()[kind]
    for i, arm in enumerate(("A", "B", "C")):
        x = sample(environment, arm)
        error = np.abs(x.mean(axis=0) - environment.means[i])  # type: ignore[attr-defined]
        assert np.all(error <= 4.5 * x.std(axis=0) / np.sqrt(N) + 1e-12)


@pytest.mark.parametrize("kind", all_kinds())
def test_unknown_arm(kind: str) -> None:
    with pytest.raises(InputError, match="unknown arm 'D'"):
        all_kinds()[kind].start(1).pull("D")


# Each kind by itself.


def test_gaussian_law() -> None:
    x = sample(GaussianEnvironment(problem(), MEANS), "A")
    covariance = problem().covariance
    assert not far_from(x, MEANS[0], covariance)
    assert far_from(x, MEANS[0] + [0.0, 0.2], covariance)  # the test does see a shift,
    assert far_from(x, MEANS[0], covariance * [[1, -1], [-1, 1]])  # a sign,
    assert far_from(x, MEANS[0], covariance * [[1, 1], [1, 1.2]])  # and a wrong variance


def test_gaussian_of_features() -> None:
    made = instance("noc-transductive")
    environment = environment_of(made)
    assert isinstance(environment, GaussianEnvironment)
    np.testing.assert_allclose(environment.means, made.arm_means)
    arm = made.problem.arms[3]
    assert not far_from(sample(environment, arm), made.arm_means[3], made.problem.covariance)


def test_bernoulli_law() -> None:
    environment = BernoulliEnvironment(problem(), MEANS)
    x = sample(environment, "A")
    assert set(np.unique(x)) == {0.0, 1.0}
    assert not far_from(x, MEANS[0], np.diag(MEANS[0] * (1 - MEANS[0])))
    assert far_from(x, MEANS[2], np.diag(MEANS[2] * (1 - MEANS[2])))
    np.testing.assert_array_equal(sample(environment, "B"), [[0.0, 1.0]] * N)  # certain


def test_resampling_draws_every_row_of_the_arm() -> None:
    environment = ResamplingEnvironment(problem(), ROWS)
    rows, counts = np.unique(sample(environment, "B"), axis=0, return_counts=True)
    assert rows.tolist() == [[10.0, 1.0], [50.0, 5.0], [60.0, 6.0]]
    assert np.all(np.abs(counts / N - 1 / 3) < 4.5 * np.sqrt(2 / 9 / N))
    assert np.unique(sample(environment, "C"), axis=0).tolist() == [[30.0, 3.0]]


def test_truth_by_name() -> None:
    shuffled = pd.DataFrame(MEANS, index=["A", "B", "C"], columns=["gain", "loss"])
    shuffled = shuffled.loc[["C", "A", "B"], ["loss", "gain"]]
    np.testing.assert_array_equal(GaussianEnvironment(problem(), shuffled).theta, MEANS)
    np.testing.assert_array_equal(BernoulliEnvironment(problem(), shuffled).means, MEANS)


@pytest.mark.parametrize("name", [entry.name for entry in instances()])
def test_environment_of_every_instance(name: str) -> None:
    made = instance(name)
    environment = environment_of(made)
    kinds = {"random-bernoulli": BernoulliEnvironment, "chances": BernoulliEnvironment}
    kinds["shared-items"] = ItemEnvironment
    assert isinstance(environment, kinds.get(name, GaussianEnvironment))
    assert environment.start(1).pull(made.problem.arms[0]).shape == (made.problem.d,)


def test_environment_of_results(tmp_path: Any) -> None:
    (tmp_path / "raw.csv").write_text("arm,score\nold,3\nnew,5\nold,2\n")
    (tmp_path / "archive.toml").write_text(
        'arms = ["old", "new"]\nresults = "raw.csv"\n'
        'objectives = [{ name = "score", variance = 2.0, direction = "min" }]\n'
    )
    environment = environment_of(read_problem_file(tmp_path / "archive.toml").instance)
    assert isinstance(environment, ResamplingEnvironment)
    assert environment.means.tolist() == [[2.5], [5.0]]
    assert set(sample(environment, "old").ravel()) == {2.0, 3.0}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: GaussianEnvironment(problem(), MEANS[:2]),
            "one row per arm and one column per",
        ),
        (lambda: GaussianEnvironment(problem(), MEANS * np.nan), "must be finite, got nan"),
        (lambda: GaussianEnvironment(problem(), [["x"]]), "must be numbers in a rectangular"),
        (
            lambda: GaussianEnvironment(instance("noc").problem, np.zeros((3, 2))),
            "one row per feature and one column per objective, shape (4, 2), got (3, 2)",
        ),
        (
            lambda: BernoulliEnvironment(problem(), MEANS * 2),
            "needs means between 0 and 1, got 1.8 for arm 'A' in 'loss'",
        ),
        (
            lambda: GaussianEnvironment(
                problem(), pd.DataFrame(MEANS, index=["A", "B", "D"], columns=["gain", "loss"])
            ),
            "unknown arm in theta 'D'",
        ),
        (
            lambda: BernoulliEnvironment(
                problem(), pd.DataFrame(MEANS[:2], index=["A", "B"], columns=["gain", "loss"])
            ),
            "means must have one entry for arm 'C'",
        ),
        (
            lambda: ResamplingEnvironment(problem(), ROWS[ROWS["arm"] != "C"]),
            "the results have no row for arm 'C': every arm needs one",
        ),
        (
            lambda: ResamplingEnvironment(problem(), ROWS.drop(columns="gain")),
            "has no column 'gain'",
        ),
    ],
)
def test_refusals(build: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        build()
    assert message in str(error.value)


def test_binary_next_to_gaussian_metrics() -> None:
    """Values are 0 or 1 with the arm's chance, correlated with the others as asked for."""
    mixed = Problem(
        objectives={"right": {"direction": "max", "kind": "binary"}, "seconds": "min"},
        arms=["A", "B"],
        noise_guess=NoiseGuess([0.25, 1.0], 2),
    )
    trial = GaussianEnvironment(mixed, [[0.8, 3.0], [0.3, 5.0]]).start(rng=1)
    for arm, chance, seconds in (("A", 0.8, 3.0), ("B", 0.3, 5.0)):
        rows = np.array([trial.pull(arm) for _ in range(2_000)])
        assert set(rows[:, 0]) == {0.0, 1.0}
        assert abs(rows[:, 0].mean() - chance) < 4.0 * np.sqrt(chance * (1 - chance) / 2_000)
        assert abs(rows[:, 1].mean() - seconds) < 4.0 / np.sqrt(2_000)
