"""``psips calibrate``: how often each stopping rule errs on this machine's random numbers."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psips.cli.screen import number, output, progress_line

if TYPE_CHECKING:
    from psips.simulation.calibration import Row


def calibrate(
    runs: Annotated[int, typer.Option(help="Of each rule, delta and family.")] = 300,
    jobs: Annotated[int, typer.Option(help="Runs at a time; -1 for all cores.")] = 1,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to compute on.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="CSV file, added to if it exists; a .md beside it has tables.")
    ] = Path("calibration.csv"),
    rule: Annotated[
        list[str] | None, typer.Option(help="Take this rule only (can be repeated).")
    ] = None,
    delta: Annotated[
        list[float] | None, typer.Option(help="Instead of 0.1 and 0.05 (can be repeated).")
    ] = None,
    family: Annotated[
        list[str] | None, typer.Option(help="Take this family only (can be repeated).")
    ] = None,
    max_samples: Annotated[int, typer.Option(help="Cap of a run.")] = 3_000_000,
    broken: Annotated[
        bool, typer.Option("--broken", help="Measure a rule that is broken on purpose as well.")
    ] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Measure what is on file with as many runs as well."),
    ] = False,
) -> None:
    """Measure the error rate of every stopping rule over fixed families of instances."""
    from psips.errors import InputError, quote, unknown
    from psips.simulation.calibration import BROKEN, DELTAS, NAMES, RULES, measure, together
    from psips.simulation.calibration_file import kept, merged, read, write
    from psips.simulation.cluster import on_dask

    page = out.with_suffix(".md")
    if out.suffix != ".csv":
        raise InputError(
            f"--out {quote(str(out))}: expected a name ending in .csv, beside which the tables "
            f"are written as .md; choose such a name"
        )
    if not out.parent.is_dir():
        raise InputError(
            f"--out {quote(str(out))}: there is no folder {quote(str(out.parent))}"
        )
    if page.exists() and not out.exists():
        raise InputError(
            f"--out {quote(str(out))}: {quote(str(page))} would be overwritten, and there is "
            f"no calibration beside it that it could belong to; name another file"
        )
    if max_samples < 1:
        raise InputError(f"--max-samples must be at least 1, got {max_samples}")
    for name in family or ():
        if name not in NAMES:
            raise unknown("family", name, list(NAMES))
    rules = {one.name: one for one in ((BROKEN, *RULES) if broken else RULES)}
    for name in rule or ():
        if name not in rules:
            raise unknown("rule", name, list(rules))
    rows = read(out) if out.exists() else []
    asked = product(rule or rules, delta or DELTAS, family or NAMES)
    known = set() if again else set(asked) & set(kept(rows, runs, max_samples))
    with on_dask(dask), progress_line("loading") as line:
        for row in measure(
            runs=runs,
            jobs=jobs,
            deltas=delta or DELTAS,
            rules=[rules[name] for name in rule or rules],
            only=family,
            cap=max_samples,
            skip=known,
            progress=line,
        ):
            rows = merged(rows, row)
            write(rows, out)  # what is done is on file, should this be interrupted
    if not rows:
        raise InputError("nothing was measured: no rule given has a proof in a family given")
    write(rows, out)  # the page as well, if nothing was left to measure
    _show(together(rows))
    if known:
        typer.echo(
            f"\n{len(known)} of the cells asked for {'is' if len(known) == 1 else 'are'} kept "
            f"as on file, with as many runs or more; --again measures anew"
        )
    typer.echo(f"\nwritten: {out}, {page}")


def _show(rows: list[Row]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title="All families together")
    for title in ("rule", "delta", "runs", "errors", "interval", "", "samples", "at least"):
        left = title in ("rule", "")
        table.add_column(title, justify="left" if left else "right")
    for row in rows:
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
