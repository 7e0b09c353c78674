"""Files of results as they are delivered: what they say, and whether they came before."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from psips.errors import InputError, advice, check_keys, quote
from psips.input.tabular import Grid
from psips.problem import Problem
from psips.problem.measurements import ARM
from psips.store.events import canonical
from psips.study.rows import TICKET, Row, Told, read_csv_rows

ALL = "all"  # stands for every column that is left


class Delivery(NamedTuple):
    """A file of results. ``digest`` is of what its cells say, however the file was saved."""

    name: str
    digest: str
    rows: list[Row]
    skipped: tuple[str, ...] = ()  # places of the lines left out

    def payload(self) -> dict[str, Any]:
        """Return what the log keeps of the file."""
        skipped = {"skipped": list(self.skipped)} if self.skipped else {}
        return {"name": self.name, "digest": self.digest, **skipped}


def read_delivery(
    path: str | PathLike[str] | Grid,
    problem: Problem,
    keep_columns: Sequence[str] = (),
    skip_incomplete: bool = False,
    sheet: str | None = None,
    arm_column: str | None = None,
) -> Delivery:
    """Read a file of results.

    Parameters
    ----------
    path : path of a file, or a table
        See `psips.study.rows.read_csv_rows`.
    problem : Problem
    keep_columns : sequence of str
        Columns that are neither ticket, arm nor objective and are to be recorded with the
        results; ``["all"]`` for all of them.
    skip_incomplete : bool
        Whether lines in which a value is missing are left out.
    sheet, arm_column : str, optional
        See `psips.study.rows.read_csv_rows`.
    """
    rows = read_csv_rows(path, problem, sheet, arm_column)
    name = path.name if isinstance(path, Grid) else Path(path).name
    header = list(rows[0].cells)
    digest = hashlib.sha256(
        canonical([header, *(list(row.cells.values()) for row in rows)]).encode(
            "utf-8", "surrogatepass"
        )
    ).hexdigest()
    others = [c for c in header if c not in (TICKET, ARM, *problem.objectives)]
    if list(keep_columns) == [ALL] and ALL not in others:
        keep_columns = others
    check_keys("column to keep", keep_columns, others)
    if keep_columns:
        rows = [row._replace(kept={c: row.cells[c] for c in keep_columns}) for row in rows]
    skipped: tuple[str, ...] = ()
    if skip_incomplete:
        rows, skipped = complete_rows(problem, rows)
        if not rows:
            raise InputError(
                f"every line of {quote(name)} has an empty cell: no result is left"
            )
    return Delivery(name, digest, rows, skipped)


def complete_rows(problem: Problem, rows: Sequence[Row]) -> tuple[list[Row], tuple[str, ...]]:
    """Return the rows in which no value is missing, and the places of the others."""
    whole = [row for row in rows if all(row.cells[o] != "" for o in problem.objectives)]
    kept = {row.place for row in whole}
    return whole, tuple(row.place for row in rows if row.place not in kept)


def check_repetition(delivery: Delivery, told: Sequence[Told], files: dict[str, str]) -> None:
    """Raise if a file was told before and its results would be counted a second time."""
    at = files.get(delivery.digest)
    if told and at is not None:
        raise InputError(
            f"the results in {quote(delivery.name)} were told already, on {at[:10]} at "
            f"{at[11:19]} UTC, and {len(told)} of them would be counted twice: if they are new "
            f"measurements, {advice('add --again (from Python: again=True)', 'say so below')}"
        )
