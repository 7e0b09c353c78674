"""The bench measures what it says, and a round stays cheap where it should."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from psips.lab import bench
from psips.lab.instances import instance
from psips.problem import Problem
from psips.simulation.environments import GaussianEnvironment, environment_of
from psips.theory.geometry import best_response


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("correlated", {"rho": -0.9}),
        ("correlated", {"rho": 0.9}),
        ("rotated", {}),
        ("random-gaussian", {"K": 10, "d": 3}),
        *(("random-gaussian", {"K": 10, "d": 6, "seed": seed}) for seed in range(4)),
    ],
)
def test_few_points_a_round(name: str, params: dict[str, float]) -> None:
    """However small delta is; the literal loop makes up to 10^7 draws there."""
    made = instance(name, **params)
    for seed in range(3):
        rounds, _, points = bench._timed_run(
            made.problem, environment_of(made), 1e-6, 10**6, seed
        )
        assert rounds < 10**6
        assert points <= 10


def test_time_grows_with_the_arms_less_than_quadratically() -> None:
    """A ratio within one run; it would be 100 if a round looked at all pairs of arms."""
    rng = np.random.default_rng(3)
    times = []
    for K in (100, 1000):
        problem = Problem(objectives=["a", "b", "c"], covariance=[0.5] * 3, arms=K)
        environment = GaussianEnvironment(problem, rng.uniform(-1, 1, (K, 3)))
        each = [
            bench._timed_run(problem, environment, 1e-2, 4 * K + 4000, seed)[1]
            for seed in range(2)
        ]
        times.append(min(each))
    assert times[1] / times[0] < 40


def test_literal_rounds_are_timed_at_the_same_states() -> None:
    made = instance("correlated", rho=0.0)
    row = bench._compare("correlated", made, 0.1, literal=True)
    assert row.literal_points > row.points_per_round
    assert row.ratio == pytest.approx(row.literal_us / row.us_per_round)


def test_growth_is_the_slope() -> None:
    rows = [
        bench.Timing("K", "x", size, 1, 3.0 * size**1.5, 1, np.nan, np.nan, np.nan)
        for size in (1, 10, 100)
    ]
    assert bench.growth(rows)["K"] == pytest.approx(1.5)


def test_one_size_grows_and_the_others_do_not() -> None:
    """Up to 1,000 answers: more take time to make."""
    sizes: dict[str, list[float]] = {}
    for what, _, problem, theta, delta, rounds, size in islice(bench._growing(), 12):
        sizes.setdefault(what, []).append(size)
        assert {"K": problem.K, "d": problem.d, "|Z|": problem.n}[what] == size
        assert (problem.unstructured, problem.d) == (what != "|Z|", size if what == "d" else 3)
        assert problem.model.h == (10 if what == "|Z|" else problem.K)
        assert GaussianEnvironment(problem, theta).means.shape == (problem.K, problem.d)
        assert 0.0 < delta < 1.0
        assert rounds > problem.K
    assert sizes == {"K": [10, 30, 100, 300, 1000], "d": [2, 3, 4, 5, 6], "|Z|": [100, 1000]}


def test_sizes_that_grow_span_all_that_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of delta it is 1/delta that grows; problems that are large are not made here."""
    monkeypatch.setattr(bench, "Problem", lambda **given: given)
    sizes: dict[str, list[float]] = {}
    for what, _, _, _, delta, _, size in bench._growing():
        sizes.setdefault(what, []).append(size)
        assert what != "1/delta" or size == pytest.approx(1.0 / delta)
    assert all(each == sorted(each) for each in sizes.values())
    assert {what: each[-1] for what, each in sizes.items()} == {
        "K": 1000,
        "d": 6,
        "|Z|": 100_000,
        "1/delta": pytest.approx(1e12),
    }


EDGES = {
    "2 opposed": [0.1, 1.1, 1.1],
    "3, near singular": [0.05, 2.43, -2.43],
    "4, near singular": [0.004, 37.629, 37.629],
    "5 opposed": [0.02, 20.991, 20.447],
    "5 in camps": [0.17, 174.836, -20.324],
    "6 in camps": [0.01, 8.288, -5.626],
    "6, near singular": [0.007, 25.908, -16.704],
}


def test_edges_are_the_states_that_were_found() -> None:
    """Smallest eigenvalue of the correlations; sums of the means, with signs and without."""
    found = {}
    for label, (R, means) in bench.EDGES.items():
        matrix = np.array(R)
        assert np.array_equal(matrix, matrix.T)
        assert (np.diag(matrix) == 1.0).all()
        found[label] = (np.linalg.eigvalsh(matrix)[0], np.abs(means).sum(), np.sum(means))
        made = bench._edge(label)
        share = np.full(made.problem.K, 1.0 / made.problem.K)
        distance = best_response(made.problem, made.theta, share).value
        assert distance * made.problem.K * 200 == pytest.approx(2.0 * np.log(1e5))
    assert {label: [round(x, 3) for x in one] for label, one in found.items()} == EDGES
