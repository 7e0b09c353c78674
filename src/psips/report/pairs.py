"""The part of a report that compares the options with each other."""

from __future__ import annotations

from psips import plots
from psips.plots.orders import draw_matrix, draw_order
from psips.report.page import figures, table
from psips.study import Study

WIDE = 4.6  # inches of a figure: its letters can be read on a telephone
IN_ROW, NUMBERED = 3, 8  # options in a row, and in a matrix with its numbers
LISTED = 30  # pairs that are listed


def pairs(study: Study) -> str:
    """Say what is undecided and what it would cost, and draw who dominates whom."""
    found = study.comparisons()
    if found.why_not:
        return ""
    costs = study.problem.has_costs
    head = ["open question", "proven so far", "more measurements"]
    head += [*(["cost"] if costs else []), "tolerance that settles it"]
    rows = [
        [
            one.question,
            one.difference,
            one.measurements,
            *([f"{one.cost:,.4g}"] if costs else []),
            one.tolerances,
        ]
        for one in found.undecided
    ]
    text = "<h2>Comparisons</h2>\n"
    if rows:
        more = f" The first {LISTED} of {len(rows):,}." if len(rows) > LISTED else ""
        text += (
            "<p>Pairs that are not decided: about how many more measurements decide each if "
            "the estimates stay as they are, and about which tolerance would settle it."
            f"{more}</p>\n{table(head, rows[:LISTED])}"
        )
    high = 1.2 + 0.9 * len(found.options) / IN_ROW
    order, matrix = plots.detached((WIDE, max(2.6, high))), plots.detached((WIDE, WIDE))
    draw_order(order, found, IN_ROW)
    draw_matrix(matrix, found, NUMBERED)
    caption = (
        "First: an option stands above those that it dominates by the estimates; lines by how "
        "probable that is, given the data. Second: the probability that the option of a row "
        "dominates that of a column."
    )
    if found.unlisted:
        caption += f" {len(found.options)} of {study.problem.n:,} options."
    return text + figures([order.figure, matrix.figure], caption)
