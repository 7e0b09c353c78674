"""A status as text that fits a terminal of 80 columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from psips.input.digits import estimate

Table = tuple[Sequence[str], Mapping[str, Any]]  # names of the rows, columns

WIDTH = 80
NAME = 30  # columns of a name; longer ones are cut
LISTED = 30  # arms or answers; of more, the first and the last
PROOFS = "What is proven of each {}, on its own evidence (a stop may need less):"


def in_words(
    arms: Table,
    answers: Table,
    *,
    stopped: bool,
    closed: bool,
    results: int,
    candidate_set: Sequence[str],
    nothing: str = "",
    progress: str = "",
    chance: float = math.nan,
    hardest: str = "",
    promise: str = "",
    caveat: str = "",
    fit: str = "",
    budget: str = "",
    goal: str = "",
    claim: str = "",
    tolerated: str = "",
    not_known: str = "",
    items: str = "",
    exact: str = "",
) -> str:
    """Return what is known as lines of at most 80 characters; see `Status`."""
    count = f"{results:,} result{'' if results == 1 else 's'}"
    if stopped:
        head = f"stopped after {count}{' and closed' if closed else ''}"
        head += f" ({promise})" if promise else ""
    else:
        state = "closed" if closed else "open"
        head = f"{state} after {count}"
    title = "Pareto set" if stopped and not goal else "candidate set"
    names = ", ".join(candidate_set) or nothing or "none yet"
    if stopped:
        names += caveat
    if not stopped and not math.isnan(chance):
        names += f" (right with probability {probability(chance)}, given the data)"
    found = wrap(f"{title}: {names}", WIDTH, subsequent_indent="  ")
    for text in () if stopped else (progress, hardest):
        found += wrap(text, WIDTH, subsequent_indent="  ")
    if exact:
        found += wrap(exact, WIDTH, subsequent_indent="  ")
    if not_known:
        found += wrap(not_known, WIDTH, subsequent_indent="  ")
    if tolerated:
        found += wrap(tolerated, WIDTH, subsequent_indent="  ")
    if items:
        found += wrap(items, WIDTH, subsequent_indent="  ")
    if fit:
        found += wrap(fit, WIDTH, subsequent_indent="  ")
    if goal:
        found = wrap(f"goal, {goal}: {claim or 'not reached'}", WIDTH) + found
    if budget:
        found += ["", *wrap(budget, WIDTH)]
    what = "arm" if answers[0] == arms[0] else "answer"
    tables = [*_arms(arms), "", PROOFS.format(what), "", *_answers(answers, what)]
    return "\n".join([head, *found, "", *tables])


def _rows(table: Table, places: Sequence[int]) -> list[dict[str, Any]]:
    """Return cells by column, of the rows at some places."""
    return [{name: column[k] for name, column in table[1].items()} for k in places]


def _arms(table: Table) -> list[str]:
    """Return pulls, pending asks and estimates by arm, in blocks if there are many."""
    objectives = [c.removesuffix(" estimate") for c in table[1] if c.endswith(" estimate")]
    shown = _listed(len(table[0]))
    rows = _rows(table, shown)
    columns = [("results", [f"{row['pulls']:,}" for row in rows])]
    if table[1]["pending"].any():
        columns.append(("pending", [f"{row['pending']:,}" for row in rows]))
    for objective in objectives:
        cells = [estimate(row[f"{objective} estimate"], row[f"{objective} se"]) for row in rows]
        columns.append((cut(objective), cells))
    names = [cut(table[0][k]) for k in shown]
    return in_blocks("arm", names, columns, len(table[0]) - len(shown))


def in_blocks(
    title: str,
    names: Sequence[str],
    columns: Sequence[tuple[str, list[str]]],
    more: int = 0,
    width: int = WIDTH,
) -> list[str]:
    """Return a table of texts as lines of this width, in parts below each other if need be.

    ``more`` rows are left out in the middle.
    """
    left = max(map(len, [title, *names]))
    widths = [max(map(len, [name, *cells])) for name, cells in columns]
    lines: list[str] = []
    first = 0
    while first < len(columns):
        last, used = first, left
        while last < len(columns) and (last == first or used + 2 + widths[last] <= width):
            used += 2 + widths[last]
            last += 1
        block = [(name, cells, w) for (name, cells), w in zip(columns, widths, strict=True)]
        block = block[first:last]
        lines += [""] if first else []
        lines.append("  ".join([title.ljust(left), *(t.rjust(w) for t, _, w in block)]))
        for i, name in enumerate(names):
            lines.append("  ".join([name.ljust(left), *(c[i].rjust(w) for _, c, w in block)]))
            if i + 1 == len(names) // 2 and more:
                lines.append(f"... {more:,} more")
        first = last
    return [line.rstrip() for line in lines]


def _answers(table: Table, what: str) -> list[str]:
    """Return probability, verdict and reason by answer; the reason goes below if it is long."""
    shown = _listed(len(table[0]))
    rows = _rows(table, shown)
    names = [cut(table[0][k]) for k in shown]
    left = max(map(len, [what, *names]))
    lines = [f"{what.ljust(left)}  probability  verdict    reason"]
    indent, said = left + 26, ""
    for i, (name, row) in enumerate(zip(names, rows, strict=True)):
        chance = row["probability"]
        verdict = "undecided" if row["verdict"] == "open" else row["verdict"]
        known = "" if math.isnan(chance) else f"{chance:.4g}"
        start = f"{name.ljust(left)}  {known:>11}  {verdict:<9}  "
        if indent + len(row["reason"]) <= WIDTH:
            lines.append(start + row["reason"])
        elif row["reason"] == said:
            lines.append(start + "as above")
        else:
            lines.append(start)
            lines += wrap(row["reason"], WIDTH, initial_indent="    ", subsequent_indent="    ")
        said = row["reason"]
        if i + 1 == len(names) // 2 and len(shown) < len(table[0]):
            lines.append(f"... {len(table[0]) - len(shown):,} more")
    return [line.rstrip() for line in lines]


def probability(chance: float) -> str:
    """Write a probability, in no more digits than there are reasons for.

    Examples
    --------
    >>> probability(0.87312), probability(0.99999)
    ('0.873', 'over 0.999')
    """
    return f"{chance:.3g}" if chance < 0.9995 else "over 0.999"


def _listed(count: int) -> list[int]:
    """Return which of many rows are shown: all, or the first and the last of them."""
    if count <= LISTED:
        return list(range(count))
    half = LISTED // 2
    return [*range(half), *range(count - half, count)]


def cut(name: str, width: int = NAME) -> str:
    """Return a name that is not too long for a column.

    Examples
    --------
    >>> cut("a booster with a very long name indeed", 12)
    'a booster w…'
    """
    return name if len(name) <= width else f"{name[: width - 1]}…"
