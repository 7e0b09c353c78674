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

from psips.errors import InputError
from psips.input.seeds import draw_key, generator
from psips.lab.loading import load
from psips.problem.instances import Instance
from psips.rules import SAMPLING, Rules
from psips.session import Session
from psips.simulation.environments import environment_of
from psips.simulation.runs import advance, simulate, verdicts_right
from psips.theory.geometry import complexity
from psips.version import __version__

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
    budget : float or None
        Results, or cost if the problem has costs, at which the run ends; not with marks.
    goal : str or None
        What is to be proven instead of the whole set; not with marks.
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
    budget: float | None = None
    goal: str | None = None

    def key(self, seed: int) -> str:
        """Return what names the run in a campaign's file: it is done if the key is there."""
        said = {
            "version": __version__,
            "seed": seed,
            "instance": self.instance,
            **_content(self.instance),
            "params": dict(self.params),
            "rules": Rules.from_dict(self.rules).to_dict(),
            "run": self.run,
            "max_results": self.max_results,
            "marks": list(self.marks),
            "posterior": self.posterior,
            **({} if self.budget is None else {"budget": self.budget}),
            **({} if self.goal is None else {"goal": self.goal}),
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
    """Do one run and return its outcome, as data that JSON can hold.

    It is the run that `simulate_many` does with the same seed and number.
    """
    made = _made(cell.instance, json.dumps(dict(cell.params)))
    rules = Rules.from_dict(cell.rules)
    target = optimal_weights(made) if SAMPLING[rules.sampling].knows else None
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
        budget=cell.budget,
        goal=cell.goal,
    )
    right = made.is_right(run.candidate_set) if cell.goal is None else verdicts_right(made, run)
    return {
        "samples": run.results,
        **({"cost": run.cost} if made.problem.has_costs else {}),
        **({} if run.items is None else {"items": run.items}),
        "stopped": run.stopped,
        "correct": right,
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
    environment, noise = environment_of(made), draw_key(rng)
    first_stop, seconds = None, 0.0
    trace, clock = [], []
    for mark in cell.marks:
        while session.results < mark:
            begin = perf_counter()
            session.engine.go_on()
            if not advance(session, environment, noise, mark):
                raise InputError(f"the items have ended before {mark:,} results")
            seconds += perf_counter() - begin
            if session.stopped and first_stop is None:
                first_stop = session.results
        engine = session.engine
        seen = engine.outcome
        trace.append(
            {
                "t": mark,
                "correct": made.is_right(session.candidate_set),
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
        "optimal": len(made.pareto_set),
        "points": int(session.engine.proposals.sum()),
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
    weights = complexity(made.known, made.theta).weights
    return [weights[arm] for arm in made.problem.arms]
