"""Cards for notebooks: facts and a table, as HTML in which texts stay texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import Any

MOST_SHOWN = 20  # rows of a table, and names of a list, before it is cut short


def card(title: str, facts: Mapping[str, object], table: str = "") -> str:
    """Return a title, facts with their names, and perhaps a table.

    Examples
    --------
    >>> card("Tea <3", {"results": 12})
    '<div><b>Tea &lt;3</b><br>results: 12</div>'
    """
    lines = [f"{escape(name)}: {escape(str(value))}" for name, value in facts.items()]
    return f"<div><b>{escape(title)}</b><br>{'<br>'.join(lines)}{table}</div>"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; of a long one its beginning, and how much more there is.

    Examples
    --------
    >>> table(["arm"], [["A & B"]])
    '<table><tr><th>arm</th></tr><tr><td>A &amp; B</td></tr></table>'
    """
    every = list(rows)
    shown = ["".join(f"<th>{escape(str(cell))}</th>" for cell in head)]
    shown += [
        "".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in every[:MOST_SHOWN]
    ]
    body = "".join(f"<tr>{row}</tr>" for row in shown)
    more = f"and {len(every) - MOST_SHOWN:,} more" if len(every) > MOST_SHOWN else ""
    return f"<table>{body}</table>{more}"


def names(every: Sequence[str]) -> str:
    """Return names in a row; of many the first.

    Examples
    --------
    >>> names(["A", "B"]), names([])
    ('A, B', 'none yet')
    """
    more = f" and {len(every) - MOST_SHOWN:,} more" if len(every) > MOST_SHOWN else ""
    return (", ".join(every[:MOST_SHOWN]) or "none yet") + more


def in_kernel() -> bool:
    """Whether this runs in the kernel of a notebook, and not in a terminal."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return hasattr(get_ipython(), "kernel")


def has_plotly() -> bool:
    """Whether Plotly is installed, with what draws its figures in a notebook."""
    return find_spec("plotly") is not None


def show(*outputs: Mapping[str, Any]) -> None:
    """Show outputs of the cell that is run, each as data by MIME type: the best is drawn."""
    from IPython.display import display

    for output in outputs:
        display(dict(output), raw=True)
