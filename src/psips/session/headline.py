"""The summary: the set, how sure it is, how far it is from the stop, what to do next.

Pages, cards of notebooks and terminals show the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from psips.errors import counted
from psips.input.digits import percent
from psips.input.durations import duration_text
from psips.problem import Problem
from psips.rules import Rules
from psips.rules.promises import kind_of_promise
from psips.rules.stopping import BAYESIAN, HEURISTIC, MEASURED, NONE, PROVEN
from psips.session.front import label_of, marks_of
from psips.session.progress import Progress

if TYPE_CHECKING:
    from psips.session.status import Status

HELD, CONFIRM, REPORT, COMPARE, ENTER, ASK = (
    "held",
    "confirm",
    "report",
    "compare",
    "enter",
    "ask",
)  # what can be done next
CHIPS = 30  # options that are named
KINDS = {
    MEASURED: "validated by simulation",
    PROVEN: "proven",
    HEURISTIC: "aimed at, without a promise",
}


class Chip(NamedTuple):
    """An option of the set."""

    name: str
    place: int
    mark: int
    label: str


class Fact(NamedTuple):
    """A number and what it means."""

    value: str
    meaning: str


class Step(NamedTuple):
    """What to do next."""

    kind: str  # HELD, CONFIRM, REPORT, COMPARE, ENTER or ASK
    label: str
    why: str
    of: str | int = ""  # the option to enter; the number of the result held, or of the event


class Waiting(NamedTuple):
    """What waits for someone."""

    held: tuple[int, ...] = ()  # numbers of results
    proposals: tuple[int, ...] = ()  # numbers of events that need another person
    asked: tuple[str, ...] = ()  # options with a measurement that was asked for


class Headline(NamedTuple):
    """The answer in short."""

    state: str  # open, stopped or closed
    title: str
    detail: str
    chips: list[Chip]
    unlisted: int
    facts: list[Fact]
    step: Step


def headline_of(
    problem: Problem, rules: Rules, known: Status, waiting: Waiting, may_record: bool = True
) -> Headline:
    """Say what is known, for someone who may record or not."""
    chips = _chips(known)
    facts = [_sure(rules, known), _measured(known), _further(known)]
    return Headline(
        state_of(known),
        _title(known),
        _detail(problem, known),
        chips[:CHIPS],
        max(0, len(chips) - CHIPS),
        [fact for fact in facts if fact is not None],
        _step(known, waiting, may_record),
    )


def state_of(known: Status) -> str:
    """In a word: closed, stopped or open."""
    return "closed" if known.closed else "stopped" if known.stopped else "open"


def _chips(known: Status) -> list[Chip]:
    marks = marks_of(known)
    return [
        Chip(
            str(known.answers.index[place]), place, marks[place], label_of(known, marks[place])
        )
        for place in np.flatnonzero(known.answers["candidate"].to_numpy(bool)).tolist()
    ]


def _title(known: Status) -> str:
    options = "option" if len(known.candidate_set) == 1 else "options"
    if known.nothing:
        return "No option keeps the limits" + ("" if known.stopped else " so far")
    if not known.candidate_set:
        return "No answer yet"
    count = f"{len(known.candidate_set):,} {options}"
    if known.stopped and known.goal:
        return f"{known.goal}: {known.claim}"
    if known.stopped:
        return f"Pareto-optimal{' within the tolerance' if known.tolerated else ''}: {count}"
    return f"Best so far, and it may change: {count}"


def _detail(problem: Problem, known: Status) -> str:
    if known.stopped and known.goal:
        return "Of the other options nothing is claimed. Candidates:"
    if known.stopped:
        caveat = "" if known.fit is None else known.fit.caveat
        return f"The study has stopped{caveat}." if caveat else ""
    if not known.candidate_set and not known.nothing:
        if known.not_known:
            return f"{known.not_known[0].upper()}{known.not_known[1:]}."
        why = "not every option has been measured yet"
        if not problem.unstructured:
            why = "the options measured do not span the features yet"
        return f"There is no candidate: {why}."
    return ""


def level_of(rules: Rules) -> str:
    """Write the confidence of the design as a percentage."""
    return f"{100.0 * (1.0 - rules.delta):.10g}%"


def kind_of(rules: Rules) -> str:
    """Say what stands behind the confidence."""
    kind = kind_of_promise(rules)
    if kind == NONE:
        return "no promise"
    if kind == BAYESIAN:
        return f"{level_of(rules)} posterior probability"
    return f"{level_of(rules)} confidence, {KINDS[kind]}"


def _sure(rules: Rules, known: Status) -> Fact | None:
    kind = kind_of_promise(rules)
    if known.stopped and kind == NONE:
        return Fact("Stopped", "this stopping rule makes no promise")
    if known.stopped and kind == BAYESIAN:
        return Fact(level_of(rules), "posterior probability or more that this set is right")
    if known.stopped:
        return Fact(level_of(rules), f"confidence that this is right, {KINDS[kind]}")
    if not (known.candidate_set or known.nothing) or math.isnan(known.probability_of_change):
        return None
    right = percent(1.0 - known.probability_of_change)
    return Fact(right, f"probability that this set is right. At the stop: {kind_of(rules)}")


def _measured(known: Status) -> Fact:
    what = (
        f"measurement{'' if known.results == 1 else 's'} {'in all' if known.done else 'so far'}"
    )
    if known.budget is not None and (known.outlook is None or known.stopped):
        what += f"; {known.budget_text}"
    return Fact(f"{known.results:,}", what)


def _further(known: Status) -> Fact | None:
    """Say how many more measurements it takes, as one estimate with an interval."""
    if known.stopped:
        return None
    if known.done and not known.closed:
        return Fact("0", "more can be asked for: budget, time or items are used up")
    if known.closed or known.progress is None:
        return None
    return further_fact(known.progress)


def further_fact(found: Progress) -> Fact:
    """Write an estimate of what is still to be measured.

    Examples
    --------
    >>> further_fact(Progress(120.0, 38.0, 346.0, 900.0))
    Fact(value='about 120', meaning='more measurements until the stop (80% interval 38 to 346)')
    >>> further_fact(Progress(math.inf, 38.0, math.inf, 900.0))
    Fact(value='over 900', meaning='more measurements until the stop: still far from it')
    """
    if not math.isfinite(found.more):
        what = "more measurements until the stop: still far from it"
        return Fact(f"over {found.beyond:,.0f}", what)
    high = f"{found.high:,.0f}" if math.isfinite(found.high) else f"over {found.beyond:,.0f}"
    text = f"more measurements until the stop (80% interval {found.low:,.0f} to {high})"
    if found.seconds:
        text += f", {duration_text(found.seconds * found.more)} at the pace so far"
    return Fact(f"about {found.more:,.0f}", text)


def _step(known: Status, waiting: Waiting, may_record: bool) -> Step:
    if known.closed:
        return Step(REPORT, "Open the report", "the study is closed")
    if may_record and waiting.held:
        many = len(waiting.held)
        why = "a value beyond what the noise allows does not count until someone decides"
        name = "the measurement" if many == 1 else f"{many} measurements"
        return Step(HELD, f"Check {name} on hold", why, waiting.held[0])
    if may_record and waiting.proposals:
        why = "it counts once another person agrees"
        return Step(CONFIRM, "Confirm a change", why, waiting.proposals[0])
    if known.stopped:
        return Step(REPORT, "Open the report", "nothing more needs to be measured")
    if known.done:
        return Step(COMPARE, "See what is still open", "nothing more can be asked for")
    if not may_record:
        return Step(COMPARE, "See what is still open", "the pairs that are undecided")
    if waiting.asked:
        many = len(waiting.asked)
        why = f"{counted(many, 'measurement')} under way"
        first = waiting.asked[0]
        return Step(ENTER, f"Enter the measurement of {first}", why, first)
    return Step(ASK, "Ask what to measure next", "psips chooses the most informative option")
