"""The front of a session or study on axes: marks, ellipses, intervals, and the line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from psips.aliases import Floats
from psips.pictures.front import (
    BLUE,
    GREEN,
    MARKS,
    NORMAL_95,
    RADIUS_95,
    VERMILION,
    Mark,
    pair_front,
)
from psips.plots.labels import plain, write_names
from psips.session.front import label_of, marks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psips.problem import Problem
    from psips.session.status import Status

LINES = (BLUE, "#E69F00", GREEN, VERMILION, "#CC79A7", "#56B4E9", "#000000")
LABELLED = 30  # answers whose names are written; with more, only those not yet out
DECADES = 100.0  # largest over smallest estimate from which on an axis is logarithmic


def used_marks(known: Status) -> list[Mark]:
    """Return the kinds of answers that there are."""
    used = sorted(set(marks_of(known)))
    return [MARKS[m]._replace(label=label_of(known, m)) for m in used]


def _estimates(problem: Problem, known: Status, c: int) -> tuple[Floats, Floats]:
    objective = problem.labels[c]
    means = known.answers[f"{objective} estimate"].to_numpy()
    return means, known.answers[f"{objective} se"].to_numpy()


def draw_plane(ax: Axes, problem: Problem, known: Status, x: int, y: int) -> None:
    """Draw the answers in two objectives, given by their places."""
    from matplotlib.patches import Ellipse, Polygon

    (xs, _), (ys, _) = (_estimates(problem, known, c) for c in (x, y))
    assert known.covariances is not None
    marks = marks_of(known)
    if spans_decades(xs):
        ax.set_xscale("log")
    if spans_decades(ys):
        ax.set_yscale("log")
    bent = ax.get_xscale() == "log" or ax.get_yscale() == "log"
    for i in np.flatnonzero(np.isfinite(xs)):
        mark = MARKS[marks[i]]
        C = known.covariances[i][np.ix_([x, y], [x, y])]
        if not np.isfinite(C).all():
            continue
        values, vectors = np.linalg.eigh(C)
        angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
        height, width = 2 * RADIUS_95 * np.sqrt(np.maximum(values, 0.0))
        style: dict[str, Any] = {"color": mark.colour, "alpha": 0.18, "zorder": 1}
        ellipse = Ellipse((xs[i], ys[i]), width, height, angle=angle, **style)
        if bent:
            ax.add_patch(Polygon(_bent(ax, ellipse), closed=True, **style))
        else:
            ax.add_patch(ellipse)
    _dots(ax, marks, xs, ys)
    ax.margins(0.08)
    ax.autoscale_view()
    inside = known.answers["candidate"].to_numpy(bool)
    if problem.d > 2:  # the front in these two objectives alone
        inside = pair_front(problem.signs[[x, y]] * np.column_stack([xs, ys]))
    line = _staircase(ax, problem.signs[[x, y]], xs, ys, inside, whole=problem.d == 2)
    ax.set(xlabel=_title(problem, x), ylabel=_title(problem, y))
    clean(ax)
    few = len(xs) <= LABELLED
    shown = [i for i in np.flatnonzero(np.isfinite(xs)).tolist() if few or marks[i] != 3]
    if not few and len(shown) > LABELLED:
        shown = [i for i in shown if marks[i] < 2]
    shown.sort(key=lambda i: marks[i])
    candidates = [i for i in shown if marks[i] < 2]
    write_names(ax, problem.answers, xs, ys, shown, candidates, line)


def spans_decades(values: Floats) -> bool:
    """Whether estimates are better read on a logarithmic axis.

    Examples
    --------
    >>> spans_decades(np.array([0.5, 3.0, 800.0])), spans_decades(np.array([-1.0, 800.0]))
    (True, False)
    """
    seen = values[np.isfinite(values)]
    return len(seen) > 1 and bool(seen.min() > 0 and seen.max() >= DECADES * seen.min())


def front_height(problem: Problem, plane: float) -> float:
    """Return how high a front is in inches: ``plane``, or a row for each answer if d = 1."""
    return plane if problem.d > 1 else max(2.4, 1.2 + 0.32 * problem.n)


def _bent(ax: Axes, ellipse: Any) -> Floats:
    """Return an ellipse as points, for a logarithmic axis, which has no place for the rest."""
    turn = np.linspace(0.0, 2.0 * np.pi, 129)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])  # the patch is a unit circle, moved
    points = np.asarray(ellipse.get_patch_transform().transform(circle), np.float64)
    for column, logarithmic in enumerate((ax.get_xscale() == "log", ax.get_yscale() == "log")):
        if logarithmic:
            points[:, column] = np.maximum(points[:, column], ellipse.center[column] / 10)
    return points


def _staircase(
    ax: Axes, signs: Floats, xs: Floats, ys: Floats, inside: Any, whole: bool
) -> Floats:
    """Draw the border of what some of the points dominate; return its corners."""
    if not inside.any():
        return np.zeros((0, 2))
    order = np.argsort(signs[0] * xs[inside])
    px, py = xs[inside][order], ys[inside][order]
    x_end = ax.get_xlim()[0 if signs[0] > 0 else 1]
    y_end = ax.get_ylim()[0 if signs[1] > 0 else 1]
    corners = [(x_end, py[0])]
    for i in range(len(px)):
        corners.append((px[i], py[i]))
        corners.append((px[i], py[i + 1] if i + 1 < len(px) else y_end))
    across, up = np.array(corners).T
    style: dict[str, Any] = {"linewidth": 1.4} if whole else {"linewidth": 1, "ls": "--"}
    ax.plot(across, up, color=BLUE, alpha=0.7, zorder=2, scalex=False, scaley=False, **style)
    return np.array(corners)


def draw_intervals(ax: Axes, problem: Problem, known: Status) -> None:
    """Draw the answers in one objective, the best at the top."""
    means, ses = _estimates(problem, known, 0)
    order = np.argsort(-problem.signs[0] * means)  # what is not known comes last
    marks = marks_of(known)
    for place, i in enumerate(order):
        if np.isfinite(means[i]):
            mark = MARKS[marks[i]]
            reach = NORMAL_95 * ses[i]
            ax.plot(
                [means[i] - reach, means[i] + reach],
                [place, place],
                color=mark.colour,
                alpha=0.6,
            )
    _dots(ax, [marks[i] for i in order], means[order], np.arange(problem.n))
    if spans_decades(means) and bool(np.nanmin(means - NORMAL_95 * ses) > 0):
        ax.set_xscale("log")
    ax.set_yticks(range(problem.n), [plain(problem.answers[i]) for i in order])
    ax.set(xlabel=_title(problem, 0), ylim=(problem.n - 0.5, -0.5))
    clean(ax)


def _dots(ax: Axes, marks: list[int], xs: Floats, ys: Any) -> None:
    for m in sorted(set(marks), reverse=True):
        chosen = np.array(marks) == m
        ax.plot(xs[chosen], ys[chosen], linestyle="", zorder=3, **_style(MARKS[m]))


def _style(mark: Mark) -> dict[str, Any]:
    face = mark.colour if mark.filled else "white"
    return {
        "marker": mark.marker,
        "markersize": 6,
        "color": mark.colour,
        "markerfacecolor": face,
        "markeredgewidth": 1.4,
    }


def handle_of(mark: Mark) -> Any:
    """Return the entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", label=mark.label, **_style(mark))


def _title(problem: Problem, c: int) -> str:
    better = {"max": "more is better", "min": "less is better"}
    return f"{plain(problem.labels[c])} ({better.get(problem.directions[c], 'limited')})"


def clean(ax: Axes) -> Axes:
    """Take away what says nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax
