"""What a problem file holds besides the problem: a truth, a guess, raw results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, check_keys, listing, quote
from psips.input.quantities import as_float
from psips.input.tables import read_cell, read_cells, read_csv
from psips.problem.instances import Results
from psips.problem.problem import Problem

WORDS = {str: "a string", int: "a whole number", float: "a number", dict: "a table"}


T = TypeVar("T")


class Guess(NamedTuple):
    """What is expected before anything is measured: every number lies between two ends."""

    of_arms: bool  # rows are the means of the arms, not rows of theta
    low: Floats  # (K, d) or (h, d)
    high: Floats  # of the same shape


def read_truth(path: Path, data: Mapping[str, Any], problem: Problem) -> Floats | None:
    """Read the truth (h, d) with its rows and columns in the problem's order."""
    key, other = ("truth", "theta") if problem.unstructured else ("theta", "truth")
    if other in data:
        setting = "without" if problem.unstructured else "with"
        raise InputError(f"arms {setting} features have their truth in {key!r}, not {other!r}")
    if key not in data:
        return None
    rows = problem.arms if problem.unstructured else problem.feature_names
    theta = np.empty((len(rows), problem.d))
    for i, values in enumerate(_cells_by_row(by_row(path, data, key), key, rows, problem)):
        for c, value in enumerate(values):
            if not _is_finite(value):
                raise InputError(
                    f"{key!r} of {rows[i]!r} must be finite numbers, got {quote(value)}"
                )
            theta[i, c] = value
    return theta


def read_guess(path: Path, data: Mapping[str, Any], problem: Problem) -> Guess | None:
    """Read a guess: of the arms, or with features of theta, numbers or pairs of them."""
    if "guess" not in data:
        return None
    given = by_row(path, data, "guess")
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


def by_row(path: Path, data: Mapping[str, Any], key: str) -> dict[str, Any]:
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
    check_exactly(f"row of {key!r}", named, rows)
    found = [named[name] for name in rows]
    for i, values in enumerate(found):
        if isinstance(values, dict):
            check_exactly(f"objective in {key!r}", values, problem.objectives)
            found[i] = [values[objective] for objective in problem.objectives]
        elif not isinstance(values, list) or len(values) != problem.d:
            raise InputError(
                f"{key!r} of {rows[i]!r} must be {problem.d} numbers, got {quote(values)}"
            )
    return found


def _is_finite(value: object) -> bool:
    number = as_float(value)
    return number is not None and math.isfinite(number)


def read_raw_results(path: Path, data: Mapping[str, Any], problem: Problem) -> Results | None:
    """Read the raw results that measurements are drawn from."""
    source = beside(path, data, "results")
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


def means_of(problem: Problem, results: Results) -> Floats:
    """Mean (K, d) of each arm's results."""
    counts = np.bincount(results.arms, minlength=problem.K)
    for arm, count in zip(problem.arms, counts, strict=True):
        if count == 0:
            raise InputError(f"the results have no row for arm {arm!r}: every arm needs one")
    sums = np.zeros((problem.K, problem.d))
    np.add.at(sums, results.arms, results.values)
    return sums / counts[:, None]


def check_exactly(kind: str, given: Mapping[str, object], expected: tuple[str, ...]) -> None:
    """Raise unless just the names that are expected were given."""
    check_keys(kind, given, expected)
    for name in expected:
        if name not in given:
            raise InputError(f"missing {kind}: {name!r}")


def beside(path: Path, data: Mapping[str, Any], key: str) -> Path | None:
    """Path of a table that the file names, looked for next to it."""
    name = optional(data, key, str)
    return None if name is None else path.parent / name


def optional(data: Mapping[str, Any], key: str, kind: type[T]) -> T | None:
    """Value of a key, of the kind that is expected; None if it is left out."""
    value = data.get(key)
    fits = isinstance(value, int | float if kind is float else kind)
    if value is not None and (isinstance(value, bool) or not fits):
        raise InputError(f"{key!r} must be {WORDS[kind]}, got {quote(value)}")
    return value
