"""The stopping rule 'predicted': sessions, snapshots, accounts, refusals, and its errors."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from psips import plots
from psips._core import CERTIFIED, testing
from psips.errors import InputError
from psips.lab.instances import instance
from psips.plots.history import evidence_over_time, history_of
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.problem.parameters import Ball
from psips.rules import STOPPING, Rules
from psips.rules.promises import promise
from psips.session import Session
from psips.session.verdicts import verdicts_of
from psips.simulation import simulate
from psips.simulation.environments import GaussianEnvironment, environment_of
from psips.state.account import LATE, RENEWED, SHARE

OTHERS = ["posterior", "projected", "uniform", "round-robin"]


def told(made: Instance, results: int, seed: int = 1, **rules: Any) -> tuple[Session, Any]:
    rng = np.random.default_rng(seed)
    session = Session(made.problem, rng=rng, stopping="predicted", **rules)
    trial = environment_of(made).start(rng)
    go_on(session, trial, results)
    return session, trial


def early_prediction() -> Session:
    """Return a session that predicted arm 1 of two after 40 results, on little evidence."""
    problem = Problem(objectives=["a"], covariance=[1], arms=2)
    for seed in range(100):
        session = Session(problem, stopping="predicted", rng=seed)
        for _ in range(20):  # not one judgement in between
            session.engine.learn(0, np.array([0.5]))
            session.engine.learn(1, np.array([0.0]))
        session.engine.judge()
        if session.engine.predictions.accounts:
            break
    return session


def go_on(session: Session, trial: Any, results: int) -> None:
    for _ in range(results):
        if session.stopped:
            break
        arm = session.ask()
        session.tell(arm, trial.pull(arm))


@pytest.mark.parametrize("sampling", ["directed", *OTHERS])
def test_a_run_is_a_session_asked_and_told(sampling: str) -> None:
    made = instance("correlated", rho=-0.9)
    rules = {"stopping": "predicted", "sampling": sampling}
    run = simulate(made.problem, environment_of(made), rng=4, **rules)
    session, _ = told(made, run.results, seed=4, sampling=sampling)
    assert session.stopped
    assert session.pulls == run.pulls
    assert session.pareto_set == run.pareto_set == made.pareto_set


@pytest.mark.parametrize("results", [3, 40, 250])
def test_a_snapshot_goes_on_to_the_bit(results: int) -> None:
    made = instance("correlated")
    session, trial = told(made, results)
    data = json.loads(json.dumps(session.snapshot()))
    twin = Session.restore(data)
    assert twin.ask(7) == session.ask(7)
    for _ in range(2000):
        if session.stopped:
            break
        arm, other = session.ask(), twin.ask()
        assert arm == other
        x = trial.pull(arm)
        session.tell(arm, x)
        twin.tell(arm, x)
        assert session.stopped == twin.stopped
    assert session.stopped
    assert json.dumps(twin.engine.predictions.snapshot()) == json.dumps(
        session.engine.predictions.snapshot()
    )


def test_what_is_judged_depends_on_what_was_told_alone() -> None:
    made = instance("correlated")
    session, _ = told(made, 5000)
    assert session.stopped
    replayed = Session(made.problem, rng=1, stopping="predicted", sampling="uniform")
    replayed.engine.key[:] = session.engine.key
    arms, rows = session.told
    for k, (arm, x) in enumerate(zip(arms, rows, strict=True)):
        assert not replayed.stopped
        if k % 3 == 0:
            replayed.ask(2)
        replayed.tell(made.problem.arms[arm], x)
    assert replayed.stopped
    assert replayed.engine.predictions.snapshot() == session.engine.predictions.snapshot()


def test_results_before_the_prediction_do_not_count() -> None:
    session = early_prediction()
    assert not session.stopped
    assert session.status().evidence["settled"] == 0
    for _ in range(30):
        session.tell("arm 1", [0.85])
        session.tell("arm 2", [0.0])
    assert session.stopped
    assert session.engine.account.settled.all()


def test_a_set_predicted_before_goes_on_with_its_account() -> None:
    problem = Problem(objectives=["a"], covariance=[1], arms=2)
    session = Session(problem, stopping="predicted", rng=1, delta=1e-9)
    engine = session.engine

    def tell(first: float, second: float, times: int) -> None:
        for _ in range(times):
            engine.learn(0, np.array([first]))
            engine.learn(1, np.array([second]))
        engine.judge()

    tell(1.0, 0.0, 30)
    tell(1.0, 0.0, 2)
    assert (len(engine.predictions.accounts), engine.predictions.active) == (1, 0)
    tell(-1.0, 0.0, 75)
    assert (len(engine.predictions.accounts), engine.predictions.active) == (2, 1)
    tell(2.0, 0.0, 70)
    assert (len(engine.predictions.accounts), engine.predictions.active) == (2, 0)
    assert engine.predictions.accounts[0].N1.tolist() == [30, 30]
    levels = [float(one.level[0]) for one in engine.predictions.accounts]
    shares = [(1 - CERTIFIED) * SHARE, (1 - CERTIFIED) * SHARE * (1 - SHARE)]
    assert levels == pytest.approx([math.log(1 / (1e-9 * p)) for p in shares])
    assert not session.stopped
    tell(2.0, 0.0, 100)
    assert session.stopped
    assert session.pareto_set == ("arm 1",)


def test_a_set_is_predicted_again_when_its_claims_look_false() -> None:
    """Otherwise a right set with a claim that is not true would never be proven."""
    problem = Problem(objectives=["a"], covariance=[1], arms=2)
    session = Session(problem, stopping="predicted", rng=1, delta=1e-9)
    engine = session.engine

    def tell(first: float, times: int) -> None:
        for _ in range(times):
            engine.learn(0, np.array([first]))
            engine.learn(1, np.array([0.0]))
        engine.judge()

    tell(0.45, 400)
    tell(-1.0, 3)
    assert len(engine.predictions.accounts) == 1
    tell(-1.0, 97)
    assert [one.inside.tolist() for one in engine.predictions.accounts] == [[True, False]] * 2
    assert engine.predictions.active == 1
    assert (
        engine.predictions.accounts[1].level[0] > engine.predictions.accounts[0].level[0] + 1.0
    )
    tell(1.0, 300)
    assert session.stopped
    assert engine.predictions.accounts[1].settled.all()
    assert not engine.predictions.accounts[0].settled.any()


def tied_witness() -> Instance:
    """Return arms of which the third is dominated by the first, and all but by the second."""
    problem = Problem(objectives=["a", "b"], covariance=[0.25, 0.25], arms=3)
    means = np.array([[0.61, 0.79], [0.71, 0.4555], [0.51, 0.4574]])
    return Instance("made", problem, means)


def test_an_account_with_a_witness_that_ties_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To prove that the second arm dominates the third would take for ever: it does not."""

    def longest(cap: int) -> int:
        made = tied_witness()
        runs = [
            simulate(
                made.problem,
                environment_of(made),
                rng=seed,
                stopping="predicted",
                max_results=cap,
            )
            for seed in range(40)
        ]
        assert {run.pareto_set for run in runs if run.stopped} == {made.pareto_set}
        return max(run.results for run in runs)

    assert longest(100_000) < 40_000
    monkeypatch.setattr("psips.session.predictions.PREDICTION_GROWTH", np.inf)
    assert longest(100_000) == 100_000


