"""The state of a study: a function of its log, got by replay.

Asks are made again and must give the arms in the log; results are told again. A correction
or a withdrawal changes the past, so the session is then built anew from the first event,
with the results as they count now and with the arms that were asked for at the time.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from psips.errors import InputError
from psips.problem import Problem
from psips.session import Session, read_rules
from psips.store import Event, Snapshot
from psips.store.events import START, canonical
from psips.study.ledger import Ledger, Result

SCHEMA = 1  # of the events' payloads
VERSION = version("psips")
CREATED, ASKED, TOLD = "created", "asked", "told"
CORRECTED, WITHDRAWN, CLOSED = "corrected", "withdrawn", "closed"

History = Callable[[int], Sequence[Event]]  # the events up to a sequence number


class State:
    """What the events up to ``seq`` amount to."""

    def __init__(self, created: Event) -> None:
        data = _read_payload(created)
        self.created = created
        self.problem = Problem.from_dict(data["problem"])
        self.rules = read_rules(None, data["rules"])
        self.seed = int(data["seed"])
        self.version = str(data["versions"]["psips"])
        self.session = self._fresh_session()
        self.ledger = Ledger(created.study)
        self.closed = False
        self.files: dict[str, str] = {}  # digest of each file told, and when
        self.diverged: list[str] = []  # asks that this version would have made differently
        self.seq, self.hash, self.at = created.seq, created.hash, created.at
        self.rebuilt = False  # since it was last cached
        self._counting: dict[int, Result] | None = None  # the results of a rebuild

    def _fresh_session(self) -> Session:
        return Session(self.problem, rules=self.rules, rng=self.seed)

    def choose(self, n: int, at: str) -> list[str]:
        """Choose the next arms; the session moves on, so an event must follow."""
        self.set_pending(at)
        return self.session.ask(n)

    def set_pending(self, at: str) -> None:
        """Make the session count as pending the tickets that are open at a time."""
        pending = self.session.engine.learner.pending
        pending[:] = 0.0
        for ticket in self.ledger.pending(at):
            pending[self.problem.arm_index(ticket.arm)] += 1.0

    def catch_up(self, events: Sequence[Event], history: History, chosen: bool = False) -> None:
        """Replay events that follow the ones replayed so far.

        Parameters
        ----------
        events : sequence of Event
        history : callable
            Reads the log from its start; needed if the events change the past.
        chosen : bool
            Whether the session has made the asks among them already.
        """
        rewriting = [i for i, event in enumerate(events) if changes_the_past(event)]
        last = rewriting[-1] if rewriting else -1
        for i, event in enumerate(events):
            self._apply(event, learn=i > last and not chosen)
            if i == last:
                self._rebuild(history(event.seq))

    def _apply(self, event: Event, learn: bool) -> None:
        """Note an event in the ledger and, if asked to, in the session."""
        if event.seq != self.seq + 1:
            raise InputError(
                f"the log of {self.ledger.study!r} has a gap after event {self.seq}"
            )
        data = _read_payload(event)
        if event.kind == ASKED:
            self._asked(event, data, learn)
        elif event.kind == TOLD:
            self._told(event, data, learn)
        elif event.kind == CORRECTED:
            result = self.ledger.result(data["result"])
            result.values = tuple(data["values"][o] for o in self.problem.objectives)
            result.corrected += 1
        elif event.kind == WITHDRAWN:
            for number in data["results"]:
                self.ledger.result(number).withdrawn = True
            for ticket in data["tickets"]:
                self.ledger.cancel(ticket)
        elif event.kind == CLOSED:
            self.closed = True
        else:
            raise InputError(
                f"event {event.seq} is of the kind {event.kind!r}, which this version of "
                "psips does not know"
            )
        self.seq, self.hash, self.at = event.seq, event.hash, event.at

    def _asked(self, event: Event, data: dict[str, Any], learn: bool) -> None:
        arms = [entry["arm"] for entry in data["tickets"]]
        if learn:
            pending = self.session.engine.learner.pending
            self.set_pending(event.at)
            for entry in data["tickets"]:
                arm, logged = self.session.ask(), entry["arm"]
                if arm != logged:  # the log is what happened
                    pending[self.problem.arm_index(arm)] -= 1.0
                    pending[self.problem.arm_index(logged)] += 1.0
                    if self._counting is None:
                        self.diverged.append(
                            f"ticket {entry['id']} is for arm {logged!r}, but replayed with "
                            f"psips {VERSION} it is for {arm!r} (the study was created "
                            f"with psips {self.version})"
                        )
        made = self.ledger.ask(arms, event.at, data["expires"])
        for ticket, entry in zip(made, data["tickets"], strict=True):
            if ticket.id != entry["id"]:
                raise InputError(
                    f"event {event.seq} gives out ticket {entry['id']!r} where "
                    f"{ticket.id!r} comes next"
                )

    def _told(self, event: Event, data: dict[str, Any], learn: bool) -> None:
        engine, objectives = self.session.engine, self.problem.objectives
        learned = False
        if data.get("file"):
            self.files[data["file"]["digest"]] = event.at
        for entry in data["results"]:
            values = [entry["values"][objective] for objective in objectives]
            result = self.ledger.tell(entry["arm"], values, event.at, entry["ticket"])
            result.kept = entry.get("kept")
            if learn:
                if self._counting is not None:
                    result = self._counting[result.number]
                if not result.withdrawn:
                    x = self.problem.inward(result.values)
                    engine.learn(self.problem.arm_index(result.arm), x)
                    learned = True
        if learned:
            engine.judge()

    def _rebuild(self, events: Sequence[Event]) -> None:
        """Replay the log with the results as they count now and the asks as they were."""
        past = State(events[0])
        past._counting = {result.number: result for result in self.ledger.results}
        for event in events[1:]:
            past._apply(event, learn=True)
        self.session = past.session
        self.rebuilt = True

    def snapshot(self) -> Snapshot:
        """Return the state for the cache."""
        self.set_pending(self.at)
        with _no_garbage():
            data = {
                "version": VERSION,
                "session": self.session.snapshot(),
                "ledger": self.ledger.snapshot(),
                "closed": self.closed,
                "files": self.files,
                "at": self.at,
            }
            return Snapshot(self.seq, self.hash, canonical(data))

    @classmethod
    def restore(cls, created: Event, kept: Snapshot) -> State | None:
        """Return a cached state; None if another version or anything else wrote it."""
        try:
            with _no_garbage():
                data = json.loads(kept.text)
                if data["version"] != VERSION:
                    return None
                state = cls(created)
                state.session = Session.restore(data["session"])
                state.ledger = Ledger.restore(created.study, data["ledger"])
                state.closed = bool(data["closed"])
                state.files = dict(data.get("files", {}))
                state.seq, state.hash, state.at = kept.seq, kept.hash, str(data["at"])
        except (ValueError, KeyError, TypeError, IndexError):
            return None
        return state


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Keep the garbage collector out: with 100,000 results it takes 2/3 of the time."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def changes_the_past(event: Event) -> bool:
    """Whether an event changes results that were told before it."""
    if event.kind == WITHDRAWN:
        return bool(event.payload["results"])
    return event.kind == CORRECTED


def _read_payload(event: Event) -> dict[str, Any]:
    data = event.payload
    if data.get("schema") != SCHEMA:
        raise InputError(
            f"event {event.seq} of {event.study!r} has schema {data.get('schema')!r}, but this "
            f"version of psips reads schema {SCHEMA}"
        )
    if event.seq == 1 and (event.kind != CREATED or event.previous != START):
        raise InputError(f"the log of {event.study!r} does not begin with its creation")
    return data
