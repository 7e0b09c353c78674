"""Sessions and studies that are told neither the covariance nor every value."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips import InputError, NoiseGuess, Problem, Session, Study, simulate
from psips._core import students_share
from psips.report import report
from psips.session.preference import posterior
from psips.simulation.environments import GaussianEnvironment

ARMS = ["A", "B", "C"]
MEANS = np.array([[2.0, 0.0], [0.0, 2.0], [-1.0, -1.0]])
EACH = [np.diag([1.0, 1.0]), np.array([[4.0, 1.0], [1.0, 1.0]]), np.diag([0.25, 0.25])]


def make(covariance: Any = "per-arm", **more: Any) -> Problem:
    return Problem(objectives=["x", "y"], covariance=covariance, arms=ARMS, **more)


def lab(problem: Problem, seed: int) -> Any:
    return GaussianEnvironment(make(EACH), MEANS).start(seed)


@pytest.mark.parametrize("covariance", ["per-arm", "estimate", EACH])
def test_by_hand_and_compiled_alike(covariance: Any) -> None:
    problem = make(covariance)
    rng = np.random.default_rng(3)
    session = Session(problem, rng=rng)
    trial = GaussianEnvironment(make(EACH), MEANS).start(rng)
    while not session.stopped:
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
    run = simulate(problem, GaussianEnvironment(make(EACH), MEANS), rng=3)
    assert run.pareto_set == session.pareto_set == ("A", "B")
    assert run.pulls == session.pulls


@pytest.mark.parametrize("covariance", ["per-arm", "estimate"])
def test_a_snapshot_goes_on_to_the_bit(covariance: str) -> None:
    problem = make(covariance)
    session, trial = Session(problem, rng=1), lab(problem, 2)
    for _ in range(20):
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
    twin = Session.restore(json.loads(json.dumps(session.snapshot())))
    for _ in range(20):
        arm = session.ask()
        assert twin.ask() == arm
        values = trial.pull(arm)
        session.tell(arm, values)
        twin.tell(arm, values)
    assert session.snapshot() == twin.snapshot()


def test_nothing_is_judged_before_the_noise_is_known() -> None:
    problem = make()
    session, trial = Session(problem, rng=1), lab(problem, 2)
    assert session.ask(9) == ARMS * 3  # one more than there are objectives
    for arm in (ARMS * 3)[:-1]:
        session.tell(arm, trial.pull(arm))
    assert session.candidate_set == ()
    status = session.status()
    assert "too few results of 'C' to know its noise" in str(status)
    assert status.evidence["threshold"] is None
    session.tell("C", trial.pull("C"))
    assert session.candidate_set
    assert session.status().not_known == ""


def test_an_arm_whose_results_are_all_the_same() -> None:
    """A score of 5 out of 5: as if one more result lay two common deviations away."""
    orders = [list(ARMS * 3), [arm for arm in ("B", "A", "C") for _ in range(3)]]
    for arms in orders:
        counts = dict.fromkeys(ARMS, 0)
        session = Session(make(), rng=1)
        for arm in arms:
            counts[arm] += 1
            session.tell(arm, [counts[arm], 5.0 if arm == "B" else counts[arm] ** 2])
        assert session.candidate_set
        assert session.status().not_known == ""
        common = np.var([1.0, 4.0, 9.0], ddof=1)  # of A and C
        errors = session.status().arms["y se"] * math.sqrt(3.0)
        assert errors["B"] == pytest.approx(2.0 * math.sqrt(common / 4.0))
        assert errors["A"] == pytest.approx(math.sqrt(common))


def test_arms_whose_results_are_all_the_same_everywhere() -> None:
    """Zeros in place of a metric of 0 or 1 that was not registered: nothing is known."""
    constant = Session(make(), rng=1)
    for i, arm in enumerate(ARMS * 3):
        constant.tell(arm, [i, 0.0])
    assert constant.candidate_set == ()
    assert "are the same in some objective" in constant.status().not_known
    guessed = Session(make(noise_guess=NoiseGuess([1, 1], 2)), rng=1)
    for i, arm in enumerate(ARMS * 3):
        guessed.tell(arm, [i, 0.0])
    assert guessed.candidate_set


def test_a_perfect_score_does_not_keep_a_session_going() -> None:
    """Scores from 1 to 5, of which one model always gets 5, and costs that tell all apart."""
    problem = Problem(objectives={"score": "max", "cost": "min"}, arms=["A", "B", "C", "D"])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        session = Session(problem, rng=seed)
        while not session.stopped and session.results < 1000:
            arm = session.ask()
            k = problem.arms.index(arm)
            score = 5.0 if k == 0 else float(np.clip(round(rng.normal(5 - k, 0.8)), 1, 5))
            session.tell(arm, [score, rng.normal(10 - k, 0.3)])
        assert session.pareto_set == ("A", "B", "C", "D")


def test_estimates_of_the_noise_are_shown() -> None:
    problem = make()
    session, trial = Session(problem, rng=1), lab(problem, 2)
    for arm in ARMS * 100:
        session.tell(arm, trial.pull(arm))
    status = session.status()
    assert status.noise is not None
    told = session.to_frame()
    own = told[told["arm"] == "B"][["x", "y"]]
    row = status.noise.loc["B"]
    assert row["x sd"] == pytest.approx(own["x"].std())
    assert row["x sd low"] < 2.0 < row["x sd high"]
    assert row["correlation of x and y"] == pytest.approx(own.corr().iloc[0, 1])
    assert status.arms.loc["B", "x se"] == pytest.approx(own["x"].std() / 10)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"stopping": "predicted"}, "choose stopping='certified', which is proven"),
        ({"stopping": "glr", "calibration": "proven"}, "with calibration='proven' is not made"),
        (
            {"sampling": "ape"},
            "the sampling rule 'ape' is not made for noise that is estimated",
        ),
        ({"stopping": "bayes"}, "'bayes' is not made for noise that is estimated"),
    ],
)
def test_rules_that_need_a_covariance_are_refused(choices: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Session(make(), **choices)


def test_preferences_use_the_noise_of_each_arm() -> None:
    problem = Problem(objectives=["x"], arms=["A", "B"], covariance={"A": [1], "B": [100]})
    session = Session(problem, stopping="never", rng=1)
    for value in (-1.0, 1.0):
        session.tell("A", value)
        session.tell("B", value)
    _, draws = posterior(problem, session.engine, [0, 1])
    assert draws.std(axis=0)[:, 0] == pytest.approx([2**-0.5, 50**0.5], rel=0.05)


def test_values_are_bounded_where_no_noise_is_given() -> None:
    session = Session(Problem(objectives=["x"], arms=2), rng=1)
    with pytest.raises(InputError, match=r"at most 1e\+50 in size, got 1e\+51"):
        session.tell(session.problem.arms[0], 1e51)
    for arm in session.problem.arms:
        for value in (1e50, -1e50, 1e49):
            session.tell(arm, value)
    assert np.isfinite(session.status().arms["x se"]).all()


def errors_of(share: Any, runs: int) -> float:
    """Share of runs in which two arms 0.05 apart are confused, by own estimates of variances.

    What the rule does with one objective: after every result, from two of each on.
    """
    rng = np.random.default_rng(5)
    level = 2.0 * (np.log(10) + np.log(8 + np.log(3000)) - 1.1)
    wrong = 0
    for _ in range(runs):
        x = rng.normal(size=(2, 400)) * [[1.0], [3.0]] + [[0.05], [0.0]]
        n = np.arange(1, 401)
        mean = np.cumsum(x, axis=1) / n
        square = np.cumsum(x**2, axis=1) - n * mean**2
        C = square / np.maximum(n - 1, 1) / n * share(np.maximum(n - 1.0, 1.0), level)
        evidence = 0.5 * (mean[0] - mean[1]) ** 2 / np.maximum(C.sum(axis=0), 1e-12)
        threshold = np.log(10) + np.log(8 + np.log(2 * n)) - 1.1
        stops = np.flatnonzero((evidence >= threshold) & (n >= 2))
        wrong += bool(len(stops)) and mean[0, stops[0]] < mean[1, stops[0]]
    return wrong / runs


def test_the_tail_of_student_keeps_the_error_rate_and_a_normal_does_not() -> None:
    tails = np.vectorize(students_share)
    assert errors_of(tails, 1500) < 0.06
    assert errors_of(lambda freedom, _: np.ones_like(freedom), 1500) > 0.13


@pytest.fixture
def study(tmp_path: Path) -> Study:
    design = tmp_path / "trial.toml"
    design.write_text(
        """
        arms = ["A", "B", "C"]
        objectives = ["x", { name = "days", direction = "min", transform = "log" }]
        partial = true
        """
    )
    return Study.create(design, store=f"sqlite:///{tmp_path}/psips.db", seed=1)


def test_a_study_with_missing_values_and_logarithms(study: Study, tmp_path: Path) -> None:
    lines = ["arm,x,days"]
    rng = np.random.default_rng(1)
    for i in range(24):
        x, days = rng.normal(i % 3), np.exp(rng.normal(2))
        lines.append(f"{ARMS[i % 3]},{x:.3f},{'' if i in (4, 5) else f'{days:.3f}'}")
    table = tmp_path / "past.csv"
    table.write_text("\n".join(lines))
    assert len(study.tell_file(table).numbers) == 24
    assert study.told[4].values[1] is None
    before = study.status().arms.loc["B", "days (mean of log) estimate"]
    receipt = study.correct({"days": 9.0}, result=5, reason="came later")
    assert study.told[4].values[1] == 9.0
    assert receipt.numbers == ()
    assert study.status().arms.loc["B", "days (mean of log) estimate"] != before
    logs = [np.log(r.values[1]) for r in study.told if r.arm == "A" and r.values[1]]
    estimate = study.status().arms.loc["A", "days (mean of log) estimate"]
    assert estimate == pytest.approx(np.mean(logs), rel=1e-9)
    assert study.verify().problems == ()
    assert study.to_frame()["days"].isna().sum() == 1
    html = report(study)
    assert "days (mean of log)" in html
    assert "The estimated noise" in html


def test_tickets_take_results_with_missing_values(study: Study) -> None:
    ticket = study.ask(1)[0]
    study.tell(ticket, {"x": 1.0})
    assert study.tell(ticket, {"x": 1.0}).known == 1
    with pytest.raises(InputError, match="if that one is to be completed, correct it"):
        study.tell(ticket, {"x": 1.0, "days": 3.0})
    with pytest.raises(InputError, match="'days' must be positive"):
        study.tell("A", {"x": 1.0, "days": 0.0})
    with pytest.raises(InputError, match="withdraw it"):
        study.correct({"x": None}, ticket=ticket.id)
