"""``psips check``: do results satisfy the assumptions? Exit code 1 if not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from psips.cli.screen import progress_line
from psips.cli.table_options import ArmColumnOrArm, Sheet
from psips.input.escaping import as_json as written
from psips.input.escaping import plain as harmless

FOUND = 1


def check(
    results: Annotated[
        Path,
        typer.Argument(help="File (CSV, Excel, Parquet) with columns arm and each objective."),
    ],
    problem: Annotated[Path, typer.Option(help="Problem file (TOML).")],
    time: Annotated[
        str | None,
        typer.Option(
            help="Column of numbers or dates to sort by; if left out, the order of lines."
        ),
    ] = None,
    sheet: Sheet = None,
    arm_column: ArmColumnOrArm = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check whether results look as the design assumes.

    If they do not, it says what to do, and ends with code 1.
    """
    with progress_line("reading"):
        from psips.problem.problem_file import read_problem_file
        from psips.study.checking import check_file

        design = read_problem_file(problem).problem
        diagnosis, incomplete = check_file(
            design, results, sheet=sheet, arm_column=arm_column, time=time
        )
    if as_json:
        typer.echo(written({**diagnosis.to_dict(), "incomplete": list(incomplete)}))
    else:
        text = str(diagnosis)
        if incomplete:
            text += f"\n\n{left_out(incomplete)}"
        typer.echo(harmless(text))
    if diagnosis.findings:
        raise typer.Exit(FOUND)


def left_out(places: Sequence[str]) -> str:
    """Say which lines were not looked at, and what to do about them."""
    from textwrap import fill

    return fill(
        f"Left out, a value is missing: {', '.join(places)}. What to do: fill in what is "
        "known; `psips study tell --skip-incomplete` takes the other lines.",
        80,
        subsequent_indent="  ",
    )
