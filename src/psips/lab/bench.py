"""How long a round takes: first-hit draws against literal ones, and how it grows.

Both kinds of draws are timed in one process, at the same posterior states: a run with
first-hit draws is paused at evenly spaced rounds, and there the published loop decides
the same round from the same belief.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from psips.input.seeds import draw_key
from psips.lab.instances import instance
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.rules import Rules
from psips.session.engine import Engine
from psips.simulation.environments import Environment, GaussianEnvironment, environment_of
from psips.theory.geometry import best_response

PAUSES = 24  # rounds of a run at which the literal loop is timed
RUNS = 3  # runs with first-hit draws that are timed as a whole

# (instance, its parameters, deltas at which the literal loop is timed, further deltas)
CASES: tuple[tuple[str, dict[str, Any], tuple[float, ...], tuple[float, ...]], ...] = (
    ("correlated", {"rho": -0.9}, (1e-1, 1e-3, 1e-5), (1e-12,)),
    ("correlated", {"rho": 0.0}, (1e-1, 1e-3, 1e-5), (1e-12,)),
    ("correlated", {"rho": 0.9}, (1e-1, 1e-3, 1e-5), (1e-12,)),
    ("cov-boost", {}, (1e-1, 1e-3), (1e-6, 1e-12)),
    ("noc", {}, (1e-1,), (1e-3, 1e-6)),
    ("rotated", {}, (1e-1, 1e-3), (1e-6,)),
    ("random-gaussian", {"K": 10, "d": 3}, (1e-1, 1e-3), (1e-6,)),
    ("random-gaussian", {"K": 10, "d": 6}, (1e-1, 1e-3), (1e-6,)),
)


def _camps(correlation: float, *side: int) -> list[list[float]]:
    """Objectives in two camps, alike within each and opposed to the other."""
    R = correlation * np.outer(side, side)
    np.fill_diagonal(R, 1.0)
    return [[float(v) for v in row] for row in R]


def _symmetric(d: int, *above: float) -> list[list[float]]:
    """Return a correlation matrix by the entries above its diagonal, row by row."""
    R = np.eye(d)
    R[np.triu_indices(d, 1)] = above
    return [[float(v) for v in row] for row in R + R.T - np.eye(d)]


# Correlations near the edge: (correlation matrix, means), the hardest states for the covers
# that a random search found (d = 2 to 6, both signs, pairs and escapes).
EDGES: dict[str, tuple[list[list[float]], list[list[float]]]] = {
    "2 opposed": (_symmetric(2, -0.9), [[0.5, 0.0], [0.0, 0.6]]),
    "3, near singular": (
        _symmetric(3, -0.75, 0.75, -0.95),
        [[-0.43, -0.9, 0.0], [0.0, 0.0, -1.1]],
    ),
    "4, near singular": (
        _symmetric(4, -0.956, 0.637, 0.996, -0.826, -0.953, 0.629),
        [[0.0, 8.635, 0.0, 0.0], [10.67, 0.0, 0.924, 17.4]],
    ),
    "5 opposed": (
        _symmetric(5, *[-0.245] * 10),
        [[0.154, -0.272, 0.0, 8.981, 1.801], [0.0, 0.0, 9.783, 0.0, 0.0]],
    ),
    "5 in camps": (
        _camps(0.83, -1, 1, 1, 1, 1),
        [
            [-3.756, 4.005, -13.414, -5.138, 13.464],
            [2.088, 13.49, -10.084, -12.23, 1.828],
            [-12.127, -4.968, 0.219, 11.215, -3.307],
            [-8.02, -5.274, 4.247, -4.522, 8.125],
            [-4.146, -10.356, -0.238, 5.914, 12.661],
        ],
    ),
    "6 in camps": (
        _camps(0.99, 1, 1, -1, 1, -1, 1),
        [[-6.736, 0.296, -0.141, 0.493, 0.542, -0.08], [0.0] * 6],
    ),
    "6, near singular": (
        _symmetric(
            6,
            *(-0.483, 0.563, 0.785, 0.209, 0.991),
            *(0.44, 0.148, -0.949, -0.431),
            *(0.945, -0.681, 0.61),
            *(-0.429, 0.819),
            0.151,
        ),
        [
            [-0.861, 0.255, 1.788, -7.366, 0.361, -0.048],
            [0.478, 0.27, -4.687, -4.306, 0.273, -0.438],
            [-1.871, 0.925, -1.068, 0.252, -0.609, -0.052],
        ],
    ),
}
EDGE_PULLS = 200  # pulls of an average arm when the rule stops, about: the means are scaled so


class Timing(NamedTuple):
    """One row of the bench."""

    what: str  # "draws", or what grows: "K", "d", "|Z|", "1/delta"
    name: str
    size: float  # delta for "draws", else the value of what grows
    rounds: int
    us_per_round: float
    points_per_round: float  # proposals and literal draws of a round, both rules together
    literal_us: float  # NaN where the literal loop was not timed
    literal_points: float
    ratio: float


def run_bench(progress: Callable[[str], None] = lambda _: None) -> Iterator[Timing]:
    """Yield the rows of the bench, slowest kinds last."""
    for name, params, timed, further in CASES:
        made = instance(name, **params)
        label = " ".join([name, *(f"{key}={value:g}" for key, value in params.items())])
        for delta in (*timed, *further):
            progress(f"{label}, delta {delta:g}")
            yield _compare(label, made, delta, literal=delta in timed)
    for label in EDGES:
        made = _edge(label)
        progress(f"edge {label}")
        yield _compare(f"edge {label}", made, 1e-5, literal=False)
    for what, label, problem, theta, delta, rounds, size in _growing():
        progress(f"{what} = {size:g}")
        environment = GaussianEnvironment(problem, theta)
        fast = _timed_run(problem, environment, delta, rounds, seed=1)
        nothing = (float("nan"),) * 3
        yield Timing(what, label, size, *fast, *nothing)


def _edge(label: str) -> Instance:
    """Return the problem of EDGES, its means scaled so that it is no trifle."""
    R, means = np.array(EDGES[label][0]), np.array(EDGES[label][1])
    K, d = means.shape
    names = [f"objective {c + 1}" for c in range(d)]
    problem = Problem(objectives=names, covariance=R, arms=K, name=label)
    distance = best_response(problem, means, np.full(K, 1.0 / K)).value
    budget = 2.0 * math.log(1e5) / (K * EDGE_PULLS)
    return Instance(label, problem, means * math.sqrt(budget / distance))


def _engine(problem: Problem, delta: float, draws: str, seed: int) -> Engine:
    rules = Rules(delta=delta, draws=draws)
    key = draw_key(np.random.default_rng(seed))
    return Engine(problem.model, rules.program(problem), key)


def _timed_run(
    problem: Problem, environment: Environment, delta: float, rounds: int, seed: int
) -> tuple[int, float, float]:
    """Return rounds, microseconds and points a round of a run with first-hit draws."""
    engine = _engine(problem, delta, "first-hit", seed)
    noise = draw_key(np.random.default_rng(seed + 1000))
    begin = perf_counter()
    engine.run(environment.source, noise, rounds)
    spent = perf_counter() - begin
    made = engine.results
    return made, spent / made * 1e6, float(engine.proposals.sum()) / made


def _compare(label: str, made: Instance, delta: float, *, literal: bool) -> Timing:
    environment = environment_of(made)
    runs = [_timed_run(made.problem, environment, delta, 10**6, seed) for seed in range(RUNS)]
    rounds = sum(run[0] for run in runs)
    us = sum(run[0] * run[1] for run in runs) / rounds
    points = sum(run[0] * run[2] for run in runs) / rounds
    slow = slow_points = float("nan")
    if literal:
        slow, slow_points = _literal_on_the_way(made, environment, delta, runs[0][0])
    return Timing("draws", label, delta, rounds, us, points, slow, slow_points, slow / us)


def _literal_on_the_way(
    made: Instance, environment: Environment, delta: float, rounds: int
) -> tuple[float, float]:
    """Microseconds and draws a round of the published loop at the states of run 0."""
    noise = draw_key(np.random.default_rng(1000))
    fast = _engine(made.problem, delta, "first-hit", 0)
    first = made.problem.K if made.problem.unstructured else made.problem.h
    spent = drawn = 0.0
    pauses = np.linspace(first, rounds - 1, PAUSES).astype(int)
    for pause in pauses:
        fast.run(environment.source, noise, int(pause))
        seconds, draws = _literal_round(made, delta, fast)
        spent += seconds
        drawn += draws
    return spent / PAUSES * 1e6, drawn / PAUSES


def _literal_round(made: Instance, delta: float, fast: Engine) -> tuple[float, float]:
    slow = _engine(made.problem, delta, "literal", 0)
    for name, array in slow.belief.as_dict().items():
        if isinstance(
            array, np.ndarray
        ):  # the noise is known, so how results scatter is not kept
            array[...] = getattr(fast.belief, name)
    before = float(slow.proposals.sum())
    begin = perf_counter()
    slow.judge()
    slow.choose()
    return perf_counter() - begin, float(slow.proposals.sum()) - before


def _growing() -> Iterator[tuple[str, str, Problem, Any, float, int, float]]:
    """Problems in which one size grows."""
    rng = np.random.default_rng(7)
    names = [f"objective {c}" for c in range(1, 7)]

    def spread(K: int, d: int) -> tuple[Problem, Any]:
        means = rng.uniform(-1.0, 1.0, (K, d))
        return Problem(objectives=names[:d], covariance=[0.5] * d, arms=K), means

    for K in (10, 30, 100, 300, 1000):
        problem, means = spread(K, 3)
        yield "K", "unstructured, d = 3", problem, means, 1e-2, 20 * K + 5000, K
    for d in range(2, 7):
        problem, means = spread(10, d)
        yield "d", "unstructured, K = 10", problem, means, 1e-6, 20000, d
    for n in (100, 1000, 10_000, 100_000):
        features = rng.normal(size=(n, 10))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        theta = rng.normal(size=(10, 3))
        problem = Problem(
            objectives=names[:3], covariance=[0.5] * 3, features=features, intercept=False
        )
        yield "|Z|", "linear, h = 10, d = 3", problem, theta, 1e-1, 20_000_000 // (n + 9900), n
    boost = instance("cov-boost")
    for exponent in (1, 2, 4, 8, 12):
        delta = 10.0**-exponent
        yield "1/delta", "cov-boost", boost.problem, boost.theta, delta, 10**6, 1 / delta


def growth(rows: list[Timing]) -> dict[str, float]:
    """Exponent b of us ~ size^b for each size that grows, by least squares on logarithms."""
    exponents = {}
    for what in dict.fromkeys(row.what for row in rows if row.what != "draws"):
        sizes = np.log([row.size for row in rows if row.what == what])
        times = np.log([row.us_per_round for row in rows if row.what == what])
        exponents[what] = float(np.polyfit(sizes, times, 1)[0])
    return exponents


def plot(rows: list[Timing], path: str) -> None:
    """Draw the growth on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6.4), layout="constrained")
    kinds = list(dict.fromkeys(row.what for row in rows if row.what != "draws"))
    exponents = growth(rows)
    for place, what in enumerate(kinds, start=1):
        axes = figure.add_subplot(2, 2, place)
        chosen = [row for row in rows if row.what == what]
        sizes = [row.size for row in chosen]
        axes.loglog(sizes, [row.us_per_round for row in chosen], "o-", color="#0072B2")
        axes.set_xlabel(what)
        axes.set_ylabel("microseconds a round")
        axes.set_title(f"{chosen[0].name}: ~ ({what})^{exponents[what]:.2f}", fontsize=10)
        axes.grid(alpha=0.3, which="both")
    figure.savefig(path, dpi=150)
