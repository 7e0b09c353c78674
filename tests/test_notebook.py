"""What a notebook shows: state and names, escaped, and nothing that has to be compiled."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from psips import Problem, Session, Study

EVIL = "<script>alert('&')</script>"
ALLOWED = {"div", "b", "br", "table", "tr", "th", "td"}


class Page(HTMLParser):
    """Tags, and the texts between them as a reader sees them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[Any] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def problem(arms: int = 2) -> Problem:
    others = [f"arm {k}" for k in range(arms - 1)]
    return Problem(
        objectives={f"gain {EVIL}": "max", "cost": "min"},
        covariance=[1, 1],
        arms=[EVIL, *others],
        name=EVIL,
    )


def things(arms: int = 2) -> dict[str, Any]:
    session = Session(problem(arms), rng=1)
    study = Study.create(problem(arms), "sqlite://", name="tea & cake", seed=1)
    for arm in problem(arms).arms:
        session.tell(arm, [1.0, 2.0])
        study.tell(arm, [1.0, 2.0])
    session.tell(EVIL, [9.0, 0.0])
    study.tell(EVIL, [9.0, 0.0])
    return {
        "problem": problem(arms),
        "session": session,
        "study": study,
        "status": session.status(),
    }


@pytest.mark.parametrize("what", ["problem", "session", "study", "status"])
def test_texts_stay_texts(what: str) -> None:
    page = Page(things()[what]._repr_html_())
    assert page.tags <= ALLOWED
    assert page.attributes == []
    assert any(EVIL in text for text in page.texts)


@pytest.mark.parametrize(
    ("what", "facts"),
    [
        ("problem", ["arms: 2: ", "cost (minimised)"]),
        ("session", ["state: open", "results: 3", f"candidates: {EVIL}", "measured"]),
        ("study", ["tea & cake", "results: 3 of 3 told, 0 held back", "tickets open: 0"]),
        ("status", ["results: 3", "state: open", "probability of being optimal"]),
    ],
)
def test_it_says_what_is_known(what: str, facts: list[str]) -> None:
    text = "".join(Page(things()[what]._repr_html_()).texts)
    for fact in facts:
        assert fact in text


def test_long_tables_are_cut_short() -> None:
    html = Session(problem(500), rng=1)._repr_html_()
    assert len(re.findall("<tr>", html)) == 21
    assert "and 480 more" in html
    assert len(html) < 4000
    assert "and 480 more" in problem(500)._repr_html_()
