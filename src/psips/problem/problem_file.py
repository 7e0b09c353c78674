"""Problem files: a TOML file with CSV tables beside it, as docs/problem-file.md describes."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from psips.errors import InputError, check_distinct, check_keys, listing, quote, unknown
from psips.input.checks import Table, read_positive
from psips.input.files import read_text, shown
from psips.input.quantities import as_float
from psips.input.tables import read_cell, read_cells, read_csv
from psips.kernels.model import Floats
from psips.problem.instances import NOISES, Instance, Results
from psips.problem.item_noise import ItemNoise, read_item_noise
from psips.problem.noise import PER_ARM, NoiseGuess
from psips.problem.parameters import Ball, Box, Prior
from psips.problem.problem import Problem
from psips.problem.question import read_budget, read_goal
from psips.problem.scales import KEYS as SCALE_KEYS

KEYS = (
    *("name", "objectives", "covariance", "arms", "answers", "parameter_set"),
    *("prior", "regularization", "intercept", "noise", "truth", "theta", "results", "guess"),
    *("costs", "control", "epsilon", "limits", "budget", "goal"),
    *("noise_guess", "partial", "blocks", "delta", "seed", "rules", "study"),
)
OBJECTIVE_KEYS = ("name", *SCALE_KEYS, "variance")
SET_KEYS = ("ball", "low", "high")
PRIOR_KEYS = ("means", "pulls")
NOISE_GUESS_KEYS = ("covariance", "results")
ITEM_NOISE_KEYS = ("covariance", "between")
SEED_BITS = 128
WORDS = {str: "a string", int: "a whole number", float: "a number", dict: "a table"}
RULE_NUMBERS = ("eta", "alpha", "kappa")
RULE_KEYS = (
    *("sampling", "stopping", "calibration", "draws", "tracking"),
    *RULE_NUMBERS,
)

T = TypeVar("T")


class Guess(NamedTuple):
    """What is expected before anything is measured: every number lies between two ends."""

    of_arms: bool  # rows are the means of the arms, not rows of theta
    low: Floats  # (K, d) or (h, d)
    high: Floats  # of the same shape


@dataclass(frozen=True, eq=False)
class ProblemFile:
    """What a problem file says.

    Parameters
    ----------
    path : Path
    problem : Problem
    theta : (h, d) array or None
        The truth, if the file has one; the means of the arms if unstructured.
    noise : "gaussian" or "bernoulli"
    results : Results or None
        The raw results to draw measurements from, if the file has them.
    guess : Guess or None
    items : ItemNoise or None
        If results share items, how they are thought to scatter, for plans and simulations.
    delta, seed : float or None, int or None
    budget : float or None
        What may be spent: results, or cost if the problem has costs.
    goal : str or None
        What is to be proven, if not the whole set.
    rules : dict
        The table ``[rules]``: choices by name, whose values are checked where they are used.
    study : dict
        The table ``[study]``, likewise: how a study is to be conducted.
    """

    path: Path
    problem: Problem
    theta: Floats | None
    noise: str
    results: Results | None
    guess: Guess | None
    items: ItemNoise | None
    delta: float | None
    seed: int | None
    budget: float | None
    goal: str | None
    rules: dict[str, Any]
    study: dict[str, Any]

    @property
    def instance(self) -> Instance:
        """The problem with its truth; an error if the file has none."""
        if self.theta is None:
            key = "truth" if self.problem.unstructured else "theta"
            raise InputError(
                f"{self.path.name} has no truth, so it cannot be simulated: add the key {key!r}"
            )
        return Instance(
            self.problem.name,
            self.problem,
            self.theta,
            self.noise,
            self.results,
            items=self.items,
            params={"file": str(self.path)},
        )


def read_problem_file(path: str | os.PathLike[str]) -> ProblemFile:
    """Read and check a problem file and the tables it names.

    Parameters
    ----------
    path : path of a TOML file
        Tables are looked for beside it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "tea.toml").write_text('''
    ... arms = ["green", "black"]
    ... objectives = [{name = "taste", variance = 1.0}]
    ... [truth]
    ... green = [2.0]
    ... black = [1.5]
    ... ''')
    >>> read_problem_file(folder / "tea.toml").instance.pareto_set
    ('green',)
    """
    path = Path(path)
    text = read_text("the problem file", path)
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{shown(path.name)} has tables or lists nested too deeply") from None
    except ValueError as error:  # TOML that is none, or a number of thousands of digits
        reason = " ".join(str(error).split(";")[0].split())
        raise InputError(f"{shown(path.name)} is not valid TOML: {reason[:200]}") from None
    try:
        return _build(path, data)
    except InputError as error:
        raise InputError(f"{shown(path.name)}: {error}") from None


def _build(path: Path, data: dict[str, Any]) -> ProblemFile:
    check_keys("key", data, KEYS)
    objectives, covariance = _objectives(data)
    arms, features = _arms(path, data)
    answers = _path(path, data, "answers")
    problem = Problem(
        name=_optional(data, "name", str) or path.stem,
        objectives=objectives,
        covariance=covariance,
        arms=arms,
        features=features,
        answers=None if answers is None else read_csv(answers),
        parameter_set=_parameter_set(data),
        prior=_prior(path, data),
        regularization=data.get("regularization"),
        intercept=data.get("intercept"),
        costs=_costs(path, data),
        control=_optional(data, "control", str),
        epsilon=data.get("epsilon"),
        limits=data.get("limits"),
        noise_guess=_noise_guess(data),
        partial=data.get("partial", False),
        blocks=_blocks(path, data),
    )
    results = _results(path, data, problem)
    theta = _theta(path, data, problem)
    if results is not None and problem.unstructured:
        if theta is not None:
            raise InputError(
                "both 'truth' and 'results' are given, but the means of the results are the "
                "truth: remove one of them"
            )
        theta = _means(problem, results)
    noise = _optional(data, "noise", str) or NOISES[0]
    if noise not in NOISES:
        raise unknown("noise", noise, NOISES)
    delta = _optional(data, "delta", float)
    if delta is not None and not 0 < delta < 1:
        raise InputError(f"delta must lie strictly between 0 and 1, got {quote(delta)}")
    seed = _optional(data, "seed", int)
    if seed is not None and seed < 0:
        raise InputError(f"seed must be at least 0, got {quote(seed)}")
    if seed is not None and seed.bit_length() > SEED_BITS:
        raise InputError(f"seed must be less than 2^{SEED_BITS}, got {quote(seed)}")
    budget = read_budget(problem, _optional(data, "budget", float))
    goal = _optional(data, "goal", str)
    read_goal(problem, goal)  # complains
    rules = _optional(data, "rules", dict) or {}
    check_keys("key of [rules]", rules, RULE_KEYS)
    for key in RULE_NUMBERS:
        if key in rules and rules[key] != "estimate":
            read_positive(f"{key!r} of [rules]", rules[key])
    guess = _guess(path, data, problem)
    study = _optional(data, "study", dict) or {}
    return ProblemFile(
        *(path, problem, theta, noise, results, guess, _item_noise(data, problem, noise)),
        *(delta, seed, budget, goal, rules, study),
    )


def _objectives(data: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return what is said of each by name, and the covariance or their own variances."""
    entries = data.get("objectives")
    if entries is not None and not isinstance(entries, list):
        got = "one table [objectives]" if isinstance(entries, dict) else quote(entries)
        raise InputError(
            "objectives are a list, of names or of tables: write [[objectives]], in double "
            f"brackets, above each, with its name and direction; got {got}"
        )
    if not entries:
        raise InputError("there are no objectives: add a table [[objectives]] for each")
    entries = [{"name": entry} if isinstance(entry, str) else entry for entry in entries]
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise InputError(
                f"objective {number} must be a name or a table, got {quote(entry)}"
            )
        for key in entry:
            if key in KEYS and key not in OBJECTIVE_KEYS:
                raise InputError(
                    f"{key!r} is written below [[objectives]], which makes it part of "
                    f"objective {number}: move it to the top of the file"
                )
        check_keys(f"key of objective {number}", entry, OBJECTIVE_KEYS)
        if not isinstance(entry.get("name"), str):
            raise InputError(f"objective {number} has no name: add one")
        if "variance" in entry:
            named = quote(entry["name"])
            read_positive(f"the variance of objective {named}", entry["variance"])
    names = [entry["name"] for entry in entries]
    check_distinct("objective", names)
    said = {
        entry["name"]: {key: entry[key] for key in SCALE_KEYS if key in entry}
        for entry in entries
    }
    without = [entry["name"] for entry in entries if "variance" not in entry]
    if "covariance" in data:
        if len(without) < len(entries):
            raise InputError("give either 'covariance' or a variance per objective, not both")
        return said, data["covariance"]
    if len(without) == len(entries):
        return said, PER_ARM
    if without:
        raise InputError(
            f"objective {without[0]!r} has no variance: add one, or the key 'covariance'"
        )
    return said, [entry["variance"] for entry in entries]


