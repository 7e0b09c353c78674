"""Arms with features whose noise is estimated, differs, or with missing values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips import InputError, NoiseGuess, Problem, Session, Study, simulate
from psips._core import respond, students_share
from psips.diagnostics.lack_of_fit import fit_of
from psips.report import report
from psips.session.joint import JointEngine
from psips.session.preference import posterior
from psips.simulation.environments import GaussianEnvironment

PLACES = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, -1.0], [0.5, 2.0], [-1.0, 0.3]])
THETA = np.array([[1.0, -0.5], [0.4, 0.9], [3.0, 1.0]])  # the last row is the intercept
SIGMA = np.array([[0.5, -0.3], [-0.3, 0.4]])
EACH = np.array([(0.5 + 0.5 * a) * SIGMA for a in range(6)])
COSTS = [1.0, 2.0, 1.0, 3.0, 1.0, 1.5]


def make(covariance: Any = None, **more: Any) -> Problem:
    given = {"objectives": ["x", "y"], "features": PLACES, **more}
    return Problem(covariance=covariance, **given)


def truth() -> GaussianEnvironment:
    return GaussianEnvironment(make(SIGMA), THETA)


def told(session: Session, results: int, seed: int, missing: float = 0.0) -> Any:
    """Follow a session for so many results; return arms and values, NaN where missing."""
    rng = np.random.default_rng(seed)
    trial = truth().start(seed)
    arms, values = [], []
    for _ in range(results):
        arm = session.ask()
        x = trial.pull(arm)
        gone = rng.random(2) < missing
        gone[rng.integers(2)] &= not gone.all()
        x[gone] = np.nan
        session.tell(arm, [None if np.isnan(v) else float(v) for v in x])
        arms.append(session.problem.arm_index(arm))
        values.append(x)
    return np.array(arms), np.array(values)


def least_squares(arms: Any, values: Any) -> tuple[Any, Any]:
    """Fit by hand, with an intercept: theta and the covariance of the residuals."""
    rows = np.column_stack([PLACES, np.ones(6)])[arms]
    theta = np.linalg.lstsq(rows, values, rcond=None)[0]
    rest = values - rows @ theta
    return theta, rest.T @ rest / (len(rest) - 3)


def dense(arms: Any, values: Any, covariances: Any) -> tuple[Any, Any]:
    """Means (6, 2) of the arms and their covariances, by one system of all values seen."""
    rows = np.column_stack([PLACES, np.ones(6)])
    design, blocks, right = [], [], []
    for arm, x in zip(arms, values, strict=True):
        seen = np.isfinite(x)
        design.append(np.kron(rows[arm], np.eye(2))[seen])
        blocks.append(np.linalg.inv(covariances[arm][np.ix_(seen, seen)]))
        right.append(x[seen])
    D = np.vstack(design)
    W = np.zeros((len(D), len(D)))
    at = 0
    for block in blocks:
        W[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    V = np.linalg.inv(D.T @ W @ D)
    wide = np.kron(rows, np.eye(2))
    means = (wide @ V @ D.T @ W @ np.concatenate(right)).reshape(6, 2)
    whole = (wide @ V @ wide.T).reshape(6, 2, 6, 2)
    return means, np.array([whole[a, :, a] for a in range(6)])


# ---------------------------------------------------------------- noise that is estimated


def test_the_noise_is_that_of_the_residuals() -> None:
    session = Session(make(), rng=1, stopping="never")
    arms, values = told(session, 60, 2)
    _, S = least_squares(arms, values)
    found = session.engine.Sigma
    assert np.diag(found) == pytest.approx(np.diag(S))
    assert found[0, 1] == pytest.approx(S[0, 1] * 57 / (57 + 3))  # drawn towards 0
    share = students_share(60 - 3 - 1.0, session.engine.belief.noise_estimate.level[0])
    assert session.engine._search.posterior.Sigma == pytest.approx(share * found)
    assert pytest.approx(np.linalg.inv(share * found)) == session.engine._search.posterior.P
    row = session.status().noise.loc["all arms"]
    assert row["x sd"] == pytest.approx(S[0, 0] ** 0.5)
    assert row["x sd low"] < row["x sd"] < row["x sd high"]
    assert row["correlation of x and y"] == pytest.approx(S[0, 1] / (S[0, 0] * S[1, 1]) ** 0.5)


def test_first_pulls_span_and_leave_degrees_of_freedom() -> None:
    session, trial = Session(make(), rng=1), truth().start(2)
    arms = session.ask(6)
    assert len(set(arms[:3])) == 3
    for arm in arms[:4]:  # 3 for the features, 2 for the objectives
        session.tell(arm, trial.pull(arm))
    status = session.status()
    assert session.candidate_set == ()
    assert status.not_known == "too few results to know the noise: nothing is judged yet"
    assert status.not_known in str(status)
    assert status.evidence["threshold"] is None
    session.tell(arms[4], trial.pull(arms[4]))
    assert session.candidate_set
    assert session.status().not_known == ""


def test_results_that_lie_on_the_fit_tell_no_noise() -> None:
    session = Session(make(), rng=1)
    rows = np.column_stack([PLACES, np.ones(6)])
    for arm in session.problem.arms * 2:
        x = rows[session.problem.arm_index(arm)] @ [2.0, 1.0, 5.0]
        session.tell(arm, [float(x), float(session.results % 3)])
    assert session.candidate_set == ()
    assert "all results lie on the linear fit" in session.status().not_known
    guessed = Session(make(noise_guess=NoiseGuess([1.0, 1.0], 2)), rng=1)
    for arm in session.problem.arms:
        guessed.tell(arm, [2.0, 1.0])
    assert guessed.candidate_set


@pytest.mark.parametrize(
    "more", [{}, {"regularization": 0.1}, {"answers": (list("pq"), [[1.0, 2.0], [2.0, 1.0]])}]
)
def test_by_hand_and_compiled_alike(more: Any) -> None:
    problem = make(**more)
    rng = np.random.default_rng(3)
    session = Session(problem, rng=rng)
    environment = GaussianEnvironment(make(SIGMA, **more), THETA)
    trial = environment.start(rng)
    while not session.stopped:
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
    run = simulate(problem, environment, rng=3)
    assert run.pareto_set == session.pareto_set
    assert run.pulls == session.pulls


@pytest.mark.parametrize(
    ("covariance", "more"),
    [
        (EACH, {}),
        (SIGMA, {"partial": True}),
        (None, {"partial": True}),
        (EACH, {"costs": COSTS}),
    ],
    ids=["each", "partial", "estimated", "costs"],
)
def test_a_run_of_the_joint_engine_is_one_by_hand(covariance: Any, more: Any) -> None:
    """The engine's own run against asks, pulls and judgements one by one, and a dense fit."""
    problem = make(covariance, **more)
    given = EACH if covariance is EACH else SIGMA
    environment = GaussianEnvironment(make(given), THETA)
    for most in (40, 5000):
        run = simulate(problem, environment, rng=3, max_results=most)
        rng = np.random.default_rng(3)
        session = Session(problem, rng=rng)
        trial = environment.start(rng)
        arms, values = [], []
        while not session.stopped and session.results < most:
            arm = session.ask()
            arms.append(problem.arm_index(arm))
            values.append(trial.pull(arm))
            session.tell(arm, values[-1])
        engine = session.engine
        assert isinstance(engine, JointEngine)
        assert (run.stopped, run.results) == (session.stopped, len(arms))
        assert (
            run.pulls
            == session.pulls
            == dict(zip(problem.arms, np.bincount(arms, minlength=6).tolist(), strict=True))
        )
        assert run.pareto_set == session.pareto_set
        means, C = dense(arms, values, np.broadcast_to(engine.noise, (6, 2, 2)))
        assert engine.model.Z @ engine.belief.theta == pytest.approx(means, rel=1e-6)
        assert engine.covariances() == pytest.approx(C, rel=1e-6, abs=1e-12)
    assert run.stopped
    assert run.results > 40


