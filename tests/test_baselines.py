"""Baselines: against slow twins, a run against a session, refusals, reference figures."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

import naive_baselines as slow
from psips.errors import InputError
from psips.input.seeds import draw_key
from psips.lab.instances import instance
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.rules import SAMPLING, Rules
from psips.session import Session
from psips.simulation import simulate, simulate_many
from psips.simulation.environments import GaussianEnvironment, environment_of
from psips.theory.geometry import best_response, complexity

LINE = Instance(
    "line",
    Problem(objectives=["y"], covariance=[4.0], arms=5, name="line"),
    np.array([[0.0], [1.0], [2.5], [2.0], [1.9]]),
)
SCALED = Problem(objectives={"a": "max", "b": "min"}, covariance=[4.0, 0.25], arms=6)
MEANS = np.array([[0.0, 0.0], [2.0, 0.4], [4.0, 1.2], [1.5, 0.6], [3.5, 1.4], [4.2, 1.9]])


def made(sampling: str) -> Instance:
    return LINE if sampling == "top-two" else Instance("scaled", SCALED, MEANS)


def by_hand(one: Instance, seed: int, cap: int, **rules: Any) -> tuple[list[str], Session]:
    rng = np.random.default_rng(seed)
    session = Session(one.problem, rng=rng, **rules)
    trial = environment_of(one).start(rng)
    asked = []
    while not session.stopped and len(asked) < cap:
        asked.append(session.ask())
        session.tell(asked[-1], trial.pull(asked[-1]))
    return asked, session


def pulls_of(one: Instance, seed: int) -> Any:
    """Results by arm number, in the kernels' orientation, as a session of that seed sees."""
    rng = np.random.default_rng(seed)
    draw_key(rng)
    trial = environment_of(one).start(rng)
    problem = one.problem

    def pull(arm: int) -> Any:
        return problem.inward(trial.pull(problem.arms[arm]))

    return pull


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["scaled", "correlated", "line"])
def test_ape_is_its_twin(name: str, seed: int) -> None:
    one = {"scaled": made("ape"), "line": LINE}.get(name) or instance(name)
    sd = np.sqrt(np.diag(one.problem.covariance))
    asked, session = by_hand(one, seed, 400, sampling="ape", delta=0.2)
    K = one.problem.K
    twin, answer = slow.ape(pulls_of(one, seed), K, sd, 0.2, len(asked))
    assert [one.problem.arms[a] for a in twin] == asked
    assert session.candidate_set == tuple(one.problem.answers[a] for a in answer)
    broken, _ = slow.ape(pulls_of(one, seed), K, sd, 0.2, len(asked), sign=-1.0)
    assert broken != twin


def test_ape_stops_when_its_twin_does() -> None:
    one = made("ape")
    asked, session = by_hand(one, 3, 20000, sampling="ape")
    sd = np.sqrt(np.diag(one.problem.covariance))
    twin, answer = slow.ape(pulls_of(one, 3), 6, sd, 0.1, 20000)
    assert (session.stopped, len(asked)) == (True, len(twin))
    assert session.pareto_set == tuple(one.problem.answers[a] for a in answer)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["scaled", "line"])
def test_elimination_is_its_twin(name: str, seed: int) -> None:
    one = LINE if name == "line" else made("elimination")
    sd = np.sqrt(np.diag(one.problem.covariance))
    asked, session = by_hand(one, seed, 10**5, sampling="elimination", delta=0.2)
    twin, accepted = slow.elimination(pulls_of(one, seed), one.problem.K, sd, 0.2)
    assert [one.problem.arms[a] for a in twin] == asked
    assert session.pareto_set == tuple(one.problem.answers[a] for a in accepted)


def test_an_elimination_that_forgets_whom_it_needs_is_caught() -> None:
    one = made("elimination")
    sd = np.sqrt(np.diag(one.problem.covariance))
    right, broken = (
        slow.elimination(pulls_of(one, 1), 6, sd, 0.2, keep=keep)[0] for keep in (True, False)
    )
    assert right != broken


def test_the_answer_of_an_elimination_is_what_it_accepted() -> None:
    _, session = by_hand(made("elimination"), 1, 10**5, sampling="elimination")
    accepted = session.pareto_set
    assert session.status().evidence == {"settled": 6.0, "answers": 6.0, "fraction": 1.0}
    for _ in range(200):
        session.tell(SCALED.arms[0], [99, -99])
    assert session.stopped
    assert session.pareto_set == accepted


def test_elimination_goes_round_in_batches() -> None:
    session = Session(SCALED, sampling="elimination", rng=1)
    arms = list(SCALED.arms)
    assert session.ask(6) == arms
    assert session.ask(7) == [*arms, arms[0]]
    for arm, mean in zip(arms, MEANS, strict=True):
        session.tell(arm, mean)
    assert session.engine.baseline.rounds[0] == 1


