"""The posterior, against solving for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.entries import plain_model
from psips import Problem, Session
from psips._core import learn, testing
from psips.state.belief import RESULTS, SPANNED, empty_belief
from psips.state.model import BALL, BOX, EVERYTHING


@pytest.mark.parametrize(("h", "xi"), [(4, 1.0), (7, 0.01)])
def test_linear_posterior_after_many_results(h: int, xi: float) -> None:
    rng = np.random.default_rng(h)
    A = rng.normal(size=(12, h))
    A[3] = 0.0  # an arm that says nothing
    model = plain_model(np.eye(2), A=A, xi=xi)
    belief = empty_belief(model)
    arms, X = rng.integers(0, 12, 10_000), rng.normal(size=(10_000, 2)) * 3 + 1
    told = 0
    for stop in (1, 5, 511, 512, 513, 10_000):
        for t in range(told, stop):
            learn(model, belief, arms[t], X[t])
        told = stop
        rows = A[arms[:told]]
        V = xi * np.eye(h) + rows.T @ rows
        theta = np.linalg.solve(V, rows.T @ X[:told])
        inverse = np.linalg.inv(V)
        assert np.abs(belief.theta - theta).max() <= 1e-10 * np.abs(theta).max()
        assert np.abs(belief.F @ belief.F.T - inverse).max() <= 1e-10 * np.abs(inverse).max()
        assert np.abs(belief.V - V).max() <= 1e-10 * np.abs(V).max()
        assert (np.bincount(arms[:told], minlength=12) == belief.N).all()
        assert belief.tally[RESULTS] == told


def test_a_short_and_a_long_feature() -> None:
    A = np.array([[1e-3, 0.0], [0.0, 1e3], [1e-3, 1e3]])
    model = plain_model(np.eye(1), A=A)
    belief = empty_belief(model)
    rng = np.random.default_rng(0)
    for t in range(1500):
        learn(model, belief, t % 3, rng.normal(size=1))
    V = np.eye(2) + 500 * A.T @ A
    assert np.allclose(belief.F @ belief.F.T, np.linalg.inv(V), rtol=1e-10, atol=0)


def test_unstructured_means() -> None:
    rng = np.random.default_rng(1)
    model = plain_model(np.eye(3), K=4)
    belief = empty_belief(model)
    arms, X = rng.integers(0, 4, 3000), rng.normal(size=(3000, 3)) + 5
    for a, x in zip(arms, X, strict=True):
        learn(model, belief, a, x)
    for a in range(4):
        assert belief.N[a] == (arms == a).sum()
        assert np.allclose(belief.theta[a], X[arms == a].mean(axis=0), rtol=1e-12)


def test_theta() -> None:
    rng = np.random.default_rng(2)
    low, high = -np.abs(rng.normal(size=(3, 2))) * 2, np.abs(rng.normal(size=(3, 2))) * 2
    ball = np.array([1.5, 2.5])
    model = replace(plain_model(np.eye(2), K=3), ball=ball, low=low, high=high)
    seen = set()
    for _ in range(300):
        theta = rng.normal(size=(3, 2))
        in_ball = bool((np.linalg.norm(theta, axis=0) <= ball).all())
        in_box = bool(((theta >= low) & (theta <= high)).all())
        seen |= {("ball", in_ball), ("box", in_box)}
        assert testing.is_in_theta(replace(model, kind=BALL), theta) == in_ball
        assert testing.is_in_theta(replace(model, kind=BOX), theta) == in_box
        assert testing.is_in_theta(replace(model, kind=EVERYTHING), theta)
    assert len(seen) == 4


@pytest.mark.parametrize("arm", [0, 1, 2])
def test_ready_once_every_arm_has_a_result(arm: int) -> None:
    session = Session(Problem(objectives=["a"], covariance=[1.0], arms=3), rng=1)
    engine = session.engine
    for other in {0, 1, 2} - {arm}:
        engine.learn(other, np.zeros(1))
        assert not testing.is_ready(engine.model, engine.belief)
        assert not engine.ready
    engine.learn(arm, np.zeros(1))
    assert testing.is_ready(engine.model, engine.belief)
    assert engine.ready


@pytest.mark.parametrize("arm", [0, 1, 2])
def test_ready_once_the_noise_of_every_arm_is_known(arm: int) -> None:
    """One degree of freedom is enough, and a little less is not."""
    session = Session(Problem(objectives=["a"], covariance="per-arm", arms=3), rng=1)
    engine = session.engine
    engine.belief.pulls[:] = 5.0
    engine.belief.noise_estimate.freedom[:] = 1.0
    for freedom, enough in ((0.0, False), (0.999, False), (1.0, True), (np.inf, True)):
        engine.belief.noise_estimate.freedom[arm] = freedom
        assert testing.is_ready(engine.model, engine.belief) == enough
        assert engine.ready == enough
    engine.belief.pulls[arm] = 0.0
    assert not testing.is_ready(engine.model, engine.belief)
    assert not engine.ready


def test_ready_once_the_features_are_spanned() -> None:
    """With features it takes no result of every arm."""
    features = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]
    problem = Problem(objectives=["a"], covariance=[1.0], features=features, intercept=False)
    engine = Session(problem, rng=1).engine
    for arm, enough in ((0, False), (1, False), (2, True)):
        engine.learn(arm, np.zeros(1))
        assert engine.belief.tally[SPANNED] == enough
        assert testing.is_ready(engine.model, engine.belief) == enough
        assert engine.ready == enough
