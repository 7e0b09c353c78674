"""The application: routes, errors as sentences, and what is begun and ended with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from psips.errors import InputError
from psips.store import StoreError
from psips.store.database import DatabaseStore
from psips.store.tokens import Tokens
from psips.version import __version__
from psips.web import api, entering, files, forms, making, pages, uploads
from psips.web.authentication import Authenticator
from psips.web.connections import HEALTH
from psips.web.guard import OPEN, Guard
from psips.web.problems import BAD_INPUT, MALFORMED, NOT_FOUND, code_of, problem_data
from psips.web.rendering import ReadingError, error_page, render
from psips.web.study_cache import StudyCache

HEALTH_TIME = 5.0  # seconds that the store may take to say that it is there
THREADS = 64  # requests that are worked on at once; others wait
HERE = Path(__file__).parent
LOG = logging.getLogger("psips.web")


def make_app(store: DatabaseStore, api_docs: str = OPEN) -> Guard:
    """Return the application that serves a store.

    Parameters
    ----------
    store : DatabaseStore
    api_docs : "open", "token" or "off"
        Who may read how the JSON interface is used.
    """
    authenticator = Authenticator(Tokens(store))
    cache = StudyCache(store)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        await asyncio.to_thread(cache.warm)
        yield
        cache.close()

    app = FastAPI(
        title="psips",
        version=__version__,
        description="Studies over HTTP: ask what to measure, tell results, be told the stop.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        lifespan=life,
    )
    app.state.cache, app.state.authenticator = cache, authenticator
    app.include_router(api.router)
    for part in (forms, entering, uploads, making, files, pages):
        app.include_router(part.router)
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    app.add_exception_handler(InputError, _bad_input)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ClientDisconnect, _left)
    app.add_exception_handler(ReadingError, _reading)
    app.add_exception_handler(Exception, _broken)

    health = Health(store)

    @app.get(HEALTH, include_in_schema=False)
    async def healthz() -> Response:
        """Say whether the store can be read."""
        await health.check()
        return JSONResponse({"ok": True})

    return Guard(app, authenticator, api_docs)  # around all of it, failures included


class Health:
    """Whether the store can be read: asked in a thread of its own, which no request holds up.

    Requests at the same time share an answer.
    """

    def __init__(self, store: DatabaseStore) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="psips-health")
        self._asked: Future[list[str]] | None = None

    async def check(self) -> None:
        """Raise `StoreError` if the store cannot be read within some seconds."""
        if self._asked is None or self._asked.done():
            self._asked = self._thread.submit(self._store.studies)
        done, _ = await asyncio.wait([asyncio.wrap_future(self._asked)], timeout=HEALTH_TIME)
        if not done:
            raise StoreError(f"the store has not answered for {HEALTH_TIME:g} seconds")
        done.pop().result()


def for_programs(request: Request) -> bool:
    """Return whether a program asks, or the script of a page."""
    scripts = ("/changes", "/charts.json", "/time-series.json")
    return request.url.path.startswith(("/api/", "/healthz")) or request.url.path.endswith(
        scripts
    )


def answer(request: Request, data: dict[str, Any]) -> Response:
    """Answer with what is wrong: data for programs, a page for people."""
    if for_programs(request):
        headers = {"www-authenticate": "Bearer"} if data["status"] == 401 else None
        return JSONResponse(
            data, data["status"], headers, media_type="application/problem+json"
        )
    return error_page(request, data)


async def _bad_input(request: Request, error: Exception) -> Response:
    assert isinstance(error, InputError)
    if code_of(error) >= 500:
        LOG.error("%s", str(error)[:1000])
    return answer(request, problem_data(error))


async def _invalid(request: Request, error: Exception) -> Response:
    """Say what is wrong with a request before anything was looked up."""
    assert isinstance(error, RequestValidationError)
    problems: list[dict[str, Any]] = []
    code = BAD_INPUT
    for one in error.errors()[:100]:
        place = ".".join(str(part) for part in one["loc"] if part != "body")
        if one["type"] == "json_invalid":
            code, place = MALFORMED, ""
        said = one.get("ctx", {}).get("error") if one["type"] == "json_invalid" else None
        message = f"{place}: {one['msg']}" if place else str(said or one["msg"])
        problems.append({"message": message[:300], "line": None, "field": place[:100] or None})
    detail = problems[0]["message"] if problems else "the request cannot be read"
    data = {"status": code, "exit_code": 2, "detail": detail, "problems": problems}
    return answer(request, data)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {
        NOT_FOUND: "there is nothing at this address",
        405: "this address does not take requests of this kind",
        MALFORMED: "the request cannot be read",
    }
    detail = sentences.get(error.status_code, str(error.detail))
    problems = [{"message": detail, "line": None, "field": None}]
    data = {"status": error.status_code, "exit_code": 2, "detail": detail}
    return answer(request, {**data, "problems": problems})


async def _left(request: Request, _: Exception) -> Response:
    """Take note of a client that left before its request had arrived: no one reads this."""
    return await _http(request, HTTPException(MALFORMED))


def _reading(request: Request, _: Exception) -> Response:
    """Show that a study is being read, on any of its pages; programs are told to come again."""
    if for_programs(request):
        return answer(request, problem_data(StoreError("the log of this study is being read")))
    authenticator: Authenticator = request.app.state.authenticator
    return render(request, "reading.html", person=authenticator.by_cookie(request))


async def _broken(request: Request, error: Exception) -> Response:
    """Hide what is no one's fault but ours from the client, and log it."""
    LOG.error("a request failed", exc_info=error)
    detail = "the server failed, and its own log says why: look at the study's log before "
    detail += "you repeat the request"
    problems = [{"message": detail, "line": None, "field": None}]
    data = {"status": 500, "exit_code": 1, "detail": detail, "problems": problems}
    return answer(request, data)
