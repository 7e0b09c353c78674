"""``psips report``: one file on a study for people to read."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from psips.cli.rank import Reference, Weights, numbers
from psips.cli.reading import DEFAULT, checked_store, open_study
from psips.cli.screen import progress_line
from psips.cli.study_options import Name, Overwrite, StoreUrl
from psips.cli.writing import check_target, write_whole


class ReportFormat(StrEnum):
    """What a report is written as."""

    HTML = "html"
    GITHUB = "github"


def report(
    name: Name,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write.  [default: report.html; github: the terminal]"),
    ] = None,
    weight: Weights = None,
    reference: Reference = None,
    overwrite: Overwrite = False,
    store: StoreUrl = DEFAULT,
    form: Annotated[
        ReportFormat,
        typer.Option("--format", help="github: a comment on a pull request, in Markdown."),
    ] = ReportFormat.HTML,
) -> None:
    """Write a report of a study, as one HTML page.

    It has the design, the results, the front, verdicts, the history, and checks.
    """
    if form is ReportFormat.GITHUB:
        _comment(name, out, overwrite, store)
        return
    out = Path("report.html") if out is None else out
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


def _comment(name: str, out: Path | None, overwrite: bool, store: str) -> None:
    """Write how a study stands as Markdown."""
    if out is not None:
        check_target(out, overwrite)
    with open_study(name, store) as study:
        from psips.report.pull_request import study_comment

        text = study_comment(study.name, study.status())
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_whole(out, text)
        typer.echo(f"written: {out}")
