"""Posterior probabilities against plain draws, and where plain draws see nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

import naive
from psips.problem import Problem
from psips.session import Session


def session_at(problem: Problem, mu: np.ndarray, N: np.ndarray, **rules: object) -> Session:
    session = Session(problem, rng=1, **rules)
    belief = session.engine.belief
    belief.N[:] = N
    belief.theta[:] = mu
    belief.B[:] = mu * N[:, None]
    belief.tally[0] = int(N.sum())
    session.engine.judge()
    return session


@pytest.mark.parametrize("rho", [0.0, -0.8, 0.6])
@pytest.mark.parametrize("pulls", [4, 25])
def test_as_plain_draws(rho: float, pulls: int) -> None:
    rng = np.random.default_rng(5)
    Sigma = np.array([[1.0, rho], [rho, 1.0]])
    problem = Problem(objectives=["a", "b"], covariance=Sigma, arms=5)
    mu = rng.normal(size=(5, 2))
    N = pulls * rng.integers(1, 4, 5).astype(float)
    optimal, spread, log_change, error = session_at(problem, mu, N).engine.probabilities(20000)
    draws = 40000
    L = np.linalg.cholesky(Sigma)
    points = mu + rng.normal(size=(draws, 5, 2)) @ L.T / np.sqrt(N)[:, None]
    sets = (points[:, None, :, :] >= points[:, :, None, :]).all(3)  # [draw, z, x]: x >= z
    member = sets.sum(2) == 1
    inside = naive.pareto_mask(mu)
    change = (member != inside).any(1).mean()
    allowed = 4 * math.hypot(math.exp(log_change) * error, math.sqrt(change / draws)) + 1e-4
    assert math.exp(log_change) == pytest.approx(change, abs=allowed)
    share = member.mean(0)
    for a in range(5):
        tolerance = 4 * math.hypot(spread[a], math.sqrt(share[a] * (1 - share[a]) / draws))
        assert optimal[a] == pytest.approx(share[a], abs=tolerance + 5e-4)


@pytest.mark.parametrize("gap", [5.0, 7.0, 9.0, 40.0])
def test_accurate_where_plain_draws_see_nothing(gap: float) -> None:
    """Two arms, two objectives: the second dominates if it is above in both, or the like."""
    problem = Problem(objectives=["a", "b"], covariance=[0.5, 0.5], arms=2)
    mu = np.array([[gap, gap + 0.3], [0.0, 0.0]])
    session = session_at(problem, mu, np.ones(2))
    optimal, _, log_change, error = session.engine.probabilities(4096)
    first, second = norm.logsf(gap), norm.logsf(gap + 0.3)
    exact = np.logaddexp(first, second + norm.logcdf(gap))  # arm 2 escapes: above in one
    assert log_change == pytest.approx(exact, abs=4 * error + 1e-3)
    assert optimal[1] == pytest.approx(math.exp(exact), rel=4 * error + 1e-3)


def test_a_wrong_estimator_is_caught() -> None:
    """Without the rule that keeps a point for its first set only, pieces count twice."""
    problem = Problem(objectives=["a", "b"], covariance=[0.5, 0.5], arms=2)
    session = session_at(problem, np.array([[1.2, 1.2], [0.0, 0.0]]), np.ones(2))
    _, _, log_change, error = session.engine.probabilities(20000)
    one = norm.sf(1.2)
    exact = 2 * one - one**2
    assert math.exp(log_change) == pytest.approx(exact, rel=4 * error + 1e-3)
    assert math.exp(log_change) != pytest.approx(2 * one, rel=4 * error + 1e-3)


def test_looking_changes_nothing_and_is_repeatable() -> None:
    problem = Problem(objectives=["a", "b"], covariance=[1, 1], arms=4)
    rng = np.random.default_rng(2)
    mu, N = rng.normal(size=(4, 2)), np.full(4, 9.0)
    session = session_at(problem, mu, N)
    before = session.snapshot()
    first = session.status()
    assert session.snapshot() == before
    again = session.status()
    assert first.probability_of_change == again.probability_of_change
    assert 0.0 <= first.probability_of_change <= 1.0
    assert first.answers["probability"].between(0, 1).all()


def test_bayes_stops_once_the_probability_is_small() -> None:
    problem = Problem(objectives=["a", "b"], covariance=[1, 1], arms=3)
    mu = np.array([[1.0, 0.0], [0.0, 1.0], [-0.5, -0.5]])
    for pulls in (2, 5, 10, 20, 40, 80):
        session = session_at(problem, mu, np.full(3, float(pulls)), stopping="bayes", delta=0.1)
        chance = session.status().probability_of_change
        if chance < 0.08:
            assert session.stopped
        if chance > 0.1:
            assert not session.stopped
    assert session.stopped
