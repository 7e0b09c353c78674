"""From a file to a table: what kind of file it is, and what is the same for all kinds."""

from __future__ import annotations

import os
from pathlib import Path

from psips.errors import InputError
from psips.input.files import read_bytes, shown
from psips.input.tabular.grid import Grid

ZIP, PARQUET, OLD_OFFICE = b"PK\x03\x04", b"PAR1", bytes.fromhex("d0cf11e0a1b11ae1")


def read_grid(
    path: str | os.PathLike[str], what: str = "the table", sheet: str | None = None
) -> Grid:
    """Read a table of any kind.

    Parameters
    ----------
    path : path of a CSV, Excel (.xlsx) or Parquet file
        Text is in UTF-8, or in UTF-16 with a byte-order mark. Excel needs openpyxl and
        Parquet pyarrow.
    what : str
        What the file should be, for messages.
    sheet : str, optional
        Of an Excel file; not needed if only one has cells.
    """
    data = read_bytes(what, path)
    return parse_grid(shown(Path(path).name), data, f"{what} {shown(path)}", sheet)


def parse_grid(name: str, data: bytes, what: str, sheet: str | None = None) -> Grid:
    """Read a table from the bytes of a file; ``what`` names it in a message about its bytes."""
    if sheet is not None and not data.startswith(ZIP):
        raise InputError(f"{name} is not an Excel file, so it has no sheet: leave --sheet out")
    if data.startswith(ZIP):
        from psips.input.tabular.excel import read_excel

        return _tidy(read_excel(name, data, sheet))
    if data.startswith(PARQUET):
        from psips.input.tabular.parquet import read_parquet

        return _tidy(read_parquet(name, data))
    if data.startswith(OLD_OFFICE):
        raise InputError(
            f"{name} is a file of old Excel (.xls), or one with a password, which cannot be "
            "read: save it as .xlsx or as CSV"
        )
    from psips.input.tabular.text import read_separated

    return _tidy(read_separated(name, what, data))


def _tidy(grid: Grid) -> Grid:
    """Leave out empty lines, and columns at the end that have neither a name nor a cell."""
    lines = [(number, cells) for number, cells in grid.lines if any(cells)]
    width = max((c + 1 for c, name in enumerate(grid.header) if name), default=0)
    if any(any(cells[width:]) for _, cells in lines):
        return grid._replace(lines=lines)
    lines = [(number, cells[:width]) for number, cells in lines]
    return grid._replace(header=grid.header[:width], lines=lines)
