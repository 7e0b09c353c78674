"""``psips plan``: before anything is measured, what an experiment would take."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psips.cli.comparing import save, show_comparison
from psips.cli.screen import number, output, progress_bar, progress_line
from psips.cli.writing import check_plot

if TYPE_CHECKING:
    from psips.simulation.planning import Forecast, Plan

SHOWN = 20  # arms listed before the least sampled are left out


def plan(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Problem file (TOML) with a table [guess]; give several to compare them.",
        ),
    ],
    runs: Annotated[int, typer.Option(help="Simulated experiments for each delta.")] = 200,
    delta: Annotated[
        list[float] | None,
        typer.Option(
            metavar="NUMBER",
            help="Plan for this delta (repeat for more).  [default: 0.2, 0.1, 0.05, 0.01]",
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,VALUE",
            help="Compare designs that differ in a key, as delta=0.05,0.1 (repeat for more).",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of the random numbers; if left out, the file's own, or 0."),
    ] = None,
    max_samples: Annotated[
        int, typer.Option(help="Most measurements of a simulated experiment.")
    ] = 100_000,
    jobs: Annotated[int, typer.Option(help="Runs at a time; -1 for all cores.")] = 1,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to compute on.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="File to draw the plan to: .png, .svg or .pdf.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Estimate how many measurements an experiment will take.

    It also says which arms need most of them, and which near-ties cost most.

    With several files, or with --vary, compare the designs: samples, cost and the chance of a
    wrong set side by side.
    """
    from psips.errors import InputError, counted
    from psips.problem.goals_and_budget import THESE
    from psips.problem.problem_file import read_problem_file

    check_plot(plot)
    if len(files) > 1 or vary:
        if delta is not None:
            raise InputError("to compare designs, vary delta: --vary delta=0.05,0.1")
        options = {"runs": runs, "seed": seed or 0, "jobs": jobs, "cap": max_samples}
        show_comparison(
            [read_problem_file(one) for one in files], vary or [], options, dask, plot, as_json
        )
        return
    design = read_problem_file(files[0])
    for one in delta or ():
        if not 0 < one < 1:
            raise InputError(f"--delta must lie strictly between 0 and 1, got {one:g}")
    with progress_line("loading"):
        from psips.simulation import planning
        from psips.simulation.cluster import on_dask

        chosen = planning.rules_of(design)
        deltas = planning.DELTAS if delta is None else tuple(dict.fromkeys(delta))
        planning.Expectation(design)  # complains about a missing guess
    total = runs * len({chosen.delta, *deltas})
    if planning.equal_rules(chosen) is not None:
        total += min(runs, planning.EQUAL_RUNS)
    with on_dask(dask), progress_bar("working out a lower bound", total) as line:
        found = planning.plan(
            design,
            deltas=deltas,
            runs=runs,
            seed=(design.seed or 0) if seed is None else seed,
            jobs=jobs,
            cap=max_samples,
            progress=line,
        )
    if plot is not None:
        from psips import plots

        save(plots.plan(found), plot)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        _show(found, design.problem.name)
        if design.of == THESE:
            most = design.problem.K * len(design.problem.items)
            typer.echo(
                f"The plan is of items like these. The question is of these alone, which takes "
                f"fewer\nsamples: at most {most:,}, each arm on each of the "
                f"{counted(len(design.problem.items), 'item')}."
            )


