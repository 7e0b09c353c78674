"""The state of a study: a function of its log, got by replay.

Asks are made again and must give the arms in the log; results are told again. Whatever
changes the past (a correction, a withdrawal, a confirmation, a result that puts an earlier
one in doubt) has the sessions built again from the first event, with the results as they
count now and with the arms that were asked for at the time.

One session asks and another judges: the second never hears of tickets, so what it says
depends on the results alone, to the bit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from psips.errors import InputError
from psips.problem import Problem
from psips.problem.measurements import read_cell
from psips.rules import Rules
from psips.session import Session
from psips.session.progress import Progress
from psips.session.restoring import UNREADABLE
from psips.store import CLOCK, DamagedError, Event, Snapshot, broken_link
from psips.store.events import START, canonical
from psips.study.conduct import Conduct
from psips.study.holding import Holder
from psips.study.ledger import Ledger, Result, Values
from psips.study.people import VERSION
from psips.study.restoring import fits, no_garbage
from psips.study.schema import (
    ASKED,
    CLOSED,
    CONFIRMED,
    CORRECTED,
    CREATED,
    TOLD,
    WITHDRAWN,
    read_payload,
)

JUDGED_AGAIN = 3  # from this schema on, a change has what is held judged again
OWN_NOISE = 4  # from this schema on, results are held by the noise of their own arm


def _standing_still() -> float:
    """Return no time: a study's time is that of its log, see `State.elapsed`."""
    return 0.0


History = Callable[[int], Sequence[Event]]  # the events up to a sequence number


class Recorded(NamedTuple):
    """Where the event with a key is: its number, and its first ticket or result, how many."""

    seq: int
    first: int
    size: int


