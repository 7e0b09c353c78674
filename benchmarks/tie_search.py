"""Search for ties at which the default spends more than it may, then run the worst.

    nice python benchmarks/tie_search.py [STRUCTURES [SECONDS]]

Random truths with ties (2 to 6 options, 1 to 5 metrics, values on few levels, correlations to
the edge, shares of the measurements 1:1 to 1:100, delta 0.3 to 0.01) are scored by what the
rule spends in an e-fold of measurements over what it may spend: see `tests/tie_rule.py`. A lone
tie scores 1. The best scores are computed again from fresh directions and changed at random
while that raises them. The worst ten are run: with fixed shares to 1e6 measurements, and
with the default sampling to 50,000. Markdown is printed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from psips import Problem, Rules
from psips.problem.instances import Instance
from psips.simulation import simulate_many
from psips.simulation.summary import clopper_pearson
from tie_rule import Chart, Structure, excess, wrong_stops

DELTAS = 0.3, 0.1, 0.1, 0.1, 0.01
WIDEST = 10  # coordinates of ties
SCREEN, AGAIN, SURE = (64, 0), (200, 300), (2_000, 8_000)  # directions
RUNS, WALKS = 1_000, 6_000


def correlations(rng: np.random.Generator, d: int) -> np.ndarray:
    kind = rng.integers(4)
    if kind == 0 or d == 1:
        return np.eye(d)
    if kind == 1:  # equal, to the edge
        low = -1.0 / (d - 1)
        share = rng.choice([0.99, 0.95, 0.8, rng.uniform()])
        rho = share * (low if rng.uniform() < 0.6 else 1.0)
        return np.eye(d) * (1 - rho) + rho
    rank = int(rng.integers(1, d + 1))  # few factors, with little noise of each metric's own
    A = rng.normal(size=(d, rank))
    S = A @ A.T + 10 ** rng.uniform(-3, 0.5) * np.eye(d)
    return scaled(S)


def scaled(S: np.ndarray) -> np.ndarray:
    """Return correlations that can be told from singular ones."""
    S = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    d = len(S)
    least = np.linalg.eigvalsh(S)[0]
    if least < 1e-3:
        S = (S + (1e-3 - least) * np.eye(d)) / (1 + 1e-3 - least)
    return S


def random_structure(rng: np.random.Generator) -> Structure:
    K, d = int(rng.integers(2, 7)), int(rng.integers(1, 6))
    high = int(rng.integers(1, 4))
    levels = rng.integers(high, size=(K, d))
    if rng.uniform() < 0.5:  # most on one level
        levels *= rng.uniform(size=(K, d)) < rng.uniform(0.1, 0.6)
    sides = rng.normal(size=(K, d)) + rng.choice([0.0, 1.0, 5.0]) * rng.normal(size=(K, 1))
    shares = np.ones(K)
    if rng.uniform() < 0.4:
        shares = 10 ** rng.uniform(0, 2, K)
    return Structure(levels, sides, correlations(rng, d), shares, float(rng.choice(DELTAS)))


def changed(one: Structure, rng: np.random.Generator) -> Structure:
    K, d = one.levels.shape
    levels, sides, S, shares = (
        one.levels.copy(),
        one.sides.copy(),
        one.Sigma.copy(),
        one.shares.copy(),
    )
    kind = rng.integers(7)
    a, c = rng.integers(K), rng.integers(d)
    if kind == 0:
        levels[a, c] = rng.integers(levels.max() + 2)
    elif kind == 1:
        sides[a, c] = 3.0 * rng.normal()
    elif kind == 2:
        sides[a] += 3.0 * rng.normal()
    elif kind == 3:
        shares[a] = np.clip(shares[a] * np.exp(rng.normal()), 1.0, 100.0)
    elif kind == 4 and K > 2:
        keep = np.arange(K) != a
        levels, sides, shares = levels[keep], sides[keep], shares[keep]
    elif kind == 5 and K < 6:  # one more, like another
        levels = np.vstack([levels, levels[a]])
        sides = np.vstack([sides, sides[a] + rng.normal(size=d)])
        shares = np.append(shares, shares[a])
        levels[-1, c] = rng.integers(levels.max() + 2)
    else:
        A = np.linalg.cholesky(S) + rng.choice([0.05, 0.3, 1.0]) * rng.normal(size=(d, d))
        S = scaled(A @ A.T)
    return Structure(levels, sides, S, shares, one.delta)


def is_narrow(one: Structure) -> bool:
    return 0 < Chart(one).m <= WIDEST


def score(one: Structure, rng: np.random.Generator, directions: tuple[int, int]) -> float:
    value, error = excess(one, rng, *directions)
    one.found = {"excess": value, "error": error, "m": Chart(one).m}
    return value


def search(structures: int, seconds: float, rng: np.random.Generator) -> tuple[list, int]:
    """Return structures with the largest excess, the largest first; how many were seen."""
    begun, seen, pool = time.time(), 0, []
    while seen < 0.75 * structures and time.time() - begun < 0.7 * seconds:
        one = random_structure(rng)
        if is_narrow(one):
            score(one, rng, SCREEN)
            seen += 1
            pool.append(one)
    print(f"{seen} at random in {time.time() - begun:.0f} s", file=sys.stderr, flush=True)
    pool.sort(key=lambda s: -s.found["excess"])
    pool = pool[: max(40, structures // 40)]
    for one in pool:
        score(one, rng, AGAIN)
    pool.sort(key=lambda s: -s.found["excess"])
    pool = pool[:30]
    print([round(s.found["excess"], 2) for s in pool], file=sys.stderr, flush=True)
    while seen < structures and time.time() - begun < seconds:
        i = int(rng.integers(len(pool)))
        one = changed(pool[i], rng)
        if not is_narrow(one):
            continue
        seen += 1
        score(one, rng, SCREEN)
        if one.found["excess"] + 2 * one.found["error"] < pool[i].found["excess"]:
            continue
        score(one, rng, AGAIN)
        if one.found["excess"] > pool[i].found["excess"]:
            score(one, rng, AGAIN)  # fresh directions: not the luckiest of many
            if one.found["excess"] > pool[i].found["excess"]:
                pool[i] = one
    print(f"{seen} in {time.time() - begun:.0f} s", file=sys.stderr, flush=True)
    pool.sort(key=lambda s: -s.found["excess"])
    pool = pool[:20]
    for one in pool:
        score(one, rng, SURE)
    pool.sort(key=lambda s: -s.found["excess"])
    return pool, seen


def simulated(one: Structure, runs: int, cap: int) -> int:
    """Return errors of the default, with its own sampling."""
    K, d = one.levels.shape
    problem = Problem(objectives=[f"o{c}" for c in range(d)], covariance=one.Sigma, arms=K)
    ranks = one.sides.argsort(0).argsort(0)  # by one hair each
    means = 3.0 * one.levels + 1e-4 * ranks
    made = Instance("ties", problem, means)
    return simulate_many(
        made, runs=runs, seed=1, max_results=cap, rules=Rules(delta=one.delta)
    ).errors


def interval(wrong: int, runs: int) -> str:
    low, high = clopper_pearson(wrong, runs)
    return f"{wrong / runs:.2%} ({low:.2%} to {high:.2%})"


def main() -> None:
    structures = int(sys.argv[1]) if len(sys.argv) > 1 else 24_000
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 600.0
    np.set_printoptions(precision=3, suppress=True, linewidth=200)
    rng = np.random.default_rng(30)
    pool, seen = search(structures, seconds, rng)
    print(f"{seen} structures; the worst, from {sum(SURE)} directions:\n")
    print("| | delta | options, metrics, ties | excess | wrong to 1e6, fixed shares |")
    print("|---|---|---|---|---|", flush=True)
    for i, one in enumerate(pool[:12]):
        wrong, _ = wrong_stops(one, WALKS, 1e6, rng)
        one.found["walks"] = wrong / WALKS / one.delta
        K, d = one.levels.shape
        value = f"{one.found['excess']:.3f} +- {one.found['error']:.3f}"
        told = interval(wrong, WALKS)
        print(
            f"| {i} | {one.delta} | {K}, {d}, {one.found['m']} | {value} | {told} |", flush=True
        )
    for i, one in enumerate(pool[:10]):
        print(f"\n{i}: levels\n{one.levels}\nsides\n{one.sides}\ncorrelations\n{one.Sigma}")
        print(f"shares {one.shares}", flush=True)
    print(f"\nDefault sampling, {RUNS} runs to 50,000:\n\n| | delta | wrong |\n|---|---|---|")
    for i, one in enumerate(pool[:10]):
        wrong = simulated(one, RUNS, 50_000)
        print(f"| {i} | {one.delta} | {interval(wrong, RUNS)} |", flush=True)


if __name__ == "__main__":
    main()
