"""A study: ask, tell and correct, each in one transaction on the log of events."""

from __future__ import annotations

import os
import platform
import secrets
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from psips.errors import InputError
from psips.measurements import read_changes, read_values
from psips.problem import Problem
from psips.problem_file import read_problem_file
from psips.rules import Rules
from psips.session import Session, read_rules
from psips.status import Status
from psips.store import Event, Store, open_store
from psips.study.deliveries import read_delivery
from psips.study.inputs import (
    MOST,
    now,
    read_count,
    read_known_name,
    read_name,
    read_wait,
    stamp,
)
from psips.study.journal import Clock, Entry, Journal
from psips.study.ledger import Result, Ticket
from psips.study.rows import Row
from psips.study.slips import FarValueWarning
from psips.study.state import (
    ASKED,
    CLOSED,
    CORRECTED,
    SCHEMA,
    VERSION,
    WITHDRAWN,
    State,
)
from psips.study.telling import Receipt, Telling, read_rows
from psips.study.verification import Verification, verify_log

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_STORE = "sqlite:///psips.db"


class Study:
    """An adaptive experiment that lives in a store; many processes may work on it at once.

    Use `create` or `open`. What a study does is a function of its log: every call reads
    what others have recorded, and has recorded its own event when it returns. A study
    object itself belongs to one thread.

    Examples
    --------
    >>> problem = Problem(objectives=["taste"], covariance=[1], arms=["green", "black"])
    >>> study = Study.create(problem, "sqlite://", name="tea", seed=1)
    >>> first, second = study.ask(2)
    >>> first.id, first.arm
    ('tea-000001', 'green')
    >>> study.tell(4.5, ticket="tea-000001")
    Receipt(results=(1,), known=0, stopped=False, warnings=())
    >>> study.tell(4.5, ticket="tea-000001")
    Receipt(results=(), known=1, stopped=False, warnings=())
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.name = journal.name
        self.store = journal.store

    @classmethod
    def create(
        cls,
        problem: Problem | str | os.PathLike[str],
        store: Store | str = DEFAULT_STORE,
        *,
        name: str | None = None,
        rules: Rules | None = None,
        seed: int | None = None,
        clock: Clock | None = None,
        **choices: Any,
    ) -> Study:
        """Register a study.

        Parameters
        ----------
        problem : Problem or path of a problem file
            A file's ``delta``, ``seed`` and ``[rules]`` hold unless given here.
        store : str or Store
            URL of a database, which is made if it is missing.
        name : str, optional
            The problem's name if left out.
        rules : Rules, optional
            Or its fields by keyword.
        seed : int, optional
            Drawn and recorded if left out.
        clock : callable, optional
            Gives the time; for tests.
        **choices
            Fields of `Rules`.
        """
        if not isinstance(problem, Problem):
            file = read_problem_file(problem)
            problem = file.problem
            given = {} if file.delta is None else {"delta": file.delta}
            if rules is None:
                choices = {**given, **file.rules, **choices}
            seed = file.seed if seed is None else seed
        name = read_name(problem.name if name is None else name)
        chosen = read_rules(rules, choices)
        seed = secrets.randbits(48) if seed is None else read_count("seed", seed, 0)
        Session(problem, rules=chosen, rng=seed)  # complains about rules that do not fit
        payload = {
            "schema": SCHEMA,
            "problem": problem.to_dict(),
            "rules": chosen.to_dict(),
            "seed": seed,
            "versions": {
                "psips": VERSION,
                "numpy": np.__version__,
                "python": platform.python_version(),
            },
        }
        with _opened(store, create=True) as found:
            journal = Journal(name, found, clock or now)
            journal.begin(payload)
        return cls(journal)

    @classmethod
    def open(
        cls, name: str, store: Store | str = DEFAULT_STORE, *, clock: Clock | None = None
    ) -> Study:
        """Open a study that was created before, here or elsewhere."""
        with _opened(store) as found:
            journal = Journal(read_known_name(name), found, clock or now)
            journal.refresh()
        return cls(journal)

    def ask(self, n: int = 1, *, expires: float | timedelta | None = None) -> list[Ticket]:
        """Give out tickets for the next ``n`` measurements.

        Tickets that are open count as pulled in the choice. Asking is allowed after the stop.

        Parameters
        ----------
        n : int
        expires : seconds or timedelta, optional
            After which a ticket no longer counts as pending; a late result is still taken.
        """
        n = read_count("the number of tickets", n, 1, MOST)
        wait = None if expires is None else read_wait(expires)

        def decide(state: State, at: str) -> Entry:
            first = len(state.ledger.tickets) + 1
            tickets = [
                {"id": state.ledger.ticket_id(number), "arm": arm}
                for number, arm in enumerate(state.choose(n, at), start=first)
            ]
            until = None if wait is None else stamp(datetime.fromisoformat(at) + wait)
            return ASKED, {"schema": SCHEMA, "tickets": tickets, "expires": until}

        return self._journal.record(decide, chosen=True).ledger.tickets[-n:]

    def tell(
        self,
        values: Any,
        *,
        ticket: str | None = None,
        arm: str | None = None,
        strict: bool = False,
    ) -> Receipt:
        """Record one result, by its ticket or, without one, by its arm.

        Telling a ticket the same result again records nothing; telling it another is an
        error: see `correct`. A value that is too far from the others to be noise is recorded
        with a warning.

        Parameters
        ----------
        values : mapping by objective, sequence in their order, or number if there is one
        ticket, arm : str, optional
            At least one of them.
        strict : bool
            Whether to refuse a value that would be warned of.
        """
        row = dict(zip(self.problem.objectives, self._read(values), strict=True))
        rows = [Row("", {**row, "ticket": ticket, "arm": arm})]
        return self._tell(Telling(self.name, rows, strict))

    def tell_file(
        self,
        path: str | os.PathLike[str],
        *,
        again: bool = False,
        keep_columns: Sequence[str] = (),
        strict: bool = False,
    ) -> Receipt:
        """Record the results in a CSV file, as one event: all of them, or none.

        A file that was told before, and that would be counted again, is refused.

        Parameters
        ----------
        path : path of a CSV file
            With a column ``ticket`` or ``arm``, and one for each objective.
        again : bool
            Whether a file that says the same as an earlier one has new measurements.
        keep_columns : sequence of str
            Other columns to record with the results; ``["all"]`` for all of them.
        strict : bool
            Whether to refuse values that are too far from the others to be noise.
        """
        delivery = read_delivery(os.fspath(path), self.problem, keep_columns)
        return self._tell(Telling(self.name, delivery.rows, strict, delivery, again))

    def tell_many(self, rows: Any, *, strict: bool = False) -> Receipt:
        """Record results together, as one event: all of them, or none if one is wrong.

        They are judged once, at their end.

        Parameters
        ----------
        rows : DataFrame or mappings
            With a column or key ``ticket`` or ``arm``, and one for each objective.
        strict : bool
            Whether to refuse values that are too far from the others to be noise.
        """
        return self._tell(Telling(self.name, read_rows(self.problem, rows), strict))

    def _tell(self, telling: Telling) -> Receipt:
        state = self._journal.record(telling)
        for text in telling.slips:
            warnings.warn(text, FarValueWarning, stacklevel=3)
        return telling.receipt(state.session.stopped)

    def correct(
        self,
        values: Any,
        *,
        ticket: str | None = None,
        result: int | None = None,
        reason: str = "",
    ) -> Receipt:
        """Replace the values of a result; the old ones stay in the log.

        What is known is worked out anew, as if the result had been right from the start.
        The asks made meanwhile stay what they were.

        Parameters
        ----------
        values : mapping by objective, sequence in their order, or number if there is one
            A mapping has the values that change; the others stay.
        ticket, result : str or int
            Which result: the ticket it was told for, or its number.
        reason : str
            For the log.
        """
        changes = read_changes(self.problem, values)

        def decide(state: State, _: str) -> Entry | None:
            chosen = _find_result(state, ticket, result)
            if chosen.withdrawn:
                raise InputError(f"result {chosen.number} was withdrawn: nothing to correct")
            objectives = state.problem.objectives
            old = zip(objectives, chosen.values, strict=True)
            cells = tuple(changes.get(objective, value) for objective, value in old)
            if chosen.values == cells:
                return None
            return CORRECTED, {
                "schema": SCHEMA,
                "result": chosen.number,
                "values": dict(zip(objectives, cells, strict=True)),
                "instead_of": dict(zip(objectives, chosen.values, strict=True)),
                "reason": str(reason),
            }

        before = self.state.seq
        state = self._journal.record(decide)
        known = int(state.seq == before)
        return Receipt((), known, state.session.stopped)

    def withdraw(
        self, *, ticket: str | None = None, result: int | None = None, reason: str = ""
    ) -> None:
        """Take a result out of the count, for good; it stays in the log.

        Parameters
        ----------
        ticket, result : str or int
            Which result: the ticket it was told for, or its number.
        reason : str
            For the log.
        """

        def decide(state: State, _: str) -> Entry | None:
            chosen = _find_result(state, ticket, result)
            if chosen.withdrawn:
                return None
            return WITHDRAWN, _withdrawal([chosen.number], [], reason)

        self._journal.record(decide)

    def cancel(self, *tickets: str, reason: str = "") -> None:
        """Take back tickets that will have no result: they no longer count as pending."""

        def decide(state: State, _: str) -> Entry | None:
            for ticket in tickets:
                if state.ledger.ticket(ticket).result is not None:
                    raise InputError(
                        f"ticket {ticket!r} has a result: withdraw the result instead"
                    )
            waiting = [t for t in dict.fromkeys(tickets) if t in state.ledger.waiting]
            return (WITHDRAWN, _withdrawal([], waiting, reason)) if waiting else None

        self._journal.record(decide)

    def close(self, reason: str = "") -> None:
        """End the study: nothing can be recorded after it."""
        self._journal.record(lambda *_: (CLOSED, {"schema": SCHEMA, "reason": str(reason)}))

    def _read(self, values: Any) -> list[float]:
        cells: list[float] = read_values(self.problem, values).tolist()
        return cells

    @property
    def state(self) -> State:
        """What the log amounts to, with what others have recorded by now."""
        return self._journal.refresh()

    @property
    def problem(self) -> Problem:
        """What is to be decided."""
        return self._journal.known.problem

    @property
    def stopped(self) -> bool:
        """Whether the stopping rule holds; it depends on what was told, not on tickets."""
        return self.state.session.stopped

    @property
    def candidate_set(self) -> tuple[str, ...]:
        """Pareto set of the estimates."""
        return self.state.session.candidate_set

    @property
    def pareto_set(self) -> tuple[str, ...] | None:
        """The answer, once the study has stopped; None before."""
        return self.state.session.pareto_set

    @property
    def closed(self) -> bool:
        """Whether the study has been closed."""
        return self.state.closed

    @property
    def tickets(self) -> tuple[Ticket, ...]:
        """All tickets given out."""
        return tuple(self.state.ledger.tickets)

    @property
    def results(self) -> tuple[Result, ...]:
        """All results told, the withdrawn ones included."""
        return tuple(self.state.ledger.results)

    def open_tickets(self) -> list[Ticket]:
        """Return the tickets that count as pending now."""
        return self.state.ledger.pending(stamp(self._journal.clock()))

    def status(self) -> Status:
        """Return what is known now; ``pending`` counts the open tickets of an arm."""
        state = self.state
        state.set_pending(stamp(self._journal.clock()))
        return replace(state.session.status(), closed=state.closed)

    def to_frame(self) -> pd.DataFrame:
        """Return the results as a DataFrame, the withdrawn ones included."""
        from psips.study.frames import results_frame

        return results_frame(self.problem.objectives, self.results)

    @property
    def log(self) -> pd.DataFrame:
        """Every event as a row of a DataFrame; `events` has them as objects."""
        from psips.study.frames import log_frame

        return log_frame(self.events())

    def events(self) -> list[Event]:
        """Return the whole log."""
        return self.store.read(self.name)

    def verify(self) -> Verification:
        """Check the hashes of the whole log, and replay it from its first event."""
        return verify_log(self.name, self.store)

    def __repr__(self) -> str:
        return f"Study({self.name!r})"


@contextmanager
def _opened(store: Store | str, create: bool = False) -> Iterator[Store]:
    """Open a store that is given by its URL, and close it if the study cannot be used."""
    if not isinstance(store, str):
        yield store
        return
    found = open_store(store, create)
    try:
        yield found
    except BaseException:
        found.close()
        raise


def _find_result(state: State, ticket: str | None, number: int | None) -> Result:
    if (ticket is None) == (number is None):
        raise InputError("name the result by its ticket or by its number, one of the two")
    if ticket is not None:
        return state.ledger.result_of(ticket)
    return state.ledger.result(read_count("the number of a result", number, 1))


def _withdrawal(results: list[int], tickets: list[str], reason: str) -> dict[str, Any]:
    return {"schema": SCHEMA, "results": results, "tickets": tickets, "reason": str(reason)}
