"""What a page shows of a study: worked out once for each event, for all its visitors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from psips.aliases import Ints
from psips.diagnostics import Finding
from psips.pictures.front import Front, Option
from psips.plots.history import (
    Evidence,
    History,
    evidence_over_time,
    history_of,
    pulls_over_time,
)
from psips.problem import Problem
from psips.problem.instances import Results
from psips.report.verdict_words import verdict_words
from psips.rules import Rules
from psips.rules.promises import evidence_caption, kind_of_promise, promise, short_promise
from psips.rules.stopping import PROVEN
from psips.session.front import front_of
from psips.session.headline import state_of
from psips.session.status import Status
from psips.session.tolerance_report import Saving, savings, suggested
from psips.store import Store
from psips.study import Result, Study, Ticket
from psips.study.plain import status_data
from psips.study.spread import Spread, diagnosis_of, spreads
from psips.study.state import State
from psips.web.text import Entry, entry

NEVER = "9999"  # later than any time
EVENTS = 10  # of the log that are listed
SOON = 10_000  # results up to which it takes no time to check what is assumed of them


class Answer(NamedTuple):
    """One option as a row of a table."""

    option: Option
    pulls: int | None  # results, if it is an arm as well
    verdict: str
    reason: str
    probability: float
    finding: str  # what the stopping rule concludes
    proof: str  # what is proven of it by itself

    @property
    def name(self) -> str:
        """Name of the option."""
        return self.option.name


@dataclass(frozen=True)
class StudyView:
    """A study after an event; ``until`` is when a ticket expires, and it is made again."""

    event: int
    head: str
    until: str
    problem: Problem
    status: Status
    data: dict[str, Any]  # the status as the JSON interface sends it
    front: Front
    answers: list[Answer]
    arms: list[tuple[str, int, int]]  # name, results, open tickets
    tickets: list[Ticket]
    held: list[Result]
    proposals: dict[int, dict[str, Any]]
    told: int
    log: list[Entry]  # the newest first
    rules: Rules
    promise: str
    short_promise: str
    evidence_caption: str
    delta: float
    reasons: bool
    two_people: bool

    @property
    def state(self) -> str:
        """In a word: closed, stopped or open."""
        return state_of(self.status)

    @property
    def to_the_stop(self) -> str:
        """About how many more results it takes, in words; empty if that is not known."""
        return "" if self.status.progress is None else str(self.status.progress)


def view_of(state: State, at: str, store: Store, before: StudyView | None = None) -> StudyView:
    """Work out what pages show of a study.

    Parameters
    ----------
    state : State
        It must not move on meanwhile.
    at : str
        The time.
    store : Store
        Where to read the log.
    before : StudyView, optional
        An earlier one.
    """
    state.set_pending(at)
    known = state.session.status()
    done = state.closed or known.stopped or not state.asker.has_next
    progress = state.paced(known.progress)
    known = replace(known, closed=state.closed, done=done, progress=progress)
    problem, ledger = state.problem, state.ledger
    tickets = ledger.pending(at)
    front = front_of(problem, known)
    return StudyView(
        event=state.seq,
        head=state.hash,
        until=min((t.expires for t in tickets if t.expires), default=NEVER),
        problem=problem,
        status=known,
        data=status_data(state, known, tickets),
        front=front,
        answers=_answers(problem, known, front, kind_of_promise(state.rules) == PROVEN),
        arms=list(zip(problem.arms, *_counts(known), strict=True)),
        tickets=tickets,
        held=[r for r in ledger.results if r.held and not r.withdrawn],
        proposals=dict(state.proposals),
        told=len(ledger.results),
        log=_log(store, state, before),
        rules=state.rules,
        promise=promise(state.rules, problem),
        short_promise=short_promise(state.rules),
        evidence_caption=evidence_caption(state.rules),
        delta=state.rules.delta,
        reasons=state.conduct.reasons,
        two_people=state.conduct.two_people,
    )


def _log(store: Store, state: State, before: StudyView | None) -> list[Entry]:
    """Return the latest events in words; those of an earlier view are not read again."""
    known = [] if before is None else before.log
    first = max(0, state.seq - EVENTS, known[0].seq if known else 0)
    new = [entry(event) for event in store.read(state.created.study, first, state.seq)]
    return (new[::-1] + known)[:EVENTS]


class Noise(NamedTuple):
    """Whether the noise of a study is as assumed."""

    event: int
    spreads: list[Spread]
    findings: tuple[Finding, ...] | None  # of `psips check`; None if it would take long


def noise_of(state: State) -> Noise:
    """Check the noise of the results that count."""
    counted = [r for r in state.ledger.results if r.counts]
    soon = len(counted) <= SOON
    findings = diagnosis_of(state, counted).deviations if soon else None
    return Noise(state.seq, spreads(state), findings)


def _counts(known: Status) -> tuple[list[int], list[int]]:
    return known.arms["pulls"].tolist(), known.arms["pending"].tolist()


def _answers(problem: Problem, known: Status, front: Front, proven: bool) -> list[Answer]:
    table = known.answers
    rest = zip(*(table[c].tolist() for c in ("verdict", "reason", "probability")), strict=True)
    pulls = _counts(known)[0] if problem.unstructured else [None] * problem.n
    return [
        Answer(
            option,
            pulls[option.place],
            *(verdict, reason, probability),
            *verdict_words(known, proven, option.candidate, verdict),
        )
        for option, (verdict, reason, probability) in zip(front.options, rest, strict=True)
    ]


@dataclass(frozen=True)
class TimeSeries:
    """A study over time; `drawn` works out what takes long."""

    event: int
    history: History
    results: Ints | None = None  # (T,) numbers of results
    pulls: Ints | None = None  # (T, K) how many of each arm were among them
    evidence: Evidence | None = None
    tolerances: tuple[object, ...] = ()  # with which it might have stopped sooner
    saved: tuple[Saving, ...] = ()  # when it would have

    def drawn(self) -> TimeSeries:
        """Return the same with pulls, evidence, and what a tolerance would have saved."""
        history = self.history
        results, pulls = pulls_over_time(history)
        told = Results(history.arms, history.values)
        known = history.rules, told, history.key, self.tolerances
        saved = savings(history.problem, *known, exact=history.exact)
        return replace(
            self,
            results=results,
            pulls=pulls,
            evidence=evidence_over_time(history),
            saved=tuple(one for one in saved if one.stopped is not None),
        )

    @property
    def last_pulls(self) -> Ints:
        """Results of each arm at the end."""
        assert self.pulls is not None
        return np.asarray(self.pulls[-1], np.int64)


def time_series_of(study: Study) -> TimeSeries:
    """Take a copy of the results in their order."""
    problem, session = study.problem, study.state.session
    exact = not (problem.tolerance or problem.has_items or session.goal)
    wanted = tuple(suggested(session.noisy, session.engine)) if exact else ()
    return TimeSeries(study.state.seq, history_of(study), tolerances=wanted)
