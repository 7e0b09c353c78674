"""Plots of a session or study; each function returns the matplotlib axes it drew on.

Colours are those of Okabe and Ito, which colour-blind people can tell apart; the shapes of
the marks say the same once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from psips.errors import InputError, check_keys
from psips.history import evidence_over_time, history_of, pulls_over_time
from psips.kernels.model import Floats
from psips.labels import plain, write_names
from psips.session import Session
from psips.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psips.planning import Plan
    from psips.problem import Problem
    from psips.status import Status

BLUE, GREEN, VERMILION, GREY = "#0072B2", "#009E73", "#D55E00", "#999999"
LINES = (BLUE, "#E69F00", GREEN, VERMILION, "#CC79A7", "#56B4E9", "#000000")
RADIUS_95 = 2.4477468306808161  # of a standard normal in the plane: sqrt(-2 log 0.05)
NORMAL_95 = 1.959963984540054
LABELLED = 30  # answers whose names are written; with more, only those not yet out


class Mark(NamedTuple):
    """How one kind of answer is drawn."""

    label: str
    marker: str
    colour: str
    filled: bool


MARKS = (
    Mark("candidate, proven in", "D", GREEN, True),
    Mark("candidate, not proven", "o", BLUE, True),
    Mark("not a candidate, not proven", "o", VERMILION, False),
    Mark("proven out", "x", GREY, True),
)


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
        _intervals(ax, problem, known)
    else:
        x, y = _pair(problem, objectives)
        _plane(ax, problem, known, x, y)
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
        height = 5.2 if problem.d > 1 else max(2.4, 1.2 + 0.32 * problem.n)
        figure = _figure((8.0 if columns == 1 else 11.5, height * rows + 0.5))
    known = source.status() if status is None else status
    drawn = []
    for place, pair in enumerate(pairs, start=1):
        ax = figure.add_subplot(rows, columns, place)
        drawn.append(front(source, ax, pair, legend=False, status=known))
    figure.legend(
        handles=[_handle(mark) for mark in _used(known)],
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
    ax.set(xlabel="results in all", ylabel="results of the arm", ylim=(0, None))
    ax.set_xlim(0, max(1, int(looks[-1])))
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    return _clean(ax)


def evidence(source: Session | Study, ax: Axes | None = None) -> Axes:
    """Draw what the stopping rule compares, over time.

    The rules ``posterior``, ``bayes`` and ``never`` have the posterior probability that the
    Pareto set is another than the candidate set, with delta; ``glr`` the likelihood ratio
    and its threshold; ``predicted`` that of the results since the prediction against the
    nearest other set; ``certified`` how many answers are proven in or out.
    """
    history = history_of(source)
    ax = _axes((8.0, 3.8)) if ax is None else ax
    found = evidence_over_time(history)
    ax.set_xlabel("results in all")
    ax.set_xlim(0, max(1, len(history.arms)))
    if not len(found.results):
        ax.text(
            0.5, 0.5, "not every arm has been measured", transform=ax.transAxes, ha="center"
        )
    elif found.rule in ("glr", "predicted"):
        ax.plot(found.results, found.value, color=BLUE, label="evidence")
        ax.plot(found.results, found.threshold, "--", color=VERMILION, label="stops above")
        ax.set_ylabel("log-likelihood ratio")
    elif found.rule == "certified":
        ax.step(found.results, found.value, where="post", color=BLUE, label="answers settled")
        ax.plot(found.results, found.threshold, "--", color=VERMILION, label="all: stops here")
        ax.set(ylabel="answers proven in or out", ylim=(0, 1.08 * history.problem.n))
    else:
        _probability(ax, found.results, found.value, found.level, history.rules.delta)
    if len(found.results):
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    return _clean(ax)


def samples(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw the simulated number of samples of a plan, for each delta, with the lower bound."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax = _axes((7.2, 4.2)) if ax is None else ax
    rows = sorted(plan.forecasts, key=lambda one: -one.delta)
    for place, one in enumerate(rows):
        low, first, middle, third, high = (min(q, plan.cap) for q in one.quantiles)
        ax.plot([low, high], [place, place], color=BLUE, linewidth=1.2, zorder=1)
        ax.plot([first, third], [place, place], color=BLUE, linewidth=7, alpha=0.5, zorder=2)
        ax.plot(middle, place, "o", color=BLUE, zorder=3)
        ax.plot(one.lower_bound, place, "|", color=VERMILION, markersize=16, markeredgewidth=2)
    ax.plot([], [], "o", color=BLUE, label="median")
    ax.plot([], [], color=BLUE, linewidth=7, alpha=0.5, label="half of the runs")
    ax.plot([], [], color=BLUE, linewidth=1.2, label="90% of the runs")
    ax.plot(
        [], [], "|", color=VERMILION, markersize=14, label="lower bound, centre of the guess"
    )
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, frameon=False)
    ax.set_yticks(range(len(rows)), [f"delta {one.delta:g}" for one in rows])
    ax.set(xlabel="samples", xscale="log", ylim=(len(rows) - 0.5, -0.5))
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    return _clean(ax)


def allocation(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw the samples of each arm in a plan, the 20 most sampled arms."""
    ax = _axes((7.2, 4.2)) if ax is None else ax
    shown = sorted(plan.mean_pulls.items(), key=lambda item: -item[1])[:20]
    ax.barh(
        [plain(arm) for arm, _ in shown], [mean for _, mean in shown], color=BLUE, height=0.7
    )
    ax.invert_yaxis()
    ax.set_xlabel(f"samples of the arm on average, delta {plan.forecasts[0].delta:g}")
    return _clean(ax)


