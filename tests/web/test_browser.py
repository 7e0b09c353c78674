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
    """Somebody at a browser; what its console says, and dialogs, are kept."""

    def __init__(self, chromium: Any, base: str, width: int = 1280) -> None:
        self.said: list[str] = []
        self.base = base
        context = chromium.new_context(viewport={"width": width, "height": 900})
        self.page = context.new_page()
        self.page.set_default_timeout(15_000)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", self._request)

    def _console(self, message: Any) -> None:
        refused = "the server responded with a status of 422"  # what a wrong form gets
        if refused not in message.text:
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
    """One asks and enters results by keyboard, the other watches the page change."""
    ann = Person(chromium, served.url)
    bob = Person(chromium, served.url, 390)
    ann.sign_in(served.tokens["recorder"], PATH)
    bob.sign_in(served.tokens["viewer"], PATH)
    bob.page.wait_for_selector("text=0 open tickets")
    ann.page.wait_for_selector("#ask-n")
    ann.tab_to("#ask-n")
    ann.page.keyboard.press("Control+a")
    ann.page.keyboard.type("4")
    ann.page.keyboard.press("Enter")
    ann.page.wait_for_selector("#said:has-text('asked for A')")
    bob.page.wait_for_selector("text=4 open tickets", timeout=3000)
    tickets = [t["id"] for t in served.events()[-1].payload["tickets"]]

    # A wrong value is refused beside its field, and nothing is recorded.
    before = served.dump()
    ann.tab_to("#tell-ticket")
    ann.page.keyboard.type(tickets[0])
    ann.tab_to("#tell-value-0")
    ann.page.keyboard.type("much")
    ann.tab_to("#tell-value-1")
    ann.page.keyboard.type("2")
    ann.page.keyboard.press("Enter")
    ann.page.wait_for_selector("#tell-value-0-note.wrong:has-text('must be a number')")
    ann.page.wait_for_selector("#tell-value-0:focus")  # by the page's script, once loaded
    assert ann.page.input_value("#tell-ticket") == tickets[0]
    assert served.dump() == before
    ann.shot("wrong-1280")
    ann.axe()
    ann.page.keyboard.press("Control+a")
    ann.page.keyboard.type("5")
    ann.page.keyboard.press("Enter")
    ann.page.wait_for_selector("#said:has-text('told 1 result')")
    bob.page.wait_for_selector("#headline:has-text('after 1 result')", timeout=3000)
    bob.page.wait_for_selector("#log:has-text('recorder one')")

    # The stop is announced to both; the region is one that screen readers follow.
    fill(served.store, 60)
    for person in (ann, bob):
        person.page.wait_for_selector("#headline[role=status]:has-text('Stopped')")
        person.page.wait_for_selector("#headline:has-text('Pareto-optimal: A, B, D')")
    ann.shot("stopped-1280")
    bob.shot("stopped-390")
    bob.fits()

    bob.page.wait_for_selector("#time #evidence-picture")  # there was none when he came

    # The report opens.
    ann.tab_to("a[href$='report.html']")
    ann.page.keyboard.press("Enter")
    ann.page.wait_for_url("**/report.html")
    ann.page.wait_for_selector("text=every hash fits")
    report = "sandboxed and the 'allow-scripts' permission is not set"
    assert [text for text in ann.said + bob.said if report not in text] == []


