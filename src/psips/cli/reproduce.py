"""``psips lab reproduce`` and ``results``: the paper's figures, and a page of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psips.cli.screen import output, progress_bar, progress_line


def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(help="Figures to draw (see --list); all if left out.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs of each cell; the paper has 500.")] = 30,
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("reproduced"),
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    jobs: Annotated[int, typer.Option(help="Worker processes; -1 for all cores.")] = -1,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to compute on.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the figures.")] = False,
) -> None:
    """Draw the paper's figures again, and check its claims.

    Each run is saved as it ends. If you interrupt the command, give it again to go on.
    """
    if listed:
        _list()
        return
    with progress_line("loading"):
        from psips.lab.reproduction.reproduce import Reproduction

        work = Reproduction(figures or [], out, runs=runs, seed=seed)
        missing = len(work.campaign.missing())
    console = output()
    try:
        with progress_bar("runs", missing) as line:
            lost = work.campaign.run(
                jobs=None if dask else jobs, dask=dask, progress=lambda: line("runs")
            )
    except KeyboardInterrupt:
        left = len(work.campaign.missing())
        console.print(f"interrupted: {missing - left} runs saved, {left} to do; run it again")
        raise typer.Exit(130) from None
    with progress_line("drawing"):
        found = work.write()
    for name, claims in found.items():
        console.print(f"[bold]{name}[/bold]")
        for claim in claims:
            console.print(f"  {claim}", soft_wrap=True, markup=False)
    for cell in lost:
        console.print(f"left out, its worker died each time: {cell}", markup=False)
    console.print(f"\nwritten to {out}: PNG, PDF, CSV and TXT of each figure")
    if lost:
        raise typer.Exit(1)


def _list() -> None:
    from rich.table import Table

    from psips.lab.reproduction.reproduce import FIGURES

    table = Table(box=None, pad_edge=False)
    table.add_column("figure")
    table.add_column("what it shows")
    table.add_column("runs with --runs 500", justify="right")
    for figure in FIGURES.values():
        table.add_row(figure.name, figure.title, str(figure.runs(500)))
    output().print(table)


def results(
    folder: Annotated[
        Path, typer.Argument(help="Where `psips lab reproduce` wrote its files.")
    ],
    out: Annotated[Path, typer.Option(help="Page to write.")] = Path("docs/results.md"),
) -> None:
    """Write the page of results from the figures' data."""
    from psips.lab.reproduction.results import write_page

    write_page(folder, out)
    typer.echo(f"written: {out}")
