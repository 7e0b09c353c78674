"""Posterior probabilities against plain draws, and where plain draws see nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import naive
from psips.problem import Problem
from psips.session import Session


def session_at(
    problem: Problem, mu: np.ndarray, N: np.ndarray, key: int = 1, **rules: Any
) -> Session:
    """Return a session that was told N results of the arms, with means ``mu``."""
    session = Session(problem, rng=key, **rules)
    sums = mu * N[:, None]
    model = session.engine.model
    session.engine.know(N, sums if model.unstructured else model.A.T @ sums)
    session.engine.judge()
    return session


def plain(session: Session, draws: int, seed: int) -> tuple[float, np.ndarray]:
    """Return shares of plain draws with another Pareto set, and with each answer in it."""
    rng = np.random.default_rng(seed)
    model, belief = session.engine.model, session.engine.belief
    L = np.linalg.cholesky(model.Sigma)
    noise = rng.normal(size=(draws, model.h, model.d)) @ L.T
    if model.unstructured:
        points = belief.theta + noise / np.sqrt(belief.N)[:, None]
    else:
        points = model.Z @ (belief.theta + belief.F @ noise)
    above = (points[:, None, :, :] >= points[:, :, None, :]).all(3)  # [draw, z, x]: x >= z
    member = above.sum(2) == 1
    centre = belief.theta if model.unstructured else model.Z @ belief.theta
    return (member != naive.pareto_mask(centre)).any(1).mean(), member.mean(0)


FEATURES = np.random.default_rng(8).normal(size=(6, 3))
CASES = {
    "independent": {"covariance": [1, 1], "arms": 5},
    "negative": {"covariance": [[1, -0.8], [-0.8, 1]], "arms": 5},
    "positive": {"covariance": [[1, 0.6], [0.6, 1]], "arms": 5},
    "one objective": {"covariance": [1], "arms": 5},
    "three objectives": {"covariance": [1, 2, 1], "arms": 5},
    "linear": {"covariance": [[1, 0.5], [0.5, 1]], "features": FEATURES},
    "transductive": {
        "covariance": [1, 1],
        "features": FEATURES,
        "answers": (list("pqrs"), FEATURES[:4] + FEATURES[2:]),
    },
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("pulls", [4, 25])
def test_as_plain_draws(case: str, pulls: int) -> None:
    rng = np.random.default_rng(5)
    d = len(CASES[case]["covariance"])
    problem = Problem(objectives=[f"o{c}" for c in range(d)], **CASES[case])
    mu = rng.normal(size=(problem.K, d))
    N = pulls * rng.integers(1, 4, problem.K).astype(float)
    session = session_at(problem, mu, N)
    optimal, spread = session.engine.probabilities(20000)
    log_change, error = session.engine.change_probability(20000)
    draws = 40000
    change, share = plain(session, draws, seed=6)
    allowed = 4 * math.hypot(math.exp(log_change) * error, math.sqrt(change / draws)) + 1e-4
    assert math.exp(log_change) == pytest.approx(change, abs=allowed)
    for a in range(problem.n):
        spreads = spread[a], math.sqrt((share[a] * (1 - share[a]) + 1 / draws) / draws)
        assert optimal[a] == pytest.approx(share[a], abs=4 * math.hypot(*spreads))


def best_of_three(mu: np.ndarray, sd: float, who: int) -> float:
    """Return the chance that arm ``who`` has the largest value, by integration."""
    others = np.delete(mu, who)
    density = lambda x: norm.pdf(x, mu[who], sd) * norm.cdf(x, others, sd).prod()  # noqa: E731
    peak = (mu[who] + others.sum()) / 3
    return quad(density, peak - 12 * sd, peak + 12 * sd, epsabs=0, limit=500)[0]


@pytest.mark.parametrize(("low", "most"), [(0.2, 1e-6), (-0.4, 1e-15), (0.95, 0.5)])
def test_each_answer_is_accurate_next_to_a_near_tie(low: float, most: float) -> None:
    """Two arms of three are hardly told apart, the third is far: its chance is tiny."""
    problem = Problem(objectives=["a"], covariance=[1], arms=3)
    mu, N = np.array([1.0, 0.95, low]), np.full(3, 50.0)
    optimal, spread = session_at(problem, mu[:, None], N).engine.probabilities()
    for a in range(3):
        exact = best_of_three(mu, 1 / math.sqrt(50), a)
        assert optimal[a] == pytest.approx(exact, abs=4 * spread[a])
    assert spread[2] < 0.1 * optimal[2]
    assert optimal[2] < most


@pytest.mark.parametrize("case", ["one objective", "negative", "linear"])
def test_the_error_stated_is_the_error_made(case: str) -> None:
    rng = np.random.default_rng(9)
    d = len(CASES[case]["covariance"])
    problem = Problem(objectives=[f"o{c}" for c in range(d)], **CASES[case])
    mu, N = 0.7 * rng.normal(size=(problem.K, d)), np.full(problem.K, 30.0)
    found = [session_at(problem, mu, N, key=k).engine.probabilities(512) for k in range(200)]
    optimal, spread = (np.array(part) for part in zip(*found, strict=True))
    made, stated = optimal.std(axis=0), np.sqrt((spread**2).mean(axis=0))
    change = np.minimum(optimal, 1.0 - optimal).mean(axis=0)
    assert (made < 1.25 * stated).all()  # an sd of 200 is known to 5%
    assert (stated < 1.25 * made + change / 512).all()  # 512 hits in 512 are not certainty


@pytest.mark.parametrize("gap", [5.0, 7.0, 9.0, 40.0])
def test_accurate_where_plain_draws_see_nothing(gap: float) -> None:
    """Two arms, two objectives: the second dominates if it is above in both, or the like."""
    problem = Problem(objectives=["a", "b"], covariance=[0.5, 0.5], arms=2)
    mu = np.array([[gap, gap + 0.3], [0.0, 0.0]])
    session = session_at(problem, mu, np.ones(2))
    optimal, _ = session.engine.probabilities(4096)
    log_change, error = session.engine.change_probability(4096)
    first, second = norm.logsf(gap), norm.logsf(gap + 0.3)
    exact = np.logaddexp(first, second + norm.logcdf(gap))  # arm 2 escapes: above in one
    assert log_change == pytest.approx(exact, abs=4 * error + 1e-3)
    if gap < 8:  # beyond, an answer's probability is given as 0
        assert optimal[1] == pytest.approx(math.exp(exact), rel=4 * error + 1e-3)


def test_a_wrong_estimator_is_caught() -> None:
    """Without the rule that keeps a point for its first set only, pieces count twice."""
    problem = Problem(objectives=["a", "b"], covariance=[0.5, 0.5], arms=2)
    session = session_at(problem, np.array([[1.2, 1.2], [0.0, 0.0]]), np.ones(2))
    log_change, error = session.engine.change_probability(20000)
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


def test_many_answers() -> None:
    """Beyond a hundred, an answer's cover is one of escapes from the members alone."""
    rng = np.random.default_rng(4)
    problem = Problem(objectives=["a", "b"], covariance=[1, 1], arms=120)
    session = session_at(problem, rng.normal(size=(120, 2)), np.full(120, 30.0))
    optimal, spread = session.engine.probabilities()
    draws = 2000
    _, share = plain(session, draws, seed=6)
    allowed = np.hypot(spread, np.sqrt((share * (1 - share) + 1 / draws) / draws))
    assert (np.abs(optimal - share) < 5 * allowed).all()
    assert np.count_nonzero((optimal > 0.01) & (optimal < 0.99)) > 5
