"""The seam: any covariance of each arm's mean will do, however it came about."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from core.entries import SearchState, hits, plain_model, posterior_at, state
from core.test_slack import agree, is_wrong, nearest_piece
from psips._core import respond, testing

MEANS = np.array([[1.0, 0.2], [0.3, 0.9], [0.6, 0.0], [0.0, 0.2]])


def covariances(rng: np.random.Generator, n: int = 4, d: int = 2) -> np.ndarray:
    """One of its own for each arm."""
    half = rng.normal(size=(n, d, d))
    return half @ half.transpose(0, 2, 1) + 0.1 * np.eye(d)


def test_the_best_response_and_its_shares() -> None:
    """N_a g_a are the arms' shares of the squared distance, s_a' C_a^-1 s_a."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        mu, N, C = rng.normal(size=(4, 2)), rng.uniform(1, 9, 4), covariances(rng)
        p = posterior_at(np.array([[1.0, 0.3], [0.3, 1.0]]), mu, N)
        p.C[:], p.R[:] = C, np.linalg.cholesky(C)
        members = np.flatnonzero(naive.pareto_mask(mu))
        value, _, _, _, _, change, gains = respond(p, members, np.inf)
        assert value == pytest.approx(nearest_piece(mu, C, 0.0), rel=1e-6)
        shares = np.einsum("ac,ace,ae->a", change, np.linalg.inv(C), change)
        assert np.allclose(N * gains, shares, rtol=1e-8, atol=1e-10)
        assert shares.sum() == pytest.approx(value, rel=1e-8)


def with_covariances(C: np.ndarray) -> SearchState:
    """A state in which each arm has its own, with a cover built for it."""
    model = plain_model(np.array([[1.0, 0.3], [0.3, 1.0]]), K=4)
    at = state(model, MEANS, np.full(4, 9.0))
    at.posterior.C[:], at.posterior.R[:] = C, np.linalg.cholesky(C)
    testing.build_cover(at, 1.0)
    return at


def test_first_hits_and_gains() -> None:
    """Points, indices and the published learner's gains follow the arms' own covariances."""
    rng = np.random.default_rng(3)
    C = covariances(rng) / 150
    at = with_covariances(C)
    assert np.array_equal(at.posterior.C, C)  # filled once, and left alone until a pull
    g = rng.standard_normal((400_000, 4, 2))
    points = MEANS + np.einsum("ace,sae->sac", np.linalg.cholesky(C), g)
    wrong = is_wrong(points, at.front.inside, 0.0)
    assert 0.01 < wrong.mean() < 0.25
    found = hits("hits", at, 20_000)
    assert agree(found.index, found.points, wrong.mean(), points[wrong])
    away = found.points - MEANS
    shares = np.einsum("sac,ace,sae->sa", away, np.linalg.inv(C), away)
    assert np.allclose(9.0 * found.gains, shares, rtol=1e-8)
    shared = with_covariances(np.broadcast_to(C.mean(axis=0), C.shape))  # one for all arms
    plain = hits("hits", shared, 20_000)
    assert not agree(plain.index, plain.points, wrong.mean(), points[wrong])
