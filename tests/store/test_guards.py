"""Files of stores: who may read them, which are refused, and what is said while one waits."""

from __future__ import annotations

import csv
import io
import logging
import os
import sqlite3
import stat
import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from psips.cli.writing import write_with
from psips.input.escaping import as_cell
from psips.problem import Problem
from psips.store import StoreError, connections, database, open_store
from psips.study import Study, transfer
from psips.study.exports import as_csv

PROBLEM = Problem(objectives=["x"], covariance=[1], arms=["A", "B"], name="trial")


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_new_store_is_for_its_owner(tmp_path: Path) -> None:
    before = os.umask(0o000)
    try:
        study = Study.create(PROBLEM, f"sqlite:///{tmp_path / 'a.db'}", seed=1)
        files = sorted(tmp_path.glob("a.db*"))
        assert [file.name for file in files] == ["a.db", "a.db-shm", "a.db-wal"]
        assert {mode(file) for file in files} == {0o600}
        copy = tmp_path / "copy.db"
        write_with(copy, lambda part: transfer.backup(study.store, part), private=True)
        assert mode(copy) == 0o600
        (tmp_path / "link.db").symlink_to(tmp_path / "target.db")
        open_store(f"sqlite:///{tmp_path / 'link.db'}", create=True).close()
        assert mode(tmp_path / "target.db") == 0o600
        (tmp_path / "mine.db").touch(mode=0o640)  # made on purpose
        (tmp_path / "mine.db").chmod(0o640)
        open_store(f"sqlite:///{tmp_path / 'mine.db'}", create=True).close()
        assert mode(tmp_path / "mine.db") == 0o640
        study.store.close()
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("UPDATE psips_store SET format = -3", "has format '-3', but.*restore a backup"),
        ("UPDATE psips_store SET format = 0", "has format '0', but.*restore a backup"),
        ("UPDATE psips_store SET format = 1", "has format '1', but.*restore a backup"),
        ("UPDATE psips_store SET format = 99", "has format '99', but.*use a newer psips"),
        ("DELETE FROM psips_store", "has format 'None', but"),
        ("INSERT INTO psips_store VALUES (-3)", "has format '-3', but"),
        (
            "ALTER TABLE events RENAME TO e; CREATE VIEW events AS SELECT * FROM e",
            "has a view instead of its table 'events'",
        ),
        (
            "ALTER TABLE snapshots RENAME TO s; CREATE VIEW snapshots AS SELECT * FROM s",
            "has a view instead of its table 'snapshots'",
        ),
        (
            "ALTER TABLE psips_store RENAME TO p; CREATE VIEW psips_store AS SELECT * FROM p",
            "has a view instead of its table 'psips_store'",
        ),
        ("DROP TABLE snapshots", "lacks the table 'snapshots' as format 2 has it"),
        ("ALTER TABLE events DROP COLUMN kind", "lacks the table 'events' as format 2 has it"),
        ("ALTER TABLE events ADD COLUMN more", "lacks the table 'events' as format 2 has it"),
    ],
)
def test_tables_that_are_none(url: str, change: str, sentence: str) -> None:
    store = open_store(url, create=True)
    Study.create(PROBLEM, store, seed=1)
    with store.engine.begin() as connection:
        for statement in change.split("; "):
            more = "ADD COLUMN more" in statement
            connection.execute(sa.text(statement + " INTEGER" if more else statement))
    store.close()
    for damaged in (False, True):  # as `verify` opens it
        with pytest.raises(StoreError, match=sentence):
            open_store(url, damaged=damaged)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WAIT", 3)
    monkeypatch.setattr(connections, "SILENT", 0.2)
    monkeypatch.setattr(database, "SILENT", 0.2)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("level", ["IMMEDIATE", "EXCLUSIVE"])
def test_waiting_for_a_lock_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, level: str
) -> None:
    file = tmp_path / "a.db"
    study = Study.create(PROBLEM, f"sqlite:///{file}", seed=1)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute(f"BEGIN {level}")
    began = time.monotonic()
    with caplog.at_level(logging.WARNING), pytest.raises(StoreError, match="is locked"):
        study.tell("A", 1.0)
    assert 2.5 < time.monotonic() - began < 15
    (record,) = caplog.records
    assert record.getMessage().startswith("psips: waiting for the lock of the store")
    other.execute("ROLLBACK")
    caplog.clear()
    assert study.tell("A", 1.0).numbers == (1,)
    assert caplog.records == []
    other.close()
    study.store.close()


@pytest.mark.usefixtures("short")
def test_locks_that_are_denied_to_readers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A store that keeps no write-ahead log: readers wait too."""
    file = tmp_path / "a.db"
    study = Study.create(PROBLEM, f"sqlite:///{file}", seed=1)
    study.store.close()
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("PRAGMA journal_mode=DELETE")
    other.execute("BEGIN EXCLUSIVE")
    with caplog.at_level(logging.WARNING), pytest.raises(StoreError, match="is locked"):
        open_store(f"sqlite:///{file}")
    assert len(caplog.records) == 1
    other.close()


@pytest.mark.usefixtures("short")
def test_who_waits_gets_the_lock(url: str, caplog: pytest.LogCaptureFixture) -> None:
    store = open_store(url, create=True)
    Study.create(PROBLEM, store, seed=1)
    held, enough = threading.Event(), threading.Event()

    def hold() -> None:
        with open_store(url) as mine, mine.writing("trial"):
            held.set()
            enough.wait(1.0)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    with caplog.at_level(logging.WARNING):
        assert Study.open("trial", store).tell("A", 1.0).numbers == (1,)
    thread.join()
    assert [r.getMessage()[:24] for r in caplog.records] == ["psips: waiting for the l"]
    store.close()


SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("before", ["", " ", "a;", "a; ", 'a;"', "1,5;", ";", ";;"])
def test_no_cell_is_a_formula(sign: str, before: str) -> None:
    """Whether cells are separated by commas or by semicolons."""
    given = f"{before}{sign}1+1"
    text = io.StringIO()
    csv.writer(text).writerow(["x", as_cell(given), "y"])
    line = text.getvalue()
    for separator in ",;":
        for cell in next(csv.reader([line], delimiter=separator)):
            assert not cell.lstrip().startswith(tuple(SIGNS))
    assert as_cell("a-b;c=d; e") == "a-b;c=d; e"


def test_an_export_has_no_formulas(tmp_path: Path) -> None:
    arms = ["A;=cmd()", "\uff1dcmd()"]
    problem = Problem(objectives=["x"], covariance=[1], arms=arms, name="t")
    study = Study.create(problem, f"sqlite:///{tmp_path / 'a.db'}", seed=1)
    for arm in arms:
        study.tell(arm, 1.0)
    text = as_csv(study)
    assert "A;'=cmd()" in text
    assert ",'\uff1dcmd()" in text
    study.store.close()
