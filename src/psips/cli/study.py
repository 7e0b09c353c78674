"""``psips study``: experiments that run for months, over files and a database.

Exit codes: 0 fine, 1 the log does not verify, 2 bad input, 3 the study has stopped, 4 it is
not known whether it was recorded.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psips.cli.escaping import as_json as written
from psips.cli.escaping import one_line
from psips.cli.escaping import plain as harmless
from psips.cli.reading import DEFAULT, checked_store, event_line, held_lines, raw_events
from psips.cli.screen import HELP, examples, progress_line
from psips.cli.study_text import (
    finite,
    held,
    progress_of,
    recorded,
    rows_of,
    values_of,
    verdict_of,
)
from psips.cli.writing import check_target, write_whole

if TYPE_CHECKING:
    from psips.study import Study, Ticket

NOT_VERIFIED = 1
STOPPED = 3

study = typer.Typer(
    help="Studies that live in a database: create, ask, tell, status, and more.",
    no_args_is_help=True,
    epilog="Exit codes: 0 fine, 1 the log does not verify, 2 bad input, 3 stopped, 4 not\n"
    "known whether it was recorded.\n\n"
    + examples(
        "psips study create design.toml",
        "psips study ask trial -n 4",
        "psips study tell trial --csv results.csv",
        "psips study status trial",
    ),
    context_settings=HELP,
    rich_markup_mode=None,
)

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
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write over a file that exists.")]

TICKETS = 10  # open tickets that are listed


@study.command(
    epilog=examples(
        "psips study create design.toml",
        "psips study create design.toml --name pilot --seed 7 --store sqlite:///lab.db",
    )
)
def create(
    file: Annotated[Path, typer.Argument(help="Problem file (TOML); the name is in it.")],
    name: Annotated[str | None, typer.Option(help="Instead of the name in the file.")] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the seed in the file.")] = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Register a study from a problem file."""
    with _loading():
        from psips.study import Study

        made = Study.create(file, checked_store(store), name=name, seed=seed)
    state = made.state
    made.store.close()
    plain = {
        "study": made.name,
        "arms": list(state.problem.arms),
        "objectives": list(state.problem.objectives),
        "delta": state.rules.delta,
        "seed": state.seed,
    }
    arms, objectives = len(state.problem.arms), len(state.problem.objectives)
    text = f"created the study {made.name!r}: {arms} arms, {objectives} objectives, "
    _print(plain, f"{text}delta {state.rules.delta:g}, seed {state.seed}", as_json)


