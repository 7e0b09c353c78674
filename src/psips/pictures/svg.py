"""A front as SVG, with points that can be reached by keyboard; and what other SVG shares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.pictures.front import (
    MARKS,
    NORMAL_95,
    OTHER_METRICS,
    PROVEN_DOMINATED,
    RADIUS_95,
    Front,
    Option,
    has_region,
    shortened,
    staircase,
)

WIDTH, HEIGHT = 640, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 14, 12, 52
NAMED = 25  # points whose names are written next to them
ROW = 22  # height of an option where there is one metric
SHAPES = {
    "D": '<path class="mark" d="M0 -7 7 0 0 7 -7 0Z"/>',
    "o": '<circle class="mark" r="5.5"/>',
    "x": '<path class="mark" d="M-5 -5 5 5M5 -5 -5 5"/>',
}


class Axis(NamedTuple):
    """Where numbers are on a figure: from ``low`` at pixel ``start`` to ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a number."""
        return self.start + self.scale * (value - self.low)

    @property
    def scale(self) -> float:
        """Pixels for each unit."""
        return (self.end - self.start) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Return a few round numbers on the axis.

        Examples
        --------
        >>> Axis(0.0, 9.0, 0.0, 100.0).ticks()
        [0.0, 2.0, 4.0, 6.0, 8.0]
        """
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= 0.999 * rough)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]


def axis_of(values: Iterable[float], start: float, end: float) -> Axis:
    """Return an axis that has room for some numbers."""
    seen = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(seen), max(seen)
    room = 0.06 * (high - low) or 0.5 * abs(high) or 0.5
    return Axis(low - room, high + room, start, end)


def front(known: Front, x: int, y: int, hide: bool = False) -> str:
    """Draw the options in two metrics, given by their places.

    Parameters
    ----------
    known : Front
    x, y : int
    hide : bool
        Whether to leave out what is proven not optimal.
    """
    shown = known.shown(hide)
    if not shown:
        return '<p class="empty">There is nothing to draw yet.</p>'
    if known.d == 1:
        return _intervals(known, shown)
    across = axis_of(_reach(shown, x), LEFT, WIDTH - RIGHT)
    up = axis_of(_reach(shown, y), HEIGHT - BOTTOM, TOP)
    parts = [frame(across, up, known.metrics[x].title, known.metrics[y].title, HEIGHT)]
    parts += [_shade(known, across, up, x, y), _stairs(known, shown, across, up, x, y)]
    drawn = []
    for option in sorted(shown, key=lambda o: -o.mark):
        region = ""
        if has_region(option, len(shown)):
            region = _ellipse(option.covariance[np.ix_([x, y], [x, y])], across, up)
        place = (across.at(option.means[x]), up.at(option.means[y]))
        drawn.append(_point(known, option, place, region))
    inner = f'x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{up.start - TOP}"'
    parts.append(f'<clipPath id="plot"><rect {inner}/></clipPath>')
    parts.append(f'<g clip-path="url(#plot)">{_points(drawn)}</g>')
    named = [o for o in shown if o.mark != PROVEN_DOMINATED] if len(shown) > NAMED else shown
    if len(named) > NAMED:
        named = [o for o in named if o.candidate][:NAMED]
    parts.append(_names(known, named, across, up, x, y))
    if known.d > 2:
        note = f'x="{LEFT + 8}" y="{TOP + 16}"'
        parts.append(f'<text class="note" {note}>{OTHER_METRICS}</text>')
    return _svg("".join(parts), HEIGHT, "The front: estimated means of the options")


def _reach(shown: Sequence[Option], c: int) -> Iterator[float]:
    """Yield how far points and their regions reach in a metric."""
    for option in shown:
        error = option.errors[c] if has_region(option, len(shown)) else 0.0
        reach = RADIUS_95 * error if math.isfinite(error) else 0.0
        yield option.means[c] - reach
        yield option.means[c] + reach


def _shade(known: Front, across: Axis, up: Axis, x: int, y: int) -> str:
    """Shade where options break a limit that is a number."""
    parts = []
    for one in known.bounds:
        if one.metric not in (x, y):
            continue
        axis = across if one.metric == x else up
        edge = axis.at(min(max(one.at, axis.low), axis.high))
        low, high = sorted((edge, axis.end if one.above else axis.start))
        place = (
            f'x="{low:.1f}" y="{up.end}" width="{high - low:.1f}" height="{up.start - up.end}"'
        )
        if axis is up:
            wide = across.end - across.start
            place = f'x="{across.start}" y="{low:.1f}" width="{wide}" height="{high - low:.1f}"'
        parts.append(f'<rect class="beyond" {place}><title>{escape(one.said)}</title></rect>')
    return "".join(parts)


def _intervals(known: Front, shown: Sequence[Option]) -> str:
    """Draw the options in one metric as rows, the best at the top."""
    order = sorted(shown, key=lambda o: -known.metrics[0].better * o.means[0])
    height = TOP + BOTTOM + ROW * max(1, len(order))
    ends = [o.means[0] + k * o.errors[0] for o in order for k in (-2, 2)]
    across = axis_of(ends, LEFT + 90, WIDTH - RIGHT)
    up = Axis(0.0, 1.0, height - BOTTOM, TOP)
    parts = [frame(across, up, known.metrics[0].title, "", height)]
    drawn = []
    for row, option in enumerate(order):
        y = TOP + ROW * (row + 0.5)
        reach = NORMAL_95 * option.errors[0] * across.scale
        region = f'<rect class="region" x="{-reach:.1f}" y="-3" width="{2 * reach:.1f}" '
        place = (across.at(option.means[0]), y)
        drawn.append(_point(known, option, place, f'{region}height="6"/>'))
        name = escape(shortened(option.name))
        parts.append(f'<text class="name" x="{LEFT + 80}" y="{y + 4:.1f}">{name}</text>')
    parts.append(_points(drawn))
    return _svg("".join(parts), height, "Estimated means of the options").replace(
        'class="front"', 'class="front rows"'
    )


