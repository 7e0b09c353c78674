"""One simulated experiment: a session and an environment in one compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from psips.errors import InputError, quote
from psips.input.seeds import Key, Seed, draw_key, either_seed, generator
from psips.problem import Problem
from psips.problem.exact import declared
from psips.problem.instances import Instance
from psips.rules import Rules
from psips.session import Session
from psips.session.mixed import MixedEngine
from psips.simulation.environments import Environment, ItemEnvironment

# Compiled code cannot be interrupted, so a run is cut into slices that take about this many
# seconds; they do not change it.
PAUSE = 0.1
FIRST_SLICE = 64

Watch = Callable[[Session], None]


@dataclass(frozen=True)
class Run:
    """How a simulated experiment went.

    Parameters
    ----------
    stopped : bool
        Whether the stopping rule held before the cap.
    candidate_set : tuple of str
        Pareto set of the estimates at the end.
    pareto_set : tuple of str or None
        The same if the run stopped; None if it hit the cap, for then nothing is claimed.
    results : int
        Results it took.
    cost : float
        What they cost: their number, if the problem has no costs.
    pulls : dict
        Results of each arm.
    proposals, literal_draws : int
        Points proposed by the first-hit sampler, and posterior draws made one by one.
    seconds : float
        Time in the compiled loop.
    items : int or None
        Items that results were of, if they share any.
    verdicts : dict or None
        By answer "in", "out" or "open": what was proven at the end, if that was asked for.
    """

    stopped: bool
    candidate_set: tuple[str, ...]
    pareto_set: tuple[str, ...] | None
    results: int
    cost: float
    pulls: dict[str, int]
    proposals: int
    literal_draws: int
    seconds: float
    items: int | None = None
    verdicts: dict[str, str] | None = None


def simulate(
    problem: Problem,
    environment: Environment,
    *,
    rng: Seed = None,
    seed: Seed = None,
    max_results: int = 10**6,
    target: Any = None,
    budget: float | None = None,
    goal: str | None = None,
    rules: Rules | None = None,
    watch: Watch | None = None,
    verdicts: bool = False,
    **choices: Any,
) -> Run:
    """Run a session against an environment, to the stop or to a cap, in one compiled loop.

    Two keys are drawn from ``rng``, first the session's and then that of the noise. The same
    run by hand::

        rng = np.random.default_rng(seed)
        session = Session(problem, rng=rng)
        trial = environment.start(rng)
        while not session.done:
            ticket = session.ask()
            session.tell(ticket, trial.pull(ticket))

    Parameters
    ----------
    problem : Problem
    environment : Environment
    rng, seed : None, int, SeedSequence or Generator
        Two names of the same thing.
    max_results : int
        The cap. A run that reaches it has not stopped.
    target : (K,) weights, optional
        For the sampling rule ``oracle``.
    budget : number, optional
        Results, or cost if the problem has costs, at which the run ends, as at the cap.
    goal : str, optional
        What is to be proven instead of the whole set, see `Session`; verdicts are reported.
    rules : Rules, optional
        Or its fields by keyword.
    watch : callable, optional
        Called with the session now and then during the run.
    verdicts : bool
        Whether to report what is proven at the end.
    **choices
        Fields of `Rules`.

    Examples
    --------
    >>> from psips.simulation.environments import GaussianEnvironment
    >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
    >>> run = simulate(problem, GaussianEnvironment(problem, [[0.0], [1.0]]), rng=1)
    >>> run.stopped, run.pareto_set
    (True, ('B',))
    """
    rng = generator(either_seed(rng, seed))
    session = Session(
        problem, rules=rules, rng=rng, target=target, budget=budget, goal=goal, **choices
    )
    run = play(session, environment, draw_key(rng), max_results=max_results, watch=watch)
    if not verdicts and goal is None:
        return run
    from psips.session.verdicts import verdicts_of

    found = verdicts_of(session.noisy, session.engine, lacking=False)
    return replace(run, verdicts={one.answer: one.verdict for one in found})


def play(
    session: Session,
    environment: Environment,
    key: Key,
    *,
    max_results: int = 10**6,
    watch: Watch | None = None,
    every: int = 5000,
) -> Run:
    """Continue a session against an environment, to the stop, to a cap or its budget's end.

    Parameters
    ----------
    session : Session
        Changed: it has been told what was pulled.
    environment : Environment
    key : (2,) array of uint64
        Of the noise.
    max_results : int
        Results in the session at which to end.
    watch : callable, optional
        Called with the session now and then, and at the end.
    every : int
        Most results between two calls of ``watch``; the run itself does not depend on it.
    """
    if isinstance(max_results, bool) or not isinstance(max_results, int | np.integer):
        raise InputError(f"max_results must be a whole number, got {quote(max_results)}")
    if max_results < 1:
        raise InputError(f"max_results must be at least 1, got {max_results}")
    _check_fit(session.problem, environment.problem)
    seconds, size = 0.0, FIRST_SLICE
    room = True
    if session.budget is not None:
        session.engine.room[0] = session.budget - session.lost
    while room and not session.stopped and session.results < max_results:
        begin = perf_counter()
        last = min(session.results + min(size, every), int(max_results))
        room = advance(session, environment, key, last)
        spent = perf_counter() - begin
        seconds += spent
        size = 2 * size if spent < PAUSE else max(1, size // 2)
        if watch is not None:
            watch(session)
    engine = session.engine
    proposals, literal_draws = engine.proposals
    return Run(
        stopped=session.stopped,
        candidate_set=session.candidate_set,
        pareto_set=session.pareto_set,
        results=session.results,
        cost=session.spent,
        pulls=session.pulls,
        proposals=int(proposals),
        literal_draws=int(literal_draws),
        seconds=seconds,
        items=len(engine.place_of) if isinstance(engine, MixedEngine) else None,
    )


def advance(session: Session, environment: Environment, key: Key, results: int) -> bool:
    """Go on until the stop or so many results; whether the budget and the items allowed it."""
    items, problem = session.items, session.problem
    if items is None:
        return _advance(session, environment, key, results)
    if not isinstance(environment, ItemEnvironment):
        raise InputError("results that share items come from an ItemEnvironment: give one")
    while not session.stopped and session.results < results:
        if session.exhausted or items.all_told:
            return False
        name, item = session.choose_item()
        arm = problem.arm_index(name)
        session.learn(arm, environment.result(arm, items.place(item), key), item)
        session.engine.judge()
    return True


def _advance(session: Session, environment: Environment, key: Key, results: int) -> bool:
    """Go on where results share nothing: compiled, once it is known what is exact."""
    columns = declared(environment.problem)
    while session.exact.columns != columns or session.exact.lacking:
        if session.stopped or session.results >= results:
            return True
        if session.exhausted:
            return False
        arm = session.problem.arm_index(session.choose())
        nth = int(session.engine.belief.pulls[arm])
        session.learn(arm, environment.result(arm, nth, key))
        session.engine.judge()
    session.know_exact(environment.facts)
    return session.engine.run(environment.source, key, results)


def verdicts_right(instance: Instance, run: Run) -> bool:
    """Whether nothing that a run has proven of single answers is false."""
    truth = instance.pareto_set
    return not any(
        verdict == ("out" if answer in truth else "in")
        for answer, verdict in (run.verdicts or {}).items()
    )


def _check_fit(problem: Problem, other: Problem) -> None:
    """Refuse an environment of another problem; it may differ in what is known of the noise."""
    for what in ("arms", "objectives", "directions"):
        if getattr(problem, what) != getattr(other, what):
            raise InputError(f"problem and environment do not have the same {what}")
