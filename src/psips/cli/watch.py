"""``psips study watch``: a study live in the terminal, and what is done when it stops."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from psips.cli.reading import DEFAULT, open_study
from psips.cli.screen import examples, output
from psips.cli.study import STOPPED, study
from psips.cli.study_options import Name, StoreUrl
from psips.input.escaping import as_json as written
from psips.input.escaping import plain as harmless

SHORTEST, LONGEST = 0.2, 3600.0  # seconds between two looks
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
        float, typer.Option(metavar="SECONDS", help="Time between two updates.")
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

    Shows its front, probabilities, and how long it will take. Ends when the study stops
    (code 3) or is closed (code 0); with Ctrl-C before.
    """
    from psips.errors import InputError
    from psips.session.live import drawn, line_of, live_on
    from psips.study.on_stop import carry_out, check_order

    if not SHORTEST <= every <= LONGEST:
        raise InputError(f"--every must lie between {SHORTEST:g} and {LONGEST:g} seconds")
    if on_stop is not None:
        check_order(on_stop, "--on-stop")
    console = output()
    with open_study(name, store) as opened:
        seen = -1
        live = live_on(console) if console.is_terminal else None
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
        failed = carry_out(on_stop, written(data))
        if failed:
            said = f"psips: the study has stopped, but --on-stop was not carried out: {failed}"
            typer.echo(harmless(said), err=True)
            raise typer.Exit(NOT_DONE)
    if known.stopped:
        raise typer.Exit(STOPPED)
