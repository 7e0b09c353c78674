"""Attacks: each is refused with the right code, and the store is unchanged, byte for byte."""

from __future__ import annotations

import io
import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import httpx
import pytest

import hostile_files
from psips.errors import InputError
from psips.store import open_store
from psips.store.tokens import Tokens
from psips.web import uploads
from psips.web.addresses import slug
from psips.web.server import check_proxies
from psips.web.study_cache import StudyCache
from web.conftest import NAME, Served, form_token, running

PATH = f"/studies/{slug(NAME)}"
SQL = "x'; DROP TABLE events; --"
GOOD = {"arm": "A", "values": [1.0, 2.0]}


def api(role: str | None, word: str, body: object, code: int, **more: object) -> Callable:
    """An attack by a request to the JSON interface."""

    def attack(served: Served) -> tuple[int, int]:
        with served.caller(role) as http:
            answer = http.post(f"{served.api}/{word}", json=body, **more)  # type: ignore[arg-type]
        assert answer.json()["detail"]
        return answer.status_code, code

    return attack


def raw(method: str, path: str, code: int, role: str = "owner", **more: object) -> Callable:
    """An attack by any request."""

    def attack(served: Served) -> tuple[int, int]:
        with served.caller(role) as http:
            request = http.build_request(method, f"{served.url}/", **more)  # type: ignore[arg-type]
            request.url = request.url.copy_with(raw_path=path.encode("latin-1"))
            return http.send(request).status_code, code

    return attack


def form(role: str | None, path: str, fields: dict, code: int, **more: object) -> Callable:
    """An attack by a form, with the right token of the form unless fields has another."""

    def attack(served: Served) -> tuple[int, int]:
        with served.visitor(role) as browser:
            page = browser.get(PATH if role else "/sign-in").text
            data = {"form_token": form_token(page), **fields}
            answer = browser.post(path, data=data, **more)  # type: ignore[arg-type]
            return answer.status_code, code

    return attack


def with_token(make: Callable[[Tokens], str], code: int = 401) -> Callable:
    """An attack with a token that was made in some way."""

    def attack(served: Served) -> tuple[int, int]:
        with open_store(served.store) as store:
            secret = make(Tokens(store))
        before = served.dump()
        with httpx.Client(headers={"authorization": f"Bearer {secret}"}) as http:
            answer = http.post(f"{served.api}/tell", json=GOOD)
        assert served.dump() == before
        return answer.status_code, code

    return attack


def expired(tokens: Tokens) -> str:
    return tokens.add("late", "owner", days=1, at=datetime.now(UTC) - timedelta(days=2))


def revoked(tokens: Tokens) -> str:
    secret = tokens.add("gone", "owner")
    tokens.revoke("gone")
    return secret


def hash_for_token(tokens: Tokens) -> str:
    """Who has read the database has the hash, which is no token."""
    return tokens.every()[-1].hash


def cookie(name: str, value: str, code: int) -> Callable:
    def attack(served: Served) -> tuple[int, int]:
        with httpx.Client(cookies={name: value}) as http:
            answer = http.get(served.page)
        assert answer.headers["location"].startswith("/sign-in")
        return answer.status_code, code

    return attack


def cookie_of_the_revoked(served: Served) -> tuple[int, int]:
    with open_store(served.store) as store:
        secret = Tokens(store).add("short", "owner")
    served.tokens["short"] = secret
    with served.visitor("short") as browser:
        assert browser.get(PATH).status_code == 200
        with open_store(served.store) as store:
            Tokens(store).revoke("short")
        return browser.get(PATH).status_code, 303


def signed_out(served: Served) -> tuple[int, int]:
    with served.visitor("owner") as browser:
        kept = dict(browser.cookies)
        browser.post("/sign-out", data={"form_token": form_token(browser.get(PATH).text)})
        with httpx.Client(cookies=kept) as again:
            return again.get(served.page).status_code, 303


def form_of_another_browser(served: Served) -> tuple[int, int]:
    with served.visitor("owner") as mine, served.visitor("recorder") as other:
        token = form_token(mine.get(PATH).text)
        return other.post(f"{PATH}/ask", data={"n": "1", "form_token": token}).status_code, 403


