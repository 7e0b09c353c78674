"""A comparison of commands as CSV."""

from __future__ import annotations

import csv
import io

from psips.commands.found import Found
from psips.commands.table import WORDS
from psips.input.escaping import as_cell


def as_csv(found: Found) -> str:
    """Return a line for each option, in seconds and bytes."""
    head = ["option", "command", "Pareto set", "runs"]
    for metric in found.metrics:
        head += [metric.name, f"{metric.name} low", f"{metric.name} high"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([as_cell(cell) for cell in head])
    for row in found.rows:
        cells = [row.name, row.command, WORDS[row.role]]
        numbers: list[object] = [row.runs]
        for metric in found.metrics:
            one = row.estimates.get(metric.name)
            ends = (None,) * 3 if one is None else (one.value, one.low, one.high)
            numbers += [_number(end) for end in ends]
        writer.writerow([*(as_cell(cell) for cell in cells), *numbers])
    return text.getvalue()


def _number(value: float | None) -> object:
    return "" if value is None or value != value else float(f"{value:.12g}")
