"""800 bad inputs by a generator with a fixed seed: a sentence each, and the store unchanged.

PSIPS_FUZZ makes the run longer, PSIPS_FUZZ_SEED another one.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import random
import shutil
import sqlite3
import sys
import time
from pathlib import Path

import pytest
import typer.main

from psips.cli import main
from psips.store import open_store
from psips.study import Study

INPUTS = 800
DESIGN = """
name = "trial"
arms = ["A", "B", "C"]
seed = 7
objectives = [{name = "gain", variance = 1.0}, {name = "cost", variance = 1.0}]
"""
WORDS = [
    *("", " ", "A", "B", "trial", "gain", "gain=1", "cost=2", "gain=", "=1", "gain=1e400"),
    *("gain=nan", "cost=1e308", "gain=-inf", "gain=0x10", "gain=1_0", "gain=\uff11", "none"),
    *("trial-000001", "trial-000002", "trial--000001", "trial-999999999999999999999", "-1"),
    *("0", "1", "2", "3.5", "9" * 400, "1e9", "true", "null", "../../etc/passwd", "/dev/null"),
    *("\x1b[2J", "a\nb", "\u202eabc", "\ud800", "é" * 300, "x" * 5000, "'; DROP TABLE events"),
    *("sqlite://", "sqlite:///none.db", "sqlite:////", "postgresql://u:hunter2@[::1", "a.csv"),
    *("b.csv", "c.csv", "d.csv", "design.toml", "bad.toml", "worse.toml", "psips.db", "."),
    *("mysql://u:hunter2@h/x", "postgres:hunter2@", "json", "csv", "xml", "None", "--", "=cmd"),
]
OPTIONS = {
    "create": ["--name", "--seed"],
    "ask": ["-n", "--expires", "--key"],
    "tell": ["--ticket", "--arm", "--value", "--value", "--csv", "--key"],
    "correct": ["--ticket", "--result", "--value", "--value", "--reason", "--key"],
    "withdraw": ["--ticket", "--result", "--reason", "--key"],
    "confirm": ["--result", "--event", "--reason", "--key"],
    "cancel": ["--reason", "--key"],
    "close": ["--reason", "--key"],
    "status": [],
    "log": [],
    "export": ["--format", "--out"],
    "verify": ["--signatures", "--signers"],
    "list": [],
    "heads": [],
    "migrate": [],
    "backup": [],
    "restore": ["--name"],
    "import": [],
    "sign": ["--ssh-key", "--out"],
}
CELLS = [
    "A",
    "B",
    "Z",
    "",
    "1",
    "nan",
    "1e400",
    "x" * 3000,
    '"',
    ",",
    "\x00",
    "é",
    "trial-000001",
]


def prepare(folder: Path) -> None:
    """A store with a study that has a ticket, results and a held one, and odd files."""
    (folder / "design.toml").write_text(DESIGN)
    (folder / "bad.toml").write_text(DESIGN.replace("1.0", "-1.0"))
    (folder / "worse.toml").write_bytes(b"\xff\xfe name = ")
    study = Study.create(folder / "design.toml", f"sqlite:///{folder / 'psips.db'}")
    study.ask(2)
    study.tell(values=[1.0, 1.0], ticket="trial-000001")
    study.tell("A", [1.0, 1.0])
    study.tell("A", [99.0, 1.0])
    study.store.close()


def write_tables(folder: Path, rng: random.Random) -> None:
    for name in ("a.csv", "b.csv", "c.csv", "d.csv"):
        header = rng.sample(
            ["arm", "ticket", "gain", "cost", "date", "gain"], rng.randint(0, 5)
        )
        lines = [",".join(header)]
        lines += [",".join(rng.choices(CELLS, k=len(header))) for _ in range(rng.randint(0, 6))]
        (folder / name).write_text("\n".join(lines), encoding="utf-8")


def command(rng: random.Random) -> list[str]:
    verb = rng.choice(list(OPTIONS))
    words = ["psips", "study", verb]
    if rng.random() < 0.9:
        words.append("trial" if rng.random() < 0.7 else rng.choice(WORDS))
    for option in OPTIONS[verb]:
        if rng.random() < 0.5:
            words += [option, rng.choice(WORDS)]
    if rng.random() < 0.15:
        words += ["--store", rng.choice(WORDS)]
    if rng.random() < 0.2:
        words.append("--json")
    if rng.random() < 0.1:
        words.append(rng.choice(WORDS))
    return words


def call(words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[object, str, float]:
    """Run a command; return its exit code, or what it raised, its error output, the time."""
    monkeypatch.setattr(sys, "argv", words)
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    start = time.perf_counter()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
        except BaseException as error:
            code = error
    return code, err.getvalue(), time.perf_counter() - start


def judge(words: list[str], code: object, err: str, seconds: float) -> str:
    """Say what is wrong with how a command ended; nothing if it is fine."""
    if code not in (None, 0, 1, 2, 3):
        return repr(code)
    if "Traceback" in err:
        return err
    if seconds > 5:
        return f"{seconds:.1f} s"
    where = words[words.index("--store") + 1] if "--store" in words else ""
    if "hunter2" in where and "hunter2" in err:
        return "a password is printed"
    if code == 2 and not err.startswith(("psips: ", "Usage: ")):
        return err
    if max(map(len, err.splitlines()), default=0) >= 500:
        return "too long"
    if err.startswith("Usage: ") and len(err) >= 500:
        return "too long"
    if [c for c in err if not c.isprintable() and c not in "\n\t"]:
        return "a control character"
    return ""


def content(file: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables, and how they are made, those in a write-ahead log included."""
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        made = connection.execute("SELECT name, type, sql FROM sqlite_master").fetchall()
        found = {"": sorted(made)}
        for name, kind, _ in made:
            if kind == "table":
                found[name] = sorted(connection.execute(f'SELECT * FROM "{name}"'), key=repr)
        return found


