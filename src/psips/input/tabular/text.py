"""Text with separated cells: which character separates them, and in which encoding it is.

The separator is the one of semicolon, tab and comma that the header has outside quotes. If it
has several of them, it is the one by which every line has as many cells as the header; if that
does not tell either, the file is refused. A first line ``sep=;``, as Excel reads it, decides.
"""

from __future__ import annotations

import csv
import io
import re

from psips.errors import InputError
from psips.input.quantities import stripped
from psips.input.tabular.grid import SEPARATORS, Grid

UTF16 = (b"\xff\xfe", b"\xfe\xff")
TOLD = re.compile(r"sep=([;,\t])[;,\t]*\r?\n?", re.IGNORECASE)

Lines = list[tuple[int, list[str]]]


def read_separated(name: str, what: str, data: bytes) -> Grid:
    """Read a text file; ``what`` names it in a message about its bytes."""
    text = _decoded(what, data)
    if "\0" in text:
        raise InputError(f"{name} is not a table: it has NUL characters")
    first, skipped = TOLD.match(text), 0
    if first is not None:
        text, skipped = text[first.end() :], 1
    separator = first[1] if first is not None else _separator(name, text)
    lines = _split(name, text, separator)
    if not lines:
        raise InputError(f"{name} is empty: it needs a header line and lines below it")
    (_, header), *rest = lines
    return Grid(name, header, [(n + skipped, cells) for n, cells in rest], separator)


def _decoded(what: str, data: bytes) -> str:
    if data.startswith(UTF16):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError:
            raise InputError(f"{what} is not in UTF-16, as its first bytes say") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{what} is not in UTF-8: byte {error.start + 1:,} cannot be read; save it as "
            "'CSV UTF-8', or as text in UTF-8"
        ) from None


def _separator(name: str, text: str) -> str:
    header = next((line for line in text.splitlines() if line.strip()), "")
    bare = re.sub(r'"[^"]*"?', "", header)
    found = [separator for separator in SEPARATORS if separator in bare]
    if len(found) < 2:
        return found[0] if found else ","
    even = [separator for separator in found if _is_even(name, text, separator)]
    if len(even) == 1:
        return even[0]
    raise InputError(
        f"{name} has {' and '.join(SEPARATORS[one] for one in found)} in its header, and "
        "the lines below do not show which of them separates the cells: put names that have "
        "such a character in quotes"
    )


def _is_even(name: str, text: str, separator: str) -> bool:
    """Whether all lines have as many cells."""
    try:
        lines = _split(name, text, separator)
    except InputError:
        return False
    return len({len(cells) for _, cells in lines}) == 1


def _split(name: str, text: str, separator: str) -> Lines:
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        lines = [(reader.line_num, [stripped(cell) for cell in row]) for row in reader]
    except csv.Error as error:
        raise InputError(f"{name} is not a CSV file: {error}") from None
    return [(number, cells) for number, cells in lines if any(cells)]
