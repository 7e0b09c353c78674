"""Error rates and samples where the noise is not known: one line for each cell.

Run `python benchmarks/noise.py --runs 640`; docs/unknown-noise.md has the results.
`--many 200 --runs 20` compares unknown with known noise for 200 options, each of which gets a
few measurements.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from psips import Problem, simulate
from psips.problem.instances import Instance
from psips.simulation.environments import (
    BernoulliEnvironment,
    Environment,
    GaussianEnvironment,
    environment_of,
)
from psips.simulation.summary import clopper_pearson

CAP = 200_000  # results of a run


class Cell(NamedTuple):
    """Means of the arms, covariances of their noise, and its shape."""

    name: str
    means: Any  # (K, d)
    covariances: list[Any]  # (d, d) of each arm; empty for binary results
    shape: str = "gaussian"


def equal(d: int, rho: float = 0.0) -> Any:
    """Return unit variances with the same correlation everywhere."""
    return (1.0 - rho) * np.eye(d) + rho


def cells() -> Iterator[Cell]:
    """Yield what is measured."""
    one = equal(1)
    for gap in (0.3, 0.1):
        best = np.array([[gap], [0.0], [-1.0], [-1.0]])
        yield Cell(f"best of 4, gap {gap}", best, [one] * 4)
        unequal = [4 * one, 0.25 * one, one, 2 * one]
        yield Cell(f"best of 4, gap {gap}, variances 0.25 to 4", best, unequal)
    best = np.array([[0.3], [0.0], [-1.0], [-1.0]])
    yield Cell("best of 4, one arm with 10 times the sd", best, [one, 100 * one, one, one])
    tie = np.array([[1.0, -1.0], [-1.0, 1.0], [0.85, -1.15]])
    yield Cell("near-tie in 2", tie, [equal(2)] * 3)
    yield Cell(
        "near-tie in 2, variances 0.25 to 4", tie, [4 * equal(2), equal(2), equal(2) / 4]
    )
    for rho in (-0.95, 0.95):
        yield Cell(f"near-tie in 2, correlation {rho}", tie, [equal(2, rho)] * 3)
    worse = np.repeat([[0.3], [0.0]], 6, axis=1)
    yield Cell("worse by 0.3 in 6", worse, [equal(6)] * 2)
    yield Cell("worse by 0.3 in 6, variances 4 and 0.25", worse, [4 * equal(6), equal(6) / 4])
    yield Cell("best of 4, t with 3 degrees of freedom", best, [one] * 4, "student")
    yield Cell("best of 4, log-normal", best, [one] * 4, "lognormal")
    for p in (0.02, 0.5, 0.9):
        yield Cell(f"binary, {p} against {p + 0.08:.2f}", np.array([[p], [p + 0.08], [p]]), [])


def problems(cell: Cell) -> tuple[Environment, dict[str, Problem]]:
    """Return what is pulled, and what is said of its noise by name."""
    K, d = cell.means.shape
    names = [f"objective {c + 1}" for c in range(d)]
    if not cell.covariances:
        plain = Problem(objectives=names, covariance=[0.25], arms=K)
        binary = Problem(objectives={names[0]: {"kind": "binary"}}, arms=K)
        return BernoulliEnvironment(plain, cell.means), {"per-arm": binary}
    known = Problem(objectives=names, covariance=np.array(cell.covariances), arms=K)
    said = {"known": known, "per-arm": Problem(objectives=names, arms=K)}
    if all(np.array_equal(cell.covariances[0], one) for one in cell.covariances):
        said["estimate"] = Problem(objectives=names, covariance="estimate", arms=K)
    return GaussianEnvironment(known, cell.means, cell.shape), said


def many(K: int, runs: int) -> None:
    """Compare unknown with known noise for K options; truths and noise are common to both."""
    shared: dict[str, Any] = {"objectives": ["x", "y"], "arms": K, "epsilon": 0.1}
    known = Problem(covariance=np.full(2, 0.35**2), **shared)
    counts: dict[str, list[int]] = {"known": [], "unknown": []}
    wrong = dict.fromkeys(counts, 0)
    for seed in range(runs):
        truth = Instance("", known, np.random.default_rng(seed).normal(size=(K, 2)))
        for noise, problem in (("known", known), ("unknown", Problem(**shared))):
            run = simulate(problem, environment_of(truth), rng=seed, max_results=CAP)
            wrong[noise] += run.stopped and not truth.is_right(run.pareto_set or ())
            counts[noise].append(run.results)
    ratios = np.divide(counts["unknown"], counts["known"])
    each = {noise: np.mean(one) / K for noise, one in counts.items()}
    print(
        f"{K} options, {runs} runs: {each['known']:.1f} measurements of each with known noise, "
        f"{each['unknown']:.1f} with unknown noise; ratios: median {np.median(ratios):.2f}, "
        f"{ratios.min():.2f} to {ratios.max():.2f}; of the means "
        f"{each['unknown'] / each['known']:.2f}; wrong {wrong['known']} and {wrong['unknown']}"
    )


def main() -> None:
    """Measure every cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=640)
    parser.add_argument("--many", type=int, help="only the cost for so many options")
    parser.add_argument("--seconds", type=float, default=600.0, help="of a cell, at most")
    asked = parser.parse_args()
    if asked.many:
        many(asked.many, asked.runs)
        return
    for cell in cells():
        environment, said = problems(cell)
        above = (cell.means[:, None] >= cell.means[None]).all(axis=2)
        strictly = (cell.means[:, None] > cell.means[None]).any(axis=2)
        best = {f"arm {a + 1}" for a in np.flatnonzero(~(above & strictly).any(axis=0))}
        for delta in (0.1, 0.05):
            for noise, problem in said.items():
                begin, errors, samples = time.monotonic(), 0, []
                for seed in range(asked.runs):
                    run = simulate(problem, environment, rng=seed, delta=delta, max_results=CAP)
                    errors += run.stopped and set(run.pareto_set or ()) != best
                    samples.append(run.results)
                    if time.monotonic() - begin > asked.seconds:
                        break
                _, high = clopper_pearson(errors, len(samples))
                print(
                    f"| {cell.name} | {delta:g} | {noise} | {errors} of {len(samples)} "
                    f"| {high:.1%} | {np.mean(samples):,.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
