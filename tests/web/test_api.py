"""The JSON interface: what the command line does, over HTTP."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime

import httpx
import numpy as np
import pandas as pd
import pytest

import psips
from psips.errors import InputError
from psips.session import Receipt
from psips.store import StoreError, UnknownOutcomeError, open_store
from psips.store.tokens import Tokens
from psips.study import Study
from psips.web.addresses import slug
from psips.web.client import Client, ServerError
from psips.web.study_cache import CachedStudy
from web.conftest import MEANS, NAME, PROBLEM, Served, running


def test_ask_tell_status(served: Served) -> None:
    with served.caller("recorder") as http:
        asked = http.post(f"{served.api}/ask", json={"n": 3}).json()
        assert [t["arm"] for t in asked["tickets"]] == ["A", "B", "C"]
        assert asked["stopped"] is False
        for ticket in asked["tickets"]:
            told = http.post(
                f"{served.api}/tell", json={"ticket": ticket["id"], "values": [1.0, 2.0]}
            ).json()
        assert told["results"] == [3]
        status = http.get(served.api).json()
    assert status["results"] == 3
    assert status["objectives"] == {"efficacy": "max", "toxicity": "min"}
    assert status["promise"] == "90% confidence, validated"
    with open_store(served.store) as store:
        study = Study.open(NAME, store)
        assert json.loads(json.dumps(status["arms"])) == status["arms"]
        assert study.state.session.results == 3
        who = [event.payload["by"] for event in study.events()[1:]]
    assert {by["user"] for by in who} == {"recorder one"}
    assert {by["program"] for by in who} == {f"psips {psips.__version__}, serve"}
    assert all("login" in by for by in who)  # the account of the server


def test_a_key_records_once(served: Served) -> None:
    with served.caller("recorder") as http:
        asks = [http.post(f"{served.api}/ask", json={"n": 2, "key": "k1"}) for _ in range(3)]
        assert asks[0].json() == asks[1].json() == asks[2].json()
        order = {"arm": "A", "values": {"efficacy": 1.0, "toxicity": 2.0}, "key": "k2"}
        tells = [http.post(f"{served.api}/tell", json=order).json() for _ in range(3)]
        assert [t["results"] for t in tells] == [[1], [1], [1]]
        withdrawal = {"result": 1, "key": "k3"}
        assert http.post(f"{served.api}/withdraw", json=withdrawal).status_code == 200
        others = [
            http.post(f"{served.api}/tell", json={**order, "arm": "B"}),
            http.post(f"{served.api}/ask", json={"n": 2, "expires": 60, "key": "k1"}),
            http.post(f"{served.api}/withdraw", json={"result": 2, "key": "k2"}),
            http.post(f"{served.api}/withdraw", json={**withdrawal, "reason": "lost"}),
            http.post(f"{served.api}/cancel", json={"tickets": ["x-1"], "key": "k3"}),
        ]
    with served.caller("owner") as http:
        others.append(http.post(f"{served.api}/tell", json=order))  # another person
    for other in others:
        assert (other.status_code, other.json()["exit_code"]) == (409, 2)
        assert "is that of another event" in other.json()["detail"]
    assert len(served.events()) == 4


@pytest.mark.parametrize(
    ("verb", "body", "code", "sentence"),
    [
        ("ask", '{"n": 1, "n": 2}', 400, "the key 'n' comes twice"),
        ("tell", '{"arm": "A", "values": {"efficacy": 1, "efficacy": 2}}', 400, "comes twice"),
        ("tell", '{"arm": "A", "values": [1, NaN]}', 400, "NaN is not a number of JSON"),
        ("tell", '{"arm": "A", "values": [1, 1e999]}', 400, "1e999 is too large"),
        ("tell", "{" * 10, 400, "this is not JSON"),
        ("ask", '{"n": true}', 422, "valid integer"),
        ("ask", '{"expires": true}', 422, "expires"),
        ("ask", '{"anyway": 1}', 422, "valid boolean"),
        ("tell", '{"arm": "A", "values": [1, 2], "strict": "yes"}', 422, "valid boolean"),
        ("tell", '{"arm": "A", "values": [true, 2]}', 422, "must be a number, got true"),
        ("tell", '{"arm": "A", "values": {"efficacy": true, "toxicity": 2}}', 422, "got true"),
        (
            "tell-many",
            '{"rows": [{"arm": "A", "efficacy": true, "toxicity": 2}]}',
            422,
            "must be a number, got True",
        ),
        ("correct", '{"result": true, "values": [1, 2]}', 422, "valid integer"),
    ],
)
def test_json_is_read_strictly(
    served: Served, verb: str, body: str, code: int, sentence: str
) -> None:
    before = served.dump()
    with served.caller("recorder") as http:
        headers = {"content-type": "application/json"}
        answer = http.post(f"{served.api}/{verb}", content=body, headers=headers)
    assert (answer.status_code, answer.json()["exit_code"]) == (code, 2)
    assert sentence in answer.json()["detail"]
    assert served.dump() == before


def test_problems_are_a_list(served: Served) -> None:
    rows = [
        {"arm": "A", "efficacy": 1.0, "toxicity": 2.0},
        {"arm": "Z", "efficacy": 1.0, "toxicity": 2.0},
        {"arm": "B", "efficacy": "much", "toxicity": None},
    ]
    before = served.dump()
    with served.caller("recorder") as http:
        answer = http.post(f"{served.api}/tell-many", json={"rows": rows})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    data = answer.json()
    assert data["exit_code"] == 2
    places = [(one["line"], one["field"]) for one in data["problems"]]
    assert places == [(2, None), (3, None), (3, None)]
    assert "unknown arm 'Z'" in data["problems"][0]["message"]
    assert served.dump() == before


def test_changes_of_results(served: Served) -> None:
    with served.caller("owner") as http:

        def post(word: str, **body: object) -> dict:
            answer = http.post(f"{served.api}/{word}", json=body)
            assert answer.status_code == 200, answer.text
            return answer.json()

        post("tell-many", rows=[{"arm": a, "efficacy": 1, "toxicity": 2} for a in "ABCD"])
        post("correct", result=1, values={"efficacy": 1.5}, reason="misread")
        post("withdraw", result=2, reason="spilt")
        (ticket,) = post("ask")["tickets"]
        assert post("cancel", tickets=[ticket["id"]])["cancelled"] == [ticket["id"]]
        post("tell", arm="A", values=[900.0, 2.0])
        assert post("confirm", result=5, reason="checked")["known"] == 0
        found = http.get(f"{served.api}/results", params={"after": 0, "limit": 2}).json()
        assert [r["values"]["efficacy"] for r in found["results"]] == [1.5, 1.0]
        assert [r["withdrawn"] for r in found["results"]] == [False, True]
        assert found["told"] == 5
        log = http.get(f"{served.api}/log", params={"after": 1}).json()["events"]
        kinds = ["told", "corrected", "withdrawn", "asked", "withdrawn", "told", "confirmed"]
        assert [event["kind"] for event in log] == kinds
        assert post("close", reason="done")["closed"] is True
        after = http.post(f"{served.api}/tell", json={"arm": "A", "values": [1, 2]})
    assert after.status_code == 422
    assert "is closed" in after.json()["detail"]


def stop(study: Study) -> None:
    rng = np.random.default_rng(1)
    while not study.stopped:
        rows = [
            {
                "ticket": t.id,
                "efficacy": rng.normal(MEANS[t.arm][0]),
                "toxicity": MEANS[t.arm][1],
            }
            for t in study.ask(4)
        ]
        study.tell_many(rows)


def test_the_stop_is_409_for_ask(served: Served) -> None:
    with open_store(served.store) as store:
        stop(Study.open(NAME, store))
    before = served.dump()
    with served.caller("recorder") as http:
        refused = http.post(f"{served.api}/ask", json={})
        assert (refused.status_code, refused.json()["exit_code"]) == (409, 3)
        assert served.dump() == before
        assert http.post(f"{served.api}/ask", json={"anyway": True}).status_code == 200
        assert http.get(served.api).json()["pareto_set"] == ["A", "B", "D"]


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [(UnknownOutcomeError("lost"), 504, 4), (StoreError("locked"), 503, 2)],
)
def test_a_store_that_fails(
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
    error: InputError,
    code: int,
    exit_code: int,
) -> None:
    def fail(*_: object) -> None:
        raise error

    with served.caller("recorder") as http:
        http.get(served.api)
        monkeypatch.setattr(CachedStudy, "study", fail)
        answer = http.post(f"{served.api}/ask", json={"key": "again"})
    assert (answer.status_code, answer.json()["exit_code"]) == (code, exit_code)


def test_a_failure_of_ours_says_little(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("secret thing")

    with served.caller("recorder") as http:
        http.get(served.api)
        monkeypatch.setattr(CachedStudy, "study", fail)
        answer = http.post(f"{served.api}/ask", json={})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "content-security-policy" in answer.headers


def test_others_are_seen(served: Served) -> None:
    with open_store(served.store) as store, served.caller("viewer") as http:
        assert http.get(f"{served.api}/changes").json() == {"event": 1}
        Study.open(NAME, store).tell("A", [1.0, 2.0])
        assert http.get(served.api).json()["results"] == 1
        until = datetime.now(UTC).timestamp() + 2
        while http.get(f"{served.api}/changes").json() != {"event": 2}:
            assert datetime.now(UTC).timestamp() < until


def test_two_servers_on_one_store(served: Served) -> None:
    """What one server records the other knows, and no result is lost or doubled."""
    with running(served.store) as second:
        failures: list[str] = []

        def work(base: str, worker: int) -> None:
            with served.caller("recorder") as http:
                for i in range(10):
                    body = {"arm": "A", "values": [float(worker), float(i)]}
                    key = f"{worker}-{i}"
                    for _ in range(2):  # everything twice
                        got = http.post(f"{base}/tell", json={**body, "key": key})
                        if got.status_code != 200:
                            failures.append(got.text)

        bases = [served.api, f"{second}/api/v1/studies/{slug(NAME)}"]
        workers = [threading.Thread(target=work, args=(bases[w % 2], w)) for w in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert failures == []
    with open_store(served.store) as store:
        study = Study.open(NAME, store)
        told = sorted(result.values for result in study.told)
        assert told == [(float(w), float(i)) for w in range(4) for i in range(10)]
        assert study.verify().problems == ()


def test_openapi(served: Served) -> None:
    with httpx.Client() as http:
        schema = http.get(f"{served.url}/api/v1/openapi.json").json()
        page = http.get(f"{served.url}/api/v1/docs").text
    assert "/api/v1/studies/{study}/tell" in schema["paths"]
    assert all(path.startswith("/api/v1/") for path in schema["paths"])
    for methods in schema["paths"].values():
        for one in methods.values():
            assert one["summary"] in page


def test_names_in_addresses(url: str) -> None:
    for name in ("a/b", "..", "é 100%", "x?y#z", "~41"):
        with open_store(url) as store:
            Study.create(PROBLEM, store, name=name, seed=1)
    with running(url) as where, httpx.Client() as http:
        rows = http.get(f"{where}/api/v1/studies").json()["studies"]
        assert len(rows) == 6
        for row in rows:
            found = http.get(f"{where}/api/v1/studies/{row['path']}").json()
            assert found["study"] == row["study"]


def test_client_in_place_of_a_session(served: Served) -> None:
    client = Client(served.url, served.tokens["recorder"])
    lab = np.random.default_rng(2)
    while not client.done:
        ticket = client.ask()
        receipt = client.tell(ticket, lab.normal(MEANS[ticket], (1.0, 0.5)))
    assert receipt == Receipt((client.results,), 0, True)
    assert client.pareto_set == client.candidate_set == ("A", "B", "D")
    assert sum(client.pulls.values()) == client.results == len(client.to_frame())
    assert len(client.ask(2)) == sum(client.pending.values()) == 2
    with open_store(served.store) as store:  # every result came for its ticket
        assert all(result.ticket for result in Study.open(NAME, store).told)


def test_client_words(served: Served) -> None:
    client = Client(served.url, served.tokens["recorder"], study=NAME)
    (ticket,) = client.ask(1)
    assert client.pending[ticket] == 1
    client.cancel(ticket)
    assert client.pending[ticket] == 0
    first, second = client.ask().arm, client.ask()
    client.cancel(first)  # by its arm: the oldest ask
    client.cancel(second)
    assert not any(client.pending.values())
    frame = pd.DataFrame({"arm": ["A", "B"], "efficacy": [1.0, 2.0], "toxicity": [3.0, 4.0]})
    assert client.tell(frame).numbers == (1, 2)
    assert client.correct(1, {"efficacy": 1.25}, reason="misread").known == 0
    assert client.withdraw(2, "spilt").known == 0
    assert client.to_frame().to_dict("records") == [
        {"arm": "A", "efficacy": 1.25, "toxicity": 3.0}
    ]
    with pytest.raises(ServerError, match="unknown arm 'X'") as error:
        client.tell("X", [1.0, 2.0])
    assert (error.value.code, error.value.problems[0]["line"]) == (422, None)
    with pytest.raises(InputError, match="0 asks of this client"):
        client.cancel("A")


def test_client_that_cannot(served: Served) -> None:
    with pytest.raises(ServerError, match="needs a valid token"):
        Client(served.url)
    with pytest.raises(InputError, match="unknown study 'tiral'"):
        Client(served.url, served.tokens["viewer"], study="tiral")
    viewer = Client(served.url, served.tokens["viewer"])
    with pytest.raises(ServerError, match="you need the role recorder"):
        viewer.ask()


def test_client_repeats_what_got_no_answer(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psips.web.client.PAUSE", 0.0)
    client = Client(served.url, served.tokens["recorder"])
    once, lost = client._once, [True]

    def lossy(method: str, path: str, body: object) -> dict:
        done = once(method, path, body)  # it arrives, and the answer is lost
        if lost.pop() if lost else False:
            raise ConnectionResetError
        return done

    monkeypatch.setattr(client, "_once", lossy)
    assert client.tell("A", [1.0, 2.0]).numbers == (1,)
    assert not lost
    assert client.results == 1


def test_client_follows_no_redirection(served: Served, tmp_path) -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"{served.url}/api/v1/studies")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    other = HTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    with pytest.raises(ServerError, match="answers 302"):
        Client(f"http://127.0.0.1:{other.server_port}", served.tokens["viewer"])
    other.shutdown()


def test_health(served: Served) -> None:
    with httpx.Client() as http:
        assert http.get(f"{served.url}/healthz").json() == {"ok": True}


def test_tokens_expire_and_end(url: str) -> None:
    with open_store(url) as store:
        tokens = Tokens(store)
        secret = tokens.add("ann", "viewer", days=1, at=datetime(2030, 1, 1, tzinfo=UTC))
        found = tokens.find(secret, datetime(2030, 1, 1, 12, tzinfo=UTC))
        assert found is not None
        assert tokens.find(secret, datetime(2030, 1, 2, tzinfo=UTC)) is None
        visit = tokens.sign_in(found, datetime(2030, 1, 1, 20, tzinfo=UTC))
        assert tokens.find_sign_in(visit, datetime(2030, 1, 1, 23, tzinfo=UTC))
        assert tokens.find_sign_in(visit, datetime(2030, 1, 2, 1, tzinfo=UTC)) is None
        assert secret not in str(tokens.every())


def test_a_client_asks_for_items_and_tells_of_them(served: Served) -> None:
    problem = psips.Problem(objectives=["x"], arms=["A", "B"], items=True)
    study = Study.create(problem, served.store, name="shared", seed=1)
    client = Client(served.url, served.tokens["recorder"], study="shared")
    asked = client.ask(4)
    pairs = [(ticket.arm, ticket.item) for ticket in asked]
    assert pairs == [("A", "1"), ("B", "1"), ("A", "2"), ("B", "2")]
    client.tell("B", 0.0, item="2")  # by its arm and item: the ticket is known here
    for n, ticket in enumerate(reversed(asked[:3]), start=1):
        client.tell(ticket, n)
    client.tell("A", 9.0, item="new")
    told = [(r.arm, r.item, r.ticket is None) for r in study.told]
    assert told == [*((a, i, False) for a, i in reversed(pairs)), ("A", "new", True)]
    with pytest.raises(ServerError, match="is for item '1', not '2'"):
        client.tell(asked[0], 1.0, item="2")
    arm, item = (ticket := client.ask()).arm, ticket.item
    client.cancel(arm, item=item)
    again = client.ask()
    assert (again.arm, again.item) == (arm, item)
    assert again != ticket  # another ask
    with served.visitor("recorder") as browser:
        assert f"<bdi>{item}</bdi>" in browser.get("/studies/shared/enter").text
