"""Pareto sets and membership of Alt, against comparing every pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from kernels.entries import another_set as in_alternative
from kernels.entries import change, elected
from psips.kernels.pareto import _mark, pareto_mask

seeds = st.integers(0, 10**6)


def grid(n: int, d: int, levels: int, seed: int) -> np.ndarray:
    """Points with ties and duplicates; levels = 0: in general position."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) if levels == 0 else rng.integers(0, levels, (n, d)) * 1.0


def compiled(mu: np.ndarray) -> np.ndarray:
    keep = np.zeros(len(mu), np.bool_)
    _mark(np.ascontiguousarray(mu), keep)
    return keep


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 5), seeds)
def test_pareto_mask(n: int, d: int, levels: int, seed: int) -> None:
    mu = grid(n, d, levels, seed)
    assert (pareto_mask(mu) == naive.pareto_mask(mu)).all()
    assert (compiled(mu) == naive.pareto_mask(mu)).all()


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_pareto_mask_of_many(d: int) -> None:
    mu = np.round(np.random.default_rng(d).normal(size=(400, d)), 1)
    assert (pareto_mask(mu) == naive.pareto_mask(mu)).all()
    assert (compiled(mu) == naive.pareto_mask(mu)).all()
    equal = np.zeros((50, d))
    assert pareto_mask(equal).all()  # equal points do not dominate each other


@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 4), seeds)
def test_the_alternative(n: int, d: int, levels: int, seed: int) -> None:
    """Alt(S) is where the Pareto set is not S; S is that of other points, near or far."""
    at, values = grid(n, d, levels, seed), grid(n, d, levels, seed + 1)
    if seed % 2:
        values = at + (values - values.mean()) * 0.1
    inside = naive.pareto_mask(at)
    members, outside = np.flatnonzero(inside), np.flatnonzero(~inside)
    other = bool((naive.pareto_mask(values) != inside).any())
    assert in_alternative(values, inside, members) == other

    keeper = np.zeros(n, np.int64)
    for z in outside:
        keeper[z] = next(x for x in members if naive.dominates(at[x], at[z]))
    piece = np.full(2, -7)
    assert change(values, members, outside, keeper, piece) == other
    if other:  # the piece it names is truly violated
        above, below = piece
        if below >= 0:
            assert inside[above]
            assert inside[below]
            assert naive.dominates(values[above], values[below])
        else:
            assert not inside[above]
            assert not any(naive.dominates(values[x], values[above]) for x in members)


@given(st.integers(1, 15), st.integers(1, 4), st.integers(0, 5), seeds)
def test_elections_one_after_the_other(n: int, d: int, levels: int, seed: int) -> None:
    """S_hat from the one before: right whatever it was, and every keeper keeps."""
    inside, size = np.zeros(n, np.bool_), np.zeros(8, np.int64)
    members, live, keeper = (np.zeros(n, np.int64) for _ in range(3))
    for step in range(6):
        mu = grid(n, d, levels, seed + step)
        elected(mu, inside, members, live, keeper, size)
        expected = naive.pareto_mask(mu)
        assert (inside == expected).all()
        assert sorted(members[: size[0]]) == list(np.flatnonzero(expected))
        assert sorted(live[: size[1]]) == list(np.flatnonzero(~expected))
        for z in live[: size[1]]:
            assert expected[keeper[z]]
            assert naive.dominates(mu[keeper[z]], mu[z])
