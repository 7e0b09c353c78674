"""How good the estimate is of how many more results it takes, and where its curves come from.

    python benchmarks/progress.py            # predicted against needed, on five instances
    python benchmarks/progress.py curves     # evidence by share of the way, on random instances

The first runs sessions to their stop, and again to a share of that: what `Status.progress` says
there is compared with what was needed. The second prints the curves of
`psips.session.progress`; its instances are none of the five.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from psips import Session
from psips.input.seeds import draw_key
from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.session.progress import SHARES, Progress
from psips.session.status import quick_progress
from psips.simulation.environments import environment_of
from psips.simulation.runs import play

FIVE: dict[str, tuple[str, dict[str, Any]]] = {
    "cov-boost": ("cov-boost", {}),
    "correlated": ("correlated", {}),
    "noc-transductive": ("noc-transductive", {}),
    "random": ("random-gaussian", {"K": 8, "seed": 3}),
    "unknown noise": ("untold", {"d": 2}),
}
CAP = 200_000


def stages(
    made: Instance, seed: Any, shares: tuple[float, ...], delta: float = 0.1, cap: int = CAP
) -> Iterator[tuple[int, Session]]:
    """Yield what a run needed in all, and the same run at shares of its way."""
    environment = environment_of(made)

    def begun() -> tuple[Session, Any]:
        rng = np.random.default_rng(seed)
        return Session(made.problem, delta=delta, rng=rng), draw_key(rng)

    session, key = begun()
    needed = play(session, environment, key, max_results=cap).results
    if not session.stopped:
        return
    session, key = begun()
    for share in shares:
        play(session, environment, key, max_results=max(1, int(share * needed)))
        yield needed, session


def predictions(name: str, runs: int, share: float = 0.5) -> list[tuple[int, int, Progress]]:
    """Return results at a share of the way, what was needed in all, and what was predicted."""
    builder, params = FIVE[name]
    made, found = instance(builder, **params), []
    for seed in range(runs):
        for needed, session in stages(made, seed, (share,)):
            progress = quick_progress(session.problem, session.engine)
            if progress is not None:
                found.append((session.results, needed, progress))
    return found


def ratios(found: list[tuple[int, int, Progress]]) -> tuple[float, float, float]:
    """Median ratios of predicted to needed, in all and of the rest; coverage of intervals."""
    whole = [(t + min(p.more, p.beyond)) / needed for t, needed, p in found]
    rest = [min(p.more, p.beyond) / (needed - t) for t, needed, p in found]
    inside = [p.low <= needed - t <= p.high for t, needed, p in found]
    return float(np.median(whole)), float(np.median(rest)), float(np.mean(inside))


def random_instances(number: int) -> Iterator[Instance]:
    """Yield instances of many kinds."""
    for seed in range(1, number + 1):
        K, d = (4, 6, 10, 16)[seed % 4], 2 + seed % 3
        yield instance("random-gaussian", K=K, d=d, seed=seed, max_complexity=1000.0)
        yield instance("random-bernoulli", K=min(K, 10), d=d, seed=seed)
        yield instance("variant", seed=seed, d=3, K=5)
        yield instance("linear", seed=seed, K=8 + seed % 8)
        yield instance("just-below", seed=seed, gap=0.2)


def curves() -> None:
    """Print the evidence, as a share of the threshold, of runs at shares of their way."""
    shares, rows = SHARES[:-1], []
    for number, made in enumerate(random_instances(24)):
        for delta in (0.1, 0.05):
            row = []
            for needed, session in stages(
                made, [number, int(100 * delta)], shares, delta, 8000
            ):
                if needed < 40 or not session.engine.ready:
                    continue
                value, threshold = session.engine.ratio()
                row.append(value / threshold)
            if len(row) == len(shares):
                rows.append(row)
    print(f"{len(rows)} runs; evidence / threshold of 10%, 50% and 90% of them")
    for share, column in zip(shares, np.array(rows).T, strict=True):
        print(
            f"  at {share:4.0%} of the way", np.round(np.quantile(column, [0.1, 0.5, 0.9]), 3)
        )


def main(runs: int = 200) -> None:
    """Print the ratios of predicted to needed."""
    print("instance            runs  way  in all  remaining  in the 80% interval")
    for name in FIVE:
        for share in (0.25, 0.5, 0.75):
            found = predictions(name, runs, share)
            whole, rest, inside = ratios(found)
            figures = f"{share:4.0%} {whole:7.2f} {rest:10.2f} {inside:11.0%}"
            print(f"{name:18} {len(found):5} {figures}")


if __name__ == "__main__":
    curves() if sys.argv[1:] == ["curves"] else main()
