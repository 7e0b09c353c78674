"""Tolerances and limits where the noise is estimated: how often the set is not right.

    python benchmarks/estimated_questions.py [RUNS]

Truths beside the boundary, that no threshold was chosen on: a hair beyond the tolerance or the
limit, an arm with ten times the noise, correlations near -1. Markdown is printed.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.stats import beta

from psips import Problem, simulate
from psips.problem.instances import Instance
from psips.simulation.environments import GaussianEnvironment

ONE = np.eye(1)
TURNED = np.array([[1.0, -0.95], [-0.95, 1.0]])
CELLS: list[tuple[str, Any, Any, dict[str, Any]]] = [
    ("tolerance 0.3, worse by more", [[0], [-0.3003]], ONE, {"epsilon": 0.3}),
    ("tolerance 0.1, worse by more", [[0], [-0.1001]], ONE, {"epsilon": 0.1}),
    (
        "the same, 0.3, the worse with 10 sd",
        [[0], [-0.3003]],
        [ONE, 100 * ONE],
        {"epsilon": 0.3},
    ),
    (
        "worse by more in 2, correlation -0.95",
        [[0, 0], [-0.3003] * 2],
        TURNED,
        {"epsilon": 0.3},
    ),
    ("limit, the best 0.1 beyond", [[1], [0], [-0.1]], ONE, {"limits": ["o0 >= 1.1"]}),
    (
        "limit, 0.05 beyond and kept",
        [[1, 0], [0, -0.1]],
        np.eye(2),
        {"limits": ["o1 >= -0.05"]},
    ),
    (
        "limit, kept by 0.3, that arm with 10 sd",
        [[1, 0], [0, 0.3]],
        [np.diag([1.0, 100.0]), np.eye(2)],
        {"limits": ["o1 >= -0.3"]},
    ),
    (
        "limit, 0.1 beyond, correlation -0.95",
        [[1, -0.1], [0, 0.1]],
        TURNED,
        {"limits": ["o1 >= 0"]},
    ),
]


def main(runs: int) -> None:
    """Measure and print the table."""
    print("| truth | delta | samples | wrong sets |")
    print("|---|---|---|---|")
    for delta in (0.1, 0.01):
        for name, means, noise, question in CELLS:
            truth = np.array(means, float)
            arms, metrics = len(truth), [f"o{c}" for c in range(truth.shape[1])]
            known = Problem(objectives=metrics, arms=arms, covariance=noise)
            asked = Problem(objectives=metrics, arms=arms, covariance=noise, **question)
            met = Problem(objectives=metrics, arms=arms, **question)
            environment, right = GaussianEnvironment(known, truth), Instance("", asked, truth)
            found = [
                simulate(met, environment, rng=10**6 + seed, delta=delta)
                for seed in range(runs)
            ]
            wrong = sum(run.stopped and not right.is_right(run.candidate_set) for run in found)
            low = float(beta.ppf(0.025, wrong, runs - wrong + 1)) if wrong else 0.0
            high = float(beta.ppf(0.975, wrong + 1, runs - wrong))
            mean = np.mean([run.results for run in found])
            errors = f"{wrong} of {runs:,} ({low:.2%} to {high:.2%})"
            print(f"| {name} | {delta} | {mean:,.0f} | {errors} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
