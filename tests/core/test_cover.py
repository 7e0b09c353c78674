"""The cover: it covers, its probabilities are right, and refreshing it is measuring again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import log_ndtr

import naive
from core import states
from core.entries import (
    State,
    answers,
    covering,
    drop_nearest,
    factor,
    plain_draws,
    plain_model,
    set_belief,
    state,
    walk,
)
from psips._core import testing
from psips.problem import Problem
from psips.state.belief import RESULTS, empty_belief
from psips.state.search import BUILT, GROUPS, LEFT_OUT, NEAREST, RECORDS, STAGE, empty_search

seeds = st.integers(0, 10**6)


def alternative(at: State, points: np.ndarray) -> np.ndarray:
    """Which points have another Pareto set, all at once."""
    v = answers(at, points)
    above = (v[:, :, None] >= v[:, None]).all(axis=3) & (v[:, :, None] > v[:, None]).any(axis=3)
    return (~above.any(axis=1) != at.front.inside).any(axis=1)


def random_state(rng: np.random.Generator, kind: str, d: int) -> State:
    """Some outsiders with several dominators; pulls such that Alt is not far."""
    half = rng.normal(size=(d, d))
    Sigma = np.diag(rng.uniform(0.5, 2, d)) if kind != "correlated" else half @ half.T
    Sigma = Sigma + 0.05 * np.eye(d)
    if kind == "linear":
        A = rng.normal(size=(9, 4))
        model = plain_model(Sigma, A=A, Z=np.vstack([A[:4], A.mean(axis=0), A[4] / 2]))
        theta = rng.normal(size=(4, d))
        return state(model, theta, rng.uniform(5, 30, 9))
    means = rng.normal(size=(7, d))
    means[5] = np.minimum(means[0], means[1]) - 0.3
    means[6] = means[:3].min(axis=0) - 0.2
    return state(plain_model(Sigma, K=7), means, rng.uniform(5, 40, 7))


@settings(max_examples=30)
@given(
    seeds, st.sampled_from(["diagonal", "correlated", "linear"]), st.sampled_from([1, 2, 3, 6])
)
def test_every_point_of_the_alternative_is_covered(seed: int, kind: str, d: int) -> None:
    at = random_state(np.random.default_rng(seed), kind, d)
    assert at.cover.life[STAGE] == BUILT
    points = plain_draws(at, 3000, rng=seed)
    points = np.concatenate([points, plain_draws(at, 1000, rng=seed + 1, scale=0.3)])
    assert (covering(at, points)[alternative(at, points)] > 0).all()


@pytest.mark.parametrize("name", ["independent", "negative", "positive", "six", "linear"])
def test_a_hundred_thousand_points(name: str) -> None:
    at = states.at(name, 0.15)
    points = plain_draws(at, 100_000)
    hit = alternative(at, points)
    count = covering(at, points)
    assert hit.mean() == pytest.approx(0.15, rel=0.3)
    assert (count[hit] > 0).all()
    drop_nearest(at)
    assert (covering(at, points)[hit] == 0).any()


def log_p(at: State, k: int) -> float:
    groups = at.cover.shape[k, GROUPS]
    return float(log_ndtr(-at.cover.b[k, :groups]).sum())


@pytest.mark.parametrize(
    "name", ["independent", "negative", "positive", "three", "six", "linear"]
)
def test_probabilities(name: str) -> None:
    """Of every single set, against how many of 40,000 draws it contains."""
    at = states.at(name, 0.3)
    points = plain_draws(at, 40_000, rng=3)
    records = int(at.cover.life[RECORDS])
    fields = ("shape", "terms", "y", "gap", "L", "b", "r")
    kept = {field: getattr(at.cover, field).copy() for field in fields}
    at.cover.life[RECORDS] = 1
    seen = 0.0
    for k in range(records):
        for field in fields:
            getattr(at.cover, field)[0] = kept[field][k]
        p = float(np.exp(log_p(at, 0)))
        inside = int(covering(at, points).sum())
        assert stats.binomtest(inside, len(points), p).pvalue > 1e-4
        seen = max(seen, p)
    assert seen > 0.02


def remeasured(at: State, k: int) -> tuple[np.ndarray, np.ndarray]:
    """(b, L) of record k from its structure: covariances formed in full."""
    model, cover = at.model, at.cover
    z, m, _, groups = cover.shape[k]
    Z = np.eye(model.K) if model.unstructured else model.Z
    V_inverse = factor(at) @ factor(at).T
    mu = Z @ at.belief.theta
    forms = np.zeros((groups, model.h * model.d))
    gap = np.zeros(groups)
    for j in range(m):
        x, c, g = cover.terms[k, j]
        forms[g] += cover.y[k, j] * np.outer(Z[z] - Z[x], np.eye(model.d)[c]).ravel()
        gap[g] += cover.y[k, j] * (mu[x, c] - mu[z, c])
    L = np.linalg.cholesky(forms @ np.kron(V_inverse, model.Sigma) @ forms.T)
    return np.linalg.solve(L, gap), L


@pytest.mark.parametrize(
    "name", ["independent", "negative", "positive", "three", "six", "linear"]
)
def test_a_refreshed_cover_is_that_of_a_new_one(name: str) -> None:
    at = states.at(name, 0.01)
    rng = np.random.default_rng(6)
    for _ in range(3):
        walk(at, rng, 0.2)
        assert testing.refresh_cover(at)
        for k in range(at.cover.life[RECORDS]):
            groups = at.cover.shape[k, GROUPS]
            b, L = remeasured(at, k)
            assert np.allclose(at.cover.b[k, :groups], b, rtol=1e-9, atol=1e-9)
            assert np.allclose(np.tril(at.cover.L[k, :groups, :groups]), L, rtol=1e-9)
            off = L - np.diag(np.diag(L))
            assert off.max() <= 1e-9  # so that L^-1 >= 0 and the set holds its piece
            positive = np.maximum(b, 0.0)
            assert at.cover.r[k] == pytest.approx(float(np.linalg.norm(positive)), abs=1e-9)


def test_a_basis_of_the_factor_does_not_matter() -> None:
    """F may turn (it is factored again every so often); all records must follow."""
    rng = np.random.default_rng(7)
    Z = rng.normal(size=(60, 4))
    model = plain_model(np.eye(2), A=Z)
    at = state(model, rng.normal(size=(4, 2)), np.full(60, 40.0))
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    at.belief.F[:] = at.belief.F @ turn
    before = at.cover.b[: at.cover.life[RECORDS]].copy()
    at.belief.tally[RESULTS] = 10**6
    assert testing.refresh_cover(at)
    assert np.allclose(at.cover.b[: at.cover.life[RECORDS]], before, rtol=1e-8, atol=1e-8)


def test_only_sets_that_can_matter_are_kept() -> None:
    """No more than e^-28 of the nearest piece's mass is left out."""
    at = states.at("independent", 0.0005)
    means = np.vstack([at.belief.theta, at.belief.theta.min(axis=0) - 50.0])
    far = state(plain_model(np.eye(2), K=6), means, np.append(at.belief.N, 100.0))
    assert far.cover.life[RECORDS] == at.cover.life[RECORDS]
    points = plain_draws(far, 100_000, rng=8)
    assert (covering(far, points)[alternative(far, points)] > 0).all()


