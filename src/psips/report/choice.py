"""The part of a report that orders the options by a preference."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from psips.input.digits import chance, estimate
from psips.report.page import table
from psips.session.preference import in_words
from psips.study.state import State


def chosen(
    state: State, weights: Mapping[str, float] | None, reference: Mapping[str, float] | None
) -> str:
    """Return the options in the order of a preference; empty if there is none."""
    if weights is None and reference is None:
        return ""
    found = state.session.rank(weights=weights, reference=reference)
    said = []
    for what, given in (("weights", weights), ("reference point", reference)):
        if given is not None:
            each = ", ".join(f"{name} {value:g}" for name, value in given.items())
            said.append(f"{what}: {each}")
    rows = [
        [name, estimate(row["score"], row["se"]), chance(row["best"])]
        for name, row in found.iterrows()
    ]
    head = ["option", "score", "probability of being best"]
    return (
        f"<h2>Choosing from the front</h2>\n<p>By {escape('; '.join(said))}. "
        f"{escape(in_words(found))} Probabilities are posterior, by a flat prior, among these "
        f"options.</p>\n{table(head, rows, right=1)}"
    )
