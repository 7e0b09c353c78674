"""The report: complete, self-contained, escaped, and readable in a browser."""

from __future__ import annotations

import re
import shutil
import sys
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from psips.cli import main
from psips.pictures.front import MARKS
from psips.problem import Problem
from psips.problem.parameters import Ball
from psips.report import report
from psips.report.page import legend
from psips.rules import Rules
from psips.rules.promises import promise
from psips.study import Study
from psips.version import build_version

ARMS = ["<script>alert(1)</script>", "B & C", "D $x$"]
MEANS = {ARMS[0]: (1.0, 0.0), ARMS[1]: (0.0, 0.5), ARMS[2]: (1.5, 0.8)}


class Page(HTMLParser):
    """Tags, attributes and visible text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        names = ("src", "href", "xlink:href", "data", "action", "style")
        self.links += [value or "" for name, value in attrs if name in names]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def study(tmp_path: Path) -> Study:
    problem = Problem(
        objectives={"gain <b>": "max", "cost": "min"}, covariance=[1.0, 0.5], arms=ARMS
    )
    made = Study.create(problem, f"sqlite:///{tmp_path / 'a.db'}", name="<i>odd</i>", seed=42)
    rng = np.random.default_rng(1)
    for _ in range(15):
        tickets = made.ask(4)
        objectives = problem.objectives
        made.tell_many(
            {
                "ticket": ticket.id,
                **dict(zip(objectives, rng.normal(MEANS[ticket.arm]).tolist(), strict=True)),
            }
            for ticket in tickets
        )
    made.correct([0.5, 0.25], result=3, reason="misread <u>")
    made.withdraw(result=5, reason="spilt")
    made.ask(2)
    return made


# Tables that are wider than their place, and cells that reach beyond the window.
CUT_OFF = """[...document.querySelectorAll('.wide, td')]
  .filter(e => e.scrollWidth > e.clientWidth + 1
    || (e.tagName === 'TD' && e.getBoundingClientRect().right > window.innerWidth))
  .map(e => e.outerHTML.slice(0, 200))"""
# The smallest letters of a figure in pixels: matplotlib's are of 8 points.
SMALLEST = """Math.min(...[...document.querySelectorAll('.drawn > svg')]
  .map(e => 8 * e.getBoundingClientRect().width / parseFloat(e.getAttribute('width'))))"""


def at() -> datetime:
    return datetime(2030, 1, 2, tzinfo=UTC)


def test_everything_is_in_it(study: Study) -> None:
    html = report(study, at)
    page = Page(html)
    for arm in ARMS:
        assert arm in page.text
    known = study.status()
    for answer, row in known.answers.iterrows():
        assert row["reason"] in page.text, answer
    for text in (
        "gain <b>",
        "misread <u>",
        "spilt",
        "42",
        study.state.hash,
        "every hash fits",
        "numpy " + np.__version__,
        f"by psips {build_version()}",
        "Validated by simulation, not proven",
        "2030-01-02",
        "2 open",
        "Withdrawn: 1; corrected: 1",
    ):
        assert text in page.text, text
    assert page.tags.count("figure") == page.tags.count("figcaption") == 4
    assert page.tags.count("svg") == 5 + 2  # and two marks in the legend


def test_marks_of_the_legend_are_filled_as_in_the_picture() -> None:
    fills = {mark.label: re.search(r'fill="([^"]*)"', legend([mark]))[1] for mark in MARKS}
    assert fills == {
        "candidate, proven optimal": MARKS[0].colour,
        "candidate, undecided": MARKS[1].colour,
        "not a candidate, undecided": "white",
        "proven not optimal": "white",
    }


def test_nothing_comes_from_outside(study: Study) -> None:
    html = report(study, at)
    page = Page(html)
    assert {"script", "link", "img", "iframe", "i", "u", "b"} & set(page.tags) == set()
    assert all(link.startswith("#") for link in page.links if "/" in link or ":" not in link)
    assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?\s*(https?:)?//""", html)
    assert "@import" not in html


def test_only_the_time_varies(study: Study) -> None:
    assert report(study, at) == report(study, at)


