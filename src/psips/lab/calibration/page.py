"""The calibration for people: what is measured of each rule, and a table for each group."""

from __future__ import annotations

from collections.abc import Sequence

from psips.lab.calibration.families import GROUPS, families
from psips.lab.calibration.measuring import (
    DEFAULT,
    NO_BOUND,
    Judgement,
    Row,
    judge,
    tells,
    together,
)

WORST = 3  # cells listed for each rule

TITLE = "# Measured calibration"
INTRODUCTION = """\
How often each stopping rule errs compared with its delta, with the default sampling, on
families of instances that were chosen to be hard for one rule or another. Written by
`psips lab calibrate`; all figures are in the .csv file next to this page. An error is a run
that stopped with a wrong set before the cap; intervals are Clopper-Pearson's, 95%, of its
chance. A cell is named so that it can be run again: `worse d=6 gap=0.3` is
`psips simulate worse --d 6 --gap 0.3`, and a goal or a budget is an option of that too;
differences are in standard deviations of one measurement.

A rule is called *measured* if the upper end of the interval is at most delta in every cell with
enough runs to tell, that is, where no error at all would give such an upper end and at least
half of the runs stop (or a cap is set at which hardly any can be expected to). It is called
*broken* if the whole interval lies above delta in some cell, and *not settled* otherwise.
No table can replace a proof: `posterior proven`, `glr proven`, `certified` and `predicted` have
one, for Gaussian noise of the covariance given, and `certified` for unknown Gaussian
noise, and for binary results; `bayes` promises a posterior probability, not an error rate; the
others promise nothing beyond this page.

The tables below give errors of runs, in brackets how many runs did not stop, and mean samples:
**bold** if the whole interval lies above delta, with a ? if it reaches above it in a cell that
can tell. The lower bound is T* kl(delta, 1 - delta), a mean over instances, which holds for
every rule whose error rate is at most delta everywhere: means below it betray another."""


def markdown(rows: Sequence[Row]) -> str:
    """Write the rows as the page docs/calibration.md."""
    found = judge(rows)
    groups = {families()[row.family].group for row in rows}
    parts = [f"{TITLE}: {groups.pop()}" if len(groups) == 1 else TITLE, INTRODUCTION]
    if any(one.rule == DEFAULT for one in found):
        parts.append(f"`{DEFAULT}` is the default.")
    parts += ["## The rules", _rules(found), "## All families together", _sums(rows)]
    every = families()
    for group, about in GROUPS.items():
        part = [row for row in rows if every[row.family].group == group]
        if part:
            parts += [f"## {group[0].upper()}{group[1:]}", about, _cells(part)]
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


def _sums(rows: Sequence[Row]) -> str:
    lines = [
        "| rule | delta | runs | stopped | errors | interval | samples | lower bound |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.rule} | {row.delta:g} | {row.runs:,} | {row.stopped:,} | {row.errors:,} "
        f"| {row.low:.4f} to {row.high:.4f} | {row.mean_samples:,.0f} "
        f"| {_bound(row)} |"
        for row in together(rows)
    ]
    return "\n".join(lines)


def _cells(rows: Sequence[Row]) -> str:
    """One line for each family and delta, and for all families of the group together."""
    rules = list(dict.fromkeys(row.rule for row in rows))
    entries = {row.key: row for row in (*rows, *together(rows))}
    names = [*dict.fromkeys(row.family for row in rows), "all"]
    deltas = sorted({row.delta for row in rows}, reverse=True)
    lines = [
        f"| cell | delta | {' | '.join(rules)} | lower bound |",
        f"|---|---|{'---|' * len(rules)}---|",
    ]
    for name in names:
        for delta in deltas:
            found = {rule: entries.get((rule, delta, name)) for rule in rules}
            bounds = [_bound(row) for row in found.values() if row is not None]
            if bounds:
                shown = " | ".join(_entry(row) for row in found.values())
                lines.append(f"| {name} | {delta:g} | {shown} | {bounds[0]} |")
    return "\n".join(lines)


def _bound(row: Row) -> str:
    return "-" if row.lower_bound == NO_BOUND else f"{row.lower_bound:,.0f}"


def _entry(row: Row | None) -> str:
    if row is None:
        return ""
    rate = f"{row.errors:,}/{row.runs:,}"
    if row.low > row.delta:
        rate = f"**{rate}**"
    elif row.family != "all" and row.high > row.delta and tells(row):
        rate = f"{rate} ?"
    idle = f" ({row.runs - row.stopped:,} open)" if row.stopped < row.runs else ""
    return f"{rate}{idle}, {row.mean_samples:,.0f}"
