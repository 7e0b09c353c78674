"""What an evaluation shows while it runs: live on a terminal, or a line from time to time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from psips.errors import counted
from psips.evaluation.sources import Source

SECONDS_PER_REPORT = 1.0  # seconds between two reports
REST = 10.0  # times as long as a report took, there is no other


class Progress(NamedTuple):
    """How an evaluation goes."""

    results: int
    failed: int
    running: int
    seconds: float
    front: tuple[str, ...]  # the candidate set

    def __str__(self) -> str:
        failed = f", {self.failed:,} failed" if self.failed else ""
        front = ", ".join(self.front) or "not known yet"
        return (
            f"{counted(self.results, 'result')}{failed}, {self.seconds:,.0f} s; front: {front}"
        )


class Reporter(Protocol):
    """Is told how an evaluation goes."""

    def report(self, told: Progress, source: Source) -> None:
        """Show how it goes."""

    def close(self) -> None:
        """Show nothing more."""


class Calls:
    """A function that is called with each report."""

    def __init__(self, call: Callable[[Progress], object]) -> None:
        self._call = call

    def report(self, told: Progress, source: Source) -> None:  # noqa: ARG002
        """Hand it on."""
        self._call(told)

    def close(self) -> None:
        """There is nothing to close."""


class Screen:
    """A terminal, with the front as `psips study watch` shows it."""

    def __init__(self, console: Any) -> None:
        from psips.session.live import live_on

        self._live = live_on(console)
        self._due = 0.0

    def report(self, told: Progress, source: Source) -> None:
        """Draw what is known; what takes long is drawn less often."""
        from psips.session.live import drawn

        began = perf_counter()
        if began < self._due and not source.stopped:
            return
        known = source.status()
        failed = f"{told.failed:,} failed, " if told.failed else ""
        more = f"{failed}{counted(told.running, 'call')} running, {told.seconds:,.0f} s"
        if not self._live.is_started:
            self._live.start()
        table = drawn(source.name, source.session.problem, known, more)
        self._live.update(table, refresh=True)
        now = perf_counter()
        self._due = now + REST * (now - began)

    def close(self) -> None:
        """Leave the last picture where it is."""
        if self._live.is_started:
            self._live.stop()


def reporter_of(progress: bool | Callable[[Progress], object] | None) -> Reporter:
    """Return who is told: a function, a terminal, standard error, or no one."""
    if callable(progress):
        return Calls(progress)
    if progress is False or (progress is None and not sys.stderr.isatty()):
        return Calls(lambda _: None)
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if console.is_terminal and not console.is_dumb_terminal:
        return Screen(console)
    return Calls(lambda told: print(told, file=sys.stderr))
