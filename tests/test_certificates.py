"""Certificates: the evidence and the verdicts against brute force, and how often they err."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from scipy.optimize import brentq

import naive_certificates as naive
from psips.kernels import certificates
from psips.kernels.certificates import evidence
from psips.parameters import Ball
from psips.problem import Problem
from psips.session import Session
from psips.verdicts import Verdict, verdicts_of


@numba.njit
def evidence_of(first: float, second: float, s: float, lead: float) -> float:
    return evidence(first, second, s, lead)


@numba.njit
def worst(rng: np.random.Generator, runs: int, pulls: int, level: float, peek: bool) -> float:
    """How many runs ever claim, at ``level``, that the first of two equal arms is better."""
    false = 0
    for _ in range(runs):
        N = np.ones(2)
        total = np.array([rng.normal(), rng.normal()])
        for k in range(pulls):
            lead = total[0] / N[0] - total[1] / N[1]
            # a test for one fixed time, looked at all the time; the evidence is not far above
            value = 0.5 * max(lead, 0.0) ** 2 / (1.0 / N[0] + 1.0 / N[1])
            if not peek and value + 1.4 >= level:
                value = evidence(N[0], N[1], 1.0, lead)
            elif not peek:
                value = 0.0
            if value >= level:
                false += 1
                break
            arm = k % 2
            if k % 3 == 0 and lead > 0.0:
                arm = 1 if N[1] < 20.0 * N[0] else 0  # uneven counts
            total[arm] += rng.normal()
            N[arm] += 1.0
    return false


@pytest.mark.parametrize(
    ("first", "second", "lead"),
    [(1, 1, 9.0), (30, 13000, 1.0), (5000, 40, 0.9), (300, 250, 0.4), (7, 2, 2.5), (1e6, 3, 4)],
)
def test_evidence_is_the_minimum_and_never_above(
    first: float, second: float, lead: float
) -> None:
    expected = naive.evidence_in_the_plane(first, second, 1.3, lead)
    assert naive.evidence(first, second, 1.3, lead) == pytest.approx(expected, abs=1e-3)
    found = evidence_of(float(first), float(second), 1.3, lead)
    assert expected - 2e-3 <= found <= expected + 1e-6


def test_no_lead_is_no_evidence() -> None:
    assert evidence_of(5.0, 5.0, 1.0, 0.0) == 0.0
    assert evidence_of(5.0, 5.0, 1.0, -1.0) == 0.0


def test_false_claims_pass_their_level_as_rarely_as_promised() -> None:
    """Equal arms over thousands of pulls; looking at a plain test all the time is caught."""
    runs, chance = 3000, 0.02
    bound = chance * runs + 3 * math.sqrt(chance * runs)
    rng = np.random.default_rng(1)
    assert worst(rng, runs, 3000, -math.log(chance), False) <= bound
    assert worst(rng, runs, 3000, -math.log(chance), True) > bound


def knowing(problem: Problem, N: np.ndarray, theta: np.ndarray, delta: float = 0.1) -> Session:
    """Return a session told ``N`` results of each arm that give the estimate ``theta``."""
    session = Session(problem, delta=delta, stopping="never", rng=1)
    V = np.diag(N)
    if not problem.unstructured:
        A = problem.features
        assert A is not None
        V = problem.regularization * np.eye(problem.h) + A.T @ V @ A
    session.engine.know(N, V @ theta)
    session.engine.judge()
    return session


def judged(problem: Problem, N: np.ndarray, theta: np.ndarray) -> list[Verdict]:
    return verdicts_of(problem, knowing(problem, N, theta).engine)


@pytest.mark.parametrize("rho", [0.0, -0.8, 0.8])
def test_verdicts_are_what_all_sets_not_rejected_agree_on(rho: float) -> None:
    rng = np.random.default_rng(3)
    Sigma = np.array([[1.0, rho], [rho, 1.0]])
    problem = Problem(objectives=["a", "b"], covariance=Sigma, arms=4)
    seen: set[str] = set()
    for _ in range(4):
        mu = rng.normal(size=(4, 2))
        N = rng.integers(5, 200, 4).astype(float)
        exact = naive.verdicts(mu, N, Sigma, 0.1)
        found = [one.verdict for one in judged(problem, N, mu)]
        for one, other in zip(found, exact, strict=True):
            assert one in ("open", other)  # never more than the enumeration proves
        assert sum(a == b for a, b in zip(found, exact, strict=True)) >= 3
        seen |= set(found)
    assert len(seen) > 1


def test_reasons_name_rival_objective_and_pulls_in_the_users_orientation() -> None:
    problem = Problem(
        objectives={"yield": "max", "cost": "min"}, covariance=[1, 1], arms=["A", "B", "C"]
    )
    session = Session(problem, rng=1)
    rng = np.random.default_rng(1)
    for _ in range(40):
        for arm, mean in (("A", (5.0, 1.0)), ("B", (1.0, 8.0)), ("C", (4.7, 1.0))):
            session.tell(arm, rng.normal(mean))
    A, B, C = verdicts_of(problem, session.engine)
    assert (B.verdict, B.rival, B.reason) == ("out", "A", "dominated by A")
    assert C.verdict == "open"
    assert C.rival == "A"
    assert C.objective in ("yield", "cost")
    estimates = session.status().answers[f"{C.objective} estimate"]
    assert C.interval is not None
    assert sum(C.interval) / 2 == pytest.approx(estimates["C"] - estimates["A"])
    assert C.reason in str(session.status())
    assert A.reason in str(session.status())


@pytest.mark.parametrize(
    "N", [(20, 2000), (200, 200), (3, 3), (500, 5), (1, 100000), (7, 30), (4000, 3000)]
)
def test_intervals_are_as_wide_as_the_evidence_needs(N: tuple[int, int]) -> None:
    problem = Problem(objectives=["a"], covariance=[1.7], arms=2)
    found = judged(problem, np.array(N, float), np.array([[0.001], [0.0]]))[0].interval
    assert found is not None
    L, s = math.log(2 / 0.1), math.sqrt(1.7)
    exact = brentq(lambda width: naive.evidence(*N, s, width) - L, 0.0, 100.0, xtol=1e-10)
    assert (found[1] - found[0]) / 2 == pytest.approx(exact, rel=5e-4)
    assert (found[1] + found[0]) / 2 == pytest.approx(0.001)


def test_linear_problems_have_certificates_with_a_bound_only() -> None:
    features = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]
    rng = np.random.default_rng(2)
    theta = np.array([[1.0, -1.0], [-1.0, 1.0]])
    for parameter_set in (None, Ball(2.0)):
        problem = Problem(
            objectives=["a", "b"],
            covariance=[0.1, 0.1],
            features=features,
            parameter_set=parameter_set,
        )
        session = Session(problem, stopping="never", rng=1)
        for _ in range(100):
            for k, arm in enumerate(problem.arms):
                session.tell(arm, rng.normal(np.array(features[k]) @ theta, 0.1**0.5))
        found = verdicts_of(problem, session.engine)
        if parameter_set is None:
            assert {one.verdict for one in found} == {"open"}
            assert "parameter_set=Ball(...)" in found[0].reason
        else:
            assert [one.verdict for one in found] == ["in"] * 3


def test_weights_of_the_mixture_sum_to_one() -> None:
    assert sum(math.exp(w) for w in certificates.LOG_WEIGHTS) == pytest.approx(1.0)
