"""Ways into kernels that have none from Python, and posterior states made by hand.

Each entry is compiled once a process, so there are few and they do much. They are not
cached: a cache does not see that a kernel below has changed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

import naive
from psips.kernels.belief import RESULTS, Belief, empty_belief, in_theta, ready
from psips.kernels.cone import nonnegative, project
from psips.kernels.cover import AGE, LEARNER, RECORDS, SPARE, STOPPER, dismiss, is_eager
from psips.kernels.draws import changes_set, find_change
from psips.kernels.firsthit import LATE, contained, early_hit, later_hit, propose, tries, weigh
from psips.kernels.front import LIVE, MEMBERS, Front, elect
from psips.kernels.hedge import feed, weights
from psips.kernels.learner import posterior_gains, shares, steepest
from psips.kernels.model import BALL, EVERYTHING, SHARED, Model, NoiseModel
from psips.kernels.posterior import Posterior, posterior_of
from psips.kernels.renewing import refresh
from psips.kernels.rng import (
    exponential,
    log_geometric,
    log_tail,
    normal,
    normal_above,
    seed,
    uniform,
)
from psips.kernels.scene import Scene, empty_scene
from psips.kernels.shifts import move, moved
from psips.kernels.thresholds import Calibration, beta, inflation_and_budget, lambert_bar
from psips.kernels.tree import build
from psips.problem.limits import limit_model


@numba.njit
def started(stream: np.ndarray, key: np.ndarray, counter: int, purpose: int) -> None:
    seed(stream, key, counter, purpose)


@numba.njit
def hedge_weights(G: np.ndarray, gap: float, w: np.ndarray) -> None:
    weights(G, gap, w)


@numba.njit
def hedge_feed(G: np.ndarray, gap: float, w: np.ndarray, gains: np.ndarray) -> float:
    return feed(G, gap, w, gains)


@numba.njit
def lambert(x: float) -> float:
    return lambert_bar(x)


@numba.njit
def threshold(model: Model, calibration: Calibration, t: float, log_inverse: float) -> float:
    return beta(model, calibration, t, log_inverse)


NORMAL, UNIFORM, EXPONENTIAL, NORMAL_ABOVE, LOG_GEOMETRIC, LOG_TAIL = range(6)


@numba.njit(error_model="numpy")
def fill(kind: int, stream: np.ndarray, parameter: float, out: np.ndarray) -> None:
    """Many draws of one kind; LOG_TAIL maps ``out`` instead."""
    for i in range(out.shape[0]):
        if kind == NORMAL:
            out[i] = normal(stream)
        elif kind == UNIFORM:
            out[i] = uniform(stream)
        elif kind == EXPONENTIAL:
            out[i] = exponential(stream)
        elif kind == NORMAL_ABOVE:
            out[i] = normal_above(stream, parameter)
        elif kind == LOG_GEOMETRIC:
            out[i] = log_geometric(stream, parameter)
        else:
            out[i] = log_tail(out[i])


@numba.njit(error_model="numpy")
def is_in_theta(model: Model, theta: np.ndarray) -> bool:
    return in_theta(model, theta)


@numba.njit(error_model="numpy")
def is_ready(model: Model, belief: Belief) -> bool:
    return ready(model, belief)


@numba.njit(error_model="numpy")
def change(scene: Scene, values: np.ndarray, slack: np.ndarray, whole: bool) -> bool:
    if whole:
        return changes_set(scene, values)
    give = scene.posterior.give
    return find_change(scene, values, slack, give, scene.front.size[LIVE], 0.0)


@numba.njit(error_model="numpy")
def elected(mu: np.ndarray, front: Front) -> None:
    elect(mu, np.zeros((mu.shape[0], 0)), front)


@numba.njit(error_model="numpy")
def solve(G: np.ndarray, b: np.ndarray, y: np.ndarray) -> None:
    nonnegative(G, b, b.shape[0], y)


@numba.njit(error_model="numpy")
def nearest(
    p: Posterior, z: int, xs: np.ndarray, cs: np.ndarray, y: np.ndarray, at: np.ndarray
) -> float:
    """Project; ``at`` (n, d) becomes the answers at the nearest point."""
    square = project(p, z, xs.shape[0], xs, cs, y)
    n, d = p.mu.shape
    shift = np.zeros((n if p.separate else p.W.shape[1], d))
    move(p, z, xs.shape[0], xs, cs, y, shift)
    for a in range(n):
        touched = a == z
        for x in xs:
            touched = touched or a == x
        moved(p, a, shift, touched, at[a])
    return square


@numba.njit(error_model="numpy")
def calibrated(
    model: Model, calibration: Calibration, t: float, members: int
) -> tuple[float, float]:
    return inflation_and_budget(model, calibration, t, members)


@numba.njit
def directed(
    N: np.ndarray, gains: np.ndarray, costs: np.ndarray, thrift: np.ndarray, gamma: float
) -> np.ndarray:
    w = np.empty(len(N))
    shares(N, gains, costs, thrift, gamma, w)
    return w


@numba.njit
def told_most(
    gains: np.ndarray, costs: np.ndarray, thrift: np.ndarray, gamma: float
) -> np.ndarray:
    w = np.empty(len(gains))
    steepest(gains, costs, thrift, gamma, w)
    return w


BUILD, REFRESH, HITS, EAGER_HITS, CARELESS, LOOSE, UNTHINNED, CONTAINED = range(8)


@numba.njit(error_model="numpy")
def act(
    what: int,
    scene: Scene,
    key: np.ndarray,
    scale: float,
    who: int,
    log_budget: float,
    log_index: np.ndarray,  # (samples,)
    points: np.ndarray,  # (samples, h, d)
    gains: np.ndarray,  # (samples, K)
) -> bool:
    """BUILD or REFRESH the cover; make HITS; CONTAINED: number the sets that hold each point.

    EAGER_HITS tries a few literal draws and builds the cover after them, every time anew.
    CARELESS is a broken sampler: it keeps a point whatever earlier sets contain it.
    LOOSE proposes by bounds, the probabilities of a larger scale; UNTHINNED is broken and
    takes them for the probabilities.
    """
    model, cover, draw = scene.model, scene.cover, scene.draw
    if what == BUILD:
        build(scene, scale * scale)
        return True
    if what == REFRESH:
        cover.life[AGE] += 1
        return refresh(scene)
    bounded = what in (LOOSE, UNTHINNED)
    wide = 1.2 * scale if bounded else scale
    limit = 15.0 * scale if bounded else np.inf
    P, top = weigh(scene, wide, limit, LEARNER)
    if what == UNTHINNED:
        cover.scale[LEARNER] = scale
    for sample in range(log_index.shape[0]):
        seed(draw.stream, key, sample, 1)
        if what == CONTAINED:
            for a in range(model.n):
                for c in range(model.d):
                    if model.unstructured:
                        draw.values[a, c] = points[sample, a, c]
                    else:
                        draw.values[a, c] = 0.0
                        for i in range(model.h):
                            draw.values[a, c] += model.Z[a, i] * points[sample, i, c]
            log_index[sample] = 0.0
            for j in range(cover.life[RECORDS]):
                if contained(scene, j):
                    log_index[sample] += 1.0
            continue
        if what == EAGER_HITS:
            dismiss(cover)
        if what in (HITS, EAGER_HITS):
            made = outside = 0
            found = LATE
            if is_eager(cover):
                found, outside = early_hit(scene, who, scale, log_budget)
                if found == LATE:
                    made = tries(scene)
                    build(scene, cover.reach[SPARE])
            if found == LATE:
                found = later_hit(scene, who, scale, log_budget, made, outside)
            log_index[sample] = found
            if log_index[sample] == np.inf:
                continue
        else:
            seen = -1.0 if what == CARELESS else limit  # -1 hides every earlier set
            total = 0.0
            while True:
                total += math.exp(log_geometric(draw.stream, math.log(P) + top))
                pick = uniform(draw.stream) * P
                if propose(scene, scale, seen, LEARNER, pick, False):
                    break
            log_index[sample] = math.log(total)
        posterior_gains(scene, scale, gains[sample])
        for i in range(model.h):
            for c in range(model.d):
                points[sample, i, c] = (
                    draw.values[i, c] if model.unstructured else draw.theta[i, c]
                )
    return True


State = Scene  # a posterior with its front and its cover


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
    made = empty_scene(model, belief, 4096)
    act_on(BUILD, made, scale)
    return made


def act_on(what: int, at: State, scale: float = 1.0) -> bool:
    """BUILD or REFRESH."""
    none = np.zeros((0, 0))
    key = np.zeros(2, np.uint64)
    return act(what, at, key, scale, LEARNER, 0.0, np.zeros(0), np.zeros((0, 0, 0)), none)


def hits(
    what: int,
    at: State,
    samples: int,
    key: int = 1,
    scale: float = 1.0,
    log_budget: float = math.inf,
) -> Hits:
    """First hits, each from a stream of its own."""
    h, d, K = at.model.h, at.model.d, at.model.K
    log_index, points = np.zeros(samples), np.zeros((samples, h, d))
    gains = np.zeros((samples, K))
    name = np.array([key, 77], np.uint64)
    who = LEARNER if math.isinf(log_budget) else STOPPER
    act(what, at, name, scale, who, log_budget, log_index, points, gains)
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
    at.belief.tally[RESULTS] = 10**6  # old enough not to be built anew for its age


def covering(at: State, points: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """How many sets of the cover contain each point."""
    log_index, gains = np.zeros(len(points)), np.zeros((0, 0))
    key = np.array([0, 0], np.uint64)
    points = np.ascontiguousarray(points)
    act(CONTAINED, at, key, scale, LEARNER, 0.0, log_index, points, gains)
    return log_index


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
