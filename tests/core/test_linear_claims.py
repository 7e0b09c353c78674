"""Evidence of linear claims: against a minimiser, and how often false ones have much."""

from __future__ import annotations

import math

import numpy as np
import pytest

import naive_claims as naive
from psips._core import testing, weigh_account
from psips.problem import Problem
from psips.session import Session
from psips.state.account import open_account

LEVEL = math.log(10)
CYCLES = np.unique(np.geomspace(1, 2000, 60).astype(int))


def linear(features: np.ndarray, d: int) -> Session:
    problem = Problem(
        objectives=[f"o{c}" for c in range(d)],
        covariance=np.linspace(1, 2, d),
        features=features,
        intercept=False,
    )
    return Session(problem, stopping="never", rng=1)


def test_evidence_is_the_least_over_all_thetas_that_make_the_claim_false() -> None:
    rng = np.random.default_rng(1)
    tried = 0
    for h, d in [(2, 1), (3, 2), (4, 2)] * 3:
        session = linear(rng.normal(size=(6, h)), d)
        engine, model = session.engine, session.engine.model
        N1, n = rng.integers(3, 20, 6).astype(float), rng.integers(2, 60, 6).astype(float)
        theta = rng.normal(size=(h, d))
        B1, B = (model.A.T @ (k[:, None] * model.A) @ theta for k in (N1, N1 + n))
        engine.know(N1 + n, B)
        engine.judge()
        account = open_account(model, engine.front.inside, N1, B1, 3.0)
        weigh_account(model, engine.belief, account)
        J = model.A.T @ (n[:, None] * model.A)
        F = np.ascontiguousarray(np.linalg.inv(np.linalg.cholesky(J)).T)
        for o in range(0, len(account.lead), 3):
            z, x = account.arms[o, :2]
            u, y = model.Z[x] - model.Z[z], account.G[o, 1]
            lead = float(u @ theta @ y)
            if lead <= 0:
                continue
            s = y @ model.Sigma @ y
            assert account.s[o, 0] == pytest.approx(s)
            V1 = model.A.T @ (N1[:, None] * model.A)
            q = account.q[o, 0]
            assert q <= account.lead[o] ** 2 / 2 / (3.0 + testing.MARGIN) + 1e-12
            Q = np.linalg.inv(V1) * q / (u @ np.linalg.inv(V1) @ u)
            expected = float(account.lead[o])
            square = (testing.SPREAD * expected) ** 2
            law = naive.Law(np.ones(1), testing.CENTRE * expected, square, testing.LINEAR_KAPPA)
            exact = naive.evidence_along(u, s * np.linalg.inv(J), Q, lead, law)
            found = testing.linear_evidence(model, account, F, o, lead)
            assert exact - 2e-3 <= found <= exact + 1e-5
            assert found <= lead**2 / (2 * s * u @ np.linalg.inv(J) @ u) + 1e-9
            tried += 1
    assert tried > 20


def often(broken: bool, runs: int) -> int:
    """How often a claim is settled though all answers are equal.

    A set is predicted when the first results say that a piece is far away, and that piece is
    looked at. Later pulls depend on what was told: while the claim leads, the arms it compares
    are left alone for a time. ``broken``: the first results count too.
    """
    rng = np.random.default_rng(2)
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    session = linear(features, 1)
    engine, model = session.engine, session.engine.model
    A = model.A
    done = hits = 0
    while done < runs:
        N1, B1, far = np.zeros(3), np.zeros((2, 1)), False
        for _ in range(20):
            N1 += 1.0
            B1 += A.T @ rng.normal(size=(3, 1))
            C = np.linalg.inv(A.T @ (N1[:, None] * A))
            value = (model.Z @ C @ B1)[:, 0]
            best, worst = value.argmax(), value.argmin()
            u = model.Z[best] - model.Z[worst]
            far = (value[best] - value[worst]) ** 2 / (2 * u @ C @ u) > 2.5
            if far:
                break
        if not far:
            continue
        done += 1
        account = open_account(model, np.arange(3) == best, N1, B1, LEVEL)
        false = int(np.flatnonzero(account.z == worst)[0])
        if broken:
            account.V1[:] = 0.0
            account.B1[:] = 0.0
        N, B, before = N1.copy(), B1.copy(), 0
        for cycle in CYCLES:
            k = np.full(3, float(cycle - before))
            before = int(cycle)
            if account.value[false] > 1.0 and cycle % 2:
                k[[best, worst]] = 0.0
            N = N + k
            B = B + A.T @ (np.sqrt(k)[:, None] * rng.normal(size=(3, 1)))
            engine.know(N, B)
            weigh_account(model, engine.belief, account)
            if account.settled[false]:
                hits += 1
                break
    return hits


def test_a_false_claim_is_rarely_settled_and_counting_from_the_start_is_caught() -> None:
    runs, chance = 400, math.exp(-LEVEL)
    allowed = runs * chance + 3 * math.sqrt(runs * chance * (1 - chance))
    assert 0 < often(False, runs) <= allowed
    assert often(True, runs) > allowed


def test_nothing_is_settled_before_later_results_span_the_features() -> None:
    session = linear(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]), 1)
    engine, model = session.engine, session.engine.model
    N1, theta = np.full(3, 5.0), np.array([[3.0], [0.0]])
    V = lambda N: model.A.T @ (N[:, None] * model.A)  # noqa: E731
    account = open_account(model, np.array([True, False, False]), N1, V(N1) @ theta, LEVEL)
    for later, settled in ((np.array([900.0, 0, 0]), False), (np.array([900.0, 900, 0]), True)):
        engine.know(N1 + later, V(N1 + later) @ theta)
        weigh_account(model, engine.belief, account)
        assert account.settled.all() == account.settled.any() == settled
