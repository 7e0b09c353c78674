"""How long a round takes: first-hit draws against literal ones, and how it grows.

Both kinds of draws are timed in one process, at the same posterior states: a run with
first-hit draws is paused at evenly spaced rounds, and there the published loop decides
the same round from the same belief.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from psips.engine import Engine
from psips.environments import Environment, GaussianEnvironment, environment_of
from psips.instances import Instance, instance
from psips.problem import Problem
from psips.rules import Rules
from psips.seeds import draw_key

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
    for what, label, problem, theta, delta, rounds, size in _growing():
        progress(f"{what} = {size:g}")
        environment = GaussianEnvironment(problem, theta)
        fast = _timed_run(problem, environment, delta, rounds, seed=1)
        nothing = (float("nan"),) * 3
        yield Timing(what, label, size, *fast, *nothing)


def _engine(problem: Problem, delta: float, draws: str, seed: int) -> Engine:
    rules = Rules(delta=delta, draws=draws)
    key = draw_key(np.random.default_rng(seed))
    return Engine(problem.model, rules.options(problem), key)


def _timed_run(
    problem: Problem, environment: Environment, delta: float, rounds: int, seed: int
) -> tuple[int, float, float]:
    """Return rounds, microseconds and points a round of a run with first-hit draws."""
    engine = _engine(problem, delta, "first-hit", seed)
    noise = draw_key(np.random.default_rng(seed + 1000))
    begin = perf_counter()
    engine.run(environment.source, noise, rounds)
    spent = perf_counter() - begin
    made = int(engine.belief.tally[0])
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
    _literal_round(made, delta, fast)  # compile
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
    for name, array in slow.belief._asdict().items():
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
