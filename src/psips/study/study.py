"""A study: ask, tell and correct, each in one transaction on the log of events."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from psips.diagnostics import Diagnosis
from psips.errors import InputError, quote
from psips.input.former_names import read_renamed
from psips.input.seeds import Seed, whole_seed
from psips.problem import Problem
from psips.problem.goals_and_budget import THESE
from psips.problem.instances import Results
from psips.problem.measurements import ITEM, is_frame, nothing_told, read_changes, read_values
from psips.rules import Rules
from psips.session.card import Card, card_of
from psips.session.dominance import MAX_COMPARED, Comparisons
from psips.session.headline import ASK, COMPARE, CONFIRM, ENTER, HELD, REPORT, Waiting
from psips.session.status import Status
from psips.session.tickets import Receipt
from psips.session.tickets import Ticket as SessionTicket
from psips.session.tolerance_report import Saving, savings, suggested
from psips.store import WHOLE_LOG, DamagedError, Event, Store, broken_links, opened
from psips.study import changes
from psips.study.conduct import Conduct
from psips.study.deliveries import Delivery, read_delivery
from psips.study.inputs import (
    MAX_COUNT,
    read_count,
    read_known_name,
    read_wait,
    stamp,
)
from psips.study.journal import Clock, Entry, Journal
from psips.study.ledger import Result, Ticket, id_of
from psips.study.outliers import FarValueWarning
from psips.study.people import read_key
from psips.study.registration import registration
from psips.study.requests import ASK as ASKING
from psips.study.requests import TELL, Request, duration
from psips.study.rows import Row
from psips.study.schema import ASKED
from psips.study.spread import diagnosis_of
from psips.study.state import State
from psips.study.telling import Telling, read_rows
from psips.study.verification import Verification, replay_log, verify_log

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_STORE = "sqlite:///psips.db"
Wait = float | timedelta | None  # seconds, or a timedelta


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
    >>> first.id.startswith("tea-"), first.arm
    (True, 'green')
    >>> study.tell(first, 4.5)
    Receipt(numbers=(1,), known=0, stopped=False, warnings=(), held=(), ...)
    >>> study.tell(first, 4.5).known
    1
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
        seed: Seed = None,
        rng: Seed = None,
        conduct: Conduct | Mapping[str, Any] | None = None,
        budget: float | None = None,
        goal: str | None = None,
        time_limit: object = None,
        of: str | None = None,
        user: str | None = None,
        clock: Clock | None = None,
        **choices: Any,
    ) -> Study:
        """Register a study.

        Parameters
        ----------
        problem : Problem or path of a problem file
            A file's ``delta``, ``seed``, ``budget``, ``time_limit``, ``of`` and ``[rules]``
            hold unless given here.
        store : str or Store
            URL of a database, which is made if it is missing.
        name : str, optional
            The problem's name if left out.
        rules : Rules, optional
            Or its fields by keyword.
        seed, rng : int, SeedSequence or Generator
            Two names of the same thing. A whole number is recorded as the seed; if none is
            given, one is drawn, from the generator if there is one.
        conduct : Conduct or its fields, optional
            What is held for confirmation, and how results may be changed; the table
            ``[study]`` of a problem file if left out.
        budget : number, optional
            What may be spent: results, or cost if the problem has costs. Results that are
            held or withdrawn were paid for too.
        goal : str, optional
            What is to be proven instead of the whole set, see `Session`.
        time_limit : duration, optional
            A budget of time from the first ask or result on, by the times in the log: ``"5d"``.
        of : "like these" or "these", optional
            Whether the question is of all items like those of the list, or of these alone, see
            `Session`.
        user : str, optional
            Who is at work, instead of PSIPS_USER or the login.
        clock : callable, optional
            Gives the time; for tests.
        **choices
            Fields of `Rules`.
        """
        name, payload = registration(
            problem,
            name,
            rules,
            whole_seed(rng, seed),
            conduct,
            budget,
            goal,
            time_limit,
            of,
            choices,
        )
        with opened(store, create=True) as found:
            journal = Journal(name, found, clock, user)
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
        with opened(store) as found:
            journal = Journal(read_known_name(name), found, clock, user)
            journal.refresh()
        return cls(journal)

    @property
    def state(self) -> State:
        """What the log amounts to, with what others have recorded by now."""
        return self._journal.refresh()

    @property
    def problem(self) -> Problem:
        """What is to be decided."""
        return self._journal.known.problem

    @property
    def rules(self) -> Rules:
        """The rules it was registered with."""
        return self._journal.known.rules

    @property
    def stopped(self) -> bool:
        """Whether the stopping rule holds; it depends on what was told, not on tickets."""
        return self.state.session.stopped

    @property
    def done(self) -> bool:
        """Whether to end the loop: stopped, closed, or out of budget, time or items.

        Open tickets count as spent; results are taken even so.
        """
        return self.closed or self.stopped or not self.has_next

    @property
    def has_next(self) -> bool:
        """Whether budget, time and items leave anything to ask for."""
        state = self.state
        state.set_pending(stamp(self._journal.now()))
        return state.asker.has_next

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
    def results(self) -> int:
        """How many results count, without the withdrawn and the held ones."""
        return self.state.session.results

    @property
    def told(self) -> tuple[Result, ...]:
        """All results told, in their order, the withdrawn and the held ones included."""
        return tuple(self.state.ledger.results)

    @property
    def held(self) -> tuple[Result, ...]:
        """Results that do not count until they are confirmed or corrected."""
        return tuple(self.state.ledger.held)

    @overload
    def ask(
        self, n: None = None, *, expires: Wait = None, key: str | None = None
    ) -> Ticket: ...

    @overload
    def ask(self, n: int, *, expires: Wait = None, key: str | None = None) -> list[Ticket]: ...

    def ask(
        self, n: int | None = None, *, expires: Wait = None, key: str | None = None
    ) -> Ticket | list[Ticket]:
        """Give out a ticket for the next measurement, or a list of the next ``n``.

        Tickets that are open count as pulled in the choice. Asking is allowed after the stop,
        but not beyond the budget or the time limit.

        Parameters
        ----------
        n : int, optional
            How many; a list is returned if it is given, shorter where the budget or the list
            of items ends.
        expires : seconds or timedelta, optional
            After which a ticket no longer counts as pending; a late result is still taken.
        key : str, optional
            Of the event: asked again with the same key, the same tickets are returned.
        """
        many = 1 if n is None else read_count("the number of tickets", n, 1, MAX_COUNT)
        wait = None if expires is None else read_wait(expires)
        key = read_key(key)

        def decide(state: State, at: str) -> Entry:
            first = len(state.ledger.tickets) + 1
            tickets = [
                {"id": state.ledger.ticket_id(number, key), **chosen}
                for number, chosen in enumerate(state.choose(many, at), start=first)
            ]
            until = None if wait is None else stamp(datetime.fromisoformat(at) + wait)
            return ASKED, {"tickets": tickets, "expires": until}

        request = Request(ASKING, lambda _: {"n": many, "expires": duration(wait)})
        state, recorded = self._journal.record(request, decide, key, chosen=True)
        assert recorded is not None
        made = state.ledger.tickets[recorded.first - 1 :][: recorded.size]
        return made[0] if n is None else made

    def tell(
        self,
        arm: Any = None,
        values: Any = None,
        *,
        ticket: Ticket | str | None = None,
        item: str | None = None,
        strict: bool = False,
        key: str | None = None,
        block: str | None = None,
    ) -> Receipt:
        """Record one result, by its ticket or, without one, by its arm; or a table of many.

        Telling a ticket the same result again records nothing; telling it another is an
        error: see `correct`. A value that is too far from the others to be noise is recorded
        with a warning.

        Parameters
        ----------
        arm : str, Ticket or DataFrame
            What was measured, or the ticket that asked for it. A table is `tell_many`'s.
        values : mapping by objective, sequence in their order, or number if there is one
            Left out with a DataFrame.
        ticket : Ticket or str, optional
            A ticket or its id; arm and item can then be left out.
        item : str, optional
            The item that the arm was measured on, if the arms share items.
        strict : bool
            Whether to refuse a value that would be warned of.
        key : str, optional
            Of the event: told again with the same key, it counts once.
        block
            The former name of ``item``.
        """
        item = read_renamed("item", item, "block", block)
        if is_frame(arm):
            if values is not None or ticket is not None:
                raise InputError("a table of results has its values in it: give nothing else")
            return self.tell_many(arm, strict=strict, key=key)
        if isinstance(arm, SessionTicket):
            ticket = (arm.id or None) if ticket is None else ticket
            arm, item = arm.arm, arm.item if item is None else item
        ticket = None if ticket is None else id_of(ticket)
        if values is None:
            raise nothing_told(arm if ticket is None else ticket)
        if arm is None and ticket is None:
            raise nothing_told(None, values)
        row = dict(zip(self.problem.objectives, self._read(values), strict=True))
        if item is not None and not self.problem.has_items:
            raise InputError(f"the problem has no items, got {quote(item)}: leave it out")
        rows = [Row("", {**row, ITEM: item, "ticket": ticket, "arm": arm})]
        return self._tell(Telling(self.name, rows, strict), key)

    def tell_file(
        self,
        path: str | os.PathLike[str],
        *,
        again: bool = False,
        keep_columns: Sequence[str] = (),
        skip_incomplete: bool = False,
        sheet: str | None = None,
        arm_column: str | None = None,
        strict: bool = False,
        key: str | None = None,
    ) -> Receipt:
        """Record the results in a file, as one event: all of them, or none.

        A file that was told before, and that would be counted again, is refused.

        Parameters
        ----------
        path : path of a CSV, Excel or Parquet file
            With a column ``ticket`` or ``arm``, and one for each objective.
        again : bool
            Whether a file that says the same as an earlier one has new measurements.
        keep_columns : sequence of str
            Other columns to record with the results; ``["all"]`` for all of them.
        skip_incomplete : bool
            Whether lines in which a value is missing are left out, and not refused.
        sheet : str, optional
            Of an Excel file with several.
        arm_column : str, optional
            The column that names the arms, if it is not called ``arm``.
        strict : bool
            Whether to refuse values that are too far from the others to be noise.
        key : str, optional
            Of the event: told again with the same key, it counts once.
        """
        delivery = read_delivery(
            path, self.problem, keep_columns, skip_incomplete, sheet, arm_column
        )
        return self._tell(Telling(self.name, delivery.rows, strict, delivery, again), key)

    def tell_delivery(
        self,
        delivery: Delivery,
        *,
        again: bool = False,
        strict: bool = False,
        key: str | None = None,
    ) -> Receipt:
        """Record the results of a file that was read with `read_delivery`.

        Parameters
        ----------
        delivery : Delivery
        again, strict, key
            See `tell_file`.
        """
        return self._tell(Telling(self.name, delivery.rows, strict, delivery, again), key)

    def tell_many(self, rows: Any, *, strict: bool = False, key: str | None = None) -> Receipt:
        """Record results together, as one event: all of them, or none if one is wrong.

        They are judged once, at their end.

        Parameters
        ----------
        rows : DataFrame or mappings
            With a column or key ``ticket`` or ``arm``, and one for each objective.
        strict : bool
            Whether to refuse values that are too far from the others to be noise.
        key : str, optional
            Of the event: told again with the same key, they count once.
        """
        return self._tell(Telling(self.name, read_rows(self.problem, rows), strict), key)

    def _tell(self, telling: Telling, key: str | None) -> Receipt:
        request = Request(TELL, telling.request)
        state, recorded = self._journal.record(request, telling, read_key(key))
        for text in telling.far_values:
            warnings.warn(text, FarValueWarning, stacklevel=3)
        return telling.receipt(state, recorded)

    def correct(
        self,
        values: Any,
        *,
        ticket: Ticket | str | None = None,
        result: int | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Receipt:
        """Replace the values of a result; the old ones stay in the log.

        What is known is worked out again, as if the result had been right from the start.
        The asks made meanwhile stay what they were.

        Parameters
        ----------
        values : mapping by objective, sequence in their order, or number if there is one
            A mapping has the values that change; the others stay.
        ticket, result : Ticket, str or int
            Which result: the ticket it was told for, or its number.
        reason : str
            For the log.
        key : str, optional
            Of the event: given again with the same key, it is recorded once.
        """
        new = {o: _known(x) for o, x in read_changes(self.problem, values).items()}
        find = changes.find_result(ticket, result)
        return self._change(changes.correction(find, new, reason), key)

    def withdraw(
        self,
        *,
        ticket: Ticket | str | None = None,
        result: int | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Receipt:
        """Take a result out of the count, for good; it stays in the log.

        Parameters
        ----------
        ticket, result : Ticket, str or int
            Which result: the ticket it was told for, or its number.
        reason : str
            For the log.
        key : str, optional
            Of the event: given again with the same key, it is recorded once.
        """
        find = changes.find_result(ticket, result)
        return self._change(changes.withdrawal(find, reason), key)

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
            Number of the held result, or of the correction or withdrawal to confirm.
        reason : str
            For the log.
        key : str, optional
            Of the event: given again with the same key, it is recorded once.
        """
        user = self._journal.by["user"]
        return self._change(changes.confirmation(result, event, user, reason), key)

    def cancel(self, *tickets: Ticket | str, reason: str = "", key: str | None = None) -> None:
        """Cancel tickets, or ids, that will have no result: they no longer count as pending."""
        self._change(changes.cancellation(tickets, reason), key)

    def close(self, reason: str = "", *, key: str | None = None) -> None:
        """End the study: nothing can be recorded after it."""
        self._change(changes.closure(reason), key)

    def _change(self, change: changes.Change, key: str | None) -> Receipt:
        request, decide = change
        held: set[int] = set()

        def noting(state: State, at: str) -> Entry | None:
            held.update(result.number for result in state.ledger.held)
            return decide(state, at)

        state, recorded = self._journal.record(request, noting, read_key(key))
        waits = recorded.seq if recorded and recorded.seq in state.proposals else None
        known = int(recorded is None)
        found = [state.ledger.result(number) for number in sorted(held)]
        released = tuple(r.number for r in found if r.counts and not r.confirmed)
        return Receipt((), known, state.session.stopped, waits=waits, released=released)

    def _read(self, values: Any) -> list[float | None]:
        cells: list[float] = read_values(self.problem, values).tolist()
        return [_known(x) for x in cells]

    def open_tickets(self) -> list[Ticket]:
        """Return the tickets that count as pending now."""
        return self.state.ledger.pending(stamp(self._journal.now()))

    def status(self) -> Status:
        """Return what is known now; ``pending`` counts the open tickets of an arm."""
        state = self.state
        state.set_pending(stamp(self._journal.now()))
        done = state.closed or state.session.stopped or not state.asker.has_next
        known = state.session.status()
        return replace(
            known, closed=state.closed, done=done, progress=state.paced(known.progress)
        )

    def rank(
        self,
        *,
        weights: Mapping[str, float] | None = None,
        reference: Mapping[str, float] | None = None,
    ) -> pd.DataFrame:
        """Order the options known to be Pareto-optimal by weights or a reference point.

        No new claim: see `psips.session.preference.rank`.
        """
        return self.state.session.rank(weights=weights, reference=reference)

    def comparisons(self, most: int = MAX_COMPARED) -> Comparisons:
        """Say who dominates whom, and what each undecided pair would cost.

        See `psips.session.Session.comparisons`.
        """
        return self.state.session.comparisons(most)

    def savings(self, *epsilons: object) -> tuple[Saving, ...]:
        """Say when this would have stopped with a tolerance, told the same results.

        See `psips.session.Session.savings`; the results are those that count now.
        """
        problem, session = self.problem, self.state.session
        counted = [result for result in self.state.ledger.results if result.counts]
        arms = np.array([problem.arm_index(r.arm) for r in counted], dtype=np.int64)
        values = np.array([r.values for r in counted], dtype=float).reshape(-1, problem.d)
        given = epsilons or suggested(session.noisy, session.engine)
        if session.goal is not None or session.of == THESE:
            return ()
        told, key = Results(arms, values), session.engine.key
        return savings(problem, session.rules, told, key, given, exact=session.exact.known)

    def diagnosis(self) -> Diagnosis:
        """Test whether the results, held ones included, satisfy the assumptions."""
        state = self.state
        return diagnosis_of(state, [r for r in state.ledger.results if not r.withdrawn])

    def to_frame(self) -> pd.DataFrame:
        """Return the results as a DataFrame, the withdrawn and the held ones included."""
        from psips.study.frames import results_frame

        return results_frame(self.problem.objectives, self.told)

    @property
    def log(self) -> pd.DataFrame:
        """Every event as a row of a DataFrame; `events` has them as objects."""
        from psips.study.frames import log_frame

        return log_frame(self.events())

    def events(self) -> list[Event]:
        """Return the whole log, its hashes checked."""
        events = self.store.read(self.name, WHOLE_LOG)
        problems = broken_links(events)
        if problems:
            raise DamagedError(
                f"the log of {self.name!r} is not as it was written: {problems[0]}; see "
                "`psips study verify`"
            )
        return events

    def verify(self) -> Verification:
        """Check the hashes of the whole log, and replay it from its first event."""
        return verify_log(self.name, self.store, self._journal.now())

    def replayed(self) -> Verification:
        """As `verify`; from now on what is seen rests on that replay, and on no cache."""
        found, state = replay_log(self.name, self.store, self._journal.now())
        if state is None:
            raise DamagedError(
                f"the log of {self.name!r} is not as it was written: {found.problems[0]}; see "
                "`psips study verify`"
            )
        self._journal.adopt(state)
        return found

    def _card(self) -> Card:
        known = self.status()
        ledger = self.state.ledger
        waiting = Waiting(
            tuple(result.number for result in ledger.held),
            tuple(self.state.proposals),
            tuple(ticket.arm for ticket in self.open_tickets()),
        )
        calls = {
            HELD: "study.confirm(result={})",
            CONFIRM: "study.confirm(event={})",
            REPORT: "psips.report.report(study)",
            COMPARE: "study.comparisons()",
            ENTER: "study.tell({}, values)",
            ASK: "study.ask()",
        }
        return card_of(self.name, self.problem, self.rules, known, waiting, calls)

    def _repr_html_(self) -> str:
        return self._card().html()

    def _ipython_display_(self) -> None:
        self._card().display()

    def __repr__(self) -> str:
        return f"Study({self.name!r})"


def _known(value: float) -> float | None:
    """Return a value; None if it is missing."""
    return None if math.isnan(value) else value
