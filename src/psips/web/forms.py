"""Forms that people send: sign-in, changes of what was entered, the end of a study."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import UploadFile

from psips.errors import InputError, quote
from psips.input.quantities import parse_number
from psips.study import Study
from psips.study.people import read_key
from psips.web.api import find_study
from psips.web.authentication import (
    COOKIE,
    OWNER,
    RECORDER,
    VISIT,
    Authenticator,
    Person,
    check_form,
    new_visit,
    require,
)
from psips.web.guard import LARGEST_BODY
from psips.web.pages import show_result
from psips.web.problems import (
    BAD_INPUT,
    FORBIDDEN,
    MALFORMED,
    RefusedError,
    code_of,
)
from psips.web.rendering import clear_cookie, render, set_cookie, visitor
from psips.web.study_cache import CachedStudy

router = APIRouter(include_in_schema=False)

TO = re.compile(r"/studies/[A-Za-z0-9_~-]+(/[a-z]+)?|/new(/[a-z]+)?")


@dataclass(frozen=True)
class Posted:
    """What came with a form; by its key it is recorded once, however often it is sent."""

    key: str
    fields: dict[str, str]
    file: tuple[str, bytes] | None

    def __getitem__(self, name: str) -> str:
        """Return a field; nothing typed is an empty text."""
        return self.fields.get(name, "")


async def posted(request: Request) -> Posted:
    """Read a form, and see that a page of ours made it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        raise RefusedError(MALFORMED, "this is not a form")
    async with request.form(max_files=1, max_fields=200, max_part_size=LARGEST_BODY) as form:
        fields = {k: v for k, v in form.multi_items() if isinstance(v, str)}
        files = [v for _, v in form.multi_items() if isinstance(v, UploadFile)]
        file = (files[0].filename or "", await files[0].read()) if files else None
    await run_in_threadpool(check_form, request, fields.get("form_token", ""))
    return Posted(read_key(fields.get("key") or None), fields, file)


def recorder(person: Annotated[Person, Depends(visitor)]) -> Person:
    """Return who records."""
    return require(person, RECORDER)


def owner(person: Annotated[Person, Depends(visitor)]) -> Person:
    """Return who closes a study."""
    return require(person, OWNER)


def study_at(
    request: Request, study: str, _: Annotated[Person, Depends(visitor)]
) -> CachedStudy:
    """Return the study in the path."""
    return find_study(request.app.state.cache, study)


# Who comes before where, and that before what: parameters are looked up in their order.
Recorder = Annotated[Person, Depends(recorder)]
Owner = Annotated[Person, Depends(owner)]
At = Annotated[CachedStudy, Depends(study_at)]
Sent = Annotated[Posted, Depends(posted)]


@router.get("/sign-in")
def sign_in_page(request: Request, to: str = "") -> Response:
    """Ask for a token."""
    authenticator: Authenticator = request.app.state.authenticator
    if authenticator.by_cookie(request) is not None:
        return RedirectResponse("/", 303)
    return render(request, "sign_in.html", to=to[:500], error="")


@router.post("/sign-in")
def sign_in(request: Request, sent: Sent) -> Response:
    """Let someone in who has a token."""
    authenticator: Authenticator = request.app.state.authenticator
    try:
        secret = authenticator.sign_in(request, sent["token"][:200])
    except RefusedError as error:
        page = {"to": sent["to"][:500], "error": str(error)}
        return render(request, "sign_in.html", error.code, **page)
    to = sent["to"] if TO.fullmatch(sent["to"]) else "/"
    response = RedirectResponse(to, 303)
    set_cookie(request, response, COOKIE, secret)
    set_cookie(request, response, VISIT, new_visit())
    return response


@router.post("/sign-out")
def sign_out(request: Request, _: Sent) -> Response:
    """End a visit."""
    authenticator: Authenticator = request.app.state.authenticator
    secret = request.cookies.get(COOKIE)
    if secret and authenticator.tokens.needed():
        authenticator.tokens.sign_out(secret)
    response = RedirectResponse("/", 303)
    clear_cookie(request, response)
    return response


def done(study: str, opened: Study, sent: Posted, before: int, tab: str = "") -> Response:
    """Lead back to a tab of the study, which says what was recorded; 0 is nothing new."""
    found = opened.state.keys.get(sent.key)
    seq = found.seq if found is not None and found.seq > before else 0
    return RedirectResponse(f"/studies/{study}{tab}?done={seq}", 303)


@router.post("/studies/{study}/results/{number}/{change}")
def change_result(
    request: Request,
    study: str,
    number: int,
    change: str,
    who: Recorder,
    at: At,
    sent: Sent,
) -> Response:
    """Correct, withdraw or confirm a result, with a reason."""
    errors: dict[str, str] = {}
    with at.study(who.name) as opened:
        objectives = opened.problem.objectives
        before = opened.state.seq
        values = {
            o: read_field(
                errors,
                f"value-{c}",
                lambda o=o, c=c: parse_number(  # type: ignore[misc]
                    f"the value of {quote(o)}", sent[f"value-{c}"].strip()
                ),
            )
            for c, o in enumerate(objectives)
            if change == "correct"
        }
        order: dict[str, Any] = {
            "result": number,
            "reason": sent["reason"].strip(),
            "key": sent.key,
        }
        if not errors:
            try:
                if change == "correct":
                    opened.correct(values, **order)
                elif change == "withdraw":
                    opened.withdraw(**order)
                elif change == "confirm":
                    opened.confirm(**order)
                else:
                    raise RefusedError(MALFORMED, "choose to correct, withdraw or confirm")
                return done(study, opened, sent, before, f"/results/{number}")
            except RefusedError:
                raise
            except InputError as error:
                if code_of(error) >= 500:
                    raise
                errors = {"reason": str(error)}
    return show_result(
        request, at, who, number, BAD_INPUT, given=sent.fields, errors=errors, form=change
    )


@router.post("/studies/{study}/events/{number}/confirm")
def confirm_event(study: str, number: int, who: Recorder, at: At, sent: Sent) -> Response:
    """Confirm a change that another person has recorded."""
    with at.study(who.name) as opened:
        before = opened.state.seq
        opened.confirm(event=number, reason=sent["reason"].strip(), key=sent.key)
        return done(study, opened, sent, before)


@router.post("/studies/{study}/close")
def close(study: str, who: Owner, at: At, sent: Sent) -> Response:
    """End a study."""
    if sent["name"] != at.name:
        raise RefusedError(
            FORBIDDEN, "the study was not closed: type its name exactly to close it"
        )
    with at.study(who.name) as opened:
        before = opened.state.seq
        opened.close(sent["reason"].strip(), key=sent.key)
        return done(study, opened, sent, before)


def read_field(errors: dict[str, str], field: str, read: Callable[[], Any]) -> Any:
    """Read a field; what is wrong with it is noted."""
    try:
        return read()
    except InputError as error:
        errors[field] = str(error)
        return None
