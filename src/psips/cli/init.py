"""``psips init``: a design file from a table of past results."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psips.cli.screen import progress_line
from psips.cli.table_options import ArmColumnOrArm, Sheet
from psips.cli.writing import check_target, write_whole
from psips.errors import counted
from psips.input.escaping import one_line
from psips.input.escaping import plain as harmless

if TYPE_CHECKING:
    from psips.input.tabular import Grid
    from psips.study.drafting import Draft

SKIP = "skip"


def init(
    results: Annotated[
        Path, typer.Argument(help="Past results (CSV, Excel, Parquet), one on each line.")
    ],
    out: Annotated[Path, typer.Option(help="Design file to write.")] = Path("design.toml"),
    name: Annotated[
        str | None, typer.Option(help="Name of the study; the file's name if left out.")
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN[=min]",
            help="Column that is an objective; once for each.",
        ),
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Objective of which logarithms are compared; once for each.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", "--overwrite", help="Overwrite a file that exists.")
    ] = False,
    sheet: Sheet = None,
    arm_column: ArmColumnOrArm = None,
) -> None:
    """Write a design file from past results.

    Arms, objectives, directions and the noise are taken from the results, or asked for.
    """
    check_target(out, force)
    with progress_line("reading"):
        from psips.input.directions import read_ways
        from psips.study.drafting import as_toml, draft_design, read_table

        grid = read_table(results, sheet, arm_column)
    chosen = read_ways(objective) if objective else None
    if os.isatty(0):
        chosen = _ask(grid, chosen)
    draft = draft_design(grid, name, chosen, tuple(dict.fromkeys(log or ())))
    text = as_toml(draft)
    write_whole(out, text)
    typer.echo(harmless(_said(draft, results, out, sheet, arm_column)))


def _ask(grid: Grid, chosen: dict[str, str | None] | None) -> dict[str, str | None]:
    """Ask for the direction of each objective that has none yet."""
    from psips.input.checks import DIRECTIONS, SPELLINGS
    from psips.input.directions import guess_direction
    from psips.study.drafting import find_objectives

    if chosen is None:
        chosen = dict.fromkeys(find_objectives(grid)[0])
    answers: dict[str, str | None] = {}
    for name, way in chosen.items():
        answer = way
        while answer not in (*DIRECTIONS, SKIP):
            given = typer.prompt(
                f"{one_line(name)}: is more better (max), or less (min), or is it no objective "
                f"({SKIP})?",
                default=guess_direction(name),
                err=True,
            )
            answer = SPELLINGS.get(given.strip().casefold(), given.strip().casefold())
        if answer != SKIP:
            answers[name] = answer
    return answers


def _said(
    draft: Draft, results: Path, out: Path, sheet: str | None, arm_column: str | None
) -> str:
    """Say what was found, what was guessed, and what comes next."""
    problem = draft.problem
    low, high = draft.interval
    arms, objectives = counted(problem.K, "arm"), counted(problem.d, "objective")
    lines = [f"written: {out}, with {arms} and {objectives}"]
    if draft.dialect:
        lines.append(f"  {draft.file} was read with {draft.dialect}")
    for objective, way, scale in zip(
        problem.objectives, problem.directions, problem.scales, strict=True
    ):
        guess = " (guessed: look at it)" if objective in draft.guessed else ""
        kinds = {", 0 or 1": scale.binary, ", by its logarithm": scale.log}
        kinds[", exact: no noise"] = scale.exact
        kind = "".join(text for text, holds in kinds.items() if holds)
        better = "more" if way == "max" else "less"
        lines.append(f"  {objective}: {better} is better{guess}{kind}")
        if objective in draft.skewed:
            lines.append(
                f"    positive and skewed (skewness {draft.skewed[objective]:.1f}): with "
                f"--log {_word(objective)} means of\n    its logarithm are compared, that is "
                "geometric means, and what is claimed is about these"
            )
    lines += [f"  {name} {why}: left out" for name, why in draft.left_out.items()]
    missing = draft.results - draft.complete
    if missing:
        lines.append(f"  {missing} of {draft.results:,} results lack a value")
    lines.append(
        f"noise: estimated from the results you tell; the {draft.complete:,} complete ones "
        f"here give it\nwithin a factor of {low:.2f} to {high:.2f} (95%)"
    )
    if draft.between is not None:
        pairs = zip(problem.objectives, draft.between.tolist(), strict=True)
        shares = ", ".join(f"{share:.0%} of the variance of {one}" for one, share in pairs)
        lines.append(f"arms are compared within items; between them is about {shares}")
    options = f" --sheet {_word(sheet)}" if sheet else ""
    options += f" --arm-column {_word(arm_column)}" if arm_column else ""
    table, design = _word(str(results)), _word(str(out))
    study = _word(problem.name)
    lines += [
        "next:",
        f"  psips check {table} --problem {design}{options}",
        f"  psips plan {design}",
        f"  psips study create {design}",
        f"  psips study tell {study} --csv {table}{options}",
    ]
    return "\n".join(lines)


def _word(text: str) -> str:
    """Quote what a shell would take apart."""
    from shlex import quote

    return quote(text)
