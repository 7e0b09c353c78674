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
from psips.cli.instance_options import CONTEXT
from psips.cli.instances import instances
from psips.cli.plan import plan
from psips.cli.report import report
from psips.cli.reproduce import reproduce, results
from psips.cli.screen import HELP, examples
from psips.cli.simulate import simulate
from psips.cli.study import study
from psips.errors import InputError

app = typer.Typer(
    name="psips",
    help="Which options are Pareto-optimal? Adaptive measurement with a stated confidence.",
    epilog=examples("psips demo", "psips plan design.toml", "psips study create design.toml"),
    no_args_is_help=True,
    context_settings=HELP,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # [guess] and [default: 0.1] are text, not markup
)
app.command(epilog=examples("psips demo", "psips demo --seed 3"))(demo)
app.command(
    context_settings=CONTEXT,
    epilog=examples(
        "psips simulate cov-boost --delta 0.1 --runs 500",
        "psips simulate correlated --rho -0.9 --json",
        "psips simulate trial.toml --dask tcp://scheduler:8786",
    ),
)(simulate)
app.command(epilog=examples("psips instances", "psips instances --json"))(instances)
app.command(
    context_settings=CONTEXT,
    epilog=examples("psips complexity cov-boost", "psips complexity trial.toml"),
)(complexity)
app.command(epilog=examples("psips bench --out bench"))(bench)
app.command(
    epilog=examples(
        "psips calibrate --runs 100 --rule bayes",
        "psips calibrate --out c.csv --jobs -1",
    )
)(calibrate)
app.command(
    epilog=examples(
        "psips plan design.toml",
        "psips plan design.toml --delta 0.05 --delta 0.01 --plot plan.png",
    )
)(plan)
app.command(
    epilog=examples(
        "psips report trial --out report.html",
        "psips report trial --store sqlite:///lab.db",
    )
)(report)
app.command(
    epilog=examples("psips reproduce --list", "psips reproduce --runs 30 --out reproduced")
)(reproduce)
app.command(epilog=examples("psips results reproduced --out results.md"))(results)
app.add_typer(study, name="study")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback(epilog=app.info.epilog)
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
        app(prog_name="psips")
    except InputError as error:
        print(f"psips: {sentences(str(error))}", file=sys.stderr)
        sys.exit(getattr(error, "exit_code", 2))
