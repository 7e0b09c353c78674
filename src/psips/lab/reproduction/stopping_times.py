"""Figures of the number of samples until the stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from psips.lab.cells import Cell
from psips.lab.reproduction.contenders import (
    LOOKS,
    STOP,
    YARDSTICKS,
    Contender,
    contenders,
    label_of,
)
from psips.lab.reproduction.drawing import boxes, lines, plain_ticks, sheet
from psips.lab.reproduction.figure import (
    Claim,
    Figure,
    Row,
    claim_between,
    claim_errors,
    claim_samples,
    mean,
    pick,
    ratio,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

UNSTRUCTURED = ("directed", "posterior", "track-and-stop", "ape", "elimination")
BASELINES = ("round-robin", "uniform", "oracle")
CAP = 200_000  # of baselines with psips' stop: APE, late, leaves the other arms alone
PAR = (0.8, 1.25)  # ratios that count as "on par" and "close"


class Panel(NamedTuple):
    """Where a contender is put to the test."""

    name: str
    instance: str
    delta: float
    params: dict[str, Any] = {}  # noqa: RUF012
    drawn: bool = False  # a random instance for each run, with the run's number as its seed
    x: float = math.nan


def rows_of(panels: Sequence[Panel], contenders: Sequence[Contender]) -> Callable[[int], Any]:
    """Return the rows of every contender in every panel, as a function of the runs."""

    def rows(runs: int) -> list[Row]:
        return [
            Row(
                panel.name,
                one.rule,
                one.stop,
                panel.x,
                Cell(
                    panel.instance,
                    one.rules(panel.delta),
                    run,
                    {**panel.params, "seed": run} if panel.drawn else panel.params,
                    10**6 if one.stop == "own" else CAP,
                ),
            )
            for panel in panels
            for one in contenders
            for run in range(runs)
        ]

    return rows


def bound(panel: Panel) -> float:
    """Return the lower bound T* kl(delta, 1 - delta) of a panel's instance."""
    from psips.lab.instances import instance
    from psips.theory.geometry import complexity

    made = instance(panel.instance, **panel.params)
    return complexity(made.problem, made.theta).lower_bound_kl(panel.delta)


# COV-BOOST

TRIAL = [Panel(f"delta = {delta}", "cov-boost", delta) for delta in (0.1, 0.01, 0.001)]


def _draw_trial(frame: pd.DataFrame) -> Drawing:
    return boxes(frame, {panel.name: bound(panel) for panel in TRIAL})


def _judge_trial(frame: pd.DataFrame) -> list[Claim]:
    claims = claim_samples(
        frame, "published PSIPS outperforms uniform sampling", "posterior", "round-robin"
    )
    for other in ("ape", "oracle"):
        text = f"published PSIPS is slightly worse than {label_of(other)}"
        claims += claim_samples(frame, text, "posterior", other, (1.0, 1.5))
    found = mean(pick(frame, "posterior", TRIAL[0].name)["samples"])
    text = "published PSIPS takes 20,456 samples at delta 0.1, to within a quarter"
    claims.append(claim_between(text, found, 0.75 * 20456, 1.25 * 20456, "mean"))
    for rule, stop in dict.fromkeys(zip(frame["rule"], frame["stop"], strict=True)):
        if rule not in ("directed", *YARDSTICKS):
            text = f"psips' default needs fewer samples than {label_of(rule, stop)}"
            claims += claim_samples(frame, text, "directed", rule, stop=stop)
    for panel in dict.fromkeys(frame["panel"]):
        oracle = pick(frame, "oracle", panel, stop=STOP)
        found = ratio(pick(frame, "directed", panel)["samples"], oracle["samples"])
        text = "psips' default needs at most what the oracle with the same stop needs"
        claims.append(
            claim_between(text, found, -math.inf, 1.0, f"{panel}: ratio to the oracle")
        )
    return [*claims, claim_errors(frame)]


# Correlated objectives

RHOS = (-0.9, -0.6, -0.3, 0.0, 0.3, 0.6, 0.9)
CORRELATIONS = [Panel(f"rho = {r:g}", "correlated", 0.01, {"rho": r}, x=r) for r in RHOS]


def _draw_correlations(frame: pd.DataFrame) -> Drawing:
    figure, (ax,) = sheet(1, 5.6, 3.2)
    lines(ax, frame, "x", "samples")
    ax.plot(
        RHOS,
        [bound(panel) for panel in CORRELATIONS],
        color="black",
        ls=":",
        label="lower bound",
    )
    ax.set(xlabel=r"correlation $\rho$ of the objectives", ylabel="mean samples until stop")
    ax.set_yscale("log")
    plain_ticks(ax.yaxis)
    ax.set_xticks(RHOS)
    figure.legend(loc="outside right upper")
    return figure