def test_a_run_of_the_joint_engine_keeps_its_budget() -> None:
    problem = make(EACH, costs=COSTS)
    environment = GaussianEnvironment(problem, THETA)
    run = simulate(problem, environment, rng=3, budget=45.0)
    spent = sum(run.pulls[arm] * cost for arm, cost in zip(problem.arms, COSTS, strict=True))
    assert not run.stopped
    assert 45.0 - max(COSTS) < spent <= 45.0


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("covariance", [None, SIGMA, EACH])
def test_a_snapshot_goes_on_to_the_bit(covariance: Any, missing: float) -> None:
    problem = make(covariance, partial=missing > 0)
    session = Session(problem, rng=1, stopping="never")
    told(session, 40, 2, missing)
    twin = Session.restore(json.loads(json.dumps(session.snapshot())))
    rng = np.random.default_rng(4)
    for _ in range(20):
        arm = session.ask()
        assert twin.ask() == arm
        x = rng.normal(size=2)
        values = [float(x[0]), None if rng.random() < missing else float(x[1])]
        session.tell(arm, values)
        twin.tell(arm, values)
    for kept in (ours := session.snapshot(), theirs := twin.snapshot()):
        del kept["engine"]["cover"]  # of which parts are room that no one reads
    assert ours == theirs


def test_nothing_depends_on_units() -> None:
    """Results times 1000 and features times 0.01: the same arms, the same stop."""
    runs = []
    for unit, scale in ((1.0, 1.0), (1024.0, 1 / 128)):
        features = PLACES * scale
        rows = THETA * unit / [[scale], [scale], [1.0]]
        known = make(SIGMA * unit**2, features=features)
        runs.append(simulate(make(features=features), GaussianEnvironment(known, rows), rng=5))
    assert runs[0].pulls == runs[1].pulls