def test_elimination_under_another_stopping_rule_ends_as_round_robin() -> None:
    one = made("elimination")
    session = Session(one.problem, sampling="elimination", stopping="never", rng=1)
    for a, mean in enumerate(one.problem.inward(MEANS)):  # without noise all is soon decided
        for _ in range(8000):
            session.engine.learn(a, mean)
    session.engine.judge()
    assert session.ask(12) == [*one.problem.arms, *one.problem.arms]
    assert (session.engine.baseline.standing > 0).all()


@pytest.mark.parametrize("sampling", ["ege-sr", "ege-sh"])
@pytest.mark.parametrize("name", ["scaled", "line", "correlated"])
def test_empirical_gap_elimination_is_its_twin(name: str, sampling: str) -> None:
    one = {"scaled": made("ape"), "line": LINE}.get(name) or instance(name)
    sd = np.sqrt(np.diag(one.problem.covariance))
    K, halving = one.problem.K, sampling == "ege-sh"
    caught = 0
    for seed, budget in itertools.product(range(3), (60, 157)):
        asked, session = by_hand(one, seed, 10**5, sampling=sampling, budget=budget)
        twin, found = slow.ege(pulls_of(one, seed), K, sd, budget, halving)
        assert [one.problem.arms[a] for a in twin] == asked
        assert len(asked) <= budget
        assert session.pareto_set == tuple(one.problem.answers[a] for a in found)
        broken = slow.ege(pulls_of(one, seed), K, sd, budget, halving, dropped_first=False)
        caught += broken != (twin, found)
    assert caught > 0 or halving  # halves seldom part a pair


def test_a_rule_that_divides_a_budget_needs_one() -> None:
    with pytest.raises(InputError, match=r"'ege-sh' divides a budget: give one"):
        Session(SCALED, sampling="ege-sh")
    dear = Problem.from_dict({**SCALED.to_dict(), "costs": [2.0] * 6})
    with pytest.raises(InputError, match="has no use for costs"):
        Session(dear, sampling="ege-sr", budget=60)


def test_track_and_stop_climbs_the_gradient() -> None:
    for one in (instance("correlated", rho=-0.5), linear()):
        rng = np.random.default_rng(2)
        session = Session(one.problem, rng=rng, sampling="track-and-stop")
        trial = environment_of(one).start(rng)
        logs, t = np.zeros(one.problem.K), 0
        for _ in range(60):
            engine = session.engine
            if session.candidate_set:
                w = np.exp(logs) / np.exp(logs).sum()
                theta = one.problem.outward(engine.belief.theta)
                if not one.problem.unstructured:
                    theta = one.problem.coordinates.basis @ theta
                gains = np.array(list(best_response(one.problem, theta, w).gains.values()))
                t += 1
                logs = slow.ascent_step(logs, gains, t)
            arm = session.ask()
            np.testing.assert_allclose(engine.baseline.logs, logs, rtol=1e-6, atol=1e-6)
            session.tell(arm, trial.pull(arm))