def test_a_file_with_three_problems(chromium: Any, served: Served, tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text("arm,efficacy,toxicity\nA,1,2\nZ,1,2\nB,x,2\nC,1,\n", encoding="utf-8")
    before = served.dump()
    for width in (1280, 390):
        ann = Person(chromium, served.url, width)
        ann.sign_in(served.tokens["recorder"], PATH)
        ann.page.set_input_files("#upload-file", file)
        ann.page.click("text=Look at it")
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
    ann.page.click("text=Look at it")
    ann.page.wait_for_selector("text=2 new results")
    ann.shot("preview-390")
    ann.axe()
    ann.page.click("text=Record 2 results")
    ann.page.wait_for_selector("#said:has-text('told 2 results from results.csv')")


@pytest.mark.parametrize("width", [1280, 390])
def test_every_page(chromium: Any, served: Served, width: int) -> None:
    """Each page fits, says nothing to the console, and has no serious finding of axe-core."""
    fill(served.store)
    with open_store(served.store) as store:
        study = Study.open(NAME, store)
        study.ask(3)
        study.tell("A", [500.0, 2.0])
        study.correct([4.5, 1.0], result=2, reason="misread")
    owner = Person(chromium, served.url, width)
    owner.page.goto(f"{served.url}/")
    owner.shot(f"sign-in-{width}")
    owner.axe()
    owner.sign_in(served.tokens["owner"])
    pages = ["/", PATH, f"{PATH}?hide=1", f"{PATH}/results", f"{PATH}/results/17"]
    for page in [*pages, f"{PATH}/log", "/api/v1/docs", "/nothing"]:
        owner.page.goto(f"{served.url}{page}")
        owner.page.wait_for_selector("h1:not(:text('One moment'))")
        owner.page.wait_for_load_state("networkidle") if page == "/" else None
        owner.shot(f"page{page.replace('/', '_').replace('?', '_')}-{width}")
        owner.fits()
        owner.axe()
    assert [text for text in owner.said if "404" not in text] == []


@pytest.mark.skipif(
    not AXE.is_file() and not os.environ.get("CI"), reason="no axe-core on this machine"
)
def test_axe_finds_what_is_wrong(chromium: Any, served: Served) -> None:
    owner = Person(chromium, served.url)
    owner.sign_in(served.tokens["owner"], PATH)
    owner.page.evaluate("document.querySelector('label[for=ask-n]').remove()")
    with pytest.raises(AssertionError, match="label"):
        owner.axe()


def test_the_front_by_keyboard(chromium: Any, served: Served) -> None:
    fill(served.store)
    ann = Person(chromium, served.url)
    ann.sign_in(served.tokens["viewer"], PATH)
    ann.page.wait_for_selector(".point")
    ann.tab_to(".point")
    seen = []
    for _ in range(4):
        words = ann.page.evaluate("document.activeElement.textContent")
        assert ann.page.inner_text("#reading") == words
        assert "efficacy" in words
        seen.append(words.split(":")[0])
        ann.page.keyboard.press("ArrowRight")
    assert sorted(seen) == ["A", "B", "C", "D"]
    ann.page.hover(f"#{ann.page.locator('.point').nth(1).get_attribute('id')}")
    hovered = ann.page.locator(".point").nth(1).text_content()
    assert ann.page.inner_text("#reading") == hovered
    # A point keeps the focus while others work on the study.
    at = ann.page.evaluate("document.activeElement.id")
    with open_store(served.store) as store:
        Study.open(NAME, store).tell("A", [5.0, 2.0])
    ann.page.wait_for_selector("#headline:has-text('17 results')")
    assert ann.page.evaluate("document.activeElement.id") == at
    ann.page.check("input[name=hide]")
    ann.page.wait_for_url("**hide=1**")
    assert ann.said == []


LOADED = "[...document.images].map(i => i.complete && i.naturalWidth > 0)"


def test_pictures_are_there_and_stay(chromium: Any, served: Served) -> None:
    """Without scrolling, as on paper; and the old one is shown until the next has come."""
    fill(served.store)
    ann = Person(chromium, served.url, 390)
    ann.sign_in(served.tokens["viewer"], PATH)
    ann.page.wait_for_load_state("load")
    assert ann.page.evaluate(LOADED) == [True, True]
    before = ann.page.get_attribute("#evidence-picture", "src")
    waiting: list[Any] = []
    ann.page.route("**/*.svg?*", lambda route: waiting.append(route))
    with open_store(served.store) as store:
        Study.open(NAME, store).tell("A", [5.0, 2.0])
    ann.page.wait_for_selector("#headline:has-text('17 results')")
    while len(waiting) < 2:
        ann.page.wait_for_timeout(50)
    assert ann.page.evaluate(LOADED) == [True, True]
    assert ann.page.get_attribute("#evidence-picture", "src") == before
    for route in waiting:
        route.continue_()
    ann.page.wait_for_selector(f"#evidence-picture:not([src='{before}'])")
    assert ann.page.evaluate(LOADED) == [True, True]
    assert ann.said == []


def test_typing_is_left_alone(chromium: Any, served: Served) -> None:
    ann = Person(chromium, served.url)
    ann.sign_in(served.tokens["recorder"], PATH)
    ann.page.fill("#tell-value-0", "1.25")
    ann.page.focus("#tell-value-1")
    ann.page.keyboard.type("3")
    with open_store(served.store) as store:
        Study.open(NAME, store).tell("A", [5.0, 2.0])
    ann.page.wait_for_selector("#headline:has-text('after 1 result')")
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
    problem = Problem(
        objectives={"<b onclick=alert(1)>": "max", "y": "min"}, covariance=[1, 1], arms=ODD
    )
    with open_store(url) as store:
        study = Study.create(problem, store, name=name, seed=1, user="<u>eve</u>")
        study.ask(2)
        study.tell_many(
            [
                {"arm": a, problem.objectives[0]: float(i), "y": 2.0 * i}
                for i, a in enumerate(ODD)
            ]
        )
        study.correct([2.0, 2.0], result=1, reason="</td><script>alert(2)</script>")
    with running(url) as base:
        for width in (1280, 390):
            eve = Person(chromium, base, width)
            path = f"/studies/{slug(name)}"
            for page in ("/", path, f"{path}/results", f"{path}/results/1", f"{path}/log"):
                eve.page.goto(f"{base}{page}")
                eve.page.wait_for_selector("h1:not(:text('One moment'))")
                eve.page.wait_for_timeout(300)
                eve.shot(f"odd{len(page)}-{width}")
                eve.fits()
            eve.page.goto(f"{base}{path}")
            text = eve.page.inner_text("main")
            for arm in ODD:
                assert arm in text
            assert "</td><script>alert(2)</script>" in text
            assert eve.page.locator("main script, main img[src=x], main u, main b").count() == 0
            assert eve.said == []
