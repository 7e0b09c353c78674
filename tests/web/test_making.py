"""Studies made in the browser: from nothing, from a table, from a design file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from psips.store import open_store
from psips.study import Study
from web.conftest import Browser, form_token, running
from web.test_browser import BROWSER, Person, chromium

__all__ = ["chromium"]

TABLE = "vaccine,day,efficacy,cost,cured\n" + "".join(
    f"{name},{day},{mean + day / 10:.2f},{5 - mean - day / 20:.2f},{(day + mean) % 2}\n"
    for name, mean in (("old", 1), ("new", 2))
    for day in (1, 3, 2, 5, 4)
)
FIELDS = {
    "name": "tea",
    "options": "green\nblack\n\n white ",
    "metric-0": "taste",
    "direction-0": "max",
    "kind-0": "number",
    "metric-1": "price",
    "direction-1": "min",
    "kind-1": "exact",
    "confidence": "95",
}


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A server on a store without studies, and the store."""
    url = f"sqlite:///{tmp_path / 'empty.db'}"
    open_store(url, create=True).close()
    with running(url) as where:
        yield where, url


def send(http: httpx.Client, path: str, fields: dict[str, str], **more: Any) -> httpx.Response:
    token = form_token(http.get("/new").text)
    return http.post(path, data={"form_token": token, **fields}, **more)


def typed(html: str) -> dict[str, str]:
    """What the form of a design holds."""
    form = html.split('id="design"')[1]
    found = {
        name: unescape(value)
        for tag in re.findall(r"<input[^>]*>", form)
        for name in re.findall(r'name="([^"]*)"', tag)
        for value in re.findall(r'value="([^"]*)"', tag)
        if "checkbox" not in tag or "checked" in tag
    }
    for name, text in re.findall(
        r'(?s)<textarea[^>]*name="([^"]*)"[^>]*>(.*?)</textarea>', form
    ):
        found[name] = unescape(text)
    for name, inner in re.findall(r'(?s)<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', form):
        chosen = re.search(r'<option value="([^"]*)" selected', inner)
        found[name] = chosen[1] if chosen else re.findall(r'value="([^"]*)"', inner)[0]
    return found


def test_from_nothing(empty: tuple[str, str]) -> None:
    where, url = empty
    with Browser(base_url=where) as http:
        assert "Make the first one" in http.get("/").text
        done = send(http, "/new/form", FIELDS)
        assert done.status_code == 303
        assert done.headers["location"] == "/studies/tea?done=1"
        assert "Ask what to measure next" in http.get(done.headers["location"]).text
        again = send(http, "/new/form", FIELDS)
        assert again.status_code == 422
        assert "tea" in re.findall(r"<li>(.*?)</li>", again.text)[0]
    with open_store(url) as store:
        made = Study.open("tea", store)
    assert made.problem.arms == ("green", "black", "white")
    assert made.problem.directions == ("max", "min")
    assert made.problem.exact == ["price"]
    assert made.rules.delta == 0.05


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"options": ""}, "there are no options"),
        ({"options": "green"}, "at least two"),
        ({"options": "green\ngreen"}, "green"),
        ({"metric-0": "", "metric-1": ""}, "there are no metrics"),
        ({"metric-1": "taste"}, "is there twice"),
        ({"confidence": "much"}, "the confidence must be a number"),
        ({"confidence": "100"}, "between 50% and 100%"),
        ({"sd-0": "-1"}, "must be positive"),
        ({"kind-1": "number", "sd-0": "1"}, "has no standard deviation"),
        ({"tolerance-0": "some"}, "the tolerance of"),
        ({"limits": "toxicity <= 3"}, "toxicity"),
        ({"budget": "-3"}, "budget"),
        ({"name": " "}, "name"),
        ({"direction-0": "up"}, "up"),
        ({"kind-0": "colour"}, "choose a kind of value"),
    ],
)
def test_what_is_wrong_is_said_and_kept(
    empty: tuple[str, str], changed: dict[str, str], says: str
) -> None:
    where, url = empty
    with Browser(base_url=where) as http:
        answer = send(http, "/new/form", {**FIELDS, **changed})
        assert answer.status_code == 422
        (said,) = re.findall(r'(?s)id="wrong".*?<ul>(.*?)</ul>', answer.text)
        assert says in unescape(said)
        kept = typed(answer.text)
        assert kept["metric-0"] == {**FIELDS, **changed}["metric-0"]
        assert kept["options"] == {**FIELDS, **changed}["options"]
    with open_store(url) as store:
        assert store.studies() == []


