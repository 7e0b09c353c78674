"""Parquet files, as texts like all other tables."""

from __future__ import annotations

import io

from psips.errors import InputError
from psips.input.quantities import stripped
from psips.input.tabular.excel import as_text
from psips.input.tabular.grid import Grid
from psips.input.tabular.limits import check_bytes, check_cells

BATCH = 1000  # rows that are unpacked at once


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
        about = parquet.read_metadata(io.BytesIO(data))
        check_cells(name, about.num_rows * about.num_columns)
        groups = [about.row_group(group) for group in range(about.num_row_groups)]
        check_bytes(name, sum(group.total_byte_size for group in groups))
        leaves = [about.schema.column(leaf) for leaf in range(about.num_columns)]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        file = parquet.ParquetFile(io.BytesIO(data), read_dictionary=texts)
        header = [stripped(str(column)) for column in file.schema_arrow.names]
        lines: list[tuple[int, list[str]]] = []
        length = 0  # of all texts: one that stands in every row is stored once
        for batch in file.iter_batches(BATCH, use_threads=False):
            for row in range(batch.num_rows):
                cells = [as_text(column[row].as_py()) for column in batch.columns]
                lines.append((len(lines) + 1, cells))
                length += sum(map(len, cells))
                check_bytes(name, length)
    except (ArrowException, OSError, ValueError, LookupError, ArithmeticError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{name} cannot be read as a Parquet file: save it again, or as CSV"
        ) from None
    return Grid(name, header, lines, unit="row")
