"""Arguments and options that the commands of ``psips study`` share."""

from __future__ import annotations

from typing import Annotated

import typer

Name = Annotated[str, typer.Argument(help="The study.")]
StoreUrl = Annotated[
    str,
    typer.Option(
        "--store", envvar="PSIPS_STORE", help="Database: sqlite:///FILE or postgresql://..."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
TicketId = Annotated[str | None, typer.Option("--ticket", help="Ticket of the result.")]
Number = Annotated[int | None, typer.Option("--result", help="Number of the result.")]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--value", metavar="OBJECTIVE=NUMBER", help="A value; once for each objective."
    ),
]
Reason = Annotated[str, typer.Option(help="Why; the log keeps it.")]
Key = Annotated[
    str | None,
    typer.Option(
        help="Any text you choose: a command repeated with the same key is recorded once."
    ),
]
Who = Annotated[
    str | None,
    typer.Option("--as", help="Who does this, for the log; your login if left out."),
]
Overwrite = Annotated[
    bool, typer.Option("--force", "--overwrite", help="Overwrite a file that exists.")
]
