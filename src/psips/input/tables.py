"""Tables next to a problem file: one header line, every cell where it belongs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from psips.errors import InputError, check_distinct, quote
from psips.input.checks import Table
from psips.input.quantities import parse_number
from psips.input.tabular import Grid, read_grid


def read_csv(path: Path) -> Table:
    """Read a table: names in the first column, numbers in the others, one header line."""
    grid = read_cells(path)
    header, lines = grid.header, grid.with_points(grid.header[1:]).lines
    first: dict[str, int] = {}
    for line, (name, *_) in lines:
        if not name:
            raise InputError(f"{grid.place(line)} has an empty name")
        if name in first:
            raise InputError(
                f"{grid.place(line)}: duplicate name {quote(name)}, first on {grid.unit} "
                f"{first[name]}"
            )
        first[name] = line
    rows = [
        [read_cell(grid.place(line), *cell) for cell in zip(header[1:], cells[1:], strict=True)]
        for line, cells in lines
    ]
    array = np.array(rows, dtype=np.float64).reshape(len(lines), len(header) - 1)
    return Table(tuple(first), tuple(header[1:]), array)


def read_cells(path: Path) -> Grid:
    """Return a table with cells in every place, and names that differ over its columns."""
    grid = read_grid(path)
    if not grid.lines:
        raise InputError(f"{path.name} must have a header line and at least one more line")
    check_distinct(f"column in {path.name}", grid.header)
    for sentence in grid.ragged():
        raise InputError(sentence)
    return grid


def read_cell(place: str, column: str, cell: str) -> float:
    """Read the number in a cell."""
    return parse_number(f"{place}, column {quote(column)},", cell)
