"""What ``psips study export`` writes."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psips.study import Study

COLUMNS = ("number", "told", "ticket", "arm")


def as_csv(study: Study) -> str:
    """Write the results, one line each; numbers keep every digit, kept columns come last."""
    state = study.state
    results = state.ledger.results
    kept = list(dict.fromkeys(name for result in results for name in result.kept or ()))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, *state.problem.objectives, "corrected", "withdrawn", *kept])
    for result in results:
        plain = [result.number, result.told, result.ticket or "", result.arm]
        flags = [result.corrected, "yes" if result.withdrawn else ""]
        others = [(result.kept or {}).get(name, "") for name in kept]
        writer.writerow([*plain, *map(repr, result.values), *flags, *others])
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
