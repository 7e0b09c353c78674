"""A study: ask, tell and correct, each in one transaction on the log of events."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from psips.errors import InputError, quote
from psips.problem import Problem
from psips.problem.measurements import ITEM, is_frame, nothing_told, read_changes, read_values
from psips.rules import Rules
from psips.store import Store, opened
from psips.study import changes
from psips.study.conduct import Conduct
from psips.study.deliveries import Delivery, read_delivery
from psips.study.inputs import (
    MOST,
    read_count,
    read_known_name,
    read_wait,
    stamp,
)
from psips.study.journal import Clock, Entry, Journal
from psips.study.ledger import Ticket
from psips.study.people import read_key
from psips.study.registration import registration
from psips.study.requests import ASK, TELL, Request, duration
from psips.study.rows import Row
from psips.study.schema import ASKED
from psips.study.slips import FarValueWarning
from psips.study.state import State
from psips.study.telling import Receipt, Telling, read_rows
from psips.study.view import View

DEFAULT_STORE = "sqlite:///psips.db"


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
    >>> study.tell(first, 4.5)
    Receipt(numbers=(1,), known=0, stopped=False, warnings=(), held=(), ...)
    >>> study.tell(first, 4.5).known
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
        seed : int, optional
            Drawn and recorded if left out.
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
            problem, name, rules, seed, conduct, budget, goal, time_limit, of, choices
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

    def ask(
        self,
        n: int = 1,
        *,
        expires: float | timedelta | None = None,
        key: str | None = None,
    ) -> list[Ticket]:
        """Give out tickets for the next ``n`` measurements.

        Tickets that are open count as pulled in the choice. Asking is allowed after the stop,
        but not beyond the budget or the time limit.

        Parameters
        ----------
        n : int
            How many; fewer are given out where the budget or the list of items ends.
        expires : seconds or timedelta, optional
            After which a ticket no longer counts as pending; a late result is still taken.
        key : str, optional
            Of the event: asked again with the same key, the same tickets are returned.
        """
        n = read_count("the number of tickets", n, 1, MOST)
        wait = None if expires is None else read_wait(expires)
        key = read_key(key)

        def decide(state: State, at: str) -> Entry:
            first = len(state.ledger.tickets) + 1
            tickets = [
                {"id": state.ledger.ticket_id(number, key), **chosen}
                for number, chosen in enumerate(state.choose(n, at), start=first)
            ]
            until = None if wait is None else stamp(datetime.fromisoformat(at) + wait)
            return ASKED, {"tickets": tickets, "expires": until}

        request = Request(ASK, lambda _: {"n": n, "expires": duration(wait)})
        state, recorded = self._journal.record(request, decide, key, chosen=True)
        assert recorded is not None
        return state.ledger.tickets[recorded.first - 1 :][: recorded.size]

    def tell(
        self,
        arm: Any = None,
        values: Any = None,
        *,
        ticket: str | None = None,
        block: str | None = None,
        strict: bool = False,
        key: str | None = None,
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
        ticket : str, optional
            The name of a ticket; the arm can then be left out, and the item with blocks.
        block : str, optional
            With blocks, the item that the arm was measured on.
        strict : bool
            Whether to refuse a value that would be warned of.
        key : str, optional
            Of the event: told again with the same key, it counts once.
        """
        if is_frame(arm):
            if values is not None or ticket is not None:
                raise InputError("a table of results has its values in it: give nothing else")
            return self.tell_many(arm, strict=strict, key=key)
        if isinstance(arm, Ticket):
            arm, ticket = arm.arm, arm.id if ticket is None else ticket
        if values is None:
            raise nothing_told(arm if ticket is None else ticket)
        if arm is None and ticket is None:
            raise nothing_told(None, values)
        row = dict(zip(self.problem.objectives, self._read(values), strict=True))
        if block is not None and not self.problem.blocks:
            raise InputError(f"the problem has no items, got {quote(block)}: leave it out")
        rows = [Row("", {**row, ITEM: block, "ticket": ticket, "arm": arm})]
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
        for text in telling.slips:
            warnings.warn(text, FarValueWarning, stacklevel=3)
        return telling.receipt(state, recorded)

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
            A mapping has the values that change; the others stay.
        ticket, result : str or int
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
            Number of the held result, or of the event that waits for a second person.
        reason : str
            For the log.
        key : str, optional
            Of the event: given again with the same key, it is recorded once.
        """
        user = self._journal.by["user"]
        return self._change(changes.confirmation(result, event, user, reason), key)

    def cancel(self, *tickets: str, reason: str = "", key: str | None = None) -> None:
        """Take back tickets that will have no result: they no longer count as pending."""
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


def _known(value: float) -> float | None:
    """Return a value; None if it is missing."""
    return None if math.isnan(value) else value
