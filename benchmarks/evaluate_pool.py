"""64 workers on calls of 5 to 500 ms: how busy they are, and their cost next to one worker.

    python benchmarks/evaluate_pool.py --runs 10

24 arms, three metrics of which one is 0 or 1, 60% of the variance between items. A call that
runs at the stop is paid for and counted.
"""

from __future__ import annotations

import argparse
import asyncio
from zlib import crc32

import numpy as np

from psips import evaluate

K, D, ITEMS = 24, 3, 8000
ARMS = [f"m{a}" for a in range(K)]
OBJECTIVES = {"x": "max", "y": "max", "right": {"direction": "max", "kind": "binary"}}


def means_of(instance: int) -> np.ndarray:
    """Return means (K, 3); of the last metric before it is cut to 0 or 1."""
    rng = np.random.default_rng(instance)
    means = 0.7 * rng.normal(size=(K, 1)) + 0.55 * rng.normal(size=(K, D))
    means[:, 2] *= 0.35
    return means


def table(instance: int, seed: int, between: float = 0.6, easy: float = 0.0) -> np.ndarray:
    """Return scores (K, items, 3); the rates of the last one are about Phi(``easy``)."""
    means = means_of(instance)
    rng = np.random.default_rng([seed, 7])
    mixing = np.linalg.cholesky(0.7 * np.eye(D) + 0.3)
    items, own = rng.normal(size=(ITEMS, D)) @ mixing.T, rng.normal(size=(K, ITEMS, D))
    scores = means[:, None] + np.sqrt(between) * items + np.sqrt(1 - between) * own
    r = np.sin(np.pi / 2 * between)  # of normals whose signs have the correlation ``between``
    scores[..., 2] = easy + means[:, None, 2] + np.sqrt(r) * items[:, 2]
    scores[..., 2] += np.sqrt(1 - r) * own[..., 2]
    scores[..., 2] = scores[..., 2] > 0
    return scores


def truth(instance: int) -> set[str]:
    """Return the Pareto set of the means."""
    means = means_of(instance)
    return {ARMS[a] for a in range(K) if not any((means[b] > means[a]).all() for b in range(K))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--instance", type=int, default=34)
    parser.add_argument("--workers", type=int, default=64)
    options = parser.parse_args()
    costs = np.zeros((options.runs, 2))
    busy = []
    for seed in range(options.runs):
        scores = table(options.instance, seed)
        started = 0

        def plain(arm: str, item: str, scores: np.ndarray = scores) -> list[float]:
            nonlocal started
            started += 1
            return scores[ARMS.index(arm), int(item[1:])].tolist()

        async def slow(arm: str, item: str, look=plain) -> list[float]:
            found = look(arm, item)
            share = (crc32(f"{arm} {item}".encode()) % 1000) / 999
            await asyncio.sleep(0.005 + 0.495 * share)
            return found

        items = [f"q{j}" for j in range(ITEMS)]
        given = {"objectives": OBJECTIVES, "seed": seed, "progress": False, "shuffle": False}
        for way, (workers, run) in enumerate([(1, plain), (options.workers, slow)]):
            started = 0
            found = evaluate(ARMS, items, run, workers=workers, **given)
            costs[seed, way] = started
            right = set(found.candidate_set) == truth(options.instance)
            print(seed, workers, found.results, started, found.stopped, right, found.busy)
        busy.append(found.busy)
    share = costs[:, 1].sum() / costs[:, 0].sum()
    print(f"busy {np.mean(busy):.3f} (least {min(busy):.3f}), cost {share:.3f} of one worker's")


if __name__ == "__main__":
    main()
