"""``psips report``: one file on a study for people to read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psips.cli.screen import progress_line
from psips.cli.study import DEFAULT, Name, StoreUrl


def report(
    name: Name,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    store: StoreUrl = DEFAULT,
) -> None:
    """Write a report of a study: design, data, front, verdicts, course and checks."""
    from psips.errors import InputError

    with progress_line("writing the report"):
        from psips.report import report as write
        from psips.store import open_store
        from psips.study import Study

        with open_store(store) as opened:
            text = write(Study.open(name, opened))
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror}") from None
    typer.echo(f"written: {out}")
