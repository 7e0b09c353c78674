"""What costs save, and what a budget buys, on random instances and common noise.

    python benchmarks/questions.py costs --instances 60 --runs 10
    python benchmarks/questions.py costs --arms 20 --features 4
    python benchmarks/questions.py budgets --instances 40 --runs 50

``costs``: what the default spends, over what it spends without knowing the costs, next to
the same ratio of the best weights (T* over what the blind w* costs): the limit for small delta.
``budgets``: how often the candidate set is wrong at budgets of H to 8H results, for the
default (never stopping), EGE-SR and EGE-SH. Intervals are of the mean over instances, 95%, by
the bootstrap.
"""

from __future__ import annotations

import argparse

import numpy as np

from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.simulation import simulate
from psips.simulation.environments import environment_of
from psips.theory.geometry import complexity

DEAREST = 50.0
BUDGETS = (1, 2, 4, 8)  # times H
METHODS = ("directed", "ege-sr", "ege-sh")


def drawn(number: int, K: int, hardest: float, features: int = 0) -> Instance:
    if features:
        return instance("linear", K=K, h=features, d=2, norm=3.0, seed=number)
    return instance("random-gaussian", K=K, d=2, max_complexity=hardest, seed=number)


def interval(values: np.ndarray) -> str:
    rng = np.random.default_rng(0)
    means = values[rng.integers(0, len(values), (4000, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{values.mean():.4f} ({low:.4f} to {high:.4f})"


def costs(instances: int, runs: int, K: int, features: int) -> None:
    """Compare with a rule that does not know the costs."""
    kinds = {
        "log-uniform on 1 to 50": lambda rng: np.exp(rng.uniform(0, np.log(DEAREST), K)),
        "1 or 50": lambda rng: np.where(rng.random(K) < 0.5, 1.0, DEAREST),
    }
    for kind, draw in kinds.items():
        ratios, limits, wrong = [], [], 0
        for number in range(instances):
            blind = drawn(number, K, 500.0, features)
            cost = draw(np.random.default_rng([7, number]))
            aware = blind.problem.asking(costs=cost.tolist())
            spent = {"aware": 0.0, "blind": 0.0}
            for run in range(runs):
                for name, problem in (("aware", aware), ("blind", blind.problem)):
                    seed = np.random.SeedSequence([number, run])
                    found = simulate(problem, environment_of(blind), rng=seed)
                    spent[name] += float(cost @ list(found.pulls.values()))
                    wrong += name == "aware" and not blind.is_right(found.candidate_set)
            ratios.append(spent["aware"] / spent["blind"])
            best = complexity(blind.problem, blind.theta, tolerance=0.01)
            paid = best.t_star * float(cost @ list(best.weights.values()))
            limits.append(complexity(aware, blind.theta, tolerance=0.01).t_star / paid)
        shared = f", {features} features" if features else ""
        print(
            f"costs {kind}, K = {K}{shared}, {instances} instances of {runs} runs, "
            f"{wrong} wrong"
        )
        print(f"  spent, over blind: {interval(np.array(ratios))}")
        print(f"  of the best weights: {interval(np.array(limits))}", flush=True)


def budgets(instances: int, runs: int, K: int) -> None:
    """Compare errors at the end of a budget."""
    shares = {name: np.zeros((len(BUDGETS), instances)) for name in METHODS}
    for number in range(instances):
        made = drawn(number, K, 200.0)
        H = complexity(made.problem, made.theta, tolerance=0.1).hardness
        for b, times in enumerate(BUDGETS):
            for name in METHODS:
                stopping = "never" if name == "directed" else name
                for run in range(runs):
                    found = simulate(
                        made.problem,
                        environment_of(made),
                        rng=np.random.SeedSequence([number, run]),
                        budget=max(K, round(times * H)),
                        sampling=name,
                        stopping=stopping,
                    )
                    wrong = not made.is_right(found.candidate_set)
                    shares[name][b, number] += wrong / runs
    print(f"wrong sets, K = {K}, {instances} instances of {runs} runs")
    for b, times in enumerate(BUDGETS):
        for name in METHODS:
            apart = shares[name][b] - shares["ege-sh"][b]
            found = interval(shares[name][b])
            print(f"  {times}H {name:9} {found}; less ege-sh {interval(apart)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["costs", "budgets"])
    parser.add_argument("--instances", type=int, default=40)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--arms", type=int, default=5)
    parser.add_argument("--features", type=int, default=0, help="of arms that share them")
    given = parser.parse_args()
    if given.what == "costs":
        costs(given.instances, given.runs, given.arms, given.features)
    else:
        budgets(given.instances, given.runs, given.arms)
