"""Figures over time as SVG: pictures of their own, so they carry their style."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from psips.pictures.front import BLUE, GREY, VERMILION, shortened
from psips.pictures.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axis, axis_of, frame
from psips.plots.planes import LINES
from psips.web.view_models import TimeSeries

LABEL, WIDE_LABEL = 36, 76  # letters of a label in a column, and in a row of its own


class Line(NamedTuple):
    """One line of a picture."""

    label: str
    colour: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    thin: bool = False


def pulls_picture(series: TimeSeries) -> str:
    """Draw how many results each arm had, over time; the most measured by name."""
    assert series.results is not None
    assert series.pulls is not None
    arms = series.history.problem.arms
    order = np.argsort(-series.last_pulls, kind="stable")
    lines = []
    for rank, a in reversed(list(enumerate(order.tolist()))):
        points = list(zip(series.results.tolist(), series.pulls[:, a].tolist(), strict=True))
        named = rank < len(LINES)
        label = f"{series.last_pulls[a]:,} {arms[a]}" if named else ""
        lines.append(Line(label, LINES[rank] if named else GREY, points, thin=not named))
    return _picture(lines[-200:], "measurements in all", "measurements of the option")


def evidence_picture(series: TimeSeries) -> str:
    """Draw what the stopping rule compares, over time."""
    found = series.evidence
    assert found is not None
    if not len(found.results):
        return _picture([], "measurements in all", "nothing to compare yet")
    steps = found.results.tolist()
    log = found.curve.below
    raw = (found.value, found.threshold)
    value, threshold = (np.log10(np.maximum(v, 1e-300)) if log else v for v in raw)
    name = "log10 of the probability of another set" if log else "evidence"
    lines = [
        Line("threshold", VERMILION, list(zip(steps, threshold.tolist(), strict=True)), True),
        Line(name, BLUE, list(zip(steps, value.tolist(), strict=True))),
    ]
    heights = np.concatenate([value, threshold, [0.0]])
    ends = [float(reach(heights[np.isfinite(heights)])) for reach in (np.min, np.max)]
    for one in series.saved:
        assert one.stopped is not None
        label = f"{one.stopped:,}: a stop with {one.tolerance.removeprefix('a tolerance of ')}"
        lines.append(Line(label, GREY, [(one.stopped, y) for y in ends], True))
    unit = "log10 probability" if log else found.curve.unit
    return _picture(lines, "measurements in all", unit)


def _rows(letters: Sequence[int]) -> list[tuple[int, int]]:
    """Place labels in two columns, by row and column; a long one has a row of its own.

    Examples
    --------
    >>> _rows([5, 5, 5, 50, 5])
    [(0, 0), (0, 1), (1, 0), (2, 0), (3, 0)]
    """
    places: list[tuple[int, int]] = []
    row, column = 0, 0
    for many in letters:
        if many > LABEL and column:
            row, column = row + 1, 0
        places.append((row, column))
        row, column = (row + 1, 0) if column or many > LABEL else (row, 1)
    return places


def _picture(lines: Sequence[Line], below: str, beside: str) -> str:
    """Draw lines as a picture that needs no style sheet, with their names in a list below."""
    named = [line for line in lines if line.label][::-1]
    height = HEIGHT - 80
    places = _rows([len(line.label) for line in named])
    whole = height + 20 * (places[-1][0] + 1 if places else 0) + 16
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    across = Axis(0.0, max([1.0, *xs]), LEFT, WIDTH - RIGHT)
    up = axis_of([0.0, *ys], height - BOTTOM, TOP)
    parts = [frame(across, up, below, beside, height)]
    for line in lines:
        path = " ".join(
            f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in line.points if math.isfinite(y)
        )
        dash = ' stroke-dasharray="6 4"' if line.dashed else ""
        pen = f'stroke="{line.colour}" stroke-width="{0.7 if line.thin else 2}"{dash}'
        parts.append(f'<polyline fill="none" {pen} points="{path}"/>')
    for (row, column), line in zip(places, named, strict=True):
        x, y = LEFT + 285 * column, height + 20 + 20 * row
        dash = ' stroke-dasharray="6 4"' if line.dashed else ""
        pen = f'stroke="{line.colour}" stroke-width="3"{dash}'
        parts.append(f'<line x1="{x - 40}" x2="{x - 14}" y1="{y - 4}" y2="{y - 4}" {pen}/>')
        parts.append(
            f'<text x="{x - 6}" y="{y}">{escape(shortened(line.label, WIDE_LABEL))}</text>'
        )
    style = (
        "text{font:13px system-ui,sans-serif;fill:#222}.grid{stroke:#ddd}"
        ".tick,.axis{text-anchor:middle}.left{text-anchor:end}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {whole}" '
        f'width="{WIDTH}" height="{whole}"><style>{style}</style>{"".join(parts)}</svg>'
    )
