"""Names next to points, placed so that they cover as little as possible."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from psips.aliases import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plain(name: str) -> str:
    """Return a name so that matplotlib does not read formulas into it."""
    return name.replace("$", r"\$")


def write_names(
    ax: Axes,
    names: Sequence[str],
    xs: Floats,
    ys: Floats,
    shown: list[int],
    needed: Collection[int] = (),
    line: Floats | None = None,
) -> None:
    """Write names next to their points, where they cover the least of what is there already.

    A name that would be written over another is left out, unless it is needed; ``line`` has
    the corners (m, 2) of a line to keep clear of.
    """
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.0, foreground="white")]
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]  # settles the scales
    points = ax.transData.transform(np.column_stack([xs, ys]))
    crossed = _steps(ax.transData.transform(line)) if line is not None and len(line) else []
    written: list[Any] = []
    frame = ax.get_window_extent()
    spots = [(7, 0), (-7, 0), (0, 7), (0, -7), (6, 6), (-6, 6), (6, -6), (-6, -6)]
    spots += [(dx, dy) for dy in (16, -16, 26, -26, 38, -38) for dx in (0, 14, -14, 28, -28)]
    for i in shown:
        best, least = None, np.inf
        taken = [*crossed]  # a name must not seem to belong to another point: keep away
        for k in np.flatnonzero(np.isfinite(xs)).tolist():
            (px, py), room = points[k], 6 if k == i else 11
            taken.append((px - room, py - room, px + room, py + room))
        for dx, dy in spots:
            text = ax.annotate(
                plain(names[i]),
                (xs[i], ys[i]),
                (dx, dy),
                textcoords="offset points",
                fontsize=8,
                zorder=4,
                path_effects=halo,
                ha="left" if dx > 0 else "right" if dx < 0 else "center",
                va="bottom" if dy > 0 else "top" if dy < 0 else "center",
                arrowprops={"arrowstyle": "-", "color": "#999999", "linewidth": 0.5}
                if abs(dy) > 10
                else None,
            )
            box = text.get_window_extent().extents if abs(dy) <= 10 else _text_box(text)
            outside = (
                box[0] < frame.x0 or box[2] > frame.x1 or box[1] < frame.y0 or box[3] > frame.y1
            )
            covered = sum(_overlap(box, other) for other in taken) + (1e4 if outside else 0)
            covered += 1e3 * sum(_overlap(box, other) for other in written)
            if covered < least - 1e-9:
                if best is not None:
                    best[0].remove()
                best, least = (text, box), covered
            else:
                text.remove()
            if least == 0:
                break
        if best is None:
            continue
        over = any(_overlap(best[1], other) > 0 for other in written)
        if i not in needed and (over or least >= 1e4):
            best[0].remove()
        else:
            written.append(tuple(best[1]))


def _steps(corners: Any) -> list[tuple[float, float, float, float]]:
    """Return the pieces of a line from corner to corner as thin boxes."""
    return [
        (*(np.minimum(a, b) - 1.5), *(np.maximum(a, b) + 1.5)) for a, b in pairwise(corners)
    ]


def _text_box(text: Any) -> Any:
    """Return the extent of an annotation without its line."""
    from matplotlib.text import Text

    return Text.get_window_extent(text).extents


def _overlap(a: Any, b: Any) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return float(max(wide, 0.0) * max(high, 0.0))
