"""A live view in a terminal: the front with probabilities, and how far it is to the stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psips.errors import counted
from psips.input.digits import estimate, percent
from psips.input.escaping import one_line
from psips.problem import Problem
from psips.session.front import marks_of
from psips.session.headline import state_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    from psips.session.status import Status

MARKS = (("◆", "green"), ("●", "blue"), ("○", "dark_orange"), ("x", "bright_black"))
BAR = 10  # letters of a whole bar of probability
LISTED = 30  # options that are listed


def live_on(console: Console) -> Live:
    """Return a display that is drawn when it is told to, and stays at the end."""
    from rich.live import Live

    return Live(console=console, auto_refresh=False)


def line_of(known: Status) -> str:
    """Say in a line where a study is."""
    parts = [f"{state_of(known)} after {counted(known.results, 'measurement')}"]
    found = ", ".join(map(one_line, known.candidate_set)) or known.nothing or "no answer yet"
    parts.append(found)
    if known.stopped:
        parts.append(known.promise)
    elif known.probability_of_change == known.probability_of_change:
        parts.append(f"right with probability {percent(1.0 - known.probability_of_change)}")
    if known.progress is not None and not known.stopped:
        parts.append(str(known.progress))
    return "; ".join(parts)


def drawn(name: str, problem: Problem, known: Status, more: str = "") -> Table:
    """Return what is known as a table for a terminal: the likeliest options at the top.

    Parameters
    ----------
    name : str
    problem, known
    more : str
        What is to be said besides.
    """
    from rich.table import Table
    from rich.text import Text

    from psips.input.digits import percent

    table = Table(
        title=Text(": ".join(filter(None, (one_line(name), state_of(known)))), style="bold"),
        caption=Text("\n".join(filter(None, (line_of(known), more)))),
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
