"""A study as tables, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from psips.store import Event
from psips.study.ledger import Result


def results_frame(objectives: Sequence[str], results: Sequence[Result]) -> pd.DataFrame:
    """Return results by number: arm, values, and what became of them.

    Columns of files that were kept come last; they are empty for results without them.
    """
    kept = list(dict.fromkeys(name for result in results for name in result.kept or ()))
    items = any(result.item is not None for result in results)
    item = ["item"] if items else []
    columns = [
        "arm",
        *item,
        *objectives,
        "ticket",
        "told",
        "corrected",
        "withdrawn",
        "held",
        *kept,
    ]
    rows = [
        [
            *(result.arm, *([result.item] if items else []), *result.values, result.ticket),
            *(pd.Timestamp(result.told), result.corrected, result.withdrawn, result.held),
            *((result.kept or {}).get(name) for name in kept),
        ]
        for result in results
    ]
    numbers = pd.Index([result.number for result in results], name="result", dtype="int64")
    return pd.DataFrame(rows, columns=columns, index=numbers)


def log_frame(events: Sequence[Event]) -> pd.DataFrame:
    """Return events by number: when, what kind, the payload as data, and the hash."""
    rows = [[pd.Timestamp(e.at), e.kind, e.payload, e.hash] for e in events]
    numbers = pd.Index([event.seq for event in events], name="event", dtype="int64")
    return pd.DataFrame(rows, columns=["at", "kind", "payload", "hash"], index=numbers)
