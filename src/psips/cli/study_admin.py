"""``psips study``: confirm what is held; checks, copies, signatures, formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psips.cli.reading import DEFAULT, checked_store, event_line, open_study, raw_events
from psips.cli.screen import examples, show
from psips.cli.study import NOT_VERIFIED, show_change, study
from psips.cli.study_options import Json, Key, Name, Number, Overwrite, Reason, StoreUrl, Who
from psips.cli.writing import check_target, write_whole, write_with
from psips.errors import counted
from psips.input.escaping import as_json as written
from psips.input.escaping import plain as harmless


@study.command(
    epilog=examples(
        "psips study confirm trial --result 7",
        "psips study confirm trial --event 12 --reason checked",
    )
)
def confirm(
    name: Name,
    result: Number = None,
    event: Annotated[
        int | None,
        typer.Option(help="Number of the event, if a correction or withdrawal waits."),
    ] = None,
    reason: Reason = "",
    key: Key = None,
    who: Who = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Confirm a held result, or another person's change."""
    with open_study(name, store, who) as opened:
        receipt = opened.confirm(result=result, event=event, reason=reason, key=key)
    data = {"confirmed": 1 - receipt.known, "stopped": receipt.stopped}
    done = "there was nothing left to confirm" if receipt.known else "confirmed"
    show_change(data, done, receipt, as_json)


