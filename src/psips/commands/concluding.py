"""From what was measured to what is said of it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from psips.aliases import Floats
from psips.commands.evidence import Claim, claims_of, errors_of_leads, ratio_text
from psips.commands.found import BEATEN, FRONT, OPEN, OUT, Estimate, Found, Row, sentence
from psips.commands.labels import Labels, labels_of
from psips.commands.measuring import Measuring
from psips.commands.metrics import Metric
from psips.commands.noise import noise_notes
from psips.errors import counted
from psips.laws import students_quantile

if TYPE_CHECKING:
    from psips.commands.rounds import Measurements
    from psips.session.status import Status

BEATEN_BY, AS_GOOD_AS = "beaten by", "as good as"
WITHIN = " (tolerance)"  # by an option that is worse in an exact metric, by less
SURE = 0.95  # a probability from which an option is called neither in nor out


def found_by(measuring: Measuring) -> Found:
    """Return the result of a comparison, also of one that was interrupted."""
    known = measuring.known
    commands = {option.name: option.command for option in measuring.options}
    metrics = list(measuring.metrics)
    ended = "interrupted" if measuring.interrupted else "time limit"
    confidence = 1.0 - measuring.question.delta
    gone = [
        Row(one.option, commands[one.option], OUT, 0, {}, math.nan, one.why)
        for one in measuring.out
    ]
    labels = labels_of(list(commands))
    if known is None:
        rows = [
            Row(name, command, OPEN, 0, {}, math.nan)
            for name, command in commands.items()
            if not any(row.name == name for row in gone)
        ]
        return Found(
            *(False, None, (), rows + gone, metrics, confidence, "", "", 0, 0),
            *(measuring.seconds, None, ended, "", [], measuring.out, measuring.seed),
            labels=labels,
        )
    session = known.judged
    status = session.status() if session.results else None
    stopped = measuring.passed is not None
    members = session.candidate_set if known.stopped else measuring.passed
    members = session.candidate_set if members is None else members
    claims = claims_of(session)
    undecided = _undecided(claims, status, stopped)
    rows = _rows(known, metrics, commands, status, members, undecided, labels)
    progress = None if status is None or stopped else status.progress
    new = len(known.samples) - measuring.before
    return Found(
        stopped=stopped,
        pareto_set=members if stopped else None,
        candidate_set=members,
        rows=_with_ratios(_in_order(rows, metrics), metrics, known) + gone,
        metrics=metrics,
        confidence=confidence,
        promise="" if status is None else status.promise,
        tolerance=str(known.problem.tolerance),
        runs=new,
        rounds=len({one.round for one in known.samples[measuring.before :]}),
        seconds=measuring.seconds,
        more_runs=None if progress is None else (progress.low, progress.more, progress.high),
        ended="known" if stopped else ended,
        open_text=_open_text(rows, claims, known, labels),
        notes=_notes(measuring, known, status, metrics, labels),
        out=measuring.out,
        seed=measuring.seed,
        study=measuring.study[0] if measuring.study else "",
        before=measuring.before,
        samples=[
            {
                "option": one.option,
                "round": one.round,
                **dict(zip([m.name for m in metrics], one.values, strict=True)),
            }
            for one in known.samples
        ],
        labels=labels,
    )


def _undecided(claims: list[Claim], status: Status | None, stopped: bool) -> set[str] | None:
    """Return the options on which there is less evidence than a stop takes; None if unknown."""
    if stopped:
        return set()
    threshold = None if status is None else status.evidence.get("threshold")
    if not claims or threshold is None:
        return None
    return {one.option for one in claims if one.evidence < threshold}


def _rows(
    known: Measurements,
    metrics: list[Metric],
    commands: dict[str, str],
    status: Status | None,
    members: tuple[str, ...],
    undecided: set[str] | None,
    labels: Labels,
) -> list[Row]:
    problem = known.problem
    counts = Counter(one.option for one in known.samples)
    rows = []
    for place, arm in enumerate(problem.arms):
        own = np.array([one.values for one in known.samples if one.option == arm])
        estimates = {}
        for c, metric in enumerate(metrics):
            mean, se = math.nan, math.nan
            if status is not None:
                label = problem.labels[c]
                mean = float(status.arm_columns[f"{label} estimate"][place])
                se = float(status.arm_columns[f"{label} se"][place])
            elif len(own):
                mean = float(np.mean(np.log(own[:, c]) if metric.log else own[:, c]))
            by = se * float(students_quantile(max(counts[arm] - 1, 1), known.delta / 2.0))
            ends = [mean, mean - by, mean + by]
            turned = [math.exp(x) if metric.log else x for x in ends]
            if metric.exact and len(own):
                turned = [float(own[0, c])] * 3
            estimates[metric.name] = Estimate(*turned)
        chance = math.nan
        if status is not None:
            chance = float(status.answer_columns["probability"][place])
        role = FRONT if arm in members else BEATEN
        unsure = math.isnan(chance) or 1.0 - SURE < chance < SURE
        if arm in undecided if undecided is not None else unsure:
            role = OPEN
        rows.append(Row(arm, commands[arm], role, counts[arm], estimates, chance))
    epsilon = problem.tolerance.amounts
    return [_with_note(row, rows, metrics, epsilon, labels) for row in rows]


def _with_note(
    row: Row, rows: list[Row], metrics: list[Metric], epsilon: Floats, labels: Labels
) -> Row:
    """Say what beats an option, or which member matches it."""
    if row.role != BEATEN or any(one.value != one.value for one in row.estimates.values()):
        return row
    by = rival_of(row, [one for one in rows if one.role == FRONT], metrics)
    if by is None:
        return row
    ahead = [lead(by, row, metric) for metric in metrics]
    aims = [c for c, metric in enumerate(metrics) if metric.direction != "limit"]
    beaten = any(ahead[c] > epsilon[c] for c in aims)
    behind = any(ahead[c] < 0.0 and metrics[c].exact for c in aims)
    within = WITHIN if beaten and behind else ""
    start = BEATEN_BY if beaten else AS_GOOD_AS
    return replace(row, note=f"{start} {labels[by.name]}{within}")


def lead(one: Row, other: Row, metric: Metric) -> float:
    """How much better an option is than another in a metric, as it is compared."""
    a, b = one.estimates[metric.name].value, other.estimates[metric.name].value
    if metric.log:
        a, b = math.log(a), math.log(b)
    return a - b if metric.direction == "max" else b - a


def rival_of(row: Row, others: list[Row], metrics: list[Metric]) -> Row | None:
    """Return the option that comes closest to beating another in every metric."""
    aims = [metric for metric in metrics if metric.direction != "limit"]
    rest = [one for one in others if one.name != row.name]
    return max(rest, key=lambda x: min(lead(x, row, m) for m in aims), default=None)


def _in_order(rows: list[Row], metrics: list[Metric]) -> list[Row]:
    """Return options by their first metric, the best first."""
    first = next(metric for metric in metrics if metric.direction != "limit")
    turn = -1.0 if first.direction == "max" else 1.0

    def key(row: Row) -> float:
        value = row.estimates[first.name].value
        return math.inf if math.isnan(value) else turn * value

    return sorted(rows, key=key)


def _with_ratios(rows: list[Row], metrics: list[Metric], known: Measurements) -> list[Row]:
    """Compare every option with the best in the first metric, within rounds."""
    first = next(metric for metric in metrics if metric.direction != "limit")
    names = list(known.judged.noisy.objectives)
    if not first.log or len(rows) < 2:
        return rows
    errors = np.zeros((len(rows),))
    if first.name in names:
        arms = [known.problem.arm_index(row.name) for row in rows]
        errors = errors_of_leads(known.judged, arms[0], names.index(first.name))[arms]
    found = []
    for row, error in zip(rows, errors.tolist(), strict=True):
        worse = -lead(row, rows[0], first)
        free = max(min(row.runs, rows[0].runs) - 1, 1)
        by = error * float(students_quantile(free, known.delta / 2.0))
        ends = (math.exp(worse), math.exp(worse - by), math.exp(worse + by))
        found.append(replace(row, ratio=Estimate(*ends)))
    return found


def _open_text(
    rows: list[Row], claims: list[Claim], known: Measurements, labels: Labels
) -> str:
    """Name what is undecided, and between whom."""
    undecided = [row for row in rows if row.role == OPEN]
    if not undecided:
        return ""
    few = [row for row in undecided if math.isnan(row.probability)]
    if few:
        return f"{counted(len(few), 'option')} had too few runs to be judged."
    text = f"Undecided: {sentence([row.name for row in undecided], labels)}."
    names = [row.name for row in undecided]
    hardest = min(
        (one for one in claims if one.option in names),
        key=lambda one: one.evidence,
        default=None,
    )
    if hardest is None:
        return text
    pair = f"{labels[hardest.option]} and {labels[hardest.rival]}"
    ratios = ratio_text(known.judged, hardest.option, hardest.rival, 1.0 - known.delta)
    return f"{text} Hardest to tell apart: {pair} ({'; '.join(ratios)})."


def _notes(
    measuring: Measuring,
    known: Measurements,
    status: Status | None,
    metrics: list[Metric],
    labels: Labels,
) -> list[str]:
    notes = []
    if known.judged.exact.repeating and status is not None:
        notes.append(f"{status.exact[0].upper()}{status.exact[1:]}.")
    if status is not None and status.tolerated is not None and known.stopped:
        pairs = status.tolerated.replaceable
        if pairs:
            said = []
            for x in dict.fromkeys(pairs.values()):
                matched = [z for z, by in pairs.items() if by == x]
                it = "it" if len(matched) == 1 else "them"
                said.append(f"{sentence(matched, labels)} ({labels[x]} seems to match {it})")
            notes.append(f"Within the tolerance you may not need {', '.join(said)}.")
    notes += noise_notes(known, metrics, labels)
    if not known.problem.has_items:
        notes.append(
            "With a limit on a metric that has noise, runs are compared without their rounds, "
            "so drift of the machine does not cancel, and it takes more runs."
        )
    left = measuring.runner.left_running
    if left:
        notes.append(f"{counted(left, 'run')} left processes behind, which were ended.")
    return notes
