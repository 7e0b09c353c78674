"""Best response: against every piece of Alt(S) with another solver, and what must be caught."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import naive_search
from core.entries import posterior_at
from naive_response import Game, brute_force, nearest
from psips._core import respond

PIECES = 700  # quadratic programs that brute force may take on one instance
COVARIANCES = ("identity", "diagonal", "correlated")


def covariance(kind: str, d: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "identity":
        return np.eye(d)
    scale = rng.uniform(0.5, 2.0, d)
    if kind == "diagonal":
        return np.diag(scale**2)
    B = rng.normal(size=(d, d + 2))
    S = B @ B.T
    return S / np.sqrt(np.outer(np.diag(S), np.diag(S))) * np.outer(scale, scale)


def make(structure: str, kind: str, d: int, size: int, ties: bool, seed: int) -> Game:
    """A random instance; with ties, small integers: equal values, arms and answers abound."""
    rng = np.random.default_rng(seed)

    def entries(*shape: int) -> np.ndarray:
        if ties:
            return rng.integers(-2, 3, shape).astype(float)
        return rng.normal(size=shape)

    Sigma = covariance(kind, d, rng)
    if structure == "unstructured":
        A = Z = np.eye(size)
        theta = entries(size, d) + entries(size, 1)  # rows that differ in size: dominance
    else:
        h = int(rng.integers(1, 4))
        A = np.vstack([np.eye(h) + entries(h, h) * 0.1, entries(size, h)])
        Z = A if structure == "linear" else entries(size, h)
        theta = entries(h, d)
    w = rng.integers(1, 6, len(A)).astype(float)
    return Game(A, Z, Sigma, theta, w)


def factor(game: Game) -> np.ndarray:
    """F with F F^T = V_w^-1."""
    V = game.A.T @ (game.w[:, None] * game.A)
    return np.linalg.cholesky(np.linalg.inv(V))


def unstructured(game: Game) -> bool:
    return game.A is game.Z and np.array_equal(game.A, np.eye(len(game.A)))


def arrays(game: Game) -> tuple[Any, ...]:
    """Arguments of `respond`."""
    members = np.flatnonzero(game.inside)
    if unstructured(game):
        return posterior_at(game.Sigma, game.mu, game.w), members, np.inf
    F = factor(game)
    return (
        posterior_at(game.Sigma, game.mu, game.w, A=game.A, Z=game.Z, F=F),
        members,
        np.inf,
    )


def lambda_of(game: Game, change: np.ndarray) -> np.ndarray:
    """The alternative that `respond` found."""
    return game.theta + change


def near_alternative(game: Game, alternative: np.ndarray) -> bool:
    """Whether a parameter lies in the closure of Alt(S), from the definition."""
    mu = game.Z @ alternative
    slack = 1e-7 * (1 + np.abs(mu).max())
    inside = game.inside
    for i in np.flatnonzero(inside):
        for j in np.flatnonzero(inside):
            if np.any(game.Z[i] != game.Z[j]) and np.all(mu[j] >= mu[i] - slack):
                return True
    return any(
        not np.any(np.all(mu[inside] > mu[z] + slack, axis=1)) for z in np.flatnonzero(~inside)
    )


def has_alternative(game: Game) -> bool:
    return bool(np.any(game.Z[0] != game.Z))


def agree(game: Game, value: float) -> bool:
    scale = game.cost(game.theta)  # lambda = 0 makes all answers equal
    return value == pytest.approx(brute_force(game), rel=1e-6, abs=1e-9 * scale + 1e-12)


@given(
    structure=st.sampled_from(["unstructured", "linear", "transductive"]),
    kind=st.sampled_from(COVARIANCES),
    d=st.integers(1, 5),
    size=st.integers(2, 6),
    ties=st.booleans(),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=250)
@example("unstructured", "identity", 1, 2, True, 0)
@example("linear", "correlated", 5, 6, False, 1)
def test_against_brute_force(
    structure: str, kind: str, d: int, size: int, ties: bool, seed: int
) -> None:
    game = make(structure, kind, d, size, ties, seed)
    assume(has_alternative(game) and game.pieces() <= PIECES)
    value, piece, xs, cs, y, shift, gains = respond(*arrays(game))
    assert agree(game, value)
    # The piece, the gains and the alternative tell the same story.
    z, m, _ = piece
    assert len(xs) == len(cs) == len(y) == m
    assert np.all(y >= 0)
    assert game.w @ gains == pytest.approx(value, rel=1e-6, abs=1e-9)
    alternative = lambda_of(game, shift)
    assert game.cost(alternative - game.theta) == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert near_alternative(game, alternative)
    change = nearest(game, [(int(z), int(x), int(c)) for x, c in zip(xs, cs, strict=True)])
    assert game.cost(change) == pytest.approx(value, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("d", [3, 4, 6])
def test_many_dominators(d: int) -> None:
    """A fixed answer under a front of 40: each comes down in one objective, not d^40 ways."""
    rng = np.random.default_rng(d)
    s = 40
    mu = np.full((s + 1, d), 1000.0)
    mu[s] = 0.0
    for k in range(s):
        mu[k, k % d] = rng.uniform(0.1, 0.2)
        mu[k, (k + 1) % d] = 100 + 10 * k
        mu[k, (k + 2) % d] = 600 - 10 * k
    w = np.append(1 / rng.uniform(0.5, 2, s), 1e12)
    found = respond(posterior_at(np.eye(d), mu, w), np.arange(s), np.inf)
    value, piece, xs, cs, *_ = found
    assert value == pytest.approx(np.sum(mu[:s].min(axis=1) ** 2 * w[:s]))
    assert piece.tolist() == [s, s, 1]
    assert sorted(xs) == list(range(s))
    assert np.array_equal(cs, xs % d)


@pytest.mark.parametrize("ratio", [0.5, 0.999, 1.0, 2.0])
def test_the_ceiling_only_cuts(ratio: float) -> None:
    for seed in range(20):
        game = make("unstructured", "correlated", 3, 6, False, seed)
        given = arrays(game)
        value = respond(*given)[0]
        capped, piece, *_ = respond(*given[:-1], ratio * value)
        assert capped == min(value, ratio * value)
        assert (piece[0] < 0) == (ratio <= 1)


def test_on_the_boundary() -> None:
    eye, ones = np.eye(2), np.ones(3)
    for mu in (
        [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]],  # two equal optimal arms
        [[1.0, 1.0], [1.0, 0.5], [0.0, 0.0]],  # dominated, level in one objective
    ):
        means = np.array(mu)
        inside = Game(np.eye(3), np.eye(3), eye, means, ones).inside
        p = posterior_at(eye, means, ones)
        value, *_, gains = respond(p, np.flatnonzero(inside), np.inf)
        assert value == 0.0
        assert not gains.any()


def test_equal_answers_are_not_alternatives() -> None:
    """Two answers with the same features move together: only the third can change anything."""
    Z = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    theta = np.array([[2.0, 1.0], [0.0, 0.0]])
    game = Game(np.eye(2), Z, np.eye(2), theta, np.ones(2))
    value = respond(*arrays(game))[0]
    assert value == pytest.approx(0.5)
    assert agree(game, value)


# Deliberately broken versions of the plain twin.


def plain(old: str = "", new: str = "") -> Callable[[Game], float]:
    """The plain search with one piece of its source replaced."""
    source = Path(str(naive_search.__file__)).read_text()
    assert old in source
    names: dict[str, Any] = {}
    exec(compile(source.replace(old, new), "naive_search", "exec"), names)
    call: Callable[[Game], float] = names["respond"]
    return call


def core(game: Game) -> float:
    return float(respond(*arrays(game))[0])


@pytest.fixture(scope="module")
def catalogue() -> list[tuple[Game, float]]:
    """Instances without ties where several x dominate one z, and their values."""
    found: list[tuple[Game, float]] = []
    for seed in range(400):
        structure = ("unstructured", "linear", "transductive")[seed % 3]
        game = make(structure, "correlated", 2 + seed % 2, 6, False, seed)
        if has_alternative(game) and 4 <= game.pieces() <= 60:
            found.append((game, brute_force(game)))
        if len(found) == 90:
            break
    return found


def mistakes(call: Callable[[Game], float], catalogue: list[tuple[Game, float]]) -> int:
    values = [(call(game), value) for game, value in catalogue]
    return sum(found != pytest.approx(value, rel=1e-6, abs=1e-9) for found, value in values)


def test_the_searches_make_no_mistake(catalogue: list[tuple[Game, float]]) -> None:
    assert mistakes(core, catalogue) == 0
    assert mistakes(plain(), catalogue) == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if value + added[c]", "if value + 2 * added[c]"),  # prunes what it must not
        ("behind[c] ** 2 /", "2 * behind[c] ** 2 /"),
        ("for x in members:", "for x in members[1:]:"),
        ("for i in members:  # i below j", "for i in members[:0]:"),
        ("if least >= best", "if 2 * least >= best"),
        ("child = game.cost", "child = 0.9 * game.cost"),
    ],
)
def test_a_broken_search_is_caught(
    old: str, new: str, catalogue: list[tuple[Game, float]]
) -> None:
    assert mistakes(plain(old, new), catalogue) > 0