def no_cookie_at_all(served: Served) -> tuple[int, int]:
    """The token of an empty cookie can be computed by anyone."""
    import hashlib
    import hmac

    token = hmac.new(b"", b"psips form", hashlib.sha256).hexdigest()
    data = {"token": "x", "form_token": token}
    with httpx.Client() as http:
        return http.post(f"{served.url}/sign-in", data=data).status_code, 403


def guessing(served: Served) -> tuple[int, int]:
    with served.visitor() as browser:
        token = form_token(browser.get("/sign-in").text)
        for i in range(10):
            sent = {"token": f"psips_{i}", "form_token": token}
            assert browser.post("/sign-in", data=sent).status_code == 403
        sent = {"token": "psips_10", "form_token": token}
        return browser.post("/sign-in", data=sent).status_code, 429


def replayed(served: Served) -> tuple[int, int]:
    """A request heard on the way and sent again records nothing; another one is refused."""
    with served.caller("recorder") as http:
        order = {**GOOD, "key": "once"}
        assert http.post(f"{served.api}/tell", json=order).json()["results"] == [1]
        before = served.dump()
        assert http.post(f"{served.api}/tell", json=order).json()["results"] == [1]
        assert served.dump() == before
        other = {**order, "values": [9.0, 9.0]}
        code = http.post(f"{served.api}/tell", json=other).status_code
        assert served.dump() == before
        return code, 409


def replayed_form(served: Served) -> tuple[int, int]:
    with served.visitor("recorder") as browser:
        token = form_token(browser.get(PATH).text)
        sent = {"arm": "A", "value-0": "1", "value-1": "2", "key": "f", "form_token": token}
        assert browser.post(f"{PATH}/tell", data=sent).status_code == 303
        before = served.dump()
        again = browser.post(f"{PATH}/tell", data=sent)
        assert served.dump() == before
        assert again.headers["location"].endswith("done=0")
        return again.status_code, 303


def endless_body(served: Served) -> tuple[int, int]:
    """No length is given, and the body does not end."""

    def chunks():
        for _ in range(200):
            yield b" " * 65536

    with served.caller("recorder") as http:
        kind = {"content-type": "application/json"}
        answer = http.post(f"{served.api}/tell", content=chunks(), headers=kind)
        return answer.status_code, 413