def _points(drawn: Sequence[str]) -> str:
    """Put points in a group that Tab reaches once; the arrow keys move within it."""
    last = drawn[-1].replace('tabindex="-1"', 'tabindex="0"', 1)
    return f'<g class="points">{"".join(drawn[:-1])}{last}</g>'


def _point(known: Front, option: Option, place: tuple[float, float], region: str) -> str:
    words = escape(known.said(option))
    shape = SHAPES[MARKS[option.mark].marker]
    return (
        f'<g class="point m{option.mark}" id="point-{option.place}" tabindex="-1" role="img" '
        f'transform="translate({place[0]:.1f} {place[1]:.1f})">'
        f"<title>{words}</title>{region}{shape}</g>"
    )


def mark(number: int) -> str:
    """Draw one of `MARKS` as an icon."""
    shape = SHAPES[MARKS[number].marker]
    view = 'viewBox="-9 -9 18 18" aria-hidden="true"'
    return f'<svg class="icon m{number}" {view}>{shape}</svg>'


def _ellipse(C: Floats, across: Axis, up: Axis) -> str:
    """Draw the region of posterior probability 0.95, around the origin; none if not known."""
    if not np.isfinite(C).all():
        return ""
    scale = np.diag([across.scale, up.scale])
    values, vectors = np.linalg.eigh(scale @ C @ scale)
    a, b = RADIUS_95 * np.sqrt(np.maximum(values[::-1], 0.0))
    turn = math.degrees(math.atan2(vectors[1, 1], vectors[0, 1]))
    radii = f'rx="{a:.1f}" ry="{b:.1f}"'
    return f'<ellipse class="region" {radii} transform="rotate({turn:.1f})"/>'


def _stairs(known: Front, shown: list[Option], across: Axis, up: Axis, x: int, y: int) -> str:
    """Draw the border of what the estimates dominate in these two metrics."""
    corners = known.corners(shown, x, y)
    if not corners:
        return ""
    worst = (
        across.low if known.metrics[x].better > 0 else across.high,
        up.low if known.metrics[y].better > 0 else up.high,
    )
    line = staircase(corners, worst)
    path = " ".join(f"{across.at(a):.1f},{up.at(b):.1f}" for a, b in line)
    kind = "whole" if known.d == 2 else "part"
    return f'<polyline class="stairs {kind}" points="{path}"/>'


def _names(
    known: Front, named: Sequence[Option], across: Axis, up: Axis, x: int, y: int
) -> str:
    """Write names next to points, where they do not lie over each other."""
    taken: list[tuple[float, float, float]] = []
    text = ""
    for option in sorted(named, key=lambda a: a.mark):
        px, py = across.at(option.means[x]), up.at(option.means[y])
        name = shortened(option.name)
        width = 7.0 * len(name)
        right = px + 10 + 1.5 * width < WIDTH  # letters are larger on a telephone
        beyond = -9 if known.metrics[y].better > 0 else 17  # away from what it dominates
        clear = right == (known.metrics[x].better > 0)
        for down in (4, -9, 17) if clear else (beyond, 4, 8 - beyond):
            start = px + 10 if right else px - 10 - width
            if all(
                abs(py + down - other) > 12 or start > end or start + width < begin
                for begin, end, other in taken
            ):
                taken.append((start, start + width, py + down))
                anchor = "" if right else ' text-anchor="end"'
                at = f'x="{px + (10 if right else -10):.1f}" y="{py + down:.1f}"'
                kind = "label" if option.candidate else "label other"
                text += f'<text class="{kind}" {at}{anchor}>{escape(name)}</text>'
                break
    return f'<g aria-hidden="true">{text}</g>'


def frame(across: Axis, up: Axis, below: str, beside: str, height: float) -> str:
    """Draw two axes with their titles; without a title ``beside``, only the one below."""
    parts = []
    for tick in across.ticks():
        at = f"{across.at(tick):.1f}"
        parts.append(f'<line class="grid" x1="{at}" x2="{at}" y1="{TOP}" y2="{up.start}"/>')
        parts.append(f'<text class="tick" x="{at}" y="{up.start + 17:.0f}">{tick:g}</text>')
    for tick in up.ticks() if beside else ():
        at = f"{up.at(tick):.1f}"
        line = f'x1="{across.start}" x2="{across.end}" y1="{at}" y2="{at}"'
        parts.append(f'<line class="grid" {line}/>')
        where = f'x="{across.start - 6:.0f}" y="{up.at(tick) + 4:.1f}"'
        parts.append(f'<text class="tick left" {where}>{tick:g}</text>')
    middle = f'x="{(across.start + across.end) / 2:.0f}" y="{height - 10:.0f}"'
    parts.append(f'<text class="axis" {middle}>{escape(below)}</text>')
    if beside:
        y = (up.start + up.end) / 2
        turned = f'transform="translate(16 {y:.0f}) rotate(-90)"'
        parts.append(f'<text class="axis" {turned}>{escape(beside)}</text>')
    return f'<g aria-hidden="true">{"".join(parts)}</g>'


def _svg(inner: str, height: float, label: str) -> str:
    return (
        f'<svg class="front" viewBox="0 0 {WIDTH} {height:.0f}" role="group" '
        f'aria-label="{escape(label)}">{inner}</svg>'
    )
