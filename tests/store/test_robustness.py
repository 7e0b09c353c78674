"""What must not break a store, nor be broken by it: values, files, permissions, texts."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

import psips.store.connections
from psips.cli import main
from psips.errors import InputError
from psips.problem import Problem
from psips.report import report
from psips.store import DatabaseStore, StoreError, open_store
from psips.store.events import START, Event
from psips.study import Study

DESIGN = """
name = "trial"
arms = ["A", "B"]
seed = 7
objectives = [{name = "gain", variance = 1.0}]
"""


def problem(**changes: Any) -> Problem:
    given: dict[str, Any] = {"objectives": ["gain"], "covariance": [1.0], "arms": ["A", "B"]}
    return Problem(**{**given, "name": "trial", **changes})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DatabaseStore]:
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", create=True) as opened:
        yield opened


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Any:
    """Run ``psips`` in a folder with a design; give exit code, output and error output."""
    (tmp_path / "design.toml").write_text(DESIGN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PSIPS_STORE", raising=False)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["psips", *words])
        with pytest.raises(SystemExit) as end:
            main()
        code = end.value.code
        written = capsys.readouterr()
        return (code if isinstance(code, int) else 0), written.out, written.err

    return call


# 8. Values.


@pytest.mark.parametrize("hold", [10.0, None])
def test_huge_values(store: DatabaseStore, hold: float | None) -> None:
    study = Study.create(problem(), store, seed=1, conduct={"hold": hold})
    for huge in (1e308, -1e308, 1.1e14):
        with pytest.raises(InputError, match=r"at most 1e\+14 standard deviations"):
            study.tell("A", huge)
        with pytest.raises(InputError, match=r"at most 1e\+14 standard deviations"):
            study.tell_many([{"arm": "A", "gain": huge}])
    for huge in (1e14, 1e14):
        study.tell("A", huge)
    study.correct(1.0, result=1)
    with pytest.raises(InputError, match=r"at most 1e\+14 standard deviations"):
        study.correct(1e300, result=1)
    assert study.verify().problems == ()
    assert Study.open("trial", store).state.snapshot() == study.state.snapshot()


@pytest.mark.parametrize("values", [(0.0, 1e-300), (1e14, 0.0), (1e14, -1e14), (5e-324, 0.0)])
def test_a_linear_study_at_the_edge(store: DatabaseStore, values: tuple[float, float]) -> None:
    """Probabilities too small for a float ended in a segmentation fault."""
    line = Problem(objectives=["gain"], covariance=[1], features=[[-1.0], [3.0]])
    study = Study.create(line, store, name="line", seed=1, conduct={"hold": False})
    for arm, value in zip(line.arms, values, strict=True):
        study.tell(arm, value)
    assert study.status().results == 2
    study.ask()
    assert study.verify().problems == ()


def test_a_state_that_json_cannot_hold_is_not_cached(
    store: DatabaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study.create(problem(), store, seed=1)

    def inf(*_: object) -> None:
        raise ValueError("Out of range float values are not JSON compliant")

    monkeypatch.setattr("psips.study.state.State.snapshot", inf)
    study.tell("A", 1.0)
    study.correct(2.0, result=1)
    assert study.told[0].values == (2.0,)


# 9. Files.


@pytest.mark.parametrize("target", ["psips.db", "psips.db-wal", "link.db", "./psips.db"])
@pytest.mark.parametrize("force", [[], ["--overwrite"]])
def test_a_store_is_never_written_over(
    run: Any, tmp_path: Path, target: str, force: list[str]
) -> None:
    assert run("study", "create", "design.toml")[0] == 0
    (tmp_path / "link.db").symlink_to(tmp_path / "psips.db")
    before = (tmp_path / "psips.db").read_bytes()
    for words in (
        ("study", "export", "trial", "--out", target, *force),
        ("report", "trial", "--out", target, *force),
        ("study", "backup", target, *force),
    ):
        code, _, err = run(*words)
        assert code == 2
        assert "is a database, or part of one: write to another file" in err
    assert (tmp_path / "psips.db").read_bytes() == before
    assert run("study", "verify", "trial")[0] == 0


def test_other_files_are_written_over_when_told_so(run: Any, tmp_path: Path) -> None:
    run("study", "create", "design.toml")
    file = tmp_path / "out.csv"
    file.write_text("precious")
    code, _, err = run("study", "export", "trial", "--out", "out.csv")
    assert (code, err) == (
        2,
        "psips: out.csv exists already: add --force, or write to another file\n",
    )
    assert file.read_text() == "precious"
    assert run("study", "export", "trial", "--out", "out.csv", "--overwrite")[0] == 0
    assert file.read_text().startswith("number,told")
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


def test_a_failed_write_leaves_the_old_file(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("study", "create", "design.toml")
    (tmp_path / "out.csv").write_text("precious")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    code, _, err = run("study", "export", "trial", "--out", "out.csv", "--overwrite")
    assert code == 2
    assert "No space left on device" in err
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


# 11. Stores that are read, and files that are not stores.


def as_nobody(work: Any) -> str:
    """Do something in a process without the rights of root; return what it says."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            said = str(work())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everyone may read; those of pytest are closed to others."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_store_can_be_read(public: Path) -> None:
    url = f"sqlite:///{public / 'a.db'}"
    made = Study.create(problem(), url, seed=1)
    made.tell("A", 1.0)
    made.tell("B", 1.0)
    made.store.close()
    report(Study.open("trial", url))  # loads what others may not be allowed to
    (public / "a.db").chmod(0o444)
    public.chmod(0o555)

    def read() -> str:
        with open_store(url) as store:
            study = Study.open("trial", store)
            assert study.verify().problems == ()
            assert "2 results" in report(study)
            assert study.status().results == 2
            study.tell("A", 1.0)
        return "written"

    said = as_nobody(read)
    assert "is read-only: nothing can be recorded" in said


