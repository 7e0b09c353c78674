"""What ``psips study export`` writes."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from psips.input.escaping import as_cell
from psips.problem.measurements import ITEM

if TYPE_CHECKING:
    from psips.store import Event
    from psips.study import Study

COLUMNS = ("number", "told", "ticket", "arm")


def as_csv(study: Study) -> str:
    """Write the results, one line each; numbers keep every digit, kept columns come last.

    A text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    state = study.state
    results = state.ledger.results
    kept = list(dict.fromkeys(name for result in results for name in result.kept or ()))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    item = [ITEM] if state.problem.has_items else []
    header = [*COLUMNS, *item, *map(as_cell, state.problem.objectives)]
    writer.writerow([*header, "corrected", "withdrawn", "held", *map(as_cell, kept)])
    for result in results:
        words = (result.told, result.ticket or "", result.arm, *[result.item or ""] * len(item))
        plain = [result.number, *map(as_cell, words)]
        flags = [result.corrected, *("yes" * flag for flag in (result.withdrawn, result.held))]
        others = [as_cell((result.kept or {}).get(name, "")) for name in kept]
        writer.writerow(
            [*plain, *("" if v is None else repr(v) for v in result.values), *flags, *others]
        )
    return text.getvalue()


def as_data(study: Study) -> dict[str, Any]:
    """Return the design, the tickets, the results and the log as plain data."""
    state = study.state
    objectives = state.problem.objectives
    return {
        "study": study.name,
        "design": state.created.payload,
        "stopped": state.session.stopped,
        "closed": state.closed,
        "candidate_set": list(state.session.candidate_set),
        "tickets": [ticket.to_dict() for ticket in state.ledger.tickets],
        "results": [result.to_dict(objectives) for result in state.ledger.results],
        "events": [event.to_dict() for event in study.events()],
    }


def log_as_data(name: str, events: list[Event]) -> dict[str, Any]:
    """Return a log alone, for one that is damaged."""
    return {"study": name, "damaged": True, "events": [event.to_dict() for event in events]}