def test_the_nearest_distance() -> None:
    """reach[NEAREST] is the distance from theta to Alt, by every leaf of every piece."""
    for seed in range(6):
        at = random_state(np.random.default_rng(seed), "correlated", 2)
        mu, Sigma, V = at.belief.theta, at.model.Sigma, np.diag(at.belief.N)
        inside = naive.pareto_mask(mu)
        S = [int(x) for x in np.flatnonzero(inside)]
        found = [
            naive.piece(np.eye(7), mu, V, Sigma, j, [i, i], [0, 1])[0]
            for i in S
            for j in S
            if i != j
        ]
        for z in np.flatnonzero(~inside):
            for leaf in np.ndindex(*(2,) * len(S)):
                found.append(naive.piece(np.eye(7), mu, V, Sigma, int(z), S, list(leaf))[0])
        assert at.cover.reach[NEAREST] ** 2 == pytest.approx(min(found), rel=1e-6)


@pytest.mark.parametrize("kind", ["diagonal", "correlated"])
def test_one_pull_refreshes_what_it_touches(kind: str) -> None:
    """After one result only its arm's records are measured, as if all had been."""
    for seed in range(20):
        some, every = (random_state(np.random.default_rng(seed), kind, 3) for _ in range(2))
        for at in (some, every):
            at.belief.N[2] += 1.0
            at.belief.theta[2] += 0.01
        every.posterior.known[:] = 0.0  # as if all had been pulled
        assert testing.refresh_cover(some) == testing.refresh_cover(every)
        for name in ("gap", "L", "b", "r"):
            measured, anew = getattr(some.cover, name), getattr(every.cover, name)
            np.testing.assert_array_equal(measured, anew)
        assert (some.cover.reach == every.cover.reach).all()


@pytest.mark.parametrize(("grown", "kept"), [(1.0, True), (1.02, True), (200.0, False)])
def test_noise_that_seems_larger_brings_back_what_was_left_out(
    grown: float, kept: bool
) -> None:
    """The third arm is far behind; with its variance grown it is as near as the second."""
    model = Problem(objectives=["a"], arms=3).model
    belief = empty_belief(model)
    set_belief(model, belief, np.array([[0.0], [-1.0], [-9.0]]), np.full(3, 50.0))
    belief.noise_estimate.C[:] = 1 / 50
    search = empty_search(model, belief, 64)
    testing.build_cover(search, 1.0)
    assert search.cover.life[RECORDS] == 1  # of the second arm
    nearest, left_out = search.cover.reach[NEAREST], search.cover.reach[LEFT_OUT]
    assert nearest < left_out < 9.0 / np.sqrt(2 / 50)
    belief.noise_estimate.C[2] *= grown
    belief.N[2] += 1.0
    belief.tally[RESULTS] = 10**6  # old enough not to be built again for its age
    assert testing.refresh_cover(search) == kept
