"""Results as people bring them: rows with a ticket or an arm, checked as a whole."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from psips.errors import InputError, listing, quote
from psips.files import read_text, shown
from psips.measurements import ARM, means_refused, summary_column
from psips.problem import Problem
from psips.quantities import as_float, parse_number, stripped
from psips.study.inputs import check_size
from psips.study.ledger import Ledger

TICKET = "ticket"  # the column that names the ticket


class Row(NamedTuple):
    """One result as given: where it stands, for messages, and its cells by column."""

    where: str
    cells: Mapping[str, Any]
    kept: Mapping[str, str] | None = None  # other columns, to be recorded with the result


class Told(NamedTuple):
    """One result that may be recorded."""

    ticket: str | None
    arm: str
    values: tuple[float, ...]
    kept: Mapping[str, str] | None = None
    where: str = ""


class ProblemsError(InputError):
    """Several things are wrong with a table of results; nothing of it was recorded.

    Parameters
    ----------
    problems : list of str
        One sentence each.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        if len(self.problems) == 1:
            message = self.problems[0]
        else:
            message = f"{len(self.problems)} problems, so nothing was recorded:\n"
            message += "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(message)


def read_csv_rows(path: Path | str, problem: Problem) -> list[Row]:
    """Read a file of results; `check_rows` looks at what the cells say.

    Parameters
    ----------
    path : path of a CSV file
        With a header line, a column ``ticket`` or ``arm`` or both, and a column for each
        objective. Other columns are left alone.
    problem : Problem
    """
    path = Path(path)
    text = read_text("the results", path)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        lines = [(reader.line_num, [stripped(cell) for cell in row]) for row in reader]
    except csv.Error as error:
        raise InputError(f"{shown(path.name)} is not a CSV file: {error}") from None
    lines = [(number, cells) for number, cells in lines if any(cells)]
    if not lines:
        raise InputError(f"{path.name} is empty: it needs a header line and results below it")
    (_, header), *rest = lines
    problems = _check_header(path.name, header, problem)
    if not rest:
        problems.append(f"{path.name} has a header line and no results below it")
    for number, cells in rest:
        if len(cells) != len(header):
            problems.append(
                f"{path.name} line {number} has {len(cells)} cells, but its header has "
                f"{len(header)}"
            )
    if problems:
        raise ProblemsError(problems)
    return [
        Row(f"{path.name} line {number}: ", dict(zip(header, cells, strict=True)))
        for number, cells in rest
    ]


def _check_header(name: str, header: Sequence[str], problem: Problem) -> list[str]:
    problems = []
    for column in (TICKET, ARM, *problem.objectives):
        if header.count(column) > 1:
            problems.append(f"{name} has several columns {column!r}")
    missing = [objective for objective in problem.objectives if objective not in header]
    shown = listing(header)
    if missing:
        problems.append(f"{name} has no column {listing(missing)}; its columns: {shown}")
    summed = summary_column(header, problem.objectives)
    if summed is not None:
        problems.append(f"{name}: {means_refused(summed)}")
    if TICKET not in header and ARM not in header:
        problems.append(f"{name} has no column 'ticket' or 'arm'; its columns: {shown}")
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


def same_results(problem: Problem, payload: Mapping[str, Any], rows: Iterable[Row]) -> bool:
    """Whether an event holds the results of these rows."""
    told = payload["results"]
    wanted = []
    for row in rows:
        cells = row.cells
        ticket = _text(cells.get(TICKET))
        values = {o: _number(o, cells.get(o)) for o in problem.objectives}
        wanted.append((ticket or _text(cells.get(ARM)), values))
    return [(entry["ticket"] or entry["arm"], entry["values"]) for entry in told] == wanted


def _read_row(
    problem: Problem, ledger: Ledger, cells: Mapping[str, Any]
) -> tuple[Told | None, list[str]]:
    """Return a result, or everything that is wrong with it."""
    wrong: list[str] = []
    values: list[float] = []
    name, arm = _text(cells.get(TICKET)), _text(cells.get(ARM))
    try:
        arm = _find_arm(problem, ledger, name, arm)
    except InputError as error:
        wrong.append(str(error))
    for objective in problem.objectives:
        try:
            values.append(_number(objective, cells.get(objective)))
        except InputError as error:
            wrong.append(str(error))
    if wrong or arm is None:
        return None, wrong
    return Told(name, arm, tuple(values)), []


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
            f"{o}={v!r}" for o, v in zip(problem.objectives, result.values, strict=True)
        )
        raise InputError(
            f"ticket {ticket.id!r} has another result already ({has}): if that one was wrong, "
            "correct it"
        )
    return True


def _text(cell: Any) -> str | None:
    """Return a name; None for an empty cell, also one of a DataFrame."""
    if cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell)):
        return None
    return str(cell)


def _number(objective: str, cell: Any) -> float:
    """Read a cell of a file or of a table."""
    what = f"the value of {quote(objective)}"
    if cell is None or cell == "":
        raise InputError(f"{what} is missing")
    value = parse_number(what, cell) if isinstance(cell, str) else as_float(cell)
    if value is None:
        raise InputError(f"{what} must be a number, got {quote(cell)}")
    if not math.isfinite(value):
        raise InputError(f"{what} must be finite, got {quote(cell)}")
    return check_size(objective, value)