class State:
    """What the events up to ``seq`` amount to."""

    def __init__(self, created: Event) -> None:
        _check_link(created, 0, START, "")
        data = _read_payload(created)
        self.created = created
        self.schema = int(data["schema"])
        self.problem = Problem.from_dict(data["problem"])
        self.rules = Rules.from_dict(data["rules"])
        self.seed = int(data["seed"])
        self.version = str(data["versions"]["psips"])
        self.identity = "" if self.schema == 1 else str(data["id"])
        self.budget: float | None = data.get("budget")
        self.goal: str | None = data.get("goal")
        self.time_limit: float | None = data.get("time_limit")
        self.of: str | None = data.get("of")
        self.conduct = Conduct(hold=None) if self.schema == 1 else Conduct.read(data["conduct"])
        self._start_sessions()
        self.ledger = Ledger(created.study, self.identity)
        self.holder = Holder(self.problem, self.conduct.hold)
        self.keys: dict[str, Recorded] = {}
        self.proposals: dict[int, dict[str, Any]] = {}  # changes that wait for another person
        self.closed = False
        self.files: dict[str, str] = {}  # digest of each file told, and when
        self.diverged: list[str] = []  # asks that this version would have made differently
        self.seq, self.hash, self.at = created.seq, created.hash, created.at
        self.rebuilt = False  # since it was last cached
        self._counting: dict[int, Result] | None = None  # the results of a rebuild

    def _start_sessions(self) -> None:
        """Make the session that judges, and the one that asks: one and the same in schema 1."""
        self.session = self._new_session()
        self.asker = self.session
        if self.schema > 1:
            self.asker = self._new_session()

    def _new_session(self) -> Session:
        return Session(
            self.problem,
            rules=self.rules,
            rng=self.seed,
            budget=self.budget,
            goal=self.goal,
            time_limit=self.time_limit,
            of=self.of,
            clock=_standing_still,
        )

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions that learn: the one that judges and the one that asks."""
        return (self.session,) if self.asker is self.session else (self.session, self.asker)

    def choose(self, n: int, at: str) -> list[dict[str, str]]:
        """Choose the next arms, and items; the session moves on, so an event must follow."""
        self.set_pending(at)
        return [
            {"arm": t.arm, **({} if t.item is None else {"item": t.item})}
            for t in self.asker.ask(n)
        ]

    def set_pending(self, at: str) -> None:
        """Make the sessions count as pending the tickets that are open at a time."""
        pending = self.asker.engine.learner.pending
        pending[:] = 0.0
        asked = [(self.problem.arm_index(t.arm), t.item) for t in self.ledger.pending(at)]
        for arm, _ in asked:
            pending[arm] += 1.0
        if self.asker.items is not None:
            self.asker.items.set_open((arm, item) for arm, item in asked if item)
        self.session.engine.learner.pending[:] = pending  # to be shown
        for session in self.sessions:
            session.lost = self._paid_in_vain(session)
            if session.time_limit is not None:
                session.time_limit.go_on_from(self.elapsed(at))

    def elapsed(self, at: str) -> float:
        """Return the seconds from the first ask or result to a time, both as in the log."""
        first = [t.asked for t in self.ledger.tickets[:1]]
        first += [r.told for r in self.ledger.results[:1]]
        if not first:
            return 0.0
        gone = datetime.fromisoformat(at) - datetime.fromisoformat(min(first))
        return max(gone.total_seconds(), 0.0)

    def paced(self, progress: Progress | None) -> Progress | None:
        """Return an estimate of results with the time that one took so far."""
        told = self.ledger.results
        if progress is None or len(told) < 2:
            return progress
        seconds = self.elapsed(told[-1].told) / len(told)
        return replace(progress, seconds=seconds or None)

    def _paid_in_vain(self, session: Session) -> float:
        """Return what results cost that do not count."""
        if self.budget is None:
            return 0.0
        told = np.zeros(self.problem.K)
        for result in self.ledger.results:
            told[self.problem.arm_index(result.arm)] += 1.0
        return float(self.problem.costs @ (told - session.engine.belief.pulls))

    def catch_up(self, events: Sequence[Event], history: History, chosen: bool = False) -> None:
        """Replay events that follow the ones replayed so far; their hashes are checked.

        Parameters
        ----------
        events : sequence of Event
        history : callable
            Reads the log from its start; needed if the events change the past.
        chosen : bool
            Whether the session has made the asks among them already.
        """
        changed = False
        for event in events:
            _check_link(event, self.seq, self.hash, self.at)
            changed |= self._apply(event, learn=not changed and not chosen)
        if changed:
            self._rebuild(history(self.seq))

    def _apply(self, event: Event, learn: bool) -> bool:
        """Note an event in the ledger and, if asked to, in the sessions.

        Return whether it changes what earlier events amount to.
        """
        data = _read_payload(event)
        first = self._next_numbers(event.kind)
        self.holder.own_noise = data["schema"] >= OWN_NOISE
        changed = False
        if event.kind == ASKED:
            self._asked(event, data, learn)
        elif event.kind == TOLD:
            changed = self._told(event, data, learn)
        elif event.kind in (CORRECTED, WITHDRAWN):
            if data.get("awaits"):
                user = data.get("by", {}).get("user", "")
                self.proposals[event.seq] = {**data, "kind": event.kind, "user": user}
            else:
                changed = self._change(event.kind, data)
        elif event.kind == CONFIRMED:
            for number in data["results"]:
                result = self.ledger.result(number)
                result.held, result.confirmed, changed = False, True, True
                self.holder.look_again([result.arm])
            for seq in data["events"]:
                proposal = self.proposals.pop(seq)
                changed |= self._change(proposal["kind"], proposal)
        elif event.kind == CLOSED:
            self.closed = True
        elif event.kind == CLOCK:
            self.ledger.set_back(event.at)
        if changed and event.kind != TOLD and data["schema"] >= JUDGED_AGAIN:
            self.holder.judge_again()
        if data.get("key"):
            count = self._next_numbers(event.kind) - first
            self.keys[data["key"]] = Recorded(event.seq, first, count)
        self.seq, self.hash, self.at = event.seq, event.hash, event.at
        return changed and self._counting is None

    def _next_numbers(self, kind: str) -> int:
        return len(self.ledger.tickets if kind == ASKED else self.ledger.results) + 1

    def _change(self, kind: str, data: Mapping[str, Any]) -> bool:
        """Correct or withdraw; return whether a result is concerned."""
        if kind == CORRECTED:
            result = self.ledger.result(data["result"])
            result.values = self._read(data["values"])
            result.corrected += 1
            result.held, result.confirmed = False, True
            self.holder.look_again([result.arm])
            return True
        for number in data["results"]:
            result = self.ledger.result(number)
            result.withdrawn = True
            self.holder.look_again([result.arm])
        for ticket in data["tickets"]:
            self.ledger.cancel(ticket)
        return bool(data["results"])

    def _asked(self, event: Event, data: dict[str, Any], learn: bool) -> None:
        arms = [entry["arm"] for entry in data["tickets"]]
        if learn:
            self.set_pending(event.at)
            for others, entry in zip(
                range(len(arms) - 1, -1, -1), data["tickets"], strict=True
            ):
                logged = {key: entry[key] for key in ("arm", "item") if key in entry}
                again = self._choose_again(others, logged)
                if again != logged and self._counting is None:
                    was, now = (
                        " on item ".join(map(repr, a.values())) for a in (logged, again)
                    )
                    self.diverged.append(
                        f"ticket {entry['id']} is for arm {was}, but replayed with "
                        f"psips {VERSION} it is for {now} (the study was created "
                        f"with psips {self.version})"
                    )
        made = self.ledger.ask(arms, event.at, data["expires"], data.get("key", ""))
        for ticket, entry in zip(made, data["tickets"], strict=True):
            ticket.item = entry.get("item")
            if ticket.id != entry["id"]:
                raise InputError(
                    f"event {event.seq} gives out ticket {entry['id']!r} where "
                    f"{ticket.id!r} comes next"
                )

    def _choose_again(self, others: int, logged: Mapping[str, str]) -> dict[str, str]:
        """Make an ask of the log again; if it gives another, the log is what happened."""
        asker, items = self.asker, self.asker.items
        if items is None:
            again = {"arm": asker.choose(others)}
        else:
            again = dict(zip(("arm", "item"), asker.choose_item(others), strict=True))
        if again != logged:
            was, now = (self.problem.arm_index(ask["arm"]) for ask in (again, logged))
            asker.engine.learner.pending[was] -= 1.0
            asker.engine.learner.pending[now] += 1.0
            if items is not None:
                items.exchange((was, again["item"]), (now, logged["item"]))
        return again

    def _told(self, event: Event, data: dict[str, Any], learn: bool) -> bool:
        changed = False
        counted = []
        if data.get("file"):
            self.files[data["file"]["digest"]] = event.at
        for entry in data["results"]:
            values = self._read(entry["values"])
            result = self.ledger.tell(entry["arm"], values, event.at, entry["ticket"])
            result.kept, result.item = entry.get("kept"), entry.get("item")
            if self._counting is not None:
                result = self._counting[result.number]
            elif self.holder.take(result):
                changed = True
            counted.append(result)
        counted = [result for result in counted if result.counts]
        if learn and counted and not changed:
            for session in self.sessions:
                for result in counted:
                    row = np.array(result.values, dtype=np.float64)  # None becomes NaN
                    x = self.problem.inward(self.problem.compared(row))
                    session.learn(self.problem.arm_index(result.arm), x, result.item or "")
                session.engine.judge()
        return changed

    def _read(self, values: Mapping[str, Any]) -> Values:
        """Return the values of a result; an event of others may have any, of any size."""
        named = enumerate(self.problem.objectives)
        cells = [read_cell(self.problem, c, values[o]) for c, o in named]
        return tuple(None if math.isnan(cell) else cell for cell in cells)

    def _rebuild(self, events: Sequence[Event]) -> None:
        """Replay the log with the results as they count now and the asks as they were."""
        past = State(events[0])
        past.holder.limit = None
        past._counting = {result.number: result for result in self.ledger.results}
        for event in events[1:]:
            _check_link(event, past.seq, past.hash, past.at)
            past._apply(event, learn=True)
        self.session, self.asker = past.session, past.asker
        self.rebuilt = True

    def snapshot(self) -> Snapshot:
        """Return the state for the cache."""
        self.set_pending(self.at)
        with no_garbage():
            data = {
                "version": VERSION,
                "engines": [session.engine.snapshot() for session in self.sessions],
                **({"items": self._items()} if self.problem.has_items else {}),
                "exact": [session.kept_exact().get("exact") for session in self.sessions],
                "ledger": self.ledger.snapshot(),
                "keys": self.keys,
                "proposals": self.proposals,
                "closed": self.closed,
                "files": self.files,
                "at": self.at,
            }
            return Snapshot.seal(self.seq, self.hash, canonical(data))

    def _items(self) -> list[dict[str, Any]]:
        return [s.items.snapshot() for s in self.sessions if s.items is not None]

    @classmethod
    def restore(cls, created: Event, kept: Snapshot) -> State | None:
        """Return a cached state; None if its checksum does not fit, or another wrote it."""
        body = kept.open()
        if body is None:
            return None
        try:
            with no_garbage():
                data = json.loads(body)
                if data["version"] != VERSION:
                    return None
                state = cls(created)
                kept_exact = data.get("exact") or [None] * len(state.sessions)
                for session, known, engine in zip(
                    state.sessions, kept_exact, data["engines"], strict=True
                ):
                    session.restore_exact(known)
                    session.engine.restore(engine)
                for session, items in zip(state.sessions, data.get("items", ()), strict=False):
                    if session.items is not None:
                        session.items.restore(items)
                ledger = Ledger.restore(created.study, state.identity, data["ledger"])
                state.ledger = ledger
                state.holder.restore(ledger.results)
                state.keys = {key: Recorded(*row) for key, row in data["keys"].items()}
                state.proposals = {int(k): row for k, row in data["proposals"].items()}
                state.closed = bool(data["closed"])
                state.files = dict(data.get("files", {}))
                state.seq, state.hash, state.at = kept.seq, kept.hash, str(data["at"])
                if not all(fits(state.problem, s.engine, ledger) for s in state.sessions):
                    return None
        except UNREADABLE:
            return None
        return state


def _check_link(event: Event, seq: int, previous: str, at: str) -> None:
    problems = broken_link(event, seq, previous, at)
    if problems:
        raise DamagedError(
            f"the log of {event.study!r} is not as it was written: {problems[0]}; see "
            "`psips study verify`"
        )


def _read_payload(event: Event) -> dict[str, Any]:
    data = read_payload(event)
    if (event.seq == 1) != (event.kind == CREATED) or (
        event.seq == 1 and event.previous != START
    ):
        raise InputError(f"the log of {event.study!r} does not begin with its creation")
    return data


def changes_the_past(event: Event) -> bool:
    """Whether an event is of a kind that changes what earlier ones amount to."""
    return event.kind in (CORRECTED, WITHDRAWN, CONFIRMED)
