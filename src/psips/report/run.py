"""A page on commands that were compared, for people who were not there."""

from __future__ import annotations

from html import escape

from psips.commands.drawing import draw, legend
from psips.commands.found import Found
from psips.commands.table import RATIO, cells_of, title_of, word
from psips.input.escaping import one_line
from psips.report.page import page, table
from psips.version import build_version


def run_page(found: Found) -> str:
    """Return the page as HTML that needs nothing else."""
    kind = "answer" if found.stopped else "answer warning"
    rows = cells_of(found)
    head = [
        "option",
        *(title_of(m, found.rows) for m in found.metrics),
        "runs",
        "Pareto set",
        "",
    ]
    head.insert(2, RATIO)
    lines = []
    for row in rows:
        values = [*(row.values or [""] * len(found.metrics))]
        values.insert(1, row.ratio)
        lines.append([row.row.name, *values, row.runs, word(row.row, found.stopped), row.note])
    points = [f"± is half of the {found.confidence:.0%} interval of a mean"]
    points += [found.tolerance_text] if found.tolerance else []
    points += [f"at the stop: {found.promise}"] if found.promise else []
    points += [*found.notes, f"seed {found.seed}"]
    notes = "".join(f"<li>{escape(one_line(point))}</li>" for point in points)
    commands = [[row.name, row.command] for row in found.rows]
    named = any(name != command for name, command in commands)
    parts = [
        f"<h1>Commands compared in {escape(', '.join(m.name for m in found.aims))}</h1>",
        f'<p class="small">Measured by psips {build_version()}, in rounds.</p>',
        f'<p class="{kind}"><strong>{escape(one_line(found.verdict))}</strong></p>',
        f"<p>{escape(found.summary[:1].upper() + found.summary[1:])}. "
        f"{escape(one_line(found.outlook))}</p>",
        table(head, [[one_line(cell) for cell in line] for line in lines], right=1),
        _front(found),
        f"<h2>How it was measured</h2>\n<ul>{notes}</ul>",
        "<h2>Commands</h2>" if named else "",
        table(["option", "command"], [[one_line(c) for c in row] for row in commands])
        if named
        else "",
    ]
    return page("Commands compared", parts)


def _front(found: Found) -> str:
    """Return the drawing of the front as characters; empty if there is none."""
    drawn = draw(found)
    return (
        f"<h2>The front</h2>\n<pre>{escape(chr(10).join(drawn))}</pre>\n"
        f'<p class="small">{escape(one_line(legend(found)))}</p>'
        if drawn
        else ""
    )
