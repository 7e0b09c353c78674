"""The order of the options as a picture: who dominates whom by the estimates."""

from __future__ import annotations

from html import escape

from psips.input.digits import percent
from psips.plots.orders import arranged, style_of
from psips.session.dominance import Comparisons, Edge

BOX, HIGH, GAP, DROP = (
    144,
    34,
    20,
    76,
)  # of an option: width, height, space next to it and below
MARGIN = 16
MOST = 16  # letters of a name


def order_picture(found: Comparisons) -> str:
    """Draw the options in rows, those that nothing dominates at the top."""
    if not found.options:
        return ""
    lines = arranged(found)
    widest = max(map(len, lines))
    width = 2 * MARGIN + widest * (BOX + GAP) - GAP
    height = 2 * MARGIN + len(lines) * (HIGH + DROP) - DROP
    places: dict[str, tuple[float, float]] = {}
    for k, line in enumerate(lines):
        left = (width - len(line) * (BOX + GAP) + GAP) / 2
        for c, name in enumerate(line):
            places[name] = (left + c * (BOX + GAP) + BOX / 2, MARGIN + k * (HIGH + DROP))
    parts = [_line(edge, places) for edge in found.order]
    parts += [_box(name, *places[name], found.level[name] == 0) for name in found.options]
    label = "Order of the estimates: each option above those that it dominates"
    return (
        f'<svg class="order" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'role="img" aria-label="{label}; the table below has the probabilities">'
        f"{''.join(parts)}</svg>"
    )


def _line(edge: Edge, places: dict[str, tuple[float, float]]) -> str:
    (x1, y1), (x2, y2) = places[edge.by], places[edge.over]
    kind = style_of(edge.probability)
    title = escape(f"{edge.by} dominates {edge.over}: {percent(edge.probability)}")
    top, bottom = y1 + HIGH, y2
    bend = (bottom - top) / 2
    path = f"M{x1:.0f} {top:.0f}C{x1:.0f} {top + bend:.0f} {x2:.0f} {bottom - bend:.0f} "
    line = f'<path class="edge {kind}" d="{path}{x2:.0f} {bottom:.0f}"/>'
    return f"<g><title>{title}</title>{line}</g>"


def _box(name: str, x: float, y: float, top: bool) -> str:
    short = name if len(name) <= MOST else f"{name[: MOST - 1]}…"
    place = f'x="{x - BOX / 2:.0f}" y="{y:.0f}" width="{BOX}" height="{HIGH}" rx="8"'
    kind = "top" if top else "under"
    return (
        f'<g class="node {kind}" data-option="{escape(name)}"><title>{escape(name)}</title>'
        f'<rect {place}/><text x="{x:.0f}" y="{y + 22:.0f}">{escape(short)}</text></g>'
    )
