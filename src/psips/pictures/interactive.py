"""A front that can be zoomed and pointed at, as a figure of Plotly.

Plotly reads tags, entities and templates into texts, so that names go through `text` first,
which makes them texts again. `static/charts.js` draws the same for pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from psips.input.digits import estimate
from psips.pictures.front import (
    BLUE,
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

SYMBOLS = ("diamond", "circle", "circle-open", "x-thin-open")
NAMED = 25  # options whose names are written next to them
PAIRS = 15  # pairs of metrics that can be chosen
DRAWN = 600  # options in all of them: a notebook keeps what it shows
CORNERS, FEW_CORNERS, MANY = 49, 25, 50  # of a region, and of one of many
DIGITS = 8
NEVER_BLANK = 0.06  # share of an axis that is left free at its ends
INK = "#222222"


def figure_of(known: Front) -> dict[str, Any]:
    r"""Return the front as Plotly's plain data.

    With more than two metrics a menu has the pairs, of many options fewer of them.

    Examples
    --------
    >>> from psips.pictures.front import Metric
    >>> a = Option(0, "<b>A</b>", (1.0, 2.0), (0.1, 0.1), np.eye(2), 1, "candidate", True)
    >>> found = figure_of(Front((Metric("x", "x", 1), Metric("y", "y", 1)), (a,)))
    >>> found["data"][-1]["hovertext"][0].split("<br>")[0].strip("\u2068\u2069")
    '&lt;b&gt;A&lt;/b&gt;'
    """
    shown = known.shown()
    if known.d == 1:
        return _intervals(known, shown)
    most = max(1, min(PAIRS, DRAWN // max(1, len(shown))))
    pairs = list(combinations(range(known.d), 2))[:most]
    drawn = [_plane(known, shown, x, y) for x, y in pairs]
    traces = [
        {**trace, "visible": k == 0} for k, (part, _) in enumerate(drawn) for trace in part
    ]
    layout = _layout() | drawn[0][1]
    if len(pairs) > 1:
        layout["updatemenus"] = [_menu(known, pairs, drawn)]
    if known.d > 2:
        layout["annotations"] = [_note(OTHER_METRICS)]
        layout["margin"] = {**layout["margin"], "t": 64}
    return {"data": traces, "layout": layout}


def text(name: str) -> str:
    """Write a name so that Plotly shows it as it is, with its own direction of writing."""
    plain = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"\u2068{plain.replace('$', '&#36;')}\u2069"


def _plane(
    known: Front, shown: list[Option], x: int, y: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return traces and axes of two metrics."""
    regions = {mark: _regions(shown, mark, x, y) for mark in range(len(MARKS))}
    ends = [
        _ends([o.means[c] for o in shown] + [p[k] for r in regions.values() for p in r])
        for k, c in enumerate((x, y))
    ]
    traces: list[dict[str, Any]] = []
    for mark, points in regions.items():
        if points:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "none",
                    "fill": "toself",
                    "x": [_number(p[0]) for p in points],
                    "y": [_number(p[1]) for p in points],
                    "fillcolor": _faded(MARKS[mark].colour, 0.16),
                    "hoverinfo": "skip",
                    "showlegend": False,
                }
            )
    corners = known.corners(shown, x, y)
    if corners:
        worst = [ends[k][0 if known.metrics[c].better > 0 else 1] for k, c in enumerate((x, y))]
        line = staircase(corners, (worst[0], worst[1]))
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [p[0] for p in line],
                "y": [p[1] for p in line],
                "line": {"color": BLUE, "width": 1.5, "dash": _dash(known)},
                "hoverinfo": "skip",
                "showlegend": False,
            }
        )
    named = [o for o in shown if o.candidate][:NAMED] if len(shown) > NAMED else shown
    for mark in sorted({o.mark for o in shown}, reverse=True):
        some = [o for o in shown if o.mark == mark]
        names = [text(shortened(o.name)) if o in named else "" for o in some]
        place = ([o.means[x] for o in some], [o.means[y] for o in some])
        beside = {"textposition": _beside(known, x, y)}
        traces.append(_marks(known, some, mark, place, names) | beside)
    axes = {
        "xaxis": _axis(known.metrics[x].title, ends[0]),
        "yaxis": _axis(known.metrics[y].title, ends[1]),
    }
    return traces, axes


