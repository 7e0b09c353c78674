"""What `psips run` shows while it measures, on a terminal, and at the end."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from psips.cli.screen import output
from psips.cli.screen import show as show_data

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from psips.commands.found import Found
    from psips.commands.measuring import Measuring
    from psips.commands.text import Line

SECONDS_PER_FRAME = 0.25  # seconds between two pictures; none is drawn while a command runs
SHOWN = 24  # options in the table while it runs


@contextmanager
def watched(measuring: Measuring) -> Iterator[None]:
    """Show how it goes, on a terminal; nothing elsewhere."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield
        return
    from rich.live import Live

    with Live(console=console, auto_refresh=False, transient=True) as live:
        measuring.watcher = Screen(live)
        try:
            yield
        finally:
            measuring.watcher = None


class Screen:
    """Draws the state between runs, so that drawing takes no time from them."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self._drawn = -math.inf
        self._progress = ""

    def starts(self, measuring: Measuring, option: str) -> None:
        """Draw what is known, before a run begins."""
        now = time.monotonic()
        if now - self._drawn < SECONDS_PER_FRAME:
            return
        self._drawn = now
        self.live.update(self._picture(measuring, option), refresh=True)

    def told(self, measuring: Measuring) -> None:
        """Look how far it is, after a round."""
        from psips.session.status import quick_progress

        known = measuring.known
        if known is None or time.monotonic() - self._drawn < SECONDS_PER_FRAME:
            return
        session = known.judged
        progress = quick_progress(session.noisy, session.engine)
        if progress is None:
            self._progress = ""
        elif math.isfinite(progress.more):
            self._progress = f"about {progress.more:,.0f} more runs to go"
        else:
            self._progress = "far from settled"

    def _picture(self, measuring: Measuring, option: str) -> Text:
        from psips.commands.labels import labels_of
        from psips.commands.text import Line
        from psips.input.durations import duration_text

        names = [one.name for one in measuring.options]
        labels = labels_of(names)
        known = measuring.known
        spent = duration_text(max(measuring.question.time_limit - measuring.left, 0.0))
        of = duration_text(measuring.question.time_limit)
        lines: list[Line] = []
        if known is None:
            lines.append(Line("first runs, which do not count", "dim"))
        else:
            lines += running_table(measuring, self.live.console.width)
            lines.append(Line(""))
        parts = [f"{spent} of {of}"]
        if known is not None:
            parts.append(f"round {known.round + 1}, {len(known.samples):,} runs")
        parts += [self._progress] if self._progress else []
        lines.append(Line(";  ".join(parts)))
        lines.append(Line(f"running: {labels[option]}", "dim"))
        return _text(lines)


def running_table(measuring: Measuring, width: int) -> list[Line]:
    """Return the options with their means so far."""
    import numpy as np

    from psips.commands.labels import labels_of
    from psips.commands.quantities import significant, unit_for
    from psips.commands.text import STYLES, Line

    known = measuring.known
    assert known is not None
    metrics = measuring.metrics
    labels = labels_of([one.name for one in measuring.options])
    arms = known.problem.arms
    members = known.session.candidate_set
    means = np.full((len(arms), len(metrics)), np.nan)
    counts = [0] * len(arms)
    for k, arm in enumerate(arms):
        own = np.array([one.values for one in known.samples if one.option == arm])
        counts[k] = len(own)
        for c, metric in enumerate(metrics):
            if len(own):
                column = own[:, c]
                means[k, c] = np.exp(np.log(column).mean()) if metric.log else column.mean()
    units = [unit_for(means[:, c].tolist(), m.unit) for c, m in enumerate(metrics)]
    heads = [
        f"{m.name} [{u}]" if u else m.name for m, (_, u) in zip(metrics, units, strict=True)
    ]
    size = min(max(len(labels[arm]) for arm in arms), max(12, width - 14 * len(heads) - 12))
    lines = [Line(f"  {'':<{size}}" + "".join(f"  {h:>12}" for h in heads) + "    runs", "dim")]
    for k, arm in enumerate(arms[:SHOWN]):
        cells = "".join(
            f"  {'-' if math.isnan(v) else significant(v / unit):>12}"
            for v, (unit, _) in zip(means[k].tolist(), units, strict=True)
        )
        mark, style = ("●", STYLES["front"]) if arm in members else (" ", "")
        label = labels[arm][:size]
        lines.append(Line(f"{mark} {label:<{size}}{cells}  {counts[k]:>6,}", style))
    if len(arms) > SHOWN:
        lines.append(Line(f"  and {len(arms) - SHOWN} more", "dim"))
    return lines


def show_found(found: Found, form: str, as_json: bool) -> None:
    """Print the results."""
    if as_json:
        show_data(found.to_dict(), "", True)
        return
    if form == "github":
        from psips.report.pull_request import run_comment

        typer.echo(run_comment(found), nl=False)
        return
    from psips.commands.text import in_ascii, lines_of

    console = output()
    lines = lines_of(found, min(console.width, 120))
    if not _writes("●", console):
        lines = in_ascii(lines)
    console.print(_text(lines), soft_wrap=True)


def _writes(character: str, console: Any) -> bool:
    """Whether a terminal can be sent a character."""
    try:
        character.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return not getattr(console, "legacy_windows", False)


def _text(lines: list[Line]) -> Text:
    from rich.text import Text

    from psips.input.escaping import one_line

    text = Text(no_wrap=True, overflow="crop")
    for number, line in enumerate(lines):
        text.append("\n" if number else "")
        text.append(one_line(line.text), style=line.style)
    return text
