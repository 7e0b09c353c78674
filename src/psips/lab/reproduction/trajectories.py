"""Figures of what happens round by round, with the stop disabled; and towards delta = 0."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from psips.lab.cells import Cell
from psips.lab.reproduction.contenders import LOOKS, Contender, contenders, label_of
from psips.lab.reproduction.drawing import lines, sheet
from psips.lab.reproduction.figure import (
    FAILS,
    HOLDS,
    OPEN,
    Claim,
    Figure,
    Interval,
    Row,
    claim_between,
    contenders_in,
    mean,
    pick,
    ratio,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


def marks_to(last: int, number: int = 40, first: int = 20) -> tuple[int, ...]:
    """Return rounds at which to look, evenly spaced on a logarithmic scale.

    Examples
    --------
    >>> marks_to(1000, 3, 10)
    (10, 100, 1000)
    """
    return tuple(int(t) for t in np.unique(np.geomspace(first, last, number).round()))


@cache
def t_star(name: str) -> float:
    """Return T* of a built-in instance."""
    from psips.lab.instances import instance
    from psips.theory.geometry import complexity

    made = instance(name)
    return complexity(made.problem, made.theta).t_star


def _traced(
    instance: str, each: list[Contender], delta: float, marks: tuple[int, ...], **more: Any
) -> Any:
    def rows(runs: int) -> list[Row]:
        return [
            Row(
                instance,
                one.rule,
                one.stop,
                math.nan,
                Cell(instance, one.rules(delta, **more), run, marks=marks),
            )
            for one in each
            for run in range(runs)
        ]

    return rows


# Runtime over the first T rounds

ROUNDS = 10_000
LITERAL = "literal draws"


def _runtime_rows(runs: int) -> list[Row]:
    marks = tuple(range(500, ROUNDS + 1, 500))
    each = contenders(
        "directed", "posterior", "track-and-stop", "ape", "elimination", "round-robin"
    )
    rows: list[Row] = _traced("cov-boost", each, 0.01, marks)(runs)
    published = _traced("cov-boost", [Contender("posterior")], 0.01, marks, draws="literal")
    return [*rows, *(row._replace(stop=LITERAL) for row in published(runs))]


def _draw_runtime(frame: pd.DataFrame) -> Drawing:
    figure, (ax,) = sheet(1, 5.6, 3.2)
    shown = frame.assign(ms=1e3 * frame["seconds"])
    for rule, stop, chosen in contenders_in(shown):
        groups = chosen.groupby("t")["ms"]
        look, own = LOOKS[rule], stop == "own"
        middle, low, high = groups.median(), groups.quantile(0.1), groups.quantile(0.9)
        name = look.label if own else f"{look.label},\nliteral draws"
        ax.plot(middle.index, middle, color=look.colour, ls="-" if own else "--", label=name)
        ax.fill_between(middle.index, low, high, color=look.colour, alpha=0.15, lw=0)
    ax.set_yscale("log")
    ax.set(xlabel="rounds $T$", ylabel="milliseconds for the first $T$ rounds")
    figure.legend(loc="outside right upper")
    return figure


def _judge_runtime(frame: pd.DataFrame) -> list[Claim]:
    last = frame[frame["t"] == ROUNDS]
    claims = []
    for rule in ("posterior", "directed"):
        a, b = pick(last, rule)["seconds"], pick(last, "ape")["seconds"]
        if len(b):
            text = (
                f"the cost of {label_of(rule)} is comparable to that of APE: within ten times"
            )
            claims.append(claim_between(text, ratio(a, b), 0.1, 10.0, "ratio of times"))
    slow = pick(last, "track-and-stop")["seconds"]
    if len(slow):
        text = "Track-and-Stop costs orders of magnitude more than published PSIPS"
        found = ratio(slow, pick(last, "posterior")["seconds"])
        claims.append(claim_between(text, found, 100.0, math.inf, "ratio of times"))
    return claims


# Draws until the first in the alternative

REJECTION_ROUNDS = 5000


def _rejection_rows(runs: int) -> list[Row]:
    each = contenders("posterior", "directed")
    rows: list[Row] = _traced("rotated", each, 0.01, marks_to(REJECTION_ROUNDS, 120, 6))(runs)
    return rows


def _draw_rejections(frame: pd.DataFrame) -> Drawing:
    figure, axes = sheet(2, 7.2, 3.0, sharey=True)
    shown = frame.assign(m=np.exp(frame["log_m"]), m_stop=np.exp(frame["log_m_stop"]))
    names = {"m": r"$m_t$, min learner", "m_stop": r"$m_{t,\delta}$, stopping rule"}
    for ax, (column, name) in zip(axes, names.items(), strict=True):
        lines(ax, shown, "t", column, centre="median", band=(0.25, 0.75))
        ax.set(xscale="log", yscale="log", title=name, xlabel="round $t$")
    for rule, _, chosen in contenders_in(shown):
        budget = np.exp(chosen.groupby("t")["log_budget"].mean())
        name = rf"$M(t,\delta)$ of {label_of(rule)}"
        colour = LOOKS[rule].colour
        axes[1].plot(budget.index, budget, color=colour, ls=":", lw=1.2, label=name)
    axes[0].set_ylabel("draws until the first in Alt")
    axes[1].legend(loc="upper left")
    return figure


def _judge_rejections(frame: pd.DataFrame) -> list[Claim]:
    claims = []
    for rule in ("posterior", "directed"):
        chosen = pick(frame, rule)
        middle = chosen.groupby("t")["log_m"].median()
        early, late = math.exp(middle.iloc[:10].mean()), math.exp(middle.iloc[-10:].mean())
        text = f"{label_of(rule)}: an alternative is found quickly at first, then ever later"
        verdict = HOLDS if late > 10 * early else FAILS
        numbers = f"median m_t {early:.1f} in the first looks, {late:.3g} in the last"
        claims.append(Claim(text, verdict, numbers))
        capped = chosen["log_m_stop"] >= chosen["log_budget"]
        reached = capped.groupby(chosen["t"]).mean()
        stops = chosen.drop_duplicates("run")["samples"].dropna()
        text = f"{label_of(rule)}: the stop comes when draws are rejected up to the budget"
        often = reached.index[reached >= 0.5]
        if not len(often) or not len(stops):
            claims.append(Claim(text, OPEN, "most runs have not used up the budget"))
            continue
        half, first = int(often.min()), float(stops.median())
        verdict = HOLDS if 0.25 < first / half < 1.5 else FAILS
        numbers = f"median first stop {first:.0f}; half of the runs use it up from round {half}"
        claims.append(Claim(text, verdict, numbers))
    return claims


# Probability of error with the stop disabled

ERROR_ROUNDS = 5000


def _error_rows(runs: int) -> list[Row]:
    each = contenders("directed", "posterior", "round-robin", "uniform", "oracle")
    marks = marks_to(ERROR_ROUNDS, 60, 25)
    rows: list[Row] = _traced("cov-boost", each, 0.1, marks, stopping="never")(runs)
    return rows


def _draw_errors(frame: pd.DataFrame) -> Drawing:
    figure, (ax,) = sheet(1, 5.6, 3.2)
    lines(ax, frame.assign(wrong=(~frame["correct"]).astype(float)), "t", "wrong")
    ax.set(xscale="log", xlabel="round $t$", ylabel=r"share of runs with $\hat{S}_t \neq S^*$")
    ax.set_ylim(0, 1.02)
    figure.legend(loc="outside right upper")
    return figure


def _judge_errors(frame: pd.DataFrame) -> list[Claim]:
    by_run = frame.assign(wrong=(~frame["correct"]).astype(float)).groupby(["rule", "run"])
    average = by_run["wrong"].mean()
    claims = []
    for rule in ("posterior", "directed"):
        gap = (average[rule] - average["round-robin"]).to_numpy()
        text = f"the error of {label_of(rule)} is close to that of uniform sampling: within 0.1"
        what = "difference, averaged over the looks,"
        claims.append(claim_between(text, mean(gap), -0.1, 0.1, what))
    return claims


# Posterior error against the optimal rate

RATE_ROUNDS = {"correlated": 20_000, "cov-boost": 200_000}


def _rate_rows(runs: int) -> list[Row]:
    rows = []
    each = contenders("directed", "posterior", "track-and-stop", "round-robin", "oracle")
    for name, last in RATE_ROUNDS.items():
        for one in each:
            if (name, one.rule) == ("cov-boost", "track-and-stop"):
                continue  # its rounds cost too much for so many
            for run in range(runs):
                marks = marks_to(last, 16, last // 100)
                cell = Cell(
                    name, one.rules(0.1, stopping="never"), run, marks=marks, posterior=True
                )
                rows.append(Row(name, one.rule, one.stop, math.nan, cell))
    return rows


def _rate(frame: pd.DataFrame) -> pd.DataFrame:
    """Add T* times the rate at which the posterior error has fallen so far: 1 is optimal."""
    scale = frame["panel"].map({name: t_star(name) for name in RATE_ROUNDS})
    return frame.assign(rate=-frame["log_error"] * scale / frame["t"])


def _draw_rate(frame: pd.DataFrame) -> Drawing:
    figure, axes = sheet(2, 7.6, 3.0, sharey=True)
    for ax, name in zip(axes, RATE_ROUNDS, strict=True):
        lines(ax, _rate(frame[frame["panel"] == name]), "t", "rate")
        ax.axhline(1.0, color="black", ls=":", lw=1)
        ax.set(xscale="log", xlabel="round $t$", title=name)
    axes[0].set_ylabel(r"$-T^*\, \log P(\mathrm{Alt} \mid \mathrm{data})\; /\; t$")
    axes[0].set_ylim(0, 2.5)
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside right upper")
    return figure


def _judge_rate(frame: pd.DataFrame) -> list[Claim]:
    claims = []
    for name, last in RATE_ROUNDS.items():
        for rule in ("posterior", "directed"):
            end = pick(_rate(frame[frame["t"] == last]), rule, name)
            text = f"{name}: P(Alt) of {label_of(rule)} falls at the rate 1/T*, to within 10%"
            what = f"T* times the rate after {last:,} rounds"
            claims.append(claim_between(text, mean(end["rate"]), 0.9, 1.1, what))
    return claims


# Towards delta = 0

DELTAS = (1e-1, 1e-2, 1e-3, 1e-5, 1e-10, 1e-20, 1e-35, 1e-50)
SLOW = ("track-and-stop", "round-robin")  # on COV-BOOST only down to ...
SLOW_DELTA = 1e-10


def _asymptotic_rows(runs: int) -> list[Row]:
    each = contenders("directed", "posterior", "track-and-stop", "ape", "round-robin", "oracle")
    return [
        Row(
            name,
            one.rule,
            one.stop,
            delta,
            Cell(name, one.rules(delta), run, max_results=5 * 10**6),
        )
        for name in RATE_ROUNDS
        for one in each
        for delta in DELTAS
        if not (name == "cov-boost" and one.rule in SLOW and delta < SLOW_DELTA)
        for run in range(runs)
    ]


def _normalised(frame: pd.DataFrame) -> pd.DataFrame:
    scale = frame["panel"].map({name: t_star(name) for name in RATE_ROUNDS})
    nats = -np.log(frame["delta"])
    return frame.assign(nats=nats, ratio=frame["samples"] / (scale * nats))


def _draw_asymptotic(frame: pd.DataFrame) -> Drawing:
    figure, axes = sheet(2, 7.6, 3.1, sharey=True)
    for ax, name in zip(axes, RATE_ROUNDS, strict=True):
        shown = _normalised(frame[frame["panel"] == name])
        lines(ax, shown, "nats", "ratio")
        ax.axhline(1.0, color="black", ls=":", lw=1)
        ax.set(xscale="log", yscale="log", title=name, xlabel=r"$\delta$")
        shown_at = (1e-1, 1e-3, 1e-10, 1e-50)
        ax.set_xticks(
            [-math.log(delta) for delta in shown_at],
            [rf"$10^{{{round(math.log10(delta))}}}$" for delta in shown_at],
        )
        ax.set_xticks([], minor=True)
    axes[0].set_ylim(bottom=0.7)
    axes[0].set_yticks([1, 2, 3, 5, 10], ["1", "2", "3", "5", "10"])
    axes[0].set_yticks([], minor=True)
    axes[0].set_ylabel(r"mean samples / ($T^* \log(1/\delta)$)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
    return figure


def _judge_asymptotic(frame: pd.DataFrame) -> list[Claim]:
    claims = []
    shown = _normalised(frame)
    for name in RATE_ROUNDS:
        for rule in ("posterior", "directed"):
            at = {
                d: pick(shown, rule, name, delta=d)["ratio"] for d in (DELTAS[-2], DELTAS[-1])
            }
            found: Interval = mean(at[DELTAS[-1]])
            text = f"{name}: {label_of(rule)} is within 10% of T* log(1/delta) at 1e-50"
            what = f"ratio at 1e-50 (at 1e-35: {at[DELTAS[-2]].mean():.2f})"
            claims.append(claim_between(text, found, -math.inf, 1.1, what))
    return claims


FIGURES = [
    Figure(
        "runtime",
        "Runtime of the first T rounds on COV-BOOST, delta = 0.01",
        0.1,
        _runtime_rows,
        _draw_runtime,
        _judge_runtime,
        timed=True,
    ),
    Figure(
        "rejections",
        "Draws until the first alternative on the rotated instance, delta = 0.01",
        2.0,
        _rejection_rows,
        _draw_rejections,
        _judge_rejections,
    ),
    Figure(
        "error",
        "Probability of error on COV-BOOST, stop disabled",
        2.0,
        _error_rows,
        _draw_errors,
        _judge_errors,
    ),
    Figure(
        "posterior-error",
        "Posterior error against the optimal rate",
        0.1,
        _rate_rows,
        _draw_rate,
        _judge_rate,
    ),
    Figure(
        "asymptotic",
        "Samples over T* log(1/delta), from delta = 1e-1 to 1e-50",
        0.1,
        _asymptotic_rows,
        _draw_asymptotic,
        _judge_asymptotic,
    ),
]