def test_a_reader_does_not_lock_the_writer_out(store: DatabaseStore, tmp_path: Path) -> None:
    study = Study.create(problem(), store, seed=1)
    with (
        open_store(f"sqlite:///{tmp_path / 'a.db'}") as other,
        other.engine.connect() as reader,
    ):
        assert len(reader.execute(sa.text("SELECT * FROM events")).fetchall()) == 1
        start = time.perf_counter()
        study.tell("A", 1.0)  # while the other reads
        assert time.perf_counter() - start < 5


def test_another_applications_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "photos.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    connection.close()
    before = file.read_bytes()
    for create in (True, False):
        with pytest.raises(StoreError, match="is the database of another application"):
            open_store(f"sqlite:///{file}", create)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["photos.db"]
    events = tmp_path / "calendar.db"
    with sqlite3.connect(events) as connection:
        connection.execute("CREATE TABLE events (day TEXT, what TEXT)")
    connection.close()
    with pytest.raises(StoreError, match="is the database of another application"):
        open_store(f"sqlite:///{events}", create=True)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_no_study_in_memory(run: Any, url: str) -> None:
    for words in (("create", "design.toml"), ("list",), ("verify", "trial")):
        code, _, err = run("study", *words, "--store", url)
        assert code == 2
        assert "is a store in memory, gone when the command ends" in err
    assert run("report", "trial", "--store", url)[0] == 2


@pytest.mark.parametrize("name", ["q?m.db", "a b#c%20.db", "ä&x=1.db"])
def test_paths_to_the_letter(tmp_path: Path, name: str) -> None:
    Study.create(problem(), f"sqlite:///{tmp_path}/{name}", seed=1).store.close()
    assert (tmp_path / name).exists()
    opened = Study.open("trial", str(tmp_path / name))  # a plain path is understood
    assert opened.state.seq == 1
    opened.store.close()


def test_the_search_path_of_a_url(server: str) -> None:
    where = sa.make_url(server)
    engine = sa.create_engine(where)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE SCHEMA IF NOT EXISTS apart"))
    with_path = where.update_query_dict({"options": "-csearch_path=apart"})
    url = with_path.render_as_string(hide_password=False)
    Study.create(problem(), url, name="in a schema", seed=1).store.close()
    with engine.connect() as connection:
        found = connection.execute(sa.text("SELECT study FROM apart.events")).scalars().all()
        waits = connection.execute(sa.text("SHOW lock_timeout")).scalar()
    engine.dispose()
    assert found == ["in a schema"]
    assert waits == "0"
    plain = url.replace("postgresql+psycopg://", "postgres://")
    opened = Study.open("in a schema", plain)
    assert opened.state.seq == 1
    opened.store.close()


def test_a_server_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setattr(psips.store.connections, "CONNECT", 2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        accepted = []
        threading.Thread(target=lambda: accepted.append(silent.accept()), daemon=True).start()
        start = time.perf_counter()
        with pytest.raises(StoreError, match=r"cannot be used: .*timeout"):
            open_store(f"postgresql://ann@127.0.0.1:{silent.getsockname()[1]}/x")
        assert time.perf_counter() - start < 10


# 12. Secrets, and texts that others wrote.


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@127.0.0.1:1/x",
        "postgresql://ann:hunter2@127.0.0.1:port/x",
        "postgres:/ann:hunter2@127.0.0.1/x",
        "mysql://ann:hunter2@127.0.0.1/x",
        "postgresql//ann:hunter2@127.0.0.1/x",
        "postgresql://127.0.0.1:1/x?password=hunter2",
        "postgresql://ann:hunter2@[::1/x",
        "sqlite+nonsense://ann:hunter2@host/x",
    ],
)
def test_passwords_are_not_printed(run: Any, url: str) -> None:
    code, out, err = run("study", "list", "--store", url)
    assert code == 2
    assert "hunter2" not in out + err


def nasty(store: DatabaseStore) -> Study:
    """A study with names and reasons that no terminal should act on, as a forger writes it."""
    study = Study.create(problem(), store, seed=1)
    study.ask()
    study.tell("A", 1.0)
    study.tell("B", 1.0)
    study.cancel("trial-000001", reason="x\x9b2J\x1b]0;owned\x07\u202e\nbad")
    return study


def test_terminals_are_safe(run: Any, tmp_path: Path) -> None:
    with open_store("sqlite:///psips.db", create=True) as store:
        nasty(store)
    for words in (("log",), ("log", "--json"), ("status",), ("export", "--json")):
        _, out, err = run("study", words[0], "trial", *words[1:])
        assert not [c for c in out + err if not c.isprintable() and c not in "\n\t"], words
    assert len(run("study", "log", "trial")[1].splitlines()) == 5
    code, _, err = run("study", "status", "no\x1b[2Jsuch\nstudy")
    assert code == 2
    assert "\x1b" not in err


def test_spreadsheets_are_safe(store: DatabaseStore) -> None:
    from psips.study.exports import as_csv

    names = ["=1+1", "@x", "+y", "-z", "plain"]
    study = Study.create(problem(objectives=["=cmd"], arms=names), store, seed=1)
    for name in names:
        study.tell(name, -1.0)
    rows = list(csv.reader(io.StringIO(as_csv(study))))
    assert rows[0][4] == "'=cmd"
    assert [row[3] for row in rows[1:]] == ["'=1+1", "'@x", "'+y", "'-z", "plain"]
    assert [row[4] for row in rows[1:]] == ["-1.0"] * 5  # a number is a number


def test_times_in_the_report_are_no_script(store: DatabaseStore) -> None:
    study = Study.create(problem(), store, seed=1)
    study.tell("A", 1.0)
    study.tell("B", 1.0)
    last = (0, START)
    with store.engine.begin() as connection:
        for old in study.events():
            event = Event(old.study, old.seq, "<script>a()", old.kind, old.text, last[1], "")
            event = event._replace(hash=event.digest())
            last = (event.seq, event.hash)
            connection.execute(
                sa.text("UPDATE events SET at=:a, previous=:p, hash=:h WHERE seq=:s"),
                {"a": event.at, "p": event.previous, "h": event.hash, "s": event.seq},
            )
    with pytest.raises(InputError, match="has no valid time"):
        Study.open("trial", store)
    from psips.report.appendix import in_utc

    assert "<" not in in_utc("<script>a()</script>")


# 13. Time.


def filled(store: DatabaseStore, results: int, corrections: int, name: str) -> Study:
    rng = np.random.default_rng(1)
    study = Study.create(problem(), store, name=name, seed=1)
    for part in range(corrections):
        study.tell_many(
            {"arm": "AB"[i % 2], "gain": rng.normal()} for i in range(results // corrections)
        )
        study.correct(float(rng.normal()), result=part + 1)
    return study


def test_verifying_takes_time_in_proportion(store: DatabaseStore) -> None:
    def seconds(study: Study) -> float:
        start = time.perf_counter()
        assert study.verify().problems == ()
        return time.perf_counter() - start

    few = seconds(filled(store, 160, 2, "few"))
    many = seconds(filled(store, 160, 40, "many"))
    assert many < 5 * few + 0.5  # one replay for each correction took 20 times as long


def test_a_correction_next_to_a_huge_outlier(store: DatabaseStore) -> None:
    rng = np.random.default_rng(1)
    arms = list("ABCDEF")
    study = Study.create(
        problem(objectives=["gain", "cost"], covariance=[1.0, 1.0], arms=arms), store, seed=1
    )
    for i in range(144):
        study.tell(arms[i % 6], rng.normal(size=2).tolist())
    study.tell("A", [1e12, -1e12])
    assert len(study.held) == 1
    start = time.perf_counter()
    study.correct(rng.normal(size=2).tolist(), result=7)
    assert time.perf_counter() - start < 10


def test_a_complaint_that_is_not_utf_8(tmp_path: Path) -> None:
    """SQLite repeats what it cannot read, as it is."""
    file = tmp_path / "a.db"
    Study.create(problem(), f"sqlite:///{file}", seed=1).store.close()
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET name = CAST(x'61a662' AS TEXT), sql = 'CREATE TABLE' "
            "WHERE name = 'snapshots'"
        )
        connection.commit()
    with pytest.raises(StoreError, match=r"is damaged .* restore a backup"):
        open_store(f"sqlite:///{file}")
