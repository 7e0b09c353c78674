"""Options of the commands that read a table of results, or ask of items."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Population(StrEnum):
    """Of which items a question is."""

    LIKE_THESE = "like-these"
    THESE = "these"


Sheet = Annotated[
    str | None, typer.Option(help="Sheet of an Excel file, if more than one has cells.")
]
ArmColumn = Annotated[
    str | None, typer.Option(help="Column that names the arms, if it is not called arm.")
]
ArmColumnOrArm = Annotated[  # of commands in which --arm can mean nothing else
    str | None,
    typer.Option(
        "--arm-column", "--arm", help="Column that names the arms, if it is not called arm."
    ),
]
SkipIncomplete = Annotated[
    bool, typer.Option("--skip-incomplete", help="Leave out lines in which a value is missing.")
]
