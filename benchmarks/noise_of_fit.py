"""What unknown noise, and missing values, cost where arms have features.

Run `python benchmarks/noise_of_fit.py --runs 640`, and `--missing 0.1` for results that lack a
tenth of their values; docs/unknown-noise.md has the results. All runs of a line meet the
same noise, and what is missing does not depend on it.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np

from psips import Problem, Session
from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.simulation.environments import environment_of
from psips.simulation.summary import clopper_pearson, simulate_many

SEEDS = 10  # instances of a cell that is drawn
CELLS: list[tuple[str, dict[str, Any]]] = [
    ("untold-line", {"slope": 0.1, "K": 2}),
    ("untold-line", {"slope": 0.2}),
    ("untold-line", {"slope": 2.0}),
    ("untold-line", {"slope": 0.3, "d": 2, "rho": -0.9}),
    ("untold-linear", {"norm": 3.0}),
    ("untold-linear", {"norm": 10.0, "rho": -0.9}),
    ("untold-linear", {"norm": 10.0, "answers": 12}),
    ("untold-linear", {"norm": 30.0, "h": 6, "K": 12, "d": 3}),
]


def made(name: str, params: dict[str, Any]) -> list[Instance]:
    """Return the instances of a cell."""
    if name == "untold-line":
        return [instance(name, **params)]
    return [instance(name, **params, seed=seed) for seed in range(SEEDS)]


def with_missing(
    one: Instance, problem: Problem, seed: int, missing: float, delta: float
) -> Any:
    """Run one session of results that lack values; each has one at least."""
    session = Session(problem, delta=delta, rng=seed)
    trial = environment_of(one).start(np.random.default_rng([seed, 1]))
    lacking = np.random.default_rng([seed, 2])
    while not session.stopped:
        arm = session.ask()
        values = trial.pull(arm)
        gone = lacking.random(problem.d) < missing
        gone[lacking.integers(problem.d)] &= not gone.all()
        session.tell(arm, [None if g else float(x) for g, x in zip(gone, values, strict=True)])
    return session.results, not one.is_right(session.pareto_set or ())


def line(label: str, errors: int, counts: Any, of: Any) -> None:
    """Print errors with the upper end of their interval, results, and their ratio."""
    runs = len(counts)
    ratio = counts.mean() / of.mean()
    spread = 1.96 * np.std(counts - ratio * of) / runs**0.5 / of.mean()
    print(
        f"| {label} | {errors} of {runs} (to {clopper_pearson(errors, runs)[1]:.1%}) "
        f"| {of.mean():,.0f} | {counts.mean():,.0f} | {ratio:.2f} ± {spread:.2f} |",
        flush=True,
    )


def main() -> None:
    """Print a line for each cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=640)
    parser.add_argument("--delta", type=float, default=0.1)
    parser.add_argument("--missing", type=float, default=0.0)
    asked = parser.parse_args()
    print("| truth | wrong | results, known and complete | results | ratio |")
    print("|---|---|---|---|---|")
    if asked.missing:
        every = made("untold-linear", {"norm": 5.0, "rho": -0.5})
        for told in ("covariance given", "covariance left out"):
            found = []
            for seed in range(asked.runs):
                one = every[seed % SEEDS]
                like = (one.known if told == "covariance given" else one.problem).to_dict()
                problem = Problem.from_dict({**like, "partial": True})
                whole = with_missing(one, one.known, seed, 0.0, asked.delta)
                found.append(
                    (*whole, *with_missing(one, problem, seed, asked.missing, asked.delta))
                )
            of, _, counts, wrong = np.array(found).T
            line(f"{told}, {asked.missing:.0%} missing", int(wrong.sum()), counts, of)
        return
    for name, params in CELLS:
        errors, counts, of = 0, [], []
        cell = made(name, params)
        for k, one in enumerate(cell):
            runs = asked.runs // len(cell)
            settings: dict[str, Any] = {"runs": runs, "seed": k, "delta": asked.delta}
            found = simulate_many(one, **settings)
            errors += found.errors
            counts.append(found.samples)
            known = replace(one, problem=one.known, truth=None)
            of.append(simulate_many(known, **settings).samples)
        label = " ".join([name, *(f"{key}={value}" for key, value in params.items())])
        line(label, errors, np.concatenate(counts), np.concatenate(of))


if __name__ == "__main__":
    main()
