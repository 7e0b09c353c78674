"""Projections on pieces of Alt, against least-distance programming by scipy's NNLS."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

import naive
from core.entries import posterior_at
from psips import _core
from psips._core import testing
from psips.state.posterior import Posterior

seeds = st.integers(0, 10**6)


def covariance(d: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    if kind == "diagonal":
        return np.diag(rng.uniform(0.3, 3.0, d))
    half = rng.normal(size=(d, d))
    return half @ half.T + 0.1 * np.eye(d)


def unstructured(
    n: int, Sigma: np.ndarray, rng: np.random.Generator
) -> tuple[Posterior, np.ndarray]:
    N = rng.integers(1, 50, n) * 1.0
    mu = rng.normal(size=(n, len(Sigma)))
    return posterior_at(Sigma, mu, N), np.diag(N)


def linear(
    Z: np.ndarray, theta: np.ndarray, Sigma: np.ndarray, rng: np.random.Generator
) -> tuple[Posterior, np.ndarray]:
    h = Z.shape[1]
    half = rng.normal(size=(h, 2 * h))
    V = half @ half.T
    F = np.linalg.inv(np.linalg.cholesky(V)).T
    return posterior_at(Sigma, Z @ theta, np.ones(len(Z)), A=Z, F=F), V


def check(
    p: Posterior, Z: np.ndarray, theta: np.ndarray, V: np.ndarray, z: int, xs: list, cs: list
) -> None:
    y, at = np.zeros(len(xs)), np.zeros(p.mu.shape)
    square = testing.nearest(p, z, np.array(xs), np.array(cs), y, at)
    expected, point = naive.piece(Z, theta, V, p.Sigma, z, xs, cs)
    size = max(1.0, expected)
    assert square == pytest.approx(expected, rel=1e-8, abs=1e-10)
    assert y.min() >= 0
    assert np.allclose(at, Z @ point, atol=1e-7 * size)
    for k, (x, c) in enumerate(zip(xs, cs, strict=True)):
        lead = at[z, c] - at[x, c]
        assert lead >= -1e-8 * size  # it is in the piece,
        if y[k] > 1e-9:
            assert abs(lead) <= 1e-8 * size  # on the edge of what holds it


shapes = st.tuples(st.integers(2, 6), st.integers(1, 4), st.sampled_from(["diagonal", "full"]))


@given(shapes, seeds)
def test_pairs(shape: tuple[int, int, str], seed: int) -> None:
    n, d, kind = shape
    rng = np.random.default_rng(seed)
    Sigma = covariance(d, kind, rng)
    p, V = unstructured(n, Sigma, rng)
    check(p, np.eye(n), p.mu, V, 0, [1] * d, list(range(d)))
    Z, theta = rng.normal(size=(n, 3)), rng.normal(size=(3, d))
    p, V = linear(Z, theta, Sigma, rng)
    check(p, Z, theta, V, 0, [1] * d, list(range(d)))


@given(shapes, seeds)
def test_escapes(shape: tuple[int, int, str], seed: int) -> None:
    n, d, kind = shape
    rng = np.random.default_rng(seed)
    Sigma = covariance(d, kind, rng)
    p, V = unstructured(n, Sigma, rng)
    xs, cs = list(range(1, n)), [int(c) for c in rng.integers(0, d, n - 1)]
    check(p, np.eye(n), p.mu, V, 0, xs, cs)
    Z, theta = rng.normal(size=(n, 8)), rng.normal(size=(8, d))
    p, V = linear(Z, theta, Sigma, rng)
    check(p, Z, theta, V, 0, xs, cs)


@given(seeds, st.integers(1, 3))
def test_the_same_constraint_twice(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    p, V = unstructured(4, covariance(d, "full", rng), rng)
    xs, cs = [1, 2, 1, 3, 2], [int(c) for c in rng.integers(0, d, 3)]
    cs = [cs[0], cs[1], cs[0], cs[2], cs[1]]
    check(p, np.eye(4), p.mu, V, 0, xs, cs)


def dependent(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A feasible problem with more constraints than dimensions: G is singular."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(7, 3))
    U[1] = 2 * U[0]  # parallel, and one of them holds
    return U, U @ rng.normal(size=3) - rng.uniform(0, 0.3, 7)


@pytest.mark.parametrize("seed", range(40))
def test_dependent_constraints(seed: int) -> None:
    """The dual of min |x| over Ux >= b: x = U'y."""
    U, b = dependent(seed)
    y = np.zeros(7)
    _core.solve_nnqp(np.ascontiguousarray(U @ U.T), b, y)
    assert y.min() >= 0
    assert np.allclose(U.T @ y, naive.least_distance(U, b), atol=1e-7)


@given(st.integers(1, 8), seeds)
def test_independent_constraints(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    U, b = rng.normal(size=(m, m + 2)), rng.normal(size=m)
    y = np.zeros(m)
    _core.solve_nnqp(np.ascontiguousarray(U @ U.T), b, y)
    expected, _ = nnls(U.T, np.linalg.pinv(U) @ b)  # min |U'y - x|^2 with U x = b
    assert np.allclose(y, expected, rtol=1e-8, atol=1e-8)
    free = np.linalg.solve(U @ U.T, b)  # what solves it if the signs are not looked at
    assert np.allclose(y, free) == (free.min() >= 0.0)


def test_nothing_to_do_inside_the_piece() -> None:
    y = np.ones(2)
    _core.solve_nnqp(np.eye(2), np.array([-1.0, 0.0]), y)
    assert (y == 0).all()


def test_collinear_answers_in_a_linear_problem() -> None:
    """z, x and x' on a line through z: only the farther constraint holds."""
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(5, 3))
    Z[2] = Z[0] + 3.0 * (Z[1] - Z[0])
    theta = rng.normal(size=(3, 2))
    p, V = linear(Z, theta, np.eye(2), rng)
    for cs in ([0, 0, 1, 0], [1, 1, 1, 1], [0, 1, 0, 1]):
        check(p, Z, theta, V, 0, [1, 2, 3, 4], cs)
