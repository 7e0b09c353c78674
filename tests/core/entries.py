"""Posterior states made by hand, and first hits on them by the core."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import naive
from psips._core import testing
from psips.problem.limits import limit_model
from psips.state.belief import RESULTS, Belief, empty_belief
from psips.state.model import BALL, EVERYTHING, SHARED, Model, NoiseModel
from psips.state.posterior import Posterior, posterior_of
from psips.state.search import LIVE, MEMBERS, RECORDS, SearchState, empty_search

State = SearchState  # a posterior with its front and its cover


class Hits(NamedTuple):
    index: np.ndarray  # (samples,)
    points: np.ndarray  # (samples, h, d)
    gains: np.ndarray  # (samples, K)


def plain_model(
    Sigma: np.ndarray,
    *,
    K: int = 0,
    A: np.ndarray | None = None,
    Z: np.ndarray | None = None,
    xi: float = 1.0,
    ball: float = math.inf,
    slack: float = 0.0,
) -> Model:
    """A model with K unstructured arms, or with features."""
    Sigma = np.ascontiguousarray(Sigma, float)
    d = len(Sigma)
    none = np.zeros((0, 0))
    if A is not None:
        A = np.ascontiguousarray(A, float)
        Z = A if Z is None else np.ascontiguousarray(Z, float)
        K = len(A)
    P = np.linalg.inv(Sigma)
    return Model(
        A is None,
        bool((np.diag(np.diag(Sigma)) == Sigma).all()),
        K,
        K if Z is None else len(Z),
        K if A is None else A.shape[1],
        d,
        none if A is None else A,
        none if Z is None else Z,
        Sigma,
        np.ascontiguousarray(np.linalg.cholesky(Sigma)),
        np.ascontiguousarray((P + P.T) / 2),
        0.0 if A is None else float(xi),
        EVERYTHING if math.isinf(ball) else BALL,
        np.full(d, ball),
        none,
        none,
        np.full(K, 1 / K),
        np.ones(K),
        np.full(K, 1 / K),
        none,
        np.zeros(0, np.int64),
        NoiseModel(
            SHARED,
            False,
            np.zeros((0, d, d)),
            np.zeros((d, d)),
            0.0,
            np.zeros(d),
            np.full(d, -np.inf),
            np.full(d, np.inf),
            1,
        ),
        np.sqrt(np.diag(Sigma)),
        np.full(d, slack),
        np.zeros(d),
        -1,
        np.zeros(d),
        np.zeros((K if Z is None else len(Z), 0)),
        np.zeros(0),
        np.zeros(0),
        limit_model([], ["max"] * d, np.ones(d), 0),
    )


def posterior_at(
    Sigma: np.ndarray,
    mu: np.ndarray,
    N: np.ndarray,
    A: np.ndarray | None = None,
    Z: np.ndarray | None = None,
    F: np.ndarray | None = None,
    slack: float = 0.0,
) -> Posterior:
    """Return the posterior of means ``mu`` after N pulls, or with a factor F of V^-1."""
    model = plain_model(Sigma, K=len(mu), A=A, Z=Z, slack=slack)
    none = np.zeros((0, 0))
    factor = none if F is None else np.ascontiguousarray(F)
    p = posterior_of(model, np.array(N, float), np.zeros((model.h, model.d)), factor)
    p.mu[:] = mu
    if F is None:
        p.C[:] = Sigma / p.N[:, None, None]
        p.R[:] = model.L / np.sqrt(p.N)[:, None, None]
    else:
        p.W[:] = model.Z @ F
    return p


def set_belief(model: Model, belief: Belief, theta: np.ndarray, N: np.ndarray) -> None:
    """Make the posterior N(theta, Sigma (x) V^-1) with V from the counts N."""
    belief.theta[:] = theta
    belief.N[:] = N
    belief.tally[RESULTS] = int(np.sum(N))
    if model.unstructured:
        belief.B[:] = theta * np.asarray(N)[:, None]
        return
    V = model.xi * np.eye(model.h) + model.A.T @ (np.asarray(N)[:, None] * model.A)
    belief.V[:] = V
    belief.F[:] = np.linalg.inv(np.linalg.cholesky(V)).T
    belief.B[:] = V @ theta


def state(model: Model, theta: np.ndarray, N: np.ndarray, scale: float = 1.0) -> State:
    """The posterior at theta and N with its cover built for draws inflated by scale."""
    belief = empty_belief(model)
    set_belief(model, belief, theta, N)
    made = empty_search(model, belief, 4096)
    testing.build_cover(made, scale * scale)
    return made


def hits(
    way: str,
    at: State,
    samples: int,
    key: int = 1,
    scale: float = 1.0,
    log_budget: float = math.inf,
) -> Hits:
    """First hits, each from a stream of its own.

    "hits"; "eager_hits" tries a few literal draws and builds the cover after them, each time
    again. "careless" is a broken sampler: it keeps a point whatever earlier sets contain it.
    "loose" proposes by bounds, the probabilities of a larger scale; "unthinned" is broken and
    takes them for the probabilities.
    """
    h, d, K = at.model.h, at.model.d, at.model.K
    log_index, points = np.zeros(samples), np.zeros((samples, h, d))
    gains = np.zeros((samples, K))
    name = np.array([key, 77], np.uint64)
    stopper = not math.isinf(log_budget)
    testing.first_hits(at, way, name, scale, stopper, log_budget, log_index, points, gains)
    return Hits(np.rint(np.exp(log_index)), points, gains)


def literal(at: State, samples: int, rng: int = 0, scale: float = 1.0) -> Hits:
    """The same by the naive twin."""
    model = at.model
    index, points = np.zeros(samples), np.zeros((samples, model.h, model.d))
    Z = np.zeros((model.n, 0)) if model.unstructured else model.Z
    naive.literal_hits(
        np.random.default_rng(rng),
        at.belief.theta,
        scale * factor(at),
        model.L,
        Z,
        at.front.inside,
        model.ball,
        index,
        points,
    )
    change = points - at.belief.theta
    if not model.unstructured:
        change = np.einsum("ai,sic->sac", model.A, change)
    return Hits(index, points, np.einsum("sac,ce,sae->sa", change, model.P, change))


def plain_draws(at: State, samples: int, rng: int = 0, scale: float = 1.0) -> np.ndarray:
    """Posterior draws (samples, h, d)."""
    G = np.random.default_rng(rng).standard_normal((samples, at.model.h, at.model.d))
    return at.belief.theta + scale * np.einsum(
        "ij,sjc,ec->sie", factor(at), G, at.model.L, optimize=True
    )


def drop_nearest(at: State) -> None:
    """Break the cover: take out the set of smallest distance."""
    last = int(at.cover.life[RECORDS]) - 1
    nearest = int(np.argmin(at.cover.r[: last + 1]))
    for field in ("shape", "terms", "y", "gap", "L", "b", "r"):
        array = getattr(at.cover, field)
        array[nearest] = array[last]
    at.cover.life[RECORDS] = last


def walk(at: State, rng: np.random.Generator, distance: float) -> None:
    """A few more pulls; theta moves by ``distance`` in the posterior's metric."""
    G = rng.normal(size=at.belief.theta.shape)
    step = distance / np.linalg.norm(G) * factor(at) @ G @ at.model.L.T
    N = at.belief.N * rng.uniform(1.0, 1.05, len(at.belief.N))
    set_belief(at.model, at.belief, at.belief.theta + step, N)
    at.belief.tally[RESULTS] = 10**6  # old enough not to be built again for its age


def covering(at: State, points: np.ndarray) -> np.ndarray:
    """How many sets of the cover contain each point."""
    counts = np.zeros(len(points))
    testing.count_sets(at, np.ascontiguousarray(points), counts)
    return counts


def factor(at: State) -> np.ndarray:
    """F with F F^T = V^-1."""
    if at.model.unstructured:
        return np.diag(1 / np.sqrt(at.belief.N))
    return at.belief.F


def answers(at: State, points: np.ndarray) -> np.ndarray:
    """(samples, n, d)."""
    return points if at.model.unstructured else np.einsum("ai,sic->sac", at.model.Z, points)


def members(at: State) -> list[int]:
    """S_hat."""
    return [int(x) for x in at.front.members[: at.front.size[MEMBERS]]]


def live(at: State) -> list[int]:
    """Answers outside S_hat that could escape."""
    return [int(z) for z in at.front.outside[: at.front.size[LIVE]]]
