"""Problem files: a TOML file with CSV tables next to it, as docs/problem-file.md describes."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psips.aliases import Floats
from psips.errors import InputError, check_distinct, check_keys, quote, unknown
from psips.input.checks import Table, read_positive
from psips.input.durations import read_duration
from psips.input.files import read_text, shown
from psips.input.quantities import as_float, delta_of, expected_of
from psips.input.tables import read_csv
from psips.problem.file_tables import (
    Guess,
    beside,
    by_row,
    means_of,
    optional,
    read_guess,
    read_raw_results,
    read_truth,
)
from psips.problem.goals_and_budget import read_budget, read_goal, read_of
from psips.problem.instances import NOISES, Instance, Results
from psips.problem.item_noise import ItemNoise, read_item_noise
from psips.problem.noise import NoiseGuess
from psips.problem.noise import read_guess as read_guess_of_noise
from psips.problem.parameters import Ball, Box, Prior
from psips.problem.problem import Problem
from psips.problem.scales import KEYS as SCALE_KEYS

KEYS = (
    *("name", "objectives", "covariance", "arms", "answers", "parameter_set"),
    *("prior", "regularization", "intercept", "noise", "truth", "theta", "results", "guess"),
    *("costs", "control", "epsilon", "limits", "budget", "time_limit", "goal"),
    *("noise_guess", "partial", "items", "blocks", "of", "delta", "confidence", "guarantee"),
    "seed",
    *("expected_results", "rules", "study"),
)
OBJECTIVE_KEYS = ("name", *SCALE_KEYS, "variance")
SET_KEYS = ("ball", "low", "high")
PRIOR_KEYS = ("means", "pulls")
NOISE_GUESS_KEYS = ("covariance", "results")
ITEM_NOISE_KEYS = ("covariance", "between")
SEED_BITS = 128
TUNING_KEYS = ("eta", "alpha", "kappa")
RULE_KEYS = (
    *("guarantee", "expected_results"),
    *("sampling", "stopping", "calibration", "draws", "tracking", "tuning"),
    *TUNING_KEYS,  # of files from before [rules.tuning]
)


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
    scatter : matrix, variances or None
        The covariance that results are thought to have, if it is for plans and simulations
        alone.
    delta, seed : float or None, int or None
    budget : float or None
        What may be spent: results, or cost if the problem has costs.
    time_limit : float or None
        Seconds that may be spent from the first ask on; plans and simulations know no time.
    goal : str or None
        What is to be proven, if not the whole set.
    of : str
        Of which items the question is, see `psips.Session`. Plans and simulations are of items
        like these.
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
    scatter: Any
    delta: float | None
    seed: int | None
    budget: float | None
    time_limit: float | None
    goal: str | None
    of: str
    rules: dict[str, Any]
    study: dict[str, Any]

    @property
    def simulated(self) -> Problem | None:
        """The problem with the noise of simulated results; None if it says that itself."""
        if self.scatter is None:
            return None
        data = {k: v for k, v in self.problem.to_dict().items() if k != "partial"}
        return Problem.from_dict({**data, "covariance": self.scatter})

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
            truth=self.simulated,
            items=self.items,
            params={"file": str(self.path)},
        )


def read_problem_file(path: str | os.PathLike[str]) -> ProblemFile:
    """Read and check a problem file and the tables it names.

    Parameters
    ----------
    path : path of a TOML file
        Tables are looked for next to it.

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
    if "alpha" in data:
        raise InputError(
            f"alpha = {quote(data['alpha'])}: write delta = {quote(data['alpha'])} for the "
            f"accepted probability of being wrong, or put alpha into a table [rules.tuning] "
            f"for the exponent of forced exploration"
        )
    check_keys("key", data, KEYS)
    objectives, covariance = _objectives(data)
    arms, features = _arms(path, data)
    answers = beside(path, data, "answers")
    problem = Problem(
        name=optional(data, "name", str) or path.stem,
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
        control=optional(data, "control", str),
        epsilon=data.get("epsilon"),
        limits=data.get("limits"),
        noise_guess=_noise_guess(data),
        partial=data.get("partial", False),
        items=_items(path, data),
    )
    results = read_raw_results(path, data, problem)
    theta = read_truth(path, data, problem)
    if results is not None and problem.unstructured:
        if theta is not None:
            raise InputError(
                "both 'truth' and 'results' are given, but the means of the results are the "
                "truth: remove one of them"
            )
        theta = means_of(problem, results)
    noise = optional(data, "noise", str) or NOISES[0]
    if noise not in NOISES:
        raise unknown("noise", noise, NOISES)
    delta = _delta(data)
    seed = optional(data, "seed", int)
    if seed is not None and seed < 0:
        raise InputError(f"seed must be at least 0, got {quote(seed)}")
    if seed is not None and seed.bit_length() > SEED_BITS:
        raise InputError(f"seed must be less than 2^{SEED_BITS}, got {quote(seed)}")
    budget = read_budget(problem, optional(data, "budget", float))
    time_limit = None
    if "time_limit" in data:
        time_limit = read_duration("the time limit", data["time_limit"])
    goal = optional(data, "goal", str)
    read_goal(problem, goal)  # complains
    rules = _rules(data)
    guess = read_guess(path, data, problem)
    study = optional(data, "study", dict) or {}
    return ProblemFile(
        *(path, problem, theta, noise, results, guess, _item_noise(data, problem, noise)),
        _scatter(data, problem),
        *(delta, seed, budget, time_limit, goal, read_of(problem, data.get("of"))),
        *(rules, study),
    )


