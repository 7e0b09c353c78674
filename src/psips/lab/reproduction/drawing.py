"""How figures look: sizes and fonts, horizontal box plots, lines with bands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from psips.lab.reproduction.contenders import LOOKS, label_of
from psips.lab.reproduction.figure import contenders_in

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Drawing

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "hatch.linewidth": 0.6,
}


def sheet(columns: int, width: float, height: float, **shared: Any) -> tuple[Drawing, Any]:
    """Return a drawing with a row of axes, in the style of all figures."""
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    plt.rcParams.update(STYLE)
    figure, axes = plt.subplots(
        1, columns, figsize=(width, height), layout="constrained", squeeze=False, **shared
    )
    return figure, axes[0]


def boxes(frame: pd.DataFrame, bounds: Mapping[str, float] | None = None) -> Drawing:
    """Draw horizontal boxes of the samples, a panel each; ``bounds`` are lower bounds."""
    panels = list(dict.fromkeys(frame["panel"]))
    order = list(dict.fromkeys(zip(frame["rule"], frame["stop"], strict=True)))[::-1]
    width = 2.1 + 2.3 * len(panels)
    figure, axes = sheet(len(panels), width, 0.9 + 0.27 * len(order), sharey=True)
    for ax, panel in zip(axes, panels, strict=True):
        for place, (rule, stop) in enumerate(order):
            here = frame[
                (frame["panel"] == panel) & (frame["rule"] == rule) & (frame["stop"] == stop)
            ]
            if len(here):
                _box(ax, here["samples"].to_numpy(float), place, rule, stop)
                if not here["stopped"].any():
                    at = (here["samples"].max(), place)
                    ax.annotate("none stopped  ", at, ha="right", va="center", fontsize=7)
        if bounds and panel in bounds:
            ax.axvline(bounds[panel], color="black", lw=0.9, ls=":")
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
        ax.set_title(panel)
        ax.set_xlabel("samples until stop")
        ax.grid(axis="y", visible=False)
    axes[0].set_yticks(range(len(order)), [label_of(*one) for one in order])
    if bounds:
        axes[-1].plot([], [], color="black", lw=0.9, ls=":", label="lower bound")
        axes[-1].plot([], [], color="white", marker="D", mec="black", ls="", ms=4, label="mean")
        figure.legend(loc="outside lower right", ncols=2)
    return figure


def _box(ax: Axes, samples: Any, place: int, rule: str, stop: str) -> None:
    colour = LOOKS[rule].colour
    drawn = ax.boxplot(
        samples,
        positions=[place],
        orientation="horizontal",
        widths=0.62,
        patch_artist=True,
        showmeans=True,
        whis=(5, 95),
        flierprops={"marker": ".", "ms": 2.5, "mec": colour, "mfc": colour},
        meanprops={"marker": "D", "mfc": "white", "mec": "black", "ms": 3.5},
        medianprops={"color": "white" if rule == "oracle" else "black", "lw": 1.2},
        whiskerprops={"color": colour},
        capprops={"color": colour},
    )
    (body,) = drawn["boxes"]
    body.set(facecolor=colour, alpha=0.85 if stop == "own" else 0.4, edgecolor=colour)
    if stop != "own":
        body.set_hatch("////")


def plain_ticks(axis: Axis) -> None:
    """Write a logarithmic axis of counts in plain numbers, few of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high / low < 40 else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda v, _: _count(v)))
    axis.set_minor_formatter(NullFormatter())


def _count(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def lines(
    ax: Axes,
    frame: pd.DataFrame,
    x: str,
    y: str,
    *,
    centre: str = "mean",
    band: tuple[float, float] | None = None,
) -> None:
    """Draw a line per contender over ``x``; a band of quantiles, or of the mean's 95%."""
    for rule, stop, chosen in contenders_in(frame):
        groups = chosen.groupby(x, sort=True)[y]
        middle = groups.mean() if centre == "mean" else groups.median()
        at = middle.index.to_numpy(float)
        if band is None:
            half: Any = 1.96 * groups.std(ddof=1).fillna(0) / np.sqrt(groups.count())
            low, high = middle - half, middle + half
        else:
            low, high = groups.quantile(band[0]), groups.quantile(band[1])
        look = LOOKS[rule]
        few = len(at) <= 12
        ax.plot(
            at,
            middle,
            color=look.colour,
            marker=look.marker if few else None,
            ms=4,
            lw=1.4,
            ls="-" if stop == "own" else "--",
            label=label_of(rule, stop),
        )
        ax.fill_between(at, low, high, color=look.colour, alpha=0.15, lw=0)
