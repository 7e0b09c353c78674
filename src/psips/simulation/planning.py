"""Before anything is measured: how many samples a guess of the means would take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, counted, quote
from psips.problem import Problem
from psips.problem.file_tables import Guess
from psips.problem.instances import Instance
from psips.problem.problem_file import ProblemFile
from psips.rules import SAMPLING, Rules
from psips.rules.guarantee import choices_for
from psips.simulation.cluster import spread
from psips.simulation.environments import environment_of
from psips.simulation.near_ties import NearTie, finite_t_star, near_ties
from psips.simulation.runs import Run, simulate, verdicts_right
from psips.simulation.summary import MOST_RUNS, clopper_pearson
from psips.theory.geometry import Complexity, complexity
from psips.version import __version__

FEW, EXACT, ROUGH = 200, 0.001, 0.01  # options up to which T* is exact; its accuracy
DELTAS = (0.2, 0.1, 0.05, 0.01)
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of the runs, by which quantiles are named
TRUTHS = 20  # truths drawn from the ranges whose T* is computed
EQUAL = "round-robin"  # the sampling rule of equal allocation
EQUAL_RUNS = 50  # simulated at most, for the delta asked for alone


@dataclass(frozen=True)
class Forecast:
    """What simulations with one delta came to.

    Parameters
    ----------
    delta : float
    lower_bound : float or None
        T* kl(delta, 1 - delta) of the centre of the guess; of the cost, if there are costs.
        None where no bound is known: where a tolerance makes several sets right, and of a
        goal other than the whole set.
    runs, stopped, errors : int
        Those that stopped before the cap, and those of them whose set was wrong.
    error_interval : (float, float)
        95% interval (Clopper-Pearson) of the chance of an error among runs that stop.
    mean : float
        Samples on average; runs that reach the cap count with it.
    quantiles : tuple of float
        Samples that 5, 25, 50, 75 and 95% of the runs need; infinite where that is more
        than the cap, or the budget.
    item_quantiles : tuple of float or None
        If results share items, how many of them 5, 25, 50, 75 and 95% of the runs take.
    mean_cost, cost_quantiles : float, tuple of float
        The same of what the runs cost; equal to the samples if the problem has no costs.
    """

    delta: float
    lower_bound: float | None
    runs: int
    stopped: int
    errors: int
    error_interval: tuple[float, float]
    mean: float
    quantiles: tuple[float, ...]
    mean_cost: float
    cost_quantiles: tuple[float, ...]
    item_quantiles: tuple[float, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast as plain data; quantiles beyond the cap are None."""
        plain = asdict(self)
        plain["error_interval"] = list(self.error_interval)
        for key, quantiles in (
            ("quantiles", self.quantiles),
            ("cost_quantiles", self.cost_quantiles),
            ("item_quantiles", self.item_quantiles),
        ):
            if quantiles is None:
                del plain[key]
                continue
            plain[key] = {
                f"{share:g}": value if np.isfinite(value) else None
                for share, value in zip(SHARES, quantiles, strict=True)
            }
        return plain


@dataclass(frozen=True, eq=False)
class Plan:
    """What to expect of an experiment if the guess is right.

    Parameters
    ----------
    problem : Problem
    complexity : Complexity
        Of the centre of the guess: T*, best shares of the pulls, Pareto set.
    t_star_range : (float, float) or None
        Smallest and largest T* of truths drawn from the ranges, if there are ranges.
    misfit : float
        With features and a guess of the arms: the largest distance from the guess to what a
        linear model can be, in standard deviations of one measurement.
    forecasts : tuple of Forecast
        In the order of delta, the largest first.
    mean_pulls : dict
        Samples of each arm on average, with the delta asked for.
    equal : Forecast or None
        What it takes if every arm is measured equally often, with the delta asked for and the
        same stopping rule; None where that rule cannot do with equal allocation.
    ties : tuple of NearTie
        The most expensive first.
    cap : int
        Samples at which a simulated run was given up.
    settings : dict
        Everything needed to repeat it.
    """

    problem: Problem
    complexity: Complexity
    t_star_range: tuple[float, float] | None
    misfit: float
    forecasts: tuple[Forecast, ...]
    mean_pulls: dict[str, float]
    equal: Forecast | None
    ties: tuple[NearTie, ...]
    cap: int
    settings: dict[str, Any]

    @property
    def delta(self) -> float:
        """The delta asked for, to which ``mean_pulls`` belongs."""
        return float(self.settings["rules"]["delta"])

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        found = self.complexity
        return {
            "t_star": found.t_star,
            "t_star_gap": found.gap,
            "t_star_range": None if self.t_star_range is None else list(self.t_star_range),
            "pareto_set": list(found.pareto_set),
            "weights": found.weights,
            "misfit": self.misfit,
            "forecasts": [one.to_dict() for one in self.forecasts],
            "mean_pulls": self.mean_pulls,
            "equal_allocation": None if self.equal is None else self.equal.to_dict(),
            "near_ties": [{**tie._asdict(), "answers": list(tie.answers)} for tie in self.ties],
            "settings": self.settings,
        }


