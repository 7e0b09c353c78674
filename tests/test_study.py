"""Studies: tickets, results that come late or twice, corrections, exact resume, the log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

import psips.study.journal
import psips.study.state
from psips.errors import InputError
from psips.problem import Problem
from psips.rules import Rules
from psips.session import Session
from psips.store import DatabaseStore, Event, Snapshot, open_store
from psips.store.events import canonical
from psips.study import ProblemsError, Study, read_csv_rows
from psips.study.schema import SCHEMA

MEANS = {"A": (2.0, 1.0), "B": (1.0, 0.5), "C": (0.0, 2.0), "D": (1.5, 3.0)}


def trial() -> Problem:
    return Problem(
        objectives={"gain": "max", "cost": "min"},
        covariance=[1.0, 0.5],
        arms=list(MEANS),
        name="trial",
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DatabaseStore]:
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", create=True) as opened:
        yield opened


@pytest.fixture
def study(store: DatabaseStore) -> Study:
    return Study.create(trial(), store, seed=3)


def measured(arm: str, rng: np.random.Generator) -> list[float]:
    return (np.array(MEANS[arm]) + rng.normal(size=2)).tolist()


def change(study: Study, statement: str) -> None:
    assert isinstance(study.store, DatabaseStore)
    with study.store.engine.begin() as connection:
        connection.execute(sa.text(statement))


def test_it_asks_what_a_session_asks(study: Study) -> None:
    session = Session(trial(), rng=3)
    rng = np.random.default_rng(1)
    for _ in range(60):
        ticket = study.ask()
        assert ticket.arm == session.ask()
        values = measured(ticket.arm, rng)
        study.tell(ticket, values)
        session.tell(ticket.arm, values)
    assert study.state.asker.snapshot() == session.snapshot()
    assert study.candidate_set == session.candidate_set


def test_create(store: DatabaseStore, tmp_path: Path) -> None:
    file = tmp_path / "design.toml"
    file.write_text(
        'name = "tea tasting"\narms = ["green", "black"]\ndelta = 0.02\nseed = 9\n'
        'objectives = [{name = "taste", variance = 2.0}]\n[rules]\nalpha = 0.4\n'
    )
    made = Study.create(file, store)
    assert made.name == "tea tasting"
    assert made.state.rules == Rules(delta=0.02, tuning={"alpha": 0.4})
    assert made.state.seed == 9
    assert made.ask().id == "tea tasting-000001"
    other = Study.create(file, store, name="again", seed=1, delta=0.3)
    assert (other.state.rules.delta, other.state.seed) == (0.3, 1)
    assert store.studies() == ["again", "tea tasting"]
    with pytest.raises(InputError, match="there is a study 'again' in this store already"):
        Study.create(file, store, name="again")
    created = made.events()[0]
    assert created.kind == "created"
    design = {"schema", "id", "problem", "rules", "conduct", "seed", "versions"}
    assert set(created.payload) == design | {"by", "key"}


def test_a_seed_is_drawn_and_recorded(store: DatabaseStore) -> None:
    seeds = {Study.create(trial(), store, name=name).state.seed for name in ("a", "b")}
    assert len(seeds) == 2
    assert Study.open("a", store).state.seed in seeds


@pytest.mark.parametrize("name", ["", " a", "a\n", "x" * 101])
def test_bad_names(store: DatabaseStore, name: str) -> None:
    with pytest.raises(InputError, match="a study needs a name"):
        Study.create(trial(), store, name=name)


def test_an_unknown_study(study: Study) -> None:
    with pytest.raises(InputError, match="unknown study 'tiral': did you mean 'trial'"):
        Study.open("tiral", study.store)


def test_a_batch_is_spread(study: Study) -> None:
    assert sorted(ticket.arm for ticket in study.ask(4)) == list(MEANS)
    rng = np.random.default_rng(2)
    for ticket in study.tickets:
        study.tell(ticket, measured(ticket.arm, rng))
    first = study.ask(6)
    second = study.ask(6)
    assert len({ticket.arm for ticket in first + second}) > 1
    assert len({ticket.id for ticket in study.tickets}) == 16
    status = study.status()
    assert status.arms["pending"].sum() == 12
    session = Session(trial(), rng=3)
    rng = np.random.default_rng(2)
    for arm in session.ask(4):
        session.tell(arm, measured(arm, rng))
    assert session.ask(6) == [ticket.arm for ticket in first]


def test_results_out_of_order_late_and_twice(study: Study) -> None:
    tickets = study.ask(4)
    for ticket in reversed(tickets):
        assert study.tell(ticket, MEANS[ticket.arm]).known == 0
    count = study.state.seq
    receipt = study.tell(tickets[0], {"cost": 1.0, "gain": 2.0})
    assert (receipt.numbers, receipt.known) == ((), 1)
    assert study.state.seq == count
    with pytest.raises(InputError, match=r"has another result already \(gain=2.0, cost=1.0\)"):
        study.tell(tickets[0], [2.0, 1.5])
    with pytest.raises(InputError, match="is for arm 'A', not 'B'"):
        study.tell("B", [2.0, 1.0], ticket=tickets[0].id)
    assert study.tell("A", [2.0, 1.0], ticket=tickets[0].id).known == 1
    assert study.tell("A", [2.0, 1.0]).numbers == (5,)
    assert study.state.session.pulls == {"A": 2, "B": 1, "C": 1, "D": 1}


def test_a_result_without_a_ticket_leaves_tickets_open(study: Study) -> None:
    ticket = study.ask()
    study.tell(ticket.arm, [1.0, 1.0])
    assert [t.id for t in study.open_tickets()] == [ticket.id]
    assert study.status().arms.loc[ticket.arm, "pending"] == 1


def test_tickets_expire(store: DatabaseStore) -> None:
    time = [datetime(2026, 3, 1, tzinfo=UTC)]
    study = Study.create(trial(), store, seed=3, clock=lambda: time[0])
    early = study.ask(4, expires=3600)
    kept = study.ask(1)
    assert early[0].expires == "2026-03-01T01:00:00.000000Z"
    assert len(study.open_tickets()) == 5
    time[0] += timedelta(hours=1)
    assert study.open_tickets() == kept
    assert [t.arm for t in study.ask(4, expires=timedelta(days=2))] == ["B", "C", "D", "A"]
    assert study.tell(early[0], [2.0, 1.0]).numbers == (1,)  # better late
    assert study.verify().problems == ()
    for wrong in (0, -1, float("nan"), 1e30, "soon"):
        with pytest.raises(InputError, match="tickets expire after a positive time"):
            study.ask(expires=wrong)  # type: ignore[arg-type]


def test_the_stop_depends_on_results_only(study: Study) -> None:
    rng = np.random.default_rng(5)
    while not study.stopped:
        ticket = study.ask()
        study.tell(ticket, measured(ticket.arm, rng))
    assert study.pareto_set == ("A", "B")
    study.ask(20, expires=1)
    assert study.stopped
    study.cancel(*[ticket.id for ticket in study.open_tickets()])
    assert study.stopped
    assert study.verify().problems == ()


def test_a_correction_is_as_if_it_had_been_right(study: Study, store: DatabaseStore) -> None:
    twin = Study.create(trial(), store, name="twin", seed=3)
    for arm in MEANS:
        study.tell(arm, [99.0, 0.0] if arm == "C" else MEANS[arm])
        twin.tell(arm, MEANS[arm])
    assert study.candidate_set != twin.candidate_set
    study.correct(MEANS["C"], result=3, reason="misread")
    assert study.state.asker.snapshot() == twin.state.asker.snapshot()
    event = study.events()[-1]
    assert event.payload["instead_of"] == {"gain": 99.0, "cost": 0.0}
    assert event.payload["reason"] == "misread"
    assert study.correct(MEANS["C"], result=3).known == 1
    twin.withdraw(result=1)
    third = Study.create(trial(), store, name="third", seed=3)
    for arm in ("B", "C", "D"):
        third.tell(arm, MEANS[arm])
    assert twin.state.asker.snapshot() == third.state.asker.snapshot()


def test_corrections_keep_the_asks_that_were_made(study: Study) -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        for ticket in study.ask(2):
            study.tell(ticket, measured(ticket.arm, rng))
    asked = [ticket.arm for ticket in study.tickets]
    study.correct([-9.0, 9.0], ticket="trial-000002")
    study.withdraw(ticket="trial-000009")
    assert [ticket.arm for ticket in study.tickets] == asked
    told = [r for r in study.told if not r.withdrawn]
    status = study.status()
    for arm in MEANS:
        mean = np.mean([r.values for r in told if r.arm == arm], axis=0)
        known = status.arms.loc[arm, ["gain estimate", "cost estimate"]].to_numpy(float)
        np.testing.assert_allclose(known, mean)
    assert status.arms["pending"].sum() == 0
    assert study.verify().problems == ()
    again = Study.open("trial", study.store)
    assert [t.arm for t in again.ask(5)] == [t.arm for t in study.tickets[-5:]]
    with pytest.raises(InputError, match="was withdrawn: nothing to correct"):
        study.correct([0.0, 0.0], ticket="trial-000009")
    with pytest.raises(InputError, match="was withdrawn: tell a new measurement by its arm"):
        study.tell(values=[0.0, 0.0], ticket="trial-000009")
    with pytest.raises(InputError, match="by its ticket or by its number"):
        study.correct([0.0, 0.0])


def test_cancelled_tickets(study: Study) -> None:
    first, second = study.ask(2)
    study.tell(first, [1.0, 1.0])
    with pytest.raises(InputError, match="has a result: withdraw the result instead"):
        study.cancel(second.id, first.id)
    assert study.open_tickets() == [second]
    study.cancel(second.id, second.id)
    study.cancel(second.id)
    assert study.state.seq == 4
    with pytest.raises(InputError, match="was cancelled: if arm 'B' was measured after all"):
        study.tell(second, [1.0, 1.0])


def test_a_closed_study(study: Study) -> None:
    study.tell("A", [1.0, 1.0])
    study.close("the season is over")
    for call in (
        lambda: study.ask(),
        lambda: study.tell("A", [1.0, 1.0]),
        lambda: study.correct([1.0, 2.0], result=1),
        lambda: study.close(),
    ):
        with pytest.raises(InputError, match="the study 'trial' is closed"):
            call()
    assert study.closed
    assert study.status().results == 1


def test_many_results_are_one_event(study: Study) -> None:
    tickets = study.ask(2)
    table = pd.DataFrame(
        {
            "ticket": [tickets[0].id, None, tickets[0].id],
            "arm": [None, "B", "A"],
            "gain": [1.0, 2.0, 1.0],
            "cost": [1, 2, 1],
            "nurse": ["x", "y", "z"],
        }
    )
    receipt = study.tell_many(table)
    assert (receipt.numbers, receipt.known) == ((1, 2), 1)
    assert study.state.seq == 3
    assert study.tell_many(table.iloc[[0]]).known == 1
    assert study.state.seq == 3
    with pytest.raises(ProblemsError) as caught:
        study.tell_many(
            [
                {"arm": "E", "gain": "x", "cost": None},
                {"ticket": tickets[0].id, "gain": 3, "cost": 1},
                {"ticket": tickets[1].id, "gain": 3, "cost": 1},
                {"ticket": tickets[1].id, "gain": 3, "cost": 2},
                {"ticket": "trial-000099", "gain": 3, "cost": float("inf")},
                {"gain": 3, "cost": "1_0"},
            ]
        )
    wrong = caught.value.problems
    assert [sentence.split(":")[0] for sentence in wrong] == [
        *["result 1"] * 3,
        *["result 2", "result 4", "result 5", "result 5", "result 6", "result 6"],
    ]
    assert study.state.seq == 3
    assert len(study.told) == 2


def test_a_file_of_results(study: Study, tmp_path: Path) -> None:
    study.ask(2)
    file = tmp_path / "results.csv"
    file.write_text(
        "\ufeffdate, ticket ,arm,cost,gain\n"
        'May,trial-000001,,1.5,2\n\nMay,,D,0.25,-1e-3\n"June, late",trial-000002,B,1,1\n',
        encoding="utf-8",
    )
    receipt = study.tell_many(read_csv_rows(file, study.problem))
    assert receipt.numbers == (1, 2, 3)
    assert [(r.arm, r.values) for r in study.told] == [
        ("A", (2.0, 1.5)),
        ("D", (-0.001, 0.25)),
        ("B", (1.0, 1.0)),
    ]


def test_the_cache_is_only_a_cache(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psips.study.journal, "TAIL", 10)
    rng = np.random.default_rng(6)
    for _ in range(20):
        ticket = study.ask()
        study.tell(ticket, measured(ticket.arm, rng))
    kept = study.store.load_snapshot("trial")
    assert kept is not None
    assert kept.seq > 30
    state = study.state.snapshot()
    assert Study.open("trial", study.store).state.snapshot() == state
    for text in ("", "{}", "[1]", json.dumps({"version": "0"}), kept.text[:-50]):
        study.store.save_snapshot("trial", kept._replace(text=text))
        assert Study.open("trial", study.store).state.snapshot() == state
        assert study.verify().problems == ()
    lie = json.loads(kept.open() or "")
    lie["engines"][0]["belief"]["N"][0] += 1
    study.store.save_snapshot("trial", kept._replace(text=json.dumps(lie)))
    assert Study.open("trial", study.store).state.snapshot() == state
    assert study.verify().problems == ()
    study.store.save_snapshot("trial", Snapshot.seal(kept.seq, kept.hash, canonical(lie)))
    assert study.verify().problems == (
        f"the cached state of event {kept.seq} is not what the log gives",
    )
    change(study, "DELETE FROM snapshots")
    monkeypatch.setattr(psips.study.journal, "TAIL", 10**6)
    assert Study.open("trial", study.store).state.snapshot() == state


def test_a_changed_past_is_seen(study: Study) -> None:
    for arm in MEANS:
        study.tell(arm, MEANS[arm])
    assert study.verify().problems == ()
    change(study, "UPDATE events SET payload = replace(payload, '1.0', '7.0') WHERE seq = 2")
    (sentence,) = study.verify().problems
    assert sentence.startswith("event 2 (told) was changed")


def rewrite(study: Study, seq: int, payload: dict[str, Any]) -> None:
    """Change an event as a forger would: with all hashes after it."""
    assert isinstance(study.store, DatabaseStore)
    last = (0, "0" * 64)
    with study.store.engine.begin() as connection:
        for old in study.events():
            new = payload if old.seq == seq else old.payload
            event = Event.after(last, old.study, old.at, old.kind, new)
            last = (event.seq, event.hash)
            connection.execute(
                sa.text("UPDATE events SET payload=:p, previous=:v, hash=:h WHERE seq=:s"),
                {"p": event.text, "v": event.previous, "h": event.hash, "s": event.seq},
            )


def test_the_log_is_what_happened(study: Study) -> None:
    """As after a new version that asks differently: go on from the arms in the log."""
    study.ask(2)
    asked = study.events()[1].payload
    assert [t["arm"] for t in asked["tickets"]] == ["A", "B"]
    asked["tickets"][1]["arm"] = "D"
    rewrite(study, 2, asked)
    again = Study.open("trial", study.store)
    assert [t.arm for t in again.tickets] == ["A", "D"]
    assert dict(again.status().arms["pending"]) == {"A": 1, "B": 0, "C": 0, "D": 1}
    (sentence,) = again.verify().problems
    assert sentence.startswith("ticket trial-000002 is for arm 'D', but replayed with psips")
    assert [t.arm for t in again.ask(2)] == ["B", "C"]


def test_an_unknown_schema(study: Study) -> None:
    study.tell("A", [1.0, 1.0])
    rewrite(study, 2, {**study.events()[1].payload, "schema": SCHEMA + 1})
    with pytest.raises(InputError, match="has schema 5, but this version of psips reads"):
        Study.open("trial", study.store)
    (sentence,) = study.verify().problems
    assert sentence.startswith("the log cannot be replayed: event 2")


def test_a_failed_write_leaves_nothing(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    twin = Study.create(trial(), "sqlite://", seed=3)
    study.ask(2)
    twin.ask(2)

    def full(*_: object) -> list[Event]:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("psips.store.database.DatabaseWriter.append", full)
        for call in (lambda: study.ask(3), lambda: study.tell("A", [1.0, 1.0])):
            with pytest.raises(OSError, match="disk full"):
                call()
    assert study.state.seq == 2
    for _ in range(3):
        assert [t.arm for t in study.ask(3)] == [t.arm for t in twin.ask(3)]
        study.tell(study.open_tickets()[0], [1.0, 2.0])
        twin.tell(twin.open_tickets()[0], [1.0, 2.0])
    assert study.state.asker.snapshot() == twin.state.asker.snapshot()


def test_refused_arguments(study: Study) -> None:
    for n in (0, -1, 1.5, True, "2"):
        with pytest.raises(InputError, match="the number of tickets must be a whole number"):
            study.ask(n)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected 2 values"):
        study.tell("A", 1.0)
    with pytest.raises(InputError, match="unknown objective 'gian': did you mean 'gain'"):
        study.tell("A", {"gian": 1.0, "cost": 1.0})
    with pytest.raises(InputError, match="the arm is None: name the arm"):
        study.tell(values=[1.0, 1.0])
    with pytest.raises(InputError, match="there are no values with"):
        study.tell("A")
    with pytest.raises(InputError, match="there is no result number 1; 0 were told so far"):
        study.withdraw(result=1)
    with pytest.raises(InputError, match="unknown ticket 'trial-1'; given out so far: none"):
        study.cancel("trial-1")
    assert study.state.seq == 1


def test_calls_take_no_longer_as_results_gather(store: DatabaseStore) -> None:
    problem = Problem(objectives=["a", "b"], covariance=[1.0, 1.0], arms=100, name="large")
    rng = np.random.default_rng(8)
    means = rng.normal(size=(100, 2))
    medians = []
    for each in (2, 100):
        study = Study.create(problem, store, name=f"{each} of each", seed=1)
        study.tell_many(
            {"arm": arm, "a": a, "b": b}
            for arm, mean in zip(problem.arms, means, strict=True)
            for a, b in rng.normal(mean, size=(each, 2))
        )
        seconds = []
        for _ in range(40):
            start = time.process_time()
            ticket = study.ask()
            study.tell(ticket, rng.normal(size=2))
            seconds.append(time.process_time() - start)
        medians.append(median(seconds))
    assert medians[1] < 3 * medians[0]  # 50 times the results


def test_opening_a_study_with_100_000_results(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'large.db'}"
    rng = np.random.default_rng(1)
    arms = rng.choice(list(MEANS), 50_000)
    values = np.array([MEANS[arm] for arm in arms]) + rng.normal(size=(len(arms), 2))
    table = pd.DataFrame({"arm": arms, "gain": values[:, 0], "cost": values[:, 1]})
    made = Study.create(trial(), url, seed=3)
    made.tell_many(table)
    made.tell_many(table)
    for _ in range(psips.study.journal.TAIL):  # so that the state is kept, as in real use
        made.tell("A", [2.0, 1.0])
    made.store.close()
    begin = time.perf_counter()
    opened = Study.open("trial", url)
    assert len(opened.told) == 100_000 + psips.study.journal.TAIL
    assert opened.candidate_set == ("A", "B")
    assert time.perf_counter() - begin < 10  # about a second; machines under load take longer
    opened.store.close()


def test_a_study_as_tables(tmp_path: Path) -> None:
    problem = Problem(
        objectives={"a": "max", "told": "min"}, covariance=[1, 1], arms=["A", "B"]
    )
    study = Study.create(problem, "sqlite://", name="s", seed=1)
    assert study.to_frame().empty
    ticket = study.ask()
    study.tell(ticket, [1.0, 2.0])
    (tmp_path / "r.csv").write_text("arm,a,told,site\nB,3,4,north\n")
    study.tell_file(tmp_path / "r.csv", keep_columns=["site"])
    study.withdraw(result=1)
    frame = study.to_frame()
    assert frame.index.tolist() == [1, 2]
    assert frame["arm"].tolist() == [ticket.arm, "B"]
    assert frame["a"].tolist() == [1.0, 3.0]
    assert frame["withdrawn"].tolist() == [True, False]
    assert frame["site"].tolist()[1] == "north"
    log = study.log
    assert log["kind"].tolist() == ["created", "asked", "told", "told", "withdrawn"]
    assert log["hash"].iloc[-1] == study.state.hash
    assert log["payload"].iloc[3]["results"][0]["kept"] == {"site": "north"}


def test_a_far_value_warns_in_python() -> None:
    problem = Problem(objectives=["a"], covariance=[1], arms=["A", "B"])
    study = Study.create(problem, "sqlite://", name="s", seed=1)
    study.tell("A", 34.5)
    with pytest.warns(UserWarning, match="a = 3450 is 3,416 standard deviations"):
        receipt = study.tell("A", 3450)
    assert receipt.numbers == (2,)
    assert len(receipt.warnings) == 1
    with pytest.raises(InputError, match=r"a = -34.5 is 69 standard deviations"):
        study.tell("A", -34.5, strict=True)
    assert len(study.told) == 2


def test_a_correction_of_what_changes() -> None:
    problem = Problem(objectives=["a", "b"], covariance=[1, 1], arms=["A", "B"])
    study = Study.create(problem, "sqlite://", name="s", seed=1)
    study.tell("A", [1.0, 2.0])
    study.correct({"b": 5}, result=1)
    assert study.told[0].values == (1.0, 5.0)
    assert study.events()[-1].payload["instead_of"] == {"a": 1.0, "b": 2.0}
    assert study.correct({"b": 5}, result=1).known == 1
    for bad, message in (({}, "the correction has no values"), ({"c": 1}, "unknown objective")):
        with pytest.raises(InputError, match=message):
            study.correct(bad, result=1)


def test_a_closed_study_says_so() -> None:
    problem = Problem(objectives=["a"], covariance=[1], arms=["A", "B"])
    study = Study.create(problem, "sqlite://", name="s", seed=1)
    study.tell("A", 1.0)
    assert str(study.status()).startswith("open after 1 result\n")
    study.close()
    assert str(study.status()).startswith("closed after 1 result\n")
    assert "Status(closed" in repr(study.status())


@pytest.mark.parametrize(
    "name", ["a\u200b", "cafe\u0301", "a\tb", "\udcff", "a" * 101, " a", ""]
)
def test_names_of_studies(name: str) -> None:
    problem = Problem(objectives=["a"], covariance=[1], arms=["A", "B"])
    with pytest.raises(InputError):
        Study.create(problem, "sqlite://", name=name)


def test_too_many_tickets() -> None:
    problem = Problem(objectives=["a"], covariance=[1], arms=["A", "B"])
    study = Study.create(problem, "sqlite://", name="s", seed=1)
    with pytest.raises(
        InputError, match="the number of tickets is at most 10,000, got 10000000"
    ):
        study.ask(10**7)