def _arms(path: Path, data: Mapping[str, Any]) -> tuple[Any, Table | None]:
    """Names (or their number) and features, one of the two ``None``."""
    arms = data.get("arms")
    if isinstance(arms, str):
        table = read_csv(path.parent / arms)
        return (None, table) if table.columns else (table.names, None)
    if isinstance(arms, list | int) and not isinstance(arms, bool):
        return arms, None
    if arms is None:
        raise InputError("there are no arms: set 'arms' to a list of names or a CSV file")
    raise InputError(
        f"'arms' must be a list of names, their number or a CSV file, got {quote(arms)}"
    )


def _parameter_set(data: Mapping[str, Any]) -> Ball | Box | None:
    table = _optional(data, "parameter_set", dict)
    if table is None:
        return None
    check_keys("key of [parameter_set]", table, SET_KEYS)
    if set(table) == {"ball"}:
        return Ball(table["ball"])
    if set(table) == {"low", "high"}:
        return Box(table["low"], table["high"])
    raise InputError("[parameter_set] must have either 'ball', or both 'low' and 'high'")


def _prior(path: Path, data: Mapping[str, Any]) -> Prior | None:
    table = _optional(data, "prior", dict)
    if table is None:
        return None
    check_keys("key of [prior]", table, PRIOR_KEYS)
    for key in PRIOR_KEYS:
        if key not in table:
            raise InputError(f"[prior] has no {key!r}: add the key")
    means = table["means"]
    return Prior(
        _by_row(path, table, "means") if isinstance(means, str) else means, table["pulls"]
    )


