"""The calibration on file: rows as CSV, and the tables of the documentation."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from psips.errors import InputError
from psips.simulation.calibration import BROKEN, NAMES, RULES, Row, together


def read(path: Path) -> list[Row]:
    """Return the rows of a CSV file written before."""
    with path.open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    names = [field.name for field in fields(Row)]
    if not table or list(table[0]) != names:
        raise InputError(
            f"{str(path)!r} is not a calibration: expected the columns {', '.join(names)}; "
            f"name another file, or remove it"
        )
    kinds: dict[str, type] = {"str": str, "int": int, "float": float}
    read_as = {field.name: kinds[str(field.type)] for field in fields(Row)}
    return [Row(**{name: read_as[name](row[name]) for name in names}) for row in table]


def write(rows: Sequence[Row], path: Path) -> None:
    """Write the rows to a CSV file and the tables of the documentation beside it."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, [field.name for field in fields(Row)])
        table.writeheader()
        table.writerows(row.to_dict() for row in rows)
    path.with_suffix(".md").write_text(markdown(rows), encoding="utf-8")


def merged(rows: Sequence[Row], new: Row) -> list[Row]:
    """Return the rows with ``new`` among them, in the order of rules, deltas and families."""
    rules = [rule.name for rule in (*RULES, BROKEN)]
    kept = [row for row in rows if row.key != new.key] + [new]
    return sorted(
        kept, key=lambda row: (rules.index(row.rule), -row.delta, NAMES.index(row.family))
    )


def _listed(rows: Sequence[Row], labels: set[str], whole: bool = True) -> list[str]:
    """Name the rules of which all rows (or not all) have one of the labels."""
    rules = dict.fromkeys(row.rule for row in rows)
    found = [
        rule
        for rule in rules
        if all(row.label in labels for row in rows if row.rule == rule and row.stopped) == whole
    ]
    return [f"* `{rule}`" for rule in found] or ["* none"]


def markdown(rows: Sequence[Row]) -> str:
    """Write the rows as the tables of docs/calibration.md."""
    lines = [
        "# Measured calibration",
        "",
        "Errors of each stopping rule beside its delta, with the default sampling.",
        "Written by `psips calibrate`. An error is a run that stopped with a wrong set; the",
        "interval is Clopper-Pearson's, 95%, among the runs that stopped. *above delta*: the",
        "whole interval lies above delta; *holds*: it ends at or below delta; *half*: at or",
        "below delta / 2. The lower bound is T* kl(delta, 1 - delta), a mean over instances.",
        "",
        "`posterior proven`, `glr proven` and `certified` carry a proof (for Gaussian noise of",
        "the covariance given); `bayes` promises a posterior probability, not an error rate;",
        "the others promise nothing beyond this table. `posterior sharp kappa=2` is the",
        "default, because of the first of these lists. No table can replace a proof: means",
        "below the lower bound, which holds for every rule that errs at most delta everywhere,",
        "say that there are ties so close that the rule errs more often there.",
        "",
        "Upper end of the interval at most delta / 2 in every family, at every delta here:",
        "",
        *_listed(rows, {"half"}),
        "",
        "At most delta in every family:",
        "",
        *_listed(rows, {"half", "holds"}),
        "",
        "Whole interval above delta in some family:",
        "",
        *_listed(rows, {"half", "holds", "unclear"}, whole=False),
    ]
    lines += _table("All families together", together(rows))
    for family in dict.fromkeys(row.family for row in rows):
        title = f"{family[0].upper()}{family[1:]}"
        lines += _table(title, [row for row in rows if row.family == family])
    return "\n".join(lines) + "\n"


def _table(title: str, rows: Sequence[Row]) -> list[str]:
    return [
        "",
        f"## {title}",
        "",
        "| rule | delta | runs | stopped | errors | interval | | samples | lower bound |",
        "|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {row.rule} | {row.delta:g} | {row.runs:,} | {row.stopped:,} | {row.errors} "
            f"| {row.low:.4f} to {row.high:.4f} | {row.label} | {row.mean_samples:,.0f} "
            f"| {row.lower_bound:,.0f} |"
            for row in rows
        ),
    ]
