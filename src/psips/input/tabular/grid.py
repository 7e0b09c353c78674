"""A table as read: names of columns, and below them lines of texts that know where they stand.

Decimal commas are read in files whose cells are separated by semicolons or tabs, and in no
others. Whether a file has them is decided once, by all numbers of the columns in question:

- some numbers with a comma, none with a point: a comma is a decimal comma;
- some with a comma and some with a point: refused, both lines are named;
- with tabs, commas that all stand before three digits (1,234) may be decimal or group
  thousands: refused. Programs write semicolons because the comma is taken by decimals, so with
  semicolons 1,234 is a little more than one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from psips.errors import InputError, quote

COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
POINT = re.compile(r"[+-]?[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?")
SEPARATORS = {";": "semicolons", "\t": "tabs", ",": "commas"}
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


class Grid(NamedTuple):
    """A table of texts.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    header : list of str
    lines : list of (int, list of str)
        Number and cells of each line that is not empty, as long as they came.
    separator : str
        Between the cells of a text file; empty of other files.
    unit : str
        What a line is called where people look at the file: "line" or "row".
    titles : int
        Rows of an Excel sheet above the header that were left out.
    """

    name: str
    header: list[str]
    lines: list[tuple[int, list[str]]]
    separator: str = ""
    unit: str = "line"
    titles: int = 0

    def place(self, number: int) -> str:
        """Name a line in a message."""
        return f"{self.name} {self.unit} {number}"

    def ragged(self) -> list[str]:
        """Return a sentence for each line that has not as many cells as the header."""
        return [
            f"{self.place(number)} has {len(cells)} cells, but its header has "
            f"{len(self.header)}"
            for number, cells in self.lines
            if len(cells) != len(self.header)
        ]

    def renamed(self, old: str, new: str) -> Grid:
        """Return the table with another name for a column."""
        if old == new:
            return self
        if new in self.header:
            raise InputError(
                f"{self.name} has a column {quote(new)} already, so {quote(old)} cannot stand "
                "for it: rename one of them"
            )
        return self._replace(header=[new if name == old else name for name in self.header])

    def dialect(self, columns: Collection[str]) -> str:
        """Say how a file is read, with these columns as numbers; empty if as it stands."""
        if not self.separator:
            rows = "a row" if self.titles == 1 else f"{self.titles} rows"
            return f"{rows} above the header left out" if self.titles else ""
        commas = self.with_points(columns) is not self
        marks = ", decimal commas" if commas else ""
        return f"cells separated by {SEPARATORS[self.separator]}{marks}"

    def with_points(self, columns: Collection[str]) -> Grid:
        """Return the table with decimal points for the decimal commas of some columns.

        Examples
        --------
        >>> grid = Grid("r.csv", ["arm", "x"], [(2, ["A", "1,5"]), (3, ["B", "2"])], ";")
        >>> grid.with_points(["x"]).lines
        [(2, ['A', '1.5']), (3, ['B', '2'])]
        """
        if self.separator not in (";", "\t"):
            return self
        places = [c for c, name in enumerate(self.header) if name in columns]
        commas = self._found(COMMA, places)
        if not commas:
            return self
        points = self._found(POINT, places)
        if points:
            raise InputError(
                f"{self.name} has decimal commas ({_shown(self.unit, commas[0])}) and decimal "
                f"points ({_shown(self.unit, points[0])}): write all numbers one way"
            )
        if self.separator == "\t" and all(THOUSANDS.fullmatch(cell) for _, cell in commas):
            raise InputError(
                f"{self.place(commas[0][0])}: {quote(commas[0][1])} may have a decimal comma "
                "or a comma between thousands, and no other number of the file shows which: "
                "write decimal points, or separate the cells by semicolons"
            )
        lines = [
            (
                number,
                [
                    cell.replace(",", ".") if c in places and COMMA.fullmatch(cell) else cell
                    for c, cell in enumerate(cells)
                ],
            )
            for number, cells in self.lines
        ]
        return self._replace(lines=lines)

    def _found(self, pattern: re.Pattern[str], places: Sequence[int]) -> list[tuple[int, str]]:
        return [
            (number, cells[c])
            for number, cells in self.lines
            for c in places
            if c < len(cells) and pattern.fullmatch(cells[c])
        ]


def _shown(unit: str, found: tuple[int, str]) -> str:
    number, cell = found
    return f"{unit} {number}: {quote(cell)}"
