"""A report of a study: one HTML file that a committee can read, print and keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from html import escape
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from psips import plots
from psips.input.digits import estimate, fixed, percent
from psips.input.quantities import in_words
from psips.plots.planes import front_height, used_marks
from psips.report.appendix import changes, features, in_utc, log
from psips.report.choice import chosen
from psips.report.design import design_of
from psips.report.page import figures, legend, page, table
from psips.report.pairs import pairs
from psips.report.verdict_words import verdict_words
from psips.rules.promises import (
    evidence_caption,
    kind_of_promise,
    promise,
    short_promise,
    verdicts_promise,
    within,
)
from psips.rules.stopping import PROVEN
from psips.session.estimated import spread
from psips.session.tolerance_report import earlier
from psips.study import Study
from psips.study.inputs import now, stamp
from psips.study.state import State
from psips.version import build_version

if TYPE_CHECKING:
    from psips.diagnostics import Diagnosis
    from psips.problem import Problem
    from psips.session import Session
    from psips.session.status import Status

FIRST = 2  # fronts on the first page, in two metrics each; the others come after it
SUMMARY = 12  # answers of a table on the first page; all of more come after it
PLANE = (4.6, 4.0)  # inches of a front: its letters can be read on a telephone
TIME_SERIES = (4.6, 4.2)  # the same of what is drawn over time


def report(
    study: Study,
    clock: Callable[[], datetime] = now,
    *,
    weights: Mapping[str, float] | None = None,
    reference: Mapping[str, float] | None = None,
) -> str:
    """Return the report as HTML that needs nothing else; only the time of writing varies.

    Parameters
    ----------
    study : Study
    clock : callable
        Gives the time of writing.
    weights, reference : mapping by objective, optional
        Adds the options in the order of this preference, see `psips.session.preference`.
    """
    found = study.replayed()
    state, known = study.state, study.status()
    events = study.events()
    at = stamp(clock())
    parts = [
        f"<h1>{escape(study.name)}</h1>",
        f'<p class="small">Report written {in_utc(at)} by psips {build_version()}.</p>',
        _answer(state, known),
        _held(study),
        front_of(study, known, FIRST),
        _verdicts(state, known, SUMMARY),
        chosen(state, weights, reference),
        '<div class="appendix">',
        _others(study, known),
        _promise(state),
        _tolerance(study, known),
        pairs(study),
        design_of(state),
        _measured(state, known, at),
        _noise(state.problem, known),
        _assumptions(study.diagnosis(), known.few_items),
        changes(state, events),
        log(found, state),
        _over_time(study),
        features(state.problem),
        "</div>",
    ]
    return page(f"{study.name}: report", parts)


def _answer(state: State, known: Status) -> str:
    found = ", ".join(f"<strong>{escape(name)}</strong>" for name in known.candidate_set)
    if known.nothing:
        found = f"<strong>{escape(known.nothing)}</strong>"
    count = f"{known.results:,} result{'' if known.results == 1 else 's'}"
    closed = " The study is closed." if state.closed else ""
    if known.stopped:
        rejected = known.fit is not None and known.fit.rejected
        caveat = "" if known.fit is None else escape(known.fit.caveat)
        text = f"Stopped after {count} ({short_promise(state.rules)}). "
        if known.goal:
            text += (
                f"Goal, {escape(known.goal)}: <strong>{escape(known.claim)}</strong>{caveat}. "
            )
            text += f"Nothing is claimed about the others; candidates: {found}."
        elif known.tolerated is not None:
            text += f"Pareto-optimal within the tolerance: {found}{caveat}."
        else:
            text += f"Pareto-optimal: {found}{caveat}."
        return f'<p class="answer{" warning" if rejected else ""}">{text}{closed}</p>'
    state_now = "Closed" if state.closed else "Open"
    if not found:
        why = "not every option has been measured"
        if not state.problem.unstructured:
            why = "the options measured do not span the features yet"
        text = f"{state_now} after {count}: {why}, so there is no candidate."
    else:
        text = (
            f"{state_now} after {count}: <strong>nothing is claimed yet</strong>. Candidate "
            f"set, which may change: {found}. Probability of another set, given the data: "
            f"{known.probability_of_change:.2g}{_remaining(known)}."
        )
        if known.outlook is not None:
            text += f"</p><p>{escape(str(known.outlook))}"
    return f'<p class="answer warning">{text}</p>'


def _tolerance(study: Study, known: Status) -> str:
    """Say what a tolerance allows, or what one would have saved."""
    if known.tolerated is not None:
        text = str(known.tolerated)
        return f"<p>{escape(text[0].upper() + text[1:])}.</p>"
    saved = earlier(study.savings())
    if not saved:
        return ""
    return (
        "<p>A tolerance would have stopped this earlier, if differences up to it do not "
        f"matter: {escape(saved)}.</p>"
    )


def _held(study: Study) -> str:
    """Say which results do not count, because the noise cannot explain them."""
    if not study.held:
        return ""
    rows = [
        [result.number, result.arm, ", ".join(map(in_words, result.values)), result.told]
        for result in study.held
    ]
    return (
        f'<div class="answer warning"><p>{len(rows)} result{"" if len(rows) == 1 else "s"} '
        "beyond what the noise allows: held, and not counted, until someone confirms or "
        f"corrects them.</p>\n{table(['result', 'arm', 'values', 'told'], rows)}</div>"
    )


def _remaining(known: Status) -> str:
    parts = ["" if known.progress is None else str(known.progress), known.hardest]
    return "".join(f"; {escape(part)}" for part in parts if part)


def _promise(state: State) -> str:
    rules, problem = state.rules, state.problem
    within_limits = ""
    if problem.limits:
        within_limits = f", of those that keep the limits: {'; '.join(problem.limit_texts)}"
    return (
        "<h2>What is promised</h2>\n"
        f"<p>An {_noun(problem)} is Pareto-optimal if no other is at least as good in every "
        f"metric and better in one{escape(within_limits)}. The stopping rule promises: "
        f"{escape(promise(rules, problem))} Proofs (below) hold whichever rule stops the "
        f"study: with probability at least {1 - rules.delta:g} none of them is ever wrong, "
        f"whatever the truth is{within(problem)}.</p>"
    )


def _noise(problem: Problem, known: Status) -> str:
    """Say what the noise was estimated to be, and how sure that is."""
    if known.noise is None:
        return ""
    pairs = [c for c in known.noise.columns if c.startswith("correlation of ")]
    rows = []
    for arm, row in known.noise.iterrows():
        cells = [spread(row, o) for o in problem.objectives]
        cells += ["" if np.isnan(row[c]) else fixed(row[c], 2) for c in pairs]
        rows.append([arm, *cells])
    head = ["option", *(f"sd of {o} (95%)" for o in problem.objectives), *pairs]
    missing = f"<p>{escape(known.not_known)}.</p>" if known.not_known else ""
    missing += f"<p>{escape(known.exact)}.</p>" if known.exact else ""
    middle = "mean of its option" if known.fit is None else "linear fit"
    return (
        "<h2>The estimated noise</h2>\n<p>Standard deviations of one measurement, around the "
        f"{middle}; the intervals hold if the noise is normal.</p>\n"
        f"{missing}{table(head, rows, right=1)}"
    )


def _measured(state: State, known: Status, at: str) -> str:
    problem, ledger = state.problem, state.ledger
    tickets = Counter(ticket.state(at) for ticket in ledger.tickets)
    withdrawn = sum(result.withdrawn for result in ledger.results)
    held = sum(result.held and not result.withdrawn for result in ledger.results)
    corrected = sum(result.corrected > 0 for result in ledger.results)
    text = f"{len(ledger.results):,} results were recorded; {known.results:,} of them count. "
    if known.budget_text and known.outlook is None:
        text += f"{known.budget_text[0].upper()}{known.budget_text[1:]}. "
    text += f"Withdrawn: {withdrawn:,}; corrected: {corrected:,}; held: {held:,}. "
    if ledger.tickets:
        counts = ", ".join(
            f"{tickets[kind]:,} {kind}" for kind in ("told", "open", "expired", "cancelled")
        )
        text += f"Of {len(ledger.tickets):,} measurements asked for: {counts}. "
    if ledger.results:
        first, last = ledger.results[0].told, ledger.results[-1].told
        text += f"First result {in_utc(first)}, last {in_utc(last)}."
    head = ["option", "results", "pending", *problem.labels]
    rows = []
    for arm, row in known.arms.iterrows():
        none = "no estimate yet" if row["pulls"] else "not measured"
        cells = [estimate(row[f"{o} estimate"], row[f"{o} se"], none) for o in problem.labels]
        rows.append([arm, f"{row['pulls']:,.0f}", f"{row['pending']:,.0f}", *cells])
    return (
        f"<h2>What was measured</h2>\n<p>{text}</p>\n{table(head, rows, right=1)}"
        '<p class="small">Estimates of the means ± standard errors; pending: asked for, not '
        "recorded yet.</p>"
    )


def _assumptions(found: Diagnosis, few_items: str) -> str:
    """Say whether the results satisfy the assumptions of every promise."""
    text = f"Assumptions: {found.assumed}. " if found.assumed else ""
    text += found.scatter_text
    if found.fit is not None and not found.fit.rejected:
        fit = str(found.fit)
        text += f" {fit[0].upper()}{fit[1:]}."
    if found.untested:
        text += f" Not tested: {'; '.join(found.untested)}."
    if found.deviations:
        verdict = '<p class="answer warning">The results violate the assumptions, so '
        verdict += "the promise may not hold: see below.</p>"
    else:
        verdict = "<p>No violations found.</p>" if found.scatter and not few_items else ""
    if few_items:
        verdict += f'<p class="answer warning">{escape(few_items)}.</p>'
    rows = [
        [one.kind, f"{one.what[0].upper()}{one.what[1:]}.", one.chance, f"{one.advice}."]
        for one in found.findings
    ]
    head = ["finding", "what", "how sure", "what to do"]
    level = (
        '<p class="small">p: how often results that satisfy the assumptions would show '
        "something as extreme of this kind. Findings are reported if that happens by chance "
        f"in at most {found.level:g} of such studies, at every look.</p>"
    )
    return (
        "<h2>Do the results satisfy the assumptions?</h2>\n"
        f"<p>{escape(text)}</p>\n{verdict}" + (f"{table(head, rows)}{level}" if rows else "")
    )


def _noun(problem: Problem) -> str:
    """Return what the Pareto set is of."""
    return "answer" if problem.transductive else "option"


def front_of(source: Session | Study, known: Status, most: int | None = None) -> str:
    """Return the section with the front of a session or study, by its status.

    With ``most`` at most so many pairs of metrics.
    """
    if not known.candidate_set:
        return ""
    problem = source.problem
    noun = _noun(problem)
    region = "interval" if problem.d == 1 else "ellipse"
    of_set = "set declared at the stop" if known.stopped and not known.goal else "candidate set"
    caption = (
        f"Estimated means. The {region} of an {noun} holds its true mean with posterior "
        f"probability 95%. The {of_set} is filled; {noun}s proven to be Pareto-optimal "
        "are diamonds, those proven not to be are grey crosses."
    )
    if problem.d == 2:
        caption += f" Everything behind the line is dominated by the {of_set}."
    elif problem.d > 2:
        caption += (
            f" The broken line is the front in the two metrics drawn: an {noun} behind it "
            "may be optimal for its other metrics."
        )
    drawn = []
    planes: list[Any] = list(combinations(problem.objectives, 2)) or [None]
    for pair in planes[:most]:
        drawn.append(_plane(source, known, pair))
    return f"<h2>The front</h2>\n{figures(drawn, caption, legend(used_marks(known)))}"


def _plane(source: Session | Study, known: Status, pair: Any) -> Any:
    """Draw the front in two metrics."""
    ax = plots.detached((PLANE[0], front_height(source.problem, PLANE[1])))
    return plots.front(source, ax, pair, legend=False, status=known).figure


def _others(study: Study, known: Status) -> str:
    """Return what the first page leaves out: the front in other metrics, more answers."""
    text = ""
    rest = list(combinations(study.problem.objectives, 2))[FIRST:]
    if known.candidate_set and rest:
        drawn = [_plane(study, known, pair) for pair in rest]
        caption = "As on the first page, in the other pairs of metrics."
        text += f"<h2>The front in other metrics</h2>\n{figures(drawn, caption)}"
    if len(known.answers) > SUMMARY:
        text += _verdicts(study.state, known)
    return text


def _verdicts(state: State, known: Status, most: int | None = None) -> str:
    """Return what is found and proven of the answers; of many the first, candidates above."""
    proven = kind_of_promise(state.rules) == PROVEN
    noun = _noun(state.problem)
    head = [noun, "finding", "probability of being optimal", "proof", "reason"]
    rows = []
    order = known.answers.sort_values("candidate", ascending=False, kind="stable")
    for answer, row in order.head(most or len(order)).iterrows():
        name = f"{answer} (also {row['also']})" if row["also"] else answer
        words = verdict_words(known, proven, row["candidate"], row["verdict"])
        rows.append(
            [name, words.finding, percent(row["probability"]), words.proof, row["reason"]]
        )
    finding = (
        f"Finding: what the stopping rule concludes ({short_promise(state.rules)})."
        if known.stopped
        else "Candidates are the Pareto set of the estimates; nothing is concluded yet."
    )
    whole = most is None or len(order) <= most
    title = f"{noun.capitalize()}s" if whole else f"The first {most} {noun}s"
    return (
        f"<h2>{title}</h2>\n<p>{finding} Proof: what is proven about each {noun} by itself; "
        f"{escape(verdicts_promise(state.rules, state.problem))}.</p>\n"
        f"{table(head, rows)}"
    )


def _over_time(study: Study) -> str:
    state = study.state
    if not any(result.counts for result in state.ledger.results):
        return ""
    pulls = plots.pulls(study, plots.detached(TIME_SERIES))
    evidence = plots.evidence(study, plots.detached(TIME_SERIES))
    return (
        "<h2>Over time</h2>\n"
        + figures([pulls.figure], "Measurements of each option, as they count now.")
        + figures([evidence.figure], evidence_caption(state.rules))
    )
