"""What a tolerance saves, whether sets are right by its definition, and what ties take.

    python benchmarks/tolerance.py savings --runs 2000
    python benchmarks/tolerance.py errors --runs 2000
    python benchmarks/tolerance.py ties --runs 2000

``savings``: samples at tolerances of 0 to 0.2 standard deviations of one result, run i of each
with the same seed. ``errors``: truths next to the boundary, where a set that is found too early
is wrong: options that are beaten, or better, by a little more than the tolerance. ``ties``:
equal options, next to a bound of T* for every truth and set times the threshold. Intervals are
95%, Clopper-Pearson for chances.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from psips.lab.instances import instance
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.simulation import simulate
from psips.simulation.environments import environment_of
from psips.simulation.summary import clopper_pearson

PARTS = (0.0, 0.05, 0.1, 0.2)  # of the standard deviation of one result
BEYOND = 1.001  # a difference that matters, over the tolerance
CAP = 1_000_000


def measure(made: Instance, runs: int, **choices: object) -> tuple[np.ndarray, int, int]:
    """Return samples (runs,), how many runs stopped, and how many of them with a wrong set."""
    environment = environment_of(made)
    samples, stopped, wrong = np.zeros(runs), 0, 0
    for run in range(runs):
        seed = np.random.SeedSequence([3, run])
        found = simulate(made.problem, environment, rng=seed, max_results=CAP, **choices)
        samples[run] = found.results
        stopped += found.stopped
        wrong += found.stopped and not made.is_right(found.candidate_set)
    return samples, stopped, wrong


def mean(values: np.ndarray) -> str:
    width = 1.96 * values.std(ddof=1) / math.sqrt(len(values))
    return f"{values.mean():,.0f} ± {width:,.0f}"


def chance(wrong: int, runs: int) -> str:
    low, high = clopper_pearson(wrong, runs)
    return f"{wrong} of {runs:,} ({low:.2%} to {high:.2%})"


def scaled(made: Instance, part: float) -> Instance:
    """Return the instance with a part of each objective's standard deviation as tolerance."""
    sd = np.sqrt(np.diag(made.problem.usual_covariance))
    return made.asking(epsilon=dict(zip(made.problem.objectives, part * sd, strict=True)))


def savings(runs: int, rules: list[str], delta: float) -> None:
    print("| instance | stopping rule | tolerance, sd | samples | of exact | wrong sets |")
    print("|---|---|---|---|---|---|")
    for name, params in (
        ("correlated", {"rho": 0.0}),
        ("cov-boost", {}),
    ):
        for rule in rules:
            exact = 0.0
            for part in PARTS:
                made = scaled(instance(name, **params), part)
                samples, stopped, wrong = measure(made, runs, delta=delta, stopping=rule)
                exact = exact or samples.mean()
                said = ", ".join([name, *(f"{k} {v:g}" for k, v in params.items())])
                print(
                    f"| {said} | {rule} | {part:g} | {mean(samples)} "
                    f"| {samples.mean() / exact:.2f} | {chance(wrong, stopped)} |",
                    flush=True,
                )


def truths(epsilon: float) -> dict[str, np.ndarray]:
    """Means next to the boundary; a unit is the standard deviation of one result."""
    much = BEYOND * epsilon
    spread = np.linspace(0, 2, 4)
    return {
        "worse by more, 1 objective": np.array([[0.0], [-much]]),
        "five worse by more, 1 objective": np.array([[0.0]] + [[-much]] * 5),
        "worse by more in each of 2": np.array([[0.0, 0.0], [-much, -much]]),
        "worse by more in each of 4": np.stack([np.zeros(4), np.full(4, -much)]),
        "better by more in 1 of 2": np.array([[0.0, 0.0], [much, -0.5 * epsilon]]),
        "better by more than each of 3": np.array(
            [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [0.5 + much, 0.5 - 0.5 * epsilon]]
        ),
        "four pairs, each worse by more": np.concatenate(
            [np.stack([spread, -spread], 1), np.stack([spread, -spread], 1) - much]
        ),
        "five equal, one worse by more": np.array([[0.0, 0.0]] * 5 + [[-much, -much]]),
        "a chain of steps of 0.6": -0.6 * epsilon * np.arange(5.0)[:, None] * np.ones(2),
    }


def errors(runs: int, rules: list[str], delta: float) -> None:
    print("| truth | tolerance, sd | stopping rule | delta | samples | wrong sets |")
    print("|---|---|---|---|---|---|")
    for epsilon, most in ((0.3, 99), (0.1, 2)):  # the smaller one for the first truths alone
        for name, means in list(truths(epsilon).items())[:most]:
            n, d = means.shape
            objectives = [f"metric {c + 1}" for c in range(d)]
            problem = Problem(
                objectives=objectives, covariance=np.ones(d), arms=n, epsilon=epsilon
            )
            made = Instance(name, problem, means)
            for rule in rules:
                samples, stopped, wrong = measure(made, runs, delta=delta, stopping=rule)
                print(
                    f"| {name} | {epsilon:g} | {rule} | {delta:g} | {mean(samples)} "
                    f"| {chance(wrong, stopped)} |",
                    flush=True,
                )


def ties(runs: int, rules: list[str], delta: float) -> None:
    print("| equal options | objectives | tolerance, sd | stopping rule ", end="")
    print("| 4 K / epsilon^2 times the threshold | samples | wrong sets |")
    print("|---|---|---|---|---|---|---|")
    for n, d, epsilon in ((2, 1, 0.2), (2, 2, 0.2), (4, 2, 0.2), (2, 1, 0.05)):
        objectives = [f"metric {c + 1}" for c in range(d)]
        problem = Problem(objectives=objectives, covariance=np.ones(d), arms=n, epsilon=epsilon)
        made = Instance("ties", problem, np.zeros((n, d)))
        for rule in rules:
            samples, stopped, wrong = measure(made, runs, delta=delta, stopping=rule)
            threshold = math.log(1 / delta) + math.log(8 + math.log(samples.mean())) - 0.3
            print(
                f"| {n} | {d} | {epsilon:g} | {rule} | {4 * n / epsilon**2 * threshold:,.0f} "
                f"| {mean(samples)} | {chance(wrong, stopped)} |",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["savings", "errors", "ties"])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--delta", type=float, default=0.1)
    parser.add_argument("--rules", default="glr", help="stopping rules, with commas")
    given = parser.parse_args()
    what = {"savings": savings, "errors": errors, "ties": ties}[given.what]
    what(given.runs, given.rules.split(","), given.delta)
