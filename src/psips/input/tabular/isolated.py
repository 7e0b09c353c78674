"""A file of someone else, read in a process of its own with little time and memory.

What a file says of its size may be a lie, and parsers of packed files have bugs: such a file
may cost its reader the process, and no one else anything.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

from psips.errors import InputError, on_page
from psips.input.tabular.grid import Grid
from psips.input.tabular.reading import PARQUET, ZIP, parse_grid

SECONDS = 20.0
MEGABYTES = 1000
AT_ONCE = 2  # such processes
_FREE = threading.BoundedSemaphore(AT_ONCE)


def read_upload(name: str, data: bytes, rows: int) -> Grid:
    """Read a table that someone has sent; text, which is harmless, in this process.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    data : bytes
    rows : int
        As many as it may have.
    """
    if not data.startswith((ZIP, PARQUET)):
        return _parse(name, data, rows)
    if not _FREE.acquire(timeout=SECONDS):
        raise InputError(f"{name} was not read, because others are: send it again in a minute")
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__, name, str(rows)],
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            check=True,
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        raise InputError(
            f"{name} could not be read in {SECONDS:g} seconds and {MEGABYTES:,} MB of memory: "
            "split it, or save it as CSV"
        ) from None
    finally:
        _FREE.release()
    said = json.loads(done.stdout)
    if "error" in said:
        raise InputError(said["error"])
    lines = [(number, cells) for number, cells in said.pop("lines")]
    return Grid(lines=lines, **said)


def _parse(name: str, data: bytes, rows: int) -> Grid:
    grid = parse_grid(name, data, name)
    if len(grid.lines) > rows:
        raise InputError(
            f"{name} has {len(grid.lines):,} rows, and at most {rows:,} are taken at once: "
            "split it"
        )
    return grid


def _limit() -> None:
    """Have the system refuse this process more memory and time."""
    try:
        import resource
    except ImportError:  # no such thing on Windows: the time limit is left
        return
    most = MEGABYTES * 10**6
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS), int(SECONDS) + 1))


def main() -> None:
    """Read a table from standard input, and write it as JSON."""
    _limit()
    name, rows = sys.argv[1:]
    try:
        with on_page():
            said = _parse(name, sys.stdin.buffer.read(), int(rows))._asdict()
    except InputError as error:
        said = {"error": str(error)}
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main()
