"""``psips study watch``: a study live in the terminal, and what is done when it stops."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psips.cli.reading import DEFAULT, open_study
from psips.cli.screen import examples, output
from psips.cli.study import STOPPED, study
from psips.cli.study_options import Name, StoreUrl
from psips.input.escaping import as_json as written
from psips.input.escaping import one_line
from psips.input.escaping import plain as harmless

if TYPE_CHECKING:
    from rich.table import Table

    from psips.problem import Problem
    from psips.session.status import Status

MARKS = (("◆", "green"), ("●", "blue"), ("○", "dark_orange"), ("x", "bright_black"))
BAR = 10  # letters of a whole bar of probability
LISTED = 30  # options that are listed
LEAST, MOST = 0.2, 3600.0  # seconds between two looks
PATIENCE = 30.0  # seconds that a command or an address may take
NOT_DONE = 1


@study.command(
    epilog=examples(
        "psips study watch trial",
        "psips study watch trial --on-stop 'notify-send stopped'",
        "psips study watch trial --on-stop https://example.org/hook",
    )
)
def watch(
    name: Name,
    every: Annotated[
        float, typer.Option(metavar="SECONDS", help="How often to look for something new.")
    ] = 1.0,
    on_stop: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND|URL",
            help="When the study stops: a command to run, with the status as JSON on its "
            "standard input, or an http(s) address to post it to.",
        ),
    ] = None,
    store: StoreUrl = DEFAULT,
) -> None:
    """Show a study while it runs.

    Its front, probabilities, and how long it takes. Ends when the study stops
    (code 3) or is closed (code 0); with Ctrl-C before.
    """
    from psips.errors import InputError

    if not LEAST <= every <= MOST:
        raise InputError(f"--every must lie between {LEAST:g} and {MOST:g} seconds")
    if on_stop is not None:
        check_order(on_stop)
    console = output()
    with open_study(name, store) as opened:
        from rich.live import Live

        seen = -1
        live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        if live:
            live.start()
        try:
            while True:
                state = opened.state
                if state.seq != seen:
                    seen, known = state.seq, opened.status()
                    if live:
                        live.update(drawn(opened.name, opened.problem, known), refresh=True)
                    else:
                        typer.echo(harmless(line_of(known)))
                if known.stopped or known.closed:
                    break
                time.sleep(every)
        finally:
            if live:
                live.stop()
        from psips.study.plain import status_data

        data = status_data(opened.state, known, opened.open_tickets())
    if known.stopped and on_stop is not None:
        carry_out(on_stop, written(data))
    if known.stopped:
        raise typer.Exit(STOPPED)


def line_of(known: Status) -> str:
    """Say in a line where a study is."""
    from psips.errors import counted
    from psips.input.digits import percent

    state = "stopped" if known.stopped else "closed" if known.closed else "open"
    parts = [f"{state} after {counted(known.results, 'measurement')}"]
    found = ", ".join(map(one_line, known.candidate_set)) or known.nothing or "no answer yet"
    parts.append(found)
    if known.stopped:
        parts.append(known.promise)
    elif known.probability_of_change == known.probability_of_change:
        parts.append(f"right with probability {percent(1.0 - known.probability_of_change)}")
    if known.progress is not None and not known.stopped:
        parts.append(str(known.progress))
    return "; ".join(parts)


def drawn(name: str, problem: Problem, known: Status) -> Table:
    """Return a study as a table for a terminal: the likeliest options at the top."""
    from rich.table import Table
    from rich.text import Text

    from psips.input.digits import estimate, percent
    from psips.session.front import marks_of

    state = "stopped" if known.stopped else "closed" if known.closed else "open"
    table = Table(
        title=Text(f"{one_line(name)}: {state}", style="bold"),
        caption=Text(line_of(known)),
        title_justify="left",
        caption_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    columns = [("option", "left"), *((one_line(o), "right") for o in problem.labels)]
    columns += [("optimal", "left"), *([("measured", "right")] if problem.unstructured else [])]
    for title, side in columns:
        table.add_column(Text(title), justify=side, no_wrap=title != "option")  # type: ignore[arg-type]
    marks = dict(zip(known.answers.index, marks_of(known), strict=True))
    counts = dict(zip(map(str, known.arms.index), known.arms["pulls"].tolist(), strict=True))
    rows = known.answers.sort_values("probability", ascending=False, kind="stable")
    for answer, row in rows.head(LISTED).iterrows():
        sign, colour = MARKS[marks[answer]]
        chance = row["probability"]
        filled = 0 if chance != chance else round(BAR * chance)
        bar = Text("█" * filled + "░" * (BAR - filled) + f" {percent(chance)}", style=colour)
        cells = [estimate(row[f"{o} estimate"], row[f"{o} se"]) for o in problem.labels]
        pulls = [f"{counts[str(answer)]:,}"] if problem.unstructured else []
        first = Text.assemble((f"{sign} ", colour), one_line(str(answer)))
        table.add_row(first, *cells, bar, *pulls)
    if len(rows) > LISTED:
        table.add_row(Text(f"and {len(rows) - LISTED:,} more"))
    return table


def is_address(order: str) -> bool:
    """Whether something is to be posted, and not run."""
    return order.lower().startswith(("http://", "https://"))


def check_order(order: str) -> None:
    """Refuse at the start what could not be done at the stop."""
    import shutil

    from psips.errors import InputError, quote

    if is_address(order):
        return
    words = _words(order)
    if not words or shutil.which(words[0]) is None:
        raise InputError(
            f"--on-stop must be a command or an address beginning with https://, got "
            f"{quote(order)}: there is no such command"
        )


def _words(order: str) -> list[str]:
    import shlex

    from psips.errors import InputError, quote

    try:
        return shlex.split(order)
    except ValueError as error:
        raise InputError(f"--on-stop {quote(order)} cannot be read: {error}") from None


def carry_out(order: str, data: str) -> None:
    """Run a command with the status on its standard input, or post it to an address."""
    import subprocess
    from urllib.error import URLError
    from urllib.request import Request, urlopen

    failed: Any = None
    try:
        if is_address(order):
            kind = {"content-type": "application/json"}
            with urlopen(Request(order, data.encode(), kind), timeout=PATIENCE):
                pass
        else:
            done = subprocess.run(
                _words(order), input=data.encode(), timeout=PATIENCE, check=False
            )
            failed = f"it ended with code {done.returncode}" if done.returncode else None
    except (OSError, URLError, ValueError, subprocess.TimeoutExpired) as error:
        failed = error
    if failed is not None:
        said = f"psips: the study has stopped, but --on-stop was not carried out: {failed}"
        typer.echo(harmless(said), err=True)
        raise typer.Exit(NOT_DONE)
