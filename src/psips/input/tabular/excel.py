"""Excel sheets: what their cells show, as texts."""

from __future__ import annotations

import io
import warnings
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from psips.errors import InputError, listing, unknown
from psips.input.quantities import stripped
from psips.input.tabular.grid import Grid

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook

WHOLE = 1e15  # whole numbers up to here are written without a point


def read_excel(name: str, data: bytes, sheet: str | None) -> Grid:
    """Read one sheet; the rows have the numbers that Excel shows."""
    values = _open(name, data, values=True)
    title = _sheet(name, values, sheet)
    formulas = _open(name, data, values=False)[title]
    lines = []
    rows = zip(values[title].iter_rows(), formulas.iter_rows(), strict=True)
    for number, (shown, written) in enumerate(rows, start=1):
        for cell, formula in zip(shown, written, strict=True):
            if formula.value is not None and cell.value is None:
                raise InputError(
                    f"{name} cell {formula.coordinate} has a formula whose value is not in the "
                    "file: open it in Excel and save it, or write the value"
                )
        lines.append((number, [as_text(cell.value) for cell in shown]))
    lines = [(number, cells) for number, cells in lines if any(cells)]
    (_, header), *rest = lines
    return Grid(name, header, rest, unit="row")


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


def _open(name: str, data: bytes, values: bool) -> Workbook:
    try:
        import openpyxl
    except ImportError:
        raise InputError(
            f"{name} is an Excel file, and to read it openpyxl is needed: pip install "
            "'psips[excel]', or save it as CSV"
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and validation, which are not read
            return openpyxl.load_workbook(io.BytesIO(data), data_only=values)
    except Exception:  # it raises what its parsers raise, of any kind
        raise InputError(
            f"{name} cannot be read as an Excel file: save it anew as .xlsx, or as CSV"
        ) from None


def _sheet(name: str, book: Workbook, sheet: str | None) -> str:
    filled = [
        found.title
        for found in book.worksheets
        if any(cell is not None for row in found.iter_rows(values_only=True) for cell in row)
    ]
    if not filled:
        raise InputError(f"{name} is empty: it needs a header line and lines below it")
    if sheet is not None:
        if sheet not in filled:
            raise unknown(f"sheet of {name}", sheet, filled)
        return sheet
    if len(filled) > 1:
        raise InputError(f"{name} has the sheets {listing(filled)}: say which with --sheet")
    return filled[0]
