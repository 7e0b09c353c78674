"""The card of a session or study in a notebook: a summary, and the front.

The HTML needs no script, so that it shows in a notebook that is not trusted, on a page and in a
mail. In a kernel with Plotly the picture is one of Plotly's, see `Card.display`.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, NamedTuple

from psips.errors import counted
from psips.input.digits import estimate, percent
from psips.notebook import MOST_SHOWN, has_plotly, in_kernel, show
from psips.pictures import svg
from psips.pictures.front import Front
from psips.pictures.interactive import figure_of
from psips.problem import Problem
from psips.rules import Rules
from psips.session.front import front_of
from psips.session.headline import Headline, Waiting, headline_of
from psips.session.status import Status

PLOTLY = "application/vnd.plotly.v1+json"
# Colours of a notebook are not ours to choose: texts, lines and tints take that of its text.
STYLE = """
.psips{font-family:system-ui,sans-serif;line-height:1.45;max-width:46rem;padding:.25rem 0}
.psips .top{font-size:.85rem;margin:0 0 .25rem}
.psips .state{border-radius:2rem;padding:.1rem .6rem;font-weight:600;margin-right:.4rem;
background:color-mix(in srgb,currentColor 12%,transparent)}
.psips .title{font-size:1.25rem;font-weight:650;margin:0 0 .5rem}
.psips .chips{display:flex;flex-wrap:wrap;gap:.4rem;margin:0 0 .75rem}
.psips .chip{display:inline-flex;align-items:center;gap:.35rem;border-radius:2rem;
padding:.2rem .7rem;border:1px solid color-mix(in srgb,currentColor 25%,transparent)}
.psips .facts{display:flex;flex-wrap:wrap;gap:.5rem 2rem;margin:0 0 .75rem}
.psips .facts>div{max-width:15rem;font-size:.85rem}
.psips .facts b{display:block;font-size:1.4rem;font-weight:650;line-height:1.2;
font-variant-numeric:tabular-nums}
.psips .line{margin:0 0 .75rem}
.psips code{font:.9em ui-monospace,Menlo,Consolas,monospace;padding:.1rem .35rem;
border-radius:.3rem;background:color-mix(in srgb,currentColor 10%,transparent)}
.psips details{font-size:.85rem}
.psips table{border-collapse:collapse;margin:.5rem 0}
.psips th,.psips td{padding:.2rem 1rem .2rem 0;text-align:right;background:none;
font-variant-numeric:tabular-nums}
.psips th:first-child{text-align:left}
.psips .front{width:100%;height:auto;display:block}
.psips .front text{font:13px system-ui,sans-serif;fill:currentColor}
.psips .front .axis,.psips .front .tick{text-anchor:middle}
.psips .front .left,.psips .front .name{text-anchor:end}
.psips .grid{stroke:currentColor;opacity:.15}
.psips .stairs{fill:none;stroke:#0072b2;stroke-width:1.5;opacity:.8}
.psips .stairs.part{stroke-dasharray:6 4}
.psips .beyond{fill:#d55e00;opacity:.14}
.psips .region{opacity:.18}
.psips .point:hover .region{opacity:.4}
.psips .point:hover .mark{stroke-width:4}
.psips .mark{stroke-width:2}
.psips .m0 .mark,.psips .m0 .region{fill:#009e73;stroke:#009e73}
.psips .m1 .mark,.psips .m1 .region{fill:#0072b2;stroke:#0072b2}
.psips .m2 .mark{fill:none;stroke:#d55e00}
.psips .m2 .region{fill:#d55e00}
.psips .m3 .mark{fill:none;stroke:#8a8a8a}
.psips .m3 .region{fill:#8a8a8a}
.psips .region{stroke:none!important}
.psips .icon{width:1em;height:1em;flex:none;vertical-align:-.12em}
.psips .legend span{white-space:nowrap;margin-right:1rem}
""".replace("\n", "")


class Card(NamedTuple):
    """The answer in short, a front, and a table of the options."""

    name: str
    head: Headline
    front: Front
    call: str  # what to do next, as a call in Python
    table: str

    def html(self, picture: bool = True) -> str:
        """Return the card as HTML; perhaps without the picture, which is shown next to it."""
        head = self.head
        chips = "".join(
            f'<span class="chip" role="listitem" title="{escape(chip.label)}">'
            f"{svg.mark(chip.mark)}<bdi>{escape(chip.name)}</bdi></span>"
            for chip in head.chips
        )
        more = (
            f'<span class="chip" role="listitem">and {head.unlisted:,} more</span>'
            if head.unlisted
            else ""
        )
        facts = "".join(
            f"<div><b>{escape(fact.value)}</b> {escape(fact.meaning)}</div>"
            for fact in head.facts
        )
        parts = [
            f"<style>{STYLE}</style>",
            f'<div class="top"><span class="state">{head.state}</span>'
            f"<bdi>{escape(self.name)}</bdi></div>",
            f'<div class="title"><bdi>{escape(head.title)}</bdi></div>',
            f'<div class="line"><bdi>{escape(head.detail)}</bdi></div>' if head.detail else "",
            f'<div class="chips" role="list">{chips}{more}</div>' if chips else "",
            f'<div class="facts">{facts}</div>',
            f'<div class="line">Next: <code><bdi>{escape(self.call)}</bdi></code> '
            f"({escape(head.step.why)})</div>",
            self._picture() if picture else "",
            self.table,
        ]
        return f'<div class="psips">{"".join(parts)}</div>'

    def _picture(self) -> str:
        shown = self.front.shown()
        if not shown:
            return ""
        drawn = svg.front(self.front, 0, min(1, self.front.d - 1))
        used = sorted({(o.mark, o.label) for o in shown})
        legend = " ".join(f"<span>{svg.mark(m)} {escape(label)}</span>" for m, label in used)
        return f'{drawn}<div class="line legend">{legend}</div>'

    def display(self) -> None:
        """Show the card in a notebook, its front by Plotly if that is installed.

        Raises `NotImplementedError` anywhere else, so that IPython looks for another way.
        """
        if not in_kernel():
            raise NotImplementedError
        show(*self.outputs(has_plotly()))

    def outputs(self, interactive: bool) -> list[dict[str, Any]]:
        """Return what a cell shows, by MIME type: the best one that is known is drawn."""
        if not interactive or not self.front.shown():
            return [{"text/html": self.html(), "text/plain": self.head.title}]
        picture = f'<div class="psips"><style>{STYLE}</style>{self._picture()}</div>'
        return [
            {"text/html": self.html(picture=False), "text/plain": self.head.title},
            {PLOTLY: figure_of(self.front), "text/html": picture, "text/plain": "the front"},
        ]


def card_of(
    name: str,
    problem: Problem,
    rules: Rules,
    known: Status,
    waiting: Waiting,
    calls: Mapping[str, str],
) -> Card:
    """Return the card of a session or study.

    Parameters
    ----------
    name : str
    problem, rules, known
    waiting : Waiting
        What waits for someone.
    calls : dict
        By kind of the next step: a call in Python; ``{}`` is what it is of.
    """
    head = headline_of(problem, rules, known, waiting)
    front = front_of(problem, known)
    call = calls[head.step.kind].replace("{}", repr(head.step.of))
    return Card(name, head, front, call, _table(problem, known, front))


def _table(problem: Problem, known: Status, front: Front) -> str:
    """Return the options, the likeliest at the top; of many the first."""
    chances = known.answers["probability"].tolist()
    pulls = known.arms["pulls"].tolist() if problem.unstructured else []
    order = sorted(front.options, key=lambda o: (o.mark, -chances[o.place], o.place))
    counts = ["measurements"] if pulls else []
    head = ["option", "optimal with probability", *(m.name for m in front.metrics), *counts]
    rows = [
        [
            f"<th>{svg.mark(o.mark)} <bdi>{escape(o.name)}</bdi></th>",
            f"<td>{percent(chances[o.place])}</td>",
            *(f"<td>{estimate(*e)}</td>" for e in zip(o.means, o.errors, strict=True)),
            *(f"<td>{pulls[o.place]:,}</td>" for _ in counts),
        ]
        for o in order[:MOST_SHOWN]
    ]
    top = "".join(f"<th><bdi>{escape(cell)}</bdi></th>" for cell in head)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    more = f"and {len(order) - MOST_SHOWN:,} more" if len(order) > MOST_SHOWN else ""
    count = counted(len(order), "option")
    table = f"<table><tr>{top}</tr>{body}</table>{more}"
    return f"<details><summary>{count}</summary>{table}</details>"
