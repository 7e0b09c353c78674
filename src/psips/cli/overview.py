"""What ``psips study list`` shows of each study."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING, Any

from psips.input.escaping import one_line

if TYPE_CHECKING:
    from psips.store import Store

DAMAGED = "damaged"


def overview(store: Store) -> list[dict[str, Any]]:
    """Return name, state, results, progress and candidate set of each study of a store."""
    from psips.session.status import quick_progress
    from psips.study import Study

    rows = []
    for name in store.studies():
        row: dict[str, Any] = {"study": name}
        try:
            state = Study.open(name, store).state
        except (ValueError, KeyError, TypeError, IndexError):
            # One log that cannot be read must not hide the others; `verify` says more.
            rows.append({**row, "state": DAMAGED, "results": None, "progress": None})
            continue
        session = state.session
        kind = "closed" if state.closed else "stopped" if session.stopped else "open"
        progress = state.paced(quick_progress(session.noisy, session.engine))
        rows.append(
            {
                **row,
                "state": kind,
                "stopped": session.stopped,
                "results": session.results,
                "progress": None if progress is None else progress.to_dict(),
                "to_the_stop": "" if progress is None else progress.short,
                "candidate_set": list(session.candidate_set),
            }
        )
    return rows


def as_table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as lines with a heading."""
    if not rows:
        return "there are no studies in this store"
    from psips.session.status_text import cut

    lines = [["study", "state", "results", "to the stop"]]
    for row in rows:
        if row["state"] == DAMAGED:
            lines.append(
                [
                    row["study"],
                    f"damaged: see {join(['psips', 'study', 'verify', row['study']])}",
                ]
            )
        else:
            numbers = [f"{row['results']:,}", row["to_the_stop"]]
            lines.append([row["study"], row["state"], *numbers])
    left = max(len(one_line(cut(line[0], 40))) for line in lines)
    text = []
    for first, state, *numbers in lines:
        cells = [
            one_line(cut(first, 40)).ljust(left),
            state.ljust(7),
            *(n.rjust(8) for n in numbers),
        ]
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)
