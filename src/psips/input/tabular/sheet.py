"""How far the cells of an Excel sheet reach, found out in one pass that keeps none of them.

Cells that have a format and no content count for nothing: someone who has formatted whole
columns has a table as long as its last value.
"""

from __future__ import annotations

import re
from typing import IO, NamedTuple
from xml.parsers import expat

from psips.input.tabular.limits import check_beside, check_cells

LAST_ROW, LAST_COLUMN = 1_048_576, 16_384  # of Excel
CELL = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
BLOCK = 65_536  # bytes that are parsed at once
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
        self._begin = self._past = 0  # bytes before the cells, and up to their end
        self._parser = parser = self._reader()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        self._parse(parser, sheet)
        check_cells(self._name, self._cells)
        check_beside(self._name, parser.CurrentByteIndex - (self._past - self._begin))
        return Extent(self._rows, self._columns, self._unsolved)

    def count(self, texts: IO[bytes]) -> None:
        """Count the texts that cells may share, each of which costs as much as a cell."""
        found = 0

        def start(tag: str, _: dict[str, str]) -> None:
            nonlocal found
            found += tag.rpartition(":")[2] == "si"
            if found % 1000 == 0:
                check_cells(self._name, found)

        parser = self._reader()
        parser.StartElementHandler = start
        self._parse(parser, texts)
        check_cells(self._name, found)

    def _parse(self, parser: expat.XMLParserType, part: IO[bytes]) -> None:
        """Parse a part; a tag longer than all that may be besides cells is not waited for."""
        given = 0
        while block := part.read(BLOCK):
            parser.Parse(block, False)
            given += len(block)
            check_beside(self._name, given - max(parser.CurrentByteIndex, 0))
        parser.Parse(b"", True)

    def _reader(self) -> expat.XMLParserType:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._doctype
        return parser

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
        elif tag == "sheetData":
            self._begin = self._parser.CurrentByteIndex
        elif tag in FILLED:
            self._rows = max(self._rows, self._row)
            self._columns = max(self._columns, self._column)
            self._formula = self._formula or tag == "f"
            self._in_value = tag != "f"

    def _end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        if tag in FILLED:
            self._in_value = False
        elif tag == "sheetData":
            self._past = self._parser.CurrentByteIndex
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


def types_of(parts: IO[bytes]) -> dict[str, str]:
    """Return what each part of an Excel file is, as the list of them says."""
    found: dict[str, str] = {}

    def start(tag: str, given: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "Override":
            found[given.get("PartName", "").removeprefix("/")] = given.get("ContentType", "")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.ParseFile(parts)
    return found


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