def _costs(path: Path, data: Mapping[str, Any]) -> Any:
    """Read what pulls cost: a table, a list, or a CSV file with a column of them."""
    costs = data.get("costs")
    if not isinstance(costs, str):
        return costs
    table = read_csv(path.parent / costs)
    if len(table.columns) != 1:
        raise InputError(
            f"{shown(costs)} must have one column of costs beside the arms, got "
            f"{len(table.columns)}"
        )
    return dict(zip(table.names, table.rows[:, 0].tolist(), strict=True))


def _noise_guess(data: Mapping[str, Any]) -> NoiseGuess | None:
    table = _optional(data, "noise_guess", dict)
    if table is None or data.get("blocks"):
        return None
    _exactly("key of [noise_guess]", table, NOISE_GUESS_KEYS)
    return NoiseGuess(table["covariance"], table["results"])


def _item_noise(data: Mapping[str, Any], problem: Problem, noise: str) -> ItemNoise | None:
    """Read the guess of the noise of results that share items."""
    if "noise_guess" not in data or not problem.blocks:
        return None
    table = data["noise_guess"]
    check_keys("key of [noise_guess] with blocks", table, ITEM_NOISE_KEYS)
    if "between" not in table:
        raise InputError(
            "with blocks [noise_guess] is for plans and simulations, and needs 'between': the "
            "share of the variance that is between items"
        )
    return read_item_noise(
        problem, table.get("covariance"), table["between"], noise == "bernoulli"
    )


def _blocks(path: Path, data: Mapping[str, Any]) -> Any:
    """Read whether arms share items: true, a list of them, or a CSV file."""
    given = data.get("blocks", False)
    if isinstance(given, str):
        return read_csv(path.parent / given).names
    if not isinstance(given, bool | list):
        raise InputError(
            f"'blocks' must be true, a list of items or a CSV file, got {quote(given)}"
        )
    return given


def _theta(path: Path, data: Mapping[str, Any], problem: Problem) -> Floats | None:
    """Read the truth (h, d) with its rows and columns in the problem's order."""
    key, other = ("truth", "theta") if problem.unstructured else ("theta", "truth")
    if other in data:
        setting = "without" if problem.unstructured else "with"
        raise InputError(f"arms {setting} features have their truth in {key!r}, not {other!r}")
    if key not in data:
        return None
    rows = problem.arms if problem.unstructured else problem.feature_names
    theta = np.empty((len(rows), problem.d))
    for i, values in enumerate(_cells_by_row(_by_row(path, data, key), key, rows, problem)):
        for c, value in enumerate(values):
            if not _is_finite(value):
                raise InputError(
                    f"{key!r} of {rows[i]!r} must be finite numbers, got {quote(value)}"
                )
            theta[i, c] = value
    return theta


