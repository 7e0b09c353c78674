"""Simulations: the same run as by hand, honest at the cap, and right as often as stated."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from psips.errors import InputError
from psips.input.seeds import draw_key
from psips.lab.instances import instance
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.rules import Rules
from psips.session import Session
from psips.simulation import Run, Summary, play, simulate, simulate_many
from psips.simulation.environments import GaussianEnvironment, environment_of
from psips.theory.geometry import complexity

INSTANCES = [
    ("correlated", {"rho": -0.5}),
    ("cov-boost", {}),
    ("noc", {}),
    ("noc-transductive", {}),
    ("random-bernoulli", {"K": 6}),
    ("random-gaussian", {"K": 6, "d": 4}),
]
RULES: list[dict[str, Any]] = [
    {},
    {"sampling": "posterior"},
    {"tracking": "mixture", "stopping": "posterior", "calibration": "sharp"},
    {"sampling": "posterior", "draws": "literal"},
    {"sampling": "projected", "draws": "literal", "tracking": "mixture"},
    {"sampling": "projected"},
    {"sampling": "directed", "draws": "literal", "tracking": "mixture"},
    {"sampling": "uniform"},
    {"sampling": "round-robin"},
]


@pytest.mark.parametrize(
    "rules", RULES, ids=lambda r: " ".join(map(str, r.values())) or "default"
)
@pytest.mark.parametrize(("name", "params"), INSTANCES)
def test_same_run_as_by_hand(name: str, params: dict[str, Any], rules: dict[str, Any]) -> None:
    made = instance(name, **params)
    environment = environment_of(made)
    rng = np.random.default_rng(5)
    fused = Session(made.problem, rng=rng, **rules)
    run = play(fused, environment, draw_key(rng), max_results=400)

    rng = np.random.default_rng(5)
    session = Session(made.problem, rng=rng, **rules)
    trial = environment.start(rng)
    while not session.stopped and session.results < 400:
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
    assert json.dumps(fused.snapshot()) == json.dumps(session.snapshot())
    assert (run.stopped, run.results) == (session.stopped, session.results)
    assert (run.candidate_set, run.pareto_set) == (session.candidate_set, session.pareto_set)
    assert run.pulls == session.pulls
    whole = simulate(made.problem, environment, rng=5, max_results=400, **rules)
    assert replace(whole, seconds=0.0) == replace(run, seconds=0.0)


def test_slices_do_not_change_a_run() -> None:
    made = instance("correlated")
    environment = environment_of(made)
    seen: list[int] = []
    watched = simulate(
        made.problem, environment, rng=8, watch=lambda session: seen.append(session.results)
    )
    assert seen == sorted(set(seen))
    assert seen[-1] == watched.results
    sliced = Session(made.problem, rng=np.random.default_rng(8))
    rng = np.random.default_rng(8)
    draw_key(rng)
    seen.clear()
    run = play(
        sliced,
        environment,
        draw_key(rng),
        watch=lambda session: seen.append(session.results),
        every=10,
    )
    assert seen[:3] == [10, 20, 30]
    assert len(seen) == -(-run.results // 10)
    whole = simulate(made.problem, environment, rng=8)
    assert replace(run, seconds=0.0) == replace(whole, seconds=0.0)
    assert replace(watched, seconds=0.0) == replace(whole, seconds=0.0)


def test_the_cap_is_no_answer() -> None:
    made = instance("cov-boost")
    run = simulate(made.problem, environment_of(made), rng=1, max_results=50)
    assert not run.stopped
    assert run.pareto_set is None
    assert run.candidate_set
    assert run.results == sum(run.pulls.values()) == 50
    short = simulate(made.problem, environment_of(made), rng=1, max_results=7)
    assert (short.stopped, short.results, short.candidate_set) == (False, 7, ())


def test_never_stopping() -> None:
    made = instance("correlated")
    run = simulate(
        made.problem, environment_of(made), rng=1, max_results=3000, stopping="never"
    )
    assert (run.stopped, run.results) == (False, 3000)


def test_oracle_pulls_by_its_target() -> None:
    made = instance("correlated")
    target = [0.4, 0.1, 0.1, 0.2, 0.2]
    run = simulate(
        made.problem,
        environment_of(made),
        rng=1,
        max_results=1000,
        sampling="oracle",
        stopping="never",
        target=target,
    )
    np.testing.assert_allclose(list(run.pulls.values()), np.array(target) * 1000, atol=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_results": 0}, "max_results must be at least 1, got 0"),
        ({"max_results": 10.5}, "max_results must be a whole number, got 10.5"),
        ({"delta": 0}, "expected a number between 0 and 1"),
        ({"calibration": "provn"}, "unknown calibration 'provn': did you mean 'proven'?"),
        ({"sampling": "oracle"}, "needs the truth"),
    ],
)
def test_refusals(arguments: dict[str, Any], message: str) -> None:
    made = instance("correlated")
    with pytest.raises(InputError) as error:
        simulate(made.problem, environment_of(made), rng=1, **arguments)
    assert message in str(error.value)


def test_another_problems_environment() -> None:
    with pytest.raises(InputError, match="do not have the same arms"):
        simulate(instance("correlated").problem, environment_of(instance("cov-boost")), rng=1)


def test_wrong_noise_is_allowed() -> None:
    made = instance("correlated")
    assumed = Problem(
        name="assumed", arms=5, objectives=made.problem.objectives, covariance=[2.0, 2.0]
    )
    assert simulate(assumed, environment_of(made), rng=1).stopped


# Many runs.


def test_figures_do_not_depend_on_jobs() -> None:
    made = instance("correlated")
    alone, together = (simulate_many(made, runs=12, seed=3, jobs=jobs) for jobs in (1, 2))
    for one, other in zip(alone.each, together.each, strict=True):
        assert replace(one, seconds=0.0) == replace(other, seconds=0.0)
    children = np.random.SeedSequence(3).spawn(12)
    run = simulate(made.problem, environment_of(made), rng=children[7])
    assert replace(run, seconds=0.0) == replace(alone.each[7], seconds=0.0)
    assert len({run.results for run in alone.each}) > 1
    assert simulate_many(made, runs=2, seed=4).each[0].results != alone.each[0].results


def fake(stopped: bool, found: tuple[str, ...], results: int) -> Run:
    return Run(
        stopped,
        found,
        found if stopped else None,
        results,
        float(results),
        {"A": results - 1, "B": 1},
        6,
        2,
        1e-3,
    )


A_IS_BEST = Instance(
    "two",
    Problem(objectives=["y"], covariance=[1], arms=["A", "B"]),
    np.array([[1.0], [0.0]]),
)


def test_summary_against_naive_figures() -> None:
    each = (
        fake(True, ("A",), 10),
        fake(True, ("B",), 20),
        fake(False, ("B",), 50),
        fake(True, ("A",), 12),
    )
    figures = Summary(each, A_IS_BEST, 0.5, {"seed": 1}).to_dict()
    assert (figures["runs"], figures["stopped"], figures["errors"]) == (4, 3, 1)
    assert figures["mean_samples"] == 23.0
    assert figures["median_samples"] == 16.0
    assert figures["sd_samples"] == pytest.approx(np.std([10, 20, 50, 12], ddof=1))
    assert figures["mean_pulls"] == {"A": 22.0, "B": 1.0}
    assert figures["us_per_round"] == pytest.approx(4e3 / 92)
    assert figures["proposals_per_round"] == pytest.approx((24 + 8) / 92)
    assert figures["seconds"] == 0.5
    assert figures["settings"] == {"seed": 1}


@pytest.mark.parametrize(("errors", "runs"), [(0, 30), (3, 30), (30, 30)])
def test_error_interval(errors: int, runs: int) -> None:
    each = tuple(fake(True, ("B",) if i < errors else ("A",), 5) for i in range(runs))
    expected = binomtest(errors, runs).proportion_ci(0.95, "exact")
    found = Summary(each, A_IS_BEST, 1.0, {}).error_interval
    assert found == pytest.approx((expected.low, expected.high))


def test_error_interval_when_nothing_stopped() -> None:
    assert Summary((fake(False, ("A",), 5),), A_IS_BEST, 1.0, {}).error_interval == (0.0, 1.0)


def test_settings_repeat_the_runs() -> None:
    made = instance("random-gaussian", K=4, seed=9)
    seen: list[Run] = []
    summary = simulate_many(
        made, runs=3, seed=5, max_results=5000, delta=0.02, progress=seen.append
    )
    assert sorted(run.results for run in seen) == sorted(summary.samples)
    settings = json.loads(json.dumps(summary.to_dict()))["settings"]
    again = simulate_many(
        instance(settings["instance"], **settings["params"]),
        runs=settings["runs"],
        seed=settings["seed"],
        max_results=settings["max_samples"],
        rules=Rules.from_dict(settings["rules"]),
    )
    assert again.samples.tolist() == summary.samples.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": 0}, "runs must be a whole number of at least 1, got 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"jobs": 0}, "jobs must be a whole number of at least 1, got 0"),
        ({"max_results": 0}, "max_results must be at least 1"),
    ],
)
def test_many_refusals(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        simulate_many(instance("correlated"), **arguments)
    assert message in str(error.value)


# What the method is to achieve.


def test_correlation_as_in_the_paper() -> None:
    independent = simulate_many(
        instance("correlated"), runs=500, jobs=2, delta=0.01, sampling="posterior"
    )
    opposed = simulate_many(
        instance("correlated", rho=-0.9), runs=200, jobs=2, delta=0.01, sampling="posterior"
    )
    for summary in (independent, opposed):
        assert summary.stopped == summary.runs
        assert summary.errors <= summary.runs / 100
    assert 450 <= independent.samples.mean() <= 1300
    assert independent.samples.mean() / opposed.samples.mean() >= 1.6


def test_a_rule_that_stops_too_early_is_seen() -> None:
    """The count of errors does see a stopping rule that makes far too few draws."""
    summary = simulate_many(
        instance("correlated"),
        runs=200,
        jobs=2,
        delta=0.01,
        stopping="posterior",
        calibration="sharp",
        tuning={"kappa": 0.002},
    )
    assert summary.errors > 5


@pytest.mark.parametrize("sampling", ["directed", "projected", "posterior"])
@pytest.mark.parametrize("name", ["noc", "noc-transductive"])
def test_network_on_chip(name: str, sampling: str) -> None:
    made = instance(name)
    summary = simulate_many(made, runs=6, jobs=2, seed=1, delta=0.1, sampling=sampling)
    assert len(made.pareto_set) == 4
    assert summary.stopped == 6
    assert summary.errors == 0


def best_arm(linear: bool) -> Instance:
    if not linear:
        problem = Problem(objectives=["reward"], covariance=[1.0], arms=5)
        return Instance("best arm", problem, np.array([[0.0], [0.3], [1.0], [0.5], [0.2]]))
    angles = np.linspace(0, np.pi / 2, 5)
    problem = Problem(
        objectives={"cost": "min"},
        covariance=[1.0],
        arms=5,
        features=np.column_stack([np.cos(angles), np.sin(angles)]),
    )
    return Instance("best arm", problem, np.array([[1.0], [-0.5]]))


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("sampling", ["directed", "projected", "posterior"])
def test_one_objective_is_best_arm_identification(sampling: str, linear: bool) -> None:
    made = best_arm(linear)
    best = np.argmax(made.problem.inward(made.means)[:, 0])
    assert made.pareto_set == (made.problem.answers[best],)
    summary = simulate_many(made, runs=100, jobs=2, delta=0.05, sampling=sampling)
    assert summary.stopped == 100
    assert summary.errors <= 5
    assert all(len(run.candidate_set) == 1 for run in summary.each)


def test_gaussian_environment_is_what_an_instance_means() -> None:
    made = instance("rotated")
    direct = GaussianEnvironment(made.problem, made.theta)
    one = simulate(made.problem, direct, rng=2)
    other = simulate(made.problem, environment_of(made), rng=2)
    assert replace(one, seconds=0.0) == replace(other, seconds=0.0)


def test_oracle_pulls_by_the_optimal_weights() -> None:
    made = instance("correlated", rho=0.0)
    summary = simulate_many(made, runs=4, seed=1, sampling="oracle", delta=0.01)
    optimal = complexity(made.problem, made.theta).weights
    pulls = summary.to_dict()["mean_pulls"]
    total = sum(pulls.values())
    for arm, weight in optimal.items():
        assert pulls[arm] / total == pytest.approx(weight, abs=0.03)


def test_the_directed_rule_needs_fewer_samples() -> None:
    """Than the projected one, on the same noise; than the published one, by far."""
    means = {}
    for sampling in ("directed", "projected", "posterior"):
        each = [
            simulate_many(
                instance("random-gaussian", K=10, d=4, seed=seed),
                runs=5,
                jobs=2,
                sampling=sampling,
                stopping="posterior",
                calibration="sharp",
            )
            for seed in range(10)
        ]
        means[sampling] = np.mean([one.samples.mean() for one in each])
        assert sum(one.errors for one in each) <= 2
    assert means["directed"] < 0.9 * means["projected"] < 0.75 * means["posterior"]
