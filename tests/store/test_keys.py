"""A key is bound to who asks and to all they ask for; anything else under it is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from psips.problem import Problem
from psips.store import DatabaseStore, open_store
from psips.store.database import DatabaseWriter
from psips.study import KeyUsedError, Study

K = "monday 1"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DatabaseStore]:
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", create=True) as opened:
        yield opened


def prepared(store: DatabaseStore, name: str = "trial", **design: Any) -> Study:
    problem = Problem(
        objectives={"gain": "max", "cost": "min"},
        covariance=[1.0, 1.0],
        arms=["A", "B"],
        name=name,
    )
    study = Study.create(problem, store, seed=3, user="ann", **design)
    study.ask(4, key="tickets")
    for _ in range(2):
        study.tell("A", [1.0, 1.0])
        study.tell("B", [0.0, 2.0])
    return study


Act = Callable[[Study], Any]


def ticket(study: Study, number: int) -> str:
    return study.tickets[number - 1].id


def told_file(study: Study, rows: str, **given: Any) -> Any:
    folder = Path(study.store.url.removeprefix("sqlite:///")).parent
    (folder / "r.csv").write_text(f"arm,gain,cost,date\n{rows}\n")
    return study.tell_file(folder / "r.csv", key=K, **given)


# What is done first, then requests that say something else under the same key.
CASES: dict[str, tuple[Act, list[Act]]] = {
    "withdraw": (
        lambda s: s.withdraw(result=1, key=K),
        [
            lambda s: s.withdraw(result=2, key=K),
            lambda s: s.withdraw(result=1, reason="lost", key=K),
            lambda s: s.cancel(ticket(s, 1), key=K),
            lambda s: s.close(key=K),
        ],
    ),
    "correct": (
        lambda s: s.correct({"gain": 5.0}, result=1, reason="slip", key=K),
        [
            lambda s: s.correct({"gain": 5.0}, result=2, reason="slip", key=K),
            lambda s: s.correct({"gain": 5.5}, result=1, reason="slip", key=K),
            lambda s: s.correct({"gain": 5.0, "cost": 1.0}, result=1, reason="slip", key=K),
            lambda s: s.correct({"gain": 5.0}, result=1, reason="other", key=K),
        ],
    ),
    "cancel": (
        lambda s: s.cancel(ticket(s, 1), key=K),
        [
            lambda s: s.cancel(ticket(s, 2), key=K),
            lambda s: s.cancel(ticket(s, 1), ticket(s, 2), key=K),
            lambda s: s.cancel(ticket(s, 1), reason="no material", key=K),
            lambda s: s.withdraw(result=1, key=K),
        ],
    ),
    "confirm": (
        lambda s: s.confirm(result=5, key=K),
        [
            lambda s: s.confirm(result=6, key=K),
            lambda s: s.confirm(event=5, key=K),
            lambda s: s.confirm(result=5, reason="seen", key=K),
        ],
    ),
    "ask": (
        lambda s: s.ask(2, expires=3600, key=K),
        [
            lambda s: s.ask(3, expires=3600, key=K),
            lambda s: s.ask(2, expires=7200, key=K),
            lambda s: s.ask(2, key=K),
            lambda s: s.tell("A", [1.0, 1.0], key=K),
        ],
    ),
    "tell": (
        lambda s: s.tell(values=[1.0, 2.0], ticket=ticket(s, 1), key=K),
        [
            lambda s: s.tell(values=[1.0, 2.5], ticket=ticket(s, 1), key=K),
            lambda s: s.tell(values=[1.0, 2.0], ticket=ticket(s, 2), key=K),
            lambda s: s.tell("A", [1.0, 2.0], key=K),
            lambda s: s.tell("Z", [1.0, 2.0], ticket=ticket(s, 1), key=K),
            lambda s: s.tell(values=[1.0, 2.0], ticket=ticket(s, 1), strict=True, key=K),
        ],
    ),
    "tell many": (
        lambda s: s.tell_many([{"arm": "A", "gain": 1, "cost": "2"}] * 2, key=K),
        [
            lambda s: s.tell_many([{"arm": "A", "gain": 1, "cost": 2}], key=K),
            lambda s: s.tell_many([{"arm": "A", "gain": 1, "cost": 2}] * 3, key=K),
            lambda s: s.tell_many([{"arm": "A", "gain": 1, "cost": "?"}] * 2, key=K),
            lambda s: s.ask(key=K),
        ],
    ),
    "tell file": (
        lambda s: told_file(s, "A,1,2,x", keep_columns=["date"]),
        [
            lambda s: told_file(s, "A,1,2,y", keep_columns=["date"]),
            lambda s: told_file(s, "A,1,2,x"),
            lambda s: told_file(s, "A,1,2,x", keep_columns=["date"], again=True),
            lambda s: s.tell("A", [1.0, 2.0], key=K),
        ],
    ),
    "close": (
        lambda s: s.close("enough", key=K),
        [lambda s: s.close("too dear", key=K), lambda s: s.ask(key=K)],
    ),
}


def first(study: Study, case: str) -> tuple[Any, Act, list[Act]]:
    act, others = CASES[case]
    if case == "confirm":
        study.tell("A", [99.0, 1.0])
        study.tell("A", [-99.0, 1.0])
        assert [result.number for result in study.held] == [5, 6]
    return act(study), act, others


@pytest.mark.parametrize("case", CASES)
def test_a_key_is_for_one_request(store: DatabaseStore, case: str) -> None:
    study = prepared(store)
    answer, act, others = first(study, case)
    head = study.state.hash
    assert act(study) == answer
    for other in others:
        with pytest.raises(KeyUsedError, match=f"the key '{K}' is that of another event"):
            other(study)
    assert act(Study.open("trial", store, user="ann")) == answer
    assert study.state.hash == head


@pytest.mark.parametrize("case", CASES)
def test_a_key_is_for_one_person(store: DatabaseStore, case: str) -> None:
    study = prepared(store)
    _, act, _ = first(study, case)
    head = study.state.hash
    with pytest.raises(KeyUsedError, match=r"\(\w+ by 'ann'\): give each request a key"):
        act(Study.open("trial", store, user="bob"))
    assert study.state.hash == head


@pytest.mark.parametrize("case", [c for c in CASES if c != "tell file"])
def test_keys_in_logs_without_fingerprints(
    store: DatabaseStore, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events that an older psips recorded: what they say is compared."""
    study = prepared(store)
    with monkeypatch.context() as patch:
        kept = DatabaseWriter.append

        def older(self: Any, entries: Any, expected: int) -> Any:
            plain = [
                (at, kind, {k: v for k, v in data.items() if k != "request"})
                for at, kind, data in entries
            ]
            return kept(self, plain, expected)

        patch.setattr(DatabaseWriter, "append", older)
        answer, act, others = first(study, case)
    event = study.events()[-1]
    assert "request" not in event.payload
    assert act(study) == answer
    for other in others:
        if case == "tell" and other is others[-1]:
            continue  # whether it was strict is not in such an event
        if case == "correct" and other is others[2]:
            continue  # nor which of the values were given
        with pytest.raises(KeyUsedError):
            other(study)
    with pytest.raises(KeyUsedError):
        act(Study.open("trial", store, user="bob"))


