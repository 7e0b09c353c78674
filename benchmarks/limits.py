"""Limits: wrong sets, and samples compared with the two-stage way, on dose-finding instances.

    python benchmarks/limits.py doses --instances 20 --runs 100
    python benchmarks/limits.py edges --runs 1000

``edges``: truths that keep a limit, or break it, by 0.1 standard deviations of one result.
``doses``: run i of an instance has the same noise with each rule. The ratio is of mean samples,
with a 95% interval by the bootstrap over instances; the interval of a chance is
Clopper-Pearson's.
"""

from __future__ import annotations

import argparse

import numpy as np

from psips.lab.instances import instance
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.simulation import simulate
from psips.simulation.environments import environment_of
from psips.simulation.summary import clopper_pearson
from psips.theory.geometry import complexity

RULES = ("directed", "two-stage")


def edges(runs: int, delta: float) -> None:
    means = {
        "one above": [[0.0, -1.0], [1.0, 0.1]],
        "one below": [[0.0, -1.0], [1.0, -0.1]],
        "all above": [[0.0, 0.1], [0.5, 0.1], [1.0, 0.1]],
        "four above, one below": [[0.0, -0.1], *([1.0, 0.1],) * 4],
        "one above, and below another": [[1.0, -1.0], [0.9, 0.1]],
    }
    print("| toxicity <= 0 | delta | samples | wrong sets |\n|---|---|---|---|")
    for name, values in means.items():
        problem = Problem(
            objectives={"efficacy": "max", "toxicity": "min"},
            covariance=[1.0, 1.0],
            arms=len(values),
            limits=["toxicity <= 0"],
        )
        made = Instance(name, problem, np.array(values))
        environment = environment_of(made)
        samples, wrong = np.zeros(runs), 0
        for run in range(runs):
            found = simulate(problem, environment, rng=run, delta=delta)
            samples[run] = found.results
            wrong += not made.is_right(found.candidate_set)
        least, most = clopper_pearson(wrong, runs)
        print(
            f"| {name} | {delta:g} | {samples.mean():,.0f} | {wrong} of {runs:,} "
            f"({least:.2%} to {most:.2%}) |",
            flush=True,
        )


def doses(instances: int, runs: int, delta: float) -> None:
    samples = np.zeros((len(RULES), instances))
    wrong = np.zeros(len(RULES), int)
    bounds = np.zeros(instances)
    for number in range(instances):
        made = instance("dose-finding", seed=number)
        environment = environment_of(made)
        bounds[number] = complexity(made.problem, made.theta, tolerance=0.02).lower_bound_kl(
            delta
        )
        for r, rule in enumerate(RULES):
            for run in range(runs):
                seed = np.random.SeedSequence([number, run])
                found = simulate(
                    made.problem, environment, rng=seed, sampling=rule, delta=delta
                )
                samples[r, number] += found.results / runs
                wrong[r] += not made.is_right(found.candidate_set)
        print(f"instance {number}: {bounds[number]:,.0f}", samples[:, number], flush=True)
    total = instances * runs
    print(f"\ndelta {delta:g}, {instances} instances of {runs} runs; lower bound ", end="")
    print(f"{bounds.mean():,.0f} on average\n")
    print("| sampling rule | samples | wrong sets | directed over it |\n|---|---|---|---|")
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, instances, (4000, instances))
    for r, rule in enumerate(RULES):
        ratios = samples[0][drawn].mean(axis=1) / samples[r][drawn].mean(axis=1)
        low, high = np.quantile(ratios, [0.025, 0.975])
        least, most = clopper_pearson(int(wrong[r]), total)
        ratio = samples[0].mean() / samples[r].mean()
        print(
            f"| `{rule}` | {samples[r].mean():,.0f} | {wrong[r]} of {total:,} "
            f"({least:.2%} to {most:.2%}) | {ratio:.3f} ({low:.3f} to {high:.3f}) |"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["doses", "edges"])
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--delta", type=float, default=0.1)
    given = parser.parse_args()
    if given.what == "doses":
        doses(given.instances, given.runs, given.delta)
    else:
        edges(given.runs, given.delta)