@study.command(
    epilog=examples("psips study ask trial", "psips study ask trial -n 4 --expires 7 --json")
)
def ask(
    name: Name,
    n: Annotated[int, typer.Option("-n", help="How many tickets.")] = 1,
    expires: Annotated[
        float | None, typer.Option(help="Days after which a ticket counts as lost.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Give out tickets of a stopped study too.")
    ] = False,
    key: Key = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Give out tickets for the next measurements; none, and code 3, once stopped."""
    with _open(name, store) as opened:
        tickets: list[Ticket] = []
        if anyway or opened.closed or not opened.stopped:
            wait = None if expires is None else expires * 86400
            tickets = opened.ask(n, expires=wait, key=key)
        stopped = opened.stopped
        plain = {
            "tickets": [
                {"ticket": ticket.id, "arm": ticket.arm, "expires": ticket.expires}
                for ticket in tickets
            ],
            "stopped": stopped,
        }
        lines = [f"{one_line(ticket.id)}\t{one_line(ticket.arm)}" for ticket in tickets]
        _print(plain, "\n".join(lines) if tickets else verdict_of(opened), as_json)
        _end(stopped)


@study.command(
    epilog=examples(
        "psips study tell trial --ticket trial-5c1e9a-000001 --value efficacy=1.2",
        "psips study tell trial --arm A --value efficacy=1.2 --value cost=0.3 --strict",
        "psips study tell trial --csv results.csv --keep-columns patient,date",
    )
)
def tell(
    name: Name,
    ticket: TicketId = None,
    arm: Annotated[str | None, typer.Option(help="Arm, for want of a ticket.")] = None,
    value: Values = None,
    csv: Annotated[
        Path | None,
        typer.Option(help="File with a column ticket or arm, and one for each objective."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="The file was told before, and was measured anew."),
    ] = False,
    keep_columns: Annotated[
        str,
        typer.Option(help="Other columns of the file to record: names with commas, or all."),
    ] = "",
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Refuse values too far from the others to be noise."),
    ] = False,
    key: Key = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Record a result, or a file of results: all of it, or nothing if a line is wrong."""
    from psips.errors import InputError

    if csv is not None and (ticket or arm or value):
        raise InputError("give either --csv or a single result, not both")
    if csv is None and not (ticket or arm):
        raise InputError("name what was measured: --ticket, --arm or --csv")
    if csv is None and (again or keep_columns):
        option = "--again" if again else "--keep-columns"
        raise InputError(f"{option} belongs to a file of results: give one with --csv")
    with _open(name, store) as opened:
        from psips.study.slips import FarValueWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FarValueWarning)  # the receipt has them
            if csv is not None:
                kept = [column.strip() for column in keep_columns.split(",") if column.strip()]
                receipt = opened.tell_file(
                    csv, again=again, keep_columns=kept, strict=strict, key=key
                )
            else:
                values = values_of(opened, value)
                receipt = opened.tell(values, ticket=ticket, arm=arm, strict=strict, key=key)
        plain = {
            "recorded": len(receipt.results),
            "known": receipt.known,
            "results": list(receipt.results),
            "stopped": receipt.stopped,
            "warnings": list(receipt.warnings),
            **({"held": list(receipt.held)} if receipt.held else {}),
        }
        for warning in receipt.warnings:
            typer.echo(f"psips: warning: {harmless(warning)}", err=True)
        _print(plain, f"{recorded(receipt)}; {progress_of(opened)}{held(receipt)}", as_json)
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
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Replace values of a result, those that change; the old ones stay in the log."""
    with _open(name, store) as opened:
        receipt = opened.correct(
            values_of(opened, value), ticket=ticket, result=result, reason=reason, key=key
        )
        plain = {"corrected": 1 - receipt.known, "stopped": receipt.stopped}
        done = "it has these values already" if receipt.known else "corrected"
        _print_change(plain, f"{done}; {progress_of(opened)}", receipt.waits, as_json)


@study.command(
    epilog=examples("psips study withdraw trial --result 7 --reason 'wrong patient'")
)
def withdraw(
    name: Name,
    ticket: TicketId = None,
    result: Number = None,
    reason: Reason = "",
    key: Key = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Take a result out of the count for good; it stays in the log."""
    with _open(name, store) as opened:
        receipt = opened.withdraw(ticket=ticket, result=result, reason=reason, key=key)
        plain = {"withdrawn": 1, "stopped": receipt.stopped}
        _print_change(plain, f"withdrawn; {progress_of(opened)}", receipt.waits, as_json)