def test_the_same_said_in_other_words_is_the_same(store: DatabaseStore) -> None:
    study = prepared(store)
    asked = study.tickets[0]
    once = study.tell(asked, [1.0, 2.0], key="t")
    assert study.tell(values={"cost": 2, "gain": 1}, ticket=asked.id, key="t") == once
    number = once.numbers[0]
    assert study.withdraw(ticket=asked.id, key="w") == study.withdraw(result=number, key="w")
    again = study.ask(expires=timedelta(hours=1), key="a")
    assert study.ask(1, expires=3600.0, key="a") == [again]


def test_an_answer_counts_what_was_known(store: DatabaseStore) -> None:
    study = prepared(store)
    study.tell(study.tickets[0], [1.0, 2.0])
    rows = [
        {"ticket": ticket(study, 1), "gain": 1.0, "cost": 2.0},
        {"ticket": ticket(study, 2), "gain": 1.0, "cost": 2.0},
    ]
    answer = study.tell_many(rows, key=K)
    assert (len(answer.numbers), answer.known) == (1, 1)
    assert study.tell_many(rows, key=K) == answer


def test_expiry_survives_another_clock(store: DatabaseStore) -> None:
    """The wait is compared, not the moment at which a ticket expires."""
    time = [datetime(2026, 3, 1, tzinfo=UTC)]
    problem = Problem(objectives=["x"], covariance=[1], arms=["A", "B"], name="timed")
    study = Study.create(problem, store, seed=3, clock=lambda: time[0])
    tickets = study.ask(2, expires=0.1, key=K)
    time[0] += timedelta(hours=1)
    assert study.ask(2, expires=0.1, key=K) == tickets