def _guess(path: Path, data: Mapping[str, Any], problem: Problem) -> Guess | None:
    """Read a guess: of the arms, or with features of theta, numbers or pairs of them."""
    if "guess" not in data:
        return None
    given = _by_row(path, data, "guess")
    of_arms = problem.unstructured or not set(given) <= set(problem.feature_names)
    rows = problem.arms if of_arms else problem.feature_names
    ends = np.empty((2, len(rows), problem.d))
    for i, values in enumerate(_cells_by_row(given, "guess", rows, problem)):
        for c, value in enumerate(values):
            pair = value if isinstance(value, list) else [value, value]
            if len(pair) != 2 or not all(map(_is_finite, pair)) or pair[0] > pair[1]:
                raise InputError(
                    f"the guess of {rows[i]!r} in {problem.objectives[c]!r} must be a finite "
                    f"number or a range [low, high], got {quote(value)}"
                )
            ends[:, i, c] = pair
    return Guess(of_arms, ends[0], ends[1])


def _by_row(path: Path, data: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a table of the file, or the CSV file it names, by row."""
    given = data[key]
    if isinstance(given, str):
        table = read_csv(path.parent / given)
        return {
            name: dict(zip(table.columns, row, strict=True))
            for name, row in zip(table.names, table.rows.tolist(), strict=True)
        }
    if not isinstance(given, dict):
        raise InputError(f"{key!r} must be a CSV file or a table, got {quote(given)}")
    return given


def _cells_by_row(
    named: dict[str, Any], key: str, rows: tuple[str, ...], problem: Problem
) -> list[list[Any]]:
    """Return the d cells of each row, in the problem's order; of an intercept left out 0."""
    if problem.intercept and rows == problem.feature_names:
        named = {rows[-1]: [0.0] * problem.d, **named}
    _exactly(f"row of {key!r}", named, rows)
    found = [named[name] for name in rows]
    for i, values in enumerate(found):
        if isinstance(values, dict):
            _exactly(f"objective in {key!r}", values, problem.objectives)
            found[i] = [values[objective] for objective in problem.objectives]
        elif not isinstance(values, list) or len(values) != problem.d:
            raise InputError(
                f"{key!r} of {rows[i]!r} must be {problem.d} numbers, got {quote(values)}"
            )
    return found


def _is_finite(value: object) -> bool:
    number = as_float(value)
    return number is not None and math.isfinite(number)


def _results(path: Path, data: Mapping[str, Any], problem: Problem) -> Results | None:
    source = _path(path, data, "results")
    if source is None:
        return None
    grid = read_cells(source)
    header, lines = grid.header, grid.with_points(problem.objectives).lines
    for column in ("arm", *problem.objectives):  # other columns are left alone
        if column not in header:
            raise InputError(
                f"{source.name} has no column {quote(column)}; its columns: {listing(header)}"
            )
    arms = np.empty(len(lines), dtype=np.int64)
    values = np.empty((len(lines), problem.d))
    for i, (line, cells) in enumerate(lines):
        row = dict(zip(header, cells, strict=True))
        try:
            arms[i] = problem.arm_index(row["arm"])
        except InputError as error:
            raise InputError(f"{grid.place(line)}: {error}") from None
        values[i] = [read_cell(grid.place(line), c, row[c]) for c in problem.objectives]
    return Results(arms, values)


def _means(problem: Problem, results: Results) -> Floats:
    counts = np.bincount(results.arms, minlength=problem.K)
    for arm, count in zip(problem.arms, counts, strict=True):
        if count == 0:
            raise InputError(f"the results have no row for arm {arm!r}: every arm needs one")
    sums = np.zeros((problem.K, problem.d))
    np.add.at(sums, results.arms, results.values)
    return sums / counts[:, None]


def _exactly(kind: str, given: Mapping[str, object], expected: tuple[str, ...]) -> None:
    check_keys(kind, given, expected)
    for name in expected:
        if name not in given:
            raise InputError(f"missing {kind}: {name!r}")


def _path(path: Path, data: Mapping[str, Any], key: str) -> Path | None:
    name = _optional(data, key, str)
    return None if name is None else path.parent / name


def _optional(data: Mapping[str, Any], key: str, kind: type[T]) -> T | None:
    value = data.get(key)
    fits = isinstance(value, int | float if kind is float else kind)
    if value is not None and (isinstance(value, bool) or not fits):
        raise InputError(f"{key!r} must be {WORDS[kind]}, got {quote(value)}")
    return value