@study.command(epilog=examples("psips study migrate --store sqlite:///lab.db"))
def migrate(store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """Bring an older store to the present format. No event is changed."""
    from psips.store import open_store

    with open_store(checked_store(store)) as opened:
        before, after = opened.migrate()
    text = f"the store had format {before}, and has format {after} now"
    show({"before": before, "after": after}, text, as_json)


@study.command(epilog=examples("psips study backup studies.db"))
def backup(
    file: Annotated[Path, typer.Argument(help="SQLite file to write.")],
    overwrite: Overwrite = False,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Copy all studies of a store to one file. The store may be in use."""
    from psips.store import open_store
    from psips.study import transfer

    check_target(file, overwrite)
    heads: dict[str, str] = {}
    with open_store(checked_store(store)) as opened:
        write_with(file, lambda part: heads.update(transfer.backup(opened, part)), private=True)
    _print_heads(heads, as_json)


@study.command(epilog=examples("psips study restore studies.db --store sqlite:///lab.db"))
def restore(
    file: Annotated[Path, typer.Argument(help="File that `psips study backup` wrote.")],
    name: Annotated[str | None, typer.Option(help="Restore this study only.")] = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Copy the studies of a backup to a store that lacks them."""
    from psips.store import open_store
    from psips.study import transfer

    with open_store(checked_store(store), create=True) as opened:
        heads = transfer.restore(opened, file, name)
    _print_heads(heads, as_json)


@study.command("import", epilog=examples("psips study import trial.json"))
def import_study(
    file: Annotated[Path, typer.Argument(help="File that `psips study export --json` wrote.")],
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Read a study from its JSON export, with the same hashes."""
    from psips.store import open_store
    from psips.study import transfer

    with open_store(checked_store(store), create=True) as opened:
        name, head = transfer.import_export(opened, file)
    _print_heads({name: head}, as_json)


@study.command(epilog=examples("psips study sign trial --ssh-key ~/.ssh/id_ed25519"))
def sign(
    name: Name,
    key: Annotated[Path, typer.Option("--ssh-key", help="SSH key to sign with.")],
    meaning: Annotated[
        str, typer.Option(help="What it means: seen, reviewed, approved, or other words.")
    ] = "seen",
    out: Annotated[
        Path | None, typer.Option(help="File to write; NAME.sig if left out.")
    ] = None,
    overwrite: Overwrite = False,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Sign the log as it is now. The file says what was in it, who signed, when and why."""
    from psips.study.signing import sign as make

    with open_study(name, store) as opened:
        target = Path(f"{opened.name.replace('/', '_')}.sig") if out is None else out
        check_target(target, overwrite)
        events = opened.events()
        write_whole(target, make(opened.name, events, key, meaning))
    head = events[-1]
    data = {"events": head.seq, "head": head.hash, "signature": str(target)}
    show(data, f"signed {counted(head.seq, 'event')}: {target}\n{head.hash}", as_json)


@study.command(
    epilog=examples(
        "psips study verify trial",
        "psips study verify trial --signatures trial.sig --signers allowed_signers",
    )
)
def verify(
    name: Name,
    signatures: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Also check this signature (repeat for more)."),
    ] = None,
    signers: Annotated[
        Path, typer.Option(help="Who may sign: a name and a public SSH key on each line.")
    ] = Path("allowed_signers"),
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Check the hashes of the log, and replay it. Ends with code 1 if it was changed."""
    from psips.errors import InputError
    from psips.store import WHOLE_LOG, open_store
    from psips.study import verify_log
    from psips.study.signing import check_signature

    signed, problems = [], []
    with open_store(checked_store(store), damaged=True) as opened:
        found = verify_log(name, opened)
        damage = opened.damage()
        if damage:
            problems.append(f"the database finds its file damaged: {damage}")
        problems += found.problems
        for file in signatures or []:
            try:
                events = opened.read(name, WHOLE_LOG)
                signed.append(check_signature(name, events, file, signers))
            except InputError as error:
                problems.append(f"{file.name}: {error}")
    text = f"{counted(found.events, 'event')} in the log; hash of the last:\n{found.head}\n"
    text += "\n".join([*signed, *(f"note: {note}" for note in found.notes), *problems])
    if not problems:
        text = f"{text.rstrip()}\nthe log is as it was written, and replays"
    data = {**found._asdict(), "problems": problems}
    show({**data, "signed": signed} if signatures else data, text, as_json)
    if problems:
        raise typer.Exit(NOT_VERIFIED)


@study.command(epilog=examples("psips study heads"))
def heads(store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """Print the last hash of every study. Keep them where no one can change them."""
    from psips.store import open_store
    from psips.study import Study

    with open_store(checked_store(store)) as opened:
        found = {name: Study.open(name, opened).state for name in opened.studies()}
    plain = {name: {"events": s.seq, "head": s.hash} for name, s in found.items()}
    text = "\n".join(f"{s.hash}  {s.seq}  {name}" for name, s in found.items())
    show(plain, text, as_json)


def _print_heads(heads: dict[str, str], as_json: bool) -> None:
    show(dict(heads), "\n".join(f"{head}  {name}" for name, head in heads.items()), as_json)


@study.command(epilog=examples("psips study log trial"))
def log(name: Name, store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """Print every event, even if the log is damaged."""
    from psips.store import broken_links

    events = raw_events(name, store)
    text = "\n".join(event_line(event) for event in events)
    show({"study": name, "events": [event.to_dict() for event in events]}, text, as_json)
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
    form: Annotated[
        str, typer.Option("--format", help="csv for the results, json for everything.")
    ] = "csv",
    out: Annotated[
        Path | None, typer.Option(help="File to write; standard output if left out.")
    ] = None,
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway", help="Write only the log, as JSON, even if the study is damaged."
        ),
    ] = False,
    overwrite: Overwrite = False,
    store: StoreUrl = DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Write the results as CSV, or everything as JSON.

    Everything is the design, the tickets, the results and the log.
    """
    from psips.errors import unknown
    from psips.study.exports import as_csv, as_data, log_as_data

    form = "json" if as_json else form
    if form not in ("csv", "json"):
        raise unknown("format", form, ["csv", "json"])
    if out is not None:
        check_target(out, overwrite)
    if anyway:
        text = written(log_as_data(name, raw_events(name, store))) + "\n"
    else:
        with open_study(name, store) as opened:
            text = as_csv(opened) if form == "csv" else written(as_data(opened)) + "\n"
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_whole(out, text)