def _intervals(known: Front, shown: list[Option]) -> dict[str, Any]:
    """Draw the options in one metric as rows, the best at the top."""
    order = sorted(shown, key=lambda o: known.metrics[0].better * o.means[0])
    row = {o.place: k for k, o in enumerate(order)}
    traces = []
    for mark in sorted({o.mark for o in shown}):
        some = [o for o in order if o.mark == mark]
        place = ([o.means[0] for o in some], [row[o.place] for o in some])
        trace = _marks(known, some, mark, place, [""] * len(some))
        reach = [_number(NORMAL_95 * o.errors[0]) for o in some]
        bars = {"type": "data", "array": reach, "color": MARKS[mark].colour, "width": 0}
        traces.append({**trace, "error_x": bars})
    names = [text(shortened(o.name)) for o in order]
    layout = _layout() | {
        "xaxis": _axis(known.metrics[0].title, None),
        "yaxis": {"tickvals": list(range(len(order))), "ticktext": names, "automargin": True},
        "height": max(220, 120 + 24 * len(order)),
    }
    return {"data": traces, "layout": layout}


def _marks(
    known: Front,
    some: list[Option],
    mark: int,
    place: tuple[Sequence[float], Sequence[float]],
    names: list[str],
) -> dict[str, Any]:
    colour = MARKS[mark].colour
    return {
        "type": "scatter",
        "mode": "markers+text" if any(names) else "markers",
        "x": list(place[0]),
        "y": list(place[1]),
        "text": names,
        "hoverinfo": "text",
        "hovertext": [_tip(known, o) for o in some],
        "name": some[0].label,
        "marker": {
            "symbol": SYMBOLS[mark],
            "size": 8 if mark == PROVEN_DOMINATED else 11,
            "color": colour,
            "line": {"width": 2, "color": colour},
        },
    }


def _beside(known: Front, x: int, y: int) -> str:
    """Return the side of a mark where the border of what it dominates does not run."""
    up = "top" if known.metrics[y].better > 0 else "bottom"
    return f"{up} {'right' if known.metrics[x].better > 0 else 'left'}"


def _tip(known: Front, option: Option) -> str:
    values = [
        f"{text(shortened(metric.name, 40))}: {estimate(mean, error)}"
        for metric, mean, error in zip(known.metrics, option.means, option.errors, strict=True)
    ]
    return "<br>".join([text(option.name), *values, text(option.label)])


def _regions(shown: list[Option], mark: int, x: int, y: int) -> list[tuple[float, float]]:
    """Return the 95% regions of options with a mark as one path, with gaps between them."""
    found: list[tuple[float, float]] = []
    corners = CORNERS if len(shown) <= MANY else FEW_CORNERS
    turn = np.linspace(0.0, 2.0 * np.pi, corners)
    circle = RADIUS_95 * np.column_stack([np.cos(turn), np.sin(turn)])
    for option in shown:
        C = option.covariance[np.ix_([x, y], [x, y])]
        drawn = option.mark == mark and has_region(option, len(shown))
        if not drawn or not np.isfinite(C).all():
            continue
        values, vectors = np.linalg.eigh(C)
        edge = circle @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        edge += [option.means[x], option.means[y]]
        gap = [(np.nan, np.nan)] if found else []
        found += [*gap, *((float(a), float(b)) for a, b in edge)]
    return found


def _ends(values: Sequence[float]) -> list[float]:
    """Return the ends of an axis that has room for some numbers."""
    seen = [v for v in values if np.isfinite(v)] or [0.0, 1.0]
    low, high = min(seen), max(seen)
    room = NEVER_BLANK * (high - low) or 0.5 * abs(high) or 0.5
    return [low - room, high + room]


def _menu(known: Front, pairs: list[tuple[int, int]], drawn: list[Any]) -> dict[str, Any]:
    buttons = []
    for k, (x, y) in enumerate(pairs):
        visible = [k == other for other, (part, _) in enumerate(drawn) for _ in part]
        names = (text(shortened(known.metrics[c].name)) for c in (x, y))
        buttons.append(
            {
                "label": " and ".join(names),
                "method": "update",
                "args": [{"visible": visible}, drawn[k][1]],
            }
        )
    place = {"x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "pad": {"b": 24}}
    return {"buttons": buttons, "direction": "down", **place}


def _note(said: str) -> dict[str, Any]:
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "yanchor": "bottom"}
    return {"text": text(said), "showarrow": False, "font": {"size": 12}, **place}


def _layout() -> dict[str, Any]:
    return {
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
        "hoverlabel": {"bgcolor": "#ffffff", "bordercolor": "#767676", "align": "left"},
        "hovermode": "closest",
        "margin": {"l": 60, "r": 16, "t": 24, "b": 56},
        "legend": {
            "traceorder": "reversed",
            "orientation": "h",
            "x": 0,
            "y": -0.2,
            "yanchor": "top",
        },
        "height": 440,
    }


def _axis(title: str, ends: list[float] | None) -> dict[str, Any]:
    axis = {"title": {"text": text(title)}, "gridcolor": "#e4e4e4", "zeroline": False}
    return {**axis, "automargin": True, **({} if ends is None else {"range": ends})}


def _dash(known: Front) -> str:
    return "solid" if known.d == 2 else "dash"


def _number(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None


def _faded(colour: str, share: float) -> str:
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},{share})"
