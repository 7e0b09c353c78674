"""Pareto sets and membership of Alt, against comparing every pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from core.entries import plain_model
from psips._core import pareto_mask, testing
from psips.state.belief import empty_belief
from psips.state.search import LIVE, MEMBERS, SearchState, empty_front, empty_search

seeds = st.integers(0, 10**6)


def grid(n: int, d: int, levels: int, seed: int) -> np.ndarray:
    """Points with ties and duplicates; levels = 0: in general position."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) if levels == 0 else rng.integers(0, levels, (n, d)) * 1.0


def compiled(mu: np.ndarray) -> np.ndarray:
    return pareto_mask(np.ascontiguousarray(mu))


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


def search_of(at: np.ndarray, inside: np.ndarray, slack: float = 0.0) -> SearchState:
    """S where ``inside``, the Pareto set of ``at``, and a dominator for each of the others."""
    n, d = at.shape
    model = plain_model(np.eye(d), K=n, slack=slack)
    search = empty_search(model, empty_belief(model), 0)
    front = search.front
    members, outside = np.flatnonzero(inside), np.flatnonzero(~inside)
    front.inside[:] = inside
    front.members[: len(members)], front.outside[: len(outside)] = members, outside
    front.size[MEMBERS], front.size[LIVE] = len(members), len(outside)
    for z in outside:
        front.dominator[z] = next(x for x in members if naive.dominates(at[x], at[z]))
    return search


@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 4), seeds)
def test_the_alternative(n: int, d: int, levels: int, seed: int) -> None:
    """Alt(S) is where the Pareto set is not S; S is that of other points, near or far."""
    at, values = grid(n, d, levels, seed), grid(n, d, levels, seed + 1)
    if seed % 2:
        values = at + (values - values.mean()) * 0.1
    inside = naive.pareto_mask(at)
    members = np.flatnonzero(inside)
    other = bool((naive.pareto_mask(values) != inside).any())

    search = search_of(at, inside)
    whole, piece = testing.change(search, values, np.zeros(d), True), search.draw.piece
    assert whole == testing.change(search, values, np.zeros(d), False) == other
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
    """S_hat from the one before: right whatever it was, and every dominator keeps."""
    front = empty_front(plain_model(np.eye(d), K=n))
    inside, members, dominator = front.inside, front.members, front.dominator
    for step in range(6):
        mu = grid(n, d, levels, seed + step)
        testing.update_candidate_set(mu, front)
        expected = naive.pareto_mask(mu)
        live = front.outside[: front.size[LIVE]]
        assert (inside == expected).all()
        assert sorted(members[: front.size[MEMBERS]]) == list(np.flatnonzero(expected))
        assert sorted(live) == list(np.flatnonzero(~expected))
        for z in live:
            assert expected[dominator[z]]
            assert naive.dominates(mu[dominator[z]], mu[z])
