"""Errors of the default on near-ties: what broke earlier versions, and random structures.

    nice python benchmarks/near_ties.py [--keep FILE] [--only WORD] [--jobs 2] [--few]

Differences are 0.0001 standard deviations of a measurement unless said, so that noise decides.
A row has 2,000 runs to 50,000 measurements where a run takes less than 0.5 s of CPU, else
1,000 to 20,000 (all of them with ``--few``); "spent" is the share of its errors to 1e10
measurements that a lone near-tie of two options has made by then
(`tests/tie_error_quadrature.py`). Intervals are
Clopper-Pearson's, 95%. With ``--keep`` rows that are in FILE are not run again. Markdown is
printed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import tie_error_quadrature as ties
from psips import Problem, Rules
from psips._core import log_spent, lone_level
from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.simulation import simulate_many
from psips.simulation.summary import clopper_pearson
from tie_rule import Chart, Structure

HAIR = 1e-4
MANY, FEW = (2_000, 50_000), (1_000, 20_000)  # runs, cap
SECONDS = 0.5  # of CPU a run, beyond which it is FEW
PAIR = Problem(objectives=["gain"], covariance=[1.0], arms=2)


def made(
    means: Any, covariance: Any, names: Any = None, truth: Any = None, **more: Any
) -> Instance:
    means = np.array(means, float)
    names = names or [f"o{c}" for c in range(means.shape[1])]
    if "features" not in more:
        more["arms"] = len(means)
    problem = Problem(objectives=names, covariance=covariance, **more)
    told = None if truth is None else Problem(objectives=names, covariance=truth, **more)
    return Instance("near-ties", problem, means, truth=told)


def thin(rho: float) -> tuple[np.ndarray, np.ndarray]:
    """Behind in two metrics correlated by rho, and clearly in a third."""
    return (
        np.array([[0.0, 0.0, -1.0], [HAIR, HAIR, 0.0]]),
        np.array([[1.0, rho, 0.0], [rho, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    )


def worse(d: int, rho: float) -> Instance:
    return instance("worse", d=d, gap=HAIR, rho=rho, clear=1.0)


def tolerances(*epsilon: float) -> Instance:
    """Worse slightly more than the tolerance in every metric."""
    names = [f"o{c}" for c in range(len(epsilon))]
    means = [[0.0] * len(epsilon), [-one - HAIR for one in epsilon]]
    return made(
        means, np.eye(len(epsilon)), names, epsilon=dict(zip(names, epsilon, strict=True))
    )


def known_cells() -> dict[str, tuple[float, Instance]]:
    means, S = thin(-0.99)
    found = {
        f"behind in two metrics correlated by -0.99, clearly in a third; delta {delta:g}": (
            delta,
            made(means, S),
        )
        for delta in (0.3, 0.1, 0.05, 0.01)
    }
    for title, one in {
        "the same, correlated by -0.95": made(*thin(-0.95)),
        "-0.99, with features": made(means, S, features=np.eye(2), intercept=False),
        "-0.99, `partial`": made(means, S, partial=True),
        "-0.99, a covariance for each option": made(means, np.stack([S, S])),
        "-0.99, noise unknown": made(means, None, truth=S),
        "-0.99, 17 answers on a line": made(
            [[HAIR, HAIR, 1.0]],
            S,
            features=[[0.0], [1.0]],
            answers=([f"z{i}" for i in range(17)], np.linspace(0.0, 1.0, 17)[:, None]),
        ),
        "behind in three metrics correlated by -0.49, clearly in a fourth": worse(3, -0.49),
        "behind in 4 independent metrics, clearly in one more": worse(4, 0.0),
        "behind in 8 independent metrics, clearly in one more": worse(8, 0.0),
        "a lone tie": instance("near-tie", gap=HAIR),
        "two incomparable options, correlation 0.95": made(
            [[0.0, 0.0], [HAIR, -HAIR]], [[1.0, 0.95], [0.95, 1.0]]
        ),
        "keeps a limit, and is ahead of another option": instance(
            "beside-limit", kind="hidden", by=HAIR
        ),
        "clearly ahead, and keeps a limit": instance("beside-limit", kind="below", by=HAIR),
        "clearly ahead, and breaks a limit": instance("beside-limit", kind="above", by=HAIR),
        "worse by 1.001 of the tolerance in one metric": instance(
            "beside-tolerance", kind="worse", d=1
        ),
        "in two": instance("beside-tolerance", kind="worse", d=2),
        "in two correlated by -0.95": instance(
            "beside-tolerance", kind="worse", d=2, rho=-0.95
        ),
        "worse slightly more than tolerances of 0.5 and 0.0001": tolerances(0.5, 1e-4),
        "worse slightly more than tolerances of 0.3 and 0.02": tolerances(0.3, 0.02),
    }.items():
        found[title] = 0.1, one
    return found


# ------------------------------------------------------------------ at random


def drawn(rng: np.random.Generator, kind: str) -> tuple[str, Instance]:
    """Return a truth with ties that matter, among some that do not."""
    while True:
        K, d = int(rng.integers(3, 8)), int(rng.integers(2, 6))
        levels = rng.integers(0, 2, (K, d))
        factor = rng.normal(size=(d, int(rng.integers(1, d + 1))))
        S = factor @ factor.T + 10 ** rng.uniform(-2.5, 0.0) * np.eye(d)
        S /= np.sqrt(np.outer(np.diag(S), np.diag(S)))
        ranks = np.array([rng.permutation(K) for _ in range(d)]).T
        one = Structure(levels, ranks.astype(float), S, np.ones(K))
        if 2 <= Chart(one).m <= 8:
            break
    names, means, more = [f"o{c}" for c in range(d)], 3.0 * levels + HAIR * ranks, {}
    text = f"at random: {K} options, {d} metrics, {Chart(one).m} ties"
    if kind == "costs":
        more["costs"] = np.round(10 ** rng.uniform(0, 2, K), 2).tolist()
        text += ", costs 1:100"
    if kind == "limit":  # of a metric whose level is its bound, for some, by hairs
        c = int(rng.integers(d))
        more["limits"] = [f"o{c} >= {HAIR * (K / 2 - 0.25):.6g}"]
        text += ", a limit that some keep or break slightly"
    if kind == "tolerance":  # levels are as far apart as the tolerance, or far
        size = np.round(rng.uniform(0.05, 0.5, d), 3)
        means = size * levels + HAIR * ranks
        more["epsilon"] = dict(zip(names, size.tolist(), strict=True))
        text += ", levels a tolerance apart"
    if kind == "noise":
        scale = 10 ** rng.uniform(-0.5, 0.5, K)
        S = scale[:, None, None] ** 2 * S
        text += ", noise by option 1:10"
    return text, made(means, S, names, **more)


def cells() -> dict[str, tuple[float, Instance]]:
    found = known_cells()
    rng = np.random.default_rng(20261118)
    for kind in ("plain", "costs", "limit", "tolerance", "noise"):
        title, one = drawn(rng, kind)
        found[title] = 0.1, one
    return found


# ------------------------------------------------------------------ running


@cache
def spent(delta: float, cap: int) -> float:
    """Share of the errors of a lone tie to 1e10 measurements that it has made by ``cap``."""
    calibration = Rules(delta=delta).program(PAIR).options.calibration

    def threshold(t: float) -> float:
        return lone_level(log_spent(calibration, t, t))

    return ties.wrong(threshold, cap)[cap] / ties.wrong(threshold, 1e10)[10**10]


def run(delta: float, one: Instance, jobs: int, few: bool) -> dict[str, Any]:
    rules = Rules(delta=delta)
    simulate_many(one, runs=1, seed=9, max_results=100, rules=rules)  # compiles
    begun = time.process_time()
    simulate_many(one, runs=10, seed=9, max_results=(FEW if few else MANY)[1], rules=rules)
    each = (time.process_time() - begun) / 10
    runs, cap = MANY if each < SECONDS and not few else FEW
    found = simulate_many(one, runs=runs, seed=1, jobs=jobs, max_results=cap, rules=rules)
    return {"runs": runs, "cap": cap, "wrong": found.errors, "seconds": each}


def row(title: str, delta: float, got: dict[str, Any]) -> str:
    wrong, runs, cap = got["wrong"], got["runs"], got["cap"]
    low, high = clopper_pearson(wrong, runs)
    return (
        f"| {title} | {delta:g} | {runs:,} to {cap:,} | {spent(delta, cap):.2f} "
        f"| {wrong} | {wrong / runs:.1%} ({low:.1%} to {high:.1%}) |"
    )


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--keep", type=Path)
    reader.add_argument("--only", default="")
    reader.add_argument("--jobs", type=int, default=1)
    reader.add_argument("--few", action="store_true")
    asked = reader.parse_args()
    kept = {}
    if asked.keep and asked.keep.exists():
        kept = json.loads(asked.keep.read_text())
    print("| truth | delta | runs | spent | wrong | share (95%) |\n|---|---|---|---|---|---|")
    for title, (delta, one) in cells().items():
        if asked.only not in title:
            continue
        if title not in kept:
            kept[title] = run(delta, one, asked.jobs, asked.few)
            if asked.keep:
                asked.keep.write_text(json.dumps(kept, indent=1))
        print(row(title, delta, kept[title]), flush=True)


if __name__ == "__main__":
    main()
