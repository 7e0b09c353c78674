"""Files that commands write: whole or not at all, and never over a store."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import typer

from psips.errors import InputError, quote, unknown

SQLITE = b"SQLite format 3\0"
BESIDE = ("-wal", "-shm", "-journal")  # files that SQLite keeps next to its own


def check_target(path: Path, overwrite: bool) -> None:
    """Refuse to write over a store, and ask before writing over anything else."""
    try:
        if path.is_dir():
            raise InputError(f"cannot write {path}: it is a folder")
        exists = path.exists() or path.is_symlink()
        parts = [Path(str(path).removesuffix(end)) for end in BESIDE]
        stores = [path, *(part for part in parts if part != path)]
        if any(_is_sqlite(store) for store in stores):
            raise InputError(f"{path} is a database, or part of one: write to another file")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot write {str(path)[:200]!r}: {error}") from None
    if not exists or overwrite or not path.is_file():
        return
    if os.isatty(0) and typer.confirm(f"{path} exists: write over it?", err=True):
        return
    raise InputError(f"{path} exists already: add --force, or write to another file")


def check_plot(plot: Path | None) -> None:
    """Refuse a figure that cannot be written, before anything is computed."""
    if plot is None:
        return
    if not plot.parent.is_dir():
        raise InputError(
            f"--plot {quote(str(plot))}: there is no folder {quote(str(plot.parent))}"
        )
    kinds = (".png", ".svg", ".pdf")
    if plot.suffix not in kinds:
        raise unknown("kind of plot", plot.suffix, kinds)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that there is never half of it."""
    write_with(path, lambda part: part.write_text(text, encoding="utf-8", newline=""))


def write_with(path: Path, write: Callable[[Path], object], private: bool = False) -> None:
    """Have a file written next to its place, and move it there when it is complete.

    Parameters
    ----------
    path : path
    write : callable
        Writes to the path it is given.
    private : bool
        Whether its owner alone may read it, and not whom the umask lets.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe, or /dev/stdout
            write(path)
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        part = Path(name)
        try:
            write(part)
            with part.open("rb") as file:
                os.fsync(file.fileno())
            mask = os.umask(0)
            os.umask(mask)
            part.chmod(0o600 if private else 0o666 & ~mask)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def _is_sqlite(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE
