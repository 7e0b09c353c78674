"""What other packages return, and when they stop, on COV-BOOST: next to psips, in one run.

    python benchmarks/other_packages.py psips --runs 200 --out rows.jsonl
    python benchmarks/other_packages.py vopy --runs 20 --out rows.jsonl
    python benchmarks/other_packages.py ax --runs 20 --out rows.jsonl
    python benchmarks/other_packages.py table --out rows.jsonl

The first word names the package to measure; psips and that package must be installed. Every
row is one run: a measurement is a noisy value of all three metrics of one of 20 boosters, in
units in which the noise of each metric has variance 1, so that packages that know one variance
are not at a disadvantage. CPU seconds are user and system time of the run, packages imported.

* `vopy`: `Auer` and `PaVeBa` with `conf_contraction` as it is by default (32), and `Auer` with
  1, at which its delta has a proof (`PaVeBa` with 1 takes 0.1 s and more a round); epsilon is
  0.01. Runs end at `--most` measurements.
* `ax`: one choice parameter of 20 values without an order, `ImprovementGlobalStoppingStrategy`
  with `min_trials` 10, all else by default; a trial is a measurement. When Ax has proposed
  every option once, it raises `SearchSpaceExhausted`, and that is its end.

Optuna's terminators take studies of one objective only, so they have no row.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

DELTA, EPSILON = 0.1, 0.01
METHODS = {
    "psips, default": {},
    'psips, `guarantee="proven"`': {"stopping": "predicted"},
    "PSIPS as published, in psips": {"sampling": "posterior"},
    "elimination (Auer et al.), in psips": {"sampling": "elimination"},
}


def trial() -> tuple[np.ndarray, np.ndarray]:
    """Return the means of COV-BOOST in standard deviations of the noise, and the Pareto set."""
    from psips.lab.instances import instance

    one = instance("cov-boost")
    means = one.means / np.sqrt(np.diag(one.problem.covariance))
    better = (means[None] >= means[:, None]).all(axis=2) & (means[None] > means[:, None]).any(
        axis=2
    )
    return means, ~better.any(axis=1)


def by_psips(runs: int, first: int, most: int) -> Iterator[dict[str, Any]]:
    """Simulate rules of psips, one run at a time."""
    from psips import Problem, Rules
    from psips.problem.instances import Instance
    from psips.simulation import simulate
    from psips.simulation.environments import environment_of

    means, _ = trial()
    problem = Problem(arms=len(means), objectives=["a", "b", "c"], covariance=np.ones(3))
    noise = environment_of(Instance("cov-boost", problem, means))
    for method, words in METHODS.items():
        for seed in range(first, first + runs):
            begun = time.process_time()
            rules = Rules(delta=DELTA, **words)
            found = simulate(problem, noise, seed=seed, rules=rules, max_results=most)
            yield {
                "method": method,
                "seed": seed,
                "measurements": int(found.results),
                "stopped": bool(found.stopped),
                "inside": [problem.arm_index(name) for name in found.candidate_set],
                "cpu": time.process_time() - begun,
            }


def by_vopy(runs: int, first: int, most: int) -> Iterator[dict[str, Any]]:
    """Run algorithms of VOPy."""
    import vopy.datasets.dataset as datasets
    from vopy.algorithms import Auer, PaVeBa
    from vopy.order import ComponentwiseOrder

    means, _ = trial()

    class Boosters(datasets.Dataset):
        _in_dim, _out_dim, _cardinality = 1, means.shape[1], len(means)

        def __init__(self) -> None:
            self.in_data = np.arange(float(len(means)))[:, None]
            self.out_data = means.copy()
            super().__init__()
            self.out_data = means.copy()  # not standardized: the noise has variance 1

    datasets.Boosters = Boosters
    for name, contraction in (("Auer", 32), ("PaVeBa", 32), ("Auer", 1)):
        for seed in range(first, first + runs):
            np.random.seed(seed)  # noqa: NPY002  (what VOPy draws its noise with)
            begun = time.process_time()
            if name == "Auer":
                one = Auer(EPSILON, DELTA, "Boosters", 1.0, conf_contraction=contraction)
            else:
                order = ComponentwiseOrder(means.shape[1])
                one = PaVeBa(
                    EPSILON, DELTA, "Boosters", order, 1.0, conf_contraction=contraction
                )
            done = False
            while not done and one.sample_count < most:
                done = one.run_one_step()
            yield {
                "method": f"VOPy {name}, contraction {contraction}",
                "seed": seed,
                "measurements": int(one.sample_count),
                "stopped": bool(done),
                "inside": sorted(map(int, one.P)),
                "cpu": time.process_time() - begun,
            }


def by_ax(runs: int, first: int, most: int) -> Iterator[dict[str, Any]]:
    """Let Ax propose boosters until its strategy says that it should stop."""
    from ax.exceptions.core import OptimizationShouldStop, SearchSpaceExhausted
    from ax.global_stopping.strategies.improvement import ImprovementGlobalStoppingStrategy
    from ax.service.ax_client import AxClient
    from ax.service.utils.instantiation import ObjectiveProperties

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    means, _ = trial()
    for seed in range(first, first + runs):
        noise = np.random.default_rng(seed)
        begun = time.process_time()
        client = AxClient(
            random_seed=seed,
            verbose_logging=False,
            global_stopping_strategy=ImprovementGlobalStoppingStrategy(min_trials=10),
        )
        client.create_experiment(
            name="boosters",
            parameters=[
                {
                    "name": "booster",
                    "type": "choice",
                    "values": [f"b{k}" for k in range(len(means))],
                    "value_type": "str",
                    "is_ordered": False,
                }
            ],
            objectives={name: ObjectiveProperties(minimize=False) for name in "abc"},
        )
        done = 0
        stopped = False
        while done < most:
            try:
                parameters, index = client.get_next_trial()
            except (OptimizationShouldStop, SearchSpaceExhausted):
                stopped = True
                break
            k = int(parameters["booster"][1:])
            values = means[k] + noise.standard_normal(3)
            told = {name: (float(v), 1.0) for name, v in zip("abc", values, strict=True)}
            client.complete_trial(index, raw_data=told)
            done += 1
        front = client.get_pareto_optimal_parameters() or {}
        inside = {int(one[0]["booster"][1:]) for one in front.values()}
        yield {
            "method": "Ax, ImprovementGlobalStoppingStrategy",
            "seed": seed,
            "measurements": done,
            "stopped": stopped,
            "inside": sorted(inside),
            "cpu": time.process_time() - begun,
        }


def table(rows: list[dict[str, Any]]) -> None:
    """Print the result of each method, with ratios to the default of psips."""
    from psips.simulation.summary import clopper_pearson

    _, truth = trial()
    right = set(map(int, np.flatnonzero(truth)))
    by_method = defaultdict(list)
    for row in rows:
        by_method[row["method"]].append(row)
    own = by_method["psips, default"]
    samples = np.mean([row["measurements"] for row in own])
    cpu = sum(row["cpu"] for row in own) / sum(row["measurements"] for row in own)
    print(
        "| method | runs | wrong sets (95%) | measurements | ratio "
        "| CPU a measurement, ratio |\n|---|---|---|---|---|---|"
    )
    for method, some in by_method.items():
        ended = [row for row in some if row["stopped"]]
        wrong = sum(set(row["inside"]) != right for row in ended)
        low, high = clopper_pearson(wrong, len(ended)) if ended else (0.0, 1.0)
        mean = np.mean([row["measurements"] for row in some])
        each = sum(row["cpu"] for row in some) / sum(row["measurements"] for row in some)
        least = "" if len(ended) == len(some) else "at least "
        print(
            f"| {method} | {len(some)}, {len(ended)} stopped "
            f"| {wrong} ({low:.0%} to {high:.0%}) | {least}{mean:,.0f} "
            f"| {least}{mean / samples:.3g} | {each / cpu:,.3g} |"
        )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", choices=("psips", "vopy", "ax", "table"))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--most", type=int, default=1_000_000, help="measurements of a run")
    parser.add_argument("--out", type=Path, default=Path("other_packages.jsonl"))
    given = parser.parse_args()
    if given.package == "table":
        return table([json.loads(line) for line in given.out.read_text().splitlines()])
    run = {"psips": by_psips, "vopy": by_vopy, "ax": by_ax}[given.package]
    with given.out.open("a") as lines:
        for row in run(given.runs, given.first, given.most):
            lines.write(json.dumps(row) + "\n")
            lines.flush()
            print(json.dumps(row), file=sys.stderr)
    return None


if __name__ == "__main__":
    main()
