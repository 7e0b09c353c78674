"""Clocks that are wrong, and set right again: what the log says, and when tickets expire."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from psips.problem import Problem
from psips.report import report
from psips.store import DamagedError, DatabaseStore, broken_links, database, open_store
from psips.store.events import START, Event
from psips.study import Study, transfer, verify_log
from psips.web.text import entry

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
YEARS = timedelta(days=3653)
HOUR = timedelta(hours=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DatabaseStore]:
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", create=True) as opened:
        yield opened


@pytest.fixture
def time() -> list[datetime]:
    return [NOW]


@pytest.fixture
def study(store: DatabaseStore, time: list[datetime]) -> Study:
    problem = Problem(
        objectives={"gain": "max", "cost": "min"},
        covariance=[1.0, 1.0],
        arms=["A", "B"],
        name="trial",
    )
    made = Study.create(problem, store, seed=3, clock=lambda: time[0])
    made.tell("A", [1.0, 1.0])
    return made


def kinds(study: Study) -> list[tuple[str, str]]:
    return [(event.kind, event.at[:16]) for event in study.events()]


def test_clocks_that_differ_by_minutes(study: Study, time: list[datetime]) -> None:
    time[0] -= timedelta(minutes=4)
    study.tell("A", [1.0, 1.0])
    assert kinds(study) == [
        ("created", "2026-03-01T12:00"),
        ("told", "2026-03-01T12:00"),
        ("told", "2026-03-01T12:00"),
    ]
    assert study.verify() == (3, study.state.hash, (), ())


def test_a_clock_ten_years_ahead_is_set_right(study: Study, time: list[datetime]) -> None:
    time[0] += YEARS
    study.ask(expires=HOUR)
    study.tell("B", [1.0, 1.0])
    time[0] -= YEARS - HOUR  # it is an hour later
    (note,) = study.verify().notes
    assert "event 4 (told) is of 2036-03-01" in note
    assert study.verify().problems == ()
    study.tell("A", [1.0, 1.0])
    time[0] += HOUR
    late = study.ask(expires=HOUR)
    assert kinds(study)[2:] == [
        ("asked", "2036-03-01T12:00"),
        ("told", "2036-03-01T12:00"),
        ("clock", "2026-03-01T13:00"),
        ("told", "2026-03-01T13:00"),
        ("asked", "2026-03-01T14:00"),
    ]
    assert late.expires == "2026-03-01T15:00:00.000000Z"
    found = study.verify()
    assert found.problems == ()
    (note,) = found.notes
    assert note.startswith("event 5 (clock): the clock was set back from 2036-03-01T12:00")
    html = report(study)
    assert "the clock was set back from" in html
    assert entry(study.events()[4]).what == "set the clock back from 2036-03-01 12:00:00 UTC"


def test_tickets_of_a_wrong_clock_expire(study: Study, time: list[datetime]) -> None:
    early = study.ask(expires=10 * HOUR)
    time[0] += YEARS
    study.ask(expires=HOUR)
    forever = study.ask()
    time[0] -= YEARS
    study.tell("A", [1.0, 1.0])
    assert [t.expires and t.expires[:13] for t in study.tickets] == [
        "2026-03-01T22",
        "2026-03-01T13",
        None,
    ]
    assert len(study.open_tickets()) == 3
    time[0] += 2 * HOUR
    assert [t.id for t in study.open_tickets()] == [early.id, forever.id]
    asked = study.ask(expires=HOUR)
    assert study.verify().problems == ()
    twin = Study.open("trial", study.store, clock=lambda: time[0])
    assert [t.to_dict() for t in twin.tickets] == [t.to_dict() for t in study.tickets]
    assert asked == twin.tickets[-1]
    assert twin.state.snapshot() == study.state.snapshot()


@pytest.mark.parametrize("back", [timedelta(minutes=6), HOUR, YEARS])
def test_a_clock_that_goes_back(study: Study, time: list[datetime], back: timedelta) -> None:
    """No one knows which of the two times is right: both are in the log."""
    time[0] -= back
    study.tell("A", [1.0, 1.0])
    study.correct([2.0, 2.0], result=1)
    time[0] += back + HOUR
    study.tell("A", [1.0, 1.0])
    assert [event.kind for event in study.events()] == [
        *("created", "told", "clock", "told", "corrected", "told"),
    ]
    assert study.events()[-1].at[:13] == "2026-03-01T13"
    found = study.verify()
    assert (found.problems, len(found.notes)) == ((), 1)
    assert len(study.state.keys) == 5
    assert study.state.session.results == 3


def test_nothing_else_to_record(study: Study, time: list[datetime]) -> None:
    """The clock event stands, and the state is what the log gives."""
    study.withdraw(result=1)
    time[0] -= HOUR
    assert study.withdraw(result=1).known == 1
    assert study.events()[-1].kind == "clock"
    assert study.state.snapshot() == Study.open("trial", study.store).state.snapshot()
    assert study.verify().problems == ()


def test_what_is_refused_sets_no_clock(study: Study, time: list[datetime]) -> None:
    head = study.state.hash
    time[0] -= HOUR
    with pytest.raises(ValueError, match="unknown arm"):
        study.tell("Z", [1.0, 1.0])
    assert study.state.hash == head


def test_such_logs_are_copied(study: Study, time: list[datetime], tmp_path: Path) -> None:
    time[0] += YEARS
    study.ask(expires=HOUR)
    time[0] -= YEARS
    study.ask(expires=HOUR)
    transfer.backup(study.store, tmp_path / "copy.db")
    with open_store(f"sqlite:///{tmp_path / 'b.db'}", create=True) as other:
        heads = transfer.restore(other, tmp_path / "copy.db")
        assert heads == {"trial": study.state.hash}
        assert verify_log("trial", other, time[0]).problems == ()


@pytest.mark.parametrize(
    ("at", "since"),
    [
        ("2026-03-01T13:00:00.000000Z", "2026-03-01T12:00:00.000000Z"),  # not back at all
        ("2026-03-01T11:00:00.000000Z", "2026-03-01T13:00:00.000000Z"),  # from another time
        ("2026-03-01T11:00:00.000000Z", 5),
        ("2026-03-01T11:00:00.000000Z", None),
    ],
)
def test_an_event_cannot_be_backdated_by_a_clock(study: Study, at: str, since: Any) -> None:
    last = study.events()[-1]
    data = {"schema": 3, "from": since, "by": {}, "key": "x"}
    forged = Event.after((last.seq, last.hash), "trial", at, "clock", data)
    assert isinstance(study.store, DatabaseStore)
    with study.store.engine.begin() as connection:
        connection.execute(
            sa.text("INSERT INTO events VALUES (:s, :n, :a, :k, :t, :p, :h)"),
            dict(zip("snaktph", forged, strict=True)),
        )
    (problem,) = study.verify().problems
    assert problem == "event 3 (clock) does not set the clock back from the event before it"
    with pytest.raises(DamagedError):
        Study.open("trial", study.store)


def test_a_time_that_has_not_come_is_a_note(study: Study, time: list[datetime]) -> None:
    time[0] += YEARS
    study.close("enough")  # so that no event can follow
    found = verify_log("trial", study.store, NOW)
    assert found.problems == ()
    (note,) = found.notes
    assert note.startswith("event 3 (closed) is of 2036-03-01T12:00:00.000000Z, a time that")


def test_the_time_is_that_of_the_server(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose clock is ahead writes to a server, which knows better."""

    class Ahead(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + YEARS

    right = datetime.now(UTC)
    monkeypatch.setattr(database, "datetime", Ahead)
    problem = Problem(objectives=["x"], covariance=[1], arms=["A", "B"], name="t")
    study = Study.create(problem, url, seed=3)
    study.ask(expires=HOUR)
    (at,) = {event.at[:4] for event in study.events()}
    server = not url.startswith("sqlite")
    assert at == str(right.year if server else (right + YEARS).year)
    assert len(study.open_tickets()) == 1
    study.store.close()


def test_a_log_starts_from_nothing() -> None:
    """The first event cannot be one of a clock."""
    data = {"schema": 3, "from": "", "by": {}, "key": "x"}
    event = Event.after((0, START), "t", "2026-03-01T11:00:00.000000Z", "clock", data)
    (problem,) = broken_links([event])
    assert problem == "event 1 (clock) does not set the clock back from the event before it"
