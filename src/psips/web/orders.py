"""The order of the options as a picture: who dominates whom by the estimates."""

from __future__ import annotations

from html import escape

from psips.input.digits import percent
from psips.plots.orders import Place, arranged, places_of, style_of, way
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
    at = places_of(lines)
    places = {name: _point(place) for name, place in at.items()}
    parts = [_line(edge, way(edge, at)) for edge in found.order]
    parts += [_box(name, *places[name], found.level[name] == 0) for name in found.options]
    label = "Order of the estimates: each option above those that it dominates"
    return (
        f'<svg class="order" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'role="img" aria-label="{label}; the table below has the probabilities">'
        f"{''.join(parts)}</svg>"
    )


def _point(place: Place) -> tuple[float, float]:
    """Return the middle of the upper side of a box."""
    x, row = place
    return MARGIN - GAP / 2 + x * (BOX + GAP), MARGIN + row * (HIGH + DROP)


def _line(edge: Edge, points: list[Place]) -> str:
    kind = style_of(edge.probability)
    title = escape(f"{edge.by} dominates {edge.over}: {percent(edge.probability)}")
    (x, y), *rest = map(_point, points)
    path = f"M{x:.0f} {y + HIGH:.0f}"
    for to, below in rest:  # upright where it passes a row
        top, bend = y + HIGH, (below - y - HIGH) / 2
        path += f"V{top:.0f}C{x:.0f} {top + bend:.0f} {to:.0f} {below - bend:.0f} "
        path += f"{to:.0f} {below:.0f}"
        x, y = to, below
    return f'<g><title>{title}</title><path class="edge {kind}" d="{path}"/></g>'


def _box(name: str, x: float, y: float, top: bool) -> str:
    short = name if len(name) <= MOST else f"{name[: MOST - 1]}…"
    place = f'x="{x - BOX / 2:.0f}" y="{y:.0f}" width="{BOX}" height="{HIGH}" rx="8"'
    kind = "top" if top else "under"
    return (
        f'<g class="node {kind}" data-option="{escape(name)}"><title>{escape(name)}</title>'
        f'<rect {place}/><text x="{x:.0f}" y="{y + 22:.0f}">{escape(short)}</text></g>'
    )
