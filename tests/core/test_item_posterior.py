"""The posterior of results that share items, against a direct solve of the mixed model."""

from __future__ import annotations

import numpy as np
import pytest

from psips._core import (
    add_item_result,
    add_items,
    expect_item_noise,
    factor_of_inverse,
    preview_items,
)
from psips.session.mixed import Results, root_of

K, D = 5, 2


def matrices(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return n covariances."""
    roots = rng.normal(size=(n, D, D))
    return roots @ roots.swapaxes(1, 2) + 0.3 * np.eye(D)


def naive(arms, items, values, within, U):
    """Mean and covariance of the arms' means by weighted least squares on all results."""
    T = len(arms)
    noise = np.zeros((T * D, T * D))
    design = np.zeros((T * D, K * D))
    for s in range(T):
        rows = slice(s * D, (s + 1) * D)
        design[rows, arms[s] * D : (arms[s] + 1) * D] = np.eye(D)
        for t in range(T):
            shared = U if items[s] == items[t] else np.zeros((D, D))
            noise[rows, t * D : (t + 1) * D] = shared + (within[arms[s]] if s == t else 0.0)
    weighted = np.linalg.solve(noise, design)
    covariance = np.linalg.inv(design.T @ weighted)
    return covariance @ weighted.T @ values.ravel(), covariance


class Posterior:
    """What the kernels change."""

    def __init__(self, within, U) -> None:
        wide = K * D
        self.within, self.root = within, root_of(U)
        self.precision = np.linalg.inv(within)
        self.V, self.F, self.G = (np.zeros((wide, wide)) for _ in range(3))
        self.B = np.zeros(wide)
        self.data = Results(K, D)

    def rebuild(self) -> None:
        data = self.data
        add_items(data.counts, data.sums, self.precision, self.root, self.V, self.B)
        factor_of_inverse(self.V, self.F, self.G)

    def update(self, arm: int, item: int, x) -> None:
        there = item < self.data.items
        add_item_result(
            arm,
            x,
            self.data.counts[item] if there else np.zeros(K),
            self.data.sums[item] if there else np.zeros((K, D)),
            self.precision,
            self.within[arm],
            self.root,
            self.V,
            self.F,
            self.G,
            self.B,
        )
        self.data.add(arm, item, x)


def results(rng: np.random.Generator, T: int, J: int):
    arms = np.concatenate([np.arange(K), rng.integers(K, size=T - K)])
    return arms, rng.integers(J, size=T), rng.normal(size=(T, D))


@pytest.mark.parametrize("between", [0.0, 1.0, 1e4])
def test_rebuilt_posterior_is_that_of_the_mixed_model(between: float) -> None:
    rng = np.random.default_rng(1)
    within, U = matrices(rng, K), between * matrices(rng, 1)[0]
    arms, items, values = results(rng, 120, 20)
    p = Posterior(within, U)
    for arm, item, x in zip(arms, items, values, strict=True):
        p.data.add(arm, item, x)
    p.rebuild()
    mean, covariance = naive(arms, items, values, within, U)
    assert np.allclose(p.G @ p.B, mean, rtol=0, atol=1e-9 * max(1.0, between))
    assert np.allclose(p.G, covariance, rtol=1e-8, atol=1e-11 * max(1.0, between))
    assert np.allclose(p.F @ p.F.T, p.G)


def test_updates_in_random_order_agree_with_a_direct_solve_after_5000_results() -> None:
    rng = np.random.default_rng(2)
    within, U = matrices(rng, K), 1.5 * matrices(rng, 1)[0]
    arms, items, values = results(rng, 5000, 700)
    p = Posterior(within, U)
    order = np.concatenate([np.arange(K), K + rng.permutation(5000 - K)])
    for t in order[:40]:
        p.data.add(arms[t], items[t], values[t])
    p.rebuild()
    for t in order[40:]:
        p.update(arms[t], items[t], values[t])
    again = Posterior(within, U)
    for t in range(5000):
        again.data.add(arms[t], items[t], values[t])
    again.rebuild()
    assert np.abs(p.G @ p.B - again.G @ again.B).max() < 1e-9
    assert np.abs(p.G - again.G).max() < 1e-9
    assert np.abs(p.V - again.V).max() < 1e-9 * np.abs(p.V).max()
    # the direct solve: every effect a parameter, with its precision
    J = again.data.items
    system = np.zeros(((K + J) * D, (K + J) * D))
    right = np.zeros((K + J) * D)
    for t in range(5000):
        a, b = arms[t], K + items[t]
        P = p.precision[a]
        for i in (a, b):
            right[i * D : (i + 1) * D] += P @ values[t]
            for j in (a, b):
                system[i * D : (i + 1) * D, j * D : (j + 1) * D] += P
    for b in range(K, K + J):
        system[b * D : (b + 1) * D, b * D : (b + 1) * D] += np.linalg.inv(U)
    solved = np.linalg.solve(system, right)[: K * D]
    covariance = np.linalg.inv(system)[: K * D, : K * D]
    assert np.abs(p.G @ p.B - solved).max() < 1e-9
    assert np.abs(p.G - covariance).max() < 1e-9


def test_what_a_result_adds_to_a_change_is_known_ahead() -> None:
    rng = np.random.default_rng(3)
    within, U = matrices(rng, K), matrices(rng, 1)[0]
    p = Posterior(within, U)
    for arm, item, x in zip(*results(rng, 40, 8), strict=True):
        p.data.add(arm, item, x)
    p.rebuild()
    places = np.array([0, 3, 8, 8, 5])  # 8 is an item without results
    H = np.zeros((K, D, K * D))
    preview_items(p.data.counts, places, p.precision, p.within, p.root, H)
    change = rng.normal(size=K * D)
    for arm in range(K):
        before = change @ p.V @ change
        with_it = Posterior(within, U)
        for a, b, x in zip(p.data.arms, p.data.where, p.data.values, strict=True):
            with_it.data.add(a, b, x)
        with_it.data.add(arm, places[arm], np.zeros(D))
        with_it.rebuild()
        added = change @ with_it.V @ change - before
        assert np.isclose(added, ((H[arm] @ change) ** 2).sum(), rtol=1e-8)


def test_residuals_less_the_effect_of_their_item_are_those_expected() -> None:
    rng = np.random.default_rng(4)
    within, U = matrices(rng, K), matrices(rng, 1)[0]
    arms, items, values = results(rng, 60, 9)
    p = Posterior(within, U)
    for arm, item, x in zip(arms, items, values, strict=True):
        p.data.add(arm, item, x)
    means = rng.normal(size=(K, D))
    residuals, spreads, left = np.zeros((K, D, D)), np.zeros((K, D, D)), np.zeros(K)
    expect_item_noise(
        p.data.arms,
        p.data.where,
        p.data.values,
        p.data.counts,
        p.precision,
        p.root,
        means,
        residuals,
        spreads,
        left,
    )
    wanted, spread, share = np.zeros((K, D, D)), np.zeros((K, D, D)), np.zeros(K)
    for b in range(9):
        here = np.flatnonzero(items == b)
        M = np.linalg.inv(U) + p.precision[arms[here]].sum(axis=0)
        effect = np.linalg.solve(
            M, sum(p.precision[arms[t]] @ (values[t] - means[arms[t]]) for t in here)
        )
        for t in here:
            r = values[t] - means[arms[t]] - effect
            wanted[arms[t]] += np.outer(r, r)
            spread[arms[t]] += np.linalg.inv(M)
            share[arms[t]] += 1 - np.trace(p.precision[arms[t]] @ np.linalg.inv(M)) / D
    assert np.allclose(residuals, wanted)
    assert np.allclose(spreads, spread)
    assert np.allclose(left, share)
