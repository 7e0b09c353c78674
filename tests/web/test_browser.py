"""Two people in a real browser, at two widths, by keyboard, and looked over by axe-core."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips.problem import Problem
from psips.store import open_store
from psips.study import Study
from psips.web.addresses import slug
from web.axe import AXE, look_over
from web.conftest import MEANS, NAME, PROBLEM, Served, running

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
SHOTS = os.environ.get("PSIPS_SHOTS")  # a folder for screenshots
PATH = f"/studies/{slug(NAME)}"

ENTER = f"{PATH}/enter"
EXPECTED = (  # in the console
    "the server responded with a status of 422",  # what a wrong form gets
    "Applying inline style violates",  # Plotly's style of maps, which the policy keeps out
    "GPU stall due to ReadPixels",  # a browser without a graphics card
    "willReadFrequently",
)

pytestmark = pytest.mark.skipif(
    BROWSER is None and not os.environ.get("CI"), reason="no chromium on this machine"
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


class Person:
    """Someone at a browser; what its console says, and dialogs, are kept."""

    def __init__(
        self, chromium: Any, base: str, width: int = 1280, scheme: str = "light"
    ) -> None:
        self.said: list[str] = []
        self.base = base
        size = {"width": width, "height": 900}
        context = chromium.new_context(viewport=size, color_scheme=scheme)
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)  # machines are busy
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", self._request)

    def _console(self, message: Any) -> None:
        if not any(words in message.text for words in EXPECTED):
            self.said.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith((f"{self.base}/", "data:")):
            self.said.append(request.url)

    def sign_in(self, token: str, path: str = "") -> None:
        """Sign in by keyboard alone."""
        self.page.goto(f"{self.base}{path or '/'}")
        self.page.wait_for_selector("#token:focus")
        self.page.keyboard.type(token)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("h1:not(:text('Sign in'))")

    def tab_to(self, selector: str) -> None:
        """Press Tab until an element has the focus, which must be seen."""
        for _ in range(150):
            self.page.keyboard.press("Tab")
            if self.page.evaluate(f"document.activeElement.matches({selector!r})"):
                return
        raise AssertionError(f"Tab does not reach {selector}")

    def shot(self, name: str) -> None:
        if SHOTS:
            self.page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)

    def fits(self) -> None:
        wide = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0

    def axe(self) -> None:
        """Look for serious findings of axe-core."""
        look_over(self.page)


def fill(store: str, times: int = 4, spread: float = 0.5) -> None:
    rng = np.random.default_rng(1)
    with open_store(store) as opened:
        rows = [
            {"arm": a, **dict(zip(PROBLEM.objectives, rng.normal(m, spread), strict=True))}
            for a, m in MEANS.items()
            for _ in range(times)
        ]
        Study.open(NAME, opened).tell_many(rows)


def test_two_people_at_once(chromium: Any, served: Served) -> None:
    """One asks and enters by keyboard, the other watches the page change."""
    ann = Person(chromium, served.url)
    bob = Person(chromium, served.url, 390)
    ann.sign_in(served.tokens["recorder"], ENTER)
    bob.sign_in(served.tokens["viewer"], PATH)
    bob.page.wait_for_selector("h1:has-text('No answer yet')")
    bob.page.wait_for_selector("#front:has-text('There is nothing to draw yet')")
    for part in (".choices", "#views", "#reading"):  # nothing to choose or to point at
        assert not bob.page.locator(part).is_visible()
    ann.page.wait_for_selector("#ask-n")
    ann.tab_to("#ask-n")
    ann.page.keyboard.press("Control+a")
    ann.page.keyboard.type("4")
    ann.page.keyboard.press("Enter")
    ann.page.wait_for_selector("#said:has-text('asked for A')")
    ann.page.wait_for_selector("text=4 open tickets")
    tickets = [t["id"] for t in served.events()[-1].payload["tickets"]]

    # A wrong value is refused next to its field, and nothing is recorded.
    before = served.dump()
    ann.page.wait_for_selector("#tell-value-0:focus")  # the ticket is in the form already
    ann.page.keyboard.type("much")
    ann.tab_to("#tell-value-1")
    ann.page.keyboard.type("2")
    ann.page.keyboard.press("Enter")
    ann.page.wait_for_selector("#tell-value-0-note.wrong:has-text('must be a number')")
    ann.page.wait_for_selector("#tell-value-0:focus")  # by the page's script, once loaded
    assert ann.page.get_attribute("#tell-ticket", "value") == tickets[0]
    assert served.dump() == before
    ann.shot("wrong-1280")
    ann.axe()
    ann.page.keyboard.press("Control+a")
    ann.page.keyboard.type("5")
    ann.page.keyboard.press("Enter")
    ann.page.wait_for_selector("#said:has-text('entered 1 measurement')")
    bob.page.wait_for_selector("#headline dd:text-is('1')", timeout=3000)

    # The stop is announced; the region is one that screen readers follow.
    fill(served.store, 60)
    bob.page.wait_for_selector("#headline[role=status]:has-text('Pareto-optimal: 3 options')")
    chips = bob.page.locator("#headline .chip").all_text_contents()
    assert [chip.strip() for chip in chips] == ["A", "B", "D"]
    bob.page.wait_for_selector("#time #evidence-picture", state="attached")  # there was none
    bob.page.wait_for_selector("html.drawn-by-script.time-drawn")
    for part in (".choices", "#views", "#reading"):
        assert bob.page.locator(part).is_visible()
    bob.shot("stopped-390")
    bob.fits()
    bob.page.goto(f"{served.url}{PATH}/log")
    bob.page.wait_for_selector("#log:has-text('recorder one')")

    # The report opens.
    ann.page.goto(f"{served.url}{PATH}")
    ann.shot("stopped-1280")
    ann.tab_to("a[href$='report.html']")
    ann.page.keyboard.press("Enter")
    ann.page.wait_for_url("**/report.html")
    ann.page.wait_for_selector("text=every hash fits")
    report = "sandboxed and the 'allow-scripts' permission is not set"
    assert [text for text in ann.said + bob.said if report not in text] == []


def test_fifty_in_a_row_by_keyboard_alone(chromium: Any, served: Served) -> None:
    """Type, Enter, type, Enter: here twelve, with a look at what is undone."""
    ann = Person(chromium, served.url)
    ann.sign_in(served.tokens["recorder"], ENTER)
    ann.page.fill("#ask-n", "12")
    ann.page.click("#ask button")
    for k in range(12):
        ann.page.wait_for_selector("#tell-value-0:focus")
        ticket = ann.page.get_attribute("#tell-ticket", "value")
        ann.page.keyboard.type(f"{k}.5")
        ann.page.keyboard.press("Tab")
        ann.page.keyboard.type("2")
        ann.page.keyboard.press("Enter")
        ann.page.wait_for_selector(
            f"#said:has-text('entered 1 measurement: '):has-text('{k}.5')"
        )
        if k < 11:
            ann.page.wait_for_selector(
                f"#tell-ticket:not([value='{ticket}'])", state="attached"
            )
    told = [e.payload["results"][0]["values"] for e in served.events() if e.kind == "told"]
    assert [values["efficacy"] for values in told] == [k + 0.5 for k in range(12)]
    ann.page.click("text=Undo")
    ann.page.wait_for_selector("#said:has-text('withdrew measurement 12')")
    assert ann.said == []


def test_a_file_with_three_problems(chromium: Any, served: Served, tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text("arm,efficacy,toxicity\nA,1,2\nZ,1,2\nB,x,2\nC,1,\n", encoding="utf-8")
    before = served.dump()
    for width in (1280, 390):
        ann = Person(chromium, served.url, width)
        ann.sign_in(served.tokens["recorder"], ENTER)
        ann.page.set_input_files("#upload-file", file)
        ann.page.click("#upload button")
        ann.page.wait_for_selector("text=3 problems")
        lines = ann.page.locator(".problems li").all_text_contents()
        assert [line.split(":")[0] for line in lines] == ["Line 3", "Line 4", "Line 5"]
        ann.shot(f"problems-{width}")
        ann.axe()
        ann.fits()
        assert served.dump() == before
        assert ann.said == []
    file.write_text("arm,efficacy,toxicity\nA,1,2\nB,1,2\n", encoding="utf-8")
    ann.page.go_back()
    ann.page.set_input_files("#upload-file", file)
    ann.page.click("#upload button")
    ann.page.wait_for_selector("text=2 new measurements")
    ann.shot("preview-390")
    ann.axe()
    ann.page.click("text=Record 2 measurements")
    ann.page.wait_for_selector("#said:has-text('entered 2 measurements from results.csv')")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page(chromium: Any, served: Served, width: int, scheme: str) -> None:
    """Each page fits, says nothing to the console, and has no serious finding of axe-core."""
    fill(served.store)
    with open_store(served.store) as store:
        study = Study.open(NAME, store)
        study.ask(3)
        study.tell("A", [500.0, 2.0])
        study.correct([4.5, 1.0], result=2, reason="misread")
    owner = Person(chromium, served.url, width, scheme)
    owner.page.goto(f"{served.url}/")
    owner.shot(f"sign-in-{width}-{scheme}")
    owner.axe()
    owner.sign_in(served.tokens["owner"])
    tabs = [f"{PATH}/{tab}" for tab in ("enter", "results", "comparisons", "log", "design")]
    pages = ["/", PATH, f"{PATH}?hide=1", *tabs, f"{PATH}/results/17", f"{ENTER}?ticket=none"]
    for page in [*pages, "/api/v1/docs", "/nothing"]:
        owner.page.goto(f"{served.url}{page}")
        owner.page.wait_for_selector("h1:not(:text('One moment'))")
        if page.startswith(PATH) and page.split("?")[0] == PATH:
            owner.page.wait_for_selector("html.drawn-by-script.time-drawn")
        owner.shot(f"page{page.replace('/', '_').replace('?', '_')}-{width}-{scheme}")
        owner.fits()
        owner.axe()
    assert [text for text in owner.said if "404" not in text] == []


@pytest.mark.skipif(
    not AXE.is_file() and not os.environ.get("CI"), reason="no axe-core on this machine"
)
def test_axe_finds_what_is_wrong(chromium: Any, served: Served) -> None:
    owner = Person(chromium, served.url)
    owner.sign_in(served.tokens["owner"], ENTER)
    owner.page.evaluate("document.querySelector('label[for=ask-n]').remove()")
    with pytest.raises(AssertionError, match="label"):
        owner.axe()


def test_the_front_by_keyboard(chromium: Any, served: Served) -> None:
    """The arrow keys go from option to option, also while others work on the study."""
    fill(served.store)
    ann = Person(chromium, served.url)
    ann.sign_in(served.tokens["viewer"], PATH)
    ann.page.wait_for_selector("html.drawn-by-script")
    ann.tab_to("#chart")
    seen = []
    for _ in range(4):
        ann.page.keyboard.press("ArrowRight")
        words = ann.page.inner_text("#reading")
        assert "efficacy" in words
        seen.append(words.split(":")[0])
        (picked,) = ann.page.locator("#options tr.picked").all()
        assert picked.get_attribute("data-option") == seen[-1]
    assert sorted(seen) == ["A", "B", "C", "D"]
    with open_store(served.store) as store:
        Study.open(NAME, store).tell("A", [5.0, 2.0])
    ann.page.wait_for_selector("#headline dd:text-is('17')")
    assert ann.page.evaluate("document.activeElement.id") == "chart"
    assert ann.page.locator("#options tr.picked").count() == 1
    ann.page.keyboard.press("Escape")
    assert ann.page.locator("#options tr.picked").count() == 0
    assert ann.said == []


def test_an_option_is_followed_everywhere(chromium: Any, served: Served) -> None:
    """Clicked in the chart, it is marked in the table, on other tabs, and in every chart."""
    fill(served.store)
    ann = Person(chromium, served.url)
    ann.sign_in(served.tokens["viewer"], PATH)
    ann.page.wait_for_selector("#chart .scatterlayer .point")
    ann.page.wait_for_selector("html.time-drawn")
    ann.page.click("[data-pick=B]")
    sizes = ann.page.evaluate("document.getElementById('chart').data.at(-1).marker.size")
    assert sorted(sizes)[-1] > sorted(sizes)[-2]
    widths = ann.page.evaluate(
        "document.getElementById('pulls-chart').data.map(t => [t.line.width, t.customdata[0]])"
    )
    assert max(widths)[1] == "B"
    ann.page.goto(f"{served.url}{PATH}/comparisons")
    ann.page.wait_for_selector(".order [data-option=B].picked", state="attached")
    ann.page.goto(f"{served.url}{PATH}")
    ann.page.wait_for_selector("#options tr.picked[data-option=B]")
    ann.page.wait_for_selector("#chart .scatterlayer .point")
    mark = "document.getElementById('chart')"
    ann.page.evaluate(f"{mark}.emit('plotly_click', {{points: [{{customdata: 'D'}}]}})")
    ann.page.wait_for_selector("#options tr.picked[data-option=D]")
    ann.page.click("#view-intervals")
    ann.page.wait_for_selector("#chart[data-view=intervals]")
    assert ann.said == []


VIEWS = {1: ["intervals"], 2: ["plane", "intervals"], 4: ["plane", "intervals", "parallel"]}
VIEWS[3] = ["plane", "intervals", "space", "parallel"]


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_view(chromium: Any, url: str, d: int, width: int) -> None:
    """Each number of metrics has its views; every ellipse is inside the frame."""
    problem = Problem(
        objectives=[f"metric {c}" for c in range(d)],
        covariance=[1.0 + c for c in range(d)],
        arms=5,
    )
    rng = np.random.default_rng(3)
    with open_store(url) as store:
        study = Study.create(problem, store, name="views", seed=1)
        rows = [
            {"arm": arm, **dict(zip(problem.objectives, rng.normal(size=d), strict=True))}
            for arm in problem.arms
            for _ in range(3)
        ]
        study.tell_many(rows)
    with running(url) as base:
        ann = Person(chromium, base, width)
        ann.page.goto(f"{base}/studies/views")
        ann.page.wait_for_selector("html.drawn-by-script")
        buttons = ann.page.locator("#views button").all()
        assert [one.get_attribute("id") for one in buttons] == [f"view-{v}" for v in VIEWS[d]]
        for view in VIEWS[d]:
            if d > 1:
                ann.page.click(f"#view-{view}")
            ann.page.wait_for_selector(f"#chart[data-view={view}] .main-svg")
            ann.fits()
            ann.axe()
            ann.shot(f"view-{d}-{view}-{width}")
            if view == "plane":
                assert ann.page.evaluate(OUTSIDE) == 0
                note = ann.page.locator("#chart .annotation-text").all_text_contents()
                assert any("may be optimal" in text for text in note) == (d > 2)
        assert ann.said == []


# How many corners of ellipses and points are outside of what a chart shows.
OUTSIDE = """(() => {
    const { data, layout } = document.getElementById('chart');
    const out = (v, [low, high]) => v !== null && (v < low || v > high);
    const [x, y] = [layout.xaxis.range, layout.yaxis.range];
    return data.filter(t => t.fill === 'toself' || t.mode === 'markers').flatMap(t =>
        t.x.filter((v, k) => out(v, x) || out(t.y[k], y))).length;
})()"""


# Boxes of texts that overlap each other, a dotted line, or what is below the chart; and texts
# that reach out of the card.
CLASHES = """(id) => {
    const chart = document.getElementById(id);
    const card = chart.closest('.card').getBoundingClientRect();
    const box = (e) => [e.textContent, e.getBoundingClientRect()];
    const texts = [...chart.querySelectorAll('text')].filter(e => e.textContent).map(box);
    const dotted = [...chart.querySelectorAll('.shapelayer path')]
        .map(e => ['line', e.getBoundingClientRect()]);
    const below = [...chart.parentElement.querySelectorAll('figcaption, .legend')].map(box)
        .map(([t, b]) => [t, new DOMRect(b.x, b.y - 5, b.width, b.height)]); // with some room
    const apart = ([, a], [, b]) => a.right <= b.left + 1 || b.right <= a.left + 1
        || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
    const found = texts.filter(([, b]) => b.left < card.left || b.right > card.right)
        .map(([t]) => [t, 'card']);
    texts.forEach((one, k) => {
        for (const other of [...texts.slice(k + 1), ...dotted, ...below])
            if (!apart(one, other)) found.push([one[0], other[0]]);
    });
    return found;
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_no_text_of_a_chart_overlaps_another(chromium: Any, url: str, width: int) -> None:
    """Also with long names, and with lines where a tolerance would have ended the study."""
    names = ["immune response after two weeks and a booster", "side effects of any kind"]
    problem = Problem(
        objectives=dict(zip(names, ("max", "min"), strict=True)),
        covariance=[1.0, 0.25],
        arms=["Moderna", "half Moderna", "Pfizer"],
    )
    rng = np.random.default_rng(5)
    means = {"Moderna": (5.0, 2.0), "half Moderna": (4.5, 1.7), "Pfizer": (4.0, 1.0)}
    with open_store(url) as store:
        study = Study.create(problem, store, name="labels", seed=1)
        rows = [
            {"arm": arm, **dict(zip(names, rng.normal(mean, (1.0, 0.5)), strict=True))}
            for _ in range(240)
            for arm, mean in means.items()
        ]
        study.tell_many(rows)
    with running(url) as base:
        ann = Person(chromium, base, width)
        ann.page.goto(f"{base}/studies/labels")
        ann.page.wait_for_selector("html.drawn-by-script.time-drawn")
        stops = ann.page.locator("#evidence-stops dd").all_text_contents()
        assert len(stops) > 1
        assert all(plain(text).split(" with a tolerance of ")[1] for text in stops)
        for chart in ("chart", "pulls-chart", "evidence-chart"):
            assert ann.page.evaluate(CLASHES, chart) == [], chart
        ann.shot(f"labels-{width}")
        assert ann.said == []


def test_a_wide_matrix_shows_that_it_scrolls(chromium: Any, url: str) -> None:
    """Without scripts: a fade at the right that covers nothing at the end; names stay."""
    problem = Problem(objectives=["x", "y"], covariance=[1.0, 1.0], arms=8)
    with open_store(url) as store:
        study = Study.create(problem, store, name="wide", seed=1)
        study.tell_many([{"arm": a, "x": k, "y": -k} for k, a in enumerate(problem.arms)] * 2)
    with running(url) as base:
        size = {"width": 390, "height": 900}
        page = chromium.new_context(java_script_enabled=False, viewport=size).new_page()
        page.goto(f"{base}/studies/wide/comparisons")
        while page.locator("h1:text('One moment')").count():
            page.reload()
        assert page.locator(".sideways").is_visible()
        for selector in ("#matrix .wide", "#order .wide"):
            place = f"document.querySelector('{selector}')"
            fade = page.evaluate(
                f"(({{ position, right, width, backgroundImage }}) => [position, right, width, "
                f"backgroundImage.startsWith('linear-gradient')])"
                f"(getComputedStyle({place}, '::after'))"
            )
            assert fade == ["sticky", "0px", "48px", True]
            assert page.evaluate(f"{place}.scrollWidth > {place}.clientWidth + 48")
            page.evaluate(f"{place}.scrollLeft = 9999")
            last = page.locator(f"{selector} > :first-child").bounding_box()
            box = page.locator(selector).bounding_box()
            assert last["x"] + last["width"] <= box["x"] + box["width"] - 47
        first = page.locator("#matrix tbody th").first.bounding_box()
        assert first["x"] == page.locator("#matrix .wide").bounding_box()["x"]


def test_zoom_stays_while_the_study_goes_on(chromium: Any, served: Served) -> None:
    fill(served.store)
    ann = Person(chromium, served.url)
    ann.sign_in(served.tokens["viewer"], PATH)
    ann.page.wait_for_selector("#chart .scatterlayer .point")
    ann.page.evaluate(
        "Plotly.relayout('chart', {'xaxis.range': [4, 6], 'yaxis.range': [1, 3]})"
    )
    with open_store(served.store) as store:
        Study.open(NAME, store).tell("A", [5.0, 2.0])
    ann.page.wait_for_selector("#headline dd:text-is('17')")
    ann.page.wait_for_timeout(500)
    assert ann.page.evaluate("document.getElementById('chart').layout.xaxis.range") == [4, 6]


def test_the_printed_picture_follows_too(chromium: Any, served: Served) -> None:
    """A page that draws the front is sent no picture of it; the one for print stays current."""
    fill(served.store)
    ann = Person(chromium, served.url)
    ann.sign_in(served.tokens["viewer"], PATH)
    ann.page.wait_for_selector("html.drawn-by-script", state="attached")
    before = ann.page.evaluate("document.getElementById('front').textContent")
    sent: list[str] = []
    ann.page.on("request", lambda asked: sent.append(asked.headers.get("x-psips-drawn", "")))
    with open_store(served.store) as store:
        Study.open(NAME, store).tell("A", [9.0, 2.0])
    ann.page.wait_for_selector("#headline dd:text-is('17')")
    while ann.page.evaluate("document.getElementById('front').textContent") == before:
        ann.page.wait_for_timeout(50)
    assert "1" in sent
    ann.page.emulate_media(media="print")
    assert ann.page.locator("#front svg").is_visible()
    assert ann.said == []


def test_colours_by_the_system_and_by_the_switch(chromium: Any, served: Served) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    seen = {}
    for scheme in ("light", "dark"):
        ann = Person(chromium, served.url, scheme=scheme)
        ann.sign_in(served.tokens["viewer"], PATH)
        seen[scheme] = ann.page.evaluate(ground)
        for wanted in ("Light", "Dark"):
            ann.page.click("#theme")
            assert ann.page.inner_text("#theme") == wanted
            seen[scheme, wanted] = ann.page.evaluate(ground)
        ann.page.reload()
        assert ann.page.evaluate(ground) == seen[scheme, "Dark"]  # it is kept
        assert ann.said == []
    assert seen["light"] != seen["dark"]
    assert seen["light"] == seen["light", "Light"] == seen["dark", "Light"]
    assert seen["dark"] == seen["light", "Dark"] == seen["dark", "Dark"]


def test_tables_change_without_a_new_page(chromium: Any, served: Served) -> None:
    fill(served.store, 20)
    ann = Person(chromium, served.url)
    ann.sign_in(served.tokens["viewer"], f"{PATH}/results")
    ann.page.evaluate("window.here = true")
    ann.page.click("th a:text-is('efficacy')")
    ann.page.wait_for_selector("th[aria-sort=ascending]:has-text('efficacy')")
    ann.page.fill("#results-search", "d")
    ann.page.wait_for_selector("text=20 measurements found, 80 in all")
    assert ann.page.evaluate("document.activeElement.id") == "results-search"
    assert ann.page.evaluate("window.here")
    assert "q=d" in ann.page.url
    assert "sort=efficacy" in ann.page.url
    ann.page.reload()
    ann.page.wait_for_selector("text=20 measurements found, 80 in all")
    assert ann.said == []


def test_without_scripts_there_are_pictures(chromium: Any, served: Served) -> None:
    fill(served.store)
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{served.url}/sign-in")
    page.fill("#token", served.tokens["recorder"])
    page.click("main button")
    page.goto(f"{served.url}{PATH}")
    while page.locator("h1:text('One moment')").count():
        page.reload()
    page.wait_for_load_state("load")
    assert page.locator("#front .point").count() == 4
    assert page.locator("#front").is_visible()
    assert page.locator("#evidence-picture").is_visible()
    assert not page.locator("#chart").is_visible()
    assert not page.locator("#theme").is_visible()
    page.click("text=Ask what to measure next")
    page.fill("#tell-value-0", "1")
    page.fill("#tell-value-1", "2")
    page.click("#tell button")
    assert "entered 1 measurement" in page.inner_text("#said")


LOADED = "[...document.images].map(i => i.complete && i.naturalWidth > 0)"


def test_pictures_are_there_and_stay(chromium: Any, served: Served) -> None:
    """Without scrolling, as on paper; and the old one is shown until the next has come."""
    fill(served.store)
    ann = Person(chromium, served.url, 390)
    ann.page.route("**/plotly-*", lambda route: route.abort())  # the pictures are all there is
    ann.sign_in(served.tokens["viewer"], PATH)
    ann.page.wait_for_load_state("load")
    assert ann.page.evaluate(LOADED) == [True, True]
    before = ann.page.get_attribute("#evidence-picture", "src")
    waiting: list[Any] = []
    ann.page.route("**/*.svg?*", lambda route: waiting.append(route))
    with open_store(served.store) as store:
        Study.open(NAME, store).tell("A", [5.0, 2.0])
    ann.page.wait_for_selector("#headline dd:text-is('17')")
    while len(waiting) < 2:
        ann.page.wait_for_timeout(50)
    assert ann.page.evaluate(LOADED) == [True, True]
    assert ann.page.get_attribute("#evidence-picture", "src") == before
    for route in waiting:
        route.continue_()
    ann.page.wait_for_selector(f"#evidence-picture:not([src='{before}'])")
    assert ann.page.evaluate(LOADED) == [True, True]
    assert [text for text in ann.said if "ERR_FAILED" not in text] == []


def test_typing_is_left_alone(chromium: Any, served: Served) -> None:
    ann = Person(chromium, served.url)
    ann.sign_in(served.tokens["recorder"], ENTER)
    ann.page.fill("#tell-value-0", "1.25")
    ann.page.focus("#tell-value-1")
    ann.page.keyboard.type("3")
    with open_store(served.store) as store:
        study = Study.open(NAME, store)
        study.ask()
    ann.page.wait_for_selector("text=1 open ticket")
    ann.page.keyboard.type("4")
    values = [ann.page.input_value(f"#tell-value-{i}") for i in range(2)]
    assert values == ["1.25", "34"]


ODD = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'); alert(1); ('",
    "🧪 émoji",
    "שלום עולם",
    "javascript:alert(1)",
]


