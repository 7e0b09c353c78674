"""Excel sheets: what their cells show, as texts."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from psips.errors import InputError, advice, listing, unknown
from psips.input.quantities import stripped
from psips.input.tabular.grid import Grid
from psips.input.tabular.limits import MOST_CELLS, check_bytes, check_part
from psips.input.tabular.sheet import Extent, Survey, letters, types_of

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook

REACH = 5 * MOST_CELLS  # places of the rectangle that holds all cells, however many are filled
TYPES = "[Content_Types].xml"
WHOLLY = ("xl/styles.xml", "xl/_rels/workbook.xml.rels")  # parts that are read as a whole
WHOLE = 1e15  # whole numbers up to here are written without a point


def read_excel(name: str, data: bytes, sheet: str | None) -> Grid:
    """Read one sheet; the rows have the numbers that Excel shows."""
    load = _loader(name)
    with _reading(name), ZipFile(io.BytesIO(data)) as archive:
        survey = Survey(name)
        _weigh(name, archive, survey)
        with contextlib.closing(load(io.BytesIO(data), read_only=True, data_only=True)) as book:
            extents = {}
            for found in book.worksheets:
                where = found._worksheet_path  # type: ignore[attr-defined]
                with archive.open(where) as part:
                    extents[found.title] = survey.measure(part)
            title = _sheet(name, [t for t, extent in extents.items() if extent.rows], sheet)
            extent = extents[title]
            _check(name, extent)
            rows = book[title].iter_rows(
                max_row=extent.rows, max_col=extent.columns, values_only=True
            )
            lines = []
            size = 0  # cells may share a text: it counts as often as it is there
            for number, row in enumerate(rows, start=1):
                if any(value is not None for value in row):
                    lines.append((number, [as_text(value) for value in row]))
                    size += sum(map(len, lines[-1][1]))
                    check_bytes(name, size)
    lines = [(number, cells) for number, cells in lines if any(cells)]
    if not lines:
        raise _empty(name)
    titles = _titles([cells for _, cells in lines])
    (_, header), *rest = lines[titles:]
    return Grid(name, header, rest, unit="row", titles=titles)


def _weigh(name: str, archive: ZipFile, survey: Survey) -> None:
    """Refuse a file that is too large, before any part of it is read as a whole."""
    check_bytes(name, sum(member.file_size for member in archive.infolist()))
    check_part(name, archive.getinfo(TYPES).file_size)
    with archive.open(TYPES) as part:
        types = types_of(part)
    for member in archive.infolist():
        kind = types.get(member.filename, "")
        if kind.endswith("sharedStrings+xml"):
            with archive.open(member) as part:
                survey.count(part)
        elif member.filename in WHOLLY or kind.endswith("main+xml"):
            check_part(name, member.file_size)


def _titles(rows: list[list[str]]) -> int:
    """Return how many rows stand above the header: they have few cells next to the others.

    Examples
    --------
    >>> _titles([["Trial in May", "", "", ""], ["arm", "x", "y", ""], ["A", "1", "2", ""]])
    1
    """
    filled = [sum(map(bool, cells)) for cells in rows]
    return next(k for k, count in enumerate(filled) if count > max(filled) / 2.0)


def _check(name: str, extent: Extent) -> None:
    """Refuse a sheet with cells missing, or with cells far away from all others."""
    if extent.unsolved is not None:
        raise InputError(
            f"{name} cell {extent.unsolved} has a formula whose value is not in the "
            "file: open it in Excel and save it, or write the value"
        )
    if extent.rows * extent.columns > REACH:
        raise InputError(
            f"{name} has cells as far away as column {letters(extent.columns)} and row "
            f"{extent.rows:,}: delete what is not part of the table, or save it as CSV"
        )


def as_text(value: Any) -> str:
    """Write the value of a cell as a text: numbers with a point, dates as in ISO 8601.

    Examples
    --------
    >>> as_text(1.5), as_text(2.0), as_text(None), as_text(True)
    ('1.5', '2', '', 'TRUE')
    """
    if value is None or value != value:  # an empty cell, or one that is not a number
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < WHOLE:
        return str(int(value))
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime):
        midnight = value.time() == time(0) and value.tzinfo is None
        return value.date().isoformat() if midnight else value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    return stripped(str(value))


@contextlib.contextmanager
def _reading(name: str) -> Iterator[None]:
    """Say of whatever goes wrong that the file cannot be read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and validation, which are not read
            yield
    except (InputError, MemoryError):
        raise
    except Exception:  # parsers raise errors of any kind
        raise InputError(
            f"{name} cannot be read as an Excel file: save it again as .xlsx, or as CSV"
        ) from None


def _loader(name: str) -> Callable[..., Workbook]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise InputError(
            f"{name} is an Excel file, and to read it openpyxl is needed: pip install "
            "'psips[excel]', or save it as CSV"
        ) from None
    return load_workbook


def _sheet(name: str, filled: list[str], sheet: str | None) -> str:
    if not filled:
        raise _empty(name)
    if sheet is not None:
        if sheet not in filled:
            raise unknown(f"sheet of {name}", sheet, filled)
        return sheet
    if len(filled) > 1:
        say = advice("say which with --sheet", "leave one of them in the file")
        raise InputError(f"{name} has the sheets {listing(filled)}: {say}")
    return filled[0]


def _empty(name: str) -> InputError:
    return InputError(f"{name} is empty: it needs a header line and lines below it")
