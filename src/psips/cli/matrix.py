"""``psips matrix``: a table of scores, arms by items, replayed as if it were measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psips.cli.screen import progress_line, show
from psips.cli.writing import check_target, write_whole


def matrix(
    scores: Annotated[
        list[str],
        typer.Argument(
            help="File (CSV, Excel, Parquet) with columns arm, item and each metric; or a file "
            "for each metric, as metric=file, with a line for each item and a column for each "
            "arm."
        ),
    ],
    objective: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=min]", help="Metric; once for each.  [default: all, more is better]"
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="Accepted probability of a wrong set.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Seed of the order of the items.", min=0)] = 1,
    arm_column: Annotated[str, typer.Option(help="Column that names the arms.")] = "arm",
    item_column: Annotated[str, typer.Option(help="Column that names the items.")] = "item",
    cells: Annotated[
        Path | None, typer.Option(help="CSV file to write the cells to that were used.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", "--overwrite", help="Overwrite a file that exists.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find the Pareto set of a table of scores.

    It also says how few cells of the table would have been enough.
    """
    if cells is not None:
        check_target(cells, force)
    with progress_line("replaying"):
        from psips.evaluation.matrix import read_scores, replay
        from psips.input.directions import read_ways

        chosen = read_ways(objective) if objective else {}
        wide = any("=" in file for file in scores)
        table = read_scores(scores, () if wide else list(chosen), arm_column, item_column)
        found = replay(table, chosen, delta=delta, seed=seed)
    if cells is not None:
        from psips.input.escaping import as_cell

        rows = ([_quoted(as_cell(name)) for name in pair] for pair in found.looked_at)
        lines = [",".join(row) for row in rows]
        write_whole(cells, "\n".join(["arm,item", *lines, ""]))
    show(found.to_dict(), str(found), as_json)


def _quoted(cell: str) -> str:
    """Quote a cell that has a comma or a quote in it."""
    escaped = cell.replace('"', '""')
    return f'"{escaped}"' if any(mark in cell for mark in ',"\n') else cell
