"""How commands write: tables on standard output, progress on a terminal only."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from psips.input.escaping import as_json as written
from psips.input.escaping import plain as harmless

if TYPE_CHECKING:
    from rich.console import Console

HELP = {"help_option_names": ["-h", "--help"]}
LATE = 2.0  # seconds after which someone at a terminal is told what takes so long
PIPE_WIDTH = 120  # columns of a table that no terminal limits


class OutputFormat(StrEnum):
    """How a command prints its results."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


Format = Annotated[
    OutputFormat,
    typer.Option("--format", help="github: Markdown for a comment on a pull request."),
]


def examples(*commands: str) -> str:
    """Return the end of a help page: commands to try, each on a line of its own."""
    return "\n".join(["\b", "Examples:", *(f"  {command}" for command in commands)])


def check_sizes(k: int | None, d: int | None) -> None:
    """Refuse random instances that no memory holds."""
    from psips.errors import InputError, quote
    from psips.input.checks import MAX_ARMS, MOST_OBJECTIVES

    for option, given, most in (("--k", k, MAX_ARMS), ("--d", d, MOST_OBJECTIVES)):
        if given is not None and given > most:
            raise InputError(f"{option} must be at most {most:,}, got {quote(given)}")


class Line(Protocol):
    """A line that can be rewritten."""

    def __call__(self, text: str, /) -> None:
        """Show a text."""


def output() -> Console:
    """Return the console of standard output."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PIPE_WIDTH)
    return console


def text_width() -> int:
    """Return how wide texts are: as the terminal, up to a limit; 80 columns elsewhere."""
    from psips.session.status_text import WIDTH

    console = output()
    return min(console.width, PIPE_WIDTH) if console.is_terminal else WIDTH


@contextmanager
def progress_line(text: str) -> Iterator[Line]:
    """Show a line that changes, on a terminal; nothing elsewhere."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(escape(text)) as status:
        yield lambda text: status.update(escape(text))


@contextmanager
def late_line(text: str, after: float = LATE) -> Iterator[None]:
    """Show a line on a terminal if something takes longer than ``after`` seconds."""
    if not sys.stderr.isatty():
        yield
        return
    over = threading.Event()

    def show_it() -> None:
        if not over.wait(after):
            with progress_line(text):
                over.wait()

    shown = threading.Thread(target=show_it, daemon=True)
    shown.start()
    try:
        yield
    finally:
        over.set()
        shown.join()


@contextmanager
def progress_bar(text: str, total: int) -> Iterator[Line]:
    """Show a bar that a call moves on by one, on a terminal; nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(text, total=total)
        yield lambda text: progress.update(task, advance=1, description=text)


def show(data: dict[str, Any], text: str, as_json: bool) -> None:
    """Print the result of a command: as JSON, or in words."""
    typer.echo(written(data) if as_json else harmless(text))


def show_as(
    form: OutputFormat, data: dict[str, Any], text: str, markdown: Callable[[], str]
) -> None:
    """Print the result of a command in the form that was asked for."""
    if form is OutputFormat.GITHUB:
        typer.echo(markdown(), nl=False)
    else:
        show(data, text, form is OutputFormat.JSON)


def number(value: float) -> str:
    """Write a count, or a mean of counts, with separators.

    Examples
    --------
    >>> number(11264.4), number(7.25)
    ('11,264', '7.2')
    """
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
