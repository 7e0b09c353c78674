"""``psips compare``: what became better or worse from one measurement to another."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from psips.cli.matrix import read_tolerance
from psips.cli.screen import Format, OutputFormat, progress_line, show_as, text_width
from psips.cli.table_options import Sheet

WORSE = 1


def compare(
    base: Annotated[
        str,
        typer.Argument(
            help="Before: what psips run has exported (JSON), a log of Inspect or "
            "lm-evaluation-harness, a folder of them, or a table (CSV, Excel, Parquet) with "
            "columns arm, item and each metric."
        ),
    ],
    new: Annotated[str, typer.Argument(help="After: the same.")],
    objective: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=min|max]",
            help="Metric; once for each.  [default: all that both have]",
        ),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=AMOUNT",
            help="Differences up to it do not matter: a number, or a share such as 2%.",
        ),
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Compare ratios of this metric; once for each."),
    ] = None,
    delta: Annotated[
        float, typer.Option(help="Accepted probability that any verdict is wrong.")
    ] = 0.1,
    arm_column: Annotated[
        str | None,
        typer.Option(
            "--arm-column",
            "--arm",
            help="Column or setting that names options.  [default: arm or model; of logs: the "
            "model, and what differs]",
        ),
    ] = None,
    item_column: Annotated[
        str, typer.Option("--item-column", "--item", help="Column that names the items.")
    ] = "item",
    repeats: Annotated[
        bool,
        typer.Option("--repeats", help="Lines of the same arm and item are repeats: average."),
    ] = False,
    sheet: Sheet = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    form: Format = OutputFormat.TEXT,
) -> None:
    """Say what became better or worse after a change.

    Values are compared item by item where both have the item. The verdicts hold together with
    the confidence asked for. The exit code is 1 if something is worse, 0 otherwise.
    """
    with progress_line("comparing"):
        from psips.evaluation.differences import compare as difference
        from psips.evaluation.logs import read_evaluations
        from psips.input.directions import read_ways

        ways = read_ways(objective or [])
        table: dict[str, Any] = {"repeats": repeats, "log": log or [], "sheet": sheet}
        before, after = (
            read_evaluations([one], list(ways), arm_column, item_column, **table)
            for one in (base, new)
        )
        found = difference(
            before,
            after,
            ways,
            delta=delta,
            tolerance=_by_metric(read_tolerance(tolerance or [])),
            log=log or [],
        )

    def markdown() -> str:
        from psips.report.pull_request import comparison_comment

        return comparison_comment(found, base, new)

    show_as(
        OutputFormat.JSON if as_json else form,
        found.to_dict(),
        found.text(text_width()),
        markdown,
    )
    raise typer.Exit(WORSE if found.worse else 0)


def _by_metric(given: Any) -> dict[str, float | str]:
    """Return tolerances by metric: one for all would mix their units."""
    from psips.errors import InputError

    if given is None or isinstance(given, dict):
        return given or {}
    raise InputError("give --tolerance by metric, as in --tolerance seconds=2%")
