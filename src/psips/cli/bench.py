"""``psips lab bench``: what a round costs on this machine."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psips.cli.screen import number, output, progress_line

if TYPE_CHECKING:
    from psips.lab.bench import Timing


def bench(
    out: Annotated[Path, typer.Option(help="Folder for bench.csv and bench.png.")] = Path(
        "bench"
    ),
) -> None:
    """Time draws and rounds on this machine.

    Literal draws are timed against first-hit draws, and rounds as K, d, |Z| and 1/delta grow.
    """
    from psips.errors import InputError, quote

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"--out {quote(str(out))} cannot be a folder: {error.strerror}"
        ) from None
    with progress_line("loading") as line:
        import pandas as pd

        from psips.lab.bench import plot, run_bench

        rows = list(run_bench(line))
        pd.DataFrame(rows).to_csv(out / "bench.csv", index=False)
        plot(rows, str(out / "bench.png"))
    _show(rows)
    typer.echo(f"\nwritten: {out / 'bench.csv'}, {out / 'bench.png'}")


def _show(rows: list[Timing]) -> None:
    from rich.table import Table

    from psips.lab.bench import growth

    table = Table(
        box=None, pad_edge=False, title="Literal against first-hit draws, one process"
    )
    for title in (
        "instance",
        "delta",
        "rounds",
        "us",
        "points",
        "literal us",
        "draws",
        "ratio",
    ):
        table.add_column(title, justify="left" if title == "instance" else "right")
    for row in rows:
        if row.what == "draws":
            table.add_row(
                row.name,
                f"{row.size:g}",
                number(row.rounds),
                f"{row.us_per_round:.1f}",
                f"{row.points_per_round:.2f}",
                *(
                    "" if math.isnan(value) else number(value)
                    for value in (row.literal_us, row.literal_points, row.ratio)
                ),
            )
    console = output()
    console.print(table)
    console.print("us and points (proposals and draws) are of a round\n", style="dim")
    for what, exponent in growth(rows).items():
        chosen = [row for row in rows if row.what == what]
        steps = ", ".join(f"{row.size:g}: {row.us_per_round:.1f}" for row in chosen)
        console.print(f"us a round by {what} ({chosen[0].name}): {steps}; ~ ^{exponent:.2f}")
