"""AdaHedge against the published code, in losses = -gains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from psips._core import testing


def play(gains: np.ndarray, wrong: float = 1.0) -> tuple[np.ndarray, list[float]]:
    G, gap = np.zeros(gains.shape[1]), 0.0
    played, gaps = [], []
    for row in gains:
        w = np.empty(len(row))
        testing.hedge_weights(G, gap, w)
        gap = wrong * testing.hedge_feed(G, gap, w, np.ascontiguousarray(row))
        played.append(w)
        gaps.append(gap)
    return np.array(played), gaps


def agree(gains: np.ndarray, wrong: float = 1.0) -> bool:
    played, gaps = play(gains, wrong)
    expected, Deltas = naive.adahedge(-gains)
    close = np.allclose(gaps, Deltas, rtol=1e-8, atol=1e-12)
    return bool(close and np.allclose(played, expected, rtol=1e-6, atol=1e-9))


@given(
    st.integers(2, 8), st.integers(1, 60), st.integers(0, 10**6), st.sampled_from([1, 30, 1e-3])
)
def test_random_gains(K: int, T: int, seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    gains = size * rng.exponential(size=(T, K))
    if seed % 2:
        gains *= rng.uniform(size=(T, K)) < 0.4  # mostly no gain, as of the projected learner
    assert agree(gains)


@given(st.integers(2, 5), st.integers(1, 30), st.integers(0, 10**6))
def test_ties(K: int, T: int, seed: int) -> None:
    assert agree(np.random.default_rng(seed).integers(0, 2, (T, K)) * 1.0)


def test_while_delta_is_zero() -> None:
    played, gaps = play(np.zeros((4, 3)))
    assert gaps == [0.0] * 4
    assert np.allclose(played, 1 / 3)
    assert agree(np.ones((5, 4)))
    always = np.tile([2.0, 0.0, 0.0], (10, 1))
    assert agree(always)
    first, second = np.eye(3)[0], np.eye(3)[1]
    assert agree(np.array([first * 0, first, first, second, second, second, second]))


def test_one_arm() -> None:
    played, gaps = play(np.arange(5.0)[:, None])
    assert (played == 1.0).all()
    assert gaps == [0.0] * 5
    G = np.zeros(1)
    assert testing.hedge_feed(G, 0.7, np.ones(1), np.full(1, 3.0)) == 0.7
    assert G[0] == 3.0


def test_huge_and_tiny_gains_stay_finite() -> None:
    gains = np.array([[1e-12, 0.0], [0.0, 1e6], [1e6, 0.0], [1e-9, 1e-9], [0.0, 1e12]])
    played, gaps = play(gains)
    assert np.isfinite(played).all()
    assert np.isfinite(gaps).all()
    assert np.allclose(played.sum(axis=1), 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_regret(seed: int) -> None:
    """The bound of de Rooij et al.: 2 sqrt(V log K) + S (4/3 log K + 2)."""
    rng = np.random.default_rng(seed)
    T, K, S = 2000, 6, 3.0
    gains = S * (rng.uniform(size=(T, K)) < np.linspace(0.3, 0.5, K))
    gains[::7] = S - gains[::7]
    played, _ = play(gains)
    regret = gains.sum(axis=0).max() - (played * gains).sum()
    mean = (played * gains).sum(axis=1)
    V = (played * (gains - mean[:, None]) ** 2).sum()
    assert regret <= 2 * math.sqrt(V * math.log(K)) + S * (4 / 3 * math.log(K) + 2)
    uniform = gains.sum(axis=0).max() - gains.mean(axis=1).sum()
    assert regret < uniform / 2


def test_a_wrong_rate_is_caught() -> None:
    gains = np.random.default_rng(3).exponential(size=(30, 4))
    assert agree(gains)
    assert not agree(gains, wrong=1.001)
