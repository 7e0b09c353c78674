"""Certificates: the evidence and the verdicts against brute force, and how often they err."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import brentq, linprog

import naive_certificates as naive
from psips._core import testing
from psips.problem import Problem
from psips.problem.parameters import Ball
from psips.session import Session
from psips.session.verdicts import Verdict, combinations, verdicts_of


def evidence_of(first: float, second: float, s: float, lead: float) -> float:
    return testing.mixture_evidence(first, second, s, s, lead)


def worst(rng: np.random.Generator, runs: int, pulls: int, level: float, peek: bool) -> int:
    """How many runs ever claim, at ``level``, that the first of two equal arms is better."""
    every = np.arange(runs)
    N, total = np.ones((runs, 2)), rng.normal(size=(runs, 2))
    claimed = np.zeros(runs, bool)
    for k in range(pulls):
        lead = total[:, 0] / N[:, 0] - total[:, 1] / N[:, 1]
        # a test for one fixed time, looked at all the time; the evidence is not far above
        value = 0.5 * np.maximum(lead, 0.0) ** 2 / (1.0 / N[:, 0] + 1.0 / N[:, 1])
        if peek:
            claimed |= value >= level
        else:
            for run in np.flatnonzero(~claimed & (value + 1.4 >= level)):
                claimed[run] = evidence_of(*N[run], 1.0, lead[run]) >= level
        arm = np.full(runs, k % 2)
        if k % 3 == 0:  # uneven counts
            arm = np.where(lead > 0.0, N[:, 1] < 20.0 * N[:, 0], arm).astype(int)
        total[every, arm] += rng.normal(size=runs)
        N[every, arm] += 1.0
    return int(claimed.sum())


@pytest.mark.parametrize(
    ("first", "second", "lead"),
    [(1, 1, 9.0), (30, 13000, 1.0), (5000, 40, 0.9), (300, 250, 0.4), (7, 2, 2.5), (1e6, 3, 4)],
)
def test_evidence_is_the_minimum_and_never_above(
    first: float, second: float, lead: float
) -> None:
    expected = naive.evidence_in_the_plane(first, second, 1.3, lead)
    assert naive.evidence(first, second, 1.3, lead) == pytest.approx(expected, abs=1e-3)
    found = evidence_of(first, second, 1.3, lead)
    assert expected - 2e-3 <= found <= expected + 1e-6


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_directions_looked_along(d: int) -> None:
    root = np.random.default_rng(d).normal(size=(d, d))
    Sigma = root @ root.T + np.eye(d)
    found = {tuple(row) for row in testing.directions(Sigma)}
    assert found == {tuple(row) for row in naive.directions(d, Sigma)}


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
        V = problem.model.xi * np.eye(problem.h) + A.T @ V @ A
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
        exact = naive.verdicts(problem, mu, N, 0.1)
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
    text = " ".join(str(session.status()).split())  # lines are folded
    assert C.reason in text
    assert A.reason in text


@pytest.mark.parametrize(
    "N", [(20, 2000), (200, 200), (3, 3), (500, 5), (1, 100000), (7, 30), (4000, 3000)]
)
def test_intervals_are_as_wide_as_the_evidence_needs(N: tuple[int, int]) -> None:
    problem = Problem(objectives=["a"], covariance=[1.7], arms=2)
    found = judged(problem, np.array(N, float), np.array([[0.001], [0.0]]))[0].interval
    assert found is not None
    L, s = math.log(1 / 0.95 / 0.1), math.sqrt(1.7)  # "the other is not above it"
    exact = brentq(lambda width: naive.evidence(*N, s, width) - L, 0.0, 100.0, xtol=1e-10)
    assert (found[1] - found[0]) / 2 == pytest.approx(exact, rel=5e-4)
    assert (found[1] + found[0]) / 2 == pytest.approx(0.001)


def states(kind: str) -> Iterator[tuple[Problem, np.ndarray, np.ndarray]]:
    """Problems, counts and estimates, some close to a verdict and some far from it."""
    rng = np.random.default_rng(5)
    for k in range(12):
        d = 1 + k % 3
        root = rng.normal(size=(d, d))
        Sigma = root @ root.T + 0.2 * np.eye(d) if kind == "correlated" else np.eye(d)
        if kind == "linear":
            features, Sigma = rng.normal(size=(6, 3)), 0.2 * np.eye(d)
            problem = Problem(
                objectives=[f"o{c}" for c in range(d)],
                covariance=Sigma,
                features=features,
                parameter_set=Ball(2.0),
                regularization=0.5,
                intercept=False,
            )
            theta = rng.normal(size=(3, d)) * 0.5
        else:
            problem = Problem(objectives=[f"o{c}" for c in range(d)], covariance=Sigma, arms=4)
            theta = rng.normal(size=(4, d)) * 0.5
        yield problem, np.round(10 ** rng.uniform(0.3, 3.3, problem.K)), theta


@pytest.mark.parametrize("kind", ["diagonal", "correlated", "linear"])
def test_promised_results_settle_the_matter_and_fewer_do_not(kind: str) -> None:
    """Estimates are kept, counts raised. Seven tenths never do, whatever the state."""
    tried = {True: 0, False: 0}
    for problem, N, theta in states(kind):
        session = knowing(problem, N, theta)
        found = verdicts_of(problem, session.engine)
        told = {one.answer: one.verdict for one in found}
        codes = list(told.values())
        sizes = range(max(1, codes.count("in")), problem.n - codes.count("out") + 1)
        within, outside, escapes = (
            max(naive.level(problem, kind, size, 0.1) for size in sizes) for kind in range(3)
        )
        for z, one in enumerate(found):
            if one.verdict != "open":
                continue
            assert one.rival is not None
            x, inside = problem.answers.index(one.rival), one.answer in session.candidate_set
            L = escapes if inside else within
            if not inside and told[one.rival] != "in":
                L = max(within, outside)
            extra = np.array([one.more.get(arm, 0) for arm in problem.arms])
            assert extra.sum() > 0
            tried[inside] += 1
            assert naive.told_apart(problem, N + extra, theta, z, x, inside) > L - 1e-6
            fewer = N + np.floor(0.7 * extra)
            assert naive.told_apart(problem, fewer, theta, z, x, inside) < L
            after = judged(problem, N + extra, theta)[z]
            assert inside or after.verdict == "out"
            assert after.verdict != "open" or after.rival != one.rival
    assert min(tried.values()) >= 10


def test_results_are_promised_of_the_arm_that_lacks_them() -> None:
    problem = Problem(objectives=["a"], covariance=[1], arms=["A", "B"])
    theta = np.array([[0.5], [0.0]])
    assert list(judged(problem, np.array([20.0, 5000.0]), theta)[0].more) == ["A"]
    equal = judged(problem, np.array([20.0, 20.0]), theta)[0]
    assert equal.more["A"] == equal.more["B"]
    assert "more" not in equal.reason  # how many in all is said once, see `session.progress`


def test_nothing_is_promised_where_the_estimates_are_equal() -> None:
    problem = Problem(objectives=["a"], covariance=[1], arms=2)
    one = judged(problem, np.array([20.0, 30.0]), np.zeros((2, 1)))[0]
    assert (one.verdict, one.more) == ("open", {})
    assert "more" not in one.reason


def test_the_rival_of_a_dominated_answer_is_the_one_that_takes_the_fewest_results() -> None:
    """B is hardly measured, but a few results of it do; A needs thousands, or of Z."""
    problem = Problem(objectives=["a"], covariance=[1], arms=["A", "B", "Z"])
    N = np.array([3000.0, 3.0, 3000.0])
    Z = judged(problem, N, np.array([[0.06], [1.2], [0.0]]))[2]
    assert (Z.rival, list(Z.more)) == ("B", ["B"])
    assert Z.more["B"] < 50


@pytest.mark.parametrize("whole", [False, True], ids=["any", "degenerate"])
def test_combinations_have_the_least_sum(whole: bool) -> None:
    """Against a linear program; whole numbers make ties, a column twice lowers the rank."""
    rng = np.random.default_rng(2)
    for h in (1, 2, 3, 6):
        A = rng.integers(-2, 3, (3 * h, h)).astype(float) if whole else rng.normal(size=(9, h))
        A[0] = 1.0
        A = np.hstack([A, A[:, :1]])
        U = A[:-1] - A[1:]
        U = U[np.abs(U).sum(axis=1) > 0]
        arms, coefficients = combinations(A, U)
        for u, used, found in zip(U, arms, coefficients, strict=True):
            both = np.hstack([A.T, -A.T])
            least = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=u).fun
            np.testing.assert_allclose(found @ A[used], u, atol=1e-9)
            assert np.abs(found).sum() == pytest.approx(least, rel=1e-7)


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
    assert sum(math.exp(w) for w in testing.LOG_WEIGHTS) == pytest.approx(1.0)
