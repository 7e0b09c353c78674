"""A report of a study: one HTML file that a committee can read, print and keep."""

from __future__ import annotations

import io
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from psips import __version__, plots
from psips.parameters import Ball
from psips.problem import Problem
from psips.rules import CALIBRATION, SAMPLING, STOPPING, Rules
from psips.study import Study
from psips.study.inputs import now, stamp
from psips.study.state import CORRECTED, WITHDRAWN, State

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from psips.status import Status
    from psips.store import Event

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
  max-width: 62rem; margin: 0 auto; padding: 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; margin: 2rem 0 0.5rem; border-bottom: 1px solid #bbb; }
.answer { border-left: 0.4rem solid #0072b2; background: #eef5fa; padding: 0.6rem 1rem; }
.warning { border-left-color: #d55e00; background: #fdf1e8; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.6rem 0; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.7rem 0.25rem 0;
  border-bottom: 1px solid #ddd; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td:first-child { min-width: 6rem; }
td:last-child:not(.n) { min-width: 14rem; }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
figcaption, .small { font-size: 0.9rem; color: #444; }
code { font-size: 0.85em; overflow-wrap: anywhere; }
@media print { body { font-size: 10pt; max-width: none; padding: 0; }
  .wide { overflow: visible; } table { font-size: 8pt; }
  figure, tr, .answer { break-inside: avoid; } h2 { break-after: avoid; } }
"""


def report(study: Study, clock: Callable[[], datetime] = now) -> str:
    """Return the report as HTML that needs nothing else; only the time of writing varies.

    Parameters
    ----------
    study : Study
    clock : callable
        Gives the time of writing.
    """
    state, known = study.state, study.status()
    events = study.events()
    at = stamp(clock())
    parts = [
        f"<h1>{escape(study.name)}</h1>",
        f'<p class="small">Report written {_time(at)} by psips {__version__}.</p>',
        _answer(state, known),
        _promise(state),
        _design(state),
        _measured(state, known, at),
        _front(study, known),
        _verdicts(known),
        _course(study),
        _changes(state, events),
        _log(study, state),
        _features(state.problem),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(study.name)}: report</title>\n<style>{STYLE}</style>\n"
        "</head>\n<body>\n" + "\n".join(part for part in parts if part) + "\n</body>\n</html>\n"
    )


def promise(rules: Rules, problem: Problem) -> str:
    """Say what stands behind delta with these rules in this problem.

    Examples
    --------
    >>> problem = Problem(objectives=["gain"], covariance=[1], arms=2)
    >>> promise(Rules(stopping="certified", delta=0.05), problem)
    'Proven: if the noise is Gaussian with the covariance registered, the set is wrong with ...
    """
    delta, name = f"{rules.delta:g}", rules.stopping
    if name == "never":
        return "None: the rule 'never' does not stop, so the study claims nothing of the set."
    if name == "bayes":
        return (
            "Bayesian: at the stop, the posterior probability of another set is at most "
            f"{delta}, by the prior registered, or a flat one. This bounds no rate of error."
        )
    if name in ("certified", "predicted") or rules.calibration == "proven":
        return (
            "Proven: if the noise is Gaussian with the covariance registered, the set is wrong "
            f"with probability at most {delta}, whatever the truth is{_within(problem)}."
        )
    if rules.calibration == "sharp":
        return (
            f"Measured, not proven: the thresholds aim at wrong sets with probability {delta}; "
            "that they keep to it was seen in simulations only."
        )
    return (
        f"Heuristic: the thresholds aim at wrong sets with probability at most {delta}. They "
        "erred less than that in simulations, but it is not proven."
    )


def _within(problem: Problem) -> str:
    """Say where the truth must lie for what is proven to hold."""
    return "" if problem.parameter_set is None else " within the parameter set registered"


def _answer(state: State, known: Status) -> str:
    found = ", ".join(f"<strong>{escape(name)}</strong>" for name in known.candidate_set)
    count = f"{known.results:,} result{'' if known.results == 1 else 's'}"
    closed = " The study is closed." if state.closed else ""
    if known.stopped:
        rejected = known.fit is not None and known.fit.rejected
        caveat = "" if known.fit is None else escape(known.fit.caveat)
        text = f"Stopped after {count}. Pareto-optimal: {found}{caveat}."
        return f'<p class="answer{" warning" if rejected else ""}">{text}{closed}</p>'
    if not found:
        why = "not every arm has been measured"
        if not state.problem.unstructured:
            why = "the arms measured do not span the features yet"
        text = f"Open after {count}: {why}, so there is no candidate."
    else:
        share = known.evidence["fraction"] or 0.0
        text = (
            f"Open after {count}: <strong>nothing is claimed yet</strong>. Candidate set, "
            f"which may change: {found}. Probability of another set, given the data: "
            f"{known.probability_of_change:.2g}; {share:.0%} of the way to the stop."
        )
    return f'<p class="answer warning">{text}{closed}</p>'


def _promise(state: State) -> str:
    rules, problem = state.rules, state.problem
    return (
        "<p>An answer is Pareto-optimal if no other is at least as good in every objective and "
        f"better in one. What the stopping rule promises: {escape(promise(rules, problem))} "
        "Verdicts (below) are proven whatever rule is used to stop: with probability at least "
        f"{1 - rules.delta:g} none of them is wrong at any time, whatever the truth is"
        f"{_within(problem)}.</p>"
    )


def _design(state: State) -> str:
    problem, rules = state.problem, state.rules
    sd = np.sqrt(np.diag(problem.covariance))
    correlation = problem.covariance / np.outer(sd, sd)
    head = ["objective", "better", "sd of one result"]
    rows: list[list[Any]] = [
        [name, "more" if way == "max" else "less", f"{sd[c]:.4g}"]
        for c, (name, way) in enumerate(
            zip(problem.objectives, problem.directions, strict=True)
        )
    ]
    if np.any(np.triu(correlation, 1)):
        head += [f"correlation with {name}" for name in problem.objectives]
        for row, line in zip(rows, correlation, strict=True):
            row += [f"{value:.3g}" for value in line]
    facts: list[list[Any]] = [
        ["registered", _time(state.created.at)],
        ["delta", f"{rules.delta:g}"],
        ["stopping rule", f"{rules.stopping}: {STOPPING[rules.stopping].about}"],
        ["sampling rule", f"{rules.sampling}: {SAMPLING[rules.sampling].about}"],
    ]
    if rules.stopping in ("posterior", "glr"):
        about = CALIBRATION[rules.calibration].about
        facts.append(["calibration", f"{rules.calibration}: {about}"])
    others = {k: getattr(rules, k) for k in ("draws", "tracking", "eta", "alpha", "kappa")}
    facts.append(["other settings", ", ".join(f"{k} {v}" for k, v in others.items())])
    theta = problem.parameter_set
    if theta is not None:
        kind = f"ball of radius {theta.radius}" if isinstance(theta, Ball) else repr(theta)
        facts.append(["parameter set", kind])
    if problem.prior is not None:
        worth = zip(problem.arms, problem.prior.means, problem.prior.pulls, strict=True)
        facts.append(
            ["prior", "; ".join(f"{a}: {m}, worth {n:g} results" for a, m, n in worth)]
        )
    if not problem.unstructured:
        facts.append(["model", f"linear in {problem.h} features (see the end)"])
        xi = problem.model.xi
        facts.append(["regularisation", f"{xi:.6g}" if xi else "none: least squares"])
    facts.append([f"{problem.K} arms", ", ".join(problem.arms)])
    if problem.transductive:
        facts.append([f"{problem.n} answers", ", ".join(problem.answers)])
    facts.append(["seed", str(state.seed)])
    return (
        "<h2>The design as registered</h2>\n"
        + _table(None, facts)
        + _table(head, rows, right=2)
    )


def _measured(state: State, known: Status, at: str) -> str:
    problem, ledger = state.problem, state.ledger
    tickets = Counter(ticket.state(at) for ticket in ledger.tickets)
    withdrawn = sum(result.withdrawn for result in ledger.results)
    corrected = sum(result.corrected > 0 for result in ledger.results)
    text = f"{len(ledger.results):,} results were told and {known.results:,} count. "
    text += f"Withdrawn: {withdrawn:,}; corrected: {corrected:,}. "
    if ledger.tickets:
        counts = ", ".join(
            f"{tickets[kind]:,} {kind}" for kind in ("told", "open", "expired", "cancelled")
        )
        text += f"Of {len(ledger.tickets):,} measurements asked for: {counts}. "
    if ledger.results:
        first, last = ledger.results[0].told, ledger.results[-1].told
        text += f"First result {_time(first)}, last {_time(last)}."
    head = ["arm", "results", "pending", *problem.objectives]
    rows = []
    for arm, row in known.arms.iterrows():
        none = "no estimate yet" if row["pulls"] else "not measured"
        cells = [
            _estimate(row[f"{o} estimate"], row[f"{o} se"], none) for o in problem.objectives
        ]
        rows.append([arm, f"{row['pulls']:,.0f}", f"{row['pending']:,.0f}", *cells])
    return (
        f"<h2>What was measured</h2>\n<p>{text}</p>\n{_table(head, rows, right=1)}"
        '<p class="small">Estimates of the means ± standard errors; pending: asked for, not '
        f"yet told.</p>{_fit(known)}"
    )


def _fit(known: Status) -> str:
    if known.fit is None:
        return ""
    text = str(known.fit)
    text = escape(text[0].upper() + text[1:])
    return f'<p class="answer warning">{text}.</p>' if known.fit.rejected else f"<p>{text}.</p>"


def _front(study: Study, known: Status) -> str:
    if not known.candidate_set:
        return ""
    drawn = plots.fronts(study, status=known)
    region = "interval" if study.problem.d == 1 else "ellipse"
    caption = (
        f"Estimated means. The {region} of an answer holds its true mean with posterior "
        "probability 0.95. The candidate set is filled; answers proven to be Pareto-optimal "
        "are diamonds, those proven not to be are grey crosses."
    )
    if study.problem.d == 2:
        caption += " What lies behind the line is dominated by the candidate set."
    return f"<h2>The front</h2>\n{_figure(drawn[0].figure, caption)}"


def _verdicts(known: Status) -> str:
    head = ["answer", "candidate", "probability of being optimal", "verdict", "reason"]
    rows = []
    for answer, row in known.answers.iterrows():
        name = f"{answer} (also {row['also']})" if row["also"] else answer
        chance = row["probability"]
        shown = (
            ""
            if np.isnan(chance)
            else f"{chance:.3f}"
            if 5e-4 < chance < 0.9995
            else f"{chance:.6g}"
        )
        rows.append(
            [name, "yes" if row["candidate"] else "", shown, row["verdict"], row["reason"]]
        )
    return (
        "<h2>Verdicts</h2>\n<p>In: proven Pareto-optimal. Out: proven not to be. Open: neither "
        f"is proven yet.</p>\n{_table(head, rows)}"
    )


def _course(study: Study) -> str:
    state = study.state
    if not any(not result.withdrawn for result in state.ledger.results):
        return ""
    pulls = plots.pulls(study)
    evidence = plots.evidence(study)
    return (
        "<h2>Over time</h2>\n"
        + _figure(pulls.figure, "Results of each arm, with the results as they count now.")
        + _figure(evidence.figure, _evidence_caption(state.rules))
    )


def _evidence_caption(rules: Rules) -> str:
    if rules.stopping == "glr":
        return (
            "Evidence: how much less likely the data are under the likeliest other Pareto set, "
            "as a logarithm. The rule stops when it is above the threshold."
        )
    if rules.stopping == "predicted":
        return (
            "Evidence: how much less likely the results since the set was predicted are under "
            "the nearest other Pareto set, as a logarithm. The rule stops once all others have "
            "been proven wrong, each a little above the level; 0 where there is no prediction, "
            "or another than the candidate set."
        )
    if rules.stopping == "certified":
        return "Answers proven in or out. The rule stops when all are."
    text = (
        "The probability, given the data at the time, that the Pareto set is another than the "
        "candidate set. "
    )
    if rules.stopping == "posterior":
        widened = "" if rules.calibration == "sharp" else ", widened for safety"
        return text + (
            f"The rule draws M times from the posterior{widened}, and stops when no draw has "
            "another Pareto set: the probability must be about 1/M or less, which is itself "
            "below delta."
        )
    if rules.stopping == "bayes":
        return text + "The rule stops at delta."
    if rules.stopping == "never":
        return text + "The rule never stops."
    return text + "The rule does not look at it: it stops by the confidence intervals of arms."


def _changes(state: State, events: Sequence[Event]) -> str:
    rows = []
    for event in events:
        data = event.payload
        reason = data.get("reason", "")
        if event.kind == CORRECTED:
            arm = state.ledger.result(data["result"]).arm
            old, new = (_values(data[key]) for key in ("instead_of", "values"))
            what = f"result {data['result']} ({arm}): {old} became {new}"
            rows.append([_time(event.at), "corrected", what, reason])
        elif event.kind == WITHDRAWN:
            for number in data["results"]:
                result = state.ledger.result(number)
                what = f"result {number} ({result.arm})"
                rows.append([_time(event.at), "withdrawn", what, reason])
            for ticket in data["tickets"]:
                rows.append([_time(event.at), "cancelled", f"ticket {ticket}", reason])
    if not rows:
        return "<h2>Corrections and withdrawals</h2>\n<p>None.</p>"
    head = ["when", "what", "which", "reason"]
    return f"<h2>Corrections and withdrawals</h2>\n{_table(head, rows)}"


def _log(study: Study, state: State) -> str:
    import numba

    found = study.verify()
    rows = [["events", f"{found.events:,}"], ["hash of the last event", found.head]]
    rows += [["problem", problem] for problem in found.problems]
    text = "The log of events was checked for this report: every hash fits, and it replays."
    if found.problems:
        text = "<strong>The log of events does not verify.</strong> What does not fit is below."
    created = ", ".join(f"{k} {v}" for k, v in state.created.payload["versions"].items())
    current = {
        "psips": __version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
    }
    rows.append(["versions at registration", created])
    rows.append(["versions of this report", ", ".join(f"{k} {v}" for k, v in current.items())])
    return f"<h2>The log, and versions</h2>\n<p>{text}</p>\n{_table(None, rows)}"


def _features(problem: Problem) -> str:
    if problem.features is None or problem.answer_features is None:
        return ""
    tables = [("Features of the arms", "arm", problem.arms, problem.features)]
    if problem.transductive:
        tables.append(
            ("Features of the answers", "answer", problem.answers, problem.answer_features)
        )
    text = ""
    for title, kind, names, array in tables:
        rows = [
            [name, *(f"{value:.6g}" for value in row)]
            for name, row in zip(names, array, strict=True)
        ]
        text += f"<h2>{title}</h2>\n{_table([kind, *problem.feature_names], rows, right=1)}"
    return text


def _table(
    head: Sequence[str] | None, rows: Iterable[Sequence[Any]], right: int | None = None
) -> str:
    """Write a table; the columns from ``right`` on hold numbers."""

    def line(cells: Sequence[Any], tag: str) -> str:
        text = ""
        for place, cell in enumerate(cells):
            number = ' class="n"' if right is not None and place >= right else ""
            text += f"<{tag}{number}>{escape(str(cell))}</{tag}>"
        return f"<tr>{text}</tr>\n"

    body = "".join(line(row, "td") for row in rows)
    top = "" if head is None else f"<thead>{line(head, 'th')}</thead>\n"
    return f'<div class="wide"><table>{top}<tbody>{body}</tbody></table></div>\n'


def _figure(figure: Any, caption: str) -> str:
    return f"<figure>{_svg(figure)}<figcaption>{escape(caption)}</figcaption></figure>\n"


def _svg(figure: Figure) -> str:
    """Return a figure as an SVG element that is the same each time."""
    from matplotlib import rc_context

    text = io.StringIO()
    with rc_context({"svg.hashsalt": "psips"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]


def _estimate(mean: float, se: float, none: str) -> str:
    if np.isnan(mean):
        return none
    digits = 3 if se == 0 else int(np.clip(1 - np.floor(np.log10(se)), 0, 8))
    return f"{mean:.{digits}f} ± {se:.{digits}f}"


def _values(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in values.items())


def _time(at: str) -> str:
    return f"{at[:10]} {at[11:19]} UTC"