def _delta(data: Mapping[str, Any]) -> float | None:
    """Read the accepted probability of being wrong, given as such or as a confidence."""
    delta, confidence = (optional(data, key, float) for key in ("delta", "confidence"))
    if delta is not None and confidence is not None:
        raise InputError("'delta' and 'confidence' say the same thing twice: remove one")
    if delta is not None and not 0 < delta < 1:
        raise InputError(f"delta must lie strictly between 0 and 1, got {quote(delta)}")
    return delta if confidence is None else delta_of(confidence)


def _rules(data: Mapping[str, Any]) -> dict[str, Any]:
    """Read the table [rules]; constants are gathered in its table ``tuning``."""
    rules = dict(optional(data, "rules", dict) or {})
    check_keys("key of [rules]", rules, RULE_KEYS)
    above = {
        "guarantee": optional(data, "guarantee", str),
        "expected_results": data.get("expected_results"),
    }
    for key, value in above.items():
        if value is not None and key in rules:
            raise InputError(f"{key!r} is in the file and in [rules]: remove one of them")
        if value is not None:
            rules[key] = value
    if "expected_results" in rules:
        rules["expected_results"] = expected_of(rules["expected_results"])
    tuning = dict(optional(rules, "tuning", dict) or {})
    check_keys("key of [rules.tuning]", tuning, TUNING_KEYS)
    for key in TUNING_KEYS:
        if key in rules and key in tuning:
            raise InputError(f"{key!r} is in [rules] and in [rules.tuning]: remove one of them")
        table = "rules" if key in rules else "rules.tuning"
        if key in rules:
            tuning[key] = rules.pop(key)
        if key in tuning and tuning[key] != "estimate":
            read_positive(f"{key!r} of [{table}]", tuning[key])
    return {**rules, "tuning": tuning} if tuning else rules


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
            if as_float(entry["variance"]) != 0.0:  # of an exact metric
                read_positive(f"the variance of objective {named}", entry["variance"])
    names = [entry["name"] for entry in entries]
    check_distinct("objective", names)
    said = {
        entry["name"]: {key: entry[key] for key in SCALE_KEYS if key in entry}
        for entry in entries
    }
    for entry in entries:  # a variance of 0 says that a metric is exact
        if "variance" in entry and as_float(entry["variance"]) == 0.0:
            said[entry["name"]].setdefault("kind", "exact")
    noisy = [one for one in entries if said[one["name"]].get("kind") != "exact"]
    without = [one["name"] for one in noisy if "variance" not in one]
    if "covariance" in data:
        if len(without) < len(noisy):
            raise InputError("give either 'covariance' or a variance per objective, not both")
        return said, data["covariance"]
    if len(without) == len(noisy):
        return said, None
    if without:
        raise InputError(
            f"objective {without[0]!r} has no variance: add one, or the key 'covariance'"
        )
    return said, [entry.get("variance", 0.0) for entry in entries]


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
    table = optional(data, "parameter_set", dict)
    if table is None:
        return None
    check_keys("key of [parameter_set]", table, SET_KEYS)
    if set(table) == {"ball"}:
        return Ball(table["ball"])
    if set(table) == {"low", "high"}:
        return Box(table["low"], table["high"])
    raise InputError("[parameter_set] must have either 'ball', or both 'low' and 'high'")