@pytest.mark.parametrize(
    ("problem", "choices", "message"),
    [
        ({}, {"stopping": "certified"}, "nothing is proven of arms with features and noise"),
        ({}, {"calibration": "proven"}, "choose stopping='glr' with calibration='measured'"),
        (
            {"partial": True, "covariance": [1, 1]},
            {"stopping": "certified"},
            "features and missing values: give one covariance",
        ),
        ({"covariance": EACH}, {"stopping": "certified"}, "noise that differs from arm to arm"),
        ({"covariance": "per-arm"}, {}, "leave the covariance out, or give one for each arm"),
        ({}, {"stopping": "bayes"}, "nothing is proven|not made for noise that is estimated"),
    ],
)
def test_what_is_refused(problem: Any, choices: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Session(make(**problem), **choices)


def test_too_many_answers_for_missing_values() -> None:
    rows = np.arange(2000.0)[:, None]
    with pytest.raises(InputError, match="for 750 answers in 2 objectives at most, got 2,000"):
        Problem(objectives=["x", "y"], features=rows, partial=True)
    assert Problem(objectives=["x", "y"], features=rows).noise == "estimate"


def test_no_verdict_is_claimed() -> None:
    session = Session(make(), rng=1)
    told(session, 30, 2)
    reasons = set(session.status().answers["reason"])
    assert reasons == {"no proof is known for features unless the covariance is given"}


def test_a_model_that_does_not_fit_is_found_out() -> None:
    """The test is F with the noise estimated: exact, so about a twentieth lies below 0.05."""
    problem = Problem(objectives=["x"], features=[[0.0], [1.0], [2.0], [3.0]])
    rng = np.random.default_rng(1)
    fits = []
    for bend in (0.0, 2.0):
        for _ in range(200):
            session = Session(problem, rng=1, stopping="never")
            for place, arm in enumerate(problem.arms * 3):
                x = place % 4
                session.engine.learn(x, np.array([x + bend * (x == 1) + rng.normal(0, 0.1)]))
                assert arm
            fit = fit_of(problem, session.engine.belief)
            assert fit is not None
            fits.append(fit)
    below = np.mean([fit.p_value < 0.05 for fit in fits[:200]])
    assert 0.01 < below < 0.11
    assert all(fit.rejected for fit in fits[200:])
    assert "F " in str(fits[-1])
    assert "2 and 8 degrees of freedom" in str(fits[-1])


def errors_of(share: Any, runs: int) -> float:
    """Share of runs in which a slope of 0.05 is taken for a falling one, as the rule judges it.

    Two places, a result of each in turn, judged after every result from the third on.
    """
    rng = np.random.default_rng(5)
    level = 2.0 * (np.log(10) + np.log(8 + np.log(3000)) - 1.1)
    wrong = 0
    for _ in range(runs):
        n = np.arange(1, 401)
        x = rng.normal(size=400) + 0.05 * (n % 2)
        of = np.stack([n % 2 == 0, n % 2 == 1])
        N = np.maximum(np.cumsum(of, axis=1), 1)
        mean = np.cumsum(of * x, axis=1) / N
        square = (np.cumsum(of * x**2, axis=1) - N * mean**2).sum(axis=0)
        free = np.maximum(n - 2.0, 1.0)
        C = square / free * (1 / N).sum(axis=0) * share(free, level)
        evidence = 0.5 * (mean[1] - mean[0]) ** 2 / np.maximum(C, 1e-12)
        stops = np.flatnonzero((evidence >= np.log(10) + np.log(8 + np.log(n)) - 1.1) & (n > 2))
        wrong += bool(len(stops)) and mean[1, stops[0]] < mean[0, stops[0]]
    return wrong / runs


def test_the_tail_of_student_keeps_the_error_rate_and_a_normal_does_not() -> None:
    tails = np.vectorize(students_share)
    assert errors_of(tails, 1000) < 0.06
    assert errors_of(lambda freedom, _: np.ones_like(freedom), 1000) > 0.13


# --------------------------------------------------------- missing values, noise of each arm


@pytest.mark.parametrize("covariances", [np.tile(SIGMA, (6, 1, 1)), EACH])
def test_missing_values_against_one_dense_system(covariances: Any) -> None:
    given = covariances if (covariances == EACH).all() else SIGMA
    session = Session(make(given, partial=True), rng=1, stopping="never")
    arms, values = told(session, 50, 2, missing=0.4)
    assert np.isnan(values).any()
    means, C = dense(arms, values, covariances)
    engine = session.engine
    assert isinstance(engine, JointEngine)
    table = session.status().arms
    assert table[["x estimate", "y estimate"]].to_numpy() == pytest.approx(means)
    assert engine.covariances() == pytest.approx(C)
    assert table["x se"].to_numpy() == pytest.approx(np.sqrt(C[:, 0, 0]))
    _, draws = posterior(session.problem, engine, [1, 4])
    assert np.cov(draws[:, 1].T) == pytest.approx(C[4], rel=0.05, abs=1e-3)
    there = np.isfinite(values).all(axis=1)
    ignored = dense(arms[there], values[there], covariances)[0]
    assert not np.allclose(ignored, means, atol=0.01)  # complete results alone tell less


def test_moves_and_gains_with_missing_values_are_those_of_the_whole_covariance() -> None:
    """Without missing values, the joint posterior and the simple one agree in everything."""
    plain = Session(make(SIGMA), rng=1)
    joint = Session(make(SIGMA, partial=True), rng=1)
    trial = truth().start(3)
    while not plain.stopped:
        arm = plain.ask()
        x = trial.pull(arm)
        plain.tell(arm, x)
        joint.tell(arm, x)
    assert joint.stopped
    assert joint.pareto_set == plain.pareto_set
    assert joint.engine.belief.theta == pytest.approx(plain.engine.belief.theta)
    assert joint.engine.ratio() == pytest.approx(plain.engine.ratio())
    nearest = []
    for session in (plain, joint):
        engine = session.engine
        p = engine._search.posterior
        p.mu[:] = engine.model.Z @ engine.belief.theta
        if session is plain:
            p.W[:] = engine.model.Z @ engine.belief.F
        value, *_, change, gains = respond(p, np.array(engine.candidate), np.inf)
        nearest.append((value, change, gains))
    for one, other in zip(*nearest, strict=True):
        assert one == pytest.approx(other)
    before, after = plain.status(), joint.status()
    columns = ["x estimate", "x se", "probability"]
    assert after.answers[columns].to_numpy() == pytest.approx(
        before.answers[columns].to_numpy(), abs=0.02
    )


def test_missing_values_with_estimated_noise() -> None:
    session = Session(make(partial=True), rng=1, stopping="never")
    arms, values = told(session, 600, 2, missing=0.2)
    engine = session.engine
    assert isinstance(engine, JointEngine)
    assert pytest.approx(SIGMA, abs=0.1) == engine.Sigma
    means, C = dense(arms, values, np.tile(engine.Sigma, (6, 1, 1)))
    assert session.status().arms["x estimate"].to_numpy() == pytest.approx(
        means[:, 0], rel=1e-2
    )
    assert engine.covariances() == pytest.approx(C, rel=0.05, abs=1e-4)
    row = session.status().noise.loc["all arms"]
    assert row["y sd low"] < 0.4**0.5 < row["y sd high"]


def test_without_missing_values_the_noise_is_that_of_the_residuals() -> None:
    session = Session(make(partial=True), rng=1, stopping="never")
    arms, values = told(session, 51, 2)
    engine = session.engine
    assert isinstance(engine, JointEngine)
    engine._fit()
    assert np.diag(engine.Sigma) == pytest.approx(np.diag(least_squares(arms, values)[1]))


def test_an_objective_that_was_not_seen_enough_is_not_judged() -> None:
    session = Session(make(SIGMA, partial=True), rng=1)
    for arm in session.problem.arms:
        session.tell(arm, [1.0, None])
    assert session.candidate_set == ()
    assert "do not span the features in every objective" in session.status().not_known
    assert session.ask() in session.problem.arms
    for arm in session.problem.arms:
        session.tell(arm, [None, 1.0])
    assert session.candidate_set


def test_a_study_with_features_and_missing_values(tmp_path: Path) -> None:
    lines = ["arm,u,v"] + [f"arm {a + 1},{u},{v}" for a, (u, v) in enumerate(PLACES)]
    (tmp_path / "features.csv").write_text("\n".join(lines))
    design = tmp_path / "trial.toml"
    design.write_text('objectives = ["x", "y"]\npartial = true\narms = "features.csv"\n')
    study = Study.create(design, store=f"sqlite:///{tmp_path}/psips.db", seed=1)
    assert study.problem.noise == "estimate"
    trial = truth().start(2)
    for k, ticket in enumerate(study.ask(24)):
        x = trial.pull(ticket.arm)
        study.tell(ticket, {"x": float(x[0]), **({} if k % 5 == 4 else {"y": float(x[1])})})
    study.correct({"y": 2.0}, result=5, reason="came later")
    assert study.verify().problems == ()
    again = Study.open("trial", store=f"sqlite:///{tmp_path}/psips.db")
    assert again.status().answers.equals(study.status().answers)
    html = report(study)
    assert "The estimated noise" in html
    assert "around the linear fit" in html
