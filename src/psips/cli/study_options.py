"""Arguments and options that the commands of ``psips study`` share."""

from __future__ import annotations

from typing import Annotated

import typer

Name = Annotated[str, typer.Argument(help="The study.")]
StoreUrl = Annotated[
    str,
    typer.Option(
        "--store", envvar="PSIPS_STORE", help="Database: sqlite:/// or postgresql://."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
TicketId = Annotated[str | None, typer.Option("--ticket", help="Ticket of the result.")]
Number = Annotated[int | None, typer.Option("--result", help="Number of the result.")]
Values = Annotated[
    list[str] | None,
    typer.Option("--value", help="objective=number, once for each objective."),
]
Reason = Annotated[str, typer.Option(help="Why, for the log.")]
Key = Annotated[
    str | None,
    typer.Option(help="Key of the event: repeated with the same key, it is recorded once."),
]
Who = Annotated[
    str | None, typer.Option("--as", help="Who does it, for the log; the login if left out.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write over a file that exists.")]