@pytest.mark.parametrize("name", ["linear-pair", "easy"])
def test_what_is_clear_at_once_is_not_predicted_again(name: str) -> None:
    """Though an account that takes a part of a result is late after one."""
    problem = Problem(objectives=["a"], covariance=[1], arms=3)
    easy = Instance("made", problem, np.array([[0.0], [5.0], [9.0]]))
    session, trial = told(easy if name == "easy" else instance(name), 2)
    go_on(session, trial, 20)
    assert session.stopped
    assert len(session.engine.predictions.accounts) <= 1
    assert session.results < 12


def test_an_account_is_kept_where_a_fresh_one_would_not_be_sooner() -> None:
    session, trial = told(instance("near-tie", gap=0.3), 10)
    engine = session.engine
    while not engine.predictions.accounts:
        go_on(session, trial, 1)
    account = engine.account
    account.due[:] = 0.0
    go_on(session, trial, 1)
    assert engine.account is account
    assert account.due[LATE] == 0.0
    assert account.due[RENEWED] > session.results
    twin = Session.restore(json.loads(json.dumps(session.snapshot())))
    assert twin.engine.account.due.tolist() == account.due.tolist()


def test_a_restored_session_has_the_verdicts_of_all_accounts() -> None:
    session, _ = told(instance("correlated"), 5000)
    engine = session.engine
    assert session.stopped
    account = engine.account
    assert account.size[0] == 0
    other = ~account.inside
    engine.predictions.turn_to(other, engine.belief.pulls, engine.belief.B, False)
    assert engine.account is not account
    twin = Session.restore(json.loads(json.dumps(session.snapshot())))
    kept = twin.engine.predictions.accounts[0]
    assert (kept.settled == account.settled).all()
    assert kept.size[0] == 0


