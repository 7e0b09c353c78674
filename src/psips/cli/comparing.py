"""``psips plan`` of several designs: what each takes, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from psips.cli.screen import number, output, progress_bar, progress_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from psips.problem.problem_file import ProblemFile
    from psips.simulation.comparing import Comparison


def show_comparison(
    files: list[ProblemFile],
    vary: list[str],
    options: dict[str, Any],
    dask: str | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Simulate designs and print the results, with the time that is left meanwhile."""
    with progress_line("loading"):
        from psips.simulation.cluster import on_dask
        from psips.simulation.comparing import compare, read_designs
        from psips.simulation.planning import Expectation, check_amounts

        designs = read_designs(files, vary)
        for file in files:
            Expectation(file)  # complains about a missing guess
        check_amounts(*(options[key] for key in ("runs", "seed", "cap", "jobs")))
    with on_dask(dask), progress_bar("simulating", options["runs"] * len(designs)) as line:
        found = compare(designs, progress=lambda name: line(f"simulating {name}"), **options)
    if plot is not None:
        from psips import plots

        save(plots.comparison(found), plot)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        _show(found)


def save(figure: Figure, path: Path) -> None:
    """Write a figure."""
    from psips.errors import InputError

    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def _show(found: Comparison) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("design")
    costs = ["cost (95%)"] if found.has_costs else []
    titles = ["samples (95%)", "5% to 95%", *costs, "wrong sets", "95% interval", "no stop"]
    for title in titles:
        table.add_column(title, justify="right")
    for one in found.designs:
        low, high = one.error_interval
        cells = [
            _with_interval(one.samples, one.samples_interval),
            f"{number(one.quantiles[0])} to {number(one.quantiles[-1])}",
            *([_with_interval(one.cost, one.cost_interval)] if found.has_costs else []),
            f"{one.errors} of {one.stopped}",
            f"{low:.3f} to {high:.3f}" if one.stopped else "",
            str(one.runs - one.stopped) if one.stopped < one.runs else "",
        ]
        table.add_row(escape(one.name), *cells)
    console = output()
    console.print(table)
    console.print(
        f"if the guesses are right; {found.designs[0].runs} simulated runs of each, with the "
        "same seeds; means and chances with 95% intervals; 5% to 95%: samples of so many of "
        "the runs; no stop: runs that ended without a claim",
        style="dim",
    )


def _with_interval(mean: float, interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{number(mean)} ({number(low)} to {number(high)})"
