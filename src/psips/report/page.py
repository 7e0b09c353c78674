"""How a report looks: style, tables and figures as HTML that needs nothing else.

On a narrow screen each row of a table becomes a card, with the headings next to the cells, so
that nothing is cut off; figures are small enough for their letters to stay readable there.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psips.pictures.front import Mark

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
  max-width: 62rem; margin: 0 auto; padding: 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; margin: 2rem 0 0.5rem; border-bottom: 1px solid #bbb; }
.answer { border-left: 0.4rem solid #0072b2; background: #eef5fa; padding: 0.6rem 1rem; }
.warning { border-left-color: #d55e00; background: #fdf1e8; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.6rem 0; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.7rem 0.25rem 0;
  border-bottom: 1px solid #ddd; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
td.n { white-space: nowrap; }
td:first-child { min-width: 6rem; }
td:last-child:not(.n) { min-width: 14rem; }
figure { margin: 1rem 0; }
.drawn { display: grid; gap: 0.5rem; grid-template-columns: minmax(0, 34rem); }
.drawn.several { grid-template-columns: repeat(2, minmax(0, 1fr)); }
figure svg { width: 100%; height: auto; }
.legend { font-size: 0.9rem; margin: 0.3rem 0; }
.legend span { white-space: nowrap; margin-right: 1.2rem; }
.legend svg { width: 0.9em; height: 0.9em; vertical-align: -0.1em; margin-right: 0.3em; }
figcaption, .small { font-size: 0.9rem; color: #444; }
code { font-size: 0.85em; overflow-wrap: anywhere; }
@media screen and (max-width: 40rem) {
  .drawn, .drawn.several { grid-template-columns: minmax(0, 1fr); }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); }
  table, tbody, tr, td { display: block; }
  tr { border: 1px solid #ccc; border-radius: 0.3rem; padding: 0.3rem 0.6rem;
    margin: 0.5rem 0; }
  td, td.n { text-align: left; white-space: normal; border: 0; padding: 0.1rem 0;
    min-width: 0; overflow-wrap: anywhere; }
  td:last-child:not(.n), td:first-child { min-width: 0; }
  td:first-child { font-weight: 600; }
  td:empty { display: none; }
  td[data-label]:not(:first-child)::before { content: attr(data-label) ": "; color: #555; }
}
@media screen { .appendix { border-top: 3px solid #0072b2; margin-top: 3rem; } }
@media print { .appendix { break-before: page; }
  body { font-size: 10pt; max-width: none; padding: 0; }
  .wide { overflow: visible; } table { font-size: 8pt; }
  .drawn { grid-template-columns: minmax(0, 24rem); }
  thead { display: table-header-group; }
  figure, tr, .answer { break-inside: avoid; }
  h2, h2 + p, thead, tbody tr:first-child { break-after: avoid; }
  h2 + p, h2 + div, h2 + figure, h2 + p + div { break-before: avoid; } }
"""

SHAPES = {  # the marks of a front, in a square of 16 units
    "D": '<path d="M8 1 15 8 8 15 1 8Z"',
    "o": '<circle cx="8" cy="8" r="6"',
    "x": '<path d="M2 2 14 14M14 2 2 14"',
}


def page(title: str, parts: Iterable[str]) -> str:
    """Write a page of its own; parts that are empty are left out."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n"
        "</head>\n<body>\n" + "\n".join(part for part in parts if part) + "\n</body>\n</html>\n"
    )


def table(
    head: Sequence[str] | None, rows: Iterable[Sequence[Any]], right: int | None = None
) -> str:
    """Write a table; the columns from ``right`` on hold numbers."""

    def line(cells: Sequence[Any], tag: str) -> str:
        text = ""
        for place, cell in enumerate(cells):
            number = ' class="n"' if right is not None and place >= right else ""
            label = ""
            if tag == "td" and head is not None and place < len(head):
                label = f' data-label="{escape(str(head[place]))}"'
            text += f"<{tag}{number}{label}>{escape(str(cell))}</{tag}>"
        return f"<tr>{text}</tr>\n"

    body = "".join(line(row, "td") for row in rows)
    top = "" if head is None else f"<thead>{line(head, 'th')}</thead>\n"
    return f'<div class="wide"><table>{top}<tbody>{body}</tbody></table></div>\n'


def figures(drawn: Sequence[Any], caption: str, legend: str = "") -> str:
    """Write figures of matplotlib with one caption, side by side where there is room."""
    several = " several" if len(drawn) > 1 else ""
    pictures = "\n".join(_svg(figure) for figure in drawn)
    return (
        f'<figure><div class="drawn{several}">{pictures}</div>{legend}'
        f"<figcaption>{escape(caption)}</figcaption></figure>\n"
    )


def legend(marks: Iterable[Mark]) -> str:
    """Write what the marks of a front mean."""
    text = ""
    for mark in marks:
        fill = mark.colour if mark.filled and mark.marker != "x" else "white"
        shape = f'{SHAPES[mark.marker]} fill="{fill}" stroke="{mark.colour}" stroke-width="2"/>'
        icon = f'<svg viewBox="0 0 16 16" aria-hidden="true">{shape}</svg>'
        text += f"<span>{icon}{escape(mark.label)}</span> "
    return f'<div class="legend">{text}</div>'


def _svg(figure: Any) -> str:
    """Return a figure as an SVG element that is the same each time."""
    from matplotlib import rc_context

    text = io.StringIO()
    with rc_context({"svg.hashsalt": "psips"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]
