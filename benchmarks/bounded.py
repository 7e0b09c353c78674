"""Six options, two metrics in [0, 1], proven with nothing but the ranges: results to the stop.

    python benchmarks/bounded.py [RUNS]

Means and noise of a published comparison, in which paretoinfer 0.1.0 needs 870, 605 and 535
evaluations at tolerances of 0.02, 0.05 and 0.1 (single seeds). Uniform noise of half-width 0.1,
delta 0.05, the rule `certified`. Markdown is printed.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from scipy.stats import beta

from psips import Problem, Session

MEANS = np.array(
    [[0.15, 0.70], [0.40, 0.40], [0.70, 0.15], [0.42, 0.43], [0.60, 0.60], [0.30, 0.80]]
)
METRIC = {"direction": "min", "range": [0, 1]}
THEIRS = {0.0: "-", 0.02: "870", 0.05: "605", 0.1: "535"}


def samples(epsilon: float, seed: int) -> tuple[int, bool]:
    """Return results to the stop of one run, and whether the set is right."""
    problem = Problem(
        objectives={"loss": METRIC, "time": METRIC}, arms=len(MEANS), epsilon=epsilon or None
    )
    session = Session(problem, delta=0.05, stopping="certified", rng=seed)
    lab = np.random.default_rng([seed, 1])
    while not session.stopped:
        arm = session.ask()
        mean = MEANS[problem.arm_index(arm)]
        session.tell(arm, mean + lab.uniform(-0.1, 0.1, 2))
    return session.results, is_right(
        [problem.arm_index(a) for a in session.candidate_set], epsilon
    )


def is_right(found: list[int], epsilon: float) -> bool:
    """Whether nothing in it is beaten by more than the tolerance, and all else is matched."""
    others = [z for z in range(len(MEANS)) if z not in found]
    beaten = any(
        (MEANS[z] - MEANS[x] > epsilon).all() for z in found for x in range(len(MEANS))
    )
    matched = all(any((MEANS[x] - MEANS[z] <= epsilon).all() for x in found) for z in others)
    return matched and not beaten


def main(runs: int) -> None:
    """Measure and print the table."""
    print("| tolerance | results | wrong sets | paretoinfer |")
    print("|---|---|---|---|")
    for epsilon, theirs in THEIRS.items():
        found = [samples(epsilon, seed) for seed in range(runs)]
        counts = np.array([count for count, _ in found], float)
        wrong = sum(not right for _, right in found)
        high = float(beta.ppf(0.975, wrong + 1, runs - wrong))
        error = 1.96 * counts.std(ddof=1) / math.sqrt(runs)
        print(
            f"| {epsilon:g} | {counts.mean():,.0f} ± {error:.0f} | {wrong} of {runs} "
            f"(to {high:.1%}) | {theirs} |",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
