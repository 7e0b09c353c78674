"""Designs side by side: samples, cost and the chance of a wrong set, by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from psips.errors import InputError, check_keys, quote
from psips.input.quantities import delta_of, expected_text, parse_expected, parse_number
from psips.problem.goals_and_budget import read_budget, read_goal
from psips.problem.problem_file import ProblemFile
from psips.rules import Rules
from psips.rules.config import BY_PROOFS
from psips.rules.tuning import CONSTANTS, no_use_of_expected, put_over
from psips.simulation.planning import Expectation, rules_of, simulate_guess
from psips.simulation.runs import Run
from psips.simulation.summary import clopper_pearson
from psips.version import __version__

MOST_DESIGNS = 50  # that are compared at once
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of the runs, by which quantiles are named
TEXTS = ("guarantee", "sampling", "stopping", "calibration", "draws", "tracking", "goal")
CONSTANT = "tuning."  # before the name of a constant that is varied
VARIED = (
    *("delta", "confidence", "guarantee", "expected_results"),
    *("sampling", "stopping", "calibration", "draws", "tracking"),
    *(CONSTANT + name for name in CONSTANTS),
    *("budget", "goal", "epsilon"),
)


@dataclass(frozen=True, eq=False)
class Design:
    """One of the designs that are compared."""

    name: str
    file: ProblemFile
    rules: Rules
    budget: float | None
    goal: str | None


@dataclass(frozen=True)
class Compared:
    """What simulations of one design came to.

    Parameters
    ----------
    name : str
    delta : float
    runs, stopped, errors : int
        Errors are those of runs that stopped.
    error_interval : (float, float)
        95% interval (Clopper-Pearson) of the chance of an error among runs that stop.
    samples, cost : float
        On average; runs that end without a stop count with what they took.
    samples_interval, cost_interval : (float, float)
        95% intervals of these, by the normal law.
    quantiles, cost_quantiles : tuple of float
        Of 5, 25, 50, 75 and 95% of the runs.
    """

    name: str
    delta: float
    runs: int
    stopped: int
    errors: int
    error_interval: tuple[float, float]
    samples: float
    samples_interval: tuple[float, float]
    quantiles: tuple[float, ...]
    cost: float
    cost_interval: tuple[float, float]
    cost_quantiles: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Designs side by side.

    Parameters
    ----------
    designs : tuple of Compared
    has_costs : bool
        Whether any of them has costs, so that cost is another number than samples.
    settings : dict
        Everything needed to repeat it.
    """

    designs: tuple[Compared, ...]
    has_costs: bool
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {"designs": [one.to_dict() for one in self.designs], "settings": self.settings}


def read_designs(files: Sequence[ProblemFile], vary: Sequence[str] = ()) -> list[Design]:
    """Return every file with every combination of what is varied.

    Parameters
    ----------
    files : sequence of ProblemFile
    vary : sequence of str
        ``"delta=0.05,0.1"``: a field of `Rules`, a constant of theirs (``tuning.alpha``),
        ``budget``, ``goal`` or ``epsilon`` (the tolerance on every objective), and its values.
    """
    lists: dict[str, list[Any]] = {}
    for text in vary:
        key, equals, values = text.partition("=")
        if not equals or not values:
            raise InputError(f"what is varied must be key=value,value, got {quote(text)}")
        if key == "alpha":
            raise InputError(
                "alpha: vary delta, the accepted probability of being wrong, or "
                "tuning.alpha, the exponent of forced exploration"
            )
        key = CONSTANT + key if key in CONSTANTS else key  # the name of earlier versions
        check_keys("key to vary", [key], VARIED)
        if key in lists:
            raise InputError(f"{key!r} is varied twice: list all its values in one place")
        lists[key] = [_value(key, cell.strip()) for cell in values.split(",")]
    names = _short_names(files)
    designs = []
    for (file, name), combination in product(
        zip(files, names, strict=True), product(*lists.values())
    ):
        changed = dict(zip(lists, combination, strict=True))
        said = [f"{key} {_shown(value)}" for key, value in changed.items()]
        designs.append(_design(file, ", ".join([*([name] if name else []), *said]), changed))
    if len(designs) > MOST_DESIGNS:
        raise InputError(f"at most {MOST_DESIGNS} designs are compared, got {len(designs):,}")
    return designs


