"""How much of a packed table is read: small files can unpack to any size.

A text file is as large as it looks. An Excel or Parquet file says in its directory how large it
is when unpacked, and is refused by that before anything is read.
"""

from __future__ import annotations

from psips.errors import InputError

MOST_BYTES = 100_000_000  # unpacked
MOST_CELLS = 2_000_000


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
