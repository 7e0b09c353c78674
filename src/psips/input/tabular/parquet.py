"""Parquet files, as texts like all other tables."""

from __future__ import annotations

import io

from psips.errors import InputError
from psips.input.quantities import stripped
from psips.input.tabular.excel import as_text
from psips.input.tabular.grid import Grid


def read_parquet(name: str, data: bytes) -> Grid:
    """Read a Parquet file; its rows are counted from 1, and the header is none of them."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InputError(
            f"{name} is a Parquet file, and to read it pyarrow is needed: pip install "
            "'psips[parquet]', or save it as CSV"
        ) from None
    try:
        table = parquet.read_table(io.BytesIO(data))
        columns = [column.to_pylist() for column in table.columns]
    except (ArrowException, OSError, ValueError):
        raise InputError(
            f"{name} cannot be read as a Parquet file: save it anew, or as CSV"
        ) from None
    rows = enumerate(zip(*columns, strict=True), start=1)
    lines = [(number, [as_text(cell) for cell in row]) for number, row in rows]
    return Grid(name, [stripped(str(c)) for c in table.column_names], lines, unit="row")