def test_from_a_table(empty: tuple[str, str]) -> None:
    """Drafted, with what was guessed marked; changed; entered with its measurements."""
    where, url = empty
    with Browser(base_url=where) as http:
        shown = send(http, "/new/table", {}, files={"file": ("past.csv", TABLE.encode())})
        assert shown.status_code == 200
        fields = typed(shown.text)
        assert fields["options"] == "old\nnew"
        names = [fields[f"metric-{k}"] for k in range(3)]
        assert names == ["efficacy", "cost", "cured"]
        assert fields["direction-1"] == "min"
        assert fields["kind-2"] == "binary"
        assert shown.text.count(">guessed</span></label>") >= 2
        assert "Column <bdi>day</bdi> looks like a label" in shown.text
        with open_store(url) as store:
            assert store.studies() == []
        fields |= {"name": "second", "metric-0": "", "enter": "yes"}
        done = send(http, "/new/form", fields)
        assert done.status_code == 303, done.text
    with open_store(url) as store:
        made = Study.open("second", store)
        assert made.problem.objectives == ("cost", "cured")
        assert made.results == 10


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (b"", "choose a file"),
        (b"a,b\n1,2\n3,4\n", "no column"),
        (b"name,x\nA,1\nA,2\n", "one arm only"),
        (b"\xff\xfe\x00", ""),
    ],
)
def test_tables_that_are_none(empty: tuple[str, str], table: bytes, says: str) -> None:
    where, _ = empty
    with Browser(base_url=where) as http:
        answer = send(http, "/new/table", {}, files={"file": ("t.csv", table)})
        assert answer.status_code == 422
        (said,) = re.findall(r'<p class="wrong" role="alert">(.*?)</p>', answer.text)
        assert says in said


def test_from_a_design_file(empty: tuple[str, str]) -> None:
    where, url = empty
    text = 'name = "from file"\narms = ["A", "B"]\ndelta = 0.2\n[[objectives]]\nname = "x"\n'
    with Browser(base_url=where) as http:
        done = send(http, "/new/toml", {"text": text})
        assert done.headers["location"] == "/studies/from~20file?done=1"
        other = text.replace("from file", "sent")
        done = send(http, "/new/toml", {}, files={"file": ("d.toml", other.encode())})
        assert done.status_code == 303
    with open_store(url) as store:
        assert store.studies() == ["from file", "sent"]
        assert Study.open("sent", store).rules.delta == 0.2


SECRET = "arm,x\nleaked,1\nlost,2\n"


@pytest.mark.parametrize(
    "line",
    [
        'arms = "{file}"',
        'arms = ["A", "B"]\nanswers = "{file}"',
        'arms = ["A", "B"]\ntruth = "{file}"',
        'arms = ["A", "B"]\nresults = "{file}"',
        'arms = ["A", "B"]\nguess = "{file}"',
        'arms = ["A", "B"]\ncosts = "{file}"',
        'arms = ["A", "B"]\nitems = "{file}"',
        'arms = ["A", "B"]\nblocks = "{file}"',
        'arms = ["A", "B"]\n[prior]\nmeans = "{file}"\npulls = 1',
    ],
)
def test_a_design_file_reads_no_others(
    empty: tuple[str, str], tmp_path: Path, line: str
) -> None:
    where, url = empty
    secret = tmp_path / "secret.csv"
    secret.write_text(SECRET, encoding="utf-8")
    for path in (str(secret), f"../{secret.name}"):
        text = f'name = "new"\nobjectives = ["x"]\n{line.format(file=path)}\n'
        with Browser(base_url=where) as http:
            answer = send(http, "/new/toml", {"text": text})
        assert answer.status_code == 422
        assert "names a file, and no files come along here" in answer.text
        assert "leaked" not in answer.text
    with open_store(url) as store:
        assert store.studies() == []


