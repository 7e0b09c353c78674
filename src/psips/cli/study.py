"""``psips study``: experiments that run for months, over files and a database.

Exit codes: 0 fine, 1 the log does not verify, 2 bad input, 3 the study has stopped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psips.cli.screen import progress_line

if TYPE_CHECKING:
    import pandas as pd

    from psips.store import Event
    from psips.study import Study, Ticket

NOT_VERIFIED = 1
STOPPED = 3

study = typer.Typer(
    help="Studies that live in a database: create, ask, tell, status, and more.",
    no_args_is_help=True,
    epilog="Exit codes: 0 fine, 1 the log does not verify, 2 bad input, 3 stopped.",
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


@study.command()
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


@study.command()
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
        _print(plain, "\n".join(lines) if tickets else _verdict(opened), as_json)
        _end(stopped)


@study.command()
def tell(
    name: Name,
    ticket: TicketId = None,
    arm: Annotated[str | None, typer.Option(help="Arm, for want of a ticket.")] = None,
    value: Values = None,
    csv: Annotated[
        Path | None,
        typer.Option(help="File with a column ticket or arm, and one for each objective."),
    ] = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Record a result, or a file of results: all of it, or nothing if a line is wrong."""
    from psips.errors import InputError

    if csv is not None and (ticket or arm or value):
        raise InputError("give either --csv or a single result, not both")
    if csv is None and not (ticket or arm):
        raise InputError("name what was measured: --ticket, --arm or --csv")
    with _open(name, store) as opened:
        if csv is not None:
            from psips.study import read_csv_rows

            receipt = opened.tell_many(read_csv_rows(csv, opened.problem))
        else:
            receipt = opened.tell(_values(opened, value), ticket=ticket, arm=arm)
        plain = {
            "recorded": len(receipt.results),
            "known": receipt.known,
            "results": list(receipt.results),
            "stopped": receipt.stopped,
        }
        text = f"recorded {len(receipt.results)}"
        text += f", known already {receipt.known}" if receipt.known else ""
        text += f"\n{_verdict(opened)}" if receipt.stopped else ""
        _print(plain, text, as_json)
        _end(receipt.stopped)


@study.command()
def correct(
    name: Name,
    ticket: TicketId = None,
    result: Number = None,
    value: Values = None,
    reason: Reason = "",
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Replace the values of a result; the old ones stay in the log."""
    with _open(name, store) as opened:
        receipt = opened.correct(
            _values(opened, value), ticket=ticket, result=result, reason=reason
        )
        plain = {"corrected": 1 - receipt.known, "stopped": receipt.stopped}
        _print(plain, "it has these values already" if receipt.known else "corrected", as_json)


@study.command()
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
        _print({"withdrawn": 1, "stopped": opened.stopped}, "withdrawn", as_json)


@study.command()
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


@study.command()
def close(
    name: Name, reason: Reason = "", store: StoreUrl = DEFAULT, as_json: Json = False
) -> None:
    """End a study: nothing can be recorded after it."""
    with _open(name, store) as opened:
        opened.close(reason)
    _print({"closed": True}, f"closed the study {name!r}", as_json)


@study.command()
def status(name: Name, store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """Say what is known, which tickets are open, and how far it is to the stop."""
    with _open(name, store) as opened:
        known, waiting, state = opened.status(), opened.open_tickets(), opened.state
        plain = {
            "study": opened.name,
            "results": known.results,
            "stopped": known.stopped,
            "closed": state.closed,
            "candidate_set": list(known.candidate_set),
            "pareto_set": list(known.candidate_set) if known.stopped else None,
            "evidence": {key: _finite(value) for key, value in known.evidence.items()},
            "probability_of_change": _finite(known.probability_of_change),
            "lack_of_fit": None if known.fit is None else known.fit.to_dict(),
            "arms": _rows(known.arms),
            "answers": _rows(known.answers),
            "open_tickets": [ticket.to_dict() for ticket in waiting],
            "events": state.seq,
            "head": state.hash,
        }
        shown = [f"{ticket.id} {ticket.arm} (asked {ticket.asked})" for ticket in waiting]
        tickets = "\n  ".join(["", *shown]) if shown else " none"
        closed = " (closed)" if state.closed else ""
        text = f"{opened.name}{closed}: {known}\n\nopen tickets:{tickets}\n\n"
        _print(plain, f"{text}{state.seq} events, the last has hash {state.hash}", as_json)
        _end(known.stopped)


@study.command()
def log(name: Name, store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """Print every event."""
    with _open(name, store) as opened:
        events = opened.events()
    text = "\n".join(f"{e.seq:6d}  {e.at}  {e.kind:<9}  {_describe(e)}" for e in events)
    _print({"study": name, "events": [event.to_dict() for event in events]}, text, as_json)


@study.command()
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


@study.command("list")
def list_studies(store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """List the studies of a store."""
    from psips.store import open_store

    with open_store(store) as opened:
        names = opened.studies()
    _print({"studies": names}, "\n".join(names), as_json)


@study.command()
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
    return progress_line("loading (the first time, compiling takes about a minute)")


@contextmanager
def _open(name: str, store: str) -> Iterator[Study]:
    with _loading():
        from psips.store import open_store
        from psips.study import Study
    with open_store(store) as opened:
        yield Study.open(name, opened)


def _values(opened: Study, given: list[str] | None) -> dict[str, float]:
    """Read ``objective=number`` as often as it was given."""
    from psips.errors import InputError

    values: dict[str, float] = {}
    for text in given or []:
        objective, equals, number = text.rpartition("=")
        try:
            values_number = float(number if "_" not in number else "")
        except ValueError:
            equals = ""
        if not equals or not objective:
            raise InputError(f"--value must be objective=number, got {text!r}")
        if objective in values:
            raise InputError(f"objective {objective!r} has several values: give one")
        values[objective] = values_number
    if not values:
        objectives = " ".join(f"--value {o}=..." for o in opened.problem.objectives)
        raise InputError(f"the result has no values: add {objectives}")
    return values


def _rows(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return a table as plain data by row; None for what is not known."""
    return {
        str(name): {str(key): _finite(cell) for key, cell in row.items()}
        for name, row in table.to_dict(orient="index").items()
    }


def _finite(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _verdict(opened: Study) -> str:
    from psips.lack_of_fit import fit_of

    fit = fit_of(opened.problem, opened.state.session.engine)
    caveat = "" if fit is None else fit.caveat
    return f"stopped; Pareto set: {', '.join(opened.candidate_set)}{caveat}"


def _describe(event: Event) -> str:
    """One line on an event, without what everyone knows."""
    hidden = ("schema", "problem", "versions")
    data = {key: value for key, value in event.payload.items() if key not in hidden}
    return json.dumps(data, ensure_ascii=False)


def _print(plain: dict[str, Any], text: str, as_json: bool) -> None:
    typer.echo(json.dumps(plain, indent=2, ensure_ascii=False) if as_json else text)


def _end(stopped: bool) -> None:
    if stopped:
        raise typer.Exit(STOPPED)
