"""``psips study``: experiments that run for months, over files and a database.

Exit codes: 0 fine, 1 the log does not verify, 2 bad input, 3 the study has stopped, 4 it is
not known whether it was recorded.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psips.cli.reading import (
    DEFAULT,
    checked_store,
    loading,
    open_study,
)
from psips.cli.screen import HELP, examples, late_line, show
from psips.cli.study_options import (
    Json,
    Key,
    Name,
    Number,
    Reason,
    StoreUrl,
    TicketId,
    Values,
    Who,
)
from psips.cli.study_text import (
    held,
    progress_of,
    recorded,
    released,
    skipped,
    status_lines,
    values_of,
    verdict_of,
)
from psips.cli.table_options import ArmColumn, Population, Sheet, SkipIncomplete
from psips.errors import counted
from psips.input.escaping import one_line
from psips.input.escaping import plain as harmless

if TYPE_CHECKING:
    from psips.study import Receipt, Ticket

NOT_VERIFIED = 1
STOPPED = 3

study = typer.Typer(
    help="Studies in a database: create, ask, tell, status, and more.",
    no_args_is_help=True,
    epilog="Exit codes: 0 fine, 1 the log was changed, 2 bad input, 3 stopped, 4 not known\n"
    "whether it was recorded.\n\n"
    + examples(
        "psips study create design.toml",
        "psips study ask trial -n 4",
        "psips study tell trial --csv results.csv",
        "psips study status trial",
    ),
    context_settings=HELP,
    rich_markup_mode=None,
)


@study.command(
    epilog=examples(
        "psips study create design.toml",
        "psips study create design.toml --name pilot --seed 7 --store sqlite:///lab.db",
    )
)
def create(
    file: Annotated[
        Path, typer.Argument(help="Problem file (TOML), with the name of the study.")
    ],
    name: Annotated[
        str | None, typer.Option(help="Name of the study, instead of the one in the file.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed, instead of the one in the file.")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(help="Results, or cost if arms have costs, that may be spent."),
    ] = None,
    time_limit: Annotated[
        str | None,
        typer.Option(help="Time from the first ask after which asking ends: 8h, 5d."),
    ] = None,
    of: Annotated[
        Population | None,
        typer.Option(
            "--of",
            help="Pareto set over which items: all like-these, which the list samples; or "
            "these alone.",
        ),
    ] = None,
    expected_results: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Results that the study is expected to take, as 300 or 100:1000: the "
            "threshold is lowest there. If left out, by the number of options.",
        ),
    ] = None,
    who: Who = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Register a study from a problem file."""
    with loading():
        from psips.input.quantities import parse_expected
        from psips.study import Study

        choices: dict[str, Any] = {}
        if expected_results is not None:
            choices["expected_results"] = parse_expected(expected_results)
        made = Study.create(
            file,
            checked_store(store),
            name=name,
            seed=seed,
            budget=budget,
            time_limit=time_limit,
            of=None if of is None else of.replace("-", " "),
            user=who,
            **choices,
        )
    state = made.state
    made.store.close()
    plain = {
        "study": made.name,
        "arms": list(state.problem.arms),
        "objectives": list(state.problem.objectives),
        "delta": state.rules.delta,
        "seed": state.seed,
    }
    arms = counted(state.problem.K, "arm")
    objectives = counted(state.problem.d, "objective")
    text = f"created the study {made.name!r}: {arms}, {objectives}, "
    show(plain, f"{text}delta {state.rules.delta:g}, seed {state.seed}", as_json)


