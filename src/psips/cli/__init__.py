"""The command line. Each command imports what it needs when it runs, so that help is quick."""

from __future__ import annotations

import atexit
import io
import os
import re
import sys
from contextlib import suppress
from typing import Annotated, Any

import typer

from psips.cli import rank as rank  # likewise
from psips.cli import study_admin as study_admin  # adds to the commands of studies
from psips.cli import watch as watch  # likewise
from psips.cli.check import check
from psips.cli.compare import compare
from psips.cli.complexity import complexity
from psips.cli.demo import demo
from psips.cli.init import init
from psips.cli.instance_options import CONTEXT
from psips.cli.instances import instances
from psips.cli.lab import FORMER, lab
from psips.cli.matrix import matrix
from psips.cli.mcp import mcp
from psips.cli.plan import plan
from psips.cli.report import report
from psips.cli.run import Scanning, run
from psips.cli.screen import HELP, examples
from psips.cli.serve import serve
from psips.cli.simulate import simulate
from psips.cli.study import study
from psips.errors import InputError
from psips.input.escaping import sentences
from psips.interruptible import INTERRUPTED
from psips.version import build_version

MisuseError: Any = typer.BadParameter.__mro__[2]  # typer has no public name for its base
MISUSE_LINE = 300  # characters; what it says comes below two lines on usage

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
app.command(
    epilog=examples(
        "psips init results.csv",
        "psips init results.xlsx --sheet May --objective efficacy --objective toxicity=min",
    )
)(init)
app.command(
    epilog=examples(
        "psips check results.csv --problem design.toml",
        "psips check results.csv --problem design.toml --time date --json",
    )
)(check)
app.command(
    epilog=examples(
        "psips plan design.toml",
        "psips plan design.toml --delta 0.05 --delta 0.01 --plot plan.png",
        "psips plan a.toml b.toml --vary delta=0.05,0.1",
    )
)(plan)
app.command(
    epilog=examples(
        "psips matrix scores.csv --objective accuracy --objective seconds=min",
        "psips matrix accuracy=accuracy.csv seconds=seconds.csv --objective seconds=min",
        "psips matrix logs/ --objective match --objective tokens",
    )
)(matrix)
app.command(
    cls=Scanning,
    epilog="Exit codes: 0 the set is known, or the time is over; 2 bad input; 130 Ctrl-C.\n\n"
    + examples(
        "psips run 'gzip -k -f file' 'xz -k -f file'",
        "psips run -P l 1..9 'gzip -{l} -c file > out' --metric time --metric size=out",
        "psips run './old' './new' --tolerance 1% --time-limit 2min --export new.md",
    ),
)(run)
app.command(
    epilog="Exit codes: 0 nothing is worse, 1 something is worse, 2 bad input.\n\n"
    + examples(
        "psips compare main/logs pull/logs --objective match --objective tokens",
        "psips compare before.csv after.csv --log seconds --tolerance seconds=2%",
        "psips compare main/logs pull/logs --format github > comment.md",
    )
)(compare)
app.command(
    epilog=examples(
        "psips report trial --out report.html",
        "psips report trial --store sqlite:///lab.db",
    )
)(report)
app.command(epilog=examples("psips mcp --store sqlite:///lab.db", "psips mcp --read-only"))(mcp)
app.add_typer(study, name="study")
app.add_typer(serve, name="serve")
app.add_typer(lab, name="lab")
for former in FORMER:
    app.command(hidden=True)(former)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(build_version())
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


def _elsewhere(said: str) -> str:
    """Say where a command is that is not at the top."""
    for word in re.findall(r"No such command '(\w[\w-]*)'", said):
        for name, group in (("study", study), ("serve", serve), ("lab", lab)):
            commands = group.registered_commands
            known = [one.name or getattr(one.callback, "__name__", "") for one in commands]
            known += [one.name for one in group.registered_groups]
            if word in known:
                return f" Did you mean `psips {name} {word}`?"
    return ""


def main() -> None:
    """Run the command line; what the user got wrong ends it with one sentence and code 2."""
    try:
        sys.exit(app(prog_name="psips", standalone_mode=False) or 0)
    except InputError as error:
        print(f"psips: {sentences(str(error))}", file=sys.stderr)
        sys.exit(getattr(error, "exit_code", 2))
    except typer.Abort:
        print("psips: aborted", file=sys.stderr)
        sys.exit(1)
    except MisuseError as error:  # a word that is no command, option or number
        said = io.StringIO()
        error.show(said)
        told = said.getvalue().rstrip().replace(": Value error, ", ": ")  # of pydantic
        text = f"{told}{_elsewhere(str(error))}"
        print(sentences(text, MISUSE_LINE), file=sys.stderr)
        sys.exit(error.exit_code)


def command() -> None:
    """Run the command line as a process of its own, which ends as soon as it is over.

    Python would take everything apart first: a second on a busy machine, and what compiled
    code that Ctrl-C has left running still works on.
    """
    code = 1

    def leave() -> None:  # registered first, so all others of its kind have run before it
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)

    atexit.register(leave)
    try:
        main()
        code = 0
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise
