"""Figures as SVG: the front, with points that can be reached by keyboard, and lines over time.

Colours and shapes are those of `psips.plots.planes`. The front stands in its page and is styled
there; the lines are pictures of their own, so they carry their style.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.input.digits import estimate
from psips.plots.planes import BLUE, GREY, LINES, RADIUS_95, VERMILION, pair_front
from psips.problem import Problem
from psips.web.view_models import Answer, Course, Look

WIDTH, HEIGHT = 640, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 14, 12, 52
NAMED = 25  # points whose names are written next to them
REGIONS = 200  # points up to which all have their region; of more, those not yet out
ROW = 22  # height of an answer where there is one objective
OTHER_METRICS = "Options behind the line may be optimal in metrics that are not shown."
SHAPES = {
    "D": '<path class="mark" d="M0 -7 7 0 0 7 -7 0Z"/>',
    "o": '<circle class="mark" r="5.5"/>',
    "x": '<path class="mark" d="M-5 -5 5 5M5 -5 -5 5"/>',
}
MARKERS = ("D", "o", "o", "x")  # by the number of the mark


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


def front(look: Look, x: int, y: int, hide: bool) -> str:
    """Draw the answers in two objectives, given by their places.

    Parameters
    ----------
    look : Look
    x, y : int
    hide : bool
        Whether to leave out what is proven to be dominated.
    """
    shown = [a for a in look.answers if a.measured and not (hide and a.mark == 3)]
    if not shown:
        return '<p class="small">There is nothing to draw yet.</p>'
    if look.problem.d == 1:
        return _intervals(look, shown)
    across = axis_of(_reach(shown, x), LEFT, WIDTH - RIGHT)
    up = axis_of(_reach(shown, y), HEIGHT - BOTTOM, TOP)
    parts = [_frame(across, up, title_of(look, x), title_of(look, y), HEIGHT)]
    parts += [_shade(look.problem, across, up, x, y)]
    allowed = [a for a in shown if a.candidate] if look.problem.limits else shown
    if allowed:
        parts.append(_staircase(look, allowed, across, up, x, y))
    drawn = []
    for answer in sorted(shown, key=lambda a: -a.mark):
        region = ""
        if has_region(answer, len(shown)):
            region = _ellipse(answer.covariance[np.ix_([x, y], [x, y])], across, up)
        place = (across.at(answer.means[x]), up.at(answer.means[y]))
        drawn.append(_point(look, answer, place, region))
    inner = f'x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{up.start - TOP}"'
    parts.append(f'<clipPath id="plot"><rect {inner}/></clipPath>')
    parts.append(f'<g clip-path="url(#plot)">{_points(drawn)}</g>')
    named = [a for a in shown if a.mark != 3] if len(shown) > NAMED else shown
    if len(named) > NAMED:
        named = [a for a in named if a.candidate][:NAMED]
    parts.append(_names(named, across, up, x, y))
    if look.problem.d > 2:
        note = f'x="{LEFT + 8}" y="{TOP + 16}"'
        parts.append(f'<text class="note" {note}>{OTHER_METRICS}</text>')
    return _svg("".join(parts), HEIGHT, "The front: estimated means of the options")


def _reach(shown: Sequence[Answer], c: int) -> Iterator[float]:
    """Yield how far points and their regions reach in a metric."""
    for answer in shown:
        error = answer.errors[c] if has_region(answer, len(shown)) else 0.0
        reach = RADIUS_95 * error if math.isfinite(error) else 0.0
        yield answer.means[c] - reach
        yield answer.means[c] + reach


def has_region(answer: Answer, shown: int) -> bool:
    """Whether the region of an answer is drawn: of many, not of those that are out."""
    return shown <= REGIONS or answer.mark != 3


def _shade(problem: Problem, across: Axis, up: Axis, x: int, y: int) -> str:
    """Shade where answers break a limit that is a number."""
    parts = []
    for one in problem.limits:
        if one.factor or one.metric not in (x, y):
            continue
        axis = across if one.metric == x else up
        edge = axis.at(min(max(one.bound, axis.low), axis.high))
        beyond = axis.end if one.sign < 0 else axis.start
        low, high = sorted((edge, beyond))
        place = (
            f'x="{low:.1f}" y="{up.end}" width="{high - low:.1f}" height="{up.start - up.end}"'
        )
        if axis is up:
            wide = across.end - across.start
            place = f'x="{across.start}" y="{low:.1f}" width="{wide}" height="{high - low:.1f}"'
        title = escape(one.broken(problem.objectives[one.metric]))
        parts.append(f'<rect class="beyond" {place}><title>{title}</title></rect>')
    return "".join(parts)


def _intervals(look: Look, shown: Sequence[Answer]) -> str:
    """Draw the answers in one objective as rows, the best at the top."""
    order = sorted(shown, key=lambda a: -look.problem.signs[0] * a.means[0])
    height = TOP + BOTTOM + ROW * max(1, len(order))
    ends = [a.means[0] + k * a.errors[0] for a in order for k in (-2, 2)]
    across = axis_of(ends, LEFT + 90, WIDTH - RIGHT)
    up = Axis(0.0, 1.0, height - BOTTOM, TOP)
    parts = [_frame(across, up, title_of(look, 0), "", height)]
    drawn = []
    for row, answer in enumerate(order):
        y = TOP + ROW * (row + 0.5)
        reach = 1.96 * answer.errors[0] * across.scale
        region = f'<rect class="region" x="{-reach:.1f}" y="-3" width="{2 * reach:.1f}" '
        drawn.append(
            _point(look, answer, (across.at(answer.means[0]), y), f'{region}height="6"/>')
        )
        name = escape(_short(answer.name))
        parts.append(f'<text class="name" x="{LEFT + 80}" y="{y + 4:.1f}">{name}</text>')
    parts.append(_points(drawn))
    return _svg("".join(parts), height, "Estimated means of the options").replace(
        'class="front"', 'class="front rows"'
    )


def _points(drawn: Sequence[str]) -> str:
    """Put points in a group that Tab reaches once; the arrow keys move within it."""
    last = drawn[-1].replace('tabindex="-1"', 'tabindex="0"', 1)
    return f'<g class="points">{"".join(drawn[:-1])}{last}</g>'


def _point(look: Look, answer: Answer, place: tuple[float, float], region: str) -> str:
    words = escape(in_words(look, answer))
    shape = SHAPES[MARKERS[answer.mark]]
    return (
        f'<g class="point m{answer.mark}" id="point-{answer.place}" tabindex="-1" role="img" '
        f'transform="translate({place[0]:.1f} {place[1]:.1f})">'
        f"<title>{words}</title>{region}{shape}</g>"
    )


def in_words(look: Look, answer: Answer) -> str:
    """Say of an answer what its point shows."""
    values = ", ".join(
        f"{o} {estimate(mean, se)}"
        for o, mean, se in zip(
            look.problem.objectives, answer.means, answer.errors, strict=True
        )
    )
    return f"{answer.name}: {values}; {answer.label}"


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


def _staircase(
    look: Look, shown: Sequence[Answer], across: Axis, up: Axis, x: int, y: int
) -> str:
    """Draw the border of what the estimates dominate in these two objectives."""
    signs = look.problem.signs[[x, y]]
    points = np.array([[a.means[x], a.means[y]] for a in shown])
    inside = points[pair_front(signs * points)]
    inside = inside[np.argsort(signs[0] * inside[:, 0])]
    worst = (across.low if signs[0] > 0 else across.high, up.low if signs[1] > 0 else up.high)
    corners = [(worst[0], inside[0, 1])]
    for i, (px, py) in enumerate(inside.tolist()):
        corners += [(px, py), (px, inside[i + 1, 1] if i + 1 < len(inside) else worst[1])]
    path = " ".join(f"{across.at(a):.1f},{up.at(b):.1f}" for a, b in corners)
    kind = "whole" if look.problem.d == 2 else "part"
    return f'<polyline class="stairs {kind}" points="{path}"/>'


def _names(named: Sequence[Answer], across: Axis, up: Axis, x: int, y: int) -> str:
    """Write names next to points, where they do not lie over each other."""
    taken: list[tuple[float, float, float]] = []
    text = ""
    for answer in sorted(named, key=lambda a: a.mark):
        px, py = across.at(answer.means[x]), up.at(answer.means[y])
        name = _short(answer.name)
        width = 7.0 * len(name)
        right = px + 10 + 1.5 * width < WIDTH  # letters are larger on a telephone
        for down in (4, -9, 17):
            start = px + 10 if right else px - 10 - width
            if all(
                abs(py + down - other) > 12 or start > end or start + width < begin
                for begin, end, other in taken
            ):
                taken.append((start, start + width, py + down))
                anchor = "" if right else ' text-anchor="end"'
                at = f'x="{px + (10 if right else -10):.1f}" y="{py + down:.1f}"'
                kind = "label" if answer.candidate else "label other"
                text += f'<text class="{kind}" {at}{anchor}>{escape(name)}</text>'
                break
    return f'<g aria-hidden="true">{text}</g>'


def _short(name: str, most: int = 18) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def title_of(look: Look, c: int) -> str:
    """Write the title of an axis: the metric, and which way is better."""
    better = {"max": "more is better", "min": "less is better"}
    said = better.get(look.problem.directions[c], "limited")
    return f"{_short(look.problem.labels[c], 40)} ({said})"


def _frame(across: Axis, up: Axis, below: str, beside: str, height: float) -> str:
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


class Line(NamedTuple):
    """One line of a picture."""

    label: str
    colour: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    thin: bool = False


def pulls_picture(course: Course) -> str:
    """Draw how many results each arm had, over time; the most measured by name."""
    assert course.looks is not None
    assert course.pulls is not None
    arms = course.history.problem.arms
    order = np.argsort(-course.last_pulls, kind="stable")
    lines = []
    for rank, a in reversed(list(enumerate(order.tolist()))):
        points = list(zip(course.looks.tolist(), course.pulls[:, a].tolist(), strict=True))
        named = rank < len(LINES)
        label = f"{course.last_pulls[a]:,} {arms[a]}" if named else ""
        lines.append(Line(label, LINES[rank] if named else GREY, points, thin=not named))
    return _picture(lines[-200:], "results in all", "results of the arm")


def evidence_picture(course: Course) -> str:
    """Draw what the stopping rule compares, over time."""
    found = course.evidence
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
    for one in course.saved:
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
    parts = [_frame(across, up, below, beside, height)]
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
        parts.append(f'<text x="{x - 6}" y="{y}">{escape(_short(line.label, 36))}</text>')
    style = (
        "text{font:13px system-ui,sans-serif;fill:#222}.grid{stroke:#ddd}"
        ".tick,.axis{text-anchor:middle}.left{text-anchor:end}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {whole}" '
        f'width="{WIDTH}" height="{whole}"><style>{style}</style>{"".join(parts)}</svg>'
    )