def test_a_changed_log_is_said(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    found = study.verify()._replace(problems=("event 2 was changed",))
    monkeypatch.setattr(study, "replayed", lambda: found)
    html = report(study, at)
    assert "does not verify" in html
    assert "event 2 was changed" in html


def test_findings_are_escaped() -> None:
    problem = Problem(objectives=["gain <b>"], covariance=[1.0], arms=ARMS)
    made = Study.create(problem, "sqlite://", name="new", seed=1)
    rng = np.random.default_rng(1)
    values = rng.normal(size=40).tolist()
    values[20] = 9.0
    made.tell_many({"arm": ARMS[i % 2], "gain <b>": x} for i, x in enumerate(values))
    html = report(made, at)
    assert {"script", "b"} & set(Page(html).tags) == set()
    text = Page(html).text
    assert "Arm '<script>alert(1)</script>'" not in text
    assert f"Result 21: gain <b> = 9 of arm '{ARMS[0]}' is " in text
    assert f"Arm '{ARMS[2]}' has no result." in text
    assert "the promise may not hold" in text


def test_an_empty_study() -> None:
    problem = Problem(objectives=["a"], covariance=[1.0], arms=2)
    html = report(Study.create(problem, "sqlite://", name="new", seed=1), at)
    assert "Open after 0 results" in html
    assert "No violations found" not in html


@pytest.mark.parametrize(
    ("rules", "begins"),
    [
        (Rules(stopping="never"), "None"),
        (Rules(stopping="bayes"), "Bayesian"),
        (Rules(stopping="glr", calibration="proven"), "Proven"),
        (Rules(), "Validated by simulation, not proven"),
        (Rules(stopping="posterior", calibration="sharp"), "Heuristic"),
        (Rules(calibration="heuristic"), "Heuristic"),
    ],
    ids=str,
)
def test_promises(rules: Rules, begins: str) -> None:
    assert promise(rules, Problem(objectives=["a"], covariance=[1.0], arms=2)).startswith(
        begins
    )


def test_a_proof_holds_within_the_parameter_set() -> None:
    def linear(bound: Ball | None) -> Problem:
        eye = [[1.0, 0.0], [0.0, 1.0]]
        return Problem(objectives=["a"], covariance=[1.0], features=eye, parameter_set=bound)

    within = "whatever the truth is within the parameter set registered."
    certified = Rules(stopping="certified")
    assert within in promise(certified, linear(Ball(1.0)))
    assert "whatever the truth is. " in promise(certified, linear(None))
    made = Study.create(linear(Ball(1.0)), "sqlite://", name="new", seed=1, rules=certified)
    assert Page(report(made, at)).text.count(within) == 2  # of the stop, and of verdicts


def test_a_linear_study_that_has_just_begun() -> None:
    problem = Problem(
        objectives=["a", "b"],
        covariance=[1.0, 1.0],
        features=[[0.0], [1.0], [3.0]],
        arms=list("XYZ"),
    )
    made = Study.create(problem, "sqlite://", name="new", seed=1)
    made.tell("Y", [1.0, 2.0])
    text = Page(report(made, at)).text
    assert "the options measured do not span the features yet, so there is no candidate" in text
    assert "no estimate yet" in text
    assert "not measured" in text
    assert "none: least squares" in text
    assert "The linear model has not been tested" in text
    made.tell("Z", [1.0, 2.0])
    assert "do not span" not in Page(report(made, at)).text


def test_command(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    out = tmp_path / "report.html"
    words = ["report", study.name, "--store", f"sqlite:///{tmp_path / 'a.db'}", "--out"]
    monkeypatch.setattr(sys, "argv", ["psips", *words, str(out)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    assert out.read_text().startswith("<!DOCTYPE html>")
    monkeypatch.setattr(sys, "argv", ["psips", *words, str(tmp_path / "no" / "r.html")])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert "cannot write" in capsys.readouterr().err


def test_in_a_browser(study: Study, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("no chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api")
    path = tmp_path / "report.html"
    path.write_text(report(study, at), encoding="utf-8")
    said: list[str] = []
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for width in (1280, 400):
            page = opened.new_page(viewport={"width": width, "height": 800})
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("dialog", lambda dialog: said.append(dialog.message))
            page.on(
                "request",
                lambda request: (
                    said.append(request.url) if not request.url.startswith("file:") else None
                ),
            )
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(CUT_OFF) == []
            if width == 400:
                assert page.evaluate(SMALLEST) >= 8.5
        opened.close()
    assert said == []


def test_headings_of_cells_for_narrow_screens(study: Study) -> None:
    html = report(study, at)
    assert 'data-label="probability of being optimal"' in html
    assert 'data-label="gain &lt;b&gt;"' in html
    assert "content: attr(data-label)" in html


def test_headings_stay_with_their_tables_in_print(study: Study) -> None:
    style = report(study, at).split("<style>")[1].split("</style>")[0]
    printed = style.split("@media print")[1]
    for rule in ("h2, h2 + p, thead", "break-after: avoid", "h2 + p + div"):
        assert rule in printed


def test_every_pair_has_a_figure_of_its_own() -> None:
    names = [f"o{i}" for i in range(4)]
    problem = Problem(objectives=names, covariance=[1.0] * 4, arms=3)
    made = Study.create(problem, "sqlite://", name="four", seed=1)
    for arm in problem.arms:
        made.tell(arm, [1.0, 2.0, 3.0, 4.0])
    first, rest = report(made, at).split('<div class="appendix">')
    front = first.split("<h2>The front</h2>")[1].split("<h2>")[0]
    assert front.count('<svg xmlns:xlink="http://www.w3.org/1999/xlink"') == 2
    assert 'class="drawn several"' in front
    others = rest.split("<h2>The front in other metrics</h2>")[1].split("<h2>")[0]
    assert others.count('<svg xmlns:xlink="http://www.w3.org/1999/xlink"') == 4


def test_a_closed_study_is_not_called_open() -> None:
    problem = Problem(objectives=["a"], covariance=[1.0], arms=2)
    made = Study.create(problem, "sqlite://", name="new", seed=1)
    made.close()
    html = report(made, at)
    assert "Closed after 0 results" in html
    assert "Open after" not in html


def test_no_window_is_left_behind(study: Study) -> None:
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    report(study, at)
    assert pyplot.get_fignums() == before


def stopped_study(name: str, goal: str | None = None, **keys: object) -> Study:
    """A study that has stopped without a proof of every answer, and a correction by Ann."""
    means = {"hot": (3.0, 0.2), "warm": (2.0, 0.7), "cold": (0.5, 0.1)}
    problem = Problem(
        objectives=["taste", "price"], covariance=[1.0, 1.0], arms=list(means), **keys
    )
    made = Study.create(problem, "sqlite://", name=name, seed=1, user="Ann Other", goal=goal)
    rng = np.random.default_rng(2)
    while not made.stopped:
        ticket = made.ask()
        made.tell(ticket, rng.normal(means[ticket.arm], 1.0))
    taste, price = made.told[0].values
    made.correct((taste, price + 0.001), result=1, reason="misread")
    return made


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({}, "Pareto-optimal: "),
        ({"epsilon": 0.2}, "Pareto-optimal within the tolerance: "),
        ({"goal": "1 optimal"}, "Goal, 1 optimal: proven optimal: hot"),
    ],
)
def test_a_stopped_report_does_not_contradict_itself(keys: dict, says: str) -> None:
    """What the banner declares optimal is neither open nor a candidate further down."""
    study = stopped_study("s", **keys)
    text = Page(report(study)).text
    assert says in text
    undecided = "candidate, undecided" in text
    assert undecided == ("goal" in keys)  # of a goal the others are not decided
    assert ("as declared at the stop" in text) == ("goal" not in keys)
    assert "candidate, open" not in text
    open_ = (study.status().answers["verdict"] == "open").any()
    assert open_  # or there would be nothing to contradict
    assert ("not by itself" in text) == ("goal" not in keys)


def test_corrections_name_who_made_them() -> None:
    html = report(stopped_study("s"))
    changes = html[html.index("Corrections and withdrawals") :].split("</table>")[0]
    assert "<th>who</th>" in changes.replace(' scope="col"', "")
    assert "Ann Other" in changes


def test_answers_that_are_not_measured_are_named() -> None:
    problem = Problem(
        objectives=["x"],
        covariance=[1.0],
        arms=["left", "right"],
        features=[[1.0, 0.0], [0.0, 1.0]],
        answers=(["the middle", "far right"], [[0.5, 0.5], [-1.0, 2.0]]),
    )
    study = Study.create(problem, "sqlite://", name="s", seed=1)
    html = report(study)
    design = html[html.index("seed") - 2000 : html.index("seed")]
    assert "the middle, far right" in design


def test_the_design_has_the_correlations() -> None:
    covariance = [[4.0, 1.0], [1.0, 9.0]]
    problem = Problem(objectives=["x", "y"], covariance=covariance, arms=["A", "B"])
    html = report(Study.create(problem, "sqlite://", name="s", seed=1))
    design = html[html.index("correlation with x") :]
    assert design.count("<td>0.167</td>") == 2 or design.count(">0.167<") == 2


def test_the_first_page_is_for_a_committee(study: Study) -> None:
    """Answer, front and verdicts come first; how it came about is an appendix."""
    html = report(study, at)
    first, appendix = html.split('<div class="appendix">')
    titles = [part.split("</h2>")[0] for part in first.split("<h2>")[1:]]
    assert titles == ["The front", "Options"]
    titles = [part.split("</h2>")[0] for part in appendix.split("<h2>")[1:]]
    wanted = [
        *("What is promised", "Comparisons", "The design as registered", "What was measured"),
        *("Corrections and withdrawals", "The log, and versions", "Over time"),
    ]
    assert [title for title in titles if title in wanted] == wanted
    assert "break-before: page" in html


def test_of_many_answers_the_first_page_has_the_first() -> None:
    problem = Problem(objectives=["a"], covariance=[1.0], arms=15)
    made = Study.create(problem, "sqlite://", name="many", seed=1)
    for k, arm in enumerate(problem.arms):
        made.tell(arm, [float(k)])
    first, appendix = report(made, at).split('<div class="appendix">')
    assert "The first 12 options" in first
    rows = first.split("<h2>The first 12 options</h2>")[1].split("<tbody>")[1].count("<tr>")
    assert rows == 12
    assert ">arm 15</td>" in first  # the candidate
    every = appendix.split("<h2>Options</h2>")[1].split("</table>")[0]
    assert every.count("<tr>") == 15 + 1
