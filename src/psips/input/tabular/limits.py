"""How much of a packed table is read: small files can unpack to any size.

A text file is as large as it looks. An Excel or Parquet file says in its directory how large it
is when unpacked, and is refused by that before anything is read.
"""

from __future__ import annotations

from psips.errors import InputError

MOST_BYTES = 100_000_000  # unpacked
MOST_CELLS = 2_000_000
MOST_OF_A_PART = 3_000_000  # bytes of an Excel file's formats, or of its list of sheets
MOST_BESIDE = 2_000_000  # bytes of an Excel sheet besides its cells: validation, links


def check_bytes(name: str, count: int) -> None:
    """Refuse a file that is too large when unpacked."""
    if count > MOST_BYTES:
        raise InputError(
            f"{name} is too large: unpacked it has {count:,} bytes, and at most {MOST_BYTES:,} "
            "are read; split it, or save it as CSV"
        )


def check_cells(name: str, count: int) -> None:
    """Refuse a table of too many cells."""
    if count > MOST_CELLS:
        raise InputError(
            f"{name} is too large: it has {count:,} cells or more, empty ones with a format "
            f"included, and at most {MOST_CELLS:,} are read; split it, or save it as CSV"
        )


def check_part(name: str, count: int) -> None:
    """Refuse an Excel file with too many formats, or names."""
    if count > MOST_OF_A_PART:
        raise InputError(
            f"{name} has {count:,} bytes of formats or names, and at most {MOST_OF_A_PART:,} "
            "are read: copy the table to a new file, or save it as CSV"
        )


def check_beside(name: str, count: int) -> None:
    """Refuse an Excel sheet with too much besides its cells."""
    if count > MOST_BESIDE:
        raise InputError(
            f"{name} has more than {MOST_BESIDE:,} bytes of validation, links or the like in a "
            "sheet, which is the limit: copy the table to a new file, or save it as CSV"
        )
