"""Results as rows with a ticket or an arm, checked together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from typing import Any, NamedTuple

from psips.errors import InputError, advice, listing, nearest, quote, unknown
from psips.input.quantities import as_float, in_words, parse_number
from psips.input.tabular import Grid, read_grid
from psips.problem import Problem
from psips.problem.measurements import (
    ARM,
    ITEM,
    check_size,
    is_missing,
    means_refused,
    summary_column,
)
from psips.session.items import read_item
from psips.study.ledger import Ledger, Values, id_of

TICKET = "ticket"  # the column that names the ticket


class Row(NamedTuple):
    """One result as given: where it stands, for messages, and its cells by column."""

    where: str
    cells: Mapping[str, Any]
    kept: Mapping[str, str] | None = None  # other columns, to be recorded with the result
    place: str = ""  # in its file, as in "line 7"


class Told(NamedTuple):
    """One result that may be recorded."""

    ticket: str | None
    arm: str
    values: Values
    kept: Mapping[str, str] | None = None
    where: str = ""
    item: str | None = None


class ProblemsError(InputError):
    """Several things are wrong with a table of results; nothing was done with it.

    Parameters
    ----------
    problems : list of str
        One sentence each.
    outcome : str
        What was not done.
    """

    def __init__(self, problems: Sequence[str], outcome: str = "nothing was recorded") -> None:
        self.problems = list(problems)
        if len(self.problems) == 1:
            message = self.problems[0]
        else:
            message = f"{len(self.problems)} problems, so {outcome}:\n"
            message += "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(message)


def read_csv_rows(
    path: str | PathLike[str] | Grid,
    problem: Problem,
    sheet: str | None = None,
    arm_column: str | None = None,
) -> list[Row]:
    """Read a file of results; `check_rows` looks at what the cells say.

    Parameters
    ----------
    path : path of a CSV, Excel or Parquet file
        With a header line, a column ``ticket`` or ``arm`` or both, and a column for each
        objective. Other columns are left alone. Or a table that has been read already.
    problem : Problem
    sheet : str, optional
        Of an Excel file with several.
    arm_column : str, optional
        The column that names the arms, if it is not called ``arm``.
    """
    grid = path if isinstance(path, Grid) else read_grid(path, "the results", sheet)
    if arm_column is not None:
        if arm_column not in grid.header:
            raise unknown(f"column of {grid.name}", arm_column, grid.header)
        grid = grid.renamed(arm_column, ARM)
    header = grid.header
    problems = _check_header(grid.name, header, problem)
    if not grid.lines:
        problems.append(f"{grid.name} has a header line and no results below it")
    problems += grid.ragged()
    if problems:
        raise ProblemsError(problems)
    return [
        Row(
            f"{grid.place(number)}: ",
            dict(zip(header, cells, strict=True)),
            place=f"{grid.unit} {number}",
        )
        for number, cells in grid.with_points(problem.objectives).lines
    ]


def _check_header(name: str, header: Sequence[str], problem: Problem) -> list[str]:
    problems = []
    for column in (TICKET, ARM, *problem.objectives):
        if header.count(column) > 1:
            problems.append(f"{name} has several columns {column!r}")
    missing = [objective for objective in problem.objectives if objective not in header]
    others = [column for column in header if column not in (TICKET, ARM, *problem.objectives)]
    shown = listing(header)
    if missing:
        near = [(objective, nearest(objective, others)) for objective in missing]
        hints = [f"rename {quote(n)} to {quote(o)} if it is that" for o, n in near if n]
        hint = f": {', '.join(hints)}" if hints else ""
        problems.append(f"{name} has no column {listing(missing)}; its columns: {shown}{hint}")
    summed = summary_column(header, problem.objectives)
    if summed is not None:
        problems.append(f"{name}: {means_refused(summed)}")
    if TICKET not in header and ARM not in header:
        problems.append(
            f"{name} has no column 'ticket' or 'arm'; its columns: {shown}: if one of them "
            f"names the arms, {advice('say so with --arm-column', 'rename it to arm')}"
        )
    return problems


def check_rows(problem: Problem, ledger: Ledger, rows: Iterable[Row]) -> tuple[list[Told], int]:
    """Return the results that are new, and how many were known; or every problem in a list.

    A result whose ticket has the very same result already is known.
    """
    problems: list[str] = []
    new: list[Told] = []
    known = 0
    told_now: dict[str, Told] = {}
    for row in rows:
        told, wrong = _read_row(problem, ledger, row.cells)
        if told is not None and told.ticket is not None:
            earlier = told_now.setdefault(told.ticket, told)
            if earlier != told:
                wrong.append(f"ticket {told.ticket!r} has another result further up")
            try:
                if earlier is not told or _is_known(problem, ledger, told):
                    known += 1
                    told = None
            except InputError as error:
                wrong.append(str(error))
        problems += [f"{row.where}{sentence}" for sentence in wrong]
        if told is not None:
            new.append(told._replace(kept=row.kept, where=row.where))
    if problems:
        raise ProblemsError(problems)
    return new, known


def asked_row(problem: Problem, ledger: Ledger, row: Row) -> dict[str, Any]:
    """Return a row as an event would have it; what cannot be recorded as a text.

    A ticket says what arm and item are meant, whether they stand next to it or not.
    """
    ticket = _ticket(row.cells.get(TICKET))
    arm, item = (_text(row.cells.get(column)) for column in (ARM, ITEM))
    item = item if problem.has_items else None
    with suppress(InputError):
        asked = ledger.ticket(ticket or "")
        arm, item = arm or asked.arm, item or asked.item
    values: dict[str, Any] = {}
    for c, objective in enumerate(problem.objectives):
        cell = row.cells.get(objective)
        try:
            values[objective] = _number(problem, c, cell)
        except InputError:
            values[objective] = quote(cell)
    kept = None if row.kept is None else dict(row.kept)
    return {"ticket": ticket, "arm": arm, "item": item, "values": values, "kept": kept}


def _read_row(
    problem: Problem, ledger: Ledger, cells: Mapping[str, Any]
) -> tuple[Told | None, list[str]]:
    """Return a result, or everything that is wrong with it."""
    wrong: list[str] = []
    values: list[float | None] = []
    name, arm = _ticket(cells.get(TICKET)), _text(cells.get(ARM))
    try:
        arm = _find_arm(problem, ledger, name, arm)
    except InputError as error:
        wrong.append(str(error))
    for c, objective in enumerate(problem.objectives):
        try:
            values.append(_number(problem, c, cells.get(objective)))
        except InputError as error:
            wrong.append(str(error))
    item = None
    try:
        item = _find_item(problem, ledger, name, _text(cells.get(ITEM)))
    except InputError as error:
        wrong.append(str(error))
    if not wrong and all(value is None for value in values):
        wrong.append("the result has no value in any objective: give at least one")
    if wrong or arm is None:
        return None, wrong
    return Told(name, arm, tuple(values), item=item), []


def _find_arm(problem: Problem, ledger: Ledger, name: str | None, arm: str | None) -> str:
    if arm is not None:
        problem.arm_index(arm)
    if name is not None:
        asked = ledger.ticket(name).arm
        if arm is not None and arm != asked:
            raise InputError(f"ticket {name!r} is for arm {asked!r}, not {arm!r}")
        arm = asked
    if arm is None:
        raise InputError("the result has neither a ticket nor an arm: give one of them")
    return arm


def _find_item(
    problem: Problem, ledger: Ledger, name: str | None, item: str | None
) -> str | None:
    """Return the item of a result: its own, or that of its ticket; None for none."""
    if not problem.has_items:  # a column of this name is one of the others
        return None
    if item is not None:
        item = read_item(item, problem.items)
    asked = None if name is None else ledger.ticket(name).item
    if item is not None and asked is not None and item != asked:
        raise InputError(f"ticket {name!r} is for item {asked!r}, not {item!r}")
    return asked if item is None else item


def _is_known(problem: Problem, ledger: Ledger, told: Told) -> bool:
    """Whether the ticket has this result already; an error if it cannot take it."""
    ticket = ledger.ticket(told.ticket or "")
    if ticket.cancelled:
        raise InputError(
            f"ticket {ticket.id!r} was cancelled: if arm {ticket.arm!r} was measured after "
            "all, tell the result by its arm"
        )
    if ticket.result is None:
        return False
    result = ledger.result(ticket.result)
    if result.withdrawn:
        raise InputError(
            f"the result of ticket {ticket.id!r} was withdrawn: tell a new measurement by its "
            "arm"
        )
    if result.values != told.values:
        has = ", ".join(
            f"{o}={in_words(v) if v is None else repr(v)}"
            for o, v in zip(problem.objectives, result.values, strict=True)
        )
        what = "is to be completed" if None in result.values else "was wrong"
        raise InputError(
            f"ticket {ticket.id!r} has another result already ({has}): if that one {what}, "
            "correct it"
        )
    return True


def _text(cell: Any) -> str | None:
    """Return a name; None for an empty cell, also one of a DataFrame."""
    if cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell)):
        return None
    return str(cell)


def _ticket(cell: Any) -> str | None:
    """Return the id of a ticket; None for an empty cell."""
    return _text(id_of(cell) if isinstance(cell, str) else cell)


def _number(problem: Problem, c: int, cell: Any) -> float | None:
    """Read a cell of a file or of a table; None if it is missing and may be."""
    objective, scale = problem.objectives[c], problem.scales[c]
    if isinstance(cell, float) and math.isfinite(cell):
        return scale.check(objective, check_size(problem, c, cell))
    what = f"the value of {quote(objective)}"
    if is_missing(cell):
        if problem.partial:
            return None
        leave = advice("out with --skip-incomplete", "out")
        raise InputError(
            f"{what} is missing: fill it in, leave such lines of a file {leave}, or allow "
            "missing values with partial = true in the design"
        )
    value = parse_number(what, cell) if isinstance(cell, str) else as_float(cell)
    if value is None:
        raise InputError(f"{what} must be a number, got {quote(cell)}")
    if not math.isfinite(value):
        raise InputError(f"{what} must be finite, got {quote(cell)}")
    return scale.check(objective, check_size(problem, c, value))