def _show(found: Plan, name: str) -> None:
    from rich.markup import escape
    from rich.table import Table

    console = output()
    centre = found.complexity
    console.print(f"[bold]{escape(name)}[/bold], if the guess is right")
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("Pareto set", escape(", ".join(centre.pareto_set)))
    table.add_row("T*", f"{centre.t_star:,.4g}")
    if found.t_star_range is not None:
        low, high = found.t_star_range
        table.add_row("T* within the ranges", f"{low:,.4g} to {high:,.4g}")
    if found.misfit > 0:
        table.add_row(
            "linear model", f"misses the guess by up to {found.misfit:.2g} sd of a measurement"
        )
    console.print(table)
    console.print(
        "T*: how hard it is to tell the set from all others; samples grow with it", style="dim"
    )
    console.print()
    _forecasts(found)
    console.print()
    for tie in found.ties:
        if tie.share >= 0.5:
            first, second = (escape(answer) for answer in tie.answers)
            console.print(
                f"Separating {first} from {second} costs {tie.share:.0%} of the samples."
            )
    table = Table(box=None, pad_edge=False)
    table.add_column("near-tie")
    table.add_column("cost", justify="right")
    table.add_column("to leave out", justify="left")
    table.add_column("saves", justify="right")
    for tie in found.ties:
        pair, out = escape(" / ".join(tie.answers)), escape(tie.without)
        table.add_row(pair, f"{tie.share:.0%}", out, f"{tie.saves:.0%}")
    console.print(table)
    console.print(
        "cost: T* of telling just these two apart, as a share of T* (shares need not add up: a "
        "sample serves several comparisons); saves: by how much T* falls without that one",
        style="dim",
    )
    console.print()
    table = Table(box=None, pad_edge=False)
    table.add_column("arm")
    for title in ("mean samples", "best share"):
        table.add_column(title, justify="right")
    by_pulls = sorted(found.mean_pulls.items(), key=lambda item: -item[1])
    for arm, mean in by_pulls[:SHOWN]:
        table.add_row(escape(arm), number(mean), f"{centre.weights[arm]:.1%}")
    console.print(table)
    if len(by_pulls) > SHOWN:
        console.print(f"and {len(by_pulls) - SHOWN} more arms", style="dim")


def _forecasts(found: Plan) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    titles = (
        "delta",
        "at least",
        "5%",
        "median",
        "95%",
        "wrong sets",
        "95% interval",
        *(["gave up"] if any(one.stopped < one.runs for one in found.forecasts) else []),
    )
    items = found.problem.has_items
    for title in (*titles, *(["items"] if items else [])):
        table.add_column(title, justify="right")
    costs = found.problem.has_costs
    ends = costs or "budget" in found.settings
    gave_up = "more" if ends else f">{number(found.cap)}"
    for one in found.forecasts:
        low, high = one.error_interval
        quantiles = one.cost_quantiles if costs else one.quantiles
        cells = [number(q) if math.isfinite(q) else gave_up for q in quantiles]
        table.add_row(
            f"{one.delta:g}{'*' if one.delta == found.delta else ' '}",
            "-" if one.lower_bound is None else number(one.lower_bound),
            *(cells[0], cells[2], cells[4]),
            f"{one.errors} of {one.stopped}",
            f"{low:.3f} to {high:.3f}",
            *([str(one.runs - one.stopped or "")] if "gave up" in titles else []),
            *([_items(one)] if items else []),
        )
    unit = "cost" if costs else "samples"
    console = output()
    console.print(table)
    bound = "lower bound T* kl(delta, 1 - delta) of the mean, at the guess's centre"
    if "goal" in found.settings:
        bound = "no lower bound is known for this goal"
    elif not found.complexity.unique:
        bound = "no lower bound is known, since the tolerance makes several sets right"
    console.print(
        f"at least: {bound}; "
        f"5%, median, 95%: {unit} that so many of the simulated runs need; * the delta of the "
        "file, for which the samples of each arm are below"
        + ("; items: how many of them are enough for 95% of the runs" if items else ""),
        style="dim",
    )
    if found.equal is not None:
        console.print(_equal(found, found.equal))


def _equal(found: Plan, equal: Forecast) -> str:
    """Say what equal allocation needs, next to the adaptive design."""
    own = next(one for one in found.forecasts if one.delta == found.delta)
    costs = found.problem.has_costs
    needed, other = (
        (one.cost_quantiles if costs else one.quantiles)[2] for one in (own, equal)
    )
    ends = "the budget" if "budget" in found.settings else f"{number(found.cap)} samples"
    median = f"more than {ends}"
    if math.isfinite(other):
        times = f", {other / needed:.2g} times as much" if math.isfinite(needed) else ""
        median = f"{'a cost of ' if costs else ''}{number(other)}{times}"
    return (
        "Equal allocation (all arms measured equally often, the same stopping rule) needs "
        f"{median} (median of {equal.runs} runs at delta = {equal.delta:g})."
    )


def _items(one: Forecast) -> str:
    most = math.inf if one.item_quantiles is None else one.item_quantiles[-1]
    return number(most) if math.isfinite(most) else "more"
