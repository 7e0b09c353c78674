"""A study against a simple model of it, under any sequence of calls, crashes included."""

from __future__ import annotations

import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from psips.errors import InputError
from psips.problem import Problem
from psips.store import open_store
from psips.study import Study

ARMS = ("A", "B", "C")
VALUES = st.tuples(st.integers(-9, 9), st.integers(-9, 9)).map(lambda v: [v[0] / 4, v[1] / 4])
ANY = st.integers(0, 10**6)


class StudyMachine(RuleBasedStateMachine):
    """The model: tickets and results in two lists, and a clock that moves when told."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.url = f"sqlite:///{self.folder / 'a.db'}"
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        problem = Problem(
            objectives={"gain": "max", "cost": "min"}, covariance=[1.0, 2.0], arms=list(ARMS)
        )
        self.study = Study.create(problem, self.url, name="m", seed=3, clock=self.clock)
        self.other = Study.open("m", self.url, clock=self.clock)
        self.tickets: list[dict[str, Any]] = []
        self.results: list[dict[str, Any]] = []
        self.events = 1
        self.closed = False

    def clock(self) -> datetime:
        return self.time

    def pick(self, number: int, *states: str) -> dict[str, Any] | None:
        """One of the tickets in these states; None if there are none."""
        chosen = [t for t in self.tickets if t["state"] in states]
        return chosen[number % len(chosen)] if chosen else None

    @rule(n=st.integers(1, 4), days=st.none() | st.integers(1, 3))
    def ask(self, n: int, days: int | None) -> None:
        if self.closed:
            with pytest.raises(InputError, match="is closed"):
                self.study.ask(n)
            return
        made = self.study.ask(n, expires=None if days is None else days * 86400)
        assert [t.id for t in made] == [f"m-{len(self.tickets) + i + 1:06d}" for i in range(n)]
        until = None if days is None else self.time + timedelta(days=days)
        for ticket in made:
            entry = {"id": ticket.id, "arm": ticket.arm, "state": "open", "until": until}
            self.tickets.append(entry)
        self.events += 1

    @precondition(lambda self: not self.closed)
    @rule(which=ANY, values=VALUES)
    def tell_ticket(self, which: int, values: list[float]) -> None:
        ticket = self.pick(which, "open")
        if ticket is None:
            return
        receipt = self.study.tell(values=values, ticket=ticket["id"])
        self.take_in(ticket["arm"], values, ticket)
        assert receipt.numbers == (len(self.results),)
        self.events += 1

    def take_in(self, arm: str, values: list[float], ticket: dict[str, Any] | None) -> None:
        self.results.append({"arm": arm, "values": values, "counts": True})
        if ticket is not None:
            ticket.update(state="told", result=len(self.results))

    @precondition(lambda self: not self.closed)
    @rule(arm=st.sampled_from(ARMS), values=VALUES)
    def tell_arm(self, arm: str, values: list[float]) -> None:
        self.study.tell(arm, values)
        self.take_in(arm, values, None)
        self.events += 1

    @precondition(lambda self: not self.closed)
    @rule(rows=st.lists(st.tuples(ANY, VALUES), min_size=1, max_size=4))
    def tell_many(self, rows: list[tuple[int, list[float]]]) -> None:
        records = []
        for which, values in rows:
            ticket = self.pick(which, "open") if which % 2 else None
            arm = ticket["arm"] if ticket else ARMS[which % 3]
            name = {"ticket": ticket["id"]} if ticket else {"arm": arm}
            records.append({**name, "gain": values[0], "cost": values[1]})
            self.take_in(arm, values, ticket)
        self.study.tell_many(records)
        self.events += 1

    @precondition(lambda self: not self.closed)
    @rule(which=ANY)
    def tell_again(self, which: int) -> None:
        ticket = self.pick(which, "told")
        if ticket is None:
            return
        result = self.results[ticket["result"] - 1]
        if not result["counts"]:
            with pytest.raises(InputError, match="was withdrawn"):
                self.study.tell(values=result["values"], ticket=ticket["id"])
            return
        assert self.study.tell(values=result["values"], ticket=ticket["id"])[:2] == ((), 1)
        with pytest.raises(InputError, match="has another result already"):
            self.study.tell(values=[99.0, 0.0], ticket=ticket["id"])

    @precondition(lambda self: not self.closed)
    @rule(which=ANY, values=VALUES)
    def correct(self, which: int, values: list[float]) -> None:
        if not self.results:
            return
        number = which % len(self.results) + 1
        result = self.results[number - 1]
        if not result["counts"]:
            with pytest.raises(InputError, match="was withdrawn"):
                self.study.correct(values, result=number)
            return
        self.events += result["values"] != values
        result["values"] = values
        self.study.correct(values, result=number)

    @precondition(lambda self: not self.closed)
    @rule(which=ANY)
    def withdraw(self, which: int) -> None:
        if not self.results:
            return
        number = which % len(self.results) + 1
        self.events += self.results[number - 1]["counts"]
        self.results[number - 1]["counts"] = False
        self.study.withdraw(result=number)

    @precondition(lambda self: not self.closed)
    @rule(which=ANY)
    def cancel(self, which: int) -> None:
        ticket = self.pick(which, "open", "told", "cancelled")
        if ticket is None:
            return
        if ticket["state"] == "told":
            with pytest.raises(InputError, match="withdraw the result instead"):
                self.study.cancel(ticket["id"])
            return
        self.study.cancel(ticket["id"])
        self.events += ticket["state"] == "open"
        ticket["state"] = "cancelled"
        with pytest.raises(InputError, match="was cancelled"):
            self.study.tell(values=[0.0, 0.0], ticket=ticket["id"])

    @rule(hours=st.integers(1, 40))
    def wait(self, hours: int) -> None:
        self.time += timedelta(hours=hours)

    @rule()
    def go_to_the_other_desk(self) -> None:
        self.study, self.other = self.other, self.study

    @rule(keep=st.sampled_from(["no cache", "cache", "damaged cache"]))
    def reopen(self, keep: str) -> None:
        before = self.study.state.snapshot()
        with self.study.store.engine.begin() as connection:  # type: ignore[attr-defined]
            if keep == "no cache":
                connection.exec_driver_sql("DELETE FROM snapshots")
            elif keep == "damaged cache":
                connection.exec_driver_sql("UPDATE snapshots SET payload = '{\"a\": 1}'")
        if keep == "cache":
            self.study.store.save_snapshot("m", before)
        self.study.store.close()
        self.study = Study.open("m", open_store(self.url), clock=self.clock)
        assert self.study.state.snapshot() == before

    @precondition(lambda self: self.events > 12)
    @rule()
    def close(self) -> None:
        if not self.closed:
            self.study.close("enough")
            self.events += 1
        self.closed = True

    @invariant()
    def the_same(self) -> None:
        study = self.study
        assert study.state.seq == self.events
        assert study.closed == self.closed
        assert [t.arm for t in study.tickets] == [t["arm"] for t in self.tickets]
        pending = [
            t["id"]
            for t in self.tickets
            if t["state"] == "open" and (t["until"] is None or t["until"] > self.time)
        ]
        assert [t.id for t in study.open_tickets()] == pending
        told = [(r.arm, list(r.values), not r.withdrawn) for r in study.told]
        assert told == [(r["arm"], r["values"], r["counts"]) for r in self.results]
        assert study.state.session.results == sum(r["counts"] for r in self.results)

    @rule()
    def look(self) -> None:
        status = self.study.status()
        waiting = [ticket.arm for ticket in self.study.open_tickets()]
        for arm in ARMS:
            rows = [r["values"] for r in self.results if r["arm"] == arm and r["counts"]]
            line = status.arms.loc[arm]
            assert line["pulls"] == len(rows)
            assert line["pending"] == waiting.count(arm)
            if rows:
                known = [line["gain estimate"], line["cost estimate"]]
                assert np.allclose(known, np.mean(rows, axis=0))

    def teardown(self) -> None:
        self.look()
        assert self.study.verify().problems == ()
        fresh = Study.open("m", self.url, clock=self.clock)
        assert fresh.state.snapshot() == self.study.state.snapshot()
        for study in (self.study, self.other, fresh):
            study.store.close()
        shutil.rmtree(self.folder)


TestStudyMachine = StudyMachine.TestCase
TestStudyMachine.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, derandomize=True
)