def _design(file: ProblemFile, name: str, changed: dict[str, Any]) -> Design:
    if "epsilon" in changed:
        problem = file.problem.asking(epsilon=changed.pop("epsilon"))
        file = replace(file, problem=problem)
    if "guarantee" in changed:
        if "stopping" in changed or "calibration" in changed:
            raise InputError("'guarantee' chooses the stopping rule: vary one or the other")
        said = {"guarantee": changed.pop("guarantee")}
        file = replace(file, rules=put_over(said, file.rules))
    budget = changed.pop("budget", file.budget)
    goal = changed.pop("goal", file.goal)
    read_budget(file.problem, budget)
    rules = rules_of(file)
    read_goal(file.problem, goal)  # complains
    if goal != file.goal and "stopping" not in file.rules:
        rules = replace(rules, stopping=BY_PROOFS, calibration="own", expected_results=None)
    chosen = {"stopping", "guarantee"} & {**file.rules, **changed}.keys()
    if "sampling" in changed and not chosen and goal is None:
        changed["stopping"] = "own"
    if "stopping" in changed and "calibration" not in {**file.rules, **changed}:
        changed["calibration"] = "own"
    if no_use_of_expected(changed):
        changed = {"expected_results": None, **changed}
    constants = {
        key.removeprefix(CONSTANT): changed.pop(key)
        for key in list(changed)
        if key.startswith(CONSTANT)
    }
    if "confidence" in changed:
        changed["delta"] = delta_of(changed.pop("confidence"))
    rules = replace(rules, **changed, tuning=replace(rules.tuning, **constants))
    return Design(name or file.path.stem, file, rules, budget, goal)


def _value(key: str, cell: str) -> Any:
    if key in TEXTS or (key == f"{CONSTANT}eta" and cell == "estimate"):
        return cell
    if key == "epsilon" and cell.endswith("%"):
        return cell
    if key == "expected_results":
        return parse_expected(cell)
    return parse_number(f"the value of {key!r}", cell)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return expected_text(value)
    return value if isinstance(value, str) else f"{value:g}"


def _short_names(files: Sequence[ProblemFile]) -> list[str]:
    """Return the files' names without an ending, or in full if that leaves two alike."""
    if len(files) == 1:
        return [""]
    stems = [file.path.stem for file in files]
    return stems if len(set(stems)) == len(stems) else [str(file.path) for file in files]


def compare(
    designs: Sequence[Design],
    *,
    runs: int = 200,
    seed: int = 0,
    jobs: int = 1,
    cap: int = 100_000,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Simulate designs, run i of each with the same seed, and put what came side by side.

    Parameters
    ----------
    designs : sequence of Design
        See `read_designs`.
    runs, seed, jobs, cap
        As in `psips.simulation.planning.plan`, of each design.
    progress : callable, optional
        Called with the design's name after each run.
    """
    found = []
    for design in designs:
        told = None if progress is None else (lambda _, d=design: progress(d.name))
        each = simulate_guess(
            Expectation(design.file),
            design.rules,
            runs,
            seed,
            jobs,
            cap,
            told,
            budget=design.budget,
            goal=design.goal,
        )
        found.append(_compared(design, each))
    settings = {
        "designs": [
            {
                "name": one.name,
                "file": one.file.path.name,
                "rules": one.rules.to_dict(),
                "budget": one.budget,
                "goal": one.goal,
                **(
                    {"epsilon": one.file.problem.tolerance.given}
                    if one.file.problem.tolerance
                    else {}
                ),
            }
            for one in designs
        ],
        "runs": runs,
        "seed": seed,
        "max_samples": cap,
        "version": __version__,
    }
    costs = any(one.file.problem.has_costs for one in designs)
    return Comparison(tuple(found), costs, settings)


def _compared(design: Design, each: list[tuple[Run, bool]]) -> Compared:
    stopped = sum(run.stopped for run, _ in each)
    errors = sum(run.stopped and not right for run, right in each)
    samples = np.array([run.results for run, _ in each], float)
    cost = np.array([run.cost for run, _ in each])
    return Compared(
        name=design.name,
        delta=design.rules.delta,
        runs=len(each),
        stopped=stopped,
        errors=errors,
        error_interval=clopper_pearson(errors, stopped),
        samples=float(samples.mean()),
        samples_interval=_of_mean(samples),
        quantiles=tuple(np.quantile(samples, SHARES).tolist()),
        cost=float(cost.mean()),
        cost_interval=_of_mean(cost),
        cost_quantiles=tuple(np.quantile(cost, SHARES).tolist()),
    )


def _of_mean(values: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[float, float]:
    """Return the 95% interval of a mean."""
    mean, runs = float(values.mean()), len(values)
    width = 1.96 * float(values.std(ddof=1)) / math.sqrt(runs) if runs > 1 else math.inf
    return max(mean - width, 0.0), mean + width