def linear() -> Instance:
    problem = Problem(
        objectives=["a", "b"],
        covariance=[1, 1],
        features=[[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [0.2, 0.3]],
        name="linear",
    )
    return Instance("linear", problem, np.array([[1.0, -0.5], [-0.5, 1.0]]))


def test_track_and_stop_goes_to_the_optimal_weights() -> None:
    one = instance("correlated")
    run = simulate(
        one.problem,
        environment_of(one),
        rng=1,
        sampling="track-and-stop",
        stopping="never",
        max_results=40000,
    )
    best = complexity(one.problem, one.theta)
    shares = np.array(list(run.pulls.values())) / run.results
    found = best_response(one.problem, one.theta, shares).value
    assert found > 0.93 * 2 / best.t_star


def test_top_two_draws_the_challenger_by_its_law() -> None:
    means = np.array([0.0, 0.6, 0.9, 0.3])
    problem = Problem(objectives=["y"], covariance=[1.0], arms=4)
    session = Session(problem, sampling="top-two", stopping="never", rng=5)
    N = np.array([3, 5, 40, 8])
    for a in range(4):
        for _ in range(N[a]):
            session.engine.learn(a, means[a : a + 1])
    session.engine.judge()
    draws = 40000
    asked = np.bincount([session.engine.choose() for _ in range(draws)], minlength=4) / float(
        draws
    )
    rng, spread = np.random.default_rng(1), 1 / np.sqrt(N)
    leads = (means + spread * rng.standard_normal((draws, 4))).argmax(axis=1)
    first = np.bincount(leads, minlength=4) / draws
    second = sum(
        first[a] * slow.challenger_law(means, spread, a, rng, 400_000) for a in range(4)
    )
    law = (first + second) / 2
    error = np.abs(asked - law).max()
    assert error < 0.012
    assert np.abs(asked - first).max() > 0.05  # Thompson sampling would be caught


FUSED: list[dict[str, Any]] = [
    {"sampling": "ape"},
    {"sampling": "elimination"},
    {"sampling": "ege-sh", "budget": 300},
    {"sampling": "track-and-stop"},
    {"sampling": "track-and-stop", "stopping": "ape"},
    {"sampling": "uniform", "stopping": "ape"},
    {"sampling": "ape", "stopping": "posterior"},
    {"sampling": "elimination", "stopping": "posterior"},
    {"sampling": "track-and-stop", "stopping": "posterior"},
    {"sampling": "top-two"},
    {"sampling": "ape", "stopping": "certified"},
    {"sampling": "track-and-stop", "stopping": "bayes"},
    {"sampling": "elimination", "stopping": "glr"},
    {"sampling": "projected", "stopping": "ape"},
]


@pytest.mark.parametrize("rules", FUSED, ids=lambda r: " ".join(map(str, r.values())))
def test_a_run_is_a_session_asked_and_told(rules: dict[str, Any]) -> None:
    one = made(rules["sampling"])
    run_rng = np.random.default_rng(8)
    run = simulate(one.problem, environment_of(one), rng=run_rng, max_results=300, **rules)
    asked, session = by_hand(one, 8, 300, **rules)
    assert (run.pulls, run.stopped) == (session.pulls, session.stopped)
    assert run.candidate_set == session.candidate_set
    assert run.results == len(asked)


@pytest.mark.parametrize("rules", FUSED[:10], ids=lambda r: " ".join(map(str, r.values())))
def test_snapshot_then_go_on_to_the_bit(rules: dict[str, Any]) -> None:
    one = made(rules["sampling"])
    _, session = by_hand(one, 4, 60, **rules)
    session.ask(3)
    twin = Session.restore(json.loads(json.dumps(session.snapshot())))
    trial = environment_of(one).start(6)
    for _ in range(40):
        arms = session.ask(2)
        assert twin.ask(2) == arms
        for arm in reversed(arms):
            x = trial.pull(arm)
            session.tell(arm, x)
            twin.tell(arm, x)
    assert json.dumps(twin.snapshot()) == json.dumps(session.snapshot())


def test_track_and_stop_in_a_linear_problem() -> None:
    one = linear()
    environment = GaussianEnvironment(one.problem, one.theta)
    run = simulate(one.problem, environment, rng=1, sampling="track-and-stop")
    assert run.pareto_set == one.pareto_set


def test_stopping_rules_come_with_the_sampling_rule() -> None:
    own = {name: Rules(sampling=name).stopping for name in SAMPLING}
    assert own == {
        **dict.fromkeys(SAMPLING, "glr"),
        "posterior": "posterior",
        "top-two": "posterior",
        "ape": "ape",
        "elimination": "elimination",
        "ege-sr": "ege-sr",
        "ege-sh": "ege-sh",
        "two-stage": "two-stage",
    }
    assert Rules(sampling="ape", stopping="glr").stopping == "glr"
    assert Rules.from_dict(Rules(sampling="ape").to_dict()) == Rules(sampling="ape")


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            {"stopping": "elimination"},
            "'elimination' belongs to the sampling rule .elimination.",
        ),
        ({"sampling": "ape", "calibration": "proven"}, "choose stopping='posterior', 'glr' or"),
        ({"sampling": "ape", "calibration": "sharp"}, "the rule 'ape' has 'heuristic'"),
        (
            {"sampling": "track-and-stop", "draws": "literal"},
            "'track-and-stop' is not part",
        ),
    ],
)
def test_refused_whatever_the_problem(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Rules(**rules)


@pytest.mark.parametrize(
    ("rules", "one", "message"),
    [
        ({"sampling": "ape"}, linear(), "the rule 'ape' compares arms measured one by one"),
        (
            {"sampling": "elimination", "stopping": "glr"},
            linear(),
            "the rule 'elimination' comp",
        ),
        ({"stopping": "ape"}, linear(), "the rule 'ape' compares arms measured one by one"),
        ({"sampling": "top-two"}, linear(), r"has 2 objective\(s\), with features"),
        ({"sampling": "top-two"}, made("ape"), r"this problem has 2 objective\(s\)$"),
    ],
)
def test_refused_for_the_problem(rules: dict[str, Any], one: Instance, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Session(one.problem, **rules)


# APE: what others measured (here it is the published method). Elimination and Track-and-Stop:
# our own means; others measured 15,581, and 12,790 to 17,910.
REFERENCE = {"ape": 16581, "elimination": 17278, "track-and-stop": 15345}


@pytest.mark.parametrize("sampling", REFERENCE)
def test_samples_on_cov_boost(sampling: str) -> None:
    found = simulate_many(instance("cov-boost"), runs=12, sampling=sampling)
    figures = found.to_dict()
    assert figures["errors"] == 0
    assert figures["stopped"] == 12
    assert figures["mean_samples"] == pytest.approx(REFERENCE[sampling], rel=0.35)


def test_elimination_keeps_its_word_on_a_staircase() -> None:
    """Nine near ties, correlated: without a share of delta for each arm half the runs err."""
    steps = 0.2 * np.arange(10.0)
    problem = Problem(
        objectives=["a", "b"], covariance=[[1.0, 0.9], [0.9, 1.0]], arms=10, name="staircase"
    )
    one = Instance("staircase", problem, np.column_stack([steps, -steps]))
    found = simulate_many(one, runs=120, sampling="elimination", max_results=60_000)
    assert found.to_dict()["errors"] <= 12