class Expectation:
    """The guess of a problem file, as truths that can be simulated."""

    def __init__(self, file: ProblemFile) -> None:
        self.file = file
        self.problem = file.problem
        guess = file.guess
        if guess is None:
            if file.theta is None:
                raise InputError(
                    f"{file.path.name} has no guess of the means, so it cannot be planned: add "
                    "a table [guess] with a row for each arm"
                )
            guess = Guess(self.problem.unstructured, file.theta, file.theta)
        self.guess = guess

    @property
    def ranged(self) -> bool:
        """Whether the guess leaves anything open."""
        return bool(np.any(self.guess.low < self.guess.high))

    @cached_property
    def _simulated(self) -> Problem | None:
        return self.file.simulated

    @cached_property
    def centre(self) -> Instance:
        """The truth in the middle of the ranges."""
        return self._instance((self.guess.low + self.guess.high) / 2)

    @property
    def misfit(self) -> float:
        """How far the centre is from the guess, see `Plan`."""
        A = self.problem.features
        if A is None or not self.guess.of_arms:
            return 0.0
        middle = (self.guess.low + self.guess.high) / 2
        sd = np.sqrt(np.diag(self.centre.known.usual_covariance))
        return float(np.max(np.abs(A @ self.centre.theta - middle) / sd))

    def draw(self, rng: np.random.Generator) -> Instance:
        """Draw a truth uniformly within the ranges."""
        if not self.ranged:
            return self.centre
        return self._instance(rng.uniform(self.guess.low, self.guess.high))

    def _instance(self, rows: Floats) -> Instance:
        A, file = self.problem.features, self.file
        if A is not None and self.guess.of_arms:
            rows = np.asarray(np.linalg.lstsq(A, rows, rcond=None)[0], np.float64)
        results = file.results if file.guess is None else None
        return Instance(
            *(self.problem.name, self.problem, rows, file.noise, results),
            truth=self._simulated,
            items=file.items,
        )


