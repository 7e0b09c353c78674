"""What can be seen of a study: its log, and what the log amounts to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from psips.diagnostics import Diagnosis
from psips.problem import Problem
from psips.problem.instances import Results
from psips.rules import Rules
from psips.session.card import Card, card_of
from psips.session.dominance import MOST, Comparisons
from psips.session.headline import ASK, COMPARE, CONFIRM, ENTER, HELD, REPORT, Waiting
from psips.session.status import Status
from psips.session.tolerated import Saving, savings, suggested
from psips.store import EVERY, DamagedError, Event, broken_links
from psips.study.inputs import stamp
from psips.study.journal import Journal
from psips.study.ledger import Result, Ticket
from psips.study.spread import diagnosis_of
from psips.study.state import State
from psips.study.verification import Verification, replay_log, verify_log

if TYPE_CHECKING:
    import pandas as pd


class View:
    """A study as far as it can be read."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.name = journal.name
        self.store = journal.store

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

    def comparisons(self, most: int = MOST) -> Comparisons:
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
        if session.goal is not None:
            return ()
        told, key = Results(arms, values), session.engine.key
        return savings(problem, session.rules, told, key, given, exact=session.exact.known)

    def diagnosis(self) -> Diagnosis:
        """Say whether the results look like what is assumed, the held ones included."""
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
        events = self.store.read(self.name, EVERY)
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