def _judge_correlations(frame: pd.DataFrame) -> list[Claim]:
    claims = []
    for rule in ("posterior", "directed"):
        at = {r: pick(frame, rule, f"rho = {r:g}")["samples"] for r in (-0.9, 0.0)}
        text = (
            f"{label_of(rule)} needs fewer samples at rho = -0.9 than at 0, up to a factor of 3"
        )
        claims.append(claim_between(text, ratio(at[0.0], at[-0.9]), 1.0, math.inf, "factor"))
    for rule in ("ape", "track-and-stop"):
        ends = [pick(frame, rule, f"rho = {r:g}")["samples"] for r in (-0.9, 0.9)]
        if len(ends[0]):
            text = f"{label_of(rule)} does not depend on rho"
            claims.append(claim_between(text, ratio(*ends), *PAR, "rho = -0.9 over 0.9: ratio"))
    return [*claims, claim_errors(frame)]


# Random instances

RANDOM = [
    Panel("Gaussian", "random-gaussian", 0.01, {"K": 5, "d": 2}, drawn=True),
    Panel("Bernoulli", "random-bernoulli", 0.01, {"K": 5, "d": 2}, drawn=True),
]
DIMENSIONS = [
    Panel(f"d = {d}", "random-gaussian", 0.01, {"K": 10, "d": d}, drawn=True)
    for d in (3, 4, 5, 6)
]
# None of two million draws with K = 40 has H <= 500, the paper's bound.
ARMS = [
    Panel(
        f"K = {K}" + (" (H up to 3,000)" if K == 40 else ""),
        "random-bernoulli",
        0.01,
        {"K": K, "d": 2, "max_complexity": 3000.0 if K == 40 else 500.0},
        drawn=True,
    )
    for K in (10, 15, 25, 40)
]
SIZES = {
    **dict(zip((p.name for p in DIMENSIONS), (4.42, 6.78, 8.57, 9.21), strict=True)),
    **dict(zip((p.name for p in ARMS), (1.73, 1.64, 1.37, 1.28), strict=True)),
}


def _judge_random(frame: pd.DataFrame) -> list[Claim]:
    text = "published PSIPS is competitive: at most a quarter more samples than {}"
    claims = []
    for other in ("ape", "round-robin", "oracle"):
        bounds = (-math.inf, PAR[1])
        claims += claim_samples(frame, text.format(label_of(other)), "posterior", other, bounds)
    return [*claims, *_default_wins(frame), claim_errors(frame)]


def _judge_dimensions(frame: pd.DataFrame) -> list[Claim]:
    claims = claim_samples(frame, "published PSIPS outperforms APE", "posterior", "ape")
    text = "published PSIPS is on par with uniform sampling"
    claims += claim_samples(frame, text, "posterior", "round-robin", PAR)
    return [*claims, *_sizes(frame), *_default_wins(frame), claim_errors(frame)]


def _judge_arms(frame: pd.DataFrame) -> list[Claim]:
    claims = claim_samples(frame, "published PSIPS outperforms APE", "posterior", "ape")
    text = "published PSIPS outperforms uniform sampling"
    claims += claim_samples(frame, text, "posterior", "round-robin")
    return [*claims, *_sizes(frame), *_default_wins(frame), claim_errors(frame)]


def _sizes(frame: pd.DataFrame) -> list[Claim]:
    claims = []
    for panel in dict.fromkeys(frame["panel"]):
        found = mean(pick(frame, "directed", panel)["optimal"])
        text = f"{panel}: the average Pareto set has {SIZES[panel]} members, to within 0.5"
        claims.append(
            claim_between(text, found, SIZES[panel] - 0.5, SIZES[panel] + 0.5, "mean")
        )
    return claims


def _default_wins(frame: pd.DataFrame) -> list[Claim]:
    text = "psips' default needs fewer samples than published PSIPS"
    return claim_samples(frame, text, "directed", "posterior")


# Network on Chip

CHIP = [Panel("NoC, delta = 0.1", "noc", 0.1)]


def _draw_chip(frame: pd.DataFrame) -> Drawing:
    return boxes(frame, {panel.name: bound(panel) for panel in CHIP})


def _judge_chip(frame: pd.DataFrame) -> list[Claim]:
    text = "round robin needs more than five times the samples of published PSIPS"
    bounds = (5.0, math.inf)
    claims = claim_samples(frame, text, "round-robin", "posterior", bounds)
    return [*claims, *_default_wins(frame), claim_errors(frame)]