def plan(found: Plan) -> Figure:
    """Draw `samples` and `allocation` beside each other, as one figure."""
    arms = min(20, len(found.mean_pulls))
    figure = _figure((12.5, max(3.6, 1.4 + 0.26 * arms)))
    samples(found, figure.add_subplot(1, 2, 1))
    allocation(found, figure.add_subplot(1, 2, 2))
    return figure


def _problem(source: Session | Study) -> Problem:
    if not isinstance(source, Session | Study):
        raise InputError(f"expected a Session or a Study, got {source!r}")
    return source.problem


def _pair(problem: Problem, objectives: Sequence[str] | None) -> tuple[int, int]:
    names = problem.objectives[:2] if objectives is None else tuple(objectives)
    check_keys("objective", names, problem.objectives)
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(f"a front is drawn in two different objectives, got {list(names)}")
    return problem.objectives.index(names[0]), problem.objectives.index(names[1])


def _mark(candidate: bool, verdict: str) -> int:
    """Which of MARKS an answer has."""
    if verdict == "out":
        return 3
    if not candidate:
        return 2
    return 0 if verdict == "in" else 1


def _marks(known: Status) -> list[int]:
    rows = zip(known.answers["candidate"], known.answers["verdict"], strict=True)
    return [_mark(candidate, verdict) for candidate, verdict in rows]


def _used(known: Status) -> list[Mark]:
    return [MARKS[m] for m in sorted(set(_marks(known)))]


def _estimates(problem: Problem, known: Status, c: int) -> tuple[Floats, Floats]:
    objective = problem.objectives[c]
    means = known.answers[f"{objective} estimate"].to_numpy()
    return means, known.answers[f"{objective} se"].to_numpy()


def _plane(ax: Axes, problem: Problem, known: Status, x: int, y: int) -> None:
    from matplotlib.patches import Ellipse

    (xs, x_se), (ys, _) = (_estimates(problem, known, c) for c in (x, y))
    Sigma = problem.covariance[np.ix_([x, y], [x, y])]
    values, vectors = np.linalg.eigh(Sigma)
    angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
    marks = _marks(known)
    for i in np.flatnonzero(np.isfinite(xs)):
        mark = MARKS[marks[i]]
        scale = (
            2 * RADIUS_95 * x_se[i] / np.sqrt(Sigma[0, 0])
        )  # the se are sqrt(width Sigma_cc)
        height, width = scale * np.sqrt(values)
        style: dict[str, Any] = {"color": mark.colour, "alpha": 0.18, "zorder": 1}
        ax.add_patch(Ellipse((xs[i], ys[i]), width, height, angle=angle, **style))
    _dots(ax, marks, xs, ys)
    ax.margins(0.08)
    ax.autoscale_view()
    if problem.d == 2:
        _staircase(ax, problem, xs, ys, known.answers["candidate"].to_numpy(bool))
    ax.set(xlabel=_title(problem, x), ylabel=_title(problem, y))
    _clean(ax)
    few = len(xs) <= LABELLED
    shown = [i for i in np.flatnonzero(np.isfinite(xs)).tolist() if few or marks[i] != 3]
    if not few and len(shown) > LABELLED:
        shown = [i for i in shown if marks[i] < 2]
    shown.sort(key=lambda i: marks[i])
    write_names(ax, problem.answers, xs, ys, shown)


def _staircase(ax: Axes, problem: Problem, xs: Floats, ys: Floats, inside: Any) -> None:
    """Draw the border of what the candidate set dominates."""
    if not inside.any():
        return
    signs = problem.signs
    order = np.argsort(signs[0] * xs[inside])
    px, py = xs[inside][order], ys[inside][order]
    x_end = ax.get_xlim()[0 if signs[0] > 0 else 1]
    y_end = ax.get_ylim()[0 if signs[1] > 0 else 1]
    corners = [(x_end, py[0])]
    for i in range(len(px)):
        corners.append((px[i], py[i]))
        corners.append((px[i], py[i + 1] if i + 1 < len(px) else y_end))
    across, up = np.array(corners).T
    ax.plot(
        across, up, color=BLUE, linewidth=0.8, alpha=0.5, zorder=0, scalex=False, scaley=False
    )


def _intervals(ax: Axes, problem: Problem, known: Status) -> None:
    means, ses = _estimates(problem, known, 0)
    order = np.argsort(-problem.signs[0] * means)  # what is not known comes last
    marks = _marks(known)
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
    ax.set_yticks(range(problem.n), [plain(problem.answers[i]) for i in order])
    ax.set(xlabel=_title(problem, 0), ylim=(problem.n - 0.5, -0.5))
    _clean(ax)


def _probability(ax: Axes, results: Any, value: Any, level: Any, delta: float) -> None:
    floor = 1e-12  # below it nobody reads the axis
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


def _handle(mark: Mark) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", label=mark.label, **_style(mark))


def _legend(ax: Axes, known: Status) -> None:
    handles = [_handle(mark) for mark in _used(known)]
    ax.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False
    )


def _title(problem: Problem, c: int) -> str:
    better = "more" if problem.directions[c] == "max" else "less"
    return f"{plain(problem.objectives[c])} ({better} is better)"


def _figure(size: tuple[float, float]) -> Figure:
    """Return a figure that belongs to no window: nothing has to be closed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _axes(size: tuple[float, float]) -> Axes:
    return _figure(size).add_subplot()


def _clean(ax: Axes) -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax
