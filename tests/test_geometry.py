"""Best response, GLR and T*: certificates recomputed, known values, refusals."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, linprog

from naive_response import Game, best_change, brute_force
from psips.errors import InputError
from psips.lab.instances import instance
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.theory import geometry
from psips.theory.geometry import Complexity, best_response, complexity, glr

KNOWN = [  # instance, parameters, T* and some weights, from another program
    ("correlated", {"rho": 0.0}, 121.0, {"arm 1": 0.28, "arm 2": 0.01, "arm 5": 0.25}),
    ("correlated", {"rho": -0.9}, 54.5, {}),
    ("correlated", {"rho": 0.9}, 164.5, {}),
    (
        "cov-boost",
        {},
        2045.0,
        {"ChAd/ChAd m1273": 0.39, "ChAd/ChAd BNT Half": 0.33, "BNT/BNT m1273": 0.14},
    ),
]


def game_of(made: Instance, w: np.ndarray) -> Game:
    """The same game for brute force, all objectives maximised."""
    problem = made.problem
    A = np.eye(problem.K) if problem.features is None else problem.features
    Z = A if problem.answer_features is None else problem.answer_features
    signs = np.outer(problem.signs, problem.signs)
    return Game(A, Z, problem.covariance * signs, problem.inward(made.theta), w)


def array_of(found: Complexity) -> np.ndarray:
    return np.array(list(found.weights.values()))


def small(seed: int, structure: str = "unstructured") -> Instance:
    """A random instance that brute force can take, with an objective to minimise."""
    rng = np.random.default_rng(seed)
    objectives = {"up": "max", "down": "min"}
    covariance = [[1.0, 0.4], [0.4, 2.0]]
    if structure == "unstructured":
        problem = Problem(objectives=objectives, covariance=covariance, arms=4)
        return Instance("small", problem, rng.normal(size=(4, 2)))
    answers = None
    if structure == "transductive":
        answers = ([f"z{i}" for i in range(5)], rng.normal(size=(5, 2)))
    problem = Problem(
        objectives=objectives,
        covariance=covariance,
        features=rng.normal(size=(5, 2)),
        answers=answers,
    )
    return Instance("small", problem, rng.normal(size=(2, 2)))


structures = st.sampled_from(["unstructured", "linear", "transductive"])


@given(structures, st.integers(0, 10**6))
def test_best_response_is_exact_and_in_the_users_orientation(structure: str, seed: int) -> None:
    made = small(seed, structure)
    problem = made.problem
    w = np.random.default_rng(seed).uniform(0.1, 2, problem.K)
    found = best_response(problem, made.theta, w)
    game = game_of(made, w)
    assert found.value == pytest.approx(brute_force(game), rel=1e-6, abs=1e-12)
    change = problem.inward(found.parameter - made.theta)
    assert game.cost(change) == pytest.approx(found.value, rel=1e-6)
    gains = np.array([found.gains[arm] for arm in problem.arms])
    assert w @ gains == pytest.approx(found.value, rel=1e-6)
    by_name = dict(zip(problem.arms, w, strict=True))
    assert glr(problem, made.theta, by_name) == found.value / 2
    assert found.answer in problem.answers
    assert set(found.rivals) <= set(problem.answers) - {found.answer}
    # A step beyond lambda, and the Pareto set is another.
    beyond = Instance("", problem, made.theta + 1.0001 * (found.parameter - made.theta))
    assert beyond.pareto_set != made.pareto_set


@given(structures, st.integers(0, 10**6))
@settings(max_examples=20)
def test_the_value_is_concave_with_these_gradients(structure: str, seed: int) -> None:
    made = small(seed, structure)
    rng = np.random.default_rng(seed)
    v, w = rng.dirichlet(np.ones(made.problem.K), 2)
    at = [best_response(made.problem, made.theta, x) for x in (v, w, (v + w) / 2, 3 * v)]
    low = (at[0].value + at[1].value) / 2
    assert at[2].value >= low * (1 - 1e-9)
    assert at[3].value == pytest.approx(3 * at[0].value)
    assert at[1].value <= w @ np.array(list(at[0].gains.values())) * (1 + 1e-9)


@pytest.mark.parametrize(("name", "params", "t_star", "weights"), KNOWN)
def test_known_values(
    name: str, params: dict[str, float], t_star: float, weights: dict[str, float]
) -> None:
    made = instance(name, **params)
    found = complexity(made.problem, made.theta)
    assert found.t_star == pytest.approx(t_star, rel=0.005)
    assert found.gap <= 0.001
    assert sum(found.weights.values()) == pytest.approx(1)
    assert min(found.weights.values()) >= 0
    for arm, weight in weights.items():
        assert found.weights[arm] == pytest.approx(weight, abs=0.015)
    assert found.pareto_set == made.pareto_set


@pytest.mark.parametrize(
    ("name", "seconds"), [("correlated", 0.5), ("cov-boost", 2), ("noc", 20)]
)
def test_quick(name: str, seconds: float) -> None:
    made = instance(name)
    complexity(made.problem, made.theta, tolerance=0.5)  # compiles
    start = time.perf_counter()
    found = complexity(made.problem, made.theta)
    assert time.perf_counter() - start < seconds
    assert found.gap <= 0.001


def cutting_planes(made: Instance, cuts: int) -> tuple[float, float]:
    """Naive twin: lower and upper bound of max F by brute force; steps half-way to the LP."""
    K = made.problem.K
    w = best_w = np.full(K, 1 / K)
    low, high, gains = 0.0, np.inf, []
    for _ in range(cuts):
        game = game_of(made, w)
        rows = game.A @ best_change(game)
        gains.append(np.einsum("ac,ce,ae->a", rows, np.linalg.inv(game.Sigma), rows))
        if w @ gains[-1] > low:
            low, best_w = w @ gains[-1], w
        found = linprog(
            np.append(np.zeros(K), -1),
            A_ub=np.column_stack([-np.array(gains), np.ones(len(gains))]),
            b_ub=np.zeros(len(gains)),
            A_eq=np.append(np.ones(K), 0)[None],
            b_eq=[1],
            bounds=[(0, None)] * K + [(None, None)],
        )
        high = min(high, found.x[K])
        w = (best_w + np.maximum(found.x[:K], 0) / found.x[:K].sum()) / 2
    return low, high


@pytest.mark.parametrize(
    "made",
    [
        instance("correlated", rho=0.5),
        small(1),
        small(2, "linear"),
        small(3, "transductive"),
        instance("random-gaussian", K=5, d=3, seed=4),
    ],
    ids=lambda made: made.name,
)
def test_the_gap_is_certified(made: Instance) -> None:
    found = complexity(made.problem, made.theta, tolerance=1e-4)
    lower, upper = 2 / ((1 + found.gap) * found.t_star), 2 / found.t_star
    assert brute_force(game_of(made, array_of(found))) >= lower * (1 - 1e-7)
    low, high = cutting_planes(made, 60)
    assert high / low - 1 < 2e-3  # or the twin says nothing
    assert low <= upper * (1 + 1e-7)
    assert high >= lower * (1 - 1e-7)


@pytest.mark.parametrize("means", [[1.0, 0.0], [1.0, 0.5, 0.0], [0.0, 2.0, 1.9, 1.0, -1.0]])
def test_best_arm_identification(means: list[float]) -> None:
    """d = 1 and variance 1: T* of Garivier and Kaufmann (2016), the root of one equation."""
    gaps = max(means) - np.sort(means)[:-1]

    def x(y: float) -> np.ndarray:  # pulls of each loser for one of the winner
        return y / (gaps**2 / 2 - y)

    top = (gaps**2 / 2).min()
    y = brentq(lambda y: np.sum((x(y)) ** 2) - 1, 1e-9 * top, top * (1 - 1e-9), xtol=1e-15)
    problem = Problem(objectives=["reward"], covariance=[1.0], arms=len(means))
    found = complexity(problem, np.array(means)[:, None], tolerance=1e-5)
    assert found.t_star == pytest.approx((1 + x(y).sum()) / y, rel=1e-4)
    assert max(found.weights.values()) == pytest.approx(1 / (1 + x(y).sum()), abs=1e-2)


def test_minimising_changes_nothing() -> None:
    made = instance("correlated", rho=0.5)
    theta = made.theta * [1, -1]
    flipped = Problem(
        objectives={"a": "max", "b": "min"}, covariance=[[1, -0.5], [-0.5, 1]], arms=5
    )
    ours = complexity(made.problem, made.theta)
    assert complexity(flipped, theta).t_star == pytest.approx(ours.t_star)


def test_units_and_spare_directions_of_features_do_not_matter() -> None:
    made = small(2, "linear")
    A = np.asarray(made.problem.features)[:, :2]  # besides the intercept
    B = np.array([[1e6, 0.0, 1e6], [0.0, 1e-6, 0.0]])  # three columns of rank two
    wide = Problem(
        objectives={"up": "max", "down": "min"},
        covariance=made.problem.covariance,
        features=A @ B,
    )
    theta = np.linalg.pinv(B) @ made.theta[:2]
    ours, theirs = (complexity(p, t) for p, t in ((made.problem, made.theta), (wide, theta)))
    assert theirs.t_star == pytest.approx(ours.t_star, rel=1e-3)


def test_lower_bounds() -> None:
    made = instance("cov-boost")
    found = complexity(made.problem, made.theta)
    for delta, bound in ((0.1, 3595), (0.01, 9211), (0.001, 14096)):
        assert found.lower_bound_kl(delta) == pytest.approx(bound, rel=0.005)
        assert found.lower_bound_log(delta) < found.lower_bound_kl(delta)
    assert found.lower_bound_log(0.1) == pytest.approx(found.t_star * np.log(1 / 0.24))
    assert found.lower_bound_kl(0.7) == found.lower_bound_log(0.7) == 0
    assert found.lower_bound_kl(1e-300) < found.t_star * 691
    assert found.hardness == pytest.approx(sum(g**-2 for g in found.gaps.values()))
    with pytest.raises(InputError, match="delta must lie strictly between 0 and 1"):
        found.lower_bound_kl(0.0)


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ([[1, 1], [1, 1], [0, 0]], "T\\* is infinite: 'arm [12]' is level with 'arm [12]'"),
        ([[1, 1], [1, 0], [-1, -1]], "T\\* is infinite: 'arm 2' is level with 'arm 1'"),
        ([[1, 1], [0, np.nan], [0, 0]], "must be finite"),
        ([[1, 1], [0, 0]], "one row per arm"),
    ],
)
def test_refused_truths(theta: list[list[float]], message: str) -> None:
    problem = Problem(objectives=["a", "b"], covariance=[1, 1], arms=3)
    with pytest.raises(InputError, match=message):
        complexity(problem, theta)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1], "there must be 3 weights, one per arm"),
        ([1, -1, 1], "the weight of 'arm 2' must be finite and at least 0"),
        ([0, 0, 0], "all weights are 0"),
        ({"arm 4": 1}, "unknown arm in the weights 'arm 4'"),
    ],
)
def test_refused_weights(weights: object, message: str) -> None:
    problem = Problem(objectives=["a"], covariance=[1], arms=3)
    with pytest.raises(InputError, match=message):
        best_response(problem, [[2], [1], [0]], weights)
    with pytest.raises(InputError, match="tolerance"):
        complexity(problem, [[2], [1], [0]], tolerance=0)


def test_arms_without_weight_cost_nothing_to_change() -> None:
    problem = Problem(objectives=["a"], covariance=[1], arms=3)
    assert best_response(problem, [[2], [1], [0]], {"arm 1": 1}).value < 1e-10
    made = instance("noc")
    assert best_response(made.problem, made.theta, {made.problem.arms[0]: 1}).value < 1e-8


def test_command() -> None:
    def run(*arguments: str) -> str:
        code = "import sys; sys.argv[0] = 'psips'; from psips.cli import main; main()"
        command = [sys.executable, "-c", code, "complexity", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    figures = json.loads(run("correlated", "--rho", "-0.9", "--delta", "0.05", "--json"))
    assert figures["t_star"] == pytest.approx(54.5, rel=0.005)
    assert figures["gap"] <= 0.01
    assert sum(figures["weights"].values()) == pytest.approx(1)
    assert set(figures["weights"]) == {f"arm {i}" for i in range(1, 6)}
    kl = 0.9 * np.log(19)
    assert figures["lower_bound_kl"] == pytest.approx(figures["t_star"] * kl)
    assert figures["lower_bound_log"] < figures["lower_bound_kl"]
    assert figures["pareto_set"] == ["arm 4", "arm 5"]
    out = run("noc-transductive")
    assert "T*" in out
    assert "share of pulls" in out


def test_costs_of_many_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cuts for single arms, which only many arms have, count costs as the others do."""
    rng = np.random.default_rng(8)
    costs, means = np.exp(rng.uniform(-2.0, 2.0, size=24)), rng.normal(size=(24, 2))
    problem = Problem(
        objectives=["x", "y"],
        covariance=[1.0, 1.0],
        arms=[f"a{k}" for k in range(24)],
        costs=costs.tolist(),
    )
    found = complexity(problem, means, tolerance=0.01)
    monkeypatch.setattr(geometry, "MANY", 25)
    without = complexity(problem, means, tolerance=0.01)
    assert found.t_star == pytest.approx(without.t_star, rel=0.011)
