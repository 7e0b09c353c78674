"""How often runs on a fixed benchmark are wrong: the numbers of docs/evaluation-logs.md.

    python benchmarks/fixed_items.py pairs --items 300 --runs 350
    python benchmarks/fixed_items.py pairs --items 60 --runs 150 --broken
    python benchmarks/fixed_items.py tables --items 120 --runs 150

``pairs``: two options that differ by 0.000001 standard deviations over the whole list.
``tables``: four options, accuracy and cost; two accuracies are next to each other.
``--broken``: a correction that is too large, (1 - n/N)^2.
"""

from __future__ import annotations

import argparse

import numpy as np

from psips import Problem, Session
from psips.evaluation.matrix import replay
from psips.evaluation.scores import Scores
from psips.evaluation.summaries import on_front
from psips.session import finite

DELTA = 0.1


def pair(seed: int, N: int) -> tuple[bool, float]:
    """One run on two options of which the second is behind by next to nothing."""
    rng = np.random.default_rng([seed, N])
    values = rng.normal(size=N) + 0.7 * rng.normal(size=(2, N))
    values[1] += (values[0] - values[1]).mean() - 1e-6
    order = rng.permutation(N)
    problem = Problem(objectives={"x": "max"}, arms=["a", "b"], items=[str(j) for j in order])
    session = Session(problem, rng=seed, of="these", delta=DELTA)
    while not session.stopped:
        ticket = session.ask()
        session.tell(ticket, values["ab".index(ticket.arm), int(ticket.item)])
    return session.candidate_set != ("a",), session.results / (2 * N)


def table(seed: int, N: int, K: int = 4) -> tuple[bool, float]:
    """One run on a table of right and wrong answers, and costs."""
    rng = np.random.default_rng([seed, N, K])
    hard, own = rng.random(N), 0.35 * rng.normal(size=(K, N))
    rates = rng.uniform(0.5, 0.9, size=K)
    rates[1] = rates[0]
    place = np.argsort(np.argsort(hard + own, axis=1), axis=1) / N
    accuracy = (place < rates[:, None]).astype(float)
    flip = rng.permutation(np.flatnonzero(accuracy[0] == accuracy[1]))[:1]
    accuracy[1, flip] = 1.0 - accuracy[1, flip]
    scatter = 0.3 * rng.normal(size=N) + 0.2 * rng.normal(size=(K, N))
    cost = rng.uniform(1, 3, size=K)[:, None] * np.exp(scatter)
    values = np.stack([accuracy, cost], axis=2)
    names = [f"m{k}" for k in range(K)]
    scores = Scores(names, [f"q{j}" for j in range(N)], ["accuracy", "cost"], values)
    found = replay(scores, seed=seed, delta=DELTA, of="these")
    right = on_front(values.mean(axis=1)[None] * np.array([1.0, -1.0]))[0]
    truth = {name for name, member in zip(names, right, strict=True) if member}
    return set(found.pareto_set) != truth, found.cells / found.of


def break_it() -> None:
    honest = finite.over_all

    def broken(sums, seen, items, *more):
        means, C = honest(sums, seen, items, *more)
        share = np.sqrt(np.maximum(1.0 - seen / items, 1e-9)).repeat(len(C) // len(seen))
        return means, C * np.outer(share, share)

    finite.over_all = broken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("pairs", "tables"))
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--runs", type=int, default=150)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--broken", action="store_true")
    given = parser.parse_args()
    if given.broken:
        break_it()
    one = pair if given.kind == "pairs" else table
    seeds = range(given.first, given.first + given.runs)
    found = [one(seed, given.items) for seed in seeds]
    shares = np.array([share for _, share in found])
    print(
        f"{sum(wrong for wrong, _ in found)} of {given.runs} wrong; {shares.mean():.1%} of the "
        f"table on average, {int((shares < 1).sum())} stopped before its end"
    )


if __name__ == "__main__":
    main()
