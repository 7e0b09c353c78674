"""A page on a table of scores that was replayed, for people who were not there."""

from __future__ import annotations

from html import escape

from psips.evaluation.matrix import Replay
from psips.input.escaping import one_line
from psips.report.document import front_of
from psips.report.page import page, table
from psips.version import build_version


def matrix_page(found: Replay, name: str) -> str:
    """Return the page as HTML that needs nothing else.

    Parameters
    ----------
    found : Replay
    name : str
        Of the table, for the title.
    """
    kind = "answer" if found.stopped else "answer warning"
    said = [f"{text[0].upper()}{text[1:]}." for text in map(one_line, found.sentences)]
    first, *rest = said
    head, rows = found.rows()
    notes = "".join(f"<li>{escape(one_line(note))}</li>" for note in found.notes)
    parts = [
        f"<h1>{escape(one_line(name))}</h1>",
        f'<p class="small">A table of {found.of:,} cells of '
        f"{found.session.problem.K:,} arms, replayed by psips {build_version()} as if it were "
        "being measured.</p>",
        f'<p class="{kind}">{escape(first)} <strong>{escape(rest[0])}</strong></p>',
        *(f"<p>{escape(text)}</p>" for text in rest[1:]),
        f"<h2>How the table was read</h2>\n<ul>{notes}</ul>" if notes else "",
        "<h2>Arms</h2>\n<p>Estimated means with standard errors, and the posterior probability "
        "of being Pareto-optimal.</p>",
        table([*head], [[one_line(cell) for cell in row] for row in rows], right=1),
        front_of(found.session, found.status),
    ]
    return page(f"{name}: Pareto set", parts)
