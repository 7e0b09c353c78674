"""The loop of the README ends without a traceback: stopped, or out of budget or time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips import Problem, Session, Study, evaluate
from psips.errors import InputError
from psips.input.durations import duration_text, read_duration
from psips.problem.problem_file import read_problem_file

PROBLEM = Problem(objectives=["taste"], covariance=[1], arms=["green", "black"])


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def time(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)


def loop(session: Any, rng: np.random.Generator, clock: Clock | None = None) -> None:
    """Write the loop of the README; both options are equal, so it never stops by itself."""
    while not session.done:
        arm = session.ask()
        if clock is not None:
            clock.seconds += 1.0
        session.tell(arm, rng.normal())


def test_a_budget_ends_the_loop() -> None:
    session = Session(PROBLEM, budget=30, rng=1)
    loop(session, np.random.default_rng(2))
    assert (session.results, session.done, session.stopped) == (30, True, False)
    assert session.status().done


def test_asks_that_wait_count_in_done() -> None:
    session = Session(PROBLEM, budget=4, rng=1)
    asked = session.ask(4)
    assert session.done
    assert not session.exhausted
    session.cancel(asked[0])
    assert not session.done


def test_a_stop_ends_the_loop() -> None:
    session = Session(PROBLEM, budget=1000, rng=1)
    while not session.done:
        arm = session.ask()
        session.tell(arm, 10.0 if arm == "green" else 0.0)
    assert session.stopped
    assert session.results < 1000


def test_the_end_of_a_list_of_items_ends_the_loop() -> None:
    problem = Problem(objectives=["taste"], arms=["green", "black"], items=["a", "b", "c"])
    session = Session(problem, rng=1)
    rng = np.random.default_rng(1)
    while not session.done:
        session.tell(session.ask(), rng.normal())
    assert session.results == 6


def test_a_time_limit_ends_the_loop() -> None:
    clock = Clock()
    session = Session(PROBLEM, time_limit="1min", clock=clock, rng=1)
    clock.seconds += 500.0  # before the first ask no time counts
    loop(session, np.random.default_rng(2), clock)
    assert (session.results, session.stopped) == (60, False)
    with pytest.raises(InputError, match=r"the time limit, 1 min, is over \(1 min since"):
        session.ask()
    session.tell("green", 0.1)  # what was measured counts
    text = str(session.status())
    assert "The time limit, 1 min, is over and the stop was not reached" in " ".join(
        text.split()
    )


def test_time_does_not_change_what_is_asked() -> None:
    slow, fast = Clock(), Clock()
    one = Session(PROBLEM, time_limit="1h", clock=slow, rng=1)
    other = Session(PROBLEM, rng=1)
    asked = []
    for session, clock in ((one, slow), (other, fast)):
        rng = np.random.default_rng(3)
        found = []
        for _ in range(40):
            found.append(session.ask())
            clock.seconds += rng.uniform(0.0, 60.0)
            session.tell(found[-1], float(len(found) % 3))
        asked.append(found)
    assert asked[0] == asked[1]


def test_a_snapshot_keeps_the_time_that_was_spent() -> None:
    clock = Clock()
    session = Session(PROBLEM, time_limit=60, clock=clock, rng=1)
    session.tell(session.ask(), 1.0)
    clock.seconds += 59.0
    again = Session.restore(session.snapshot())
    assert again.time_limit is not None
    assert (again.time_limit.seconds, again.time_limit.elapsed) == (60.0, 59.0)
    assert not again.done


def test_a_study_counts_time_by_its_log() -> None:
    clock = Clock()
    study = Study.create(
        PROBLEM, "sqlite://", name="tea", time_limit="2h", seed=1, clock=clock.time
    )
    clock.seconds += 86400.0  # registered a day before it begins
    while not study.done:
        ticket = study.ask()
        clock.seconds += 600.0
        study.tell(ticket, 0.5 if ticket.arm == "green" else 0.4)
    assert (study.results, study.stopped, study.status().done) == (12, False, True)
    with pytest.raises(InputError, match="the time limit, 2 h, is over"):
        study.ask()
    assert not study.verify().problems
    clock.seconds = 0.0  # whatever a clock says later, the log is replayed as it was
    again = Study.open(study.name, study.store, clock=clock.time)
    assert [ticket.arm for ticket in again.tickets] == [ticket.arm for ticket in study.tickets]


def test_a_budget_ends_the_loop_of_a_study() -> None:
    study = Study.create(PROBLEM, "sqlite://", name="tea", budget=9, seed=1)
    while not study.done:
        ticket = study.ask()
        study.tell(ticket, 0.5)
    assert study.results == 9


@pytest.mark.parametrize("kept", [False, True])
def test_a_budget_ends_a_loop_of_batches(kept: bool) -> None:
    """The last batch is as large as the budget leaves room for."""
    problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
    sizes = []
    if kept:
        study = Study.create(problem, "sqlite://", name="tea", budget=10, seed=1)
        while not study.done:
            tickets = study.ask(4, key=f"batch {len(sizes)}")
            assert study.ask(4, key=f"batch {len(sizes)}") == tickets  # asked again: the same
            sizes.append(len(tickets))
            for ticket in tickets:
                study.tell(ticket, 1.0)
        assert study.ask(4, key="batch 0")[0].arm
        assert study.verify().problems == ()
    else:
        session = Session(problem, budget=10, rng=1)
        while not session.done:
            arms = session.ask(4)
            sizes.append(len(arms))
            for arm in arms:
                session.tell(arm, 1.0)
    assert sizes == [4, 4, 2]


def test_the_end_of_a_list_of_items_ends_a_loop_of_batches() -> None:
    problem = Problem(objectives=["score"], arms=["A", "B"], items=["q1", "q2", "q3"])
    session, sizes = Session(problem, rng=1), []
    while not session.done:
        asked = session.ask(4)
        sizes.append(len(asked))
        for ticket in asked:
            session.tell(ticket, 1.0)
    assert sizes == [4, 2]


def test_a_problem_file_has_a_time_limit(tmp_path: Path) -> None:
    file = tmp_path / "tea.toml"
    text = 'arms = 2\nobjectives = [{name = "taste", variance = 1.0}]\n'
    file.write_text(f'{text}time_limit = "8h"\n')
    assert read_problem_file(file).time_limit == 8 * 3600
    assert Study.create(file, "sqlite://").state.time_limit == 8 * 3600
    assert Study.create(file, "sqlite://", time_limit="1d").state.time_limit == 86400
    file.write_text(f'{text}time_limit = "soon"\n')
    with pytest.raises(InputError, match="the time limit must be a duration such as '90s'"):
        read_problem_file(file)


def test_evaluate_ends_in_time() -> None:
    clock = Clock()

    def run(arm: str, item: int) -> float:
        clock.seconds += 1.0
        return float(np.random.default_rng([item, len(arm)]).normal())

    found = evaluate(
        ["a", "bb"],
        range(1000),
        run,
        objectives={"score": "max"},
        workers=1,
        seed=1,
        time_limit="30s",
        clock=clock,
        progress=False,
    )
    assert not found.stopped
    assert 25 <= found.results <= 35


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("1h", 3600.0),
        ("1 H 30 min", 5400.0),
        ("2 days", 172800.0),
        ("0.5h", 1800.0),
        (90, 90.0),
        (timedelta(minutes=2), 120.0),
    ],
)
def test_durations(given: Any, seconds: float) -> None:
    assert read_duration("it", given) == seconds


@pytest.mark.parametrize(
    "given", ["", "1", "1x", "h", "-1h", "1h-", "1,5h", 0, -3, True, "9" * 400 + "d", None, []]
)
def test_refused_durations(given: Any) -> None:
    with pytest.raises(InputError, match="must be a duration"):
        read_duration("it", given)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(59.7, "1 min"), (3599.0, "59 min 59 s"), (3599.9, "1 h"), (60.0, "1 min"),
     (86399.0, "1 d"), (0.0, "0 s"), (9.99, "10 s"), (8 * 3600 + 600, "8 h 10 min"),
     (40 * 86400, "40 d")],
)  # fmt: skip
def test_durations_in_words(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
