"""The result of a table, a study or a comparison as a comment on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psips.commands.drawing import draw, legend
from psips.commands.found import FRONT
from psips.commands.table import RATIO, cells_of, title_of, word
from psips.evaluation.differences import OPEN
from psips.evaluation.layout import errors_of
from psips.input.digits import chance, estimate
from psips.report.markdown import (
    alert,
    block,
    code,
    comment,
    escape,
    folded,
    listed,
    table,
)

if TYPE_CHECKING:
    from psips.commands.found import Found
    from psips.evaluation.differences import Comparison
    from psips.evaluation.matrix import Replay
    from psips.evaluation.summaries import Judged
    from psips.session.status import Status

HOW = (
    "an interval that does not reach 0 (or the tolerance) is a verdict; the intervals hold all "
    "at once, each at the confidence that Bonferroni's correction asks for",
    "the promise is of one look at items that stand for others like them",
)
ALERTS = {"worse": "CAUTION", "better and worse": "WARNING", "better": "TIP"}


def names(given: tuple[str, ...] | list[str], none: str = "none") -> str:
    """Write names of options in a row."""
    return ", ".join(map(code, given)) or escape(none)


def matrix_comment(found: Replay) -> str:
    """Return the result of a table that was replayed."""
    share = f"{found.cells:,} of {found.of:,} cells"
    if found.stopped:
        kind = "TIP"
        verdict = (
            f"**Pareto set: {names(found.pareto_set)}** "
            f"({escape(found.promise, False)}; {escape(share, False)} were enough)"
        )
    else:
        kind = "NOTE"
        verdict = (
            f"**Not certain yet.** Pareto set of these items: {names(found.pareto_set)}; of "
            f"all items like these with probability {escape(chance(found.probability), False)}"
        )
    head, rows = found.rows()
    errors = errors_of(found.session.problem)
    details = listed([errors, *found.sentences[1:], *found.notes])
    return comment(
        alert(kind, verdict), table(head, rows, last=1), folded("How this was found", details)
    )


def summary_comment(found: Judged) -> str:
    """Return what a table of means says; it claims nothing."""
    verdict = (
        f"**Nothing is claimed from means alone.** On the front by them: {names(found.front)}, "
        f"exactly these with probability {escape(chance(found.whole), False)}"
    )
    head, rows = found.rows()
    details = listed([*found.sentences[2:], *found.notes])
    return comment(
        alert("NOTE", verdict), table(head, rows), folded("How this was found", details)
    )


def run_comment(found: Found) -> str:
    """Return the results of commands that were measured; nothing is claimed before a stop."""
    labels = [found.labels[row.name] for row in found.rows if row.role == FRONT]
    how = escape(f"{found.what}; {found.summary}", False)
    if not found.stopped:
        ahead = [found.labels[name] for name in found.candidate_set]
        verdict = f"**Not known yet.** Ahead so far: {names(ahead)} ({how})"
    elif not found.pareto_set:
        verdict = f"**No option keeps the limits** ({how})"
    else:
        sure = f"{found.confidence:.0%} confidence"
        verdict = f"**Pareto set: {names(labels)}** ({sure} in {how})"
    outlook = "" if found.stopped else f"{escape(found.outlook)}\n"
    points = [f"± is half of the {found.confidence:.0%} interval of a mean"]
    points += [found.labels.left_out] if found.labels.left_out else []
    points += [found.tolerance_text] if found.tolerance else []
    points += [f"at the stop: {found.promise}"] if found.promise else []
    drawn = draw(found)
    front = block("\n".join([*drawn, "", legend(found)])) if drawn else ""
    return comment(
        alert("TIP" if found.stopped else "NOTE", verdict),
        table(*_run_rows(found), last=1),
        outlook,
        folded("How it was measured", f"{listed([*points, *found.notes])}\n{front}"),
    )


def _run_rows(found: Found) -> tuple[list[str], list[list[str]]]:
    """Return the table of options that were run."""
    titles = [title_of(metric, found.rows) for metric in found.metrics]
    ratios = any(row.ratio for row in found.rows)
    titles[1:1] = [RATIO] if ratios else []
    rows = []
    for cells in cells_of(found):
        values = [*cells.values]
        values[1:1] = [cells.ratio] if ratios else []
        place = cells.note or word(cells.row, found.stopped)
        rows.append([cells.label, *values, cells.runs, place])
    return ["option", *titles, "runs", "Pareto set"], rows


def comparison_comment(found: Comparison, base: str, new: str) -> str:
    """Return what changed; ``base`` and ``new`` say between what."""
    kind = ALERTS.get(found.verdict, "NOTE")
    said = "; ".join(map(escape, _short(found))) if found.verdict != OPEN else OPEN
    verdict = f"**{said[0].upper()}{said[1:]}** ({escape(found.promise, False)})"
    head, rows = found.rows()
    several = len(found.options) > 1
    if not several:
        head, rows = head[1:], [row[1:] for row in rows]
    details = listed([f"{new} compared with {base}", *HOW, *found.notes])
    joint = [[option, found.joint(option)] for option in found.options]
    return comment(
        alert(kind, verdict),
        table(head, rows, 2 if several else 1, last=1),
        table(["option", "all metrics together"], joint, 2)
        if several and found.verdict != OPEN
        else "",
        folded("How this was found", details),
    )


def _short(found: Comparison) -> list[str]:
    """Return the sentences of an alert: of several options, what is open is only counted."""
    if len(found.options) < 2:
        return found.sentences
    many = sum(one.verdict == OPEN for one in found.differences)
    known = [text for text in found.sentences if not text.startswith(OPEN)]
    return [*known, f"{many} of {len(found.differences)} {OPEN}"] if many else known


def study_comment(name: str, known: Status) -> str:
    """Return how a study stands; nothing is claimed before it has stopped."""
    count = f"{known.results:,} result{'' if known.results == 1 else 's'}"
    found = names(known.candidate_set, known.nothing or "none yet")
    if known.stopped and known.goal:
        verdict = f"**{escape(known.claim)}** (goal: {escape(known.goal)}; {count})"
    elif known.stopped:
        caveat = "" if known.fit is None else escape(known.fit.caveat)
        verdict = f"**Pareto set: {found}{caveat}** ({escape(known.promise, False)}; {count})"
    else:
        state = "Closed" if known.closed else "Open"
        verdict = (
            f"**{state} after {count}: nothing is claimed.** Candidates, which may change: "
            f"{found}"
        )
    objectives = [
        column.removesuffix(" estimate")
        for column in map(str, known.arms.columns)
        if column.endswith(" estimate")
    ]
    same = known.arm_names == known.answer_names and not known.goal
    place = ("yes" if known.stopped else "candidate", "")
    rows = [
        [
            str(arm),
            f"{int(row['pulls']):,}",
            *(estimate(row[f"{o} estimate"], row[f"{o} se"]) for o in objectives),
            *([place[arm not in known.candidate_set]] if same else []),
        ]
        for arm, row in known.arms.iterrows()
    ]
    head = ["arm", "results", *objectives, *(["Pareto set"] if same else [])]
    return comment(
        alert("TIP" if known.stopped else "NOTE", f"{code(name)}: {verdict}"),
        table(head, rows, last=int(same)),
        folded("Status in full", block(str(known))),
    )
