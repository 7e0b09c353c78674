"""Plots of a session or study; each function returns the matplotlib axes it drew on.

Without axes given, a plot is drawn on a new figure of pyplot, which a notebook shows and
`matplotlib.pyplot.show` opens in a window; `detached` gives axes that belong to no window.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from psips.errors import InputError, check_keys, quote
from psips.pictures.front import BLUE, GREY, VERMILION
from psips.plots.history import evidence_over_time, history_of, pulls_over_time
from psips.plots.labels import plain
from psips.plots.planes import (
    LINES,
    clean,
    draw_intervals,
    draw_plane,
    front_height,
    handle_of,
    used_marks,
)
from psips.session import Session
from psips.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psips.problem import Problem
    from psips.session.status import Status
    from psips.simulation.planning import Plan

SHORT = 26  # letters of a name of which two fit side by side in a narrow figure
WIDE = 6.0  # inches of a figure that has room for a legend next to the axes


def front(
    source: Session | Study,
    ax: Axes | None = None,
    objectives: Sequence[str] | None = None,
    *,
    legend: bool = True,
    status: Status | None = None,
) -> Axes:
    """Draw the estimates of the answers in two objectives, with 95% ellipses.

    An ellipse holds the answer's mean with posterior probability 0.95. With one objective
    the answers are rows with 95% intervals instead.

    Parameters
    ----------
    source : Session or Study
    ax : Axes, optional
        Made if left out.
    objectives : two names, optional
        The first two if left out.
    legend : bool
    status : Status, optional
        Of the source, if it is at hand.
    """
    problem = _problem(source)
    known = source.status() if status is None else status
    ax = _axes((7.2, 5.2)) if ax is None else ax
    if problem.d == 1:
        draw_intervals(ax, problem, known)
    else:
        x, y = _pair(problem, objectives)
        draw_plane(ax, problem, known, x, y)
    if legend:
        _legend(ax, known)
    return ax


def fronts(
    source: Session | Study, figure: Figure | None = None, *, status: Status | None = None
) -> list[Axes]:
    """Draw `front` for every pair of objectives, with one legend below."""
    problem = _problem(source)
    pairs: list[Any] = list(combinations(problem.objectives, 2)) or [None]
    columns = 1 if len(pairs) == 1 else 2
    rows = -(-len(pairs) // columns)
    if figure is None:
        height = front_height(problem, 5.2)
        figure = _figure((8.0 if columns == 1 else 11.5, height * rows + 0.5))
    known = source.status() if status is None else status
    drawn = []
    for place, pair in enumerate(pairs, start=1):
        ax = figure.add_subplot(rows, columns, place)
        drawn.append(front(source, ax, pair, legend=False, status=known))
    figure.legend(
        handles=[handle_of(mark) for mark in used_marks(known)],
        loc="outside lower center",
        ncols=2 if columns == 1 else 4,
        frameon=False,
    )
    return drawn


def pulls(source: Session | Study, ax: Axes | None = None) -> Axes:
    """Draw how many results each arm had, over time; the most measured arms by name."""
    history = history_of(source)
    arms = history.problem.arms
    ax = _axes((8.0, 4.2)) if ax is None else ax
    looks, counts = pulls_over_time(history)
    order = np.argsort(-counts[-1], kind="stable")
    named = order[: len(LINES)] if len(arms) > len(LINES) else order
    rest = order[len(named) :]
    for a in rest:
        ax.plot(looks, counts[:, a], color=GREY, linewidth=0.8, alpha=0.7, zorder=1)
    for a, colour in zip(named, LINES, strict=False):
        label = f"{counts[-1, a]:,}  {plain(arms[a])}"
        ax.plot(looks, counts[:, a], color=colour, linewidth=1.8, label=label, zorder=2)
    if len(rest):
        total = int(counts[-1, rest].sum())
        ax.plot([], [], color=GREY, linewidth=0.8, label=f"{total:,}  {len(rest)} others")
    ax.set(xlabel="measurements in all", ylabel="measurements of the option", ylim=(0, None))
    ax.set_xlim(0, max(1, int(looks[-1])))
    _legend_beside(ax)
    return clean(ax)


def evidence(source: Session | Study, ax: Axes | None = None) -> Axes:
    """Draw what the stopping rule compares, over time.

    What that is, each rule declares (`psips.rules.stopping`): the likelihood ratio and its
    threshold, how many answers are proven, or the posterior probability that the Pareto set
    is another than the candidate set, with delta.
    """
    history = history_of(source)
    ax = _axes((8.0, 3.8)) if ax is None else ax
    found = evidence_over_time(history)
    ax.set_xlabel("measurements in all")
    ax.set_xlim(0, max(1, len(history.arms)))
    if not len(found.results):
        ax.text(
            0.5, 0.5, "not every arm has been measured", transform=ax.transAxes, ha="center"
        )
    elif found.curve.below:
        _probability(ax, found.results, found.value, found.level, history.rules.delta)
    elif found.curve.counts:
        ax.step(found.results, found.value, where="post", color=BLUE, label="answers settled")
        ax.plot(found.results, found.threshold, "--", color=VERMILION, label="all: stops here")
        ax.set(ylabel=found.curve.unit, ylim=(0, 1.08 * history.problem.n))
    else:
        ax.plot(found.results, found.value, color=BLUE, label="evidence")
        ax.plot(found.results, found.threshold, "--", color=VERMILION, label="stops above")
        ax.set_ylabel(found.curve.unit)
    if len(found.results):
        _legend_beside(ax)
    return clean(ax)


def samples(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw the simulated number of samples of a plan, for each delta, with the lower bound.

    Or what they cost, if the problem has costs.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    ax = _axes((7.2, 4.2)) if ax is None else ax
    rows = sorted(plan.forecasts, key=lambda one: -one.delta)
    costs = plan.problem.has_costs
    for place, one in enumerate(rows):
        quantiles = one.cost_quantiles if costs else one.quantiles
        given_up = [q for q in quantiles if np.isfinite(q)][-1:] if costs else [plan.cap]
        low, first, middle, third, high = (min(q, *given_up, np.inf) for q in quantiles)
        ax.plot([low, high], [place, place], color=BLUE, linewidth=1.2, zorder=1)
        ax.plot([first, third], [place, place], color=BLUE, linewidth=7, alpha=0.5, zorder=2)
        ax.plot(middle, place, "o", color=BLUE, zorder=3)
        if one.lower_bound is not None:
            ax.plot(
                one.lower_bound, place, "|", color=VERMILION, markersize=16, markeredgewidth=2
            )
    ax.plot([], [], "o", color=BLUE, label="median")
    ax.plot([], [], color=BLUE, linewidth=7, alpha=0.5, label="half of the runs")
    ax.plot([], [], color=BLUE, linewidth=1.2, label="90% of the runs")
    if any(one.lower_bound is not None for one in rows):
        ax.plot(
            [],
            [],
            "|",
            color=VERMILION,
            markersize=14,
            label="lower bound, centre of the guess",
        )
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, frameon=False)
    ax.set_yticks(range(len(rows)), [f"delta {one.delta:g}" for one in rows])
    unit = "cost" if costs else "samples"
    ax.set(xlabel=unit, xscale="log", ylim=(len(rows) - 0.5, -0.5))
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    return clean(ax)


def allocation(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw the samples of each arm in a plan, the 20 most sampled arms."""
    ax = _axes((7.2, 4.2)) if ax is None else ax
    shown = sorted(plan.mean_pulls.items(), key=lambda item: -item[1])[:20]
    ax.barh(
        [plain(arm) for arm, _ in shown], [mean for _, mean in shown], color=BLUE, height=0.7
    )
    ax.invert_yaxis()
    ax.set_xlabel(f"samples of the arm on average, delta {plan.delta:g}")
    return clean(ax)


