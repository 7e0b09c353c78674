"""A study: ask, tell and correct, each in one transaction on the log of events."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from psips.measurements import is_frame, read_values
from psips.problem import Problem
from psips.problem_file import read_problem_file
from psips.rules import Rules
from psips.session import Session, read_rules
from psips.store import Event, Store, open_store
from psips.study import changes
from psips.study.conduct import Conduct, read_text
from psips.study.inputs import (
    check_size,
    check_units,
    now,
    read_count,
    read_name,
    read_wait,
    stamp,
)
from psips.study.journal import Clock, Decide, Entry, Journal
from psips.study.ledger import Ticket
from psips.study.people import VERSION, read_key
from psips.study.rows import Row, check_rows, same_results
from psips.study.state import ASKED, CLOSED, CONFIRMED, CORRECTED, TOLD, WITHDRAWN, State
from psips.study.view import View

DEFAULT_STORE = "sqlite:///psips.db"
MOST_TICKETS = 100_000  # of one ask


class Receipt(NamedTuple):
    """What became of results: the new ones, how many were known, and whether it stopped.

    ``held`` are the results that wait for confirmation now, ``waits`` is the number of the
    event, if it is a change that another person has to confirm.
    """

    results: tuple[int, ...]
    known: int
    stopped: bool
    held: tuple[int, ...] = ()
    waits: int | None = None


class Study(View):
    """An adaptive experiment that lives in a store; many processes may work on it at once.

    Use `create` or `open`. What a study does is a function of its log: every call reads
    what others have recorded, and has recorded its own event when it returns. A study
    object itself belongs to one thread.

    Examples
    --------
    >>> problem = Problem(objectives=["taste"], covariance=[1], arms=["green", "black"])
    >>> study = Study.create(problem, "sqlite://", name="tea", seed=1)
    >>> first, second = study.ask(2)
    >>> first.id.startswith("tea-"), first.arm
    (True, 'green')
    >>> study.tell(4.5, ticket=first.id)
    Receipt(results=(1,), known=0, stopped=False, held=(), waits=None)
    >>> study.tell(4.5, ticket=first.id).known
    1
    """

    @classmethod
    def create(
        cls,
        problem: Problem | str | os.PathLike[str],
        store: Store | str = DEFAULT_STORE,
        *,
        name: str | None = None,
        rules: Rules | None = None,
        seed: int | None = None,
        conduct: Conduct | Mapping[str, Any] | None = None,
        user: str | None = None,
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
        conduct : Conduct or its fields, optional
            What is held for confirmation, and how results may be changed; the table
            ``[study]`` of a problem file if left out.
        user : str, optional
            Who is at work, instead of PSIPS_USER or the login.
        clock : callable, optional
            Gives the time; for tests.
        **choices
            Fields of `Rules`.
        """
        name, payload = _registration(problem, name, rules, seed, conduct, choices)
        with _opened(store, create=True) as found:
            journal = Journal(name, found, clock or now, user)
            journal.begin(payload, read_key(None))
        return cls(journal)

    @classmethod
    def open(
        cls,
        name: str,
        store: Store | str = DEFAULT_STORE,
        *,
        user: str | None = None,
        clock: Clock | None = None,
    ) -> Study:
        """Open a study that was created before, here or elsewhere."""
        with _opened(store) as found:
            journal = Journal(name, found, clock or now, user)
            journal.refresh()
        return cls(journal)

    def ask(
        self,
        n: int = 1,
        *,
        expires: float | timedelta | None = None,
        key: str | None = None,
    ) -> list[Ticket]:
        """Give out tickets for the next ``n`` measurements.

        Tickets that are open count as pulled in the choice. Asking is allowed after the stop.

        Parameters
        ----------
        n : int
        expires : seconds or timedelta, optional
            After which a ticket no longer counts as pending; a late result is still taken.
        key : str, optional
            Of the event: asked again with the same key, the same tickets are returned.
        """
        n = read_count("the number of tickets", n, 1, MOST_TICKETS)
        wait = None if expires is None else read_wait(expires)
        key = read_key(key)

        def decide(state: State, at: str) -> Entry:
            first = len(state.ledger.tickets) + 1
            tickets = [
                {"id": state.ledger.ticket_id(number, key), "arm": arm}
                for number, arm in enumerate(state.choose(n, at), start=first)
            ]
            until = None if wait is None else stamp(datetime.fromisoformat(at) + wait)
            return ASKED, {"tickets": tickets, "expires": until}

        def same(event: Event) -> bool:
            return event.kind == ASKED and len(event.payload["tickets"]) == n

        state, recorded = self._journal.record(decide, key, same, chosen=True)
        assert recorded is not None
        return state.ledger.tickets[recorded.first - 1 :][:n]

    def tell(
        self,
        values: Any,
        *,
        ticket: str | None = None,
        arm: str | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Record one result, by its ticket or, without one, by its arm.

        Telling a ticket the same result again records nothing; telling it another is an
        error: see `correct`.

        Parameters
        ----------
        values : mapping by objective, sequence in their order, or number if there is one
        ticket, arm : str, optional
            At least one of them.
        key : str, optional
            Of the event: told again with the same key, it counts once.
        """
        row = dict(zip(self.problem.objectives, self._read(values), strict=True))
        return self._tell([Row("", {**row, "ticket": ticket, "arm": arm})], key)

    def tell_many(self, rows: Any, *, key: str | None = None) -> Receipt:
        """Record results together, as one event: all of them, or none if one is wrong.

        They are judged once, at their end.

        Parameters
        ----------
        rows : DataFrame or mappings
            With a column or key ``ticket`` or ``arm``, and one for each objective.
        key : str, optional
            Of the event: told again with the same key, they count once.
        """
        records = rows.to_dict("records") if is_frame(rows) else list(rows)
        return self._tell(
            (
                row if isinstance(row, Row) else Row(f"result {number}: ", row)
                for number, row in enumerate(records, start=1)
            ),
            key,
        )

    def _tell(self, rows: Iterable[Row], key: str | None) -> Receipt:
        rows = list(rows)
        known = 0

        def decide(state: State, _: str) -> Entry | None:
            nonlocal known
            told, known = check_rows(state.problem, state.ledger, rows)
            objectives = state.problem.objectives
            results = [
                {
                    "ticket": result.ticket,
                    "arm": result.arm,
                    "values": dict(zip(objectives, result.values, strict=True)),
                }
                for result in told
            ]
            return (TOLD, {"results": results}) if results else None

        def same(event: Event) -> bool:
            return event.kind == TOLD and same_results(self.problem, event.payload, rows)

        state, recorded = self._journal.record(decide, read_key(key), same)
        new: tuple[int, ...] = ()
        if recorded is not None:
            new = tuple(range(recorded.first, recorded.first + recorded.size))
        held = tuple(number for number in new if state.ledger.result(number).held)
        return Receipt(new, known, state.session.stopped, held)

    def correct(
        self,
        values: Any,
        *,
        ticket: str | None = None,
        result: int | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Receipt:
        """Replace the values of a result; the old ones stay in the log.

        What is known is worked out anew, as if the result had been right from the start.
        The asks made meanwhile stay what they were.

        Parameters
        ----------
        values : mapping by objective, sequence in their order, or number if there is one
        ticket, result : str or int
            Which result: the ticket it was told for, or its number.
        reason : str
            For the log.
        key : str, optional
            Of the event: given again with the same key, it is recorded once.
        """
        cells = tuple(self._read(values))
        decide = changes.correction(changes.find_result(ticket, result), cells, reason)

        def same(event: Event) -> bool:
            new = dict(zip(self.problem.objectives, cells, strict=True))
            return event.kind == CORRECTED and event.payload["values"] == new

        return self._change(decide, CORRECTED, key, same)

    def withdraw(
        self,
        *,
        ticket: str | None = None,
        result: int | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Receipt:
        """Take a result out of the count, for good; it stays in the log.

        Parameters
        ----------
        ticket, result : str or int
            Which result: the ticket it was told for, or its number.
        reason : str
            For the log.
        key : str, optional
            Of the event: given again with the same key, it is recorded once.
        """
        decide = changes.withdrawal(changes.find_result(ticket, result), reason)
        return self._change(decide, WITHDRAWN, key)

    def confirm(
        self,
        *,
        result: int | None = None,
        event: int | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Receipt:
        """Confirm a result that is held, or a change that another person has recorded.

        Parameters
        ----------
        result, event : int
            Number of the held result, or of the event that waits for a second person.
        reason : str
            For the log.
        key : str, optional
            Of the event: given again with the same key, it is recorded once.
        """
        user = self._journal.by["user"]
        return self._change(changes.confirmation(result, event, user, reason), CONFIRMED, key)

    def cancel(self, *tickets: str, reason: str = "", key: str | None = None) -> None:
        """Take back tickets that will have no result: they no longer count as pending."""
        self._change(changes.cancellation(tickets, reason), WITHDRAWN, key)

    def close(self, reason: str = "", *, key: str | None = None) -> None:
        """End the study: nothing can be recorded after it."""
        reason = read_text("a reason", reason)
        self._change(lambda *_: (CLOSED, {"reason": reason}), CLOSED, key)

    def _change(
        self,
        decide: Decide,
        kind: str,
        key: str | None,
        same: Callable[[Event], bool] = lambda _: True,
    ) -> Receipt:
        state, recorded = self._journal.record(
            decide, read_key(key), lambda event: event.kind == kind and same(event)
        )
        waits = recorded.seq if recorded and recorded.seq in state.proposals else None
        return Receipt((), int(recorded is None), state.session.stopped, (), waits)

    def _read(self, values: Any) -> list[float]:
        cells: list[float] = read_values(self.problem, values).tolist()
        return [check_size(o, x) for o, x in zip(self.problem.objectives, cells, strict=True)]


def _registration(
    problem: Problem | str | os.PathLike[str],
    name: str | None,
    rules: Rules | None,
    seed: int | None,
    conduct: Conduct | Mapping[str, Any] | None,
    choices: dict[str, Any],
) -> tuple[str, dict[str, Any]]:
    """Check a design; return the name of the study and the payload of its first event."""
    if not isinstance(problem, Problem):
        file = read_problem_file(problem)
        problem = file.problem
        given = {} if file.delta is None else {"delta": file.delta}
        if rules is None:
            choices = {**given, **file.rules, **choices}
        seed = file.seed if seed is None else seed
        conduct = file.study if conduct is None else conduct
    check_units(problem)
    name = read_name(problem.name if name is None else name)
    chosen = read_rules(rules, choices)
    seed = secrets.randbits(48) if seed is None else read_count("seed", seed, 0)
    Session(problem, rules=chosen, rng=seed)  # complains about rules that do not fit
    if not isinstance(conduct, Conduct):
        conduct = Conduct.read(conduct or {})
    payload = {
        "id": str(uuid4()),
        "problem": problem.to_dict(),
        "rules": chosen.to_dict(),
        "conduct": conduct.to_dict(),
        "seed": seed,
        "versions": {
            "psips": VERSION,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
    return name, payload


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
