"""Goals other than the whole set: samples when sampling aims at them, over when it does not.

    python benchmarks/goals.py --instances 20 --runs 10

Run i has the same noise both ways. The ratio is of mean samples, with a 95% interval by the
bootstrap over instances; wrong verdicts are counted of both. Runs end at a cap, and count in
full. Markdown is printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from psips import simulate
from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.rules import SAMPLING
from psips.simulation.environments import environment_of
from psips.simulation.runs import verdicts_right

CAP = 200_000
GOALS = ("1 optimal", "2 optimal", "settle {best}", "settle {worst}", "beat control")


@contextmanager
def whole() -> Iterator[None]:
    """Let the directed rule sample for the whole set, whatever the goal."""
    aimed = SAMPLING["directed"]
    SAMPLING["directed"] = replace(aimed, seeking="")
    try:
        yield
    finally:
        SAMPLING["directed"] = aimed


def of_kind(kind: str, number: int) -> Instance:
    """Return an instance; its control is the answer in the middle of its first objective."""
    if kind == "cov-boost":
        made = instance("cov-boost")
    else:
        made = instance("random-gaussian", K=8, d=2, max_complexity=500.0, seed=number)
    order = np.argsort(made.means[:, 0])
    control = made.problem.arms[int(order[len(order) // 2])]
    problem = made.problem.asking(control=control)
    if kind == "random, noise estimated":
        problem = problem.asking(covariance="per-arm")
    return replace(made, problem=problem, truth=made.problem)


def goal_of(goal: str, made: Instance) -> str:
    others = [one for one in made.problem.answers if one not in made.pareto_set]
    return goal.format(best=made.pareto_set[0], worst=others[0])


def compare(kind: str, instances: int, runs: int, delta: float) -> None:
    """Print a row for each goal."""
    for goal in GOALS:
        samples = np.zeros((2, instances))
        wrong, capped = [0, 0], [0, 0]
        for number in range(instances):
            made = of_kind(kind, number)
            for way in range(2):
                for run in range(runs):
                    found = _run(made, goal_of(goal, made), way, [number, run], delta)
                    samples[way, number] += found.results / runs
                    wrong[way] += found.stopped and not verdicts_right(made, found)
                    capped[way] += not found.stopped
        drawn = np.random.default_rng(0).integers(0, instances, (4000, instances))
        aimed, plain = samples[0][drawn].mean(axis=1), samples[1][drawn].mean(axis=1)
        low, high = np.quantile(aimed / plain, [0.025, 0.975])
        ratio = samples[0].mean() / samples[1].mean()
        print(
            f"| {kind} | {goal.format(best='an optimal one', worst='another')} "
            f"| {samples[0].mean():,.0f} | {samples[1].mean():,.0f} "
            f"| {ratio:.2f} ({low:.2f} to {high:.2f}) "
            f"| {wrong[0]}, {wrong[1]} of {instances * runs:,} | {capped[0]}, {capped[1]} |",
            flush=True,
        )


def _run(made: Instance, goal: str, way: int, seed: list[int], delta: float) -> Any:
    def once() -> Any:
        return simulate(
            made.problem,
            environment_of(made),
            rng=np.random.SeedSequence(seed),
            goal=goal,
            delta=delta,
            max_results=CAP,
        )

    if way == 0:
        return once()
    with whole():
        return once()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--delta", type=float, default=0.1)
    parser.add_argument("--kinds", default="random;random, noise estimated;cov-boost")
    given = parser.parse_args()
    print("| instances | goal | aimed | not | ratio | wrong | at the cap |")
    print("|---|---|---|---|---|---|---|")
    for one in given.kinds.split(";"):
        compare(one, given.instances if one != "cov-boost" else 1, given.runs, given.delta)
