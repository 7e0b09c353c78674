"""The options in the plane of two metrics, drawn with characters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from psips.commands.found import FRONT, Found, Row
from psips.commands.metrics import Metric
from psips.commands.quantities import written
from psips.commands.table import letter

HEIGHT = 12
LEFT = 9  # columns of the numbers at the left
LEAST_WIDTH = 24


def draw(found: Found, width: int = 72) -> list[str]:
    """Draw the options in their first two metrics; nothing if there is one, or few values.

    Letters are those of the table; the steps join the Pareto set, if these metrics are all.
    """
    aims = found.aims[:2]
    places = [
        (place, row)
        for place, row in enumerate(found.rows)
        if letter(place) and row.estimates and all(_known(row, m) for m in aims)
    ]
    across = width - LEFT - 3
    height = min(HEIGHT, 4 + len(places))
    if len(aims) < 2 or len(places) < 2 or across < LEAST_WIDTH:
        return []
    x = _scaled([row for _, row in places], aims[0], across - 1)
    y = _scaled([row for _, row in places], aims[1], height - 1)
    canvas = [[" "] * across for _ in range(height)]
    front = sorted((x[k], y[k]) for k, (_, row) in enumerate(places) if row.role == FRONT)
    if len(found.aims) == 2:
        _steps(canvas, front, aims)
    for k in sorted(range(len(places)), key=lambda k: places[k][1].role == FRONT):
        _put(canvas, x[k], y[k], letter(places[k][0]))
    rows = [row for _, row in places]
    low, high = _ends(rows, aims[1])
    lines = [f" {aims[1].name}"]
    for number, line in enumerate(canvas):
        tick = {0: high, height - 1: low}.get(number, "")
        lines.append(
            f"{tick:>{LEFT}} ┤{''.join(line).rstrip()}"
            if tick
            else f"{'':>{LEFT}} │{''.join(line).rstrip()}"
        )
    least, most = _ends(rows, aims[0])
    lines.append(f"{'':>{LEFT}} └{'─' * across}")
    name = f"{aims[0].name}"
    gap = across - len(least) - len(most) - len(name)
    left = max(1, gap // 2)
    lines.append(f"{'':>{LEFT}}  {least}{' ' * left}{name}{' ' * max(1, gap - left)}{most}")
    return lines


def legend(found: Found) -> str:
    """Say which options the letters of a drawing stand for."""
    named = [(letter(place), row) for place, row in enumerate(found.rows)]
    return ", ".join(f"{one}: {found.labels[row.name]}" for one, row in named if one)


def _known(row: Row, metric: Metric) -> bool:
    return math.isfinite(row.estimates[metric.name].value)


def _on_axis(value: float, metric: Metric) -> float:
    return math.log(value) if metric.log else value


def _scaled(rows: Sequence[Row], metric: Metric, last: int) -> list[int]:
    """Return the place of each option on an axis of places 0 to ``last``."""
    values = [_on_axis(row.estimates[metric.name].value, metric) for row in rows]
    low, high = min(values), max(values)
    width = high - low or 1.0
    return [round((value - low) / width * last) for value in values]


def _ends(rows: Sequence[Row], metric: Metric) -> tuple[str, str]:
    values = [row.estimates[metric.name].value for row in rows]
    return written(min(values), metric.unit), written(max(values), metric.unit)


def _steps(
    canvas: list[list[str]], front: Sequence[tuple[int, int]], aims: Sequence[Metric]
) -> None:
    """Draw the edge of what the Pareto set beats."""
    turn = aims[0].direction == "max"
    for (x0, y0), (x1, y1) in pairwise(front):
        corner = (x0, y1) if turn else (x1, y0)
        for x in range(x0, x1 + 1):
            _put(canvas, x, corner[1], "·")
        for y in range(min(y0, y1), max(y0, y1) + 1):
            _put(canvas, corner[0], y, "·")


def _put(canvas: list[list[str]], x: int, y: int, mark: str) -> None:
    """Write a character; a letter goes next to one that is there already."""
    line = canvas[len(canvas) - 1 - y]
    if mark == "·":
        line[x] = mark if line[x] == " " else line[x]
        return
    free = [p for p in (x, x + 1, x - 1, x + 2, x - 2) if 0 <= p < len(line)]
    here = next((p for p in free if line[p] in " ·"), x)
    line[here] = mark
