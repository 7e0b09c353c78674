"""A comparison of designs as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psips.pictures.front import BLUE, VERMILION
from psips.plots.labels import plain
from psips.plots.planes import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psips.simulation.comparing import Comparison


def comparison(found: Comparison) -> Figure:
    """Draw designs side by side: what they take, and how often they are wrong."""
    from matplotlib import pyplot

    rows = len(found.designs)
    figure = pyplot.figure(figsize=(12.5, max(3.4, 1.9 + 0.42 * rows)), layout="constrained")
    taken, wrong = figure.subplots(1, 2, sharey=True)
    _taken(taken, found)
    _wrong(wrong, found)
    taken.set_yticks(range(rows), [plain(one.name) for one in found.designs])
    taken.set_ylim(rows - 0.5, -0.5)
    return figure


def _taken(ax: Axes, found: Comparison) -> None:
    for place, one in enumerate(found.designs):
        quantiles = one.cost_quantiles if found.has_costs else one.quantiles
        mean = one.cost if found.has_costs else one.samples
        low, first, _, third, high = quantiles
        ax.plot([low, high], [place, place], color=BLUE, linewidth=1.2, zorder=1)
        ax.plot([first, third], [place, place], color=BLUE, linewidth=7, alpha=0.5, zorder=2)
        ax.plot(mean, place, "o", color=BLUE, zorder=3)
    ax.plot([], [], "o", color=BLUE, label="mean")
    ax.plot([], [], color=BLUE, linewidth=7, alpha=0.5, label="half of the runs")
    ax.plot([], [], color=BLUE, linewidth=1.2, label="90% of the runs")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False)
    ax.set(xlabel="cost" if found.has_costs else "samples")
    ax.set_xlim(left=0)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    clean(ax)


def _wrong(ax: Axes, found: Comparison) -> None:
    for place, one in enumerate(found.designs):
        low, high = one.error_interval
        share = one.errors / one.stopped if one.stopped else float("nan")
        if one.stopped:
            ax.plot([low, high], [place, place], color=BLUE, linewidth=1.6)
        ax.plot(share, place, "o", color=BLUE, clip_on=False)
        ax.plot(one.delta, place, "|", color=VERMILION, markersize=14, markeredgewidth=2)
    ax.plot([], [], "o-", color=BLUE, label="chance of a wrong set, 95% interval")
    ax.plot([], [], "|", color=VERMILION, markersize=14, label="delta")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
    ax.set(xlabel="wrong sets, of runs that stopped")
    ax.set_xlim(left=0)
    clean(ax)
