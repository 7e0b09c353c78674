"""The command line. Each command imports what it needs when it runs, so that help is quick."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from psips import __version__
from psips.cli import keeping as keeping  # adds to the commands of studies
from psips.cli.bench import bench
from psips.cli.calibrate import calibrate
from psips.cli.complexity import complexity
from psips.cli.demo import demo
from psips.cli.escaping import sentences
from psips.cli.instances import instances
from psips.cli.plan import plan
from psips.cli.report import report
from psips.cli.reproduce import reproduce, results
from psips.cli.simulate import simulate
from psips.cli.study import study
from psips.errors import InputError

app = typer.Typer(
    name="psips",
    help="Which options are Pareto-optimal? Adaptive measurement with a stated confidence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(simulate)
app.command()(instances)
app.command()(complexity)
app.command()(bench)
app.command()(calibrate)
app.command()(plan)
app.command()(report)
app.command()(reproduce)
app.command()(results)
app.add_typer(study, name="study")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Which options are Pareto-optimal? Adaptive measurement with a stated confidence."""


def main() -> None:
    """Run the command line; what the user got wrong ends it with one sentence and code 2."""
    try:
        app()
    except InputError as error:
        print(f"psips: {sentences(str(error))}", file=sys.stderr)
        sys.exit(getattr(error, "exit_code", 2))
