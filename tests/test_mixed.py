"""A posterior with one covariance for all arms: the kernels against a linear problem."""

from __future__ import annotations

import numpy as np
import pytest

from psips import Problem, Session

K, H, D = 6, 3, 2
SIGMA = np.array([[1.0, 0.4], [0.4, 2.0]])


def linear() -> Session:
    """A session about other designs than those measured: their means are correlated."""
    rng = np.random.default_rng(1)
    answers = rng.normal(size=(K, H))
    problem = Problem(
        objectives=["x", "y"],
        covariance=SIGMA,
        features=rng.normal(size=(8, H)),
        arms=8,
        answers=([f"z{a}" for a in range(K)], answers),
        intercept=False,
    )
    session = Session(problem, calibration="heuristic", rng=1)
    theta = rng.normal(size=(H, D))
    for _ in range(25):
        for a, arm in enumerate(problem.arms):
            x = problem.features[a] @ theta + np.linalg.cholesky(SIGMA) @ rng.normal(size=D)
            session.tell(arm, x)
    return session


def joint(other: Session) -> Session:
    """A session with blocks that knows the same of the answers."""
    problem = Problem(objectives=["x", "y"], arms=list(other.problem.answers), items=True)
    session = Session(problem, calibration="heuristic", rng=1)
    engine, model, belief = session.engine, other.engine.model, other.engine.belief
    W = model.Z @ belief.F  # rank H: a little is added, so that there is a precision
    G = np.kron(W @ W.T, SIGMA) + 1e-9 * np.eye(K * D)
    engine.belief.theta[:] = model.Z @ belief.theta
    engine.belief.G[:] = G
    engine.belief.F[:] = np.linalg.cholesky(G)
    engine.belief.V[:] = np.linalg.inv(G)
    engine.belief.pulls[:] = engine.belief.N[:] = 200 / K
    engine.belief.tally[0] = 200
    engine.belief.noise_estimate.freedom[:] = 30.0
    engine.within[:] = SIGMA
    return session


@pytest.fixture(scope="module")
def pair() -> tuple[Session, Session]:
    one = linear()
    return one, joint(one)


def test_the_likelihood_ratio_is_that_of_the_linear_problem(pair) -> None:
    one, other = pair
    found, threshold = one.engine.ratio()
    again, same = other.engine.ratio()
    assert found > 0.01
    assert again == pytest.approx(found, rel=1e-5)
    assert same == threshold


def test_probabilities_are_those_of_the_linear_problem(pair) -> None:
    one, other = pair
    first, se = one.engine.probabilities()
    second, other_se = other.engine.probabilities()
    assert ((first > 0.01) & (first < 0.99)).any()
    assert (np.abs(first - second) < 5 * np.hypot(se, other_se) + 1e-3).all()
    change, error = one.engine.change_probability()
    again, other_error = other.engine.change_probability()
    assert abs(np.exp(change - again) - 1) < 5 * np.hypot(error, other_error) + 1e-3


def test_a_covariance_that_is_another_is_noticed(pair) -> None:
    """The same comparison fails if the arms' means are taken for independent."""
    one, _ = pair
    wrong = joint(one)
    belief = wrong.engine.belief
    for a in range(K):
        for b in range(K):
            if a != b:
                belief.G[a * D : (a + 1) * D, b * D : (b + 1) * D] = 0.0
    assert wrong.engine.ratio()[0] != pytest.approx(one.engine.ratio()[0], rel=0.05)


def test_the_covariance_between_items_does_not_depend_on_units() -> None:
    """Metrics with errors around 1e-10 and 1e5: none drowns in the rounding of another."""
    rng = np.random.default_rng(3)
    items = rng.normal(size=(12, 3)) @ np.diag([1.0, 0.3, 2.0])
    told = [
        (arm, item, items[item] + [a, -a, 0.5 * a] + rng.normal(size=3))
        for item in range(12)
        for a, arm in enumerate("ABC")
    ]
    problem = Problem(objectives=["x", "y", "z"], arms=list("ABC"), items=True)
    units = np.array([1e-10, 1.0, 1e5])
    plain, other = Session(problem, rng=1), Session(problem, rng=1)
    for arm, item, x in told:
        plain.tell(arm, x, item=item)
        other.tell(arm, x * units, item=item)
    one, two = plain.engine, other.engine
    scale = np.outer(units, units)
    for found, expected in (
        (two.belief.theta / units, one.belief.theta),
        (two.between / scale, one.between),
        (two.within / scale, one.within),
        (two.covariances() / scale, one.covariances()),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert other.candidate_set == plain.candidate_set
