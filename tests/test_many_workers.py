"""64 workers with unequal run times, in simulated time: no barrier, and some never answer."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from psips import Problem, Session, Study

WORKERS = 64
ARMS = ["A", "B", "C", "D"]
MEANS = np.array([[0.5, 0.0], [0.0, 0.5], [0.2, -0.3], [-0.4, -0.4]])
RIGHT = {"A", "B"}


def problem(items: bool) -> Problem:
    given: dict[str, Any] = {"items": True} if items else {"covariance": [1.0, 1.0]}
    return Problem(objectives=["yield", "purity"], arms=ARMS, **given)


class Pool:
    """Workers who ask when they are free and tell when they are done.

    ``dead`` of them never answer; ``tell`` gets what `ask` returned, the values and the time.
    """

    def __init__(
        self,
        ask: Callable[[float], Any],
        tell: Callable[[Any, np.ndarray, float], None],
        seed: int,
        workers: int = WORKERS,
        dead: int = 0,
    ) -> None:
        self.ask, self.tell, self.dead = ask, tell, dead
        self.rng = np.random.default_rng(seed)
        self.effects: dict[str, np.ndarray] = {}
        self.now, self.made, self.answers = 0.0, 0, 0
        self.running: dict[int, Any] = {}
        self.ends: list[tuple[float, int]] = []
        self.most: Counter[str] = Counter()  # workers on one arm at a time
        for _ in range(workers):
            self.start()

    def start(self) -> None:
        number, asked = self.made, self.ask(self.now)
        self.made += 1
        self.running[number] = asked
        for arm, n in Counter(one.arm for one in self.running.values()).items():
            self.most[arm] = max(self.most[arm], n)
        seconds = 0.005 + 0.495 * self.rng.uniform()
        heapq.heappush(
            self.ends, (np.inf if number < self.dead else self.now + seconds, number)
        )

    def step(self) -> None:
        """Let the next worker tell and ask again."""
        self.now, number = heapq.heappop(self.ends)
        asked = self.running.pop(number)
        effect = np.zeros(2)
        if asked.item is not None:
            effect = self.effects.setdefault(asked.item, 1.2 * self.rng.normal(size=2))
        self.tell(asked, MEANS[ARMS.index(asked)] + effect + self.rng.normal(size=2), self.now)
        self.answers += 1
        self.start()


def of_session(session: Session, seed: int, **given: Any) -> Pool:
    def tell(asked: Any, values: np.ndarray, _: float) -> None:
        session.tell(asked, values)

    return Pool(lambda _: session.ask(), tell, seed, **given)


def of_study(study: Study, clock: list[float], seed: int, wait: float, **given: Any) -> Pool:
    def ask(now: float) -> Any:
        clock[0] = now
        return study.ask(expires=wait)

    def tell(ticket: Any, values: np.ndarray, now: float) -> None:
        clock[0] = now
        study.tell(ticket, values.tolist())

    return Pool(ask, tell, seed, **given)


def a_study(items: bool) -> tuple[Study, list[float]]:
    clock = [0.0]
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return Study.create(
        problem(items),
        "sqlite://",
        name="s",
        seed=1,
        clock=lambda: start + timedelta(seconds=clock[0]),
    ), clock


@pytest.mark.parametrize("items", [False, True])
def test_asks_in_flight_count_and_there_is_no_barrier(items: bool) -> None:
    session = Session(problem(items), rng=1)
    pool = of_session(session, seed=2)
    first = Counter(one.arm for one in pool.running.values())
    assert set(first.values()) == {WORKERS // len(ARMS)}  # nothing is known: all alike
    for _ in range(150):
        pool.step()
        flying = Counter(one.arm for one in pool.running.values())
        assert session.pending == {arm: flying[arm] for arm in ARMS}
        assert len(pool.running) == WORKERS
        if items:
            assert len(set(pool.running.values())) == WORKERS  # each has an item of its own
    assert max(pool.most.values()) > 1  # of one arm at a time
    # Without the count of what is in flight the first asks would all be of one arm.
    careless = Session(problem(items), rng=1)

    def ask(_: float) -> Any:
        found = careless.ask()
        careless.engine.learner.pending[:] = 0.0
        return found

    assert len({one.arm for one in Pool(ask, lambda *_: None, 2).running.values()}) == 1


@pytest.mark.parametrize("items", [False, True])
def test_workers_that_never_answer_do_not_hold_up_the_others(items: bool) -> None:
    session = Session(problem(items), rng=3)
    pool = of_session(session, seed=4, dead=8)
    while not session.stopped:
        pool.step()
    assert set(session.candidate_set) == RIGHT
    lost = [pool.running[number] for number in range(8)]
    assert sum(session.pending.values()) == WORKERS
    for one in lost:
        session.cancel(one)
    assert sum(session.pending.values()) == WORKERS - 8
    if items:  # what no one measured comes again
        again = session.ask(400)
        assert {one for one in lost if one in again} == set(lost)


@pytest.mark.parametrize("items", [False, True])
def test_many_workers_cost_what_runs_at_the_stop(items: bool) -> None:
    """Results told at the stop are those of one worker, but for chance."""
    one, many = [], []
    for seed in range(6):
        for told, workers in ((one, 1), (many, WORKERS)):
            session = Session(problem(items), rng=seed)
            pool = of_session(session, seed=100 + seed, workers=workers)
            while not session.stopped:
                pool.step()
            assert set(session.candidate_set) == RIGHT
            told.append(session.results)
    assert np.mean(many) < 1.3 * np.mean(one)


@pytest.mark.parametrize("items", [False, True])
def test_a_study_goes_on_without_workers_that_never_answer(items: bool) -> None:
    study, clock = a_study(items)
    pool = of_study(study, clock, seed=6, wait=0.6, dead=8)
    assert study.status().arms["pending"].sum() == WORKERS
    while not study.state.session.stopped and pool.answers < 600:
        pool.step()
    assert set(study.state.session.candidate_set) == RIGHT
    assert pool.now > 0.6
    # Tickets of the dead have expired: they are not pending, and their items came again.
    assert study.status().arms["pending"].sum() == WORKERS - 8
    given = Counter((t.arm, t.item) for t in study.state.ledger.tickets)
    lost = [(one.arm, one.item) for one in map(pool.running.get, range(8))]
    if items:
        assert any(given[one] == 2 for one in lost)
        assert max(given.values()) <= 2
    study.tell(pool.running[0], [0.0, 0.0])  # late is not too late
    assert study.verify().problems == ()
