"""What comparing within items saves, and how often it errs.

    python benchmarks/items.py items.csv --instances 250 --runs 4 --only items
    python benchmarks/items.py items.csv --instances 250 --only plain
    python benchmarks/items.py items.csv --instances 100 --between 0

24 arms, three metrics of which one is 0 or 1, and a share of their variance between items. Both
ways see the same table, in the same order. Instances are those with the first numbers from 1000
on whose truth is not too hard (the sum H of 1 / gap^2, in standard deviations): runs have no
say in it. Runs are written to the file as they end; those in it are not made again.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from evaluate_pool import ARMS, ITEMS, OBJECTIVES, means_of, table, truth
from scipy.stats import norm

from psips import Problem, Session
from psips.problem.gaps import hardness
from psips.simulation.summary import clopper_pearson

COLUMNS = ("instance", "run", "between", "easy", "way", "results", "stopped", "right")
FIRST = 1000  # number of the first instance


def chosen(instances: int, hardest: float, easy: float) -> Iterator[int]:
    """Return numbers of instances."""
    number = FIRST
    while instances:
        means = means_of(number)
        rates = norm.cdf(easy + means[:, 2])
        means[:, 2] = rates / np.sqrt((rates * (1 - rates)).mean())
        if hardness(means) <= hardest:
            instances -= 1
            yield number
        number += 1


def run(
    scores: np.ndarray, items: bool, seed: int, delta: float, cap: int
) -> tuple[set[str], int, bool]:
    """Return the set, the results it took, and whether it stopped before the cap."""
    session = Session(
        Problem(objectives=OBJECTIVES, arms=ARMS, items=items), rng=seed, delta=delta
    )
    seen = dict.fromkeys(ARMS, 0)
    while not session.stopped and session.results < cap and max(seen.values()) < ITEMS:
        ticket = session.ask()
        session.tell(ticket, scores[ARMS.index(ticket), seen[ticket]])
        seen[ticket] += 1
    return set(session.candidate_set), session.results, session.stopped


def read(file: Path) -> dict[tuple[str, ...], tuple[int, bool, bool]]:
    """Return results, stop and rightness by the first five columns."""
    if not file.exists():
        return {}
    with file.open() as lines:
        return {
            tuple(line[c] for c in COLUMNS[:5]): (
                int(line["results"]),
                line["stopped"] == "True",
                line["right"] == "True",
            )
            for line in csv.DictReader(lines)
        }


def tell(file: Path) -> None:
    """Print what is in the file."""
    runs = read(file)
    rng = np.random.default_rng(1)
    for between, easy in sorted({key[2:4] for key in runs}):
        both: dict[str, list[tuple[int, int]]] = {}
        for way in ("items", "plain"):
            here = {k: v for k, v in runs.items() if k[2:] == (between, easy, way)}
            stops = sum(stopped for _, stopped, _ in here.values())
            wrong = sum(stopped and not right for _, stopped, right in here.values())
            low, high = clopper_pearson(wrong, max(stops, 1))
            print(
                f"between {between}, easy {easy}, {way}: {len(here)} runs of "
                f"{len({k[0] for k in here})} instances, {stops} stopped, {wrong} wrong "
                f"({low:.2%} to {high:.2%}), mean results "
                f"{np.mean([v[0] for v in here.values()]) if here else np.nan:,.0f}"
            )
        for key, (results, _, _) in runs.items():
            other = runs.get((*key[:4], "plain"))
            if key[2:] == (between, easy, "items") and other:
                both.setdefault(key[0], []).append((results, other[0]))
        pairs = np.array([np.mean(values, axis=0) for values in both.values()])
        if len(pairs) < 2:
            continue
        drawn = pairs[rng.integers(len(pairs), size=(10_000, len(pairs)))]
        sums = drawn.sum(axis=1)
        each = pairs[:, 0] / pairs[:, 1]
        print(
            f"  same data, {len(pairs)} instances: {pairs[:, 0].sum() / pairs[:, 1].sum():.3f} "
            f"of the results ({np.quantile(sums[:, 0] / sums[:, 1], 0.025):.3f} to "
            f"{np.quantile(sums[:, 0] / sums[:, 1], 0.975):.3f}); by instance, median "
            f"{np.median(each):.3f}, tenths {np.quantile(each, 0.1):.2f} to "
            f"{np.quantile(each, 0.9):.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--instances", type=int, default=0)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--first-run", type=int, default=0)
    parser.add_argument("--between", type=float, default=0.6)
    parser.add_argument("--easy", type=float, default=0.0)
    parser.add_argument("--hardest", type=float, default=1000.0)
    parser.add_argument("--cap", type=int, default=20_000)
    parser.add_argument("--delta", type=float, default=0.1)
    parser.add_argument("--only", choices=["items", "plain"])
    options = parser.parse_args()
    numbers = list(chosen(options.instances, options.hardest, options.easy))
    new = not options.file.exists()
    known = read(options.file)
    with options.file.open("a", newline="") as file:
        out = csv.writer(file)
        if new:
            out.writerow(COLUMNS)
        for nth in range(options.first_run, options.runs):
            for number in numbers:
                for way in ("items", "plain"):
                    key = (number, nth, options.between, options.easy, way)
                    if options.only not in (None, way) or tuple(map(str, key)) in known:
                        continue
                    scores = table(number, 1000 * number + nth, options.between, options.easy)
                    found, results, stopped = run(
                        scores, way == "items", nth, options.delta, options.cap
                    )
                    out.writerow([*key, results, stopped, found == truth(number)])
                    file.flush()
    tell(options.file)


if __name__ == "__main__":
    main()
