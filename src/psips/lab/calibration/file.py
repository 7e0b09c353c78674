"""The calibration on file: rows as CSV, with the page for people next to it."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from psips.errors import InputError, unknown
from psips.lab.calibration.families import families
from psips.lab.calibration.measuring import BROKEN, RULES, Cell, Row
from psips.lab.calibration.page import markdown

ORDER = [rule.name for rule in (*RULES, BROKEN)]


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
    if row.family not in families():
        raise unknown("family", row.family, list(families()))
    if not (0.0 < row.delta < 1.0 and 0 <= row.errors <= row.stopped <= row.runs > 0):
        raise InputError(
            f"these cannot be counts of runs: {row.errors} errors, {row.stopped} stopped of "
            f"{row.runs} runs, delta {row.delta:g}; remove the line to have it measured again"
        )
    return row


def write(rows: Sequence[Row], path: Path) -> None:
    """Write the rows to a CSV file and the tables of the documentation next to it."""
    sheet = io.StringIO(newline="")
    table = csv.DictWriter(sheet, [field.name for field in fields(Row)])
    table.writeheader()
    table.writerows(row.to_dict() for row in rows)
    _replace(path, sheet.getvalue())
    page = path.with_suffix(".md")
    title, text = markdown(rows, path.name).split("\n", 1)
    if page.exists():  # someone may have given it another title
        title = page.read_text(encoding="utf-8").split("\n", 1)[0]
    _replace(page, f"{title}\n{text}")


def _replace(path: Path, text: str) -> None:
    """Write a file so that at any time it is whole, the old one or the new one."""
    beside = path.with_name(f"{path.name}.part")
    beside.write_text(text, encoding="utf-8", newline="")
    os.replace(beside, path)


def kept(rows: Sequence[Row], runs: int, cap: int | None) -> list[Cell]:
    """Return what is on file with more runs, or with as many as asked for and the same cap."""
    every = families()
    asked = {
        row.family: (every[row.family].runs(runs), every[row.family].limit(cap)) for row in rows
    }
    return [
        row.key
        for row in rows
        if row.runs > asked[row.family][0] or (row.runs, row.cap) == asked[row.family]
    ]


def merged(rows: Sequence[Row], new: Row) -> list[Row]:
    """Return the rows with ``new`` among them, in the order of rules, deltas and families."""
    every = [row for row in rows if row.key != new.key] + [new]
    names = list(families())
    return sorted(
        every, key=lambda row: (ORDER.index(row.rule), -row.delta, names.index(row.family))
    )
