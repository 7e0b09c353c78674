"""What a store must not say: forged caches, changed logs, false stops, false errors."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from psips.errors import InputError
from psips.problem import Problem
from psips.report import report
from psips.store import (
    DamagedError,
    DatabaseStore,
    Event,
    LostError,
    Snapshot,
    UnknownOutcomeError,
    open_store,
)
from psips.store.events import START, canonical
from psips.study import Conduct, Study, verify_log
from psips.study.state import State
from psips.study.transfer import backup

MEANS = {"A": (2.0, 1.0), "B": (1.0, 0.5), "C": (0.0, 2.0), "D": (1.5, 3.0)}


def trial(**changes: Any) -> Problem:
    given: dict[str, Any] = {
        "objectives": {"gain": "max", "cost": "min"},
        "covariance": [1.0, 0.5],
        "arms": list(MEANS),
        "name": "trial",
    }
    return Problem(**{**given, **changes})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DatabaseStore]:
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", create=True) as opened:
        yield opened


@pytest.fixture
def study(store: DatabaseStore) -> Study:
    made = Study.create(trial(), store, seed=3)
    for arm in [*MEANS, *MEANS]:
        made.tell(arm, MEANS[arm])
    return made


def change(study: Study, statement: str, **values: Any) -> None:
    assert isinstance(study.store, DatabaseStore)
    with study.store.engine.begin() as connection:
        connection.execute(sa.text(statement), values)


def again(study: Study) -> Study:
    return Study.open(study.name, study.store)


# 1. Caches.


def forge(study: Study, seq: int, lie: Callable[[dict[str, Any]], None], sealed: bool) -> None:
    """Put a false state into the cache, as someone with access to the database would."""
    data = json.loads(study.state.snapshot().open() or "")
    lie(data)
    event = study.events()[seq - 1]
    kept = Snapshot.seal(seq, event.hash, canonical(data))
    if not sealed:
        kept = kept._replace(text=kept.text[:-1] + " }")
    study.store.save_snapshot(study.name, kept)


def rich(data: dict[str, Any]) -> None:
    for engine in data["engines"]:
        engine["belief"]["N"] = [n * 601 for n in engine["belief"]["N"]]
        engine["belief"]["pulls"] = [n * 601 for n in engine["belief"]["pulls"]]
        engine["belief"]["tally"] = [4808]
        engine["outcome"][0] = "1.0"


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("seq", [1, 5, 9])
def test_a_forged_cache_is_found_and_never_reported(
    study: Study, seq: int, sealed: bool
) -> None:
    forge(study, seq, rich, sealed)
    other = again(study)
    assert other.state.session.results == 8  # it does not fit the results: not used
    if sealed:
        assert other.verify().problems == (
            f"the cached state of event {seq} is not what the log gives",
        )
    html = report(other)
    assert "4,808" not in html
    assert "8 results were recorded; 8 of them count" in html


def test_a_cache_of_another_format_is_as_good_as_none(study: Study) -> None:
    """It is made again from the log, whatever it says."""

    def old(data: dict[str, Any]) -> None:
        for engine in data["engines"]:
            engine["format"] -= 1
            engine["outcome"][0] = "1.0"

    created, seq = study.events()[0], study.events()[-1].seq
    kept = study.state.snapshot()
    assert State.restore(created, kept) is not None
    forge(study, seq, old, sealed=True)
    found = study.store.load_snapshot(study.name)
    assert found is not None
    assert State.restore(created, found) is None
    other = again(study)
    assert not other.state.session.stopped
    assert other.state.snapshot() == kept


def test_a_forged_cache_that_fits_is_not_reported(study: Study) -> None:
    def lie(data: dict[str, Any]) -> None:
        for engine in data["engines"]:
            engine["outcome"][0] = "1.0"  # stopped

    forge(study, 9, lie, sealed=True)
    assert "Open after 8 results" in report(again(study))


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("front", "members", 10**9),
        ("front", "outside", -7),
        ("front", "dominator", 2**40),
        ("front", "size", 10**7),
        ("front", "size", -3),
    ],
)
def test_an_index_out_of_bounds_in_a_sealed_cache(
    study: Study, part: str, field: str, value: int
) -> None:
    def lie(data: dict[str, Any]) -> None:
        for engine in data["engines"]:
            engine[part][field][0] = value

    expected = study.state.snapshot()
    forge(study, 9, lie, sealed=True)
    assert again(study).state.snapshot() == expected


# 2. What is read is checked.


def test_a_changed_payload_is_refused(study: Study, store: DatabaseStore) -> None:
    change(study, "DELETE FROM snapshots")
    change(study, "UPDATE events SET payload = replace(payload, '2.0', '9.0') WHERE seq = 2")
    for call in (
        lambda: again(study),
        lambda: study.events(),
        lambda: report(study),
    ):
        with pytest.raises(InputError, match=r"event 2 \(told\) was changed.*study verify"):
            call()
    assert study.verify().problems[0].startswith("event 2 (told) was changed")


def test_a_change_before_the_cached_state_is_found_by_a_correction(study: Study) -> None:
    study.correct([1.0, 1.0], result=1)  # has the state cached
    change(study, "UPDATE events SET payload = replace(payload, '2.0', '2.5') WHERE seq = 2")
    opened = again(study)  # which does not read event 2
    seq = opened.state.seq
    with pytest.raises(DamagedError, match=r"event 2 \(told\) was changed"):
        opened.correct([1.5, 1.0], result=1)
    assert study.store.read(study.name)[-1].seq == seq


@pytest.mark.parametrize("left", [1, 5, 9])
def test_a_log_that_was_cut_below_its_cached_state(
    study: Study, tmp_path: Path, left: int
) -> None:
    study.correct([1.0, 1.0], result=1)  # has the state cached, at event 10
    study.tell("A", MEANS["A"])
    assert study.verify().problems == ()
    change(study, "DELETE FROM events WHERE seq > :s", s=left)
    (problem,) = verify_log("trial", study.store).problems
    assert problem.startswith("event 10 is missing or was changed: there is a cached state")
    for call in (
        lambda: again(study).tell("A", MEANS["A"]),
        lambda: again(study).status(),
        lambda: report(again(study)),
        lambda: backup(study.store, tmp_path / "copy.db"),
    ):
        with pytest.raises(DamagedError, match=r"has lost event 10|event 10 is missing"):
            call()
    assert study.store.read("trial")[-1].seq == left


def test_a_log_that_went_on_after_it_was_cut(study: Study) -> None:
    """Others wrote on where it was cut, so that there is another event 10."""
    study.correct([1.0, 1.0], result=1)
    change(study, "DELETE FROM events WHERE seq > 8")
    kept = study.store.load_snapshot("trial")
    assert kept is not None
    change(study, "DELETE FROM snapshots")
    other = again(study)
    for _ in range(3):
        other.tell("B", MEANS["B"])
    study.store.save_snapshot("trial", kept)
    assert "event 10 is missing or was changed" in again_verified(study)[0]
    with pytest.raises(DamagedError, match="has lost event 10"):
        again(study)


def again_verified(study: Study) -> tuple[str, ...]:
    return verify_log(study.name, study.store).problems


def test_a_log_that_was_cut_at_its_cached_state_or_above(study: Study) -> None:
    """Nothing in the store shows that: it takes a head that was kept elsewhere."""
    study.correct([1.0, 1.0], result=1)
    study.tell("A", MEANS["A"])
    change(study, "DELETE FROM events WHERE seq > 10")
    assert again_verified(study) == ()


def test_a_log_that_has_gone(study: Study) -> None:
    study.correct([1.0, 1.0], result=1)
    events = study.events()
    change(study, "DELETE FROM events")
    with pytest.raises(DamagedError, match="its log has gone: restore a backup"):
        Study.create(trial(), study.store, seed=3)
    with study.store.writing("trial") as writer:
        writer.copy(events[:4])  # an old backup
    assert again(study).verify().problems == ()


def test_new_events_are_checked_by_a_live_process(study: Study) -> None:
    other = again(study)
    study.tell("A", MEANS["A"])
    change(study, "UPDATE events SET payload = replace(payload, '2.0', '9.0') WHERE seq = 10")
    with pytest.raises(InputError, match=r"event 10 \(told\) was changed"):
        other.status()
    with pytest.raises(InputError, match=r"event 10 .* was changed"):
        other.tell("A", MEANS["A"])


def test_a_swapped_log_is_noticed(study: Study, store: DatabaseStore) -> None:
    """The whole log is replaced by another that is sound in itself."""
    last = (0, START)
    rows = []
    for old in study.events():
        text = old.text.replace("2.0", "3.0")
        event = Event(old.study, old.seq, old.at, old.kind, text, last[1], "")
        event = event._replace(hash=event.digest())
        last = (event.seq, event.hash)
        rows.append(event)
    for event in rows:
        change(
            study,
            "UPDATE events SET payload = :t, previous = :p, hash = :h WHERE seq = :s",
            t=event.text,
            p=event.previous,
            h=event.hash,
            s=event.seq,
        )
    assert again(study).verify().problems == ()
    for call in (study.status, study.ask, lambda: study.tell("A", MEANS["A"])):
        with pytest.raises(InputError, match="is not the one that was read before"):
            call()


def test_a_log_cut_short_is_noticed_by_a_live_process(study: Study) -> None:
    change(study, "DELETE FROM events WHERE seq > 6")
    with pytest.raises(InputError, match="its event 9 has gone or was changed"):
        study.status()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET payload = 'no json' WHERE seq = 3",
        "UPDATE events SET hash = x'00ff' WHERE seq = 3",
        "UPDATE events SET payload = 7 WHERE seq = 3",
        "UPDATE events SET at = x'1b5b' WHERE seq = 3",
        "UPDATE events SET kind = '' WHERE seq = 3",
        "UPDATE events SET seq = 'three' WHERE seq = 3",
        "DELETE FROM events WHERE seq = 1",
        "UPDATE events SET payload = '[]' WHERE seq = 1",
        "UPDATE events SET payload = cast(x'ff' AS TEXT) WHERE seq = 4",
    ],
)
def test_a_damaged_log_is_a_sentence(study: Study, damage: str) -> None:
    change(study, "DELETE FROM snapshots")
    change(study, damage)
    with pytest.raises(InputError) as caught:
        again(study).status()
    assert len(str(caught.value)) < 500
    found = study.verify()
    assert found.problems
    assert all(len(problem) < 500 for problem in found.problems)


# 3. The judgement is a function of the results.

STEPS = st.lists(
    st.tuples(st.sampled_from(["tell", "tell", "ask", "cancel"]), st.integers(0, 10**6)),
    min_size=30,
    max_size=60,
)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(steps=STEPS, arms=st.integers(2, 4), seed=st.integers(0, 50))
def test_the_stop_depends_on_no_ticket(
    steps: list[tuple[str, int]], arms: int, seed: int
) -> None:
    problem = trial(arms=list(MEANS)[:arms])
    busy = Study.create(problem, "sqlite://", name="busy", seed=seed, delta=0.5)
    quiet = Study.create(problem, "sqlite://", name="quiet", seed=seed, delta=0.5)
    rng = np.random.default_rng(seed)
    for number, (step, which) in enumerate(steps):
        if step == "ask":
            busy.ask(which % 4 + 1)
        elif step == "cancel" and busy.open_tickets():
            waiting = busy.open_tickets()
            busy.cancel(waiting[which % len(waiting)].id)
        else:
            arm = problem.arms[number % arms]
            values = (np.array(MEANS[arm]) + rng.normal(size=2)).tolist()
            assert busy.tell(arm, values) == quiet.tell(arm, values)
    loud, still = busy.state.session.engine.snapshot(), quiet.state.session.engine.snapshot()
    loud.pop("learner")  # holds what is pending, to be shown
    still.pop("learner")
    assert loud == still


# 4. An error says what became of it.


def test_create_leaves_nothing_that_cannot_be_opened(store: DatabaseStore) -> None:
    for variance in (1e99, 1e-99, 1e160, 1e200, 1e300, 1e-160, 1e-300):
        try:
            Study.create(trial(covariance=[variance, 1.0]), store, name=f"v{variance}", seed=1)
        except InputError:
            assert f"v{variance}" not in store.studies()
        else:
            made = Study.open(f"v{variance}", store)
            made.ask()
            sd = math.sqrt(variance)
            made.tell("A", [1e14 * sd, -1e14])
            made.tell("B", [-1e14 * sd, 1e14])
            made.correct([sd, 1.0], result=1)
            assert made.verify().problems == ()


@pytest.mark.parametrize(
    "call",
    [
        lambda study: study.correct([5.0, 5.0], result=1),
        lambda study: study.withdraw(result=1),
    ],
)
def test_an_error_on_working_it_out_leaves_nothing(
    study: Study, call: Callable[[Study], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise InputError("it cannot be worked out")

    with monkeypatch.context() as patch:
        patch.setattr("psips.study.state.State._rebuild", fail)
        with pytest.raises(InputError, match="cannot be worked out"):
            call(study)
    assert study.state.seq == 9
    assert again(study).told[0].values == MEANS["A"]


def dying(monkeypatch: pytest.MonkeyPatch, times: int, recorded: bool) -> list[int]:
    """Have the connection lost at the end of the next transactions that append."""
    real = DatabaseStore.writing
    left = [times]

    class Dying:
        def __init__(self, store: DatabaseStore, name: str) -> None:
            self.inner = real(store, name)

        def __enter__(self) -> Any:
            return self.inner.__enter__()

        def __exit__(self, *error: Any) -> Any:
            if error[0] is None and left[0] > 0:
                left[0] -= 1
                if recorded:
                    self.inner.__exit__(None, None, None)
                else:
                    lost = LostError("lost")
                    with suppress(LostError):
                        self.inner.__exit__(LostError, lost, None)
                raise UnknownOutcomeError("the store failed at the end")
            return self.inner.__exit__(*error)

    monkeypatch.setattr(DatabaseStore, "writing", lambda self, name: Dying(self, name))
    return left


@pytest.mark.parametrize("recorded", [True, False])
def test_a_connection_lost_at_the_end_counts_once(
    study: Study, monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    dying(monkeypatch, 1, recorded)
    assert study.tell("A", [1.0, 1.0]).numbers == (9,)
    dying(monkeypatch, 1, recorded)
    assert len(study.ask(3)) == 3
    dying(monkeypatch, 1, recorded)
    assert study.correct([7.0, 7.0], result=9).known == 0
    assert study.told[8].values == (7.0, 7.0)
    assert [e.kind for e in study.events()[9:]] == ["told", "asked", "corrected"]
    assert study.verify().problems == ()


def test_an_unknown_outcome_is_said_and_can_be_repeated(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        dying(patch, 2, recorded=False)
        with pytest.raises(
            UnknownOutcomeError, match="it is not known whether it was recorded"
        ):
            study.tell("A", [1.0, 1.0], key="visit 12")
    first = study.tell("A", [1.0, 1.0], key="visit 12")
    assert first.numbers == (9,)
    assert study.tell("A", [1.0, 1.0], key="visit 12") == first
    assert len(study.told) == 9
    with pytest.raises(InputError, match="the key 'visit 12' is that of another event"):
        study.tell("A", [2.0, 1.0], key="visit 12")
    with pytest.raises(InputError, match="the key 'visit 12' is that of another event"):
        study.ask(key="visit 12")
    tickets = study.ask(2, key="round 1")
    assert study.ask(2, key="round 1") == tickets
    assert study.correct([4.0, 4.0], result=1, key="c").known == 0
    seq = study.state.seq
    study.correct([4.0, 4.0], result=1, key="c")
    assert study.state.seq == seq


# 5. What the noise cannot explain.


def test_an_impossible_result_is_held(store: DatabaseStore) -> None:
    study = Study.create(trial(), store, seed=3)
    rng = np.random.default_rng(1)
    for arm in [*MEANS, *MEANS]:
        study.tell(arm, (np.array(MEANS[arm]) + rng.normal(size=2)).tolist())
    before = study.candidate_set
    receipt = study.tell("C", [120.0, 2.0])
    assert receipt.held == (9,)
    assert not receipt.stopped
    assert study.candidate_set == before
    assert study.state.session.results == 8
    assert [result.number for result in study.held] == [9]
    assert "beyond what the noise allows" in report(study)
    assert again(study).held == study.held
    study.confirm(result=9, reason="measured again")
    assert study.held == ()
    assert study.state.session.results == 9
    assert "C" in study.candidate_set
    assert study.verify().problems == ()
    study.correct([0.0, 2.0], result=9)
    assert study.candidate_set == before


def test_a_held_result_counts_once_corrected(study: Study) -> None:
    study.tell("A", [1.0, 99.0])
    assert len(study.held) == 1
    study.correct([1.0, 1.0], result=9, reason="a slip")
    assert study.held == ()
    assert study.state.session.results == 9
    study.withdraw(result=9)
    with pytest.raises(InputError, match="was withdrawn"):
        study.confirm(result=9)


def test_two_that_contradict_each_other_are_both_held(store: DatabaseStore) -> None:
    study = Study.create(trial(), store, seed=3)
    for arm in MEANS:
        study.tell(arm, MEANS[arm])
    study.tell("A", [60.0, 1.0])
    assert [r.number for r in study.held] == [1, 5]
    study.tell("A", [2.1, 1.0])  # agrees with the first
    assert [r.number for r in study.held] == [5]
    assert study.state.session.pulls["A"] == 2
    assert study.verify().problems == ()


@pytest.mark.parametrize("place", [0, 1, 3])
def test_the_only_result_of_an_arm_waits_if_it_is_far_from_all(
    store: DatabaseStore, place: int
) -> None:
    study = Study.create(trial(), store, seed=3)
    for number, arm in enumerate([*MEANS, *MEANS]):
        values = (120.0, 1.0) if number == place else MEANS[arm]
        study.tell(arm, values)
        assert not study.stopped
    assert place + 1 in [r.number for r in study.held]
    study.tell(list(MEANS)[place], (120.4, 1.0))


def test_far_apart_arms_are_believed_when_measured_twice(store: DatabaseStore) -> None:
    study = Study.create(trial(covariance=[1e-4, 1e-4]), store, seed=3)
    for _ in range(2):
        for arm in MEANS:
            study.tell(arm, MEANS[arm])
    assert study.held == ()
    assert study.state.session.results == 8


def test_holding_can_be_turned_off(store: DatabaseStore, tmp_path: Path) -> None:
    study = Study.create(trial(), store, seed=3, conduct={"hold": False})
    study.tell("A", [1.0, 1.0])
    assert study.tell("A", [120.0, 1.0]).held == ()
    file = tmp_path / "design.toml"
    file.write_text(
        'arms = ["a", "b"]\nobjectives = [{name = "x", variance = 1.0}]\n'
        "[study]\nhold = 25\nreasons = true\n"
    )
    made = Study.create(file, store, name="file")
    assert made.state.conduct == Conduct(hold=25.0, reasons=True)
    for wrong in ({"hold": True}, {"hold": 1}, {"reasons": 1}, {"hodl": 9}):
        with pytest.raises(InputError):
            Study.create(trial(), store, name="wrong", conduct=wrong)
    assert "wrong" not in store.studies()


# 6. Tickets of copies.


@pytest.mark.usefixtures("tags")
def test_copies_of_a_study_do_not_share_tickets(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'one.db'}"
    one = Study.create(trial(), url, seed=3)
    shared = one.ask()
    one.store.close()
    (tmp_path / "two.db").write_bytes((tmp_path / "one.db").read_bytes())
    two = Study.open("trial", f"sqlite:///{tmp_path / 'two.db'}")
    one = Study.open("trial", url)
    mine, theirs = one.ask(), two.ask()
    assert mine.arm == theirs.arm
    assert mine.id != theirs.id
    with pytest.raises(InputError, match="another study, or another copy of it"):
        one.tell(theirs, [1.0, 1.0])
    twin = Study.create(trial(), f"sqlite:///{tmp_path / 'three.db'}", seed=3)
    assert twin.ask().id != shared.id
    assert twin.state.identity != one.state.identity
    for study in (one, two, twin):
        assert study.verify().problems == ()
        study.store.close()


# 7. Times and numbers of events.


def restamp(study: Study, seq: int, at: str) -> None:
    """Change the time of an event as a forger would: with all hashes after it."""
    last = (0, START)
    for old in study.events():
        event = old._replace(previous=last[1], at=at if old.seq == seq else old.at, hash="")
        event = event._replace(hash=event.digest())
        last = (event.seq, event.hash)
        change(
            study,
            "UPDATE events SET at = :a, previous = :p, hash = :h WHERE seq = :s",
            **{"a": event.at, "p": event.previous, "h": event.hash, "s": event.seq},
        )


@pytest.mark.parametrize(
    ("at", "sentence"),
    [
        ("yesterday", "has no valid time"),
        ("<script>alert(1)</script>", "has no valid time"),
        ("2026-02-30T00:00:00.000000Z", "has no valid time"),
        ("1999-01-01T00:00:00.000000Z", "is earlier than the event before it"),
    ],
)
def test_event_times_are_checked(study: Study, at: str, sentence: str) -> None:
    restamp(study, 9, at)
    (problem,) = study.verify().problems
    assert problem == f"event 9 (told) {sentence}"


def test_a_row_with_number_zero(study: Study) -> None:
    change(
        study,
        "INSERT INTO events SELECT study, 0, at, kind, payload, previous, hash "
        "FROM events WHERE seq = 2",
    )
    assert "events are numbered from 1" in study.verify().problems[0]
