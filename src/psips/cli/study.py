"""``psips study``: experiments that run for months, over files and a database.

Exit codes: 0 fine, 1 the log does not verify, 2 bad input, 3 the study has stopped, 4 it is
not known whether it was recorded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psips.cli.escaping import as_json as written
from psips.cli.escaping import one_line
from psips.cli.escaping import plain as harmless
from psips.cli.reading import DEFAULT, checked_store, event_line, held_lines, raw_events
from psips.cli.screen import progress_line
from psips.cli.writing import check_target, write_whole

if TYPE_CHECKING:
    import pandas as pd

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
Key = Annotated[
    str | None,
    typer.Option(help="Key of the event: repeated with the same key, it is recorded once."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write over a file that exists.")]


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
    with _open(name, store) as opened:
        if csv is not None:
            from psips.study import read_csv_rows

            receipt = opened.tell_many(read_csv_rows(csv, opened.problem), key=key)
        else:
            receipt = opened.tell(_values(opened, value), ticket=ticket, arm=arm, key=key)
        plain = {
            "recorded": len(receipt.results),
            "known": receipt.known,
            "results": list(receipt.results),
            "stopped": receipt.stopped,
            **({"held": list(receipt.held)} if receipt.held else {}),
        }
        text = f"recorded {len(receipt.results)}"
        text += f", known already {receipt.known}" if receipt.known else ""
        for number in receipt.held:
            text += (
                f"\nresult {number} is beyond what the noise allows: it is held, and does not "
                "count until it is confirmed or corrected (psips study confirm, correct), or "
                "a second result of an arm without others agrees with it"
            )
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
    key: Key = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Replace the values of a result; the old ones stay in the log."""
    with _open(name, store) as opened:
        receipt = opened.correct(
            _values(opened, value), ticket=ticket, result=result, reason=reason, key=key
        )
        plain = {"corrected": 1 - receipt.known, "stopped": receipt.stopped}
        text = "it has these values already" if receipt.known else "corrected"
        _print_change(plain, text, receipt.waits, as_json)


@study.command()
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
        _print_change(plain, "withdrawn", receipt.waits, as_json)


@study.command()
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


@study.command()
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
            "arms": _rows(known.arms),
            "answers": _rows(known.answers),
            "open_tickets": [ticket.to_dict() for ticket in waiting],
            "held": [result.to_dict(state.problem.objectives) for result in opened.held],
            "waiting_for_confirmation": sorted(state.proposals),
            "events": state.seq,
            "head": state.hash,
        }
        shown = [one_line(f"{t.id} {t.arm} (asked {t.asked})") for t in waiting]
        tickets = "\n  ".join(["", *shown]) if shown else " none"
        closed = " (closed)" if state.closed else ""
        text = f"{one_line(opened.name)}{closed}: {known}\n\nopen tickets:{tickets}\n\n"
        text += held_lines(opened)
        _print(plain, f"{text}{state.seq} events, the last has hash {state.hash}", as_json)
        _end(known.stopped)


@study.command()
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


@study.command()
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


@study.command("list")
def list_studies(store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """List the studies of a store."""
    from psips.store import open_store

    with open_store(checked_store(store)) as opened:
        names = opened.studies()
    _print({"studies": names}, "\n".join(map(one_line, names)), as_json)


def _loading() -> Any:
    return progress_line("loading (the first time, compiling takes about a minute)")


@contextmanager
def _open(name: str, store: str) -> Iterator[Study]:
    with _loading():
        from psips.store import open_store
        from psips.study import Study
    with open_store(checked_store(store)) as opened:
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
    return f"stopped; Pareto set: {', '.join(opened.candidate_set)}"


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