@study.command(
    epilog=examples("psips study ask trial", "psips study ask trial -n 4 --expires 7 --json")
)
def ask(
    name: Name,
    n: Annotated[int, typer.Option("-n", "--n", help="How many tickets.")] = 1,
    expires: Annotated[
        float | None, typer.Option(help="Days after which a ticket counts as lost.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Give out tickets even if the study has stopped.")
    ] = False,
    key: Key = None,
    who: Who = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Give out tickets for the next measurements.

    Once the study has stopped it gives out none, and ends with code 3.
    """
    with open_study(name, store, who) as opened:
        tickets: list[Ticket] = []
        repeated = key is not None and key in opened.state.keys
        if anyway or repeated or opened.closed or not opened.stopped:
            wait = None if expires is None else expires * 86400
            tickets = opened.ask(n, expires=wait, key=key)
        stopped = opened.stopped
        plain = {
            "tickets": [
                {
                    "ticket": ticket.id,
                    "arm": ticket.arm,
                    **({} if ticket.item is None else {"item": ticket.item}),
                    "expires": ticket.expires,
                }
                for ticket in tickets
            ],
            "stopped": stopped,
        }
        lines = [
            "\t".join(one_line(cell) for cell in (t.id, t.arm, t.item) if cell is not None)
            for t in tickets
        ]
        show(plain, "\n".join(lines) if tickets else verdict_of(opened), as_json)
        _end(stopped)


@study.command(
    epilog=examples(
        "psips study tell trial --ticket trial-5c1e9a-000001 --value efficacy=1.2",
        "psips study tell trial --arm A --value efficacy=1.2 --value cost=0.3 --strict",
        "psips study tell trial --csv results.csv --keep-columns patient,date",
        "psips study tell trial --csv results.xlsx --sheet May --skip-incomplete",
    )
)
def tell(
    name: Name,
    ticket: TicketId = None,
    arm: Annotated[str | None, typer.Option(help="Arm, if there is no ticket.")] = None,
    item: Annotated[
        str | None, typer.Option(help="Item, if there is no ticket and the arms share items.")
    ] = None,
    value: Values = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            help="File (CSV, Excel, Parquet) with columns ticket or arm, and each objective."
        ),
    ] = None,
    skip_incomplete: SkipIncomplete = False,
    sheet: Sheet = None,
    arm_column: ArmColumn = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Record a file that was told before: its results are new measurements.",
        ),
    ] = False,
    keep_columns: Annotated[
        str,
        typer.Option(help="Other columns to record: names separated by commas, or all."),
    ] = "",
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Refuse values that are too far from the others to be noise."
        ),
    ] = False,
    key: Key = None,
    who: Who = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Record a result, or a file of results.

    A file is recorded as a whole, or not at all if a line is wrong.
    """
    from psips.errors import InputError

    if csv is not None and (ticket or arm or item or value):
        raise InputError("give either --csv or a single result, not both")
    if csv is None and not (ticket or arm):
        raise InputError("name what was measured: --ticket, --arm or --csv")
    of_files = {
        "--again": again,
        "--keep-columns": keep_columns,
        "--skip-incomplete": skip_incomplete,
        "--sheet": sheet,
        "--arm-column": arm_column,
    }
    for option, given in of_files.items():
        if csv is None and given:
            raise InputError(f"{option} belongs to a file of results: give one with --csv")
    with open_study(name, store, who) as opened:
        from psips.study.outliers import FarValueWarning

        with warnings.catch_warnings(), late_line("recording the results"):
            warnings.simplefilter("ignore", FarValueWarning)  # the receipt has them
            if csv is not None:
                kept = [column.strip() for column in keep_columns.split(",") if column.strip()]
                receipt = opened.tell_file(
                    csv,
                    again=again,
                    keep_columns=kept,
                    skip_incomplete=skip_incomplete,
                    sheet=sheet,
                    arm_column=arm_column,
                    strict=strict,
                    key=key,
                )
            else:
                if arm is not None:
                    opened.problem.arm_index(arm)  # before anything is said of its values
                values = values_of(opened, value)
                receipt = opened.tell(
                    arm, values, ticket=ticket, item=item, strict=strict, key=key
                )
        plain = {
            "recorded": len(receipt.numbers),
            "known": receipt.known,
            "results": list(receipt.numbers),
            "stopped": receipt.stopped,
            "warnings": list(receipt.warnings),
            **({"held": list(receipt.held)} if receipt.held else {}),
            **({"skipped": list(receipt.skipped)} if receipt.skipped else {}),
            **({"exact": receipt.exact} if receipt.exact else {}),
        }
        for warning in receipt.warnings:
            typer.echo(f"psips: warning: {harmless(warning)}", err=True)
        waiting = held(r for r in opened.held if r.number in receipt.held)
        text = f"{recorded(receipt)}; {progress_of(opened)}{skipped(receipt)}\n{waiting}"
        if receipt.exact:
            text = f"{text.rstrip()}\n{receipt.exact}"
        show(plain, text.rstrip(), as_json)
        _end(receipt.stopped)


@study.command(
    epilog=examples("psips study correct trial --result 7 --value cost=0.5 --reason misread")
)
def correct(
    name: Name,
    ticket: TicketId = None,
    result: Number = None,
    value: Values = None,
    reason: Reason = "",
    key: Key = None,
    who: Who = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Replace values of a result. The old ones stay in the log.

    Give only the values that change.
    """
    with open_study(name, store, who) as opened:
        receipt = opened.correct(
            values_of(opened, value), ticket=ticket, result=result, reason=reason, key=key
        )
        plain = {"corrected": 1 - receipt.known, "stopped": receipt.stopped}
        done = "it has these values already" if receipt.known else "corrected"
        show_change(plain, f"{done}; {progress_of(opened)}", receipt, as_json)


@study.command(
    epilog=examples("psips study withdraw trial --result 7 --reason 'wrong patient'")
)
def withdraw(
    name: Name,
    ticket: TicketId = None,
    result: Number = None,
    reason: Reason = "",
    key: Key = None,
    who: Who = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Withdraw a result: it no longer counts, but stays in the log."""
    with open_study(name, store, who) as opened:
        receipt = opened.withdraw(ticket=ticket, result=result, reason=reason, key=key)
        plain = {"withdrawn": 1 - receipt.known, "stopped": receipt.stopped}
        done = "it was withdrawn already" if receipt.known else "withdrawn"
        show_change(plain, f"{done}; {progress_of(opened)}", receipt, as_json)


@study.command(epilog=examples("psips study cancel trial trial-5c1e9a-000002"))
def cancel(
    name: Name,
    tickets: Annotated[list[str], typer.Argument(help="Tickets that will have no result.")],
    reason: Reason = "",
    key: Key = None,
    who: Who = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Cancel tickets that will have no result."""
    with open_study(name, store, who) as opened:
        opened.cancel(*tickets, reason=reason, key=key)
    show({"cancelled": tickets}, f"cancelled {', '.join(tickets)}", as_json)


@study.command(epilog=examples("psips study close trial --reason 'end of the season'"))
def close(
    name: Name,
    reason: Reason = "",
    key: Key = None,
    who: Who = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """End a study: nothing can be recorded after it."""
    with open_study(name, store, who) as opened:
        opened.close(reason, key=key)
    show({"closed": True}, f"closed the study {name!r}", as_json)


@study.command(epilog=examples("psips study status trial", "psips study status trial --json"))
def status(name: Name, store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """Show what is known, and how far it is to the stop."""
    from psips.study.plain import status_data

    with open_study(name, store) as opened:
        known, diagnosis = opened.status(), opened.diagnosis()
        data = status_data(opened.state, known, opened.open_tickets())
        plain = {**data, "diagnosis": diagnosis.to_dict()}
        show(plain, status_lines(opened, known, diagnosis.summary), as_json)
        _end(known.stopped)


@study.command("list", epilog=examples("psips study list --store sqlite:///lab.db"))
def list_studies(store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """List the studies of a store, and how far each has come."""
    from psips.cli.overview import as_table, overview

    with loading():
        from psips.store import open_store
    with open_store(checked_store(store)) as opened:
        rows = overview(opened)
    show({"studies": rows}, as_table(rows), as_json)


def show_change(data: dict[str, Any], text: str, receipt: Receipt, as_json: bool) -> None:
    """Print what a change led to; one that waits has led to nothing yet."""
    if receipt.waits is not None:
        data = {**data, "waits": receipt.waits}
        text = f"recorded as event {receipt.waits}; it counts once another person has "
        text += "confirmed it"
    if receipt.released:
        data = {**data, "released": list(receipt.released)}
    show(data, f"{text}{released(receipt)}", as_json)


def _end(stopped: bool) -> None:
    if stopped:
        raise typer.Exit(STOPPED)
