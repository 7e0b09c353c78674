"""The calibration for people: what the cells say of each rule, and of each in a group."""

from __future__ import annotations

from collections.abc import Sequence

from psips.lab.calibration.families import GROUPS, families
from psips.lab.calibration.measuring import DEFAULT, Judgement, Row, judge

WORST = 3  # cells listed for each rule

TITLE = "# Calibration"
INTRODUCTION = """\
How often each stopping rule is wrong, compared with its delta, with the default sampling, on
families of instances that were chosen to be hard for one rule or another. Written by
`psips lab calibrate`; [every cell]({table}) is in a searchable table. An error is a run that
stopped with a wrong set before the cap; intervals of its probability are Clopper-Pearson's,
95%. The name of a cell says how to run it again: `worse d=6 gap=0.3` is
`psips simulate worse --d 6 --gap 0.3`; goals and budgets are options of that command too.
Differences are in standard deviations of one measurement.

A rule is *validated* by these simulations if the upper end of the interval is at most delta in
every cell with enough runs to tell, that is, where no error at all would give such an upper end
and at least half of the runs stop (or the cap is set where hardly any can be expected to). It
is *broken* if the whole interval lies above delta in some cell, and *not settled* otherwise.
No table can replace a proof. `posterior proven`, `glr proven`, `certified` and `predicted` are
proven for Gaussian noise of the covariance given, and `certified` also for unknown Gaussian
noise and for binary results. `bayes` promises a posterior probability, not an error rate; the
others promise nothing beyond this page."""


def markdown(rows: Sequence[Row], table: str = "calibration.csv") -> str:
    """Write what the rows amount to: by rule, and by rule and group of families.

    Parameters
    ----------
    rows : sequence of Row
    table : str
        Where all of them are.
    """
    found = judge(rows)
    parts = [TITLE, INTRODUCTION.format(table=table)]
    if any(one.rule == DEFAULT for one in found):
        parts.append(f"`{DEFAULT}` is the default.")
    parts += ["## The rules", _rules(found)]
    every = families()
    for group, about in GROUPS.items():
        part = [row for row in rows if every[row.family].group == group]
        if part:
            parts += [f"## {group[0].upper()}{group[1:]}", about, _group(part)]
    return "\n\n".join(parts) + "\n"


def _rules(found: Sequence[Judgement]) -> str:
    lines = ["| rule | | cells | can tell | worst cells |", "|---|---|---|---|---|"]
    for one in found:
        verdict = f"**{one.verdict}**"
        if one.against:
            verdict += f": {_cell(one.against[0])}" + _others(len(one.against) - 1)
        worst = "; ".join(map(_cell, one.worst[:WORST])) or "no error"
        lines.append(f"| {one.rule} | {verdict} | {one.cells} | {one.telling} | {worst} |")
    return "\n".join(lines)


def _others(count: int) -> str:
    return f" and {count} more" if count else ""


def _cell(row: Row) -> str:
    return (
        f"`{row.family}` at {row.delta:g}: {row.errors / row.runs:.1%} "
        f"({row.low:.1%} to {row.high:.1%})"
    )


def _group(rows: Sequence[Row]) -> str:
    """One line for each rule."""
    lines = ["| rule | cells | runs | errors | worst cell |", "|---|---|---|---|---|"]
    for one in judge(rows):
        mine = [row for row in rows if row.rule == one.rule]
        runs, errors = sum(row.runs for row in mine), sum(row.errors for row in mine)
        worst = _cell(one.worst[0]) if one.worst else ""
        lines.append(f"| {one.rule} | {one.cells} | {runs:,} | {errors:,} | {worst} |")
    return "\n".join(lines)
