"""``psips lab``: what measures psips itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

from psips.cli.bench import bench
from psips.cli.calibrate import calibrate
from psips.cli.reproduce import reproduce, results
from psips.cli.screen import HELP, examples

lab = typer.Typer(
    help="Measure psips itself: error rates, the paper's figures, speed.",
    epilog=examples("psips lab calibrate --runs 100", "psips lab reproduce --list"),
    no_args_is_help=True,
    context_settings=HELP,
    rich_markup_mode=None,
)
lab.command(
    epilog=examples(
        "psips lab calibrate --runs 100 --rule bayes",
        "psips lab calibrate --out c.csv --jobs -1",
    )
)(calibrate)
lab.command(epilog=examples("psips lab bench --out bench"))(bench)
lab.command(
    epilog=examples(
        "psips lab reproduce --list", "psips lab reproduce --runs 30 --out reproduced"
    )
)(reproduce)
lab.command(epilog=examples("psips lab results reproduced --out results.md"))(results)


def _former(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command under the name it had in 0.1, with a word on the new one."""

    @wraps(command)  # the same options
    def renamed(*args: Any, **options: Any) -> None:
        name = command.__name__
        typer.echo(f"psips: `psips {name}` is now `psips lab {name}`", err=True)
        command(*args, **options)

    return renamed


FORMER = [_former(command) for command in (calibrate, bench, reproduce, results)]
