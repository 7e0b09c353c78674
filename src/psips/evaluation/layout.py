"""The result of a table, as text: the Pareto set, the table, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from psips.input.digits import estimate, in_ratios
from psips.problem import Problem
from psips.session.status_text import WIDTH

if TYPE_CHECKING:
    import pandas as pd

MARK = "●"  # of an option in the Pareto set
SHORTEST_NAME = 12  # characters of a name


def lines_of(texts: Iterable[str], width: int = WIDTH) -> list[str]:
    """Break texts into lines."""
    broken = (
        wrap(text, width, subsequent_indent="  ", break_on_hyphens=False) for text in texts
    )
    return [line for lines in broken for line in lines]


def marked(
    names: Sequence[str],
    inside: Sequence[bool],
    columns: Sequence[tuple[str, Sequence[str]]],
    width: int,
) -> list[str]:
    """Return names with the mark of those that are in a set.

    They are shortened if the columns fit into the width then, and names still differ.

    Examples
    --------
    >>> marked(["a-very-long-name", "b"], [True, False], [("cost", ["0.25", "0.5"])], 20)
    ['● a-very…-name', '  b']
    """
    used = sum(2 + max(map(len, [title, *cells])) for title, cells in columns)
    room = width - used - 2
    short = [middle_cut(name, room) for name in names] if room >= SHORTEST_NAME else list(names)
    chosen = short if len(set(short)) == len(set(names)) else names
    return [f"{MARK if one else ' '} {name}" for one, name in zip(inside, chosen, strict=True)]


def middle_cut(name: str, width: int) -> str:
    """Leave out the middle of a long name: both ends tell options apart."""
    if len(name) <= width:
        return name
    end = (width - 1) // 2
    return f"{name[: width - 1 - end]}…{name[len(name) - end :]}"


def estimates_of(problem: Problem, arms: pd.DataFrame) -> list[list[str]]:
    """Return the means of each arm with their errors as texts, by objective."""
    return [
        [
            (in_ratios if scale.log else estimate)(row[f"{label} estimate"], row[f"{label} se"])
            for label, scale in zip(problem.labels, problem.scales, strict=True)
        ]
        for _, row in arms.iterrows()
    ]


def legend_of(problem: Problem, inside: str = "Pareto set") -> str:
    """Say what marks and numbers of a table of arms mean."""
    return f"{MARK} {inside};  {errors_of(problem)};  probability: of being optimal"


def errors_of(problem: Problem) -> str:
    """Say what the means of a table are, and their errors."""
    pairs = zip(problem.objectives, problem.scales, strict=True)
    logs = [name for name, scale in pairs if scale.log]
    means = f" (geometric means of {', '.join(logs)})" if logs else ""
    return f"±: standard error{means}"


def laid_out(
    answer: Iterable[str], table: Sequence[str], notes: Iterable[str], width: int = WIDTH
) -> str:
    """Put the parts of a text together."""
    parts = [lines_of(answer, width), list(table), lines_of(notes, width)]
    return "\n\n".join("\n".join(part) for part in parts if part)
