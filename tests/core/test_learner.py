"""The directed rule's weights: each arm's share of the distance to the drawn piece."""

from __future__ import annotations

import numpy as np
import pytest

from psips._core import testing


def directed(
    N: np.ndarray, gains: np.ndarray, costs: np.ndarray, thrift: np.ndarray, gamma: float
) -> np.ndarray:
    w = np.empty(len(N))
    testing.shares_of_pulls(N, gains, costs, thrift, gamma, w)
    return w


def told_most(
    gains: np.ndarray, costs: np.ndarray, thrift: np.ndarray, gamma: float
) -> np.ndarray:
    w = np.empty(len(gains))
    testing.most_informative(gains, costs, thrift, gamma, w)
    return w


def test_shares() -> None:
    explore = np.array([0.5, 0.25, 0.25])
    N, gains = np.array([4.0, 1.0, 7.0]), np.array([0.5, 6.0, 0.0])
    w = directed(N, gains, np.ones(3), explore, 0.0)
    assert w == pytest.approx([0.25, 0.75, 0.0])
    forced = directed(N, gains, np.ones(3), explore, 0.1)
    assert forced == pytest.approx(0.9 * w + 0.1 * explore)
    assert (directed(np.ones(3), np.zeros(3), np.ones(3), explore, 0.0) == explore).all()


def test_shares_of_what_is_spent() -> None:
    """Costs change the shares of the pulls, so that those of the spending stay."""
    N, gains, costs = (
        np.array([4.0, 1.0, 7.0]),
        np.array([0.5, 6.0, 1.0]),
        np.array([1, 50, 3.0]),
    )
    free = directed(N, gains, np.ones(3), np.full(3, 1 / 3), 0.0)
    w = directed(N, gains, costs, np.full(3, 1 / 3), 0.0)
    assert w.sum() == pytest.approx(1.0)
    assert costs * w / (costs @ w) == pytest.approx(free)


@pytest.mark.parametrize("pulls", [(5.0, 5.0), (2.0, 18.0), (40.0, 3.0)])
def test_of_two_arms_the_one_pulled_less_is_pulled_more(pulls: tuple[float, float]) -> None:
    """Nearest point of "j above i": both meet at the pooled mean, and g_a ~ 1 / N_a^2."""
    N = np.array(pulls)
    mean = np.array([1.0, 0.0])
    pooled = N @ mean / N.sum()
    w = directed(N, (mean - pooled) ** 2, np.ones(2), np.full(2, 0.5), 0.0)
    assert w == pytest.approx(N[::-1] / N.sum())


def test_with_features_the_arm_that_tells_most_has_it_all() -> None:
    """Also one without results, which has no share in the squared distance."""
    explore, costs = np.array([0.5, 0.25, 0.25]), np.ones(3)
    gains = np.array([0.5, 6.0, 5.0])
    assert told_most(gains, costs, explore, 0.0).tolist() == [0.0, 1.0, 0.0]
    assert told_most(gains, np.array([1.0, 2.0, 1.0]), explore, 0.0).tolist() == [0.0, 0.0, 1.0]
    forced = told_most(gains, costs, explore, 0.1)
    assert forced == pytest.approx([0.05, 0.925, 0.025])
    assert told_most(np.zeros(3), costs, explore, 0.0) == pytest.approx(explore)


def test_of_arms_that_tell_the_same_up_to_rounding_the_first_is_taken() -> None:
    """A run that was restored has other rounding, and must go on as the one it was."""
    one, other = np.array([0.1, 3.0, 3.0 + 1e-15]), np.array([0.1, 3.0 + 1e-15, 3.0])
    for gains in (one, other):
        w = told_most(gains, np.ones(3), np.full(3, 1 / 3), 0.0)
        assert w.tolist() == [0.0, 1.0, 0.0]