def slow(head: bytes, drip: bytes) -> Callable:
    """A client that sends byte by byte."""

    def attack(served: Served) -> tuple[int, int]:
        port = int(served.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(head.replace(b"TOKEN", served.tokens["owner"].encode()))
            connection.settimeout(0.2)
            got, until = b"", time.monotonic() + 10
            while time.monotonic() < until:
                try:
                    connection.sendall(drip)
                    part = connection.recv(4096)
                    got += part
                    if not part or b"408" in got:
                        break
                except TimeoutError:
                    continue
                except OSError:
                    break
            assert time.monotonic() < until, "the server waited"
        return int(got.split()[1]) if got else 0, 408 if got else 0

    return attack


def bomb(served: Served) -> tuple[int, int]:
    with served.caller("recorder") as http:
        text = "[" * 100_000 + "]" * 100_000
        answer = http.post(
            f"{served.api}/tell",
            content=f'{{"arm": "A", "values": {text}}}',
            headers={"content-type": "application/json"},
        )
        return answer.status_code, 400


def wrong_upload(name: str, data: bytes, code: int) -> Callable:
    def attack(served: Served) -> tuple[int, int]:
        with served.visitor("recorder") as browser:
            token = form_token(browser.get(PATH).text)
            answer = browser.post(
                f"{PATH}/upload",
                data={"form_token": token},
                files={"file": (name, io.BytesIO(data))},
            )
            assert "/etc/" not in answer.text
            return answer.status_code, code

    return attack


ATTACKS: dict[str, Callable] = {
    # who
    "no token": api(None, "tell", GOOD, 401),
    "a token that was never made": with_token(lambda _: "psips_" + "A" * 43),
    "an expired token": with_token(expired),
    "a revoked token": with_token(revoked),
    "the hash instead of the token": with_token(hash_for_token),
    "a token in the address": raw("GET", "/api/v1/studies?token=psips_x", 401, "nobody"),
    "a viewer tells": api("viewer", "tell", GOOD, 403),
    "a viewer asks": api("viewer", "ask", {}, 403),
    "a viewer corrects": api("viewer", "correct", {"result": 1, "values": [1, 2]}, 403),
    "a recorder closes": api("recorder", "close", {}, 403),
    "a viewer sends a form": form("viewer", f"{PATH}/ask", {"n": "1"}, 403),
    "a recorder closes by form": form("recorder", f"{PATH}/close", {"name": NAME}, 403),
    "a name of one's own": api("recorder", "tell", {**GOOD, "user": "owner one"}, 422),
    # cookies and forms
    "a forged cookie": cookie("psips", "A" * 43, 303),
    "a cookie with SQL": cookie("psips", "' OR 1=1 --", 303),
    "the cookie of a revoked token": cookie_of_the_revoked,
    "the cookie of one who signed out": signed_out,
    "a form without its token": form("owner", f"{PATH}/ask", {"n": "1", "form_token": ""}, 403),
    "the form of another browser": form_of_another_browser,
    "the token of no cookie": no_cookie_at_all,
    "a form of another site": form(
        "owner", f"{PATH}/ask", {"n": "1"}, 403, headers={"origin": "http://evil.example"}
    ),
    "a page without an origin": form(
        "owner", f"{PATH}/ask", {"n": "1"}, 403, headers={"origin": "null"}
    ),
    "JSON as plain text": api(
        "owner", "tell", None, 415, headers={"content-type": "text/plain"}
    ),
    "guessing tokens": guessing,
    "leading astray after signing in": form(
        None, "/sign-in", {"token": "x", "to": "//evil.example"}, 403
    ),
    # addresses
    "dots in the address": raw("GET", "/static/../../app.py", 404),
    "encoded dots": raw("GET", "/static/%2e%2e/app.py", 404),
    "double encoded dots": raw("GET", "/static/%252e%252e/app.py", 404),
    "a NUL in a name": raw("GET", "/api/v1/studies/a%00b", 404),
    "a slash in a name": raw("GET", "/api/v1/studies/..%2f..%2fetc", 404),
    "bytes that are no UTF-8": raw("GET", "/api/v1/studies/~FF~FE", 404),
    "an unknown method": raw("DELETE", f"/studies/{slug(NAME)}", 405),
    # bodies
    "a list for an object": api("recorder", "tell", [], 422),
    "broken JSON": raw(
        "POST",
        f"/api/v1/studies/{slug(NAME)}/tell",
        400,
        content=b'{"arm": ',
        headers={"content-type": "application/json"},
    ),
    "JSON of a hundred thousand brackets": bomb,
    "a body of five megabytes": api("recorder", "tell", {"reason": "x" * 5_000_000}, 413),
    "a body without an end": endless_body,
    "a number of five thousand digits": raw(
        "POST",
        f"/api/v1/studies/{slug(NAME)}/tell",
        400,
        content=b'{"arm": "A", "values": [' + b"9" * 5000 + b", 1]}",
        headers={"content-type": "application/json"},
    ),
    "not a number": raw(
        "POST",
        f"/api/v1/studies/{slug(NAME)}/tell",
        400,
        content=b'{"arm": "A", "values": [NaN, 1]}',
        headers={"content-type": "application/json"},
    ),
    "a number in which no noise is left": api(
        "recorder", "tell", {"arm": "A", "values": [1e25, 1]}, 422
    ),
    "too many rows": api("recorder", "tell-many", {"rows": [GOOD] * 10_001}, 422),
    "too many tickets": api("recorder", "ask", {"n": 10_001}, 422),
    "a negative number of tickets": api("recorder", "ask", {"n": -1}, 422),
    "a key of a thousand letters": api("recorder", "ask", {"key": "k" * 1000}, 422),
    "a lone surrogate in a reason": raw(
        "POST",
        f"/api/v1/studies/{slug(NAME)}/withdraw",
        422,
        content=b'{"result": 1, "reason": "\\ud800"}',
        headers={"content-type": "application/json"},
    ),
    # SQL, in every field
    "SQL as the study": raw("GET", f"/api/v1/studies/{slug(SQL)}", 404),
    "SQL as the arm": api("recorder", "tell", {"arm": SQL, "values": [1, 2]}, 422),
    "SQL as the ticket": api("recorder", "tell", {"ticket": SQL, "values": [1, 2]}, 422),
    "SQL as a value": api("recorder", "tell", {"arm": "A", "values": [SQL, 2]}, 422),
    "SQL as an objective": api("recorder", "tell", {"arm": "A", "values": {SQL: 1}}, 422),
    "SQL as the number": api("recorder", "withdraw", {"result": SQL}, 422),
    "SQL as the count": api("recorder", "ask", {"n": SQL}, 422),
    "SQL as tickets": api("recorder", "cancel", {"tickets": [SQL]}, 422),
    "SQL in the query": raw("GET", f"/api/v1/studies/{slug(NAME)}/log?after=1%20OR%201=1", 422),
    "SQL as the token": with_token(lambda _: SQL),
    "SQL in a form": form(
        "recorder", f"{PATH}/tell", {"arm": SQL, "value-0": SQL, "value-1": "2"}, 422
    ),
    "SQL as an objective to draw": raw("GET", f"{PATH}?x={slug(SQL)}", 303),
    # files
    "a file that climbs": wrong_upload("../../etc/passwd", b"arm\nA\n", 422),
    "a file of bytes": wrong_upload("a.csv", bytes(range(256)) * 10, 422),
    "a file that is too large": wrong_upload("a.csv", b"a" * 3_000_000, 422),
    "an empty file": wrong_upload("a.csv", b"", 422),
    "a file that is none": form("recorder", f"{PATH}/upload/confirm", {"data": "%%"}, 400),
    # time
    "a request again": replayed,
    "a form again": replayed_form,
    "a head, byte by byte": slow(b"GET / HTTP/1.1\r\n", b"x"),
    "a body, byte by byte": slow(
        b"POST /api/v1/studies/trial~201/tell HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        b"Authorization: Bearer TOKEN\r\nContent-Type: application/json\r\n"
        b"Content-Length: 1000\r\n\r\n",
        b" ",
    ),
}
SLOW = {"a head, byte by byte", "a body, byte by byte"}
RECORD = {"a request again", "a form again"}  # once, and look at the store themselves
MAKE_TOKENS = {"an expired token", "a revoked token", "the cookie of a revoked token"}


@pytest.mark.parametrize("name", ATTACKS)
def test_attack(served: Served, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in SLOW:
        monkeypatch.setattr("psips.web.guard.BODY_TIME", 2.0)
        monkeypatch.setattr("psips.web.connections.HEAD_TIME", 2.0)
    served.tokens["nobody"] = "psips_x"
    before, events = served.dump(), served.events()
    code, expected = ATTACKS[name](served)
    assert code == expected
    if name not in RECORD:
        assert served.events() == events
    if name not in RECORD | MAKE_TOKENS:
        assert served.dump() == before


def test_there_are_thirty() -> None:
    assert len(ATTACKS) >= 30


# Without tokens


def test_only_this_machine_without_tokens(alone: Served) -> None:
    before = alone.dump()
    for headers in (
        {"host": "evil.example"},  # a name that its owner lets point at 127.0.0.1
        {"host": "127.0.0.1.evil.example"},
        {"host": "127.0.0.1:evil.example"},
        {"host": "127.0.0.1:80@evil.example"},
        {"host": "127.0.0.1:99999"},
        {"host": "127.0.0.1:"},
        {"host": "[::1]evil.example"},
        {"host": "[::1"},
        {"host": "localhost,evil.example"},
        {"host": "localhost."},
        {"x-forwarded-for": "203.0.113.9"},
    ):
        with httpx.Client(headers=headers) as http:
            answer = http.post(f"{alone.api}/tell", json=GOOD)
            assert answer.status_code == 403
            assert "psips serve token add" in answer.json()["detail"]
    assert alone.dump() == before
    with httpx.Client() as http:
        assert http.post(f"{alone.api}/tell", json=GOOD).status_code == 200
    assert alone.events()[-1].payload["by"]["program"].endswith("serve")


def test_forms_are_guarded_without_tokens(alone: Served) -> None:
    before = alone.dump()
    with httpx.Client() as http:
        assert http.post(f"{alone.page}/ask", data={"n": "1"}).status_code == 403
    assert alone.dump() == before


def test_the_first_token_shuts_the_door(alone: Served) -> None:
    with httpx.Client() as http:
        assert http.get(alone.api).status_code == 200
        with open_store(alone.store) as store:
            tokens = Tokens(store)
            tokens.add("ann", "owner")
            assert http.get(alone.api).status_code == 401
            tokens.revoke("ann")
        assert http.get(alone.api).status_code == 401  # it does not open again


# Cookies, headers, the log


def test_cookies_and_headers(served: Served) -> None:
    with served.visitor() as browser:
        token = form_token(browser.get("/sign-in").text)
        sent = {"token": served.tokens["owner"], "form_token": token}
        answer = browser.post("/sign-in", data=sent)
    cookies = answer.headers.get_list("set-cookie")
    assert len(cookies) == 2
    for one in cookies:
        assert "HttpOnly" in one
        assert "SameSite=lax" in one
        assert "Secure" not in one  # this is not TLS
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "server" not in answer.headers


@pytest.mark.parametrize("file", ["", "/report.html", "/pulls.svg", "/results.csv"])
def test_every_answer_has_a_policy(served: Served, file: str) -> None:
    with served.visitor("owner") as browser:
        policy = browser.get(f"{PATH}{file}").headers["content-security-policy"]
    for part in ("default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"):
        assert part in policy


def test_secure_behind_tls(served: Served) -> None:
    proxied = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"}
    with (
        running(served.store, proxies=["127.0.0.1"]) as where,
        httpx.Client(base_url=where, headers=proxied) as browser,
    ):
        page = browser.get("/sign-in")
    assert "Secure" in page.headers["set-cookie"]
    assert "strict-transport-security" in page.headers


def test_the_log_has_no_secrets(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    import logging

    with caplog.at_level(logging.INFO, "psips.web"):
        with served.caller("owner") as http:
            http.get(served.api, params={"token": "hidden-thing"})
        with served.visitor("owner") as browser:
            browser.get(PATH)
            cookie = browser.cookies["psips"]
    text = caplog.text
    assert f"GET /api/v1/studies/{slug(NAME)} 200" in text
    assert "'owner one'" in text
    for secret in (served.tokens["owner"], "hidden-thing", cookie):
        assert secret not in text


def test_no_password_of_a_database_anywhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    from psips.cli import main

    monkeypatch.setattr(
        sys, "argv", ["psips", "serve", "--store", "postgresql://ann:s3cret@127.0.0.1:1/none"]
    )
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    said = capsys.readouterr()
    assert "s3cret" not in said.out + said.err
    assert "127.0.0.1:1/none" in said.err


def test_errors_are_data_with_everything_in_them(served: Served) -> None:
    with served.caller("viewer") as http:
        data = http.post(f"{served.api}/ask", json={}).json()
    assert set(data) == {"status", "exit_code", "detail", "problems"}
    assert json.loads(json.dumps(data)) == data


# Uploads


def test_no_request_waits_for_a_file_that_is_being_read(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a file is read, others tell results of the same study."""
    reading, told = threading.Event(), threading.Event()
    real = uploads.read_delivery

    def slowly(*given: object) -> object:
        reading.set()
        assert told.wait(30)
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(uploads, "read_delivery", slowly)
    with served.visitor("recorder") as browser, ThreadPoolExecutor(1) as beside:
        data = {"form_token": form_token(browser.get(PATH).text)}
        files = {"file": ("r.csv", b"arm,efficacy,toxicity\nA,1,2\n")}
        shown = beside.submit(browser.post, f"{PATH}/upload", data=data, files=files)
        try:
            assert reading.wait(10)
            with served.caller("recorder") as http:
                for _ in range(8):
                    answer = http.post(f"{served.api}/tell", json=GOOD, timeout=5)
                    assert answer.status_code == 200
        finally:
            told.set()
        assert "1 new measurement" in shown.result().text


@pytest.mark.parametrize(
    ("make", "code"),
    [
        ("empty_cell_in_the_last_row", 200),
        ("sheet_of_300_megabytes", 422),
        ("styles_without_end", 422),
        ("parquet_of_50_million_rows", 422),
        ("parquet_of_one_long_text", 422),
    ],
)
def test_files_that_unpack_to_large_ones(served: Served, make: str, code: int) -> None:
    data = getattr(hostile_files, make)()
    with served.visitor("recorder") as browser, ThreadPoolExecutor(1) as beside:
        sent = {"form_token": form_token(browser.get(PATH).text)}
        files = {"file": ("r.x", data)}
        shown = beside.submit(browser.post, f"{PATH}/upload", data=sent, files=files)
        with served.caller("recorder") as http:
            for _ in range(8):
                answer = http.post(f"{served.api}/tell", json=GOOD, timeout=5)
                assert answer.status_code == 200
        answer = shown.result()
        assert answer.status_code == code
        assert ("2 new measurements" in answer.text) == (code == 200)


def test_a_file_of_too_many_rows(served: Served) -> None:
    text = "arm,efficacy,toxicity\n" + "A,1,2\n" * 10_001
    code, expected = wrong_upload("a.csv", text.encode(), 422)(served)
    assert code == expected


# Who asks comes before what is asked for


def test_what_exists_is_not_told_to_strangers(served: Served) -> None:
    missing = f"{served.url}/api/v1/studies/missing"
    with served.caller() as http:
        for path in ("", "/results", "/log", "/changes"):
            there, nowhere = http.get(f"{served.api}{path}"), http.get(f"{missing}{path}")
            assert there.status_code == nowhere.status_code == 401
            assert there.content == nowhere.content
            assert there.headers["www-authenticate"] == "Bearer"
        for body in (b"{}", b'{"arm": ', b""):
            kind = {"content-type": "application/json"}
            there = http.post(f"{served.api}/tell", content=body, headers=kind)
            nowhere = http.post(f"{missing}/tell", content=body, headers=kind)
            assert there.status_code == nowhere.status_code == 401
            assert there.content == nowhere.content
    with served.visitor() as browser:
        data = {"form_token": form_token(browser.get("/sign-in").text)}
        for study in (PATH, "/studies/missing"):
            assert browser.post(f"{study}/ask", data=data).status_code == 401
            to = browser.get(study).headers["location"]
            assert to == f"/sign-in?to={study}"


def test_strangers_do_not_wait_for_a_study(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a study is read, who may not reach it is told so at once."""
    release = threading.Event()
    real = StudyCache._open

    def slowly(self: StudyCache, name: str) -> object:
        assert release.wait(60)
        return real(self, name)

    monkeypatch.setattr(StudyCache, "_open", slowly)
    with open_store(url) as store:
        made = {"viewer": Tokens(store).add("v", "viewer")}
    with running(url) as where:
        try:
            served = Served(where, url, made)
            for role, code in ((None, 401), ("viewer", 403)):
                with served.caller(role) as http:
                    answer = http.post(f"{served.api}/tell", json=GOOD, timeout=5)
                    assert answer.status_code == code
                with served.visitor(role) as browser:
                    token = form_token(browser.get("/" if role else "/sign-in").text)
                    data = {"n": "1", "form_token": token}
                    answer = browser.post(f"{PATH}/ask", data=data, timeout=5)
                    assert answer.status_code == code
        finally:
            release.set()


# Wrong tokens


def tries(browser: httpx.Client, token: str, address: str = "") -> int:
    sent = {"token": token, "form_token": form_token(browser.get("/sign-in").text)}
    headers = {"x-forwarded-for": address} if address else {}
    return browser.post("/sign-in", data=sent, headers=headers).status_code


def test_wrong_tokens_lock_no_one_out(served: Served) -> None:
    with served.visitor() as browser:
        codes = [tries(browser, f"psips_{i}") for i in range(12)]
        assert codes == [403] * 10 + [429] * 2
        assert tries(browser, served.tokens["viewer"]) == 303


def test_wrong_tokens_of_programs_slow_down_wrong_ones(served: Served) -> None:
    """They count with those of the pages; a valid one, and none at all, is answered as ever."""

    def asks(http: httpx.Client, token: str) -> int:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return http.get(served.api, headers=headers).status_code

    with httpx.Client(timeout=30) as http, served.visitor() as browser:
        codes = [asks(http, f"psips_{i}") for i in range(12)]
        assert codes == [401] * 10 + [429] * 2
        assert asks(http, served.tokens["viewer"]) == 200
        assert asks(http, "") == 401
        assert tries(browser, "psips_12") == 429
        assert tries(browser, served.tokens["viewer"]) == 303
        answer = http.get(served.api, headers={"authorization": "Bearer psips_13"})
        assert "wait five minutes" in answer.json()["detail"]


def test_requests_without_a_token_are_no_tries(served: Served) -> None:
    with served.caller() as http, served.visitor() as browser:
        assert {http.get(served.api).status_code for _ in range(15)} == {401}
        basic = {"authorization": "Basic cHNpcHM6cHNpcHM="}
        assert {http.get(served.api, headers=basic).status_code for _ in range(15)} == {401}
        assert tries(browser, "psips_1") == 403


def test_wrong_tokens_of_many_addresses(served: Served) -> None:
    with (
        running(served.store, proxies=["127.0.0.1"]) as where,
        httpx.Client(base_url=where, timeout=30) as browser,
    ):
        for i in range(250):
            assert tries(browser, f"psips_{i}", f"203.0.113.{i}") == 403
        assert tries(browser, served.tokens["viewer"], "198.51.100.1") == 303


@pytest.mark.parametrize("proxies", [[], ["10.9.9.9", "10.8.0.0/16"]])
def test_only_our_proxies_are_believed(served: Served, proxies: list[str]) -> None:
    """Who says that others send their requests counts as who they are."""
    headers = {"x-forwarded-proto": "https"}
    with (
        running(served.store, proxies) as where,
        httpx.Client(base_url=where, headers=headers, timeout=30) as browser,
    ):
        assert "Secure" not in browser.get("/sign-in").headers["set-cookie"]
        codes = [tries(browser, f"psips_{i}", f"203.0.113.{i}") for i in range(11)]
        assert codes == [403] * 10 + [429]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("*", "must be an address like 10.0.0.5 or a network like 10.0.0.0/24, got '*'"),
        ("proxy.example", "got 'proxy.example'"),
        ("0.0.0.0/0", "would believe everybody"),
        ("::/0", "would believe everybody"),
    ],
)
def test_what_is_no_proxy(given: str, sentence: str) -> None:
    check_proxies(["127.0.0.1", "::1", "10.0.0.0/24"])
    with pytest.raises(InputError) as caught:
        check_proxies([given])
    assert sentence in str(caught.value)


# How the JSON interface is used


@pytest.mark.parametrize(
    ("chosen", "stranger", "known"),
    [("open", 200, 200), ("token", 401, 200), ("off", 404, 404)],
)
def test_the_interface_is_shown_to(
    served: Served, chosen: str, stranger: int, known: int
) -> None:
    with running(served.store, api_docs=chosen) as where:
        there = Served(where, served.store, served.tokens)
        for path in ("/api/v1/docs", "/api/v1/openapi.json"):
            with there.caller() as http:
                assert http.get(f"{where}{path}").status_code == stranger
            with there.caller("viewer") as http:
                assert http.get(f"{where}{path}").status_code == known
            with there.visitor("viewer") as browser:
                assert browser.get(path).status_code == known


def test_sign_in_takes_no_large_forms(served: Served) -> None:
    with served.visitor() as browser:
        token = form_token(browser.get("/sign-in").text)
        for size in (30_000, 300_000):  # and the answer can be read, though they still send
            data = {"token": "x" * size, "form_token": token}
            assert browser.post("/sign-in", data=data).status_code == 413
