"""Pages and forms, as a browser without scripts sees them."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import threading
import time

import httpx
import numpy as np
import pytest

from psips.cli import main
from psips.errors import InputError
from psips.problem import Problem
from psips.problem.parameters import Ball
from psips.store import open_store
from psips.store.tokens import Tokens
from psips.study import Study
from psips.web import study_cache
from psips.web.addresses import slug
from psips.web.server import serve
from web.conftest import MEANS, NAME, PROBLEM, Browser, Served, form_token, running

PATH = f"/studies/{slug(NAME)}"
ODD = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "🧪 ünï", "אבג def"]


def tell_all(store: str, times: int = 3, name: str = NAME) -> None:
    with open_store(store) as opened:
        study = Study.open(name, opened)
        rows = []
        for i in range(times):
            for arm, mean in zip(study.problem.arms, MEANS.values(), strict=True):
                values = [m + 0.1 * i for m in mean]
                rows.append(
                    {"arm": arm, **dict(zip(study.problem.objectives, values, strict=True))}
                )
        study.tell_many(rows)


def send(browser: httpx.Client, path: str, fields: dict, **more: object) -> httpx.Response:
    token = form_token(browser.get(PATH).text)
    return browser.post(path, data={"form_token": token, **fields}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("page", ["results", "log"])
def test_numbers_in_an_address_are_bounded(alone: Served, page: str) -> None:
    with alone.visitor() as browser:
        assert browser.get(PATH).status_code == 200  # then it is not being read any more
        most = 2**31 if page == "log" else 10**6
        name = "before" if page == "log" else "page"
        for number, code in ((1, 200), (most, 200), (most + 1, 422), (-1, 422), ("x", 422)):
            answer = browser.get(f"{PATH}/{page}", params={name: number})
            assert answer.status_code == code, (number, answer.text)


def test_the_list(served: Served) -> None:
    tell_all(served.store)
    with served.visitor("viewer") as browser:
        browser.get(PATH)
        while "being read" in (html := browser.get("/").text):
            time.sleep(0.1)
    assert NAME in html
    assert "12 measurements" in html
    assert "more to the stop" in html


def test_a_metric_that_repeats_exactly_is_shown_without_an_error(served: Served) -> None:
    problem = Problem(objectives={"time": "min", "size": "min"}, arms=["A", "B"])
    rng = np.random.default_rng(1)
    with open_store(served.store) as opened:
        study = Study.create(problem, opened, name="flags", seed=1)
        for k in range(20):
            study.tell("AB"[k % 2], [5.0 + k % 2 + rng.normal(), 120.5 - k % 2])
    with served.visitor("viewer") as browser:
        html = browser.get("/studies/flags?x=time&y=size").text
    assert "size&#39; repeats exactly: treated as exact" in html
    assert "119.5" in html
    assert "nan" not in html.replace("finance", "").lower()


def test_a_study_before_and_after(served: Served) -> None:
    with served.visitor("viewer") as browser:
        html = browser.get(PATH).text
        assert "No answer yet" in html
        assert "There is no candidate: not every option has been measured yet." in html
        assert "Ask what to measure" not in html  # a viewer looks
        assert 'id="tell"' not in browser.get(f"{PATH}/enter").text
        tell_all(served.store)
        html = browser.get(PATH).text
        for arm in PROBLEM.arms:
            assert f"<bdi>{arm}</bdi>" in html
        assert "<dd>12</dd>" in html
        assert "90% confidence, validated by simulation" in html
        assert html.count('class="point ') == 4
        assert "What is still open" in browser.get(f"{PATH}/comparisons").text
        with open_store(served.store) as store:
            head = Study.open(NAME, store).state.hash
        assert head in browser.get(f"{PATH}/log").text


def test_the_noise_is_that_of_results_that_count(served: Served) -> None:
    with served.visitor("viewer") as browser:
        assert "No option has two measurements yet" in browser.get(f"{PATH}/design").text
        rng = np.random.default_rng(1)
        with open_store(served.store) as store:
            rows = [
                {"arm": arm, "efficacy": rng.normal(m), "toxicity": rng.normal(n, 0.5)}
                for arm, (m, n) in MEANS.items()
                for _ in range(5)
            ]
            Study.open(NAME, store).tell_many(rows)

        def noise() -> str:
            return re.split(r'id="noise"|id="save', browser.get(f"{PATH}/design").text)[1]

        before = noise()
        assert "find no violations of the assumptions" in before
        with open_store(served.store) as store:
            study = Study.open(NAME, store)
            study.tell("A", [500.0, 2.0])
            assert len(study.held) == 1
            assert noise() == before
            study.confirm(result=21, reason="looked up")
        assert "<strong>outliers</strong>: " in noise()
        assert noise() != before


def test_noise_that_is_estimated(url: str) -> None:
    problem = Problem(objectives=["a", "b"], arms=["x", "y"])
    with open_store(url) as store:
        study = Study.create(problem, store, name="estimated", seed=1)
        with running(url) as where, Browser(base_url=where) as http:
            path = "/studies/estimated/design"
            assert http.get(path).text.count("not known yet") == 4
            for value in (1.0, 2.0, 3.0):
                study.tell("x", [value, 10.0 * value])
            html = http.get(path).text
    assert ">1.00 (0.52 to 6.28)<" in html  # sqrt(2 / chi2), two degrees of freedom
    assert ">10.0 (5.2 to 62.8)<" in html
    assert html.count("not known yet") == 2


@pytest.mark.parametrize("goal", [None, "1 optimal"])
def test_a_stopped_page_does_not_contradict_itself(url: str, goal: str | None) -> None:
    """What the banner declares is not open in the legend; of a goal only that is declared."""
    means = {"hot": (3.0, 0.2), "warm": (2.0, 0.7), "cold": (0.5, 0.1)}
    problem = Problem(objectives=["taste", "price"], covariance=[1.0, 1.0], arms=list(means))
    rng = np.random.default_rng(2)
    with open_store(url) as store:
        study = Study.create(problem, store, name="stopped", seed=1, goal=goal)
        while not study.stopped:
            ticket = study.ask()
            study.tell(ticket, rng.normal(means[ticket.arm], 1.0))
        assert (study.status().answers["verdict"] == "open").any()
        with running(url) as where, Browser(base_url=where) as http:
            html = http.get("/studies/stopped").text
    legend = html.split('id="legend">')[1].split("</p>")[0]
    banner = html.split('id="headline"')[1].split("</ul>")[0]
    assert "open" not in legend + banner
    assert ("undecided" in legend) == (goal is not None)
    assert ("as declared at the stop" in legend) == (goal is None)
    assert ("Pareto-optimal: " in banner) == (goal is None)
    assert ("1 optimal: " in banner) == (goal is not None)
    assert ("nothing is claimed" in banner) == (goal is not None)


def test_any_two_objectives_and_hiding(url: str) -> None:
    problem = Problem(objectives=["a", "b", "c"], covariance=[1.0] * 3, arms=["x", "y"])
    with open_store(url) as store:
        study = Study.create(problem, store, name="three", seed=1)
        rows = [
            {"arm": arm, "a": v, "b": v, "c": v}
            for arm, v in (("x", 0.0), ("y", 50.0))
            for _ in range(4)
        ]
        study.tell_many(rows)
    with running(url) as where, Browser(base_url=where) as http:
        html = http.get("/studies/three?x=c&y=b").text
        assert ">c (more is better)</text>" in html
        assert ">b (more is better)</text>" in html
        assert html.count('class="point ') == 2
        hidden = http.get("/studies/three?hide=1").text
        assert hidden.count('class="point ') == 1
        assert "dominated by y" not in hidden
        assert http.get("/studies/three?x=zz").status_code == 422
        assert http.get("/studies/three?x=a&y=a").status_code == 422


def test_one_objective_and_linear_problems(url: str) -> None:
    one = Problem(objectives=["a"], covariance=[1.0], arms=["x", "y"])
    linear = Problem(
        objectives=["a", "b"],
        covariance=[1.0, 1.0],
        features=[[0.0], [1.0], [3.0]],
        arms=list("XYZ"),
        parameter_set=Ball(10.0),
    )
    with open_store(url) as store:
        study = Study.create(one, store, name="one", seed=1)
        study.tell_many([{"arm": a, "a": 1.0} for a in "xy"])
        study = Study.create(linear, store, name="linear", seed=1)
        study.tell_many([{"arm": a, "a": 1.0, "b": i} for i, a in enumerate("XYZ")])
    with running(url) as where, Browser(base_url=where, timeout=120) as http:
        for name in ("one", "linear"):  # kernels of linear problems may have to be compiled
            assert http.get(f"/api/v1/studies/{name}").status_code == 200
        assert http.get("/studies/one").text.count('class="point ') == 2
        assert http.get("/studies/linear").text.count('class="point ') == 3
        for name in ("one", "linear"):
            for figure in ("pulls", "evidence"):
                answer = http.get(f"/studies/{name}/{figure}.svg")
                assert answer.text.startswith("<svg xmlns=")
        assert http.get("/studies/one/other.svg").status_code == 404


def test_ask_and_tell_by_form(served: Served) -> None:
    with served.visitor("recorder") as browser:
        done = send(browser, f"{PATH}/ask", {"n": "2", "expires": "7"})
        assert done.status_code == 303
        html = browser.get(done.headers["location"]).text
        assert "Recorded as event 2: <bdi>asked for A" in html
        tickets = [t["id"] for t in served.events()[-1].payload["tickets"]]
        ticket = tickets[0]
        assert f'id="tell-ticket" value="{ticket}"' in html  # the first that is open
        other = browser.get(f"{PATH}/enter?ticket={tickets[1]}").text
        assert f'id="tell-ticket" value="{tickets[1]}"' in other
        fields = {"ticket": ticket, "value-0": "1.5", "value-1": "2"}
        done = send(browser, f"{PATH}/tell", fields)
        assert (
            "entered 1 measurement: A: efficacy 1.5"
            in browser.get(done.headers["location"]).text
        )
        (result,) = served.events()[-1].payload["results"]
        assert result["values"] == {"efficacy": 1.5, "toxicity": 2.0}
        assert served.events()[-1].payload["by"]["user"] == "recorder one"


@pytest.mark.parametrize(
    ("fields", "where", "says"),
    [
        ({"arm": "A", "value-0": "much", "value-1": "2"}, "tell-value-0", "must be a number"),
        ({"arm": "A", "value-0": "1", "value-1": ""}, "tell-value-1", "is missing"),
        ({"arm": "A", "value-0": "1,5", "value-1": "2"}, "tell-value-0", "1,5"),
        ({"value-0": "1", "value-1": "2"}, "tell-ticket", "neither a ticket nor an arm"),
        ({"ticket": "no", "value-0": "1", "value-1": "2"}, "tell-ticket", "unknown ticket"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(
    served: Served, fields: dict, where: str, says: str
) -> None:
    before = served.dump()
    with served.visitor("recorder") as browser:
        answer = send(browser, f"{PATH}/tell", fields)
    assert answer.status_code == 422
    note = re.search(rf'<p class="wrong" id="{where}-note">(.*?)</p>', answer.text)
    assert note is not None
    assert says in note[1]
    assert answer.text.count('class="wrong"') == 1
    for name, value in fields.items():
        if name == "arm":
            assert f'value="{value}" checked' in answer.text
        else:
            assert f'name="{name}" type="text" value="{value}"' in answer.text  # kept
    assert served.dump() == before


def test_a_far_value_is_asked_about(served: Served) -> None:
    tell_all(served.store)
    before = served.dump()
    with served.visitor("recorder") as browser:
        fields = {"arm": "A", "value-0": "50", "value-1": "2"}
        asked = send(browser, f"{PATH}/tell", fields)
        assert asked.status_code == 422
        assert "standard deviations (" in asked.text
        assert served.dump() == before
        assert "I have checked it" in asked.text
        assert send(browser, f"{PATH}/tell", {**fields, "anyway": "yes"}).status_code == 303
        html = browser.get(PATH).text
        assert "1 measurement beyond what the noise allows" in html
        assert "Check the measurement on hold" in html  # what to do next
        done = send(browser, f"{PATH}/results/13/confirm", {"reason": "really"})
        assert done.status_code == 303
        assert "beyond what the noise allows" not in browser.get(PATH).text


def upload(browser: httpx.Client, text: str) -> httpx.Response:
    return send(browser, f"{PATH}/upload", {}, files={"file": ("r.csv", text.encode())})


def confirmation(html: str) -> dict[str, str]:
    form = html.split("upload/confirm")[1].split("</form>")[0]
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))


def test_a_file_with_three_problems(served: Served) -> None:
    text = "arm,efficacy,toxicity\nA,1,2\nZ,1,2\nB,x,2\nC,1,\n"
    before = served.dump()
    with served.visitor("recorder") as browser:
        answer = upload(browser, text)
    assert answer.status_code == 422
    assert "3 problems" in answer.text
    for line in (3, 4, 5):
        assert f"<strong>Line {line}</strong>" in answer.text
    assert "upload/confirm" not in answer.text
    assert served.dump() == before


def test_a_file_is_shown_and_then_recorded(served: Served) -> None:
    text = "arm,efficacy,toxicity\nA,1,2\nB,3,4\n"
    before = served.dump()
    with served.visitor("recorder") as browser:
        shown = upload(browser, text)
        assert "2 new measurements" in shown.text
        assert served.dump() == before
        done = browser.post(f"{PATH}/upload/confirm", data=confirmation(shown.text))
        assert done.status_code == 303
        assert len(served.events()[-1].payload["results"]) == 2
        again = upload(browser, text)
        assert "were told already" in again.text
        before = served.dump()
        fields = confirmation(again.text)
        assert fields.pop("again") == "yes"
        refused = browser.post(f"{PATH}/upload/confirm", data=fields)
        assert refused.status_code == 422
        assert served.dump() == before
        new = browser.post(f"{PATH}/upload/confirm", data={**fields, "again": "yes"})
        assert new.status_code == 303
    assert [len(e.payload["results"]) for e in served.events()[1:]] == [2, 2]


def test_a_correction_begins_with_the_values_as_they_were_typed(url: str) -> None:
    problem = Problem(objectives=["x", "y"], arms=["A", "B"], partial=True)
    with open_store(url) as store:
        study = Study.create(problem, store, name="some", seed=1)
        study.tell("A", {"x": 500.0})
        study.tell("A", {"x": 0.1, "y": 2.5})
    with running(url) as where, Browser(base_url=where) as browser:
        for number, values in ((1, ["500", ""]), (2, ["0.1", "2.5"])):
            html = browser.get(f"/studies/some/results/{number}").text
            assert re.findall(r'id="value-[01]"[^>]* value="([^"]*)"', html) == values


def test_correct_withdraw_cancel_close(served: Served) -> None:
    tell_all(served.store, 1)
    with served.visitor("owner") as browser:
        wrong = send(browser, f"{PATH}/results/1/correct", {"value-0": "x", "value-1": "2"})
        assert wrong.status_code == 422
        assert 'id="value-0-note"' in wrong.text
        fields = {"value-0": "5.5", "value-1": "2", "reason": "misread"}
        assert send(browser, f"{PATH}/results/1/correct", fields).status_code == 303
        assert (
            send(browser, f"{PATH}/results/2/withdraw", {"reason": "spilt"}).status_code == 303
        )
        html = browser.get(f"{PATH}/results").text
        assert "withdrawn" in html
        assert "corrected" in html
        log = browser.get(f"{PATH}/log").text
        assert "efficacy 5, toxicity 2 became efficacy 5.5, toxicity 2; misread" in log
        send(browser, f"{PATH}/ask", {"n": "1"})
        ticket = served.events()[-1].payload["tickets"][0]["id"]
        assert send(browser, f"{PATH}/cancel", {"ticket": ticket}).status_code == 303
        assert "No open tickets" in browser.get(f"{PATH}/enter").text
        before = served.dump()
        assert send(browser, f"{PATH}/close", {"name": "another"}).status_code == 403
        assert served.dump() == before
        assert send(browser, f"{PATH}/close", {"name": NAME}).status_code == 303
        html = browser.get(PATH).text
        assert '<span class="badge closed">closed</span>' in html
        assert "Ask what to measure" not in html
        assert "The study is closed" in browser.get(f"{PATH}/enter").text
        assert browser.get(f"{PATH}/results/99").status_code == 404


def test_two_people(url: str) -> None:
    with open_store(url) as store:
        study = Study.create(
            PROBLEM, store, name="strict", seed=1, conduct={"two_people": True, "reasons": True}
        )
        study.tell("A", [1.0, 2.0])
        tokens = Tokens(store)
        made = {name: tokens.add(name, "recorder") for name in ("ann", "bob")}
    with running(url) as where:
        here = Served(where, url, made)
        path = "/studies/strict"
        with here.visitor("ann") as ann, here.visitor("bob") as bob:
            bare = send(ann, f"{path}/results/1/withdraw", {})
            assert bare.status_code == 422
            assert "write one" in bare.text
            send(ann, f"{path}/results/1/withdraw", {"reason": "spilt"})
            assert "waits for another person" in bob.get(path).text
            own = send(ann, f"{path}/events/3/confirm", {})
            assert own.status_code == 422
            assert "another person must confirm it" in own.text
            assert send(bob, f"{path}/events/3/confirm", {}).status_code == 303
            assert "waits for another person" not in bob.get(path).text


def test_downloads(served: Served) -> None:
    tell_all(served.store, 1)
    with served.visitor("viewer") as browser:
        table = browser.get(f"{PATH}/results.csv")
        assert table.headers["content-disposition"] == (
            f'attachment; filename="{slug(NAME)}.csv"'
        )
        assert [row["arm"] for row in csv.DictReader(io.StringIO(table.text))] == list("ABCD")
        assert len(json.loads(browser.get(f"{PATH}/study.json").text)["events"]) == 2
        report = browser.get(f"{PATH}/report.html")
        assert "every hash fits" in report.text
        assert "script-src" not in report.headers["content-security-policy"]
        assert "sandbox" in report.headers["content-security-policy"]
    with httpx.Client(base_url=served.url) as nobody:
        for file in (
            "results.csv",
            "study.json",
            "report.html",
            "pulls.svg",
            "log",
            "changes",
            "charts.json",
            "time-series.json",
            "enter",
            "comparisons",
            "design",
        ):
            assert nobody.get(f"{PATH}/{file}").status_code in (303, 401)


def test_odd_texts_are_texts(url: str) -> None:
    problem = Problem(
        objectives={"<b>gain</b>": "max", "c&t": "min"}, covariance=[1, 1], arms=ODD
    )
    name = "<i>odd</i> & \"quoted\" 'name'"
    with open_store(url) as store:
        study = Study.create(problem, store, name=name, seed=1, user="<u>eve</u>")
        study.ask(2)
        study.tell_many([{"arm": a, "<b>gain</b>": 1.0, "c&t": 2.0} for a in ODD])
        study.correct([2.0, 2.0], result=1, reason="<script>alert(2)</script>")
    with running(url) as where, Browser(base_url=where) as http:
        path = f"/studies/{slug(name)}"
        tabs = [f"{path}/{tab}" for tab in ("enter", "results", "comparisons", "log", "design")]
        for page in (path, "/", *tabs, f"{path}/enter?ticket=none", f"{path}/results/1"):
            html = http.get(page).text
            for tag in ("<script>alert", "<img src=x", "<i>odd", "<u>eve", "<b>gain"):
                assert tag not in html, (page, tag)
        assert "&lt;script&gt;alert(1)" in http.get(path).text
        assert "&lt;u&gt;eve" in http.get(f"{path}/log").text
        for figure in ("pulls", "evidence"):
            assert "<script" not in http.get(f"{path}/{figure}.svg").text
        front = http.get(f"{path}/charts.json")
        assert front.headers["content-type"] == "application/json"
        assert [one["name"] for one in front.json()["options"]] == ODD


def test_a_damaged_study_hides_no_other(served: Served) -> None:
    import sqlite3

    with open_store(served.store) as store:
        Study.create(PROBLEM, store, name="bad", seed=1).tell("A", [1.0, 2.0])
    with sqlite3.connect(served.store.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE events SET payload = '{}' WHERE study='bad' AND seq=2")
    with running(served.store) as where:
        here = Served(where, served.store, served.tokens)
        with here.visitor("viewer") as browser:
            rows = browser.get("/").text
            assert "damaged" in rows
            assert NAME in rows
            answer = browser.get("/studies/bad")
            assert answer.status_code == 500
            assert "not as it was written" in answer.text


def test_a_long_log_is_waited_for(url: str, monkeypatch: pytest.MonkeyPatch) -> None:

    go = threading.Event()
    view = study_cache.view_of

    def slow(*args: object) -> object:
        go.wait(60)
        return view(*args)

    monkeypatch.setattr(study_cache, "view_of", slow)
    with running(url) as where, httpx.Client(base_url=where) as http:
        begun = time.monotonic()
        assert "is being read" in http.get(PATH).text
        assert "being read" in http.get("/").text
        assert time.monotonic() - begun < 4
        for tab in ("enter", "results", "results/1", "comparisons", "log", "design"):
            assert "is being read" in http.get(f"{PATH}/{tab}").text, tab
        changes = http.get(f"{PATH}/changes")
        assert changes.status_code == 503
        assert changes.json()["detail"] == "the log of this study is being read"
        begun = time.monotonic()
        go.set()
        while "is being read" in http.get(PATH).text:
            assert time.monotonic() - begun < 20


def stopped_study(store: str) -> None:
    tell_all(store, 60)


def test_the_answer_on_top(served: Served) -> None:
    """Before, on the way, with tickets and at the stop: what it says, and what is next."""
    with served.visitor("recorder") as browser, served.visitor("viewer") as viewer:

        def top(who: httpx.Client = browser) -> str:
            html = who.get(PATH).text
            return html.split('id="headline"')[1].split("</section>")[0]

        assert "<dd>0</dd>" in top()
        assert "<button>Ask what to measure next</button>" in top()
        assert f'href="{PATH}/comparisons"' in top(viewer)
        tell_all(served.store)
        assert "probability that this set is right" in top()
        assert re.search(r"<dd>(about|over) [0-9,]+</dd>", top())
        assert "%" in top()
        assert "0%<" not in top()
        with open_store(served.store) as store:
            ticket = Study.open(NAME, store).ask()
        assert f"<bdi>Enter the measurement of {ticket.arm}</bdi>" in top()
        stopped_study(served.store)
        html = top()
        assert "Pareto-optimal: 3 options" in html
        assert html.count('class="chip"') == 3
        assert "<dd>90%</dd>" in html
        assert "confidence that this is right, validated by simulation" in html
        assert "Open the report" in html
        assert "more measurements until" not in html


def test_every_tab_has_an_address(served: Served) -> None:
    tell_all(served.store)
    with served.visitor("viewer") as browser:
        for tab in ("", "/enter", "/results", "/comparisons", "/log", "/design"):
            html = browser.get(PATH + tab).text
            (current,) = re.findall(r'href="([^"]*)" aria-current="page"', html)
            assert current == PATH + tab
            assert html.count("<h1") == 1


def test_tables_sort_filter_and_search(served: Served) -> None:
    tell_all(served.store, 20)
    with open_store(served.store) as store:
        Study.open(NAME, store).withdraw(result=7, reason="spilt")

    def column(html: str, label: str) -> list[str]:
        cells = re.findall(rf'(?s)data-label="{label}"[^>]*>(.*?)</t[dh]>', html)
        return [re.sub(r"<[^>]*>", "", cell).strip() for cell in cells]

    with served.visitor("viewer") as browser:
        rows = column(browser.get(f"{PATH}/results").text, "number")
        assert rows == [str(n) for n in range(80, 30, -1)]
        assert column(browser.get(f"{PATH}/results?page=2").text, "number")[-1] == "1"
        html = browser.get(f"{PATH}/results?sort=efficacy&down=1").text
        values = [float(cell) for cell in column(html, "efficacy")]
        assert values == sorted(values, reverse=True)
        assert 'aria-sort="descending"' in html
        html = browser.get(f"{PATH}/results?q=c&sort=number").text
        assert set(column(html, "option")) == {"C"}
        assert column(html, "number") == [str(n) for n in range(3, 81, 4)]
        assert column(browser.get(f"{PATH}/results?state=withdrawn").text, "number") == ["7"]
        assert "None of the 80 measurements are as searched" in (
            browser.get(f"{PATH}/results?q=zebra").text
        )
        for wrong in ("sort=colour", "state=lost", "page=0"):
            assert browser.get(f"{PATH}/results?{wrong}").status_code == 422
        html = browser.get(f"{PATH}?sort=toxicity").text
        assert column(html, "option") == ["B", "A", "C", "D"]
        assert column(browser.get(f"{PATH}?q=d").text, "option") == ["D"]
        assert browser.get(f"{PATH}?sort=colour").status_code == 422


def test_the_next_ticket_is_in_the_form(served: Served) -> None:
    """Fifty in a row: each answer to Record is the form of the next ticket."""
    with served.visitor("recorder") as browser:
        where = send(browser, f"{PATH}/ask", {"n": "3"}).headers["location"]
        for k in range(5):
            html = browser.get(where).text
            ticket = re.search(r'id="tell-ticket" value="([^"]*)"', html)
            assert ticket is not None, k
            fields = {"ticket": ticket[1], "value-0": "1.5", "value-1": str(k), "next": "ask"}
            where = send(browser, f"{PATH}/tell", fields).headers["location"]
        assert 'name="next" value="ask" checked' in browser.get(where).text
    asked = [len(e.payload["tickets"]) for e in served.events() if "tickets" in e.payload]
    assert asked == [3, 1, 1, 1]  # one more each time that none was open


def test_undo_is_a_withdrawal_for_a_minute(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served.visitor("recorder") as browser, served.visitor("owner") as other:
        fields = {"arm": "A", "value-0": "1.5", "value-1": "2"}
        where = send(browser, f"{PATH}/tell", fields).headers["location"]
        assert "/events/2/undo" in browser.get(where).text
        assert "/events/2/undo" not in other.get(where).text  # it is not theirs
        assert send(other, f"{PATH}/events/2/undo", {}).status_code == 403
        assert send(browser, f"{PATH}/events/2/undo", {}).status_code == 303
        last = served.events()[-1]
        assert (last.kind, last.payload["results"]) == ("withdrawn", [1])
        assert last.payload["reason"] == "undone"
        send(browser, f"{PATH}/tell", fields)
        monkeypatch.setattr("psips.web.entering.SECONDS", -20)
        before = served.dump()
        late = send(browser, f"{PATH}/events/4/undo", {})
        assert late.status_code == 403
        assert "withdraw the measurement instead" in late.text
        assert send(browser, f"{PATH}/events/99/undo", {}).status_code == 403
        assert served.dump() == before


@pytest.mark.parametrize(
    "text",
    ["A\t1\t2\nB\t3\t4", "arm;toxicity;efficacy\nA;2;1\nB;4;3", "A,1,2\r\nB,3,4\r\n"],
)
def test_pasting_from_a_spreadsheet(served: Served, text: str) -> None:
    with served.visitor("recorder") as browser:
        shown = send(browser, f"{PATH}/paste", {"text": text})
        assert "2 new measurements" in shown.text
        assert len(served.events()) == 1
        fields = confirmation(shown.text)
        assert browser.post(f"{PATH}/upload/confirm", data=fields).status_code == 303
        told = [tuple(r["values"].values()) for r in served.events()[-1].payload["results"]]
        assert told == [(1.0, 2.0), (3.0, 4.0)]
        assert send(browser, f"{PATH}/paste", {"text": " \n"}).status_code == 422
        wrong = send(browser, f"{PATH}/paste", {"text": "A\t1\t2\nZ\t3\t4"})
        assert wrong.status_code == 422
        assert "Z" in wrong.text


def test_yes_and_no_for_what_is_binary(url: str) -> None:
    problem = Problem(
        objectives={"cured": {"direction": "max", "kind": "binary"}, "cost": "min"},
        arms=["drug", "placebo"],
    )
    with open_store(url) as store:
        Study.create(problem, store, name="binary", seed=1)
    with running(url) as where, Browser(base_url=where) as http:
        html = http.get("/studies/binary/enter").text
        assert html.count('type="radio" name="value-0"') == 2
        assert html.count('type="radio" name="arm"') == 2
        assert 'id="tell-value-1"' in html
        fields = {"arm": "drug", "value-0": "1", "value-1": "2.5"}
        token = form_token(html)
        path = "/studies/binary/tell"
        done = http.post(path, data={"form_token": token, **fields})
        assert done.status_code == 303
        wrong = http.post(path, data={"form_token": token, **fields, "value-0": "2"})
        assert wrong.status_code == 422
        assert "must be 0 or 1" in wrong.text


def test_plotly_comes_from_here(served: Served) -> None:
    """The script of the package, compressed and kept; the policy of pages allows no more."""
    with served.visitor("viewer") as browser:
        page = browser.get(PATH)
        (source,) = re.findall(r'data-plotly="([^"]*)"', page.text)
        script = browser.get(source)
        assert "plotly.js v" in script.text[:200]
        assert script.headers["content-encoding"] == "gzip"
        assert "immutable" in script.headers["cache-control"]
        policy = page.headers["content-security-policy"]
        assert "script-src 'self'; style-src 'self'; img-src 'self'" in policy
        assert "unsafe" not in policy


# The command line


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["psips", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_tokens_on_the_command_line(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ("--store", url)
    assert run(monkeypatch, "serve", "token", "add", "ann", "--role", "owner", *store) == 0
    secret = capsys.readouterr().out.strip()
    assert secret.startswith("psips_")
    assert run(monkeypatch, "serve", "token", "list", *store) == 0
    listed = capsys.readouterr().out
    assert re.search(r"owner +valid +20\d\d-\d\d-\d\d +ann", listed)
    assert secret not in listed
    for words, says in (
        (("add", "ann", "--role", "owner"), "has a token already"),
        (("add", "bob", "--role", "boss"), "unknown role 'boss'"),
        (("add", " ", "--role", "owner"), "empty name"),
        (("add", "bob", "--role", "owner", "--days", "0"), "1 to 3,660 days"),
        (("revoke", "ana"), "did you mean 'ann'"),
    ):
        assert run(monkeypatch, "serve", "token", *words, *store) == 2
        assert says in capsys.readouterr().err
    assert run(monkeypatch, "serve", "token", "revoke", "ann", *store) == 0
    assert run(monkeypatch, "serve", "token", "list", "--json", *store) == 0
    assert (
        json.loads(capsys.readouterr().out.split("\n", 1)[1])["tokens"][0]["state"] == "revoked"
    )


def test_what_cannot_be_served(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"only 127\.0\.0\.1 is served: make one first"):
        serve(url, "0.0.0.0", 0, print)
    with pytest.raises(InputError, match="no store"):
        serve(f"{url}x", "127.0.0.1", 0, print)
    with pytest.raises(InputError, match="from 0 to 65535, got 99999"):
        serve(url, "127.0.0.1", 99999, print)
    with open_store(url) as store:
        Tokens(store).add("ann", "owner")
    with pytest.raises(InputError, match="cannot listen on 'no such host'"):
        serve(url, "no such host", 0, print)


def test_who_on_the_command_line(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("study", "tell", NAME, "--arm", "A", "--value", "efficacy=1", "--value")
    assert run(monkeypatch, *words, "toxicity=2", "--as", "ann", "--store", url) == 0
    with open_store(url) as store:
        by = store.read(NAME)[-1].payload["by"]
    assert by["user"] == "ann"
    assert "login" in by


def test_a_look_is_of_one_moment(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that comes while a page is worked out is on the next one, not half on this."""
    from psips.web.study_cache import CachedStudy

    with open_store(url) as store, open_store(url) as elsewhere:
        cached, other = CachedStudy(NAME, store), Study.open(NAME, elsewhere)
        session = type(other.state.session)
        status = session.status

        def interrupted(self: object) -> object:
            found = status(self)  # type: ignore[arg-type]
            monkeypatch.setattr(session, "status", status)
            other.tell("A", [1.0, 2.0])
            return found

        other.tell("B", [1.0, 2.0])
        monkeypatch.setattr(session, "status", interrupted)
        first = cached.view()
        assert (first.event, first.status.results, first.told) == (2, 1, 1)
        second = cached.view()
        assert (second.event, second.status.results, second.told) == (3, 2, 2)
