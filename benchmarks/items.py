"""What comparing within items saves, and how often it errs.

    python benchmarks/items.py --instance 29 --runs 25            # with items and without
    python benchmarks/items.py --instance 34 --runs 800 --only items
    python benchmarks/items.py --instance 29 --runs 25 --between 0

24 arms, three metrics of which one is 0 or 1, and a share of their variance between items. Both
ways see the same table, in the same order.
"""

from __future__ import annotations

import argparse

import numpy as np
from evaluate_pool import ARMS, ITEMS, OBJECTIVES, table, truth

from psips import Problem, Session


def run(
    scores: np.ndarray, blocks: bool, seed: int, delta: float
) -> tuple[set[str], int, bool]:
    """Return the set, the results it took, and whether it stopped before the table's end."""
    session = Session(
        Problem(objectives=OBJECTIVES, arms=ARMS, blocks=blocks), rng=seed, delta=delta
    )
    seen = dict.fromkeys(ARMS, 0)
    while not session.stopped and max(seen.values()) < ITEMS:
        arm, item = session.ask() if blocks else (session.ask(), None)
        values = scores[ARMS.index(arm), seen[arm]]
        session.tell(arm, values, block=item)
        seen[arm] += 1
    return set(session.candidate_set), session.results, session.stopped


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--instance", type=int, default=29)
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--between", type=float, default=0.6)
    parser.add_argument("--delta", type=float, default=0.1)
    parser.add_argument("--only", choices=["items", "plain"])
    options = parser.parse_args()
    right = truth(options.instance)
    for name, blocks in (("items", True), ("plain", False)):
        if options.only not in (None, name):
            continue
        costs, errors, stops = [], 0, 0
        for seed in range(options.runs):
            scores = table(options.instance, seed, options.between)
            found, results, stopped = run(scores, blocks, seed, options.delta)
            costs.append(results)
            stops += stopped
            errors += stopped and found != right
        error = np.std(costs, ddof=1) / np.sqrt(len(costs))
        print(
            f"{name}: {np.mean(costs):,.0f} ± {error:,.0f} results, {errors} errors, "
            f"{stops} stops in {options.runs} runs"
        )


if __name__ == "__main__":
    main()
