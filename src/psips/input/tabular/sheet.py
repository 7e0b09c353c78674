"""How far the cells of an Excel sheet reach, found out in one pass that keeps none of them.

Cells that have a format and no content count for nothing: somebody who has formatted whole
columns has a table as long as its last value.
"""

from __future__ import annotations

import re
from typing import IO, NamedTuple
from xml.parsers import expat

from psips.input.tabular.limits import check_cells

LAST_ROW, LAST_COLUMN = 1_048_576, 16_384  # of Excel
CELL = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
FILLED = ("v", "f", "is")  # elements that a cell with content has


class NotASheetError(Exception):
    """What Excel does not write."""


class Extent(NamedTuple):
    """Of a sheet: where its last cells with content are, and a formula without its value."""

    rows: int
    columns: int
    unsolved: str | None


class Survey:
    """Measures the sheets of a file, all of which count towards its cells."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._cells = 0

    def measure(self, sheet: IO[bytes]) -> Extent:
        """Read a sheet to its end."""
        self._row = self._column = self._rows = self._columns = 0
        self._unsolved: str | None = None
        self._formula = self._value = self._in_value = False
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        parser.ParseFile(sheet)
        check_cells(self._name, self._cells)
        return Extent(self._rows, self._columns, self._unsolved)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "c":
            self._cells += 1
            if self._cells % 1000 == 0:
                check_cells(self._name, self._cells)
            self._column = self._place(attributes.get("r"))
            self._formula = self._value = False
        elif tag == "row":
            self._column = 0
            self._next_row(attributes.get("r"))
        elif tag in FILLED:
            self._rows = max(self._rows, self._row)
            self._columns = max(self._columns, self._column)
            self._formula = self._formula or tag == "f"
            self._in_value = tag != "f"

    def _end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        if tag in FILLED:
            self._in_value = False
        elif tag == "c" and self._formula and not self._value and self._unsolved is None:
            self._unsolved = f"{letters(self._column)}{self._row}"

    def _text(self, _: str) -> None:
        self._value = self._value or self._in_value

    def _next_row(self, given: str | None) -> None:
        row = self._row + 1 if given is None else int(given)
        if not self._row < row <= LAST_ROW:  # in another order rows would be lost on reading
            raise NotASheetError
        self._row = row

    def _place(self, given: str | None) -> int:
        """Return the column of a cell."""
        if given is None:
            return self._column + 1
        found = CELL.fullmatch(given)
        column = 0
        for letter in found[1] if found else "":
            column = 26 * column + ord(letter) - 64
        if found is None or int(found[2]) != self._row or column > LAST_COLUMN:
            raise NotASheetError
        return column

    def _doctype(self, *_: object) -> None:
        raise NotASheetError


def letters(column: int) -> str:
    """Name a column as Excel does.

    Examples
    --------
    >>> letters(1), letters(26), letters(27), letters(16_384)
    ('A', 'Z', 'AA', 'XFD')
    """
    text = ""
    while column > 0:
        column, place = divmod(column - 1, 26)
        text = chr(65 + place) + text
    return text
