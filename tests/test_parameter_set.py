"""A parameter set must not make a rule sure: a posterior outside it is no evidence."""

from __future__ import annotations

import numpy as np
import pytest

from psips import Ball, Box, InputError, Instance, Problem, Session, simulate
from psips.simulation.environments import GaussianEnvironment

RULES = [
    {"stopping": "posterior", "calibration": "proven"},
    {"stopping": "posterior", "calibration": "heuristic"},
    {"stopping": "posterior", "calibration": "sharp"},
    {"sampling": "posterior", "draws": "literal"},
    {"stopping": "bayes"},
]


def unit_arms() -> tuple[Problem, np.ndarray]:
    """Twelve directions of which little is known: nearly all of the posterior is outside."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(12, 10))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = rng.normal(size=(10, 1))
    theta /= 1.05 * np.linalg.norm(theta)
    problem = Problem(
        objectives=["y"],
        covariance=[25.0],
        features=features,
        intercept=False,
        parameter_set=Ball(1.0),
        regularization=1.0,
    )
    return problem, theta


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_no_rule_stops_before_there_are_data(rules: dict[str, str]) -> None:
    problem, _ = unit_arms()
    session = Session(problem, rng=1, delta=0.1, **rules)
    assert not session.stopped
    model, belief = session.engine.model, session.engine.belief
    points = belief.theta + belief.F @ np.random.default_rng(1).normal(size=(2000, 10, 1)) * 5.0
    inside = (np.linalg.norm(points, axis=1) <= 1.0).mean()
    assert inside < 1e-3  # counting only what is in the ball, all draws would agree
    assert model.kind == 1


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_a_box_that_the_estimates_leave(rules: dict[str, str]) -> None:
    means = np.array([[0.5, 0.6], [0.6, 0.4], [0.45, 0.55], [0.3, 0.3]])
    box = Problem(objectives=["a", "b"], covariance=[1, 1], arms=4, parameter_set=Box(0, 1))
    environment = GaussianEnvironment(box, means)
    runs = [
        simulate(box, environment, rng=k, max_results=200, delta=0.1, **rules)
        for k in range(20)
    ]
    wrong = [run for run in runs if run.stopped and run.pareto_set != ("arm 1", "arm 2")]
    assert len(wrong) <= 2  # 16 when draws outside the box count as agreeing


def test_probabilities_are_those_of_the_posterior() -> None:
    for theta in (None, Box(0, 1), Ball(1.0)):
        problem = Problem(objectives=["a"], covariance=[1], arms=2, parameter_set=theta)
        session = Session(problem, stopping="never", rng=1)
        session.tell("arm 1", 1.8)
        session.tell("arm 2", 1.6)
        status = session.status()
        assert status.probability_of_change == pytest.approx(0.4438, abs=0.04)
        assert status.answers["probability"].tolist() == pytest.approx([0.556, 0.444], abs=0.06)


@pytest.mark.parametrize("sampling", ["directed", "posterior"])
def test_an_estimate_far_outside_does_not_keep_the_learner_searching(sampling: str) -> None:
    problem = Problem(
        objectives=["a", "b"],
        covariance=[1, 1],
        features=[[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]],
        parameter_set=Ball(1.0),
    )
    session = Session(problem, rng=1, sampling=sampling)
    rng = np.random.default_rng(2)
    for arm in problem.arms * 10:
        session.tell(arm, 9.0 + rng.normal(size=2))
    before = session.engine.proposals.sum()
    session.ask(5)
    assert session.engine.proposals.sum() - before < 5 * 20_000


def test_a_truth_outside_is_refused() -> None:
    ball = Problem(objectives=["a"], covariance=[1], arms=2, parameter_set=Ball(1.0))
    with pytest.raises(InputError, match=r"objective 'a' has norm 1\.41421, but the"):
        Instance("far", ball, np.array([[1.0], [1.0]]))
    box = Problem(objectives={"a": "min"}, covariance=[1], arms=2, parameter_set=Box(0, [2.0]))
    Instance("inside", box, np.array([[1.0], [1.5]]))
    with pytest.raises(InputError, match="truth of objective 'a' lies outside the parameter"):
        Instance("far", box, np.array([[-1.0], [1.5]]))
