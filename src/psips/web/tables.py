"""Tables that are sorted, filtered and searched: what an address asks for, and the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from psips.errors import fold, unknown
from psips.pictures.front import PROVEN_DOMINATED
from psips.study import Result
from psips.web.view_models import Answer, StudyView

T = TypeVar("T")

ROWS = 50  # of a page
STATES = ("counts", "held", "corrected", "withdrawn")


class Wanted(NamedTuple):
    """What an address asks of a table."""

    sort: str = ""  # name of the column; "" is the usual order
    down: bool = False
    search: str = ""
    state: str = ""
    page: int = 1

    def link(self, column: str) -> str:
        """Return the query that sorts by a column, or turns its order."""
        down = not self.down if column == self.sort else False
        return self.query(sort=column, down=down, page=1)

    def query(self, **changed: Any) -> str:
        """Return the query that asks for the same but what is changed."""
        given = self._replace(**changed)
        pairs = {
            "sort": given.sort,
            "down": "1" if given.down else "",
            "q": given.search,
            "state": given.state,
            "page": str(given.page) if given.page > 1 else "",
        }
        return "?" + urlencode({name: text for name, text in pairs.items() if text})

    def order(self, column: str) -> str | None:
        """Return how a column is sorted, for ``aria-sort``; None if it is not."""
        if column != self.sort:
            return None
        return "descending" if self.down else "ascending"


class Page(NamedTuple):
    """Rows of a page of a table."""

    rows: list[Any]
    found: int  # that are as asked for
    of: int  # in all
    first: int  # number of the first row shown, from 1
    last: int
    pages: int


def cut(rows: Sequence[T], of: int, wanted: Wanted) -> Page:
    """Return one page of rows."""
    pages = max(1, -(-len(rows) // ROWS))
    page = min(wanted.page, pages)
    first = ROWS * (page - 1)
    shown = list(rows[first : first + ROWS])
    return Page(shown, len(rows), of, first + 1 if shown else 0, first + len(shown), pages)


def options(view: StudyView, wanted: Wanted, hide: bool) -> Page:
    """Return the options as asked for; the usual order is by what is known, best first."""
    rows = [a for a in view.answers if not (hide and a.option.mark == PROVEN_DOMINATED)]
    if wanted.search:
        text = fold(wanted.search)
        rows = [a for a in rows if text in fold(a.name)]
    keys: dict[str, Callable[[Answer], Any]] = {
        "": lambda a: (a.option.mark, a.option.place),
        "option": lambda a: fold(a.name),
        "finding": lambda a: (a.option.mark, a.option.place),
        "probability": lambda a: a.probability,
        "measurements": lambda a: a.pulls or 0,
        **{
            name: lambda a, c=c: a.option.means[c]  # type: ignore[misc]
            for c, name in enumerate(view.problem.objectives)
        },
    }
    return cut(_sorted(rows, keys, wanted), len(view.answers), wanted)


def results(every: Sequence[Result], objectives: Sequence[str], wanted: Wanted) -> Page:
    """Return the measurements as asked for; the usual order is the newest first."""
    rows = every
    if wanted.state:
        if wanted.state not in STATES:
            raise unknown("state of measurements", wanted.state, STATES)
        rows = [r for r in rows if state_of(r) == wanted.state]
    if wanted.search:
        text = fold(wanted.search)
        rows = [r for r in rows if text in fold(f"{r.arm}\n{r.ticket or ''}\n{r.item or ''}")]
    if not wanted.sort:
        return cut(rows[::-1], len(every), wanted)
    keys: dict[str, Callable[[Result], Any]] = {
        "number": lambda r: r.number,
        "option": lambda r: fold(r.arm),
        "state": state_of,
        **{
            name: lambda r, c=c: math.nan if r.values[c] is None else r.values[c]  # type: ignore[misc]
            for c, name in enumerate(objectives)
        },
    }
    return cut(_sorted(rows, keys, wanted), len(every), wanted)


def state_of(result: Result) -> str:
    """Say in a word what became of a measurement."""
    if result.withdrawn:
        return "withdrawn"
    return "held" if result.held else "corrected" if result.corrected else "counts"


def _sorted(rows: Sequence[T], keys: dict[str, Any], wanted: Wanted) -> list[T]:
    """Sort rows; what has no number comes last, whichever way."""
    if wanted.sort not in keys:
        raise unknown("column to sort by", wanted.sort, [key for key in keys if key])
    key = keys[wanted.sort]
    empty = [row for row in rows if _missing(key(row))]
    full = [row for row in rows if not _missing(key(row))]
    return sorted(full, key=key, reverse=wanted.down) + empty


def _missing(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