def plan(
    file: ProblemFile,
    *,
    rules: Rules | None = None,
    deltas: tuple[float, ...] = DELTAS,
    runs: int = 200,
    seed: int = 0,
    jobs: int = 1,
    cap: int = 100_000,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """Say what to expect of an experiment if the guess in its problem file is right.

    Parameters
    ----------
    file : ProblemFile
        With a guess; a file with a truth and no guess is planned with the truth.
    rules : Rules, optional
        Those of the file if left out.
    deltas : floats
        Further values of delta to compare with.
    runs : int
        Simulated experiments for each delta. Run i has the same truth and the same random
        numbers for every delta.
    seed : int
    jobs : int
        Runs at a time, in threads; -1 for all cores.
    cap : int
        Samples at which a run is given up.
    progress : callable, optional
        Called after each run with what came so far, in words; the delta asked for comes first.
    """
    check_amounts(runs, seed, cap, jobs)
    chosen = rules_of(file) if rules is None else rules
    expected = Expectation(file)
    centre = expected.centre
    environment_of(centre)  # complains
    centre = replace(centre, problem=centre.known, items=None)
    try:
        accuracy = EXACT if centre.problem.K <= FEW else ROUGH
        found = complexity(centre.problem, centre.theta, tolerance=accuracy)
    except InputError as error:
        raise InputError(
            f"in the middle of the guess {error}: guess a difference that matters to you, or "
            "give a tolerance (epsilon)"
        ) from None
    forecasts: list[Forecast] = []
    mean_pulls: dict[str, float] = {}
    for delta in (chosen.delta, *sorted({*deltas} - {chosen.delta}, reverse=True)):
        each = simulate_guess(
            expected,
            replace(chosen, delta=delta),
            runs,
            seed,
            jobs,
            cap,
            _telling(progress, f"delta {delta:g}"),
            file.budget,
            file.goal,
        )
        forecasts.append(_forecast(delta, found, file.goal, each))
        if delta == chosen.delta:
            for arm in file.problem.arms:
                mean_pulls[arm] = sum(run.pulls[arm] for run, _ in each) / runs
    settings = {
        "file": file.path.name,
        "rules": chosen.to_dict(),
        "runs": runs,
        "seed": seed,
        "max_samples": cap,
        **({} if file.budget is None else {"budget": file.budget}),
        **({} if file.goal is None else {"goal": file.goal}),
        "version": __version__,
    }
    return Plan(
        problem=file.problem,
        complexity=found,
        t_star_range=_range_of_t_star(expected, seed) if expected.ranged else None,
        misfit=expected.misfit,
        forecasts=tuple(sorted(forecasts, key=lambda one: -one.delta)),
        mean_pulls=mean_pulls,
        equal=_equal_allocation(expected, found, chosen, runs, seed, jobs, cap, progress),
        ties=near_ties(centre, found.t_star),
        cap=cap,
        settings=settings,
    )


def _telling(progress: Callable[[str], None] | None, what: str) -> Callable[[Run], None] | None:
    """Return who takes in runs and says what came so far."""
    if progress is None:
        return None
    samples: list[int] = []
    gave_up: list[int] = []

    def told(run: Run) -> None:
        samples.append(run.results)
        if not run.stopped:
            gave_up.append(run.results)
        median = float(np.median(samples))
        over = "over " if gave_up and median >= min(gave_up) else ""
        runs = counted(len(samples), "run")
        progress(f"{what}: median {over}{median:,.0f} samples in {runs}")

    return told


def equal_rules(rules: Rules) -> Rules | None:
    """Return the same rules with equal allocation; None where there is nothing to compare."""
    if rules.sampling == EQUAL:
        return None
    try:
        return replace(rules, sampling=EQUAL)
    except InputError:  # its stopping rule belongs to its sampling rule
        return None


def _equal_allocation(
    expected: Expectation,
    found: Complexity,
    rules: Rules,
    runs: int,
    seed: int,
    jobs: int,
    cap: int,
    progress: Callable[[str], None] | None,
) -> Forecast | None:
    """Simulate what equal allocation takes, with the random numbers of the other runs."""
    file = expected.file
    equal = equal_rules(rules)
    if equal is None:
        return None
    runs = min(runs, EQUAL_RUNS)
    asked = (file.budget, file.goal)
    told = _telling(progress, "equal allocation")
    each = simulate_guess(expected, equal, runs, seed, jobs, cap, told, *asked)
    return _forecast(rules.delta, found, file.goal, each)


def check_amounts(runs: int, seed: int, cap: int, jobs: int) -> None:
    """Refuse numbers of runs and the like that make no sense."""
    for what, value, least in (("runs", runs, 1), ("seed", seed, 0), ("the cap", cap, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(
                f"{what} must be a whole number of at least {least}, got {quote(value)}"
            )
    if runs > MOST_RUNS:
        raise InputError(f"runs must be at most {MOST_RUNS:,}, got {quote(runs)}")
    if jobs != -1 and jobs < 1:
        raise InputError(f"jobs must be at least 1, or -1 for all cores, got {quote(jobs)}")


def rules_of(file: ProblemFile) -> Rules:
    """Return the rules that a problem file asks for."""
    given: dict[str, Any] = {} if file.delta is None else {"delta": file.delta}
    return Rules.from_dict(choices_for(file.problem, {**given, **file.rules}, file.goal))


def _range_of_t_star(expected: Expectation, seed: int) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    drawn = [expected.draw(rng) for _ in range(TRUTHS)]
    values = [finite_t_star(one.known, one.theta) for one in drawn]
    return min(values), max(values)


def simulate_guess(
    expected: Expectation,
    rules: Rules,
    runs: int,
    seed: int,
    jobs: int,
    cap: int,
    progress: Callable[[Run], None] | None,
    budget: float | None = None,
    goal: str | None = None,
) -> list[tuple[Run, bool]]:
    """Simulate; each run with whether its set, or at a goal its verdicts, are right."""
    if SAMPLING[rules.sampling].knows:
        raise InputError("the sampling rule 'oracle' needs the truth: plan with another one")

    children = np.random.SeedSequence(seed).spawn(runs)
    once = partial(
        _simulate_once, expected=expected, rules=rules, cap=cap, budget=budget, goal=goal
    )
    told = None if progress is None else lambda one: progress(one[0])
    return spread(once, children, jobs, told)


def _simulate_once(
    child: np.random.SeedSequence,
    *,
    expected: Expectation,
    rules: Rules,
    cap: int,
    budget: float | None,
    goal: str | None,
) -> tuple[Run, bool]:
    rng = np.random.default_rng(child)
    truth = expected.draw(rng)
    run = simulate(
        truth.problem,
        environment_of(truth),
        rng=rng,
        max_results=cap,
        budget=budget,
        goal=goal,
        rules=rules,
    )
    right = truth.is_right(run.candidate_set) if goal is None else verdicts_right(truth, run)
    return run, right


def _forecast(
    delta: float, found: Complexity, goal: str | None, each: list[tuple[Run, bool]]
) -> Forecast:
    needed = [run.results if run.stopped else np.inf for run, _ in each]
    spent = [run.cost if run.stopped else np.inf for run, _ in each]
    items = [run.items if run.stopped else np.inf for run, _ in each if run.items is not None]
    stopped = sum(run.stopped for run, _ in each)
    errors = sum(run.stopped and not right for run, right in each)
    return Forecast(
        delta=delta,
        lower_bound=None if goal or not found.unique else found.lower_bound_kl(delta),
        runs=len(each),
        stopped=stopped,
        errors=errors,
        error_interval=clopper_pearson(errors, stopped),
        mean=float(np.mean([run.results for run, _ in each])),
        quantiles=_quantiles(needed),
        mean_cost=float(np.mean([run.cost for run, _ in each])),
        cost_quantiles=_quantiles(spent),
        item_quantiles=_quantiles(items) if items else None,
    )


def _quantiles(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(np.quantile(values, SHARES, method="higher").tolist())
