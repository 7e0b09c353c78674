"""``psips report``: one file on a study for people to read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psips.cli.rank import Reference, Weights, numbers
from psips.cli.reading import DEFAULT, checked_store
from psips.cli.screen import progress_line
from psips.cli.study_options import Name, Overwrite, StoreUrl
from psips.cli.writing import check_target, write_whole


def report(
    name: Name,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    weight: Weights = None,
    reference: Reference = None,
    overwrite: Overwrite = False,
    store: StoreUrl = DEFAULT,
) -> None:
    """Write a report of a study, as one HTML page.

    It has the design, the data, the front, verdicts, how the study went, and checks.
    """
    check_target(out, overwrite)
    weights, point = numbers("--weight", weight), numbers("--reference", reference)
    with progress_line("writing the report"):
        from psips.report import report as write
        from psips.store import open_store
        from psips.study import Study

        with open_store(checked_store(store)) as opened:
            text = write(Study.open(name, opened), weights=weights, reference=point)
    write_whole(out, text)
    typer.echo(f"written: {out}")