def _prior(path: Path, data: Mapping[str, Any]) -> Prior | None:
    table = optional(data, "prior", dict)
    if table is None:
        return None
    check_keys("key of [prior]", table, PRIOR_KEYS)
    for key in PRIOR_KEYS:
        if key not in table:
            raise InputError(f"[prior] has no {key!r}: add the key")
    means = table["means"]
    return Prior(
        by_row(path, table, "means") if isinstance(means, str) else means, table["pulls"]
    )


def _costs(path: Path, data: Mapping[str, Any]) -> Any:
    """Read what pulls cost: a table, a list, or a CSV file with a column of them."""
    costs = data.get("costs")
    if not isinstance(costs, str):
        return costs
    table = read_csv(path.parent / costs)
    if len(table.columns) != 1:
        raise InputError(
            f"{shown(costs)} must have one column of costs next to the arms, got "
            f"{len(table.columns)}"
        )
    return dict(zip(table.names, table.rows[:, 0].tolist(), strict=True))


def _noise_guess(data: Mapping[str, Any]) -> NoiseGuess | None:
    table = optional(data, "noise_guess", dict)
    if table is None or data.get("items", data.get("blocks")):
        return None
    check_keys("key of [noise_guess]", table, NOISE_GUESS_KEYS)
    if "covariance" not in table:
        raise InputError("[noise_guess] has no 'covariance': add the key")
    if "results" not in table:  # for plans alone, see _scatter
        return None
    return NoiseGuess(table["covariance"], table["results"])


def _scatter(data: Mapping[str, Any], problem: Problem) -> Any:
    """Read a guess of the noise that is worth no results: for plans and simulations alone."""
    table = data.get("noise_guess")
    if table is None or problem.has_items or "results" in table:
        return None
    guess = NoiseGuess(table["covariance"], 1.0)
    read_guess_of_noise(problem.objectives, problem.noise, guess, problem.exact)
    return table["covariance"]


def _item_noise(data: Mapping[str, Any], problem: Problem, noise: str) -> ItemNoise | None:
    """Read the guess of the noise of results that share items."""
    if "noise_guess" not in data or not problem.has_items:
        return None
    table = data["noise_guess"]
    check_keys("key of [noise_guess] with items", table, ITEM_NOISE_KEYS)
    if "between" not in table:
        raise InputError(
            "with items [noise_guess] is for plans and simulations, and needs 'between': the "
            "share of the variance that is between items"
        )
    return read_item_noise(
        problem, table.get("covariance"), table["between"], noise == "bernoulli"
    )


def _items(path: Path, data: Mapping[str, Any]) -> Any:
    """Read whether arms share items: true, their number, a list of them, or a CSV file."""
    if "items" in data and "blocks" in data:
        raise InputError("'blocks' is the former name of 'items': remove 'blocks'")
    given = data.get("items", data.get("blocks", False))
    if isinstance(given, str):
        return read_csv(path.parent / given).names
    if not isinstance(given, bool | int | list):
        key = "items" if "items" in data else "blocks"
        raise InputError(
            f"{key!r} must be true, how many items there are, a list of items or a CSV file, "
            f"got {quote(given)}"
        )
    return given
