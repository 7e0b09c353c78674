"""The code on a page, run in its order as a reader would run it.

One folder and one namespace for each page. A fenced block is

* ``python`` with ``>>>``: run, and what it prints compared;
* ``console``: each line that begins with ``$ `` is run by a shell, in which ``psips`` is this
  psips, and what it prints compared; it ends with code 0 unless a line ``[code 3]`` follows;
* ``sh``: run as a whole, ends with code 0; what it prints is not looked at;
* ``toml``, ``csv`` and ``python`` below a line that is a file's name (`` `design.toml`: ``):
  written to that file; ``toml`` without a name is parsed;
* of another kind: text that nobody runs.

``...`` stands for anything, white space counts as one blank. ``<!-- not run: why -->`` on a
line before a block leaves it out, and says why.
"""

from __future__ import annotations

import doctest
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psips

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^(?P<indent> *)```(?P<kind>[\w+-]*)\n(?P<text>.*?)^ *```$", re.M | re.S)
FILE = re.compile(r"`(?P<name>[\w-]+\.\w+)`[^`\n]*:\s*$")
LEFT_OUT = re.compile(r"<!-- not run: (?P<why>[^>]+) -->\s*$")
CODE = re.compile(r"^\[code (\d+)\]\n?", re.M)
RUN = ("python", "console", "sh", "toml", "csv")
PATIENCE = 300  # seconds for a command


@dataclass(frozen=True)
class Block:
    """A block of a page: what it is, its text, its line, and what stands before it."""

    kind: str
    text: str
    line: int
    file: str
    left_out: str


def blocks_of(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    for found in BLOCK.finditer(page):
        before = page[: found.start()].rstrip()
        why, name = LEFT_OUT.search(before), FILE.search(before)
        inside = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.M)
        yield Block(
            found["kind"],
            inside,
            page[: found.start()].count("\n") + 1,
            name["name"] if name else "",
            why["why"] if why else "",
        )


def run_page(name: str, page: str, folder: Path) -> list[str]:
    """Run a page in a folder; return what is not as the page says."""
    space: dict[str, Any] = {"__name__": "__page__"}
    wrong: list[str] = []
    for block in blocks_of(page):
        if block.left_out or block.kind not in RUN:
            continue
        try:
            _run(block, space, folder)
        except Exception as error:
            wrong.append(f"{name}, line {block.line}: {error}")
    return wrong


def _run(block: Block, space: dict[str, Any], folder: Path) -> None:
    if block.kind == "console":
        for command, wanted in commands_of(block.text):
            _compare(command, wanted, folder)
    elif block.kind == "sh":
        _compare(block.text, "...\n", folder)
    elif block.file:
        (folder / block.file).write_text(block.text, encoding="utf-8")
    elif block.kind == "toml":
        tomllib.loads(block.text)
    elif block.kind == "python":
        if ">>>" not in block.text:
            raise AssertionError(
                "Python without >>> that no line leaves out or names a file of"
            )
        _examine(block, space, folder)


def commands_of(text: str) -> list[tuple[str, str]]:
    """Return the commands of a console, each with what it prints."""
    found: list[tuple[str, str]] = []
    joined = re.sub(r"^(\$ .*?)\\\n", r"\1", text, flags=re.M)
    while joined != text:
        text, joined = joined, re.sub(r"^(\$ .*?)\\\n", r"\1", joined, flags=re.M)
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].strip(), ""))
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line)
        else:
            raise AssertionError("a console begins with $ and a command")
    return found


def _compare(command: str, wanted: str, folder: Path) -> None:
    code = CODE.search(wanted)
    wanted = CODE.sub("", wanted)
    started = subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=_environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = started.communicate(timeout=PATIENCE)
    finally:
        if started.returncode is None:  # what it has started ends with it
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
    expected = int(code[1]) if code else 0
    if started.returncode != expected:
        raise AssertionError(
            f"{command!r} ended with code {started.returncode}, not {expected}:\n{printed}"
        )
    if not doctest.OutputChecker().check_output(wanted, printed, FLAGS):
        raise AssertionError(f"{command!r} was to print\n{wanted}\nand printed\n{printed}")


def _environment(folder: Path) -> dict[str, str]:
    bin_folder = folder / ".bin"
    if not bin_folder.exists():
        bin_folder.mkdir()
        shim = bin_folder / "psips"
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m psips "$@"\n')
        shim.chmod(0o755)
        (bin_folder / "python").symlink_to(sys.executable)
    source = str(Path(psips.__file__).parents[1])
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PSIPS_")}
    return {
        **kept,
        "PATH": os.pathsep.join([str(bin_folder), kept.get("PATH", "")]),
        "PYTHONPATH": os.pathsep.join(filter(None, [source, kept.get("PYTHONPATH", "")])),
        "COLUMNS": "88",
        "MPLBACKEND": "Agg",
    }


def _examine(block: Block, space: dict[str, Any], folder: Path) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, space, "page", None, 0)
    said: list[str] = []
    here = Path.cwd()
    os.chdir(folder)
    try:
        runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
        runner.run(test, out=said.append, clear_globs=False)
    finally:
        os.chdir(here)
    space.update(test.globs)
    if said:
        raise AssertionError("".join(said))
