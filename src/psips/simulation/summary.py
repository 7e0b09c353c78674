"""Many simulated experiments and their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from time import perf_counter
from typing import Any

import numpy as np

from psips.errors import InputError, quote
from psips.input.seeds import Seed, whole_seed
from psips.laws import beta_quantile
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.rules import SAMPLING, Rules
from psips.session import read_rules
from psips.simulation.cluster import spread
from psips.simulation.environments import Environment, environment_of
from psips.simulation.runs import Run, simulate, verdicts_right
from psips.theory.geometry import complexity
from psips.version import __version__

MOST_RUNS = 1_000_000  # of one simulation


@dataclass(frozen=True)
class Summary:
    """Runs of one instance with one choice of rules.

    Parameters
    ----------
    each : tuple of Run
    instance : Instance
        What was simulated. A run is an error if it stopped with a set that is not right; a
        run that did not stop claims nothing, so it is no error.
    seconds : float
        Wall time of all runs.
    settings : dict
        Everything needed to repeat them.
    """

    each: tuple[Run, ...]
    instance: Instance
    seconds: float
    settings: dict[str, Any]

    @property
    def truth(self) -> tuple[str, ...]:
        """The Pareto set."""
        return self.instance.pareto_set

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.each)

    @property
    def stopped(self) -> int:
        """Number of runs that stopped before the cap."""
        return sum(run.stopped for run in self.each)

    @property
    def errors(self) -> int:
        """Number of runs that stopped with a wrong set; with a goal, with a wrong verdict."""
        return sum(run.stopped and self.is_wrong(run) for run in self.each)

    def is_wrong(self, run: Run) -> bool:
        """Whether a run that stopped claims what is false."""
        if "goal" not in self.settings:
            return not self.instance.is_right(run.candidate_set)
        return not verdicts_right(self.instance, run)

    @cached_property
    def samples(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Results of each run, those that reached the cap included."""
        return np.array([run.results for run in self.each])

    @cached_property
    def costs(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """What each run cost."""
        return np.array([run.cost for run in self.each])

    @property
    def items(self) -> np.ndarray[Any, np.dtype[np.int64]] | None:
        """Items that each run took, if results share any."""
        found = [run.items for run in self.each if run.items is not None]
        return np.array(found) if found else None

    @property
    def error_interval(self) -> tuple[float, float]:
        """Clopper-Pearson 95% interval of the chance of an error, among runs that stopped."""
        return clopper_pearson(self.errors, self.stopped)

    @property
    def proven(self) -> dict[str, dict[str, float]] | None:
        """By answer, the share of runs that end with it proven ``in``, and ``out``."""
        found = [run.verdicts for run in self.each if run.verdicts is not None]
        if not found:
            return None
        return {
            answer: {
                verdict: sum(one[answer] == verdict for one in found) / len(found)
                for verdict in ("in", "out")
            }
            for answer in found[0]
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data.

        Examples
        --------
        >>> from psips.lab.instances import instance
        >>> summary = simulate_many(instance("correlated", rho=-0.9), runs=3, seed=1)
        >>> figures = summary.to_dict()
        >>> figures["runs"], figures["stopped"], figures["errors"]
        (3, 3, 0)
        """
        samples, runs = self.samples, self.runs
        arms = self.each[0].pulls
        rounds = float(samples.sum())
        return {
            "runs": runs,
            "stopped": self.stopped,
            "errors": self.errors,
            "error_interval": list(self.error_interval),
            "mean_samples": float(samples.mean()),
            "median_samples": float(np.median(samples)),
            "sd_samples": float(samples.std(ddof=1)) if runs > 1 else 0.0,
            **(
                {
                    "mean_cost": float(self.costs.mean()),
                    "median_cost": float(np.median(self.costs)),
                }
                if self.instance.problem.has_costs
                else {}
            ),
            **({} if self.items is None else {"mean_items": float(self.items.mean())}),
            "mean_pulls": {
                arm: sum(run.pulls[arm] for run in self.each) / runs for arm in arms
            },
            "proven": self.proven,
            "seconds": self.seconds,
            "us_per_round": 1e6 * sum(run.seconds for run in self.each) / rounds,
            "proposals_per_round": sum(run.proposals + run.literal_draws for run in self.each)
            / rounds,
            "literal_draws_per_round": sum(run.literal_draws for run in self.each) / rounds,
            "settings": self.settings,
        }


def clopper_pearson(errors: int, trials: int) -> tuple[float, float]:
    """Return the 95% interval of a chance, from ``errors`` in ``trials``.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 100)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    low = beta_quantile(errors, trials - errors + 1, 0.975) if errors else 0.0
    high = beta_quantile(errors + 1, trials - errors, 0.025) if errors < trials else 1.0
    return float(low), float(high)


def simulate_many(
    instance: Instance,
    *,
    runs: int = 100,
    seed: Seed = None,
    rng: Seed = None,
    jobs: int = 1,
    max_results: int = 10**6,
    target: Any = None,
    budget: float | None = None,
    goal: str | None = None,
    verdicts: bool = False,
    progress: Callable[[Run], None] | None = None,
    rules: Rules | None = None,
    **choices: Any,
) -> Summary:
    """Simulate an instance many times; the figures do not depend on ``jobs``.

    Parameters
    ----------
    instance : Instance
    runs : int
    seed, rng : int, SeedSequence or Generator
        Two names of the same thing; 0 if left out. Run i uses the i-th child of
        ``SeedSequence(seed)``, whose seed is drawn if none is given as a whole number.
    jobs : int
        Runs at a time, in threads (the compiled loop leaves Python free); -1 for all cores.
        Within `psips.simulation.cluster.on_dask` the runs are done on a cluster instead.
    max_results : int
        Cap of each run.
    target : (K,) weights, optional
        For the sampling rule ``oracle``; the optimal ones of the truth if not given.
    budget : number, optional
        Results, or cost if the problem has costs, at which a run ends, as at the cap.
    goal : str, optional
        What is to be proven instead of the whole set, see `Session`.
    progress : callable, optional
        Called with each run when it ends.
    rules : Rules, optional
        Or its fields by keyword.
    **choices
        Fields of `Rules`.
    """
    _check_whole("runs", runs, 1, MOST_RUNS)
    whole = whole_seed(rng, seed)
    whole = 0 if whole is None else whole
    _check_whole("seed", whole, 0)
    if jobs != -1:
        _check_whole("jobs", jobs, 1)
    chosen = read_rules(instance.problem, rules, choices, goal)
    environment = environment_of(instance)
    if SAMPLING[chosen.sampling].knows and target is None:
        weights = complexity(instance.known, instance.theta).weights
        target = [weights[arm] for arm in instance.problem.arms]

    one = partial(
        _simulate_once,
        problem=instance.problem,
        environment=environment,
        target=target,
        budget=budget,
        goal=goal,
        rules=chosen,
        verdicts=verdicts,
    )
    begin = perf_counter()
    children = np.random.SeedSequence(whole).spawn(runs)
    each = spread(partial(one, cap=max_results), children, jobs, progress)
    seconds = perf_counter() - begin
    settings = {
        "instance": instance.name,
        "params": dict(instance.params),
        "rules": chosen.to_dict(),
        "runs": runs,
        "seed": whole,
        "max_samples": max_results,
        **({} if budget is None else {"budget": budget}),
        **({} if goal is None else {"goal": goal}),
        "version": __version__,
    }
    return Summary(tuple(each), instance, seconds, settings)


def _simulate_once(
    child: np.random.SeedSequence | int,
    *,
    problem: Problem,
    environment: Environment,
    target: Any,
    budget: float | None,
    goal: str | None,
    rules: Rules,
    verdicts: bool,
    cap: int,
) -> Run:
    """Simulate one run."""
    return simulate(
        problem,
        environment,
        rng=child,
        max_results=cap,
        target=target,
        budget=budget,
        goal=goal,
        rules=rules,
        verdicts=verdicts,
    )


def _check_whole(what: str, value: object, least: int, most: int | None = None) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:  # type: ignore[operator]
        raise InputError(
            f"{what} must be a whole number of at least {least}, got {quote(value)}"
        )
    if most is not None and value > most:  # type: ignore[operator]
        raise InputError(f"{what} must be at most {most:,}, got {quote(value)}")
