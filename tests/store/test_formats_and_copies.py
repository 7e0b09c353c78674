"""Older formats, backups, imports, people, signatures."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from psips.errors import InputError
from psips.problem import Problem
from psips.report import report
from psips.store import DatabaseStore, Event, StoreError, open_store
from psips.study import Study, transfer, verify_log
from psips.study.exports import as_csv, as_data
from psips.study.signing import check_signature, sign

EXAMPLES = Path(__file__).parent / "examples"
HEADS = json.loads((EXAMPLES / "schema-1-heads.json").read_text())
OLD_TABLES = """
CREATE TABLE events (study VARCHAR(200) NOT NULL, seq INTEGER NOT NULL,
  at VARCHAR(32) NOT NULL, kind VARCHAR(32) NOT NULL, payload TEXT NOT NULL,
  previous VARCHAR(64) NOT NULL, hash VARCHAR(64) NOT NULL, PRIMARY KEY (study, seq));
CREATE TABLE snapshots (study VARCHAR(200) NOT NULL, seq INTEGER NOT NULL,
  hash VARCHAR(64) NOT NULL, payload TEXT NOT NULL, PRIMARY KEY (study))
"""


def trial() -> Problem:
    return Problem(objectives=["gain"], covariance=[1.0], arms=["A", "B"], name="trial")


@pytest.fixture
def store(url: str) -> Iterator[DatabaseStore]:
    with open_store(url, create=True) as opened:
        yield opened


@pytest.fixture
def old(url: str) -> str:
    """A store as the first version made it, in either database."""
    if url.startswith("sqlite"):
        shutil.copy(EXAMPLES / "schema-1.db", url.removeprefix("sqlite:///"))
        return url
    engine = sa.create_engine(url)
    with engine.begin() as connection, open_store(str(EXAMPLES / "schema-1.db")) as source:
        for statement in OLD_TABLES.split(";"):
            connection.execute(sa.text(statement))
        for event in source.read_all():
            connection.execute(
                sa.text("INSERT INTO events VALUES (:a, :b, :c, :d, :e, :f, :g)"),
                dict(zip("abcdefg", event, strict=True)),
            )
    engine.dispose()
    return url


# 14. Formats, copies.


@pytest.mark.parametrize("name", ["trial", "lin"])
def test_an_old_store_is_read_as_it_is(old: str, name: str) -> None:
    with open_store(old) as store:
        assert store.format == 1
        study = Study.open(name, store)
        found = study.verify()
        assert found.problems == ()
        known = HEADS[name]
        assert (found.head, found.events) == (known["head"], known["events"])
        assert study.stopped == known["stopped"]
        assert list(study.candidate_set) == known["candidate_set"]
        assert study.state.session.pulls == known["pulls"]
        kept = json.loads((EXAMPLES / f"schema-1-{name}.json").read_text())
        data = as_data(study)
        for result in data["results"]:
            assert result.pop("held") is False
        assert json.loads(json.dumps(data)) == kept
        lines = (EXAMPLES / f"schema-1-{name}.csv").read_text().splitlines()
        assert [line.rpartition(",")[0] for line in as_csv(study).splitlines()] == lines
        assert known["head"] in report(study)
        with pytest.raises(InputError, match=r"is closed|run `psips study migrate`"):
            study.ask()


def test_an_old_store_is_migrated_and_goes_on(old: str) -> None:
    with open_store(old) as store:
        assert store.migrate() == (1, 2)
        assert store.migrate() == (2, 2)
        study = Study.open("trial", store)
        assert study.verify().head == HEADS["trial"]["head"]
        tickets = study.ask(2)
        assert tickets[0].id == "trial-000029"  # a study without an identity keeps its ids
        study.tell(tickets[0], [1.0, 1.0], key="k")
        study.correct([1.0, 2.0], result=1, reason="late")
        assert study.verify().problems == ()
    with open_store(old) as store:
        assert store.format == 2


def test_a_newer_store_is_refused(url: str) -> None:
    with open_store(url, create=True) as store, store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE psips_store SET format = 3"))
    with pytest.raises(StoreError, match="knows formats up to 2: use a newer psips"):
        open_store(url)


def test_a_damaged_file_is_noticed_on_opening(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    study = Study.create(trial(), f"sqlite:///{file}", seed=1)
    for _ in range(200):
        study.tell("A", 1.0)
    with study.store.engine.connect() as connection:  # type: ignore[attr-defined]
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    study.store.close()
    data = bytearray(file.read_bytes())
    data[8192:12288] = b"\xa5" * 4096
    file.write_bytes(bytes(data))
    with pytest.raises(StoreError, match=r"is damaged|cannot be used"):
        open_store(f"sqlite:///{file}")
    with open_store(f"sqlite:///{file}", damaged=True) as store:
        assert store.damage()
        verify_log("trial", store)  # says what it can, without a traceback


def test_a_backup_and_back(store: DatabaseStore, tmp_path: Path) -> None:
    study = Study.create(trial(), store, seed=1)
    study.tell("A", 1.0)
    Study.create(trial(), store, name="other", seed=2)
    heads = {}

    def half() -> None:
        with store.writing("trial") as writer:  # in use, and never to be final
            writer.append([("2026-01-01T00:00:00.000000Z", "told", {"schema": 2})], 2)
            heads.update(transfer.backup(store, tmp_path / "kept.db"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert heads["trial"] == study.state.hash
    assert sorted(heads) == ["other", "trial"]
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("kept")] == ["kept.db"]
    with open_store(str(tmp_path / "new.db"), create=True) as fresh:
        assert transfer.restore(fresh, tmp_path / "kept.db") == heads
        again = Study.open("trial", fresh)
        assert again.verify().problems == ()
        assert [t.arm for t in again.ask(3)] == [t.arm for t in study.ask(3)]
        with pytest.raises(InputError, match="already: nothing was restored"):
            transfer.restore(fresh, tmp_path / "kept.db", "trial")
        with pytest.raises(InputError, match="there is no study 'tea'"):
            transfer.restore(fresh, tmp_path / "kept.db", "tea")


def made_up(change: dict[str, Any]) -> dict[str, Any]:
    """An export whose hashes fit and whose last event no one can have recorded."""
    with open_store("sqlite://", create=True) as store:
        study = Study.create(trial(), store, seed=1)
        study.tell("A", 1.0)
        last = study.events()[-1]
        payload = last.payload
        payload["results"][0].update(change)
        if not change:
            del payload["results"][0]["values"]
        past = study.events()[0]
        forged = Event.after((1, past.hash), "trial", last.at, last.kind, payload)
    return {"study": "trial", "events": [past.to_dict(), forged.to_dict()]}


def test_an_export_comes_back_with_its_head(store: DatabaseStore, tmp_path: Path) -> None:
    study = Study.create(trial(), store, seed=1)
    for ticket in study.ask(2):
        study.tell(ticket, 0.1 + 0.2)
    study.correct(1 / 3, result=1, reason='mis"read\n\u00e9')
    file = tmp_path / "trial.json"
    file.write_text(json.dumps(as_data(study), indent=2), encoding="utf-8")
    with open_store(str(tmp_path / "new.db"), create=True) as fresh:
        assert transfer.import_export(fresh, file) == ("trial", study.state.hash)
        assert Study.open("trial", fresh).events() == study.events()
        with pytest.raises(InputError, match="already"):
            transfer.import_export(fresh, file)
        forged = json.loads(file.read_text())
        forged["events"][2]["payload"]["results"][0]["values"]["gain"] = 9.0
        forged["study"] = "trial"
        file.write_text(json.dumps(forged))
    with open_store(str(tmp_path / "newer.db"), create=True) as fresh:
        with pytest.raises(InputError, match=r"event 3 \(told\) was changed.*nothing was"):
            transfer.import_export(fresh, file)
        for text in ("", "[]", '{"study": 1}', '{"study": "x", "events": [{}]}', "[" * 10**5):
            file.write_text(text)
            with pytest.raises(InputError, match=r"is not what|not as it was written|JSON"):
                transfer.import_export(fresh, file)
        for change in ({"values": {"gain": 1e300}}, {"arm": "Z"}, {"ticket": "none"}, {}):
            file.write_text(json.dumps(made_up(change)))
            with pytest.raises(InputError, match=r"cannot be replayed: .*nothing was copied"):
                transfer.import_export(fresh, file)
        file.write_text(json.dumps({**forged, "study": "a\x1b[2J"}))
        with pytest.raises(InputError, match="is not what"):
            transfer.import_export(fresh, file)
        assert fresh.studies() == []
        for name in ("schema-1-trial", "schema-1-lin"):
            found = transfer.import_export(fresh, EXAMPLES / f"{name}.json")
            assert found[1] == HEADS[found[0]]["head"]
            assert Study.open(found[0], fresh).verify().problems == ()


# 15. People.


def test_who_recorded_it_is_in_the_chain(store: DatabaseStore) -> None:
    study = Study.create(trial(), store, seed=1, user="Ann")
    study.tell("A", 1.0)
    Study.open("trial", store, user="Ben").tell("B", 2.0)
    by = [event.payload["by"] for event in study.events()]
    assert [who["user"] for who in by] == ["Ann", "Ann", "Ben"]
    assert all(who["host"] and who["program"].startswith("psips ") for who in by)
    with store.engine.begin() as connection:
        change = "UPDATE events SET payload = replace(payload, 'Ben', 'Ann') WHERE seq = 3"
        connection.execute(sa.text(change))
    assert study.verify().problems[0].startswith("event 3 (told) was changed")


def test_the_name_from_the_environment(
    store: DatabaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSIPS_USER", "Dr. Cy\x1b[2J")
    by = Study.create(trial(), store, seed=1).events()[0].payload["by"]
    assert by["user"] == "Dr. Cy?[2J"
    assert by["login"]


def test_a_reason_where_the_design_asks_for_one(store: DatabaseStore) -> None:
    study = Study.create(trial(), store, seed=1, conduct={"reasons": True})
    study.tell("A", 1.0)
    for call in (
        lambda: study.correct(2.0, result=1),
        lambda: study.withdraw(result=1, reason="  "),
    ):
        with pytest.raises(InputError, match="asks for the reason of every correction"):
            call()
    assert study.state.seq == 2
    study.correct(2.0, result=1, reason="misread")


def test_two_people_for_a_correction(store: DatabaseStore) -> None:
    ann = Study.create(trial(), store, seed=1, user="Ann", conduct={"two_people": True})
    ann.tell("A", 1.0)
    receipt = ann.correct(2.0, result=1, reason="misread")
    assert receipt.waits == 3
    assert ann.told[0].values == (1.0,)
    with pytest.raises(InputError, match="recorded by 'Ann': another person must confirm it"):
        ann.confirm(event=3)
    ben = Study.open("trial", store, user="Ben")
    with pytest.raises(InputError, match="event 2 does not wait"):
        ben.confirm(event=2)
    ben.confirm(event=3)
    assert ann.told[0].values == (2.0,)
    assert ben.withdraw(result=1).waits == 5
    assert ann.state.session.results == 1
    ann.confirm(event=5)
    assert ben.state.session.results == 0
    assert ben.verify().problems == ()
    fresh = Study.open("trial", store)
    assert fresh.state.snapshot() == ann.state.snapshot()


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("needs ssh-keygen")
    for name in ("ann", "eve"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name]
        subprocess.run([*words, "-f", str(tmp_path / name)], check=True)
    public = (tmp_path / "ann.pub").read_text()
    (tmp_path / "allowed_signers").write_text(f"ann@example.org {public}")
    return tmp_path


@pytest.mark.parametrize("part", ["signed: 2026-03-01T09:30", "meaning: approved"])
def test_time_and_meaning_are_signed(store: DatabaseStore, keys: Path, part: str) -> None:
    study = Study.create(trial(), store, seed=1)
    at = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    file = keys / "trial.sig"
    text = sign("trial", study.events(), keys / "ann", "approved", at)
    assert part in text
    file.write_text(
        text.replace(part, part.replace("2026", "2025").replace("approved", "seen"))
    )
    with pytest.raises(InputError, match="the signature is not valid"):
        check_signature("trial", study.events(), file, keys / "allowed_signers")
    for odd in ("", " seen", "a\nhead: 0", "x" * 201):
        with pytest.raises(InputError, match="the meaning of a signature has 1 to 200"):
            sign("trial", study.events(), keys / "ann", odd)


def test_a_signature_of_an_older_psips(store: DatabaseStore, keys: Path) -> None:
    """It has neither a time nor a meaning, and is as good as it was."""
    study = Study.create(trial(), store, seed=1)
    (event,) = study.events()
    file = keys / "statement"
    file.write_text(f"study: trial\nevents: 1\nhead: {event.hash}\n")
    words = ["ssh-keygen", "-Y", "sign", "-f", str(keys / "ann"), "-n", "psips", str(file)]
    subprocess.run(words, check=True, capture_output=True)
    whole = keys / "trial.sig"
    whole.write_text(file.read_text() + (keys / "statement.sig").read_text())
    found = check_signature("trial", study.events(), whole, keys / "allowed_signers")
    assert found == "signed by ann@example.org: the first 1 events"


@pytest.mark.parametrize("lines", ["ann {}bob {}", "ann,bob {}", "*@example.org {}"])
def test_a_key_has_one_name(store: DatabaseStore, keys: Path, lines: str) -> None:
    study = Study.create(trial(), store, seed=1)
    file, signers = keys / "trial.sig", keys / "allowed_signers"
    file.write_text(sign("trial", study.events(), keys / "ann"))
    public = (keys / "ann.pub").read_text()
    signers.write_text(lines.format(public, public))
    with pytest.raises(InputError, match="no one can say who signed: give each key one name"):
        check_signature("trial", study.events(), file, signers)


def test_signatures(store: DatabaseStore, keys: Path) -> None:
    study = Study.create(trial(), store, seed=1)
    study.tell("A", 1.0)
    signers, file = keys / "allowed_signers", keys / "trial.sig"
    at = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    file.write_text(sign("trial", study.events(), keys / "ann", "approved", at))
    said = "signed by ann@example.org at 2026-03-01T09:30:00.000000Z (approved): "
    said += "the first 2 events"
    assert check_signature("trial", study.events(), file, signers) == said
    study.tell("B", 2.0)  # the signature stays good for what it was made of
    assert check_signature("trial", study.events(), file, signers) == said
    with pytest.raises(InputError, match="its end was cut off"):
        check_signature("trial", study.events()[:1], file, signers)
    other = Study.create(trial(), "sqlite://", seed=1)
    other.tell("A", 1.5)
    with pytest.raises(InputError, match="the log was rewritten since"):
        check_signature("trial", other.events(), file, signers)
    file.write_text(file.read_text().replace("events: 2", "events: 1"))
    with pytest.raises(InputError, match="the signature is not valid"):
        check_signature("trial", study.events(), file, signers)
    file.write_text(sign("trial", study.events(), keys / "eve"))
    with pytest.raises(InputError, match="the signature is not valid"):
        check_signature("trial", study.events(), file, signers)
    file.write_text("nothing")
    with pytest.raises(InputError, match="is not a signature of psips"):
        check_signature("trial", study.events(), file, signers)
    with pytest.raises(InputError, match="there is no key"):
        sign("trial", study.events(), keys / "nobody")
