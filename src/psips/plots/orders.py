"""Options compared with each other: the order of the estimates, and who dominates whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psips.errors import InputError, quote
from psips.input.digits import percent
from psips.pictures.front import BLUE, GREY
from psips.plots.labels import plain
from psips.session import Session
from psips.session.dominance import Comparisons, Edge
from psips.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SURE, LIKELY = 0.95, 0.75  # probabilities from which a line is drawn stronger
MOST_IN_ROW = 6  # options of a row; of more, the rest goes on below
STYLES = {"sure": ("-", 2.2), "likely": ("--", 1.4), "unsure": (":", 1.2)}
NUMBERED = 16  # options up to which a matrix has numbers
SHORT = 16  # letters of a name in a box
PASS = 0.25  # of a row, for which a line that passes a box is upright

Place = tuple[float, int]  # across, a box being 1 wide, and the row


def comparisons(source: Session | Study, figure: Figure | None = None) -> Figure:
    """Draw who dominates whom: the order of the estimates, and a matrix of probabilities.

    In the order (a Hasse diagram) an option stands above those that it dominates by the
    estimates; a line is drawn by how probable that is, given the data. What follows from other
    lines is left out. See `psips.session.dominance`.

    Parameters
    ----------
    source : Session or Study
    figure : Figure, optional
        Made if left out.
    """
    if not isinstance(source, Session | Study):
        raise InputError(f"expected a Session or a Study, got {quote(source)}")
    found = source.comparisons()
    if found.why_not:
        raise InputError(f"there is nothing to compare yet: {found.why_not}")
    if figure is None:
        from matplotlib import pyplot

        high = max(3.6, 0.9 * len(arranged(found)), 0.36 * len(found.options) + 1.6)
        figure = pyplot.figure(figsize=(12.5, high), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_order(left, found)
    draw_matrix(right, found)
    return figure


def arranged(found: Comparisons, most: int = MOST_IN_ROW) -> list[list[str]]:
    """Return the options in rows, those at the top that nothing dominates by the estimates.

    Within a row they stand near those above them, so that few lines cross.
    """
    rows: dict[int, list[str]] = {}
    for name in found.options:
        rows.setdefault(found.level[name], []).append(name)
    above: dict[str, list[str]] = {}
    for edge in found.order:
        above.setdefault(edge.over, []).append(edge.by)
    at: dict[str, float] = {}
    lines = []
    for _, row in sorted(rows.items()):
        for first in range(0, len(row), most):
            line = row[first : first + most]
            middle = {
                name: float(np.mean([at[by] for by in above.get(name, ())] or [0.5]))
                for name in line
            }
            line = sorted(line, key=middle.__getitem__)
            at |= {name: (c + 0.5) / len(line) for c, name in enumerate(line)}
            lines.append(line)
    return lines


def places_of(lines: list[list[str]]) -> dict[str, Place]:
    """Return where the options of each row stand: across, a box being 1 wide, and the row."""
    widest = max(map(len, lines))
    return {
        name: (c + 0.5 + (widest - len(line)) / 2, k)
        for k, line in enumerate(lines)
        for c, name in enumerate(line)
    }


def way(edge: Edge, places: dict[str, Place]) -> list[Place]:
    """Return the points that a line joins, so that it passes between the boxes of other rows.

    Examples
    --------
    >>> places = {"A": (0.5, 0), "B": (0.5, 1), "C": (0.5, 2)}
    >>> way(Edge("A", "C", 0.9), places)
    [(0.5, 0), (1.0, 1), (0.5, 2)]
    """
    at, (end, last) = places[edge.by], places[edge.over]
    points = [at]
    for row in range(at[1] + 1, last):
        x = at[0] + (end - at[0]) / (last - at[1]) * (row - at[1])
        nearest = min((b for b, k in places.values() if k == row), key=lambda b: abs(b - x))
        if abs(nearest - x) < 0.5:
            x = nearest + (0.5 if x >= nearest else -0.5)
        at = (x, row)
        points.append(at)
    return [*points, (end, last)]


def style_of(probability: float) -> str:
    """Say how a line is drawn.

    Examples
    --------
    >>> style_of(0.99), style_of(0.8), style_of(0.5)
    ('sure', 'likely', 'unsure')
    """
    return "sure" if probability >= SURE else "likely" if probability >= LIKELY else "unsure"


def draw_order(ax: Axes, found: Comparisons, most: int = MOST_IN_ROW) -> None:
    """Draw the order of the estimates, at most so many options in a row."""
    lines = arranged(found, most)
    widest = max(map(len, lines))
    places = places_of(lines)
    for edge in found.order:
        start, *between, end = way(edge, places)
        points = [start, *((x, k + side) for x, k in between for side in (-PASS, PASS)), end]
        across, down = zip(*points, strict=True)
        kind, width = STYLES[style_of(edge.probability)]
        ax.plot(across, [-row for row in down], kind, color=BLUE, linewidth=width, zorder=1)
    for name, (x, row) in places.items():
        top = found.level[name] == 0
        box = {
            "boxstyle": "round,pad=0.4",
            "facecolor": "#e9f0fd" if top else "white",
            "edgecolor": BLUE if top else GREY,
        }
        text = name if len(name) <= SHORT else f"{name[: SHORT - 1]}…"
        ax.text(x, -row, plain(text), ha="center", va="center", fontsize=9, bbox=box, zorder=2)
    for kind, label in (("sure", "95% or more"), ("likely", "75% or more"), ("unsure", "less")):
        style, width = STYLES[kind]
        ax.plot([], [], style, color=BLUE, linewidth=width, label=label)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, frameon=False)
    ax.set(xlim=(0, widest), ylim=(0.6 - len(lines), 0.5))
    ax.set_title("Order of the estimates; probability of each line", fontsize=10)
    ax.set_axis_off()


def draw_matrix(ax: Axes, found: Comparisons, most: int = NUMBERED) -> None:
    """Draw with which probability a row dominates a column; up to ``most`` with numbers."""
    m = len(found.options)
    shown = np.where(np.eye(m, dtype=bool), np.nan, found.probability)
    edges = np.arange(m + 1) - 0.5
    ax.pcolormesh(edges, edges, shown, cmap="Blues", vmin=0.0, vmax=1.15)
    ax.set_ylim(m - 0.5, -0.5)
    for i in range(m):
        for j in range(m):
            if i != j and m <= most:
                p = float(found.probability[i, j])
                colour = "white" if p > 0.5 else "#444444"
                ax.text(j, i, percent(p), ha="center", va="center", fontsize=8, color=colour)
    names = [plain(n if len(n) <= SHORT else f"{n[: SHORT - 1]}…") for n in found.options]
    ax.set_xticks(range(m), names, rotation=90, fontsize=8)
    ax.set_yticks(range(m), names, fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title("Probability that the row dominates the column", fontsize=10)