def test_a_change_is_seen_before_it_reaches_the_main_file(tmp_path: Path) -> None:
    prepare(tmp_path)
    file = tmp_path / "psips.db"
    with open_store(f"sqlite:///{file}") as store:
        study = Study.open("trial", store)
        before, main_file = content(file), file.read_bytes()
        assert content(file) == before
        study.tell("B", [1.0, 1.0])
        assert file.read_bytes() == main_file  # it is in the write-ahead log
        assert content(file) != before


def test_bad_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(int(os.environ.get("PSIPS_FUZZ_SEED", 19)))
    kept = tmp_path / "kept"
    kept.mkdir()
    prepare(kept)
    folder = tmp_path / "work"
    monkeypatch.delenv("PSIPS_STORE", raising=False)
    built = functools.cache(typer.main.get_command)  # 5/6 of the time of a command
    monkeypatch.setattr(typer.main, "get_command", built)
    refused, slowest = 0, 0.0
    wrong: list[tuple[list[str], str]] = []
    inputs = int(os.environ.get("PSIPS_FUZZ", INPUTS))
    while refused < inputs:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(kept, folder)
        monkeypatch.chdir(folder)
        write_tables(folder, rng)
        for _ in range(40):
            words = command(rng)
            before = content(folder / "psips.db")
            code, err, seconds = call(words, monkeypatch)
            slowest = max(slowest, seconds)
            refused += code == 2
            found = judge(words, code, err, seconds)
            if code == 2 and content(folder / "psips.db") != before:
                found = "the store has changed"
            if found:
                wrong.append((words, found))
        with open_store(f"sqlite:///{folder / 'psips.db'}") as store:
            found = Study.open("trial", store).verify()
            assert found.problems == ()
    assert wrong == []
    print(f"{refused} bad inputs, the slowest took {slowest:.2f} s")