@study.command(epilog=examples("psips study cancel trial trial-5c1e9a-000002"))
def cancel(
    name: Name,
    tickets: Annotated[list[str], typer.Argument(help="Tickets that will have no result.")],
    reason: Reason = "",
    key: Key = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Take back tickets: they no longer count as pending."""
    with _open(name, store) as opened:
        opened.cancel(*tickets, reason=reason, key=key)
    _print({"cancelled": tickets}, f"cancelled {', '.join(tickets)}", as_json)


@study.command(epilog=examples("psips study close trial --reason 'end of the season'"))
def close(
    name: Name,
    reason: Reason = "",
    key: Key = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """End a study: nothing can be recorded after it."""
    with _open(name, store) as opened:
        opened.close(reason, key=key)
    _print({"closed": True}, f"closed the study {name!r}", as_json)


@study.command(epilog=examples("psips study status trial", "psips study status trial --json"))
def status(name: Name, store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """Say what is known, which tickets are open, and how far it is to the stop."""
    from psips.status_text import cut

    with _open(name, store) as opened:
        known, waiting, state = opened.status(), opened.open_tickets(), opened.state
        plain = {
            "study": opened.name,
            "results": known.results,
            "stopped": known.stopped,
            "closed": state.closed,
            "candidate_set": list(known.candidate_set),
            "pareto_set": list(known.candidate_set) if known.stopped else None,
            "evidence": {key: finite(value) for key, value in known.evidence.items()},
            "probability_of_change": finite(known.probability_of_change),
            "lack_of_fit": None if known.fit is None else known.fit.to_dict(),
            "arms": rows_of(known.arms),
            "answers": rows_of(known.answers),
            "open_tickets": [ticket.to_dict() for ticket in waiting],
            "held": [result.to_dict(state.problem.objectives) for result in opened.held],
            "waiting_for_confirmation": sorted(state.proposals),
            "events": state.seq,
            "head": state.hash,
        }
        shown = [
            one_line(f"{t.id} {cut(t.arm)} (asked {t.asked[:16]}Z)") for t in waiting[:TICKETS]
        ]
        if len(waiting) > TICKETS:
            shown.append(f"and {len(waiting) - TICKETS:,} more")
        tickets = "\n  ".join(["", *shown]) if shown else " none"
        text = f"{one_line(opened.name)}: {known}\n\nopen tickets:{tickets}\n\n"
        text += held_lines(opened)
        _print(plain, f"{text}{state.seq:,} events, the last has hash\n{state.hash}", as_json)
        _end(known.stopped)


@study.command(epilog=examples("psips study log trial"))
def log(name: Name, store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """Print every event, of a damaged log too."""
    from psips.store import broken_links

    events = raw_events(name, store)
    text = "\n".join(event_line(event) for event in events)
    _print({"study": name, "events": [event.to_dict() for event in events]}, text, as_json)
    problems = broken_links(events)
    if problems:
        said = f"the log is not as it was written: {problems[0]}; see `psips study verify`"
        typer.echo(f"psips: {harmless(said)}", err=True)
        raise typer.Exit(NOT_VERIFIED)


@study.command(
    epilog=examples(
        "psips study export trial --out results.csv",
        "psips study export trial --format json",
    )
)
def export(
    name: Name,
    form: Annotated[str, typer.Option("--format", help="csv: the results; json: all.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File; standard output if left out.")] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="The log alone, as JSON, of a damaged study too.")
    ] = False,
    overwrite: Overwrite = False,
    store: StoreUrl = DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Write the results as CSV, or the design, tickets, results and log as JSON."""
    from psips.cli.exports import as_csv, as_data, log_as_data
    from psips.errors import unknown

    form = "json" if as_json else form
    if form not in ("csv", "json"):
        raise unknown("format", form, ["csv", "json"])
    if out is not None:
        check_target(out, overwrite)
    if anyway:
        text = written(log_as_data(name, raw_events(name, store))) + "\n"
    else:
        with _open(name, store) as opened:
            text = as_csv(opened) if form == "csv" else written(as_data(opened)) + "\n"
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_whole(out, text)


@study.command("list", epilog=examples("psips study list --store sqlite:///lab.db"))
def list_studies(store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """List the studies of a store: state, results, and how far they have come."""
    from psips.cli.overview import as_table, overview

    with _loading():
        from psips.store import open_store
    with open_store(checked_store(store)) as opened:
        rows = overview(opened)
    _print({"studies": rows}, as_table(rows), as_json)


def _loading() -> Any:
    return progress_line("loading")


@contextmanager
def _open(name: str, store: str) -> Iterator[Study]:
    with _loading():
        from psips.store import open_store
        from psips.study import Study
    with open_store(checked_store(store)) as opened:
        yield Study.open(name, opened)


def _print_change(data: dict[str, Any], text: str, waits: int | None, as_json: bool) -> None:
    """Print what a change led to; one that waits has led to nothing yet."""
    if waits is not None:
        data = {**data, "waits": waits}
        text = f"recorded as event {waits}; it counts once another person has confirmed it"
    _print(data, text, as_json)


def _print(data: dict[str, Any], text: str, as_json: bool) -> None:
    typer.echo(written(data) if as_json else harmless(text))


def _end(stopped: bool) -> None:
    if stopped:
        raise typer.Exit(STOPPED)
