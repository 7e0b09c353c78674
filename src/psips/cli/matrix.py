"""``psips matrix``: a table of scores, arms by items, replayed as if it were measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psips.cli.comparing import save
from psips.cli.screen import Format, OutputFormat, progress_line, show_as, text_width
from psips.cli.table_options import Population, Sheet
from psips.cli.writing import check_plot, check_target, write_whole

if TYPE_CHECKING:
    from psips.evaluation.matrix import Replay


def matrix(
    scores: Annotated[
        list[str],
        typer.Argument(
            help="Logs of Inspect or lm-evaluation-harness, or folders of them; or a table "
            "(CSV, Excel, Parquet) with columns arm, item and each metric, or model, item, "
            "metric, value; or a table for each metric, as metric=file, with a line for each "
            "item and a column for each arm."
        ),
    ],
    objective: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=min|max]",
            help="Metric; once for each.  [default: all, with directions guessed by the names]",
        ),
    ] = None,
    made: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="NAME=COLUMN==VALUE",
            help="Metric that is 1 where a column has a value (or, with !=, has another).",
        ),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            "--epsilon",
            metavar="[NAME=]AMOUNT",
            help="Differences up to it do not matter; of one metric, or of all.",
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT",
            help="Exclude options that break it: 'latency <= 2'; once for each.",
        ),
    ] = None,
    control: Annotated[
        str | None, typer.Option(help="Arm that limits and percentages are relative to.")
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Compare logarithms of this metric; once for each."),
    ] = None,
    delta: Annotated[float, typer.Option(help="Accepted probability of a wrong set.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Seed of the order of the items.", min=0)] = 1,
    arm_column: Annotated[
        str | None,
        typer.Option(
            "--arm-column",
            "--arm",
            help="Column that names the options; of logs: model, task, solver, file or a "
            "setting.  [default: arm or model; of logs: the model, and what differs]",
        ),
    ] = None,
    item_column: Annotated[
        str,
        typer.Option(
            "--item-column",
            "--item",
            help="Column that names the items, or several, separated by commas.",
        ),
    ] = "item",
    repeats: Annotated[
        bool,
        typer.Option("--repeats", help="Lines of the same arm and item are repeats: average."),
    ] = False,
    of: Annotated[
        Population,
        typer.Option(
            "--of",
            help="Pareto set over which items: all like-these, which the table samples; or "
            "these alone, so that the set is certain once the table is complete.",
        ),
    ] = Population.LIKE_THESE,
    summary: Annotated[
        bool,
        typer.Option(
            "--summary",
            help="The table has means and standard errors: a line for each option, columns "
            "accuracy and 'accuracy se', or cells such as 0.71 ± 0.02.",
        ),
    ] = False,
    sheet: Sheet = None,
    cells: Annotated[
        Path | None, typer.Option(help="CSV file to write the cells to that were used.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Figure of the front to write (PNG, SVG, PDF).")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="HTML page to write.")] = None,
    force: Annotated[
        bool, typer.Option("--force", "--overwrite", help="Overwrite a file that exists.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    form: Format = OutputFormat.TEXT,
) -> None:
    """Find the Pareto set of a table of scores, or of logs.

    It also says how few cells of the table would have been enough.
    """
    form = OutputFormat.JSON if as_json else form
    if summary:
        others = {
            "--map": made,
            "--tolerance": tolerance,
            "--limit": limit,
            "--control": control,
            "--log": log,
            "--repeats": repeats,
            "--cells": cells,
            "--plot": plot,
            "--html": html,
            "--of": of is Population.THESE,
        }
        _summarised(scores, objective or [], arm_column, sheet, seed, others, form)
        return
    check_plot(plot)
    for target in (cells, plot, html):
        if target is not None:
            check_target(target, force)
    with progress_line("replaying"):
        found = _replayed(
            scores,
            _directions(objective or [], limit or [], made or []),
            {
                "delta": delta,
                "seed": seed,
                "control": control,
                "limits": limit or [],
                "of": of.replace("-", " "),
            },
            {"arm": arm_column, "repeats": repeats, "sheet": sheet},
            item_column,
            _named("--map", made or []),
            read_tolerance(tolerance or []),
            log or [],
        )
    if cells is not None:
        _write_cells(cells, found)
    if plot is not None:
        from psips import plots

        drawn = plots.fronts(found.session, status=found.status)[0].get_figure(root=True)
        assert drawn is not None
        save(drawn, plot)
    if html is not None:
        from psips.report.matrix import matrix_page

        write_whole(html, matrix_page(found, ", ".join(Path(one).name for one in scores)))

    def markdown() -> str:
        from psips.report.pull_request import matrix_comment

        return matrix_comment(found)

    show_as(form, found.to_dict(), found.text(text_width()), markdown)


def _summarised(
    files: Sequence[str],
    objective: Sequence[str],
    arm: str | None,
    sheet: str | None,
    seed: int,
    others: Mapping[str, Any],
    form: OutputFormat,
) -> None:
    """Say what a table of means says."""
    from psips.errors import InputError
    from psips.evaluation.summaries import judge, read_summary
    from psips.input.directions import read_ways

    for option, given in others.items():
        if given:
            raise InputError(f"{option} needs results, and --summary has means: leave it out")
    if len(files) != 1:
        raise InputError(f"--summary takes one table, got {len(files)}")
    ways = read_ways(objective)
    found = judge(read_summary(files[0], list(ways), arm, sheet), ways, seed)

    def markdown() -> str:
        from psips.report.pull_request import summary_comment

        return summary_comment(found)

    show_as(form, found.to_dict(), found.text(text_width()), markdown)


def _replayed(
    files: Sequence[str],
    directions: Mapping[str, str | None],
    question: Mapping[str, Any],
    table: Mapping[str, Any],
    item: str,
    maps: Mapping[str, str],
    epsilon: Any,
    log: Sequence[str],
) -> Replay:
    from psips.evaluation.logs import read_evaluations
    from psips.evaluation.matrix import replay

    scores = read_evaluations(files, list(directions), item=item, maps=maps, log=log, **table)
    return replay(scores, directions, epsilon=epsilon, log=log, **question)


def _directions(
    objectives: Sequence[str], limits: Sequence[str], made: Sequence[str]
) -> dict[str, str | None]:
    """Return the metrics that were named; those that are only limited are no objectives."""
    from psips.input.directions import read_ways
    from psips.problem.limits import ONLY, limited_metric

    ways = read_ways(objectives)
    if ways:
        ways.update({one: None for one in _named("--map", made) if one not in ways})
        limited = {limited_metric(text) for text in limits}
        ways.update({one: ONLY for one in limited if one not in ways})
    return ways


def _named(option: str, given: Sequence[str]) -> dict[str, str]:
    """Read ``name=text`` as often as it was given."""
    from psips.errors import InputError, quote

    found: dict[str, str] = {}
    for text in given:
        name, equals, rest = text.partition("=")
        if not (name and equals and rest):
            form = "NAME=COLUMN==VALUE" if option == "--map" else "NAME=AMOUNT"
            raise InputError(f"{option} must be {form}, got {quote(text)}")
        if name in found:
            raise InputError(f"{option} was given twice for {quote(name)}: give it once")
        found[name] = rest
    return found


def read_tolerance(given: Sequence[str]) -> Any:
    """Read a tolerance: one for all metrics, or one by name."""
    from psips.errors import InputError
    from psips.input.quantities import parse_number

    def amount(what: str, text: str) -> float | str:
        return text if text.strip().endswith("%") else parse_number(what, text)

    alone = [text for text in given if "=" not in text]
    if alone and len(given) > 1:
        raise InputError("give one --tolerance for all metrics, or each as NAME=AMOUNT")
    if alone:
        return amount("--tolerance", alone[0])
    named = _named("--tolerance", given)
    return {m: amount(f"the tolerance on {m!r}", text) for m, text in named.items()} or None


def _write_cells(path: Path, found: Replay) -> None:
    from psips.input.escaping import as_cell

    rows = ([_quoted(as_cell(name)) for name in pair] for pair in found.looked_at)
    lines = [",".join(row) for row in rows]
    write_whole(path, "\n".join(["arm,item", *lines, ""]))


def _quoted(cell: str) -> str:
    """Quote a cell that has a comma or a quote in it."""
    escaped = cell.replace('"', '""')
    return f'"{escaped}"' if any(mark in cell for mark in ',"\n') else cell
