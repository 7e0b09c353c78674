"""Pages filled in: templates, what all of them know, and who is visiting."""

from __future__ import annotations

import secrets
from concurrent.futures import TimeoutError as SlowError
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.responses import RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from psips.input.digits import chance, estimate, interval, percent, rounded
from psips.session.estimated import spread
from psips.version import __version__
from psips.web import text
from psips.web.addresses import slug
from psips.web.api import find_study
from psips.web.authentication import (
    COOKIE,
    OWNER,
    RECORDER,
    VISIT,
    Authenticator,
    Person,
    form_token,
    new_visit,
)
from psips.web.plotly_script import PLOTLY
from psips.web.problems import NOT_SIGNED_IN, RefusedError, without_place
from psips.web.study_cache import CachedStudy

PAGE_WAIT = 1.0  # seconds that a page waits for a study that is being read

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.globals.update(zip=zip, plotly=PLOTLY)
TEMPLATES.filters.update(
    estimate=lambda pair: estimate(pair[0], pair[1], none="not measured"),
    interval=lambda three: interval(*three),
    chance=chance,
    percent=percent,
    spread=spread,
    moment=text.moment,
    slug=slug,
    without_place=without_place,
    of=text.of,
    typed=lambda value: "" if value is None else repr(value).removesuffix(".0"),
    rough=lambda value: rounded(value, value / 3.0),
)


def render(request: Request, page: str, code: int = 200, **given: Any) -> Response:
    """Fill in a page; its forms are tied to this browser."""
    visit = request.cookies.get(VISIT) or new_visit()
    person = given.setdefault("person", None)
    given |= {
        "form_token": form_token(request, visit),
        "key": secrets.token_hex(8),
        "version": __version__,
        "may_record": person is not None and person.may(RECORDER),
        "may_own": person is not None and person.may(OWNER),
    }
    response = Response(
        TEMPLATES.get_template(page).render(**given), code, media_type="text/html"
    )
    if VISIT not in request.cookies:
        set_cookie(request, response, VISIT, visit)
    return response


def set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Set a cookie that scripts cannot read and other sites do not send."""
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, httponly=True, samesite="lax", secure=secure, path="/")


def clear_cookie(request: Request, response: Response) -> None:
    """Forget who signed in."""
    secure = request.url.scheme == "https"
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax", secure=secure)


def error_page(request: Request, data: dict[str, Any]) -> Response:
    """Say what is wrong on a page; whoever has to sign in first is led there."""
    if data["status"] == NOT_SIGNED_IN and request.method == "GET":
        return RedirectResponse(f"/sign-in?to={request.url.path}", 303)
    return render(request, "error.html", data["status"], data=data)


def visitor(request: Request) -> Person:
    """Return who is visiting."""
    authenticator: Authenticator = request.app.state.authenticator
    person = authenticator.by_cookie(request)
    if person is None:
        raise RefusedError(NOT_SIGNED_IN, "sign in first")
    return person


class ReadingError(Exception):
    """The log of a study is still being read."""


def cached_study(request: Request, study: str) -> CachedStudy:
    """Return the study in the path; `ReadingError` if it is not ready soon."""
    try:
        return find_study(request.app.state.cache, study, PAGE_WAIT)
    except SlowError:
        raise ReadingError from None


Visitor = Annotated[Person, Depends(visitor)]
Number = Annotated[int, Query(ge=0, le=2**31)]
