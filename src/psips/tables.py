"""Tables beside a problem file: CSV with one header line, every cell where it belongs."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from psips.checks import Table
from psips.errors import InputError, check_distinct, quote
from psips.files import read_text, shown
from psips.quantities import parse_number, stripped


def read_csv(path: Path) -> Table:
    """Read a table: names in the first column, numbers in the others, one header line."""
    header, lines = read_cells(path)
    first: dict[str, int] = {}
    for line, (name, *_) in lines:
        if not name:
            raise InputError(f"{path.name} line {line} has an empty name")
        if name in first:
            raise InputError(
                f"{path.name} line {line}: duplicate name {quote(name)}, first on line "
                f"{first[name]}"
            )
        first[name] = line
    rows = [
        [read_cell(path, line, *cell) for cell in zip(header[1:], cells[1:], strict=True)]
        for line, cells in lines
    ]
    array = np.array(rows, dtype=np.float64).reshape(len(lines), len(header) - 1)
    return Table(tuple(first), tuple(header[1:]), array)


def read_cells(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Header, and for each further line its number and its cells, all of equal length."""
    text = read_text("the table", path)
    try:
        reader = csv.reader(io.StringIO(text, newline=""))
        lines = [(reader.line_num, [stripped(cell) for cell in row]) for row in reader if row]
    except csv.Error as error:
        raise InputError(f"{shown(path.name)} is not a CSV file: {error}") from None
    if len(lines) < 2:
        raise InputError(f"{path.name} must have a header line and at least one more line")
    (_, header), *rest = lines
    check_distinct(f"column in {path.name}", header)
    for line, cells in rest:
        if len(cells) != len(header):
            raise InputError(
                f"{path.name} line {line} has {len(cells)} cells, but its header has "
                f"{len(header)}"
            )
    return header, rest


def read_cell(path: Path, line: int, column: str, cell: str) -> float:
    """Read the number in a cell."""
    return parse_number(f"{path.name} line {line}, column {quote(column)},", cell)
