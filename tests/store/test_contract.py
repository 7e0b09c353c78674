"""What every store must do, on SQLite and on PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from psips.errors import InputError
from psips.store import ConflictError, DatabaseStore, Snapshot, broken_links, open_store

AT = "2026-01-01T00:00:00.000000Z"


@pytest.fixture
def store(url: str) -> Iterator[DatabaseStore]:
    with open_store(url, create=True) as opened:
        yield opened


def add(store: DatabaseStore, study: str, *kinds: str, expected: int = 0) -> None:
    with store.writing(study) as writer:
        writer.append([(AT, kind, {"é": [0.1, None, kind]}) for kind in kinds], expected)


def test_append_and_read(store: DatabaseStore) -> None:
    add(store, "tea", "created", "asked")
    add(store, "tea", "told", expected=2)
    events = store.read("tea")
    assert [(e.seq, e.kind) for e in events] == [(1, "created"), (2, "asked"), (3, "told")]
    assert events[2].payload == {"é": [0.1, None, "told"]}
    assert [e.study for e in events] == ["tea"] * 3
    assert store.read("tea", 1) == events[1:]
    assert store.read("tea", 1, 2) == events[1:2]
    assert store.read("tea", 3) == store.read("coffee") == []
    with store.writing("tea") as writer:
        assert writer.read() == events
        assert writer.read(1, 2) == events[1:2]


def test_studies_are_apart(store: DatabaseStore) -> None:
    assert store.studies() == []
    add(store, "tea", "created")
    add(store, "coffee", "created", "asked")
    assert store.studies() == ["coffee", "tea"]
    assert len(store.read("tea")) == 1
    assert store.read("coffee")[0].previous == "0" * 64


def test_an_unexpected_end_is_refused(store: DatabaseStore) -> None:
    add(store, "tea", "created")
    with pytest.raises(ConflictError, match="the log of 'tea' has 1 events, not 0"):
        add(store, "tea", "created")
    with pytest.raises(ConflictError):
        add(store, "tea", "told", expected=2)
    assert len(store.read("tea")) == 1


def test_all_or_nothing(store: DatabaseStore) -> None:
    add(store, "tea", "created")

    def half() -> None:
        with store.writing("tea") as writer:
            writer.append([(AT, "asked", {}), (AT, "told", {})], 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert len(store.read("tea")) == 1
    add(store, "tea", "asked", expected=1)


def test_what_is_not_json_is_refused(store: DatabaseStore) -> None:
    for wrong in (float("nan"), {1, 2}):
        with (
            pytest.raises((ValueError, TypeError)),
            store.writing("tea") as writer,
        ):
            writer.append([(AT, "created", {"value": wrong})], 0)
    assert store.read("tea") == []


def test_a_reopened_store_has_everything(store: DatabaseStore, url: str) -> None:
    add(store, "tea", "created")
    kept = store.read("tea")
    store.close()
    with open_store(url) as again:
        assert again.read("tea") == kept
    with open_store(url, create=True) as again:  # creating what is there changes nothing
        assert again.read("tea") == kept


def test_one_writer_at_a_time(store: DatabaseStore, url: str) -> None:
    add(store, "tea", "created")
    order = []
    inside = threading.Event()

    def second() -> None:
        inside.wait()
        with open_store(url) as other, other.writing("tea") as writer:
            order.append(f"second sees {len(writer.read())}")
            writer.append([(AT, "told", {})], 2)

    thread = threading.Thread(target=second)
    thread.start()
    with store.writing("tea") as writer:
        inside.set()
        thread.join(0.3)
        assert len(store.read("tea")) == 1  # readers do not wait
        writer.append([(AT, "asked", {})], 1)
        order.append("first is done")
    thread.join()
    assert order == ["first is done", "second sees 2"]
    assert broken_links(store.read("tea")) == []


def test_snapshots(store: DatabaseStore) -> None:
    assert store.load_snapshot("tea") is None
    add(store, "tea", "created", "asked")
    first, second = store.read("tea")
    store.save_snapshot("tea", Snapshot(1, first.hash, "one"))
    assert store.load_snapshot("tea") == Snapshot(1, first.hash, "one")
    store.save_snapshot("tea", Snapshot(2, second.hash, "two"))
    assert store.load_snapshot("tea") == Snapshot(2, second.hash, "two")
    assert store.load_snapshot("coffee") is None
    foreign = Snapshot(2, first.hash, "of another past")
    store.save_snapshot("tea", foreign)
    assert store.load_snapshot("tea") == foreign
    assert not foreign.of(second)


def test_what_a_snapshot_says_of_a_log(store: DatabaseStore) -> None:
    add(store, "tea", "created", "asked")
    first, second = store.read("tea")
    sealed = Snapshot.seal(2, second.hash, "{}")
    assert sealed.of(second)
    assert not sealed.outlives(second)
    assert sealed.outlives(None)
    assert sealed.outlives(first)
    damaged = sealed._replace(text=sealed.text + " ")
    assert not damaged.outlives(None)  # it says nothing
    assert not Snapshot(2, second.hash, "two").outlives(None)


def test_a_log_that_comes_back_begins_without_a_cache(store: DatabaseStore) -> None:
    add(store, "tea", "created", "asked")
    events = store.read("tea")
    store.save_snapshot("tea", Snapshot.seal(2, events[1].hash, "{}"))
    with store.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM events")
    with store.writing("tea") as writer:
        writer.copy(events[:1])
    assert store.load_snapshot("tea") is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("UPDATE events SET payload = '{}' WHERE seq = 2", "event 2 (asked) was changed"),
        ("UPDATE events SET at = '2026' WHERE seq = 3", "event 3 (told) was changed"),
        ("DELETE FROM events WHERE seq = 2", "event 2 is missing"),
        ("UPDATE events SET seq = 5 WHERE seq = 3", "event 3 is missing"),
        ("UPDATE events SET study = 'tea' WHERE study = 'coffee'", "event 2 (asked) does not"),
    ],
)
def test_a_changed_past_is_seen(store: DatabaseStore, change: str, sentence: str) -> None:
    add(store, "tea", "created", *([] if "coffee" in change else ["asked", "told"]))
    if "coffee" in change:
        add(store, "coffee", "created", "asked")
        change += " AND seq = 2"
    assert broken_links(store.read("tea")) == []
    with store.engine.begin() as connection:
        connection.execute(sa.text(change))
    assert any(problem.startswith(sentence) for problem in broken_links(store.read("tea")))


def test_a_store_that_is_not_there(url: str) -> None:
    with pytest.raises(InputError, match=r"there (is no store|are no studies)"):
        open_store(url)


def test_sqlite_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", create=True) as store:
        with store.engine.connect() as connection:
            mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
            level = connection.exec_driver_sql("PRAGMA synchronous").scalar()
        assert (mode, level) == ("wal", 2)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("sqlite:///{0}/none/a.db", "does not exist: make it first"),
        ("sqlite:///{0}", "unable to open database file"),
        ("sqlite:///{0}/text.db", "file is not a database"),
        ("mysql://host/x", "a store is in SQLite or PostgreSQL"),
        ("sqlite:studies.db", "a store is in SQLite or PostgreSQL"),
        ("postgresql://nobody@127.0.0.1:1/x", "cannot be used"),
    ],
)
def test_bad_stores(tmp_path: Path, where: str, sentence: str) -> None:
    (tmp_path / "text.db").write_text("not a database\n" * 100)
    with pytest.raises(InputError, match=sentence):
        open_store(where.format(tmp_path), create=True)
