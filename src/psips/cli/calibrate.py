"""``psips lab calibrate``: how often each stopping rule errs in simulations."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psips.cli.instance_options import command_of
from psips.cli.screen import number, output, progress_line

if TYPE_CHECKING:
    from psips.lab.calibration.adversarial import Breach
    from psips.lab.calibration.measuring import Judgement, Row, Rule


def calibrate(
    runs: Annotated[
        int, typer.Option(help="Runs of each rule, delta and family; slow families get fewer.")
    ] = 300,
    jobs: Annotated[int, typer.Option(help="Runs at a time; -1 for all cores.")] = 1,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to compute on.")
    ] = None,
    out: Annotated[
        Path,
        typer.Option(help="CSV file to write or add to; tables go to a .md file next to it."),
    ] = Path("calibration.csv"),
    rule: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this rule (repeat for more).")
    ] = None,
    delta: Annotated[
        list[float] | None,
        typer.Option(
            metavar="NUMBER",
            help="Only this delta (repeat for more).  [default: 0.3, 0.2, 0.1, 0.05, 0.01]",
        ),
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this family (repeat for more)."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this group of families (repeat for more)."),
    ] = None,
    max_samples: Annotated[
        int | None, typer.Option(help="Most measurements of a run, below the family's own.")
    ] = None,
    broken: Annotated[
        bool, typer.Option("--broken", help="Also measure a rule that is broken on purpose.")
    ] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Also measure again what the file has with as many runs."),
    ] = False,
    adversarial: Annotated[
        bool,
        typer.Option(
            "--adversarial",
            help="Search for instances that break a rule: the default rule at delta 0.1, or "
            "--rule and --delta. Suspects are run again --runs times on fresh seeds.",
        ),
    ] = False,
    tries: Annotated[int, typer.Option(help="How many instances the search draws.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    add: Annotated[
        bool,
        typer.Option(
            "--add", help="Add instances that broke a rule to the calibration, for good."
        ),
    ] = False,
) -> None:
    """Measure how often every stopping rule is wrong.

    It runs each rule on fixed families of instances.
    """
    from psips.errors import InputError, unknown
    from psips.lab.calibration.measuring import BROKEN, DEFAULT, RULES

    if max_samples is not None and max_samples < 1:
        raise InputError(f"--max-samples must be at least 1, got {max_samples}")
    if not adversarial:
        _check_out(out)
    if not adversarial and add:
        raise InputError("--add belongs to a search: give --adversarial as well")
    rules = {one.name: one for one in ((BROKEN, *RULES) if broken else RULES)}
    for name in rule or ():
        if name not in rules:
            raise unknown("rule", name, list(rules))
    if adversarial:
        chosen = [rules[name] for name in rule or [DEFAULT]]
        _search(chosen, delta or [0.1], tries, seed, runs, max_samples, jobs, dask, add)
    else:
        chosen = [rules[name] for name in rule or rules]
        names = _families(family, group)
        _measure(out, chosen, delta, names, runs, max_samples, jobs, dask, again)


def _check_out(out: Path) -> None:
    from psips.errors import InputError, quote

    page = out.with_suffix(".md")
    if out.suffix != ".csv":
        raise InputError(
            f"--out {quote(str(out))}: expected a name ending in .csv (tables go "
            f"to a .md file next to it); choose such a name"
        )
    if not out.parent.is_dir():
        raise InputError(
            f"--out {quote(str(out))}: there is no folder {quote(str(out.parent))}"
        )
    if page.exists() and not out.exists():
        raise InputError(
            f"--out {quote(str(out))}: {quote(str(page))} would be overwritten, and it is "
            f"not the page of a calibration; name another file"
        )


def _families(family: list[str] | None, group: list[str] | None) -> list[str]:
    """Return the names of the families asked for, all if none is."""
    from psips.errors import unknown
    from psips.lab.calibration.families import GROUPS, families

    every = families()
    for name in family or ():
        if name not in every:
            raise unknown("family", name, list(every))
    for name in group or ():
        if name not in GROUPS:
            raise unknown("group of families", name, list(GROUPS))
    return [
        name
        for name, one in every.items()
        if not (family or group) or name in (family or ()) or one.group in (group or ())
    ]


def _measure(
    out: Path,
    rules: list[Rule],
    delta: list[float] | None,
    names: list[str],
    runs: int,
    cap: int | None,
    jobs: int,
    dask: str | None,
    again: bool,
) -> None:
    from psips.errors import InputError
    from psips.lab.calibration.file import kept, merged, read, write
    from psips.lab.calibration.measuring import DELTAS, judge, measure, together
    from psips.simulation.cluster import on_dask

    rows = read(out) if out.exists() else []
    asked = product([one.name for one in rules], delta or DELTAS, names)
    known = set() if again else set(asked) & set(kept(rows, runs, cap))
    with on_dask(dask), progress_line("loading") as line:
        for row in measure(
            runs=runs,
            jobs=jobs,
            deltas=delta or DELTAS,
            rules=rules,
            only=names,
            cap=cap,
            skip=known,
            progress=line,
        ):
            rows = merged(rows, row)
            write(rows, out)  # what is done is on file, should this be interrupted
    if not rows:
        raise InputError(
            "nothing was measured: none of these rules has a proof for these families"
        )
    write(rows, out)  # the page as well, if nothing was left to measure
    _show(together(rows), judge(rows))
    if known:
        typer.echo(
            f"\n{len(known)} of the cells asked for {'is' if len(known) == 1 else 'are'} kept "
            f"as on file, with as many runs or more; --again measures them again"
        )
    typer.echo(f"\nwritten: {out}, {out.with_suffix('.md')}")


def _show(rows: list[Row], judged: list[Judgement]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title="All families together")
    for title in ("rule", "delta", "runs", "errors", "interval", "samples", "at least"):
        table.add_column(title, justify="left" if title == "rule" else "right")
    for row in rows:
        table.add_row(
            row.rule,
            f"{row.delta:g}",
            number(row.runs),
            str(row.errors),
            f"{row.low:.4f} to {row.high:.4f}",
            number(row.mean_samples),
            number(row.lower_bound),
        )
    console = output()
    console.print(table)
    console.print()
    table = Table(box=None, pad_edge=False, title="What the cells say of each rule")
    for title in ("rule", "", "cells", "can tell", "worst cell"):
        table.add_column(title, justify="right" if title in ("cells", "can tell") else "left")
    for one in judged:
        worst = "no error"
        if one.worst:
            row = one.worst[0]
            worst = f"{row.family} at {row.delta:g}: {row.errors} of {number(row.runs)}"
        table.add_row(
            one.rule,
            one.verdict,
            number(one.cells),
            number(one.telling),
            worst,
            style="bold red" if one.verdict == "broken" else None,
        )
    console.print(table)


def _search(
    rules: list[Rule],
    deltas: list[float],
    tries: int,
    seed: int,
    runs: int,
    cap: int | None,
    jobs: int,
    dask: str | None,
    add: bool,
) -> None:
    from psips.lab.calibration.adversarial import LIMIT, search
    from psips.lab.calibration.found import add_found, found_path
    from psips.simulation.cluster import on_dask

    found: list[Breach] = []
    with on_dask(dask), progress_line("loading") as line:
        for rule, delta in product(rules, deltas):
            found += search(
                rule,
                delta=delta,
                tries=tries,
                seed=seed,
                again=runs,
                cap=LIMIT if cap is None else cap,
                jobs=jobs,
                progress=line,
            )
    _show_search(found, tries)
    if add:
        new = add_found([one.found() for one in found if one.broken])
        typer.echo(f"\n{new} new in {found_path()}")


def _show_search(found: list[Breach], tries: int) -> None:
    from rich.table import Table

    table = Table(
        box=None, pad_edge=False, title=f"The worst of {tries} instances, run on fresh seeds"
    )
    for title in ("rule", "delta", "errors", "interval", "", "to make it again"):
        table.add_column(title, justify="right" if title in ("delta", "errors") else "left")
    for one in found:
        table.add_row(
            one.rule,
            f"{one.delta:g}",
            f"{one.errors} of {one.runs}",
            f"{one.low:.3f} to {one.high:.3f}",
            "breaks" if one.broken else "",
            command_of(one.name, one.params),
            style="bold red" if one.broken else None,
        )
    output().print(table)
