"""``psips calibrate``: how often each stopping rule errs on this machine's random numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psips.cli.screen import number, output, progress_line

if TYPE_CHECKING:
    from psips.simulation.calibration import Row


def calibrate(
    runs: Annotated[int, typer.Option(help="Of each rule, delta and family.")] = 300,
    jobs: Annotated[int, typer.Option(help="Runs at a time; -1 for all cores.")] = 1,
    out: Annotated[Path, typer.Option(help="CSV file; a .md beside it has the tables.")] = Path(
        "calibration.csv"
    ),
    family: Annotated[
        list[str] | None, typer.Option(help="Take this family only (can be repeated).")
    ] = None,
    max_samples: Annotated[int, typer.Option(help="Cap of a run.")] = 200_000,
    broken: Annotated[
        bool, typer.Option("--broken", help="Measure a rule that is broken on purpose as well.")
    ] = False,
) -> None:
    """Measure the error rate of every stopping rule over fixed families of instances."""
    from psips.errors import InputError
    from psips.simulation.calibration import BROKEN, RULES, families, markdown, measure

    if not out.parent.is_dir():
        raise InputError(f"--out {str(out)!r}: there is no folder {str(out.parent)!r}")
    if family is not None:
        from psips.errors import unknown

        known = list(families())
        for name in family:
            if name not in known:
                raise unknown("family", name, known)
    rows: list[Row] = []
    with progress_line("loading (the first time, compiling takes about two minutes)") as line:
        import pandas as pd

        rules = (BROKEN, *RULES) if broken else RULES
        for row in measure(
            runs=runs, jobs=jobs, rules=rules, only=family, cap=max_samples, progress=line
        ):
            rows.append(row)  # what is done is on file, should this be interrupted
            pd.DataFrame([one.to_dict() for one in rows]).to_csv(out, index=False)
            out.with_suffix(".md").write_text(markdown(rows))
    _show(rows)
    typer.echo(f"\nwritten: {out}, {out.with_suffix('.md')}")


def _show(rows: list[Row]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title="All families together")
    for title in ("rule", "delta", "runs", "errors", "interval", "", "samples", "at least"):
        left = title in ("rule", "")
        table.add_column(title, justify="left" if left else "right")
    for row in rows:
        if row.family == "all":
            table.add_row(
                row.rule,
                f"{row.delta:g}",
                number(row.runs),
                str(row.errors),
                f"{row.low:.4f} to {row.high:.4f}",
                row.label,
                number(row.mean_samples),
                number(row.lower_bound),
                style="bold red" if row.label == "above delta" else None,
            )
    output().print(table)
