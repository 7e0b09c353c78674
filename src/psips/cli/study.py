"""``psips study``: experiments that run for months, over files and a database.

Exit codes: 0 fine, 1 the log does not verify, 2 bad input, 3 the study has stopped.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psips.cli.screen import HELP, examples, progress_line
from psips.cli.study_text import (
    describe,
    finite,
    progress_of,
    recorded,
    rows_of,
    values_of,
    verdict_of,
)

if TYPE_CHECKING:
    from psips.study import Study, Ticket

NOT_VERIFIED = 1
STOPPED = 3

study = typer.Typer(
    help="Studies that live in a database: create, ask, tell, status, and more.",
    no_args_is_help=True,
    epilog="Exit codes: 0 fine, 1 the log does not verify, 2 bad input, 3 stopped.\n\n"
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

DEFAULT = "sqlite:///psips.db"
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

        made = Study.create(file, store, name=name, seed=seed)
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
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Give out tickets for the next measurements; none, and code 3, once stopped."""
    with _open(name, store) as opened:
        tickets: list[Ticket] = []
        if anyway or opened.closed or not opened.stopped:
            tickets = opened.ask(n, expires=None if expires is None else expires * 86400)
        stopped = opened.stopped
        plain = {
            "tickets": [
                {"ticket": ticket.id, "arm": ticket.arm, "expires": ticket.expires}
                for ticket in tickets
            ],
            "stopped": stopped,
        }
        lines = [f"{ticket.id}\t{ticket.arm}" for ticket in tickets]
        _print(plain, "\n".join(lines) if tickets else verdict_of(opened), as_json)
        _end(stopped)


@study.command(
    epilog=examples(
        "psips study tell trial --ticket trial-000001 --value efficacy=1.2 --value cost=0.3",
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
                receipt = opened.tell_file(csv, again=again, keep_columns=kept, strict=strict)
            else:
                values = values_of(opened, value)
                receipt = opened.tell(values, ticket=ticket, arm=arm, strict=strict)
        plain = {
            "recorded": len(receipt.results),
            "known": receipt.known,
            "results": list(receipt.results),
            "stopped": receipt.stopped,
            "warnings": list(receipt.warnings),
        }
        for warning in receipt.warnings:
            typer.echo(f"psips: warning: {warning}", err=True)
        _print(plain, f"{recorded(receipt)}; {progress_of(opened)}", as_json)
        _end(receipt.stopped)


@study.command(
    epilog=examples(
        "psips study correct trial --ticket trial-000001 --value cost=0.5 --reason misread"
    )
)
def correct(
    name: Name,
    ticket: TicketId = None,
    result: Number = None,
    value: Values = None,
    reason: Reason = "",
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Replace values of a result, those that change; the old ones stay in the log."""
    with _open(name, store) as opened:
        receipt = opened.correct(
            values_of(opened, value), ticket=ticket, result=result, reason=reason
        )
        plain = {"corrected": 1 - receipt.known, "stopped": receipt.stopped}
        done = "it has these values already" if receipt.known else "corrected"
        _print(plain, f"{done}; {progress_of(opened)}", as_json)


@study.command(
    epilog=examples("psips study withdraw trial --result 7 --reason 'wrong patient'")
)
def withdraw(
    name: Name,
    ticket: TicketId = None,
    result: Number = None,
    reason: Reason = "",
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Take a result out of the count for good; it stays in the log."""
    with _open(name, store) as opened:
        opened.withdraw(ticket=ticket, result=result, reason=reason)
        plain = {"withdrawn": 1, "stopped": opened.stopped}
        _print(plain, f"withdrawn; {progress_of(opened)}", as_json)


@study.command(epilog=examples("psips study cancel trial trial-000002 trial-000003"))
def cancel(
    name: Name,
    tickets: Annotated[list[str], typer.Argument(help="Tickets that will have no result.")],
    reason: Reason = "",
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Take back tickets: they no longer count as pending."""
    with _open(name, store) as opened:
        opened.cancel(*tickets, reason=reason)
    _print({"cancelled": tickets}, f"cancelled {', '.join(tickets)}", as_json)


@study.command(epilog=examples("psips study close trial --reason 'end of the season'"))
def close(
    name: Name, reason: Reason = "", store: StoreUrl = DEFAULT, as_json: Json = False
) -> None:
    """End a study: nothing can be recorded after it."""
    with _open(name, store) as opened:
        opened.close(reason)
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
            "events": state.seq,
            "head": state.hash,
        }
        shown = [f"{t.id} {cut(t.arm)} (asked {t.asked[:16]}Z)" for t in waiting[:TICKETS]]
        if len(waiting) > TICKETS:
            shown.append(f"and {len(waiting) - TICKETS:,} more")
        tickets = "\n  ".join(["", *shown]) if shown else " none"
        text = f"{opened.name}: {known}\n\nopen tickets:{tickets}\n\n"
        _print(plain, f"{text}{state.seq:,} events, the last has hash\n{state.hash}", as_json)
        _end(known.stopped)


@study.command(epilog=examples("psips study log trial"))
def log(name: Name, store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """Print every event."""
    with _open(name, store) as opened:
        events = opened.events()
    text = "\n".join(f"{e.seq:6d}  {e.at}  {e.kind:<9}  {describe(e)}" for e in events)
    _print({"study": name, "events": [event.to_dict() for event in events]}, text, as_json)


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
    store: StoreUrl = DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Write the results as CSV, or the design, tickets, results and log as JSON."""
    from psips.cli.exports import as_csv, as_data
    from psips.errors import InputError, unknown

    form = "json" if as_json else form
    if form not in ("csv", "json"):
        raise unknown("format", form, ["csv", "json"])
    with _open(name, store) as opened:
        text = as_csv(opened) if form == "csv" else json.dumps(as_data(opened), indent=2) + "\n"
        if out is None:
            typer.echo(text, nl=False)
            return
        try:
            out.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise InputError(f"cannot write {out}: {error.strerror}") from None


@study.command("list", epilog=examples("psips study list --store sqlite:///lab.db"))
def list_studies(store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """List the studies of a store: state, results, and how far they have come."""
    from psips.cli.overview import as_table, overview

    with _loading():
        from psips.store import open_store
    with open_store(store) as opened:
        rows = overview(opened)
    _print({"studies": rows}, as_table(rows), as_json)


@study.command(epilog=examples("psips study verify trial"))
def verify(name: Name, store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """Check the hashes of the log and replay it; code 1 if something does not fit."""
    from psips.store import open_store
    from psips.study import verify_log

    with open_store(store) as opened:
        found = verify_log(name, opened)
    text = f"{found.events} events, the last has hash {found.head}\n"
    text += "\n".join(found.problems) or "the log is as it was written, and replays"
    _print({**found._asdict(), "problems": list(found.problems)}, text, as_json)
    if found.problems:
        raise typer.Exit(NOT_VERIFIED)


def _loading() -> Any:
    return progress_line("loading")


@contextmanager
def _open(name: str, store: str) -> Iterator[Study]:
    with _loading():
        from psips.store import open_store
        from psips.study import Study
    with open_store(store) as opened:
        yield Study.open(name, opened)


def _print(plain: dict[str, Any], text: str, as_json: bool) -> None:
    typer.echo(json.dumps(plain, indent=2, ensure_ascii=False) if as_json else text)


def _end(stopped: bool) -> None:
    if stopped:
        raise typer.Exit(STOPPED)
