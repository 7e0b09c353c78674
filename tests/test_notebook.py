"""What a notebook shows: state and names, escaped, and nothing that has to be compiled."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from html.parser import HTMLParser
from importlib.resources import files
from itertools import chain
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from psips import Problem, Session, Study
from psips.pictures.interactive import figure_of
from psips.session.card import PLOTLY
from psips.web.authentication import OWNER, Person
from psips.web.pages import on_top
from psips.web.view_models import view_of

EVIL = "<script>alert('&')</script>"
ALLOWED = {"div", "b", "br", "table", "tr", "th", "td"}
CARD = {
    "style",
    "span",
    "bdi",
    "code",
    "details",
    "summary",
    "svg",
    "g",
    "title",
    "text",
    "line",
}
CARD |= {"rect", "circle", "path", "ellipse", "polyline", "clippath"}
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


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
    assert page.tags <= ALLOWED | (CARD if what in ("session", "study") else set())
    assert any(EVIL in text for text in page.texts)
    assert not any(
        name.startswith("on") or name in ("href", "src") for name, _ in page.attributes
    )
    if what in ("problem", "status"):
        assert page.attributes == []


@pytest.mark.parametrize(
    ("what", "facts"),
    [
        ("problem", ["arms: 2: ", "cost (minimised)"]),
        (
            "session",
            ["open", "Best so far, and it may change: 1 option", "3 measurements so far"],
        ),
        ("session", ["probability that this set is right", "more measurements until the stop"]),
        ("session", ["Next: session.ask()", "2 options"]),
        ("study", ["tea & cake", "Best so far", "Next: study.ask()"]),
        ("status", ["results: 3", "state: open", "probability of being optimal"]),
    ],
)
def test_it_says_what_is_known(what: str, facts: list[str]) -> None:
    text = "".join(Page(things()[what]._repr_html_()).texts)
    for fact in facts:
        assert fact in text


def test_a_card_says_what_a_page_says() -> None:
    """The same answer on top, and what to do next as a call."""
    study = things()["study"]
    ticket = study.ask()
    text = "".join(Page(study._repr_html_()).texts)
    view = view_of(study.state, ticket.asked, study.store)
    top = on_top(view, Person(None, OWNER))
    for said in (top["head"].title, *chain(*top["head"].facts), top["head"].step.why):
        assert said in text
    assert f"Next: study.tell({ticket.arm!r}, values)" in text
    study.close()
    assert "Next: psips.report.report(study)" in "".join(Page(study._repr_html_()).texts)


def test_a_held_result_comes_first() -> None:
    study = Study.create(problem(), "sqlite://", name="x", seed=1, conduct={"hold": 10.0})
    for _ in range(5):
        study.tell(EVIL, [1.0, 2.0])
    study.tell(EVIL, [500.0, 2.0])
    assert "Next: study.confirm(result=6)" in "".join(Page(study._repr_html_()).texts)


def test_long_tables_are_cut_short() -> None:
    html = Session(problem(500), rng=1)._repr_html_()
    assert len(re.findall("<tr>", html)) == 21
    assert "and 480 more" in html
    assert len(html) < 16000
    assert "and 480 more" in problem(500)._repr_html_()


@pytest.mark.parametrize("interactive", [True, False])
def test_what_a_cell_shows(interactive: bool) -> None:
    """With Plotly its figure, and a picture for whatever cannot draw it; names escaped."""
    card = things()["session"]._card()
    shown = card.outputs(interactive)
    assert ("<svg" in shown[-1]["text/html"], len(shown)) == (True, 1 + interactive)
    if not interactive:
        return
    assert 'class="front"' not in shown[0]["text/html"]  # the front is there once
    figure = shown[1][PLOTLY]
    assert json.loads(json.dumps(figure, allow_nan=False)) == figure
    tips = [tip for trace in figure["data"] for tip in trace.get("hovertext", ())]
    assert any("&lt;script&gt;alert('&amp;')&lt;/script&gt;" in tip for tip in tips)
    assert "<script" not in json.dumps(figure)
    empty = Session(problem(), rng=1)._card()
    assert len(empty.outputs(True)) == 1  # there is nothing to draw


def test_outside_a_notebook_a_terminal_shows_its_own_text() -> None:
    """IPython then goes on to ``repr``."""
    with pytest.raises(NotImplementedError):
        things()["session"]._ipython_display_()


def test_a_notebook_shows_card_and_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, Any]] = []
    kernel = ModuleType("IPython")
    kernel.get_ipython = lambda: SimpleNamespace(kernel=1)  # type: ignore[attr-defined]
    display = ModuleType("IPython.display")
    display.display = lambda data, raw: shown.append(data)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    things()["study"]._ipython_display_()
    assert [next(iter(one)) for one in shown] == ["text/html", PLOTLY]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_pairs_of_metrics(d: int) -> None:
    """One metric is drawn as intervals, two in a plane, three in planes to choose from."""
    made = Problem(objectives=[f"m{c}" for c in range(d)], covariance=[1] * d, arms=3)
    session = Session(made, rng=1)
    for arm in made.arms:
        session.tell(arm, [float(len(arm))] * d)
    figure = figure_of(session._card().front)
    shown = [trace for trace in figure["data"] if trace.get("visible", True)]
    points = [len(trace["x"]) for trace in shown if "markers" in trace["mode"]]
    assert sum(points) == 3
    assert ("error_x" in shown[0]) == (d == 1)
    menu = figure["layout"].get("updatemenus", [{"buttons": []}])[0]["buttons"]
    assert len(menu) == (3 if d == 3 else 0)
    for button in menu:  # each shows the traces of one pair
        assert sum(button["args"][0]["visible"]) == len(shown)


def test_many_options_do_not_swell_a_notebook() -> None:
    """300 options in six metrics, all undecided, with their regions."""
    arms = [f"arm {k}" for k in range(300)]
    made = Problem(objectives=[f"m{c}" for c in range(6)], covariance=[1] * 6, arms=arms)
    session = Session(made, rng=1)
    for k, arm in enumerate(arms):
        session.tell(arm, [float((k * (c + 7)) % 31) for c in range(6)])
    card, figure = session._card().outputs(True)
    assert len(card["text/html"]) < 20_000
    assert len(json.dumps(figure)) < 1_000_000


@pytest.mark.skipif(BROWSER is None and not os.environ.get("CI"), reason="no chromium")
def test_in_a_browser(tmp_path: Path) -> None:
    """Chips can be seen, names are texts, the console is quiet; with Plotly and without."""
    driver = pytest.importorskip("playwright.sync_api")
    card, plotly = things()["session"]._card(), files("plotly") / "package_data/plotly.min.js"
    figure = json.dumps(card.outputs(True)[1][PLOTLY]).replace("<", "\\u003c")
    target = tmp_path / "card.html"
    target.write_text(
        f"<!DOCTYPE html><html lang=en><meta charset=utf-8><title>x</title>{card.html()}"
        f"<div id=chart></div><script src='{Path(str(plotly)).as_uri()}'></script>"
        f"<script>Plotly.newPlot('chart', {figure})</script>",
        encoding="utf-8",
    )
    said: list[str] = []
    with driver.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.goto(target.as_uri())
        page.wait_for_selector("#chart .main-svg")
        assert page.locator(".chip:visible").all_text_contents() == [EVIL]
        assert EVIL in page.locator(".front .point title").last.text_content()
        names = page.locator("#chart .textpoint").all_text_contents()
        assert any(name.strip("\u2068\u2069").startswith("<script>") for name in names)
        assert said == []
        browser.close()