def crowded(K: int = 80) -> Instance:
    """Return a quarter of the options on an arc, where many match, and the others below it."""
    rng = np.random.default_rng(7)
    angle = rng.uniform(0.0, np.pi / 2, K)
    radius = np.where(np.arange(K) < K // 4, 1.0, rng.uniform(0.2, 0.8, K))
    mu = np.stack([np.cos(angle), np.sin(angle)], 1) * radius[:, None]
    problem = Problem(objectives=["a", "b"], covariance=[0.01] * 2, arms=K, epsilon=0.1)
    return Instance("crowded", problem, mu)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_many_options_and_a_tolerance_take_few_accounts(seed: int) -> None:
    """The candidate set keeps changing, and an account for each would raise the level."""
    made = crowded()
    session, trial = told(made, 0, seed=seed)
    sets = set()
    while not session.stopped and session.results < 2000:
        go_on(session, trial, 1)
        if session.engine.predictions.accounts:
            sets.add(tuple(session.engine.front.inside))
    assert session.stopped
    assert len(session.engine.predictions.accounts) <= 3
    assert len(sets) > 10  # a set predicted is proven though the estimates have others
    assert made.is_right(session.pareto_set)
    status = session.status()
    assert status.candidate_set == session.pareto_set
    verdicts = {one.answer: one.verdict for one in verdicts_of(made.problem, session.engine)}
    assert {name for name, one in verdicts.items() if one == "in"} == set(session.pareto_set)
    assert set(verdicts.values()) == {"in", "out"}
    twin = Session.restore(json.loads(json.dumps(session.snapshot())))
    assert twin.stopped
    assert twin.pareto_set == session.pareto_set


def test_a_snapshot_goes_on_to_the_bit_with_a_tolerance() -> None:
    made = crowded(40)
    session, trial = told(made, 200)
    assert session.engine.predictions.accounts
    twin = Session.restore(json.loads(json.dumps(session.snapshot())))
    while not session.stopped:
        arm = session.ask()
        assert twin.ask() == arm
        x = trial.pull(arm)
        session.tell(arm, x)
        twin.tell(arm, x)
    assert twin.stopped
    assert twin.pareto_set == session.pareto_set
    assert twin.engine.predictions.snapshot() == session.engine.predictions.snapshot()


def test_a_snapshot_of_an_account_with_two_dates_is_read() -> None:
    session, _ = told(crowded(40), 200)
    data = json.loads(json.dumps(session.snapshot()))
    for one in data["engine"]["accounts"]:
        del one["due"][2:]
    twin = Session.restore(data)
    assert twin.engine.account.due.tolist()[:2] == session.engine.account.due.tolist()[:2]


def test_certificates_with_a_tolerance_are_searched_seldom() -> None:
    """One open comparison is remembered, also with an option that is no candidate."""
    session, trial = told(crowded(), 0, seed=2)
    engine = session.engine
    searches = open_rivals = 0
    for _ in range(700):
        go_on(session, trial, 1)
        hint = engine.account.hint
        if hint[1] >= 0.0:
            if hint[0] % 1.0 == 0.0:  # a search writes a whole number
                searches += 1
                hint[0] += 0.25
            known, settled = testing.certified(engine._search, 5.0, hint)
            assert not (known and settled)
            open_rivals += known
    assert not session.stopped
    assert open_rivals > 100
    assert 0 < searches < 20


def test_leaves_belong_to_the_option_outside_with_exact_metrics() -> None:
    """Options that an exact metric keeps from beating each other make no pair."""
    problem = Problem(
        objectives={
            "gain": "max",
            "speed": "max",
            "price": {"direction": "min", "kind": "exact"},
        },
        covariance={"gain": 1.0, "speed": 1.0},
        arms=4,
    )
    mu = np.array([[2.0, 0.0, 3.0], [0.0, 2.0, 2.0], [1.0, 1.0, 1.0], [-1.0, -1.0, 3.0]])
    session, _ = told(Instance("exact", problem, mu), 5000)
    assert session.stopped
    account = session.engine.account
    outside = np.flatnonzero(~account.inside)
    assert outside.tolist() == [3]
    leaves = account.owner == 3
    assert leaves.sum() == (account.z == 3).sum() > 0
    assert not account.inside[account.owner[leaves]].any()


def test_nothing_is_predicted_before_the_first_result() -> None:
    """Though a prior of features and a wide tolerance let all draws agree."""
    problem = Problem(
        objectives=["a"],
        covariance=[1.0],
        features=np.eye(2),
        intercept=False,
        regularization=1,
        epsilon=100,
    )
    session = Session(problem, stopping="predicted", rng=1)
    assert not session.engine.predictions.accounts


def test_batches_are_spread_over_the_claims() -> None:
    """One claim involves four arms at most."""
    session, _ = told(instance("cov-boost"), 2000)
    assert session.engine.account.size[0] > 1
    assert len(set(session.ask(200))) > 4


def test_status_history_plot_and_promise() -> None:
    session, trial = told(instance("correlated"), 20)
    known = session.status().evidence
    assert 0.0 <= known["fraction"] < 1.0
    go_on(session, trial, 5000)
    known = session.status().evidence
    assert known["fraction"] == 1.0
    assert 5 < known["settled"] <= known["claims"]
    found = evidence_over_time(history_of(session))
    assert found.curve is STOPPING["predicted"].curve
    assert found.value[-1] == pytest.approx(known["evidence"])
    assert found.threshold[-1] == pytest.approx(known["threshold"])
    assert found.value[0] == 0.0
    assert len(plots.evidence(session).get_lines()) == 2
    assert promise(session.rules, session.problem).startswith(
        "Proven: if the noise is Gaussian"
    )


@pytest.mark.parametrize("bound", [None, Ball(2.0)])
def test_linear_problems_need_no_bound(bound: Ball | None) -> None:
    """A run is a session asked and told, a snapshot goes on, and no verdict is left open."""
    features = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, -0.6], [0.1, 0.2]]
    theta = np.array([[1.0, -0.4], [0.2, 0.9]])
    problem = Problem(
        objectives=["a", "b"],
        covariance=[1.0, 0.5],
        features=features,
        parameter_set=bound,
        intercept=False,
    )
    made = Instance("made", problem, theta)
    run = simulate(problem, environment_of(made), rng=4, stopping="predicted")
    session, trial = told(made, run.results // 2, seed=4)
    twin = Session.restore(json.loads(json.dumps(session.snapshot())))
    while not session.stopped:
        arm = session.ask()
        assert twin.ask() == arm
        x = trial.pull(arm)
        session.tell(arm, x)
        twin.tell(arm, x)
    assert twin.stopped
    assert session.results == run.results
    assert session.pareto_set == run.pareto_set == made.pareto_set
    found = {one.answer: one.verdict for one in verdicts_of(problem, session.engine)}
    assert found == {a: "in" if a in made.pareto_set else "out" for a in problem.answers}


def test_refusals() -> None:
    with pytest.raises(InputError, match="cannot be combined with the sampling rule 'ape'"):
        Rules(stopping="predicted", sampling="ape")
    for calibration in ("sharp", "measured"):
        with pytest.raises(InputError, match="'predicted' has none to choose"):
            Rules(stopping="predicted", calibration=calibration)
    with pytest.raises(InputError, match="leave draws at 'first-hit'"):
        Rules(stopping="predicted", draws="literal")


@pytest.mark.parametrize(
    ("means", "delta"),
    [
        ([[0.0], [0.1]], 0.2),
        ([[0.0] * 6, [-0.3] * 6], 0.2),
        ([[0.0, 0.0], [-0.2, -0.2], [1.0, -1.0]], 0.2),
    ],
    ids=["near-tie", "worse in six", "among others"],
)
def test_errors_are_rare(means: list[list[float]], delta: float) -> None:
    d = len(means[0])
    problem = Problem(
        objectives=[f"o{c}" for c in range(d)], covariance=[1] * d, arms=len(means)
    )
    environment = GaussianEnvironment(problem, np.array(means))
    right = Instance("made", problem, np.array(means)).pareto_set
    wrong = 0
    for seed in range(150):
        run = simulate(problem, environment, rng=seed, stopping="predicted", delta=delta)
        wrong += run.pareto_set != right
    assert wrong <= 150 * delta
