"""Half-spaces with an offset: what the alternative is, its nearest point, and first hits in it.

The definition, with tolerances epsilon: a set S is right if no member has an answer that is
better by more than epsilon in every objective, and if each answer outside has a member that is
at least as good up to epsilon in every objective. Brute force goes by these words.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import block_diag
from scipy.optimize import nnls

import naive
from core.entries import (
    State,
    covering,
    hits,
    plain_draws,
    plain_model,
    posterior_at,
    state,
)
from core.test_pareto import search_of
from psips._core import respond, testing
from psips.state.search import PAIR

EPSILON = 0.3


def is_wrong(values: np.ndarray, inside: np.ndarray, epsilon: float) -> np.ndarray:
    """Whether S is wrong at points (samples, n, d), from the definition."""
    ahead = values[:, :, None] - values[:, None]  # (samples, x, z, d)
    better = (ahead > epsilon).all(axis=3)
    as_good = (ahead >= -epsilon).all(axis=3)
    bad_member = better.any(axis=1) & inside
    missed = ~as_good[:, inside].any(axis=1) & ~inside
    return np.asarray((bad_member | missed).any(axis=1))


def wrong_by_pairs_of_members(values: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The mistake of taking "better by more than epsilon" for transitive."""
    ahead = values[:, :, None] - values[:, None]
    better = (ahead > EPSILON).all(axis=3) & inside[:, None] & inside
    as_good = (ahead >= -EPSILON).all(axis=3)
    missed = ~as_good[:, inside].any(axis=1) & ~inside
    return np.asarray(better.any(axis=(1, 2)) | missed.any(axis=1))


def test_membership() -> None:
    rng = np.random.default_rng(1)
    slack, seen, not_transitive = np.full(2, -EPSILON), 0, 0
    for _ in range(600):
        at = rng.normal(size=(5, 2))
        inside = naive.pareto_mask(at)
        search = search_of(at, inside, -EPSILON)
        points = at + 0.5 * rng.normal(size=(20, 5, 2))
        wrong = is_wrong(points, inside, EPSILON)
        found = [testing.change(search, values, slack, True) for values in points]
        assert found == wrong.tolist()
        seen += wrong.sum()
        not_transitive += (wrong != wrong_by_pairs_of_members(points, inside)).sum()
    assert 1200 < seen < 10_800
    assert not_transitive > 10


def nearest_piece(mu: np.ndarray, C: np.ndarray, epsilon: float) -> float:
    """Smallest squared distance to a piece, over all; ``C`` (n, d, d) covariance by arm."""
    n, d = mu.shape
    inside = naive.pareto_mask(mu)
    members = [int(x) for x in np.flatnonzero(inside)]
    pieces = [(j, [i] * d, range(d)) for i in members for j in range(n) if j != i]
    for z in np.flatnonzero(~inside):
        for cs in itertools.product(range(d), repeat=len(members)):
            pieces.append((int(z), members, cs))
    L = block_diag(*np.linalg.cholesky(C))
    squares = []
    for z, xs, cs in pieces:
        U = np.zeros((len(xs), n, d))
        for k, (x, c) in enumerate(zip(xs, cs, strict=True)):
            U[k, z, c], U[k, x, c] = 1.0, -1.0
        U = U.reshape(len(xs), n * d)
        b = epsilon - U @ mu.ravel()
        # min |v|^2 with U L v >= b, by least-distance programming
        E = np.vstack([(U @ L).T, b])
        y, _ = nnls(E, np.append(np.zeros(n * d), 1.0), maxiter=1000)
        r = E @ y - np.append(np.zeros(n * d), 1.0)
        squares.append(float(((r[:-1] / r[-1]) ** 2).sum()))
    return min(squares)


@pytest.mark.parametrize("rho", [0.0, -0.6])
def test_best_response(rho: float) -> None:
    Sigma = np.array([[1.0, rho], [rho, 1.5]])
    rng = np.random.default_rng(2)
    kinds = set()
    for _ in range(60):
        mu, N = rng.normal(size=(4, 2)), rng.uniform(1, 9, 4)
        p = posterior_at(Sigma, mu, N, slack=-EPSILON)
        members = np.flatnonzero(naive.pareto_mask(mu))
        value, piece, *_ = respond(p, members, np.inf)
        assert value == pytest.approx(
            nearest_piece(mu, Sigma / N[:, None, None], EPSILON), rel=1e-6
        )
        assert value > 1.01 * respond(posterior_at(Sigma, mu, N), members, np.inf)[0]
        kinds.add((int(piece[2]), bool(piece[0] in members)))
    assert (PAIR, True) in kinds
    assert len(kinds) >= 2


def tolerant(name: str, slack: float) -> State:
    """States in which S is wrong with a probability of some percent."""
    means = np.array([[1.0, 0.2], [0.3, 0.9], [0.9, 0.1], [0.2, 0.3]])
    if name == "linear":
        A = np.random.default_rng(4).normal(size=(5, 3))
        model = plain_model(np.eye(2), A=A, slack=slack)
        theta = np.random.default_rng(5).normal(size=(3, 2))
        return state(model, theta, np.full(5, 6.0))
    rho = -0.5 if name == "correlated" else 0.0
    model = plain_model(np.array([[1.0, rho], [rho, 1.0]]), K=4, slack=slack)
    return state(model, means, np.array([36.0, 27.0, 42.0, 24.0]))


@pytest.mark.parametrize("name", ["independent", "correlated", "linear"])
def test_first_hits(name: str) -> None:
    """Index and point of the first draw at which S is wrong, against plain draws."""
    at = tolerant(name, -EPSILON)
    inside = at.front.inside
    points = plain_draws(at, 400_000, rng=1)
    v = points if at.model.unstructured else np.einsum("ai,sic->sac", at.model.Z, points)
    wrong = is_wrong(v, inside, EPSILON)
    p = wrong.mean()
    assert 0.002 < p < 0.25
    assert (covering(at, points[:100_000])[wrong[:100_000]] > 0).all()
    found = hits("hits", at, 20_000)
    assert agree(found.index, found.points, p, points[wrong])
    plain = hits("hits", tolerant(name, 0.0), 20_000)  # forgets the tolerance
    assert not agree(plain.index, plain.points, p, points[wrong])


def agree(index: np.ndarray, hit: np.ndarray, p: float, literal: np.ndarray) -> bool:
    """Whether indices are geometric with probability ``p``, and points follow a law."""
    error = np.sqrt((1 - p) / len(index)) / p
    near = abs(index.mean() - 1 / p) < 5 * error + 0.02 / p
    flat, others = hit.reshape(len(hit), -1), literal.reshape(len(literal), -1)
    tests = [stats.ks_2samp(flat[:, k], others[:, k]).pvalue for k in range(flat.shape[1])]
    return bool(near and min(tests) > 1e-4)
