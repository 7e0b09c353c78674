"""The calibration on file: rows as CSV, and the tables of the documentation."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from psips.errors import InputError, unknown
from psips.rules import Rules
from psips.simulation.calibration import BROKEN, NAMES, RULES, Cell, Row, Rule, together

ORDER = [rule.name for rule in (*RULES, BROKEN)]
DEFAULT = Rule(Rules().stopping, Rules().calibration, Rules().kappa).name


def read(path: Path) -> list[Row]:
    """Return the rows of a CSV file written before."""
    try:
        text = path.read_bytes().decode()
        lines = csv.reader(io.StringIO(text, newline=""))
        table = [(lines.line_num, line) for line in lines if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read the calibration {str(path)!r}: {error}") from None
    names = [field.name for field in fields(Row)]
    if len(table) < 2 or table[0][1] != names:
        raise InputError(
            f"{str(path)!r} is not a calibration: expected the columns {', '.join(names)}; "
            f"name another file, or remove it"
        )
    rows = []
    for number, line in table[1:]:
        try:
            rows.append(_read_row(line))
        except InputError as error:
            raise InputError(f"{str(path)!r}, line {number}: {error}") from None
    if not text.endswith("\n"):
        raise InputError(
            f"{str(path)!r}, line {table[-1][0]}: expected an end of line, got the end of the "
            f"file, so the line is cut short; remove it to have it measured again"
        )
    return rows


def _read_row(line: Sequence[str]) -> Row:
    if len(line) != len(fields(Row)):
        raise InputError(
            f"expected {len(fields(Row))} values, got {len(line)}; remove the line to have it "
            f"measured again"
        )
    kinds: dict[str, type] = {"str": str, "int": int, "float": float}
    values = {}
    for field, value in zip(fields(Row), line, strict=True):
        try:
            values[field.name] = kinds[str(field.type)](value)
        except ValueError:
            raise InputError(
                f"{field.name}: expected {field.type}, got {value!r}; remove the line to "
                f"have it measured again"
            ) from None
    row = Row(**values)
    if row.rule not in ORDER:
        raise unknown("rule", row.rule, ORDER)
    if row.family not in NAMES:
        raise unknown("family", row.family, NAMES)
    if not (0.0 < row.delta < 1.0 and 0 <= row.errors <= row.stopped <= row.runs > 0):
        raise InputError(
            f"these cannot be counts of runs: {row.errors} errors, {row.stopped} stopped of "
            f"{row.runs} runs, delta {row.delta:g}; remove the line to have it measured again"
        )
    return row


def write(rows: Sequence[Row], path: Path) -> None:
    """Write the rows to a CSV file and the tables of the documentation beside it."""
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, [field.name for field in fields(Row)])
    table.writeheader()
    table.writerows(row.to_dict() for row in rows)
    _replace(path, text.getvalue())
    _replace(path.with_suffix(".md"), markdown(rows))


def _replace(path: Path, text: str) -> None:
    """Write a file so that at any time it is whole, the old one or the new one."""
    beside = path.with_name(f"{path.name}.part")
    beside.write_text(text, encoding="utf-8", newline="")
    os.replace(beside, path)


def kept(rows: Sequence[Row], runs: int, cap: int) -> list[Cell]:
    """Return what is on file with more runs, or with as many and the same cap."""
    return [row.key for row in rows if row.runs > runs or (row.runs, row.cap) == (runs, cap)]


def merged(rows: Sequence[Row], new: Row) -> list[Row]:
    """Return the rows with ``new`` among them, in the order of rules, deltas and families."""
    every = [row for row in rows if row.key != new.key] + [new]
    return sorted(
        every, key=lambda row: (ORDER.index(row.rule), -row.delta, NAMES.index(row.family))
    )


def _listed(rules: Sequence[str]) -> list[str]:
    return [f"* `{rule}`" for rule in rules] or ["* none"]


def markdown(rows: Sequence[Row]) -> str:
    """Write the rows as the tables of docs/calibration.md."""
    labels: dict[str, set[str]] = {}
    for row in rows:
        labels.setdefault(row.rule, set()).add(row.label)
    half = [rule for rule, found in labels.items() if found <= {"half"}]
    holds = [rule for rule, found in labels.items() if found <= {"half", "holds"}]
    above = [rule for rule, found in labels.items() if "above delta" in found]
    chosen = f"`{DEFAULT}` is the default, because of the first of these lists."
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
        "the others promise nothing beyond this table.",
        *([chosen] if DEFAULT in half else []),
        "No table can replace a proof: means below the lower bound, which holds for every rule",
        "that errs at most delta everywhere, say that there are ties so close that the rule",
        "errs more often there.",
        "",
        "Upper end of the interval at most delta / 2 in every family, at every delta here:",
        "",
        *_listed(half),
        "",
        "At most delta in every family:",
        "",
        *_listed(holds),
        "",
        "Whole interval above delta in some family:",
        "",
        *_listed(above),
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
