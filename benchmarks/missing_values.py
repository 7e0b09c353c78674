"""What missing values cost: results to the stop with a tenth of all missing, and without.

Run `python benchmarks/missing_values.py --runs 400`. Both runs of a pair get the same noise.
What is missing does not depend on it, and every result has at least one value.
"""

from __future__ import annotations

import argparse

import numpy as np

from psips import Problem, Session
from psips.lab.instances import instance
from psips.simulation.environments import environment_of
from psips.simulation.summary import clopper_pearson

TRUTH = instance("correlated")


def go(problem: Problem, seed: int, missing: float, delta: float, stopping: str) -> Session:
    """Run one session; the n-th result of an arm is the same whatever was asked before."""
    session = Session(problem, delta=delta, rng=seed, stopping=stopping)
    trial = environment_of(TRUTH).start(np.random.default_rng([seed, 1]))
    lacking = np.random.default_rng([seed, 2])
    while not session.stopped:
        arm = session.ask()
        values = trial.pull(arm)
        gone = lacking.random(problem.d) < missing
        gone[lacking.integers(problem.d)] &= not gone.all()
        session.tell(arm, [None if g else float(x) for g, x in zip(gone, values, strict=True)])
    return session


def main() -> None:
    """Print a line for each way to know the noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--delta", type=float, default=0.1)
    parser.add_argument("--stopping", default="glr")
    asked = parser.parse_args()
    print("| covariance | missing | wrong | upper end | results | of the complete ones |")
    print("|---|---|---|---|---|---|")
    for told in (TRUTH.problem.covariance, "per-arm", "estimate"):
        counts = {}
        for missing in (0.0, 0.1):
            problem = Problem(
                objectives=TRUTH.problem.objectives,
                covariance=told,
                arms=TRUTH.problem.arms,
                partial=True,
            )
            sessions = [
                go(problem, seed, missing, asked.delta, asked.stopping)
                for seed in range(asked.runs)
            ]
            errors = sum(not TRUTH.is_right(one.pareto_set or ()) for one in sessions)
            counts[missing] = np.array([one.results for one in sessions])
            mean, least = counts[missing].mean(), counts[0.0].mean()
            spread = np.std(counts[missing] - mean / least * counts[0.0]) / asked.runs**0.5
            high = clopper_pearson(errors, asked.runs)[1]
            name = told if isinstance(told, str) else "given"
            print(
                f"| {name} | {missing:.0%} | {errors} of {asked.runs} | {high:.1%} "
                f"| {mean:.0f} | {mean / least:.3f} ± {1.96 * spread / least:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
