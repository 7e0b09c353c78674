"""What stands on top of a study: the answer, how sure it is, how far it is, what to do next."""

from __future__ import annotations

import math
from typing import NamedTuple

from psips.input.digits import percent
from psips.input.durations import duration_text
from psips.rules.promises import kind_of_promise
from psips.rules.stopping import BAYESIAN, HEURISTIC, MEASURED, NONE, PROVEN
from psips.session.progress import Progress
from psips.web.view_models import Look

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
    """What to do next: a link, or the form that asks for the next measurement."""

    label: str
    to: str  # "" of the form
    why: str


class Headline(NamedTuple):
    """The top of a study's page."""

    title: str
    detail: str
    chips: list[Chip]
    unlisted: int
    facts: list[Fact]
    step: Step | None


def headline_of(look: Look, may_record: bool) -> Headline:
    """Say what is known of a study, for somebody who may record or not."""
    known = look.status
    named = [a for a in look.answers if a.candidate]
    chips = [Chip(a.name, a.place, a.mark, a.label) for a in named]
    facts = [_sure(look), _measured(look), _further(look)]
    return Headline(
        _title(look),
        _detail(look),
        chips[:CHIPS],
        max(0, len(chips) - CHIPS),
        [fact for fact in facts if fact is not None],
        _step(look, may_record) if not known.closed else _report("the study is closed"),
    )


def _title(look: Look) -> str:
    known, options = look.status, "option" if len(look.status.candidate_set) == 1 else "options"
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


def _detail(look: Look) -> str:
    known = look.status
    if known.stopped and known.goal:
        return "Of the other options nothing is claimed. Candidates:"
    if known.stopped:
        caveat = "" if known.fit is None else known.fit.caveat
        return f"The study has stopped{caveat}." if caveat else ""
    if not known.candidate_set and not known.nothing:
        if known.not_known:
            return f"{known.not_known[0].upper()}{known.not_known[1:]}."
        why = "not every option has been measured yet"
        if not look.problem.unstructured:
            why = "the options measured do not span the features yet"
        return f"There is no candidate: {why}."
    return ""


def level_of(look: Look) -> str:
    """Write the confidence of the design as a percentage."""
    return f"{100.0 * (1.0 - look.delta):.10g}%"


def kind_of(look: Look) -> str:
    """Say what stands behind the confidence."""
    kind = kind_of_promise(look.rules)
    if kind == NONE:
        return "no promise"
    if kind == BAYESIAN:
        return f"{level_of(look)} posterior probability"
    return f"{level_of(look)} confidence, {KINDS[kind]}"


def _sure(look: Look) -> Fact | None:
    known = look.status
    kind = kind_of_promise(look.rules)
    if known.stopped and kind == NONE:
        return Fact("Stopped", "this stopping rule makes no promise")
    if known.stopped and kind == BAYESIAN:
        return Fact(level_of(look), "posterior probability or more that this set is right")
    if known.stopped:
        return Fact(level_of(look), f"confidence that this is right, {KINDS[kind]}")
    if not (known.candidate_set or known.nothing) or math.isnan(known.probability_of_change):
        return None
    right = percent(1.0 - known.probability_of_change)
    return Fact(right, f"probability that this set is right. At the stop: {kind_of(look)}")


def _measured(look: Look) -> Fact:
    known = look.status
    what = (
        f"measurement{'' if known.results == 1 else 's'} {'in all' if known.done else 'so far'}"
    )
    if known.budget is not None:
        what += f"; {known.budget_text}"
    return Fact(f"{known.results:,}", what)


def _further(look: Look) -> Fact | None:
    """Say how many more measurements it takes, as one estimate with an interval."""
    known = look.status
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


def _report(why: str) -> Step:
    return Step("Open the report", "report.html", why)


def _step(look: Look, may_record: bool) -> Step | None:
    known = look.status
    if may_record and look.held:
        first = look.held[0].number
        many = len(look.held)
        why = "a value beyond what the noise allows does not count until someone decides"
        name = "the measurement" if many == 1 else f"{many} measurements"
        return Step(f"Check {name} on hold", f"results/{first}", why)
    if may_record and look.proposals:
        return Step("Confirm a change", "#waiting", "it counts once another person agrees")
    if known.stopped:
        return _report("nothing more needs to be measured")
    if known.done:
        return Step("See what is still open", "comparisons", "nothing more can be asked for")
    if not may_record:
        return Step("See what is still open", "comparisons", "the pairs that are undecided")
    if look.tickets:
        first_one = look.tickets[0]
        many = len(look.tickets)
        waits = "1 ticket is open" if many == 1 else f"{many:,} tickets are open"
        return Step(f"Enter the measurement of {first_one.arm}", "enter", waits)
    return Step("Ask what to measure next", "", "the option that tells the most is chosen")
