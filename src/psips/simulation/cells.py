"""One run of a campaign: plain data that says everything about it, and what comes out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from psips import __version__
from psips.environments import environment_of
from psips.geometry import complexity
from psips.instances import Instance, load
from psips.rules import Rules
from psips.seeds import draw_key, generator
from psips.session import Session
from psips.simulation.runs import simulate

POINTS = 1024  # posterior points behind an estimate of P(Alt)


@dataclass(frozen=True)
class Cell:
    """One run, as plain data.

    Parameters
    ----------
    instance : str
        Name of a built-in instance, or path of a problem file.
    params : mapping
        Of the instance.
    rules : mapping
        Fields of `Rules`, delta among them.
    run : int
        The run's number; it alone decides the noise, so all rules meet the same.
    max_results : int
        Cap of the run.
    marks : tuple of int
        Numbers of results at which to look; the run then goes on past its stop to the last.
    posterior : bool
        Whether to estimate the posterior error at the marks.
    """

    instance: str
    rules: Mapping[str, Any]
    run: int
    params: Mapping[str, Any] = field(default_factory=dict)
    max_results: int = 10**6
    marks: tuple[int, ...] = ()
    posterior: bool = False

    def key(self, seed: int) -> str:
        """Return what names the run in a campaign's file: it is done if the key is there."""
        said = {
            "version": __version__,
            "seed": seed,
            "instance": self.instance,
            **_content(self.instance),
            "params": dict(self.params),
            "rules": Rules(**self.rules).to_dict(),
            "run": self.run,
            "max_results": self.max_results,
            "marks": list(self.marks),
            "posterior": self.posterior,
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]


def _content(instance: str) -> dict[str, str]:
    """Return a hash of a problem file, so that a changed file is another problem."""
    path = Path(instance)
    if not path.is_file():
        return {}
    return {"content": hashlib.sha256(path.read_bytes()).hexdigest()}


def seed_of(seed: int, run: int) -> np.random.SeedSequence:
    """Return the run's seed: the child that ``SeedSequence(seed).spawn`` gives it.

    Examples
    --------
    >>> seed_of(7, 2).spawn_key == np.random.SeedSequence(7).spawn(3)[2].spawn_key
    True
    """
    return np.random.SeedSequence(seed, spawn_key=(run,))


def perform(cell: Cell, seed: int) -> dict[str, Any]:
    """Do one run and return what came of it, as data that JSON can hold.

    It is the run that `simulate_many` does with the same seed and number.
    """
    made = _made(cell.instance, json.dumps(dict(cell.params)))
    rules = Rules(**cell.rules)
    target = optimal_weights(made) if rules.sampling == "oracle" else None
    child = seed_of(seed, cell.run)
    if cell.marks:
        return _observed(cell, made, rules, target, child)
    run = simulate(
        made.problem,
        environment_of(made),
        rng=child,
        rules=rules,
        target=target,
        max_results=cell.max_results,
    )
    return {
        "samples": run.results,
        "stopped": run.stopped,
        "correct": set(run.candidate_set) == set(made.pareto_set),
        "optimal": len(made.pareto_set),
        "points": run.proposals + run.literal_draws,
        "seconds": run.seconds,
    }


def _observed(
    cell: Cell, made: Instance, rules: Rules, target: list[float] | None, child: Any
) -> dict[str, Any]:
    """Run to the last mark, whatever the stopping rule says, and look at every mark."""
    rng = generator(child)
    session = Session(made.problem, rules=rules, rng=rng, target=target)
    engine, source, noise = session.engine, environment_of(made).source, draw_key(rng)
    truth, first_stop, seconds = set(made.pareto_set), None, 0.0
    trace, clock = [], []
    for mark in cell.marks:
        while session.results < mark:
            begin = perf_counter()
            engine.go_on()
            engine.run(source, noise, mark)
            seconds += perf_counter() - begin
            if engine.stopped and first_stop is None:
                first_stop = session.results
        seen = engine.outcome
        trace.append(
            {
                "t": mark,
                "correct": set(session.candidate_set) == truth,
                "log_m": seen.log_learned,
                "log_m_stop": min(seen.log_hit, seen.log_budget),
                "log_budget": seen.log_budget,
                "log_error": engine.change_probability(POINTS)[0] if cell.posterior else None,
            }
        )
        clock.append(seconds)
    return {
        "samples": first_stop,
        "stopped": first_stop is not None,
        "correct": trace[-1]["correct"],
        "optimal": len(truth),
        "points": int(engine.proposals.sum()),
        "seconds": seconds,
        "trace": trace,
        "clock": clock,
    }


@lru_cache(maxsize=64)
def _made(name: str, params: str) -> Instance:
    return load(name, **json.loads(params))


@lru_cache(maxsize=64)
def optimal_weights(made: Instance) -> list[float]:
    """Return w* of the truth, for the oracle; kept, for runs of one instance share it."""
    weights = complexity(made.problem, made.theta).weights
    return [weights[arm] for arm in made.problem.arms]
