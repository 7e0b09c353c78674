"""Results as users give them: one arm's values, or a table of many, checked as a whole."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, check_keys, listing, quote
from psips.input.quantities import as_float
from psips.problem.instances import Results
from psips.problem.problem import Problem

ARM = "arm"  # the column of a table that names the arm
ITEM = "item"  # .. and, if the arms share items, the item
LARGEST_VALUE = 1e50  # where the noise is not known: squares of sums stay finite
FARTHEST = 1e14  # standard deviations of the noise from 0: a float has no digits beyond
SUMMARIES = ("n", "se", "sd", "sem", "std")  # columns that a table of means has


def is_frame(given: Any) -> bool:
    """Whether something is a table with named columns, that is, a DataFrame."""
    return hasattr(given, "columns") and hasattr(given, "to_numpy")


def are_rows(given: Any) -> bool:
    """Whether something is a list of results, each a mapping."""
    return (
        isinstance(given, list | tuple)
        and bool(given)
        and all(isinstance(one, Mapping) for one in given)
    )


def nothing_told(arm: object, values: object = None) -> InputError:
    """Build the error for a call of tell that lacks the arm, its values, or both.

    Examples
    --------
    >>> print(nothing_told(None, [1.0]))
    the arm is None: name the arm that was measured, as in tell(arm, values)
    >>> print(nothing_told("A"))
    there are no values with 'A': give the arm and what was measured, as in tell(arm, values)
    """
    if arm is None and values is None:
        return InputError(
            "there is nothing to tell, got None: give the arm and what was measured, as in "
            "tell(arm, values), or a DataFrame of results"
        )
    if arm is None:
        return InputError(
            "the arm is None: name the arm that was measured, as in tell(arm, values)"
        )
    return InputError(
        f"there are no values with {quote(arm)}: give the arm and what was measured, as in "
        "tell(arm, values)"
    )


def read_values(problem: Problem, given: Any) -> Floats:
    """Read the values (d,) of one result, in the user's orientation; NaN for a missing value.

    Parameters
    ----------
    problem : Problem
    given : mapping by objective, sequence in their order, or one number if there is one

    Examples
    --------
    >>> problem = Problem(objectives=["yield", "cost"], covariance=[1, 1], arms=2)
    >>> read_values(problem, {"cost": 2, "yield": 5})
    array([5., 2.])
    >>> read_values(problem, [5])
    Traceback (most recent call last):
    psips.errors.InputError: expected 2 values (for 'yield', 'cost'), got 1
    """
    objectives = problem.objectives
    if hasattr(given, "to_dict") and hasattr(given, "index"):  # a pandas Series
        given = given.to_dict()
    if isinstance(given, Mapping):
        named = {str(key): value for key, value in given.items()}
        check_keys("objective", named, objectives)
        missing = [objective for objective in objectives if objective not in named]
        if missing and not problem.partial:
            raise InputError(
                f"the result has no value for objective {listing(missing)}: give it, or allow "
                f"missing values with partial=True in the problem"
            )
        cells = [named.get(objective) for objective in objectives]
    elif isinstance(given, Sequence | np.ndarray) and not isinstance(given, str | bytes):
        cells = list(np.atleast_1d(given)) if isinstance(given, np.ndarray) else list(given)
    else:
        cells = [given]
    if len(cells) != problem.d:
        raise InputError(
            f"expected {problem.d} values (for {listing(objectives)}), got {len(cells)}"
        )
    values = np.array([read_cell(problem, c, cell) for c, cell in enumerate(cells)])
    check_some(values)
    return values


def read_cell(problem: Problem, c: int, cell: Any) -> float:
    """Read the value of one objective; NaN if it is missing and may be."""
    objective = problem.objectives[c]
    if is_missing(cell):
        if problem.partial:
            return math.nan
        raise InputError(
            f"the value of {quote(objective)} is missing (it is {quote(cell)}): give it, or "
            f"allow missing values with partial=True in the problem"
        )
    return problem.scales[c].check(objective, _number(problem, c, cell))


def is_missing(cell: Any) -> bool:
    """Whether a cell stands for a value that is not there: None, NaN, or an empty text."""
    if cell is None or (isinstance(cell, str) and cell == ""):
        return True
    return type(cell).__name__ == "NAType" or bool(isinstance(cell, float) and math.isnan(cell))


def check_some(values: Floats) -> None:
    """Raise if a result (d,) has no value at all."""
    if np.isnan(values).all():
        raise InputError("the result has no value in any objective: give at least one")


def read_changes(problem: Problem, given: Any) -> dict[str, float]:
    """Read new values of one result by objective; a mapping need not have them all.

    Examples
    --------
    >>> problem = Problem(objectives=["yield", "cost"], covariance=[1, 1], arms=2)
    >>> read_changes(problem, {"cost": 2})
    {'cost': 2.0}
    """
    if hasattr(given, "to_dict") and hasattr(given, "index"):  # a pandas Series
        given = given.to_dict()
    if isinstance(given, Mapping):
        named = {str(key): value for key, value in given.items()}
        check_keys("objective", named, problem.objectives)
        if not named:
            raise InputError("the correction has no values: give those that change")
        pairs = enumerate(problem.objectives)
        return {o: read_cell(problem, c, named[o]) for c, o in pairs if o in named}
    values = read_values(problem, given).tolist()
    return dict(zip(problem.objectives, values, strict=True))


def summary_column(columns: Sequence[str], objectives: Sequence[str]) -> str | None:
    """Return the column that makes a table one of means, not of measurements, if there is one.

    Examples
    --------
    >>> summary_column(["arm", "yield", "yield_se"], ["yield"])
    'yield_se'
    """
    ends = {f"{o}{mark}{s}" for o in objectives for mark in " _.-" for s in SUMMARIES}
    summed = {*SUMMARIES, *(end.lower() for end in ends)} - set(objectives)
    return next((c for c in columns if c.lower() in summed and c not in objectives), None)


def means_refused(column: str) -> str:
    """Say why a table of means is refused."""
    return (
        f"the column {quote(column)} looks like one of a table of means, but a result is one "
        "measurement: give a line for each measurement, or rename the column"
    )


def read_results(problem: Problem, given: Any) -> Results:
    """Read many results from a DataFrame; nothing is returned unless every row is fine.

    Parameters
    ----------
    problem : Problem
    given : DataFrame
        A column ``arm`` (or the arms' names as index) and a column per objective; other
        columns are left alone.

    Examples
    --------
    >>> import pandas as pd
    >>> problem = Problem(objectives=["taste"], covariance=[1], arms=["green", "black"])
    >>> table = pd.DataFrame({"arm": ["black", "green"], "taste": [4, 3], "day": [1, 1]})
    >>> read_results(problem, table).arms.tolist()
    [1, 0]
    """
    columns = [str(column) for column in given.columns]
    summed = summary_column(columns, problem.objectives)
    if summed is not None:
        raise InputError(means_refused(summed))
    by_index = ARM not in columns and _names_arms(given.index)
    for column in [*([] if by_index else [ARM]), *problem.objectives]:
        if columns.count(column) != 1:
            has = "several columns" if column in columns else "no column"
            raise InputError(
                f"the table of results has {has} {quote(column)}; its columns: "
                f"{listing(columns)}"
            )
    names = list(given.index if by_index else given.iloc[:, columns.index(ARM)])
    arms = np.empty(len(names), dtype=np.int64)
    for row, name in enumerate(names):
        try:
            arms[row] = problem.arm_index(name)
        except InputError as error:
            raise InputError(f"row {row + 1} of the results: {error}") from None
    values = np.empty((len(names), problem.d))
    for c, objective in enumerate(problem.objectives):
        column = given.iloc[:, columns.index(objective)]
        cells = list(enumerate(column))
        if column.dtype.kind in "biuf" and problem.scales[c].plain:
            values[:, c] = column.to_numpy()
            bad = np.flatnonzero(~(np.abs(values[:, c]) <= _farthest(problem, c)))
            cells = [cells[row] for row in bad]
        for row, cell in cells:
            try:
                values[row, c] = read_cell(problem, c, cell)
            except InputError as error:
                raise InputError(f"row {row + 1} of the results: {error}") from None
    for row in np.flatnonzero(np.isnan(values).all(axis=1)).tolist():
        raise InputError(f"row {row + 1} of the results has no value in any objective")
    return Results(arms, values)


def read_rows(problem: Problem, given: Sequence[Mapping[str, Any]]) -> Results:
    """Read many results from mappings, each with the arm and a value for each objective.

    Keys that are neither are left alone, as columns of a table are.

    Examples
    --------
    >>> problem = Problem(objectives=["taste"], covariance=[1], arms=["green", "black"])
    >>> read_rows(problem, [{"arm": "black", "taste": 4, "day": 1}]).values.tolist()
    [[4.0]]
    """
    arms, values = [], []
    for number, row in enumerate(given, start=1):
        try:
            if ARM not in row:
                keys = listing([str(key) for key in row]) or "nothing"
                raise InputError(f"it names no {quote(ARM)}; its keys: {keys}")
            arms.append(problem.arm_index(row[ARM]))
            own = {name: row[name] for name in problem.objectives if name in row}
            values.append(read_values(problem, own))
        except InputError as error:
            raise InputError(f"row {number} of the results: {error}") from None
    return Results(np.array(arms, np.int64), np.array(values))


def _names_arms(index: Any) -> bool:
    """Whether an index names the arms, and does not just number the rows."""
    return bool(index.name == ARM or (index.name is None and index.dtype.kind not in "iu"))


def check_size(problem: Problem, c: int, value: float) -> float:
    """Check that the noise of an objective can still be seen in a value of it.

    Examples
    --------
    >>> problem = Problem(objectives=["yield"], covariance=[1], arms=2)
    >>> check_size(problem, 0, 1e15)
    Traceback (most recent call last):
    psips.errors.InputError: the value of 'yield' must be at most 1e+14 standard deviations ...
    """
    if abs(value) <= _farthest(problem, c):
        return value
    if _sd(problem, c) is None:
        raise InputError(
            f"the value of {quote(problem.objectives[c])} must be at most {LARGEST_VALUE:g} in "
            f"size, got {value!r}: choose another unit"
        )
    raise InputError(
        f"the value of {quote(problem.objectives[c])} must be at most {FARTHEST:g} standard "
        f"deviations of the noise from 0, got {value!r}: choose another unit or origin"
    )


def _sd(problem: Problem, c: int) -> float | None:
    """Return the smallest standard deviation of an objective; None if it is not known."""
    scale = problem.scales[c]
    if problem.covariance is None or scale.log or scale.exact:
        return None
    return math.sqrt(problem.covariance[..., c, c].min())


def _farthest(problem: Problem, c: int) -> float:
    sd = _sd(problem, c)
    return LARGEST_VALUE if sd is None else FARTHEST * sd


def _number(problem: Problem, c: int, cell: Any) -> float:
    objective = problem.objectives[c]
    truth = isinstance(cell, bool | np.bool_)  # a success or a failure: 1 or 0
    value = float(cell) if truth else as_float(cell)
    if value is None:
        raise InputError(f"the value of {quote(objective)} must be a number, got {quote(cell)}")
    if not np.isfinite(value):
        raise InputError(f"the value of {quote(objective)} must be finite, got {quote(cell)}")
    return check_size(problem, c, value)
