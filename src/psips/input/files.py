"""Files as users name them: read whole, up to a limit, or refused with a sentence."""

from __future__ import annotations

import os
from pathlib import Path

from psips.errors import InputError, quote

MEGABYTES = 100  # of a file


def read_bytes(what: str, path: str | os.PathLike[str]) -> bytes:
    """Return what is in a file; ``what`` says in a message what it should be.

    A device or a pipe is read like a file, and like a file no further than the limit.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(MEGABYTES * 10**6 + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with NUL in it
        reason = error.strerror if isinstance(error, OSError) else "it has a NUL character"
        raise InputError(f"cannot read {what} {shown(path)}: {reason}") from None
    if len(data) > MEGABYTES * 10**6:
        raise InputError(
            f"{what} {shown(path)} is too large: at most {MEGABYTES} MB are read from a file"
        )
    return data


def read_text(what: str, path: str | os.PathLike[str]) -> str:
    """Return the text of a file in UTF-8, without the byte-order mark that it may have."""
    try:
        return read_bytes(what, path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{what} {shown(path)} is not in UTF-8: byte {error.start + 1:,} cannot be read"
        ) from None


def shown(path: str | os.PathLike[str]) -> str:
    """Return a path as it appears in a message."""
    text = os.fspath(path)
    plain = text.isprintable() and len(text) <= 200
    return text if plain else quote(text)
