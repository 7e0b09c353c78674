"""The test of the linear model: its law, what it finds, and that it is said aloud."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2
from typer.testing import CliRunner

from psips import Problem, Session
from psips.cli import app
from psips.diagnostics.lack_of_fit import LEVEL, fit_of
from psips.report import report
from psips.simulation.environments import GaussianEnvironment
from psips.study import Study

X = np.linspace(0.0, 1.0, 6)
SIGMA = np.array([[1.0, 0.4], [0.4, 2.0]])


def line(**more: Any) -> Problem:
    return Problem(
        objectives={"up": "max", "down": "min"},
        covariance=SIGMA,
        features=X[:, None],
        arms=list("ABCDEF"),
        **more,
    )


def told(problem: Problem, pulls: list[int], means: np.ndarray, rng: Any) -> Session:
    """A session that knows ``pulls`` results of each arm around ``means``."""
    session = Session(problem, stopping="never", rng=1)
    N = np.array(pulls, float)
    noise = rng.multivariate_normal(np.zeros(2), SIGMA, size=len(N)) * np.sqrt(N)[:, None]
    sums = problem.inward(N[:, None] * means + noise)
    session.engine.know(N, problem.model.A.T @ sums, sums)
    return session


PULLS = [3, 1, 40, 0, 7, 200]
STRAIGHT = np.column_stack([4 + 3 * X, 100 - 8 * X])


@pytest.mark.parametrize("more", [{}, {"regularization": 1.0}], ids=["squares", "ridge"])
def test_a_true_model_is_flagged_as_rarely_as_stated(more: dict[str, Any]) -> None:
    """1,000 data sets; with the wrong degrees of freedom the same test fails."""
    rng = np.random.default_rng(1)
    problem = line(**more)
    found = [
        fit_of(problem, told(problem, PULLS, STRAIGHT, rng).engine.belief) for _ in range(1000)
    ]
    fits = [one for one in found if one is not None]
    assert {one.degrees for one in fits} == {2 * (5 - 2)}

    def credible(p: np.ndarray) -> bool:
        flagged, often = np.sum(p < LEVEL), np.sum(p < 0.2)
        return bool(
            flagged <= binom.ppf(0.9999, 1000, LEVEL)
            and binom.ppf(0.0001, 1000, 0.2) <= often <= binom.ppf(0.9999, 1000, 0.2)
        )

    statistic = np.array([one.statistic for one in fits])
    assert credible(np.array([one.p_value for one in fits]))
    for wrong in (2 * 5, 2 * 5 - 2, 5 - 2):  # no features counted; not times d; not at all
        assert not credible(chi2.sf(statistic, wrong))


def test_a_curved_truth_is_flagged_and_the_arms_are_named() -> None:
    problem = line()
    means = STRAIGHT.copy()
    means[2, 1] += 3.0
    fit = fit_of(
        problem, told(problem, [50] * 6, means, np.random.default_rng(2)).engine.belief
    )
    assert fit is not None
    assert fit.rejected
    assert fit.deviations[0].arm == "C"
    assert fit.deviations[0].objective == "down"
    assert fit.deviations[0].errors > 5  # above, though the objective is minimised
    assert "C (down" in str(fit)
    assert "standard errors above it" in str(fit)
    assert f"p = {fit.p_value:.2g}" in fit.caveat


def test_against_formulas() -> None:
    rng = np.random.default_rng(3)
    problem = line()
    session = Session(problem, stopping="never", rng=1)
    rows = []
    for k in (0, 1, 1, 3, 4, 4, 4, 5):
        x = rng.normal(size=2) * 3
        session.tell("ABCDEF"[k], x)
        rows.append((k, x))
    ks, xs = np.array([k for k, _ in rows]), np.array([x for _, x in rows])
    fitted = np.polynomial.polynomial.polyfit(X[ks], xs, 1)
    total = 0.0
    for k in set(ks.tolist()):
        rest = xs[ks == k].mean(axis=0) - fitted[0] - fitted[1] * X[k]
        total += np.sum(ks == k) * rest @ np.linalg.solve(SIGMA, rest)
    fit = fit_of(problem, session.engine.belief)
    assert fit is not None
    assert fit.statistic == pytest.approx(total)
    assert fit.degrees == 2 * (5 - 2)
    twin = Session.restore(json.loads(json.dumps(session.snapshot())))
    assert fit_of(problem, twin.engine.belief) == fit


def test_what_cannot_be_tested() -> None:
    problem = line()
    session = Session(problem, stopping="never", rng=1)
    for arm in ("A", "F", "A", "F"):  # two arms, two features
        session.tell(arm, [1.0, 2.0])
        fit = fit_of(problem, session.engine.belief)
        assert fit is not None
        assert (fit.degrees, fit.rejected, fit.caveat) == (0, False, "")
        assert "has not been tested" in str(fit)
        assert fit.to_dict()["p_value"] is None
    session.tell("C", [1.0, 2.0])
    fit = fit_of(problem, session.engine.belief)
    assert fit is not None
    assert fit.degrees == 2
    plain = Problem(objectives=["a"], covariance=[1], arms=2)
    assert fit_of(plain, Session(plain, rng=1).engine.belief) is None


def test_a_claim_on_a_model_that_the_data_reject_is_not_made_silently(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    problem = line()
    study = Study.create(problem, store, name="curved", delta=0.1, seed=1, stopping="glr")
    means = np.column_stack([4 + 40 * X, 100 - 80 * X])
    means[3] += [0.0, 9.0]
    unstructured = Problem(
        objectives={"up": "max", "down": "min"}, covariance=SIGMA, arms=list("ABCDEF")
    )
    trial = GaussianEnvironment(unstructured, means).start(rng=2)
    study.tell_many(
        {"arm": arm, **dict(zip(("up", "down"), trial.pull(arm), strict=True))}
        for arm in "ABCDEF" * 20
    )
    status = study.status()
    assert study.stopped
    assert status.fit is not None
    assert status.fit.rejected
    sentence = "if the linear model holds, which the data contradict"
    head = str(status).split("\n\n")[0]
    assert sentence in head.splitlines()[1]
    assert "the linear model does not fit" in head
    html = report(study, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    assert sentence in html
    assert "The linear model does not fit" in html
    runner = CliRunner()
    shown = runner.invoke(app, ["study", "status", "curved", "--store", store])
    assert sentence in shown.output
    plain = runner.invoke(app, ["study", "status", "curved", "--store", store, "--json"])
    assert json.loads(plain.output)["lack_of_fit"]["rejected"] is True
    values = ["--value", "up=4", "--value", "down=100"]
    more = runner.invoke(
        app, ["study", "tell", "curved", "--arm", "A", *values, "--store", store]
    )
    assert sentence in more.output, more.output