# Every rule on every instance

ALL_PANELS = [
    Panel("cov-boost", "cov-boost", 0.1),
    Panel("correlated, rho -0.9", "correlated", 0.1, {"rho": -0.9}),
    Panel("correlated, rho 0", "correlated", 0.1, {"rho": 0.0}),
    Panel("correlated, rho 0.9", "correlated", 0.1, {"rho": 0.9}),
    Panel("rotated", "rotated", 0.1),
    Panel("random-gaussian, K 10, d 3", "random-gaussian", 0.1, {"K": 10, "d": 3}),
    Panel("random-gaussian, K 10, d 6", "random-gaussian", 0.1, {"K": 10, "d": 6}),
    Panel("random-bernoulli, K 10, d 2", "random-bernoulli", 0.1, {"K": 10, "d": 2}),
]
LINEAR = [Panel("noc", "noc", 0.1), Panel("noc-transductive", "noc-transductive", 0.1)]


def _every_rows(runs: int) -> list[Row]:
    plain = rows_of(ALL_PANELS, contenders(*UNSTRUCTURED, *BASELINES))(runs)
    linear = contenders("directed", "posterior", "track-and-stop", *BASELINES)
    return [*plain, *rows_of(LINEAR, linear)(runs)]


def _draw_every(frame: pd.DataFrame) -> Drawing:
    figure, (ax,) = sheet(1, 7.0, 3.9)
    panels = [panel for panel in (*ALL_PANELS, *LINEAR) if panel.name in set(frame["panel"])]
    bounds = {panel.name: bound(panel) for panel in panels}
    for rule, look in LOOKS.items():
        chosen = frame[frame["rule"] == rule].groupby("panel")["samples"].mean()
        places = [-i for i, panel in enumerate(panels) if panel.name in chosen.index]
        at = [chosen[p.name] / bounds[p.name] for p in panels if p.name in chosen.index]
        if at:
            size = 9 if rule == "oracle" else 6
            ax.plot(
                at, places, look.marker, color=look.colour, ms=size, label=look.label, alpha=0.9
            )
    ax.set_xscale("log")
    plain_ticks(ax.xaxis)
    ax.set_yticks([-i for i in range(len(panels))], [panel.name for panel in panels])
    ax.set_xlabel("mean samples over the lower bound, delta = 0.1")
    figure.legend(loc="outside right upper")
    return figure


def _judge_every(frame: pd.DataFrame) -> list[Claim]:
    return [*_default_wins(frame), claim_errors(frame)]


FIGURES = [
    Figure(
        "cov-boost",
        "Samples until stop on COV-BOOST",
        1.0,
        rows_of(
            TRIAL,
            contenders("directed", "projected", *UNSTRUCTURED[1:], *BASELINES, also_psips=True),
        ),
        _draw_trial,
        _judge_trial,
    ),
    Figure(
        "correlation",
        "Samples until stop against the correlation of the objectives, delta = 0.01",
        1.0,
        rows_of(CORRELATIONS, contenders(*UNSTRUCTURED, "round-robin", "oracle")),
        _draw_correlations,
        _judge_correlations,
    ),
    Figure(
        "random",
        "Random Gaussian and Bernoulli instances, K = 5, d = 2, delta = 0.01",
        0.5,
        rows_of(RANDOM, contenders(*UNSTRUCTURED, "round-robin", "oracle")),
        boxes,
        _judge_random,
    ),
    Figure(
        "noc",
        "Network on Chip, 259 linear designs",
        1.0,
        rows_of(CHIP, contenders("directed", "posterior", "track-and-stop", *BASELINES)),
        _draw_chip,
        _judge_chip,
    ),
    Figure(
        "dimension",
        "Random Gaussian instances with K = 10 and more objectives, delta = 0.01",
        0.4,
        rows_of(
            DIMENSIONS, contenders("directed", "posterior", "ape", "elimination", "round-robin")
        ),
        boxes,
        _judge_dimensions,
    ),
    Figure(
        "arms",
        "Random Bernoulli instances with d = 2 and more arms, delta = 0.01",
        0.4,
        rows_of(ARMS, contenders("directed", "posterior", "ape", "elimination", "round-robin")),
        boxes,
        _judge_arms,
    ),
    Figure(
        "rules",
        "Every rule on every instance, delta = 0.1",
        0.2,
        _every_rows,
        _draw_every,
        _judge_every,
    ),
]