def plan(found: Plan) -> Figure:
    """Draw `samples` and `allocation` side by side, as one figure."""
    arms = min(20, len(found.mean_pulls))
    figure = _figure((12.5, max(3.6, 1.4 + 0.26 * arms)))
    samples(found, figure.add_subplot(1, 2, 1))
    allocation(found, figure.add_subplot(1, 2, 2))
    return figure


def _problem(source: Session | Study) -> Problem:
    if not isinstance(source, Session | Study):
        raise InputError(f"expected a Session or a Study, got {quote(source)}")
    return source.problem


def _pair(problem: Problem, objectives: Sequence[str] | None) -> tuple[int, int]:
    names = problem.objectives[:2] if objectives is None else tuple(objectives)
    check_keys("objective", names, problem.objectives)
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(f"a front is drawn in two different objectives, got {list(names)}")
    return problem.objectives.index(names[0]), problem.objectives.index(names[1])


def _probability(ax: Axes, results: Any, value: Any, level: Any, delta: float) -> None:
    floor = 1e-12  # below it no one reads the axis
    label = "probability of another Pareto set"
    ax.semilogy(results, np.maximum(value, floor), color=BLUE, label=label)
    ax.axhline(delta, linestyle="--", color=VERMILION, label=f"delta = {delta:g}")
    if level is not None:
        ax.semilogy(
            results,
            np.maximum(level, floor),
            ":",
            color="black",
            label="1 / M: the rule stops below it",
        )
    ax.set(ylabel="probability, given the data", ylim=(None, 1.5))


def _legend(ax: Axes, known: Status) -> None:
    handles = [handle_of(mark) for mark in used_marks(known)]
    ax.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False
    )


def _legend_beside(ax: Axes) -> None:
    """Put the legend next to the axes, or below them if the figure is narrow."""
    figure: Any = ax.figure.figure  # that of a subfigure is the whole
    below = figure.get_figwidth() < WIDE and figure.get_constrained_layout()
    if not below:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    else:
        handles, names = ax.get_legend_handles_labels()
        short = all(len(name) <= SHORT for name in names)
        figure.legend(
            handles,
            names,
            loc="outside lower left",
            ncols=2 if short else 1,
            frameon=False,
            fontsize=9,
        )


def detached(size: tuple[float, float]) -> Axes:
    """Return axes of a figure that belongs to no window: nothing has to be closed.

    Parameters
    ----------
    size : (float, float)
        Width and height in inches.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def _figure(size: tuple[float, float]) -> Figure:
    """Return a new figure that notebooks show."""
    from matplotlib import pyplot

    return pyplot.figure(figsize=size, layout="constrained")


def _axes(size: tuple[float, float]) -> Axes:
    return _figure(size).add_subplot()
