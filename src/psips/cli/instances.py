"""``psips instances``: what is built in."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from psips.cli.screen import output


def instances(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the built-in instances and their parameters.

    Those are options of `psips simulate` and `psips complexity`: d=4 is --d 4; seed=1 is
    --instance-seed 1.
    """
    from psips.lab.instances import instances as entries

    if as_json:
        plain = [entry._asdict() for entry in entries()]
        typer.echo(json.dumps({"instances": plain}, indent=2))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("instance", "what it is", "parameters"):
        table.add_column(title)
    for entry in entries():
        params = ", ".join(f"{name}={value}" for name, value in entry.params.items())
        table.add_row(entry.name, entry.description, params)
    output().print(table)
