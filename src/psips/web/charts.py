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
    return _picture(lines[-200:], "results in all", "results of the arm")


def evidence_picture(series: TimeSeries) -> str:
    """Draw what the stopping rule compares, over time."""
    found = series.evidence
    assert found is not None
    if not len(found.results):
        return _picture([], "results in all", "nothing to compare yet")
    steps = found.results.tolist()
    log = found.curve.below
    raw = (found.value, found.threshold)
    value, threshold = (np.log10(np.maximum(v, 1e-300)) if log else v for v in raw)
    name = "log10 of the probability of another set" if log else "evidence"
    lines = [
        Line("stops here", VERMILION, list(zip(steps, threshold.tolist(), strict=True)), True),
        Line(name, BLUE, list(zip(steps, value.tolist(), strict=True))),
    ]
    top = [float(np.nanmax(v[np.isfinite(v)], initial=0.0)) for v in (value, threshold)]
    for one in series.saved:
        assert one.stopped is not None
        label = f"{one.stopped:,}: a stop with {one.tolerance.removeprefix('a tolerance of ')}"
        lines.append(Line(label, GREY, [(one.stopped, 0.0), (one.stopped, max(top))], True))
    unit = "log10 probability" if log else found.curve.unit
    return _picture(lines, "results in all", unit)


def _picture(lines: Sequence[Line], below: str, beside: str) -> str:
    """Draw lines as a picture that needs no style sheet, with their names in a list below."""
    named = [line for line in lines if line.label][::-1]
    height = HEIGHT - 80
    whole = height + 20 * -(-len(named) // 2) + 8
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
    for place, line in enumerate(named):
        x, y = LEFT + 285 * (place % 2), height + 12 + 20 * (place // 2)
        dash = ' stroke-dasharray="6 4"' if line.dashed else ""
        pen = f'stroke="{line.colour}" stroke-width="3"{dash}'
        parts.append(f'<line x1="{x - 40}" x2="{x - 14}" y1="{y - 4}" y2="{y - 4}" {pen}/>')
        parts.append(f'<text x="{x - 6}" y="{y}">{escape(shortened(line.label, 36))}</text>')
    style = (
        "text{font:13px system-ui,sans-serif;fill:#222}.grid{stroke:#ddd}"
        ".tick,.axis{text-anchor:middle}.left{text-anchor:end}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {whole}" '
        f'width="{WIDTH}" height="{whole}"><style>{style}</style>{"".join(parts)}</svg>'
    )
