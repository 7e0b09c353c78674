"""A prior of the user's: conjugate, Bayesian at the stop, and kept out of what is proven."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psips import InputError, Prior, Problem, Session
from psips.plots.history import evidence_over_time, history_of
from psips.problem.problem_file import read_problem_file
from psips.rules import Rules
from psips.simulation import simulate
from psips.simulation.environments import GaussianEnvironment
from psips.simulation.summary import clopper_pearson

OBJECTIVES = {"yield": "max", "cost": "min"}
NOISE = [[1.0, 0.3], [0.3, 2.0]]
MEANS = [[1.0, 2.0], [0.5, 1.0], [0.0, 3.0]]
FEATURES = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]


def problem(prior: Prior | None, linear: bool = False, **more: Any) -> Problem:
    more |= {"features": FEATURES} if linear else {}
    return Problem(
        objectives=OBJECTIVES, covariance=NOISE, arms=["A", "B", "C"], prior=prior, **more
    )


@pytest.mark.parametrize("linear", [False, True])
def test_a_prior_counts_as_results_that_were_told(linear: bool) -> None:
    pulls = [2, 1, 3]
    believing = Session(problem(Prior(MEANS, pulls), linear), stopping="bayes", rng=1)
    told = Session(problem(None, linear), stopping="bayes", rng=1)
    for arm, mean, n in zip("ABC", MEANS, pulls, strict=True):
        for _ in range(n):
            told.tell(arm, mean)
    rng = np.random.default_rng(3)
    for arm in "ABCAB":
        x = rng.normal(size=2)
        believing.tell(arm, x)
        told.tell(arm, x)
    ours, theirs = believing.engine.belief, told.engine.belief
    for name in ("N", "B", "theta", "V"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-12)
    np.testing.assert_allclose(ours.F @ ours.F.T, theirs.F @ theirs.F.T, atol=1e-12)
    one, other = believing.status(), told.status()
    assert one.results == 5
    assert list(one.arms["pulls"]) == [2, 2, 1] == list(believing.pulls.values())
    assert one.candidate_set == other.candidate_set
    for column in ("yield estimate", "yield se", "cost estimate", "cost se"):
        np.testing.assert_allclose(one.answers[column], other.answers[column])
    spread = np.hypot(one.answers["probability se"], other.answers["probability se"])
    apart = np.abs(one.answers["probability"] - other.answers["probability"])
    assert np.all(apart <= 5 * spread + 1e-12)


@pytest.mark.parametrize("linear", [False, True])
def test_verdicts_are_of_the_data_alone(linear: bool) -> None:
    from psips import Ball

    more = {"parameter_set": Ball(9.0)} if linear else {}
    sure = Prior([[50.0, 0.0], [0.0, 50.0], [0.0, 50.0]], pulls=1000)
    believing = Session(problem(sure, linear, **more), stopping="bayes", rng=1)
    plain = Session(problem(None, linear, **more), stopping="bayes", rng=1)
    rng = np.random.default_rng(3)
    for arm in "ABC" * 5:
        x = rng.normal(size=2)
        believing.tell(arm, x)
        plain.tell(arm, x)
    assert believing.stopped
    assert not plain.stopped
    assert believing.candidate_set == ("A",)
    found = believing.status().answers["verdict"]
    assert list(found) == list(plain.status().answers["verdict"]) == ["open"] * 3
    means = {"A": [0.0, 9.0], "B": [1.6, 8.2], "C": [2.0, 3.5]}
    table = pd.DataFrame([means[arm] for arm in "ABC" * 400], list("ABC" * 400), OBJECTIVES)
    believing.tell(table)  # the data prove what the prior denies
    plain.tell(table)
    ours, theirs = (session.status().answers for session in (believing, plain))
    assert list(ours["verdict"]) == list(theirs["verdict"])
    assert ours.loc["A", "verdict"] == "out"
    assert (ours.loc["A", "candidate"], theirs.loc["A", "candidate"]) == (True, False)


def test_every_arm_is_measured_whatever_is_believed() -> None:
    sure = Prior([[50.0, 0.0], [0.0, 50.0], [0.0, 50.0]], pulls=1000)
    session = Session(problem(sure), stopping="bayes", rng=1)
    assert session.ask(3) == ["A", "B", "C"]
    session.tell("A", [0.0, 0.0])
    session.tell("B", [0.0, 0.0])
    assert not session.stopped
    assert session.candidate_set == ()
    session.tell("C", [0.0, 0.0])
    assert session.stopped


def errors_under(prior: Prior, believed: Prior, runs: int, delta: float) -> int:
    """Return the wrong sets of runs whose truth is drawn from ``prior``."""
    rng = np.random.default_rng(11)
    true = problem(prior)
    asked = problem(believed)
    L = np.linalg.cholesky(true.covariance)
    errors = 0
    for k in range(runs):
        noise = rng.normal(size=(3, 2)) @ L.T / np.sqrt(true.prior.pulls)[:, None]
        theta = np.array(true.prior.means) + noise
        run = simulate(
            asked,
            GaussianEnvironment(true, theta),
            rng=k,
            rules=Rules(delta=delta, stopping="bayes"),
            max_results=3000,
        )
        best = [
            a
            for a in range(3)
            if not any(np.all(true.inward(theta[b] - theta[a]) > 0) for b in range(3))
        ]
        errors += run.stopped and run.pareto_set != tuple("ABC"[a] for a in best)
    return errors


def test_the_promise_holds_on_average_over_the_prior_and_not_over_another() -> None:
    """At the stop P(another set | data) <= delta; so on average over the prior at most delta.

    Believing too firmly in other means breaks it, and this test sees that.
    """
    runs, delta = 400, 0.2
    prior = Prior(MEANS, pulls=[1.0, 2.0, 1.0])
    low, _ = clopper_pearson(errors_under(prior, prior, runs, delta), runs)
    assert low <= delta
    wrong = Prior([[0.0, 3.0], [0.5, 1.0], [1.0, 2.0]], pulls=6.0)
    low, _ = clopper_pearson(errors_under(prior, wrong, runs, delta), runs)
    assert low > delta


def test_a_run_by_hand_is_the_same_as_a_fused_one() -> None:
    believed = problem(Prior(MEANS, pulls=1.5))
    environment = GaussianEnvironment(believed, np.array(MEANS))
    run = simulate(believed, environment, rng=5, stopping="bayes", delta=0.05)
    rng = np.random.default_rng(5)
    session = Session(believed, rng=rng, stopping="bayes", delta=0.05)
    source = environment.start(rng)
    while not session.stopped:
        arm = session.ask()
        session.tell(arm, source.pull(arm))
    assert session.pulls == run.pulls
    assert session.pareto_set == run.pareto_set


def test_a_prior_survives_json_and_goes_on_to_the_bit() -> None:
    believed = problem(Prior({"A": [1, 2], "C": [0, 3], "B": [1, 1]}, {"A": 1, "B": 0, "C": 2}))
    assert believed.prior == Prior(((1, 2), (1, 1), (0, 3)), (1, 0, 2))
    session = Session(believed, stopping="bayes", rng=1)
    for arm in "ABCBC":
        session.tell(arm, [0.3, 0.4])
    twin = Session.restore(json.loads(json.dumps(session.snapshot())))
    assert twin.problem == believed
    assert twin.ask(6) == session.ask(6)
    assert twin.status().probability_of_change == session.status().probability_of_change
    last = evidence_over_time(history_of(session)).value[-1]
    assert last == pytest.approx(session.status().probability_of_change, rel=0.2)
    assert problem(None).to_dict().keys() == believed.to_dict().keys() - {"prior"}


def test_tables_and_one_row_for_all() -> None:
    table = pd.DataFrame({"cost": [2, 1, 3], "yield": [1, 0.5, 0]}, index=["A", "B", "C"])
    given = problem(Prior(table, pd.Series({"C": 3, "A": 1, "B": 2})))
    assert given.prior == Prior(MEANS, [1, 2, 3])
    assert problem(Prior([1, 2], 3)).prior == Prior([[1, 2]] * 3, [3] * 3)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (3, "prior must be a Prior, got 3"),
        (Prior([1, 2, 3], 1), "the means of the prior must be one number or an array of shape"),
        (Prior(MEANS, [1, 2]), "the pulls of the prior must be one number or an array of"),
        (Prior(MEANS, -1), "pulls of arm 'A' must be a number of measurements of at least 0"),
        (Prior(MEANS, 0), "worth no measurement of any arm: leave it out"),
        (Prior({"A": [1, 2]}, 1), "the prior has no entry for arm 'B'"),
        (Prior({"A": [1, 2], "D": [1, 2]}, 1), "unknown arm in the prior 'D'"),
        (Prior(MEANS, {"A": 1, "B": 1}), "the prior has no entry for arm 'C'"),
    ],
)
def test_a_prior_that_does_not_fit(prior: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        problem(prior)


def test_a_prior_of_words() -> None:
    with pytest.raises(InputError, match="the means of the prior must be numbers"):
        Prior([["much"]], 1)
    with pytest.raises(InputError, match="the pulls of the prior must be finite"):
        Prior(MEANS, float("nan"))


@pytest.mark.parametrize("stopping", ["posterior", "glr", "certified"])
def test_other_stopping_rules_take_no_prior(stopping: str) -> None:
    with pytest.raises(InputError, match="only the stopping rule 'bayes' uses a prior"):
        Session(problem(Prior(MEANS, 1)), stopping=stopping)


def test_a_prior_in_a_problem_file(tmp_path: Path) -> None:
    text = """
    arms = ["A", "B", "C"]
    covariance = [[1.0, 0.3], [0.3, 2.0]]
    objectives = [{name = "yield"}, {name = "cost", direction = "min"}]
    [prior]
    pulls = [1, 2, 3]
    """
    file = tmp_path / "tea.toml"
    file.write_text(text + "means = {A = [1, 2], B = {cost = 1, yield = 0.5}, C = [0, 3]}")
    assert read_problem_file(file).problem.prior == Prior(MEANS, [1, 2, 3])
    (tmp_path / "m.csv").write_text("arm,cost,yield\nC,3,0\nA,2,1\nB,1,0.5\n")
    file.write_text(text + 'means = "m.csv"')
    assert read_problem_file(file).problem.prior == Prior(MEANS, [1, 2, 3])
    file.write_text(text)
    with pytest.raises(InputError, match=r"\[prior\] has no 'means': add the key"):
        read_problem_file(file)
