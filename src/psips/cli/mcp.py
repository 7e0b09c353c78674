"""``psips mcp``: studies as tools of an agent."""

from __future__ import annotations

from typing import Annotated

import typer

from psips.cli.reading import DEFAULT, checked_store
from psips.cli.study_options import StoreUrl, Who


def mcp(
    store: StoreUrl = DEFAULT,
    who: Who = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer only the tools that change nothing.")
    ] = False,
) -> None:
    """Let an agent work on studies, by the Model Context Protocol.

    A program that runs agents starts this command and speaks to it over standard input and
    output. The tools: list_studies, create_study, ask, tell, status, report. Nothing is
    claimed before a study has stopped.
    """
    url = checked_store(store)
    from psips.adapters.mcp import server

    server(url, who, read_only).run("stdio")