def test_odd_texts_run_nothing(chromium: Any, url: str) -> None:
    name = "<svg onload=alert(1)> “'\" & 🧪 مرحبا"
    metrics = {"<b onclick=alert(1)>": "max", "y": "min", "&lt;i&gt; $x^2$ %{x}": "max"}
    problem = Problem(objectives=metrics, covariance=[1, 1, 1], arms=ODD)
    with open_store(url) as store:
        study = Study.create(problem, store, name=name, seed=1, user="<u>eve</u>")
        study.ask(2)
        study.tell_many(
            [
                {"arm": a, **dict(zip(metrics, (float(i), 2.0 * i, -1.0 * i), strict=True))}
                for i, a in enumerate(ODD)
            ]
        )
        study.correct([2.0, 2.0, 0.0], result=1, reason="</td><script>alert(2)</script>")
    with running(url) as base:
        for width in (1280, 390):
            eve = Person(chromium, base, width)
            path = f"/studies/{slug(name)}"
            tabs = ("/enter", "/results", "/results/1", "/comparisons", "/log", "/design")
            for page in ("/", path, *(f"{path}{tab}" for tab in tabs)):
                eve.page.goto(f"{base}{page}")
                eve.page.wait_for_selector("h1:not(:text('One moment'))")
                eve.page.wait_for_timeout(300)
                eve.shot(f"odd{page.replace(path, '').replace('/', '-')}-{width}")
                eve.fits()
            eve.page.goto(f"{base}{path}")
            text = eve.page.inner_text("main")
            for arm in ODD:
                assert arm in text
            eve.page.wait_for_selector("#chart .scatterlayer .point")
            for arm in ODD:
                first, *values = tooltip(eve.page, arm)
                assert first == arm
                assert [line.rpartition(": ")[0] for line in values] == list(metrics)
            drawn = eve.page.locator("#chart text").all_text_contents()
            assert plain("y (less is better)") in map(plain, drawn)
            for view in ("intervals", "parallel", "space"):
                eve.page.click(f"#view-{view}")
                eve.page.wait_for_selector(f"#chart[data-view={view}] .main-svg")
                drawn = [plain(t) for t in eve.page.locator("#chart text").all_text_contents()]
                if view == "intervals":
                    assert any(t.startswith("javascript:aler") for t in drawn)
                if view != "space":  # which draws its titles on a canvas
                    assert any(t.startswith("<b onclick") for t in drawn), view
            eve.page.goto(f"{base}{path}/log")
            assert "</td><script>alert(2)</script>" in eve.page.inner_text("main")
            assert eve.page.locator("main script, main img[src=x], main u, main b").count() == 0
            assert eve.said == []


def plain(text: str) -> str:
    """A text without the marks that keep letters from right to left to themselves."""
    return text.replace("\u2068", "").replace("\u2069", "")


def tooltip(page: Any, name: str) -> list[str]:
    """The lines of the label at an option's point, up to their numbers."""
    page.evaluate(
        """(name) => {
            const gd = document.getElementById('chart'), curve = gd.data.length - 1;
            const point = gd.data[curve].customdata.indexOf(name);
            Plotly.Fx.unhover(gd);
            Plotly.Fx.hover(gd, [{curveNumber: curve, pointNumber: point}]);
        }""",
        name,
    )
    page.wait_for_selector("#chart .hoverlayer text.nums tspan.line")
    lines = page.locator("#chart .hoverlayer text.nums tspan.line").all_text_contents()
    return [plain(line) for line in lines][:-1]  # the last says what it is
