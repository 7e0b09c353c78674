"""G-optimal design: its certificate checked from scratch, and against a naive twin."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psips.problem.design import BLOCK, design_steps, g_optimal, spanning_rows


def worst(A: np.ndarray, w: np.ndarray) -> tuple[float, int]:
    """Largest leverage over the rank, by pseudo-inverse, and the rank."""
    rank = int(np.linalg.matrix_rank(A))
    V = A.T @ (w[:, None] * A)
    assert np.linalg.matrix_rank(V, hermitian=True) == rank  # every direction is measured
    leverage = np.einsum("ij,jk,ik->i", A, np.linalg.pinv(V, hermitian=True), A)
    return float(leverage.max()) / rank, rank


def multiplicative(A: np.ndarray, steps: int = 20_000) -> np.ndarray:
    """Naive twin: w_a <- w_a ||a||^2_{V^-1} / h (Titterington), slow and certain."""
    w = np.full(len(A), 1 / len(A))
    for _ in range(steps):
        V = A.T @ (w[:, None] * A)
        w *= np.einsum("ij,jk,ik->i", A, np.linalg.inv(V), A) / A.shape[1]
    return w


matrices = st.tuples(st.integers(1, 12), st.integers(1, 5)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(-3, 3), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


@given(matrices)
@settings(deadline=None)
def test_certificate(rows: list[list[int]]) -> None:
    """Any matrix: fewer arms than features, dependent columns, equal arms, zero arms."""
    A = np.array(rows, dtype=float)
    w = g_optimal(A)
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1.0)
    if A.any():
        assert worst(A, w)[0] <= 1.001 + 1e-9


@pytest.mark.parametrize(("K", "h"), [(5, 2), (30, 3), (80, 6)])
def test_against_the_naive_twin(K: int, h: int) -> None:
    A = np.random.default_rng(K).normal(size=(K, h))
    sharp, naive = g_optimal(A, 1e-6), multiplicative(A)
    assert worst(A, sharp)[0] <= 1 + 1e-6 + 1e-9
    logdets = [np.linalg.slogdet(A.T @ (w[:, None] * A))[1] for w in (sharp, naive)]
    assert logdets[0] == pytest.approx(logdets[1], abs=1e-3)
    assert logdets[0] >= logdets[1] - 1e-5  # sharp is within h * 1e-6 of the best


def test_the_certificate_can_fail() -> None:
    A = np.random.default_rng(0).normal(size=(50, 4))
    assert worst(A, np.full(50, 1 / 50))[0] > 1.5  # uniform weights are not G-optimal


def test_quadratic_regression_has_the_known_design() -> None:
    x = np.linspace(-1, 1, 21)
    w = g_optimal(np.column_stack([np.ones(21), x, x**2]), 1e-5)
    known = np.zeros(21)
    known[[0, 10, 20]] = 1 / 3
    assert np.allclose(w, known, atol=1e-3)


def test_units_of_the_features_do_not_matter() -> None:
    A = np.random.default_rng(1).uniform(size=(200, 3))
    w = g_optimal(A * np.array([1e-9, 1.0, 1e9]), 1e-6)
    assert worst(A, w)[0] <= 1 + 1e-5


def test_a_block_of_steps_keeps_weights_inverse_and_leverages_together() -> None:
    A = np.random.default_rng(2).normal(size=(300, 5))
    w = np.full(300, 1 / 300)  # far from optimal: away steps let go of arms
    inverse = np.linalg.inv(A.T @ (w[:, None] * A))
    leverage = np.einsum("ij,jk,ik->i", A, inverse, A)
    design_steps(A, w, inverse, leverage, 1e-6, BLOCK)
    assert w.min() >= 0.0
    assert np.count_nonzero(w) < 300
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    direct = np.linalg.inv(A.T @ (w[:, None] * A))
    assert np.allclose(inverse, direct, rtol=1e-9, atol=0)
    assert np.allclose(leverage, np.einsum("ij,jk,ik->i", A, direct, A), rtol=1e-9)


def test_a_step_is_the_best_along_its_line() -> None:
    rng = np.random.default_rng(3)
    kinds = set()
    for _ in range(60):
        A, w = rng.normal(size=(5, 3)), rng.dirichlet(np.ones(5))
        before = A.T @ (w[:, None] * A)
        inverse, after = np.linalg.inv(before), w.copy()
        leverage = np.einsum("ij,jk,ik->i", A, inverse, A)
        design_steps(A, after, inverse, leverage, 1e-9, 1)
        a = int(np.argmax(np.abs(after / after.sum() - w)))
        step, lowest = (after[a] - w[a]) / (1 - w[a]), -w[a] / (1 - w[a])
        grid = np.linspace(lowest, 1, 500)[:-1]
        moved = (1 - grid)[:, None, None] * before + grid[:, None, None] * np.outer(A[a], A[a])
        best = grid[int(np.argmax(np.linalg.slogdet(moved)[1]))]
        assert step == pytest.approx(best, abs=2 * (grid[1] - grid[0]))
        kinds.add("towards" if step > 0 else "away" if after[a] > 0 else "let go")
    assert kinds == {"towards", "away", "let go"}


@given(st.integers(1, 6), st.integers(0, 20), st.integers(0, 1000))
@settings(deadline=None, max_examples=50)
def test_spanning_rows(r: int, extra: int, seed: int) -> None:
    B = np.random.default_rng(seed).normal(size=(r + extra, r))
    chosen = spanning_rows(B)
    assert len(set(chosen)) == r
    assert np.linalg.matrix_rank(B[chosen]) == r


def test_large() -> None:
    A = np.random.default_rng(4).normal(size=(100_000, 10))
    start = time.perf_counter()
    w = g_optimal(A)
    assert time.perf_counter() - start < 10  # about half a second
    assert worst(A, w)[0] <= 1.001 + 1e-9
    assert np.count_nonzero(w) < 500