def test_no_key_that_names_a_file_is_forgotten(tmp_path: Path) -> None:
    """Whatever text a key of a design has, no file on the server is opened for it."""
    from psips.errors import InputError
    from psips.problem.problem_file import KEYS, read_problem_file
    from psips.web.making import FILES

    secret = tmp_path / "secret.csv"
    secret.write_text(SECRET, encoding="utf-8")
    design = tmp_path / "design.toml"
    reads = set()
    for key in KEYS:
        if key in ("objectives", "prior"):
            continue
        arms = "" if key == "arms" else 'arms = ["leaked", "lost"]\n'
        extra = "" if key == "name" else 'name = "n"\n'
        design.write_text(f'{key} = "{secret}"\n{arms}{extra}objectives = ["x"]\n')
        missing = tmp_path / "missing.csv"
        outcomes = []
        for file in (secret, missing):
            design.write_text(f'{key} = "{file}"\n{arms}{extra}objectives = ["x"]\n')
            try:
                read_problem_file(design)
                outcomes.append("")
            except InputError as error:
                outcomes.append(str(error).replace(file.name, "FILE"))
        if outcomes[0] != outcomes[1]:
            reads.add(key)
    assert {"arms", "truth"} <= reads
    assert reads <= set(FILES)


@pytest.mark.parametrize("text", ["", "name = ", "arms = 3"])
def test_design_files_that_are_none(empty: tuple[str, str], text: str) -> None:
    where, _ = empty
    with Browser(base_url=where) as http:
        answer = send(http, "/new/toml", {"text": text})
        assert answer.status_code == 422
        assert answer.text.count('<p class="wrong" role="alert">') == 1
        assert f'rows="8" spellcheck="false">{text}</textarea>' in answer.text


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")
def test_from_an_empty_store_to_a_stopped_study(chromium: Any, empty: tuple[str, str]) -> None:
    """A person's path without the command line: make, ask, enter, read the answer."""
    where, url = empty
    truth = {"green tea": (8.0, 2.0), "black tea": (2.0, 9.0), "cold tea": (1.0, 9.5)}
    rng = np.random.default_rng(1)
    ann = Person(chromium, where)
    page = ann.page
    page.goto(where)
    page.click("text=Make the first one")
    ann.axe()
    page.click("text=Fill in a form")
    page.fill("#study-name", "Tea")
    page.fill("#study-options", "\n".join(truth))
    page.fill("#metric-0", "taste")
    page.fill("#metric-1", "price")
    page.select_option("#direction-1", "min")
    page.click("text=Create the study")
    page.wait_for_selector("h1:has-text('No answer yet')")
    page.click("text=Ask what to measure next")
    page.wait_for_selector("#tell-value-0:focus")
    page.check("input[name=next]")
    page.focus("#tell-value-0")
    for _ in range(60):
        name = page.inner_text("#tell h2").removeprefix("Measure ")
        ticket = page.get_attribute("#tell-ticket", "value")
        taste, price = rng.normal(truth[name], 0.3)
        page.keyboard.type(f"{taste:.3f}")
        page.keyboard.press("Tab")
        page.keyboard.type(f"{price:.3f}")
        page.keyboard.press("Enter")
        page.wait_for_selector("#said:has-text('entered 1 measurement')")
        page.wait_for_selector(f"#tell-ticket:not([value='{ticket}'])", state="attached")
        if not page.locator("#tell h2 bdi").count():
            break
        page.wait_for_selector("#tell-value-0:focus")
    page.click(".tabs a:has-text('Overview')")
    page.wait_for_selector("#headline .badge.stopped")
    chips = [chip.strip() for chip in page.locator("#headline .chip").all_text_contents()]
    assert "green tea" in chips
    assert "90%" in page.inner_text("#headline")
    ann.axe()
    page.click("text=Open the report")
    page.wait_for_selector("text=every hash fits")
    with open_store(url) as store:
        assert Study.open("Tea", store).stopped
    report = "sandboxed and the 'allow-scripts' permission is not set"
    assert [text for text in ann.said if report not in text] == []
