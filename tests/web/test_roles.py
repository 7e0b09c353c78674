"""Every request that records, with every role and none: who may is in a table, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI

from psips.store import open_store
from psips.study import Study
from psips.web.addresses import slug
from psips.web.app import make_app
from web.conftest import NAME, ROLES, Served, form_token

API, PAGES = "/api/v1/studies/{study}", "/studies/{study}"
ANYONE, RECORDERS, OWNERS = (None, *ROLES), ("recorder", "owner"), ("owner",)
UNDONE = 12  # event of the recorder
CSV = b"arm,efficacy,toxicity\nA,1,2\n"

# Route: who may use it, and what is sent. Whoever may not must not change the study.
TABLE: dict[str, tuple[tuple[str | None, ...], Any]] = {
    f"{API}/ask": (RECORDERS, {}),
    f"{API}/tell": (RECORDERS, {"arm": "A", "values": [1.0, 2.0]}),
    f"{API}/tell-many": (
        RECORDERS,
        {"rows": [{"arm": "A", "efficacy": 1.0, "toxicity": 2.0}]},
    ),
    f"{API}/correct": (RECORDERS, {"result": 1, "values": [1.5, 2.0], "reason": "misread"}),
    f"{API}/withdraw": (RECORDERS, {"result": 1, "reason": "spilt"}),
    f"{API}/confirm": (RECORDERS, {"result": 9, "reason": "looked again"}),
    f"{API}/cancel": (RECORDERS, {"tickets": ["TICKET"]}),
    f"{API}/close": (OWNERS, {"reason": "done"}),
    f"{PAGES}/ask": (RECORDERS, {"n": "1"}),
    f"{PAGES}/tell": (RECORDERS, {"arm": "A", "value-0": "1", "value-1": "2"}),
    f"{PAGES}/upload": (RECORDERS, {"file": CSV}),
    f"{PAGES}/paste": (RECORDERS, {"text": "A\t1\t2"}),
    f"{PAGES}/upload/confirm": (
        RECORDERS,
        {"name": "r.csv", "data": "YXJtLGVmZmljYWN5LHRveGljaXR5CkEsMSwyCg=="},
    ),
    f"{PAGES}/results/{{number}}/{{change}}": (RECORDERS, {"reason": "spilt"}),
    f"{PAGES}/events/{{number}}/confirm": (RECORDERS, {"reason": "looked"}),
    f"{PAGES}/events/{{number}}/undo": (RECORDERS, {}),
    f"{PAGES}/cancel": (RECORDERS, {"ticket": "TICKET"}),
    f"{PAGES}/close": (OWNERS, {"name": NAME, "reason": "done"}),
    "/new/table": (OWNERS, {"file": CSV + b"A,2,3\nB,1,2\nB,2,1\n"}),
    "/new/form": (
        OWNERS,
        {"name": "new", "options": "A\nB", "metric-0": "x", "confidence": "90"},
    ),
    "/new/toml": (OWNERS, {"text": 'name = "new"\narms = 2\nobjectives = ["x"]'}),
    "/sign-in": (ANYONE, {}),
    "/sign-out": (ANYONE, {}),
}
LOOKS_ONLY = {
    f"{PAGES}/upload",
    f"{PAGES}/paste",
    "/new/table",
    "/sign-in",
    "/sign-out",
}  # they record nothing by themselves


def routes(app: FastAPI) -> set[str]:
    """Every address that takes anything but a question."""
    found = set()
    for route in leaves(app.routes):
        methods = set(getattr(route, "methods", None) or ())
        if methods - {"GET", "HEAD", "OPTIONS"}:
            found.add(route.path)
    return found


def leaves(given: Any) -> Iterator[Any]:
    """Routes, those of routers within routers included."""
    for route in given:
        inner = getattr(route, "original_router", None) or getattr(route, "router", None)
        if inner is not None:
            yield from leaves(inner.routes)
        elif hasattr(route, "path"):
            yield route


def test_every_route_is_in_the_table(url: str) -> None:
    with open_store(url) as store:
        assert routes(make_app(store)._app) == set(TABLE)


def prepare(served: Served) -> str:
    """Tell results, of which one is held and one waits; return a ticket."""
    with open_store(served.store) as store:
        study = Study.open(NAME, store)
        for _ in range(2):
            for arm, values in {"A": (5.0, 2.0), "B": (4.0, 1.0)}.items():
                study.tell(arm, values)
        for value in (5.1, 4.9, 5.05, 4.95):
            study.tell("A", (value, 2.0))
        receipt = study.tell("A", (500.0, 2.0))
        assert receipt.held == (9,)
        ticket = study.ask()
        # What the recorder has just entered is event UNDONE, which can be undone.
        other = Study.open(NAME, store, user="recorder one")
        other.tell("B", (4.0, 1.0))
        assert other.state.seq == UNDONE
        return ticket.id


def sender(served: Served, role: str | None, route: str, sent: Any) -> Callable[[], int]:
    path = route.replace("{study}", slug(NAME)).replace("{number}", "1")
    path = path.replace("{change}", "withdraw")
    path = path.replace("/events/1/undo", f"/events/{UNDONE}/undo")

    def send() -> int:
        if route.startswith("/api/"):
            with served.caller(role) as http:
                return http.post(f"{served.url}{path}", json=sent).status_code
        with served.visitor(role) as browser:
            page = browser.get("/" if role else "/sign-in").text
            fields = {"form_token": form_token(page), **sent}
            files = None
            if "file" in fields:
                files = {"file": ("r.csv", fields.pop("file"))}
            return browser.post(path, data=fields, files=files).status_code

    return send


@pytest.mark.filterwarnings("ignore::psips.study.outliers.FarValueWarning")
@pytest.mark.parametrize("route", TABLE)
def test_who_may(served: Served, route: str) -> None:
    ticket = prepare(served)
    allowed, sent = TABLE[route]
    sent = {
        k: ticket if v == "TICKET" else [ticket] if v == ["TICKET"] else v
        for k, v in sent.items()
    }
    before = served.dump()
    for role in (None, *ROLES):
        if role in allowed:
            continue
        code = sender(served, role, route, sent)()
        assert code == (401 if role is None else 403), role
        assert served.dump() == before, role
    if route in LOOKS_ONLY:
        return
    answer = sender(served, allowed[0], route, sent)()
    if route == f"{PAGES}/events/{{number}}/confirm":  # where nothing waits for two people
        assert answer == 422
        return
    assert answer in (200, 303)
    assert served.dump() != before  # so what the others were refused does something
