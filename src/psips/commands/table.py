"""The table of options as texts, for a terminal, a page or a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from psips.commands.found import BEATEN, FRONT, OPEN, OUT, Estimate, Found, Row
from psips.commands.metrics import Metric
from psips.commands.quantities import significant, unit_for

MARKS = {FRONT: "●", BEATEN: " ", OPEN: "?", OUT: "✗"}
WORDS = {FRONT: "yes", BEATEN: "", OPEN: "undecided", OUT: "out"}
RATIO = "\N{MULTIPLICATION SIGN}best"  # title of the column of ratios
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def word(row: Row, stopped: bool) -> str:
    """Say of an option whether it is in the set, or ahead so far."""
    return "ahead" if row.role == FRONT and not stopped else WORDS[row.role]


class Cells(NamedTuple):
    """One row of the table."""

    row: Row
    mark: str
    letter: str
    label: str
    values: list[str]  # by metric
    ratio: str  # of the first metric, to the best of it
    runs: str
    note: str


def letter(place: int) -> str:
    """Return what a row is called in a drawing; nothing after as many as there are letters."""
    return LETTERS[place] if place < len(LETTERS) else ""


def title_of(metric: Metric, rows: Sequence[Row]) -> str:
    """Return the head of a metric's column, with its unit."""
    unit = unit_of(metric, rows)[1]
    return f"{metric.name} [{unit}]" if unit else metric.name


def unit_of(metric: Metric, rows: Sequence[Row]) -> tuple[float, str]:
    """Return the unit of a metric's column: its size and its name."""
    values = [row.estimates[metric.name].value for row in rows if row.estimates]
    return unit_for(values, metric.unit)


def cell(one: Estimate | None, unit: float, log: bool) -> str:
    """Write an estimate with its interval.

    Examples
    --------
    >>> cell(Estimate(0.0123, 0.0121, 0.0125), 1e-3, True)
    '12.3 ±1.6%'
    >>> cell(Estimate(0.9, 0.85, 0.95), 1.0, False), cell(Estimate(7.0, 7.0, 7.0), 1.0, False)
    ('0.900 ±0.050', '7')
    """
    if one is None or math.isnan(one.value):
        return "-"
    value = significant(one.value / unit)
    if one.exact:
        return value
    if not math.isfinite(one.high):
        return f"{value} ±?"
    if log:
        return f"{value} {_percent(one)}"
    return f"{value} ±{significant((one.high - one.low) / 2.0 / unit, 2)}"


def cells_of(found: Found) -> list[Cells]:
    """Return the rows of the table."""
    units = {m.name: unit_of(m, found.rows)[0] for m in found.metrics}
    rows = []
    for place, row in enumerate(found.rows):
        values = [cell(row.estimates.get(m.name), units[m.name], m.log) for m in found.metrics]
        rows.append(
            Cells(
                *(row, MARKS[row.role], letter(place), found.labels[row.name], values),
                *(ratio_of(row), f"{row.runs:,}", row.note),
            )
        )
    return rows


def ratio_of(row: Row) -> str:
    """Write how much worse an option is than the best in the first metric.

    Examples
    --------
    >>> ratio_of(Row("a", "a", FRONT, 9, {}, 1.0, "", Estimate(1.234, 1.21, 1.26)))
    '1.23 ±2.0%'
    """
    one = row.ratio
    if one is None or math.isnan(one.value):
        return ""
    value = f"{one.value:.2f}" if one.value < 100 else f"{one.value:.0f}"
    if one.exact or not math.isfinite(one.high):
        return value
    return f"{value} {_percent(one)}"


def _percent(one: Estimate) -> str:
    half = 100.0 * math.sqrt(one.high / one.low) - 100.0
    return f"±{half:.0f}%" if half >= 9.95 else f"±{half:.1f}%"
