"""A search for instances that break a rule: many drawn, the worst run again on fresh seeds.

What looks worst among many has been lucky in being so, so nothing is said of the runs by which
it was chosen: the figures are of a second stage, with seeds that the first has not used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from psips.errors import InputError, NoProofError
from psips.lab.calibration.found import Found
from psips.lab.calibration.measuring import Rule
from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.simulation.summary import clopper_pearson, simulate_many

FIRST, SECOND = 1, 2  # stages, part of the seeds
LIMIT = 100_000  # samples of a run: what is sought are those that stop too soon


@dataclass(frozen=True)
class Breach:
    """An instance of the second stage.

    Parameters
    ----------
    name, params
        The instance, made again by `psips.instance` with them.
    rule : str
    delta : float
    errors, runs : int
        On fresh seeds; runs that reach the cap are no errors.
    low, high : float
        Clopper-Pearson 95% interval of the chance of an error.
    first_errors, first_runs : int
        Of the stage in which it was chosen.
    """

    name: str
    params: dict[str, Any]
    rule: str
    delta: float
    errors: int
    runs: int
    low: float
    high: float
    first_errors: int
    first_runs: int

    @property
    def broken(self) -> bool:
        """Whether the whole interval lies above delta."""
        return self.low > self.delta

    def found(self) -> Found:
        """Return the entry for the file of found instances."""
        return Found(
            self.name, dict(self.params), self.rule, self.delta, self.errors, self.runs
        )


def draw(rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """Draw an instance as its name and parameters, of so few digits that they can be typed."""
    name = str(rng.choice(list(DRAWN)))
    return name, DRAWN[name](rng)


def seed_of(seed: int, number: int, stage: int) -> int:
    """Return the seed of the runs of instance ``number`` in a stage; no two are the same."""
    state = np.random.SeedSequence((seed, number, stage)).generate_state(1, np.uint64)
    return int(state[0])


def search(
    rule: Rule,
    *,
    delta: float = 0.1,
    tries: int = 100,
    seed: int = 0,
    runs: int = 30,
    again: int = 400,
    keep: int = 5,
    cap: int = LIMIT,
    jobs: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Breach]:
    """Search for instances on which a rule errs more often than delta.

    Parameters
    ----------
    rule : Rule
    delta : float
    tries : int
        Instances to draw.
    seed : int
        Of the search: of the instances and of all runs.
    runs, again : int
        Of each instance in the first stage, and of each kept one in the second.
    keep : int
        How many of the worst to run again.
    cap : int
        Samples of a run at most.
    jobs : int
        Runs at a time.
    progress : callable, optional
        Called with what is being done.

    Returns
    -------
    list of Breach
        What was run again, the worst first; whether it broke is for `Breach.broken` to say.
    """
    counts = {"tries": tries, "runs": runs, "again": again, "keep": keep, "cap": cap}
    for what, value in counts.items():
        if value < 1:
            raise InputError(f"{what} of the search must be at least 1, got {value}")
    if seed < 0:
        raise InputError(f"seed of the search must be at least 0, got {seed}")
    rule.rules(delta)

    def errors(made: Instance, count: int, number: int, stage: int) -> int | None:
        try:
            return simulate_many(
                made,
                runs=count,
                seed=seed_of(seed, number, stage),
                jobs=jobs,
                max_results=cap,
                rules=rule.rules(delta),
            ).errors
        except NoProofError:
            return None  # the rule does not apply

    rng = np.random.default_rng(seed)
    first: dict[int, int] = {}
    drawn: list[tuple[str, dict[str, Any]]] = []
    for number in range(tries):
        name, params = draw(rng)
        drawn.append((name, params))
        progress(f"{number + 1} of {tries}: {name} {params}")
        wrong = errors(instance(name, **params), runs, number, FIRST)
        if wrong is not None:
            first[number] = wrong
    worst = sorted(first, key=lambda number: -first[number])[:keep]
    found = []
    for number in worst:
        name, params = drawn[number]
        progress(f"again: {name} {params}")
        wrong = errors(instance(name, **params), again, number, SECOND)
        assert wrong is not None  # it applied before
        low, high = clopper_pearson(wrong, again)
        found.append(
            Breach(name, params, rule.name, delta, wrong, again, low, high, first[number], runs)
        )
    return sorted(found, key=lambda one: -one.errors)


def _gap(rng: np.random.Generator) -> float:
    """Log-uniform from 0.0001 to 1, with two digits."""
    return float(f"{np.exp(rng.uniform(np.log(1e-4), 0.0)):.2g}")


def _rho(rng: np.random.Generator, d: int) -> float:
    """Anywhere it can be, and half of the time close to one of its ends."""
    low = -1.0 / (d - 1) if d > 1 else -1.0
    share = rng.uniform() if rng.uniform() < 0.5 else rng.choice([0.005, 0.03, 0.97, 0.995])
    return float(round(low + (1.0 - low) * share, 4))


def _of(rng: np.random.Generator, *values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1000))


def _near_tie(rng: np.random.Generator) -> dict[str, Any]:
    d = _of(rng, 1, 2, 3, 4)
    params = {"gap": _gap(rng), "d": d, "lead": _of(rng, 2.0, -2.0, 0.5, -0.5, 0.1, -0.1)}
    return {**params, "rho": _rho(rng, d) if d > 1 else 0.0}


def _worse(rng: np.random.Generator) -> dict[str, Any]:
    d = _of(rng, 1, 2, 3, 4, 6, 8)
    K = _of(rng, 2, 2, 3, 5)
    rho = _rho(rng, d) if d > 1 else 0.0
    return {"d": d, "gap": _gap(rng), "rho": rho, "K": K, "seed": _seed(rng)}


def _worse_but_one(rng: np.random.Generator) -> dict[str, Any]:
    d = _of(rng, 2, 3, 4, 6, 8)
    params = {"d": d, "gap": _gap(rng), "edge": _gap(rng), "rho": _rho(rng, d)}
    return {**params, "K": _of(rng, 2, 2, 3, 5), "seed": _seed(rng)}


def _variant(rng: np.random.Generator) -> dict[str, Any]:
    low = _gap(rng)
    d, K = _of(rng, 2, 3, 4, 6, 8), _of(rng, 2, 3, 5)
    high = round(low * _of(rng, 1.0, 2.0, 5.0), 4)
    return {"d": d, "K": K, "low": min(low, 0.3), "high": max(high, 0.3), "seed": _seed(rng)}


def _front(rng: np.random.Generator) -> dict[str, Any]:
    d = _of(rng, 2, 3, 4, 6)
    return {"K": _of(rng, 2, 3, 5, 10), "gap": _gap(rng), "d": d, "rho": _rho(rng, d)}


def _just_below(rng: np.random.Generator) -> dict[str, Any]:
    d = _of(rng, 2, 3, 4, 6)
    params = {"K": _of(rng, 3, 5, 8), "d": d, "gap": _gap(rng)}
    where = _of(rng, "all", "one")
    return {**params, "where": where, "rho": _rho(rng, d), "seed": _seed(rng)}


def _adverse(rng: np.random.Generator) -> dict[str, Any]:
    d = _of(rng, 2, 3, 4, 6, 8)
    params = {"K": _of(rng, 2, 3, 5), "d": d, "gap": _gap(rng)}
    kind = _of(rng, "dominated", "incomparable", "tied")
    return {**params, "kind": kind, "edge": _of(rng, 0.003, 0.03, 0.3), "seed": _seed(rng)}


def _linear(rng: np.random.Generator) -> dict[str, Any]:
    h = _of(rng, 2, 3, 5)
    return {
        "K": h + _of(rng, 1, 2, 3, 6),
        "h": h,
        "d": _of(rng, 1, 2, 3),
        "norm": _of(rng, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
        "scale": _of(rng, 0.01, 0.1, 1.0, 10.0, 100.0),
        "unit": _of(rng, 0.01, 0.1, 1.0, 10.0, 100.0),
        "spread": _of(rng, 1.0, 0.2, 0.05),
        "answers": _of(rng, 0, 0, 6),
        "ball": _of(rng, 0.0, 1.0, 2.0),
        "seed": _seed(rng),
    }


def _linear_slope(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "K": _of(rng, 2, 3, 5, 10),
        "offset": _of(rng, -20.0, 0.0, 5.0, 20.0, 100.0),
        "slope": _of(rng, -3.0, -1.0, -0.3, 0.3, 1.0, 3.0),
        "scale": _of(rng, 0.01, 1.0, 100.0),
        "unit": _of(rng, 0.01, 1.0, 100.0),
        "ball": _of(rng, 0.0, 1.0, 2.0),
    }


def _ties(rng: np.random.Generator) -> dict[str, Any]:
    d = _of(rng, 1, 2, 3, 4)
    params = {"K": _of(rng, 2, 3, 4, 6), "d": d, "gap": _gap(rng), "levels": _of(rng, 2, 3)}
    rho = _rho(rng, d) if d > 1 and rng.uniform() < 0.5 else 0.0
    return {**params, "rho": rho, "seed": _seed(rng)}


def _linear_ties(rng: np.random.Generator) -> dict[str, Any]:
    h = _of(rng, 1, 2, 3)
    answers = 3 if h == 1 else _of(rng, 3, 4, 6)
    params = {"K": h + _of(rng, 1, 2, 3), "h": h, "d": _of(rng, 1, 1, 2), "gap": _gap(rng)}
    return {**params, "answers": answers, "seed": _seed(rng)}


DRAWN: Mapping[str, Callable[[np.random.Generator], dict[str, Any]]] = {
    "near-tie": _near_tie,
    "worse": _worse,
    "worse-but-one": _worse_but_one,
    "variant": _variant,
    "front": _front,
    "just-below": _just_below,
    "adverse": _adverse,
    "linear": _linear,
    "linear-slope": _linear_slope,
    "ties": _ties,
    "linear-ties": _linear_ties,
}
