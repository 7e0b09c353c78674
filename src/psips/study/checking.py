"""Checks of results that are not in a study yet: a file or a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psips.diagnostics import LEVEL, Diagnosis, diagnose
from psips.errors import InputError, quote, unknown
from psips.input.files import shown
from psips.input.quantities import parse_number
from psips.problem import Problem
from psips.problem.exact import without
from psips.problem.instances import Results
from psips.problem.measurements import ARM, read_results
from psips.session.exact import Exact
from psips.session.exact import Row as Known
from psips.study.deliveries import complete_rows
from psips.study.ledger import Ledger
from psips.study.rows import TICKET, ProblemsError, Row, check_rows, read_csv_rows


class Checked(NamedTuple):
    """What is to be said of a file: the diagnosis, and the lines that it is not about."""

    diagnosis: Diagnosis
    incomplete: tuple[str, ...]


def check_results(problem: Problem, results: Any, level: float = LEVEL) -> Diagnosis:
    """Test whether results satisfy the assumptions, and say what to do if not.

    Parameters
    ----------
    problem : Problem
    results : DataFrame, or path of a CSV, Excel or Parquet file
        One row for each result, in the order in which they were measured: a column ``arm`` and
        one for each objective. Lines of a file in which a value is missing are left out.
    level : float
        Chance that anything is found in results that are as assumed.

    Examples
    --------
    >>> import pandas as pd
    >>> problem = Problem(objectives=["taste"], covariance=[1], arms=["green", "black"])
    >>> rng = np.random.default_rng(1)
    >>> table = pd.DataFrame({"arm": ["green", "black"] * 50, "taste": rng.normal(3, 2, 100)})
    >>> [finding.kind for finding in check_results(problem, table).findings]
    ['covariance']
    """
    if isinstance(results, str | os.PathLike):
        return check_file(problem, results, level=level).diagnosis
    read = read_results(problem, results)
    places = [f"row {number}" for number in range(1, len(read.arms) + 1)]
    return _diagnose(problem, read, places, level)


def check_file(
    problem: Problem,
    path: str | os.PathLike[str],
    *,
    sheet: str | None = None,
    arm_column: str | None = None,
    time: str | None = None,
    level: float = LEVEL,
) -> Checked:
    """As `check_results`, of a file.

    Parameters
    ----------
    problem : Problem
    path : path of a CSV, Excel or Parquet file
    sheet, arm_column : str, optional
        See `psips.study.Study.tell_file`.
    time : str, optional
        The column that says when a result was measured: numbers, or dates as in ISO 8601. The
        order of the lines if left out.
    level : float
        Chance that anything is found in results that are as assumed.
    """
    rows = read_csv_rows(path, problem, sheet, arm_column)
    if ARM not in rows[0].cells:
        raise InputError(
            f"{shown(Path(path).name)} names its results by tickets, which only their "
            "study knows: give it a column 'arm'"
        )
    whole, incomplete = complete_rows(problem, rows)
    whole = [row._replace(cells={**row.cells, TICKET: ""}) for row in whole]
    try:
        told, _ = check_rows(problem, Ledger(""), whole)
    except ProblemsError as error:
        raise ProblemsError(error.problems, "nothing was checked") from None
    order = range(len(whole)) if time is None else _order(whole, time)
    read = Results(
        np.array([problem.arm_index(told[i].arm) for i in order], dtype=np.int64),
        np.array([told[i].values for i in order]).reshape(-1, problem.d),
    )
    places = [whole[i].place for i in order]
    return Checked(_diagnose(problem, read, places, level), incomplete)


def _diagnose(
    problem: Problem, read: Results, places: Sequence[str], level: float
) -> Diagnosis:
    """Diagnose results; there is no noise to look at in metrics that are exact."""
    exact = Exact(problem)
    exact.check(read.arms.tolist(), read.values)
    for arm, x in zip(
        read.arms.tolist(), problem.inward(problem.compared(read.values)), strict=True
    ):
        exact.take(Known(arm, x, ()))
    left = without(problem, exact.columns)
    if left.facts is None:
        return diagnose(problem, read.arms, read.values, places, level)
    found = diagnose(left, read.arms, read.values[:, left.facts.rest], places, level)
    names = ", ".join(problem.objectives[c] for c in exact.columns)
    said = f"{names} (the same in all results of an arm: exact, without noise)"
    return replace(found, untested=(*found.untested, said))


def _order(rows: Sequence[Row], column: str) -> list[int]:
    """Return the rows' positions in the order of time; those of one time in that of lines."""
    if rows and column not in rows[0].cells:
        raise unknown("column of times", column, list(rows[0].cells))
    times: list[Any] = []
    for row in rows:
        cell = row.cells[column]
        try:
            times.append(_moment(cell))
        except InputError:
            raise InputError(
                f"{row.where}the time in {quote(column)} must be a number or a date as in "
                f"2026-03-02 (or 2026-03-02 14:30), got {quote(cell)}"
            ) from None
        if type(times[-1]) is not type(times[0]):
            raise InputError(
                f"{row.where}the time in {quote(column)} is {quote(cell)}, but lines above "
                "write it in another way: write all of them one way"
            )
    return sorted(range(len(rows)), key=lambda i: times[i])


def _moment(cell: str) -> float | datetime:
    try:
        return parse_number("the time", cell)
    except InputError:
        pass
    try:
        moment = datetime.fromisoformat(cell)
    except ValueError:
        raise InputError("no time") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
