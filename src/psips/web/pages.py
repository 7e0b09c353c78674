"""Pages to look at: the list of studies, a study, its results, its log, and files to save."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import TimeoutError as SlowError
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from psips.errors import InputError, unknown
from psips.input.digits import chance, estimate, interval
from psips.input.escaping import as_json
from psips.session.estimated import spread
from psips.study import Study
from psips.study.exports import as_csv, as_data
from psips.version import __version__
from psips.web import charts, words
from psips.web.addresses import slug
from psips.web.api import find_desk, overview
from psips.web.desks import Desk, Desks
from psips.web.looks import Look
from psips.web.people import (
    COOKIE,
    OWNER,
    RECORDER,
    VISIT,
    Person,
    Porter,
    form_token,
    new_visit,
)
from psips.web.problems import NOT_FOUND, NOT_SIGNED_IN, RefusedError, without_place

router = APIRouter(include_in_schema=False)

PATIENCE = 1.0  # seconds that a page waits for a study that is being read
ROWS = 100  # answers that are listed unless all are asked for
PAGE = 100  # results or events of a page
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.globals["zip"] = zip
TEMPLATES.filters.update(
    estimate=lambda pair: estimate(pair[0], pair[1], none="not measured"),
    interval=lambda three: interval(*three),
    chance=chance,
    spread=spread,
    moment=words.moment,
    slug=slug,
    without_place=without_place,
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
        "may_close": person is not None and person.may(OWNER),
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


def error_page(request: Request, data: dict[str, Any]) -> Response:
    """Say what is wrong on a page; whoever has to sign in first is led there."""
    if data["status"] == NOT_SIGNED_IN and request.method == "GET":
        return RedirectResponse(f"/sign-in?to={request.url.path}", 303)
    return render(request, "error.html", data["status"], data=data)


def visitor(request: Request) -> Person:
    """Return who looks."""
    porter: Porter = request.app.state.porter
    person = porter.by_cookie(request)
    if person is None:
        raise RefusedError(NOT_SIGNED_IN, "sign in first")
    return person


def desk_of(request: Request, study: str) -> Desk:
    """Return the desk of the study in the path, if it is ready soon."""
    return find_desk(request.app.state.desks, study, PATIENCE)


Visitor = Annotated[Person, Depends(visitor)]
Number = Annotated[int, Query(ge=0, le=2**31)]


@router.get("/")
def studies(request: Request, person: Visitor) -> Response:
    """List the studies."""
    desks: Desks = request.app.state.desks
    return render(request, "studies.html", person=person, rows=overview(desks))


@router.get("/studies/{study}")
def study_page(
    request: Request,
    study: str,
    person: Visitor,
    x: str = "",
    y: str = "",
    hide: str = "",
    every: Annotated[str, Query(alias="all")] = "",
    ticket: str = "",
    done: Number | None = None,
) -> Response:
    """Show a study."""
    chosen = {"x": x, "y": y, "hide": hide, "all": every}
    try:
        desk = desk_of(request, study)
    except SlowError:
        return render(request, "reading.html", person=person)
    given = {"ticket": ticket[:200]}
    return show(request, desk, person, chosen=chosen, given=given, done=done)


def show(
    request: Request,
    desk: Desk,
    person: Person,
    code: int = 200,
    chosen: dict[str, str] | None = None,
    given: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
    form: str = "",
    done: int | None = None,
) -> Response:
    """Show a study, with what was given in a form and what is wrong with it.

    Parameters
    ----------
    request, desk, person : Request, Desk, Person
    code : int
        Of HTTP.
    chosen : dict
        Objectives to draw, and whether to hide what is dominated.
    given, errors : dict
        By field: what was typed, and what is wrong with it; "" for what is of no field.
    form : str
        Which form they belong to.
    done : int
        Number of the event that was just recorded; 0 if it was known already.
    """
    look = desk.look()
    chosen = chosen or {}
    x, y = _pair(look, chosen.get("x", ""), chosen.get("y", ""))
    hide = bool(chosen.get("hide"))
    answers = [a for a in look.answers if not (hide and a.mark == 3)]
    listed = answers
    if len(answers) > ROWS and not chosen.get("all"):
        listed = sorted(answers, key=lambda a: (a.mark, a.place))[:ROWS]
    said = next((entry for entry in look.log if entry.seq == done), None)
    return render(
        request,
        "study.html",
        code,
        person=person,
        look=look,
        name=desk.name,
        path=slug(desk.name),
        picture=Markup(charts.front(look, x, y, hide)),
        marks=sorted({(a.mark, a.label) for a in look.answers if a.measured}),
        x=x,
        y=y,
        hide=hide,
        answers=listed,
        unlisted=len(answers) - len(listed),
        given=given or {},
        errors=errors or {},
        form=form,
        done=done,
        said=said,
    )


def _pair(look: Look, x: str, y: str) -> tuple[int, int]:
    """Return which two objectives to draw."""
    names = list(look.problem.objectives)
    if len(names) == 1:
        return 0, 0
    for given in (x, y):
        if given and given not in names:
            raise unknown("objective", given, names)
    first = names.index(x) if x else 0
    second = names.index(y) if y else (1 if first == 0 else 0)
    if first == second:
        raise InputError("choose two different objectives to draw")
    return first, second


@router.get("/studies/{study}/changes")
def changes(request: Request, study: str, _: Visitor) -> Response:
    """Return the number of the last event, for pages that follow a study."""
    return JSONResponse({"event": desk_of(request, study).last()})


@router.get("/studies/{study}/results")
def results(request: Request, study: str, person: Visitor, before: Number = 0) -> Response:
    """Show results, the newest first."""
    desk = desk_of(request, study)
    with desk.study() as opened:
        every = opened.state.ledger.results
        last = min(before - 1, len(every)) if before else len(every)
        rows = every[max(0, last - PAGE) : last][::-1]
        return render(
            request,
            "results.html",
            person=person,
            name=desk.name,
            path=study,
            objectives=opened.problem.objectives,
            rows=rows,
            told=len(every),
        )


@router.get("/studies/{study}/results/{number}")
def result_page(request: Request, study: str, person: Visitor, number: int) -> Response:
    """Show one result, and the forms that change it."""
    return show_result(request, desk_of(request, study), person, number)


def show_result(
    request: Request,
    desk: Desk,
    person: Person,
    number: int,
    code: int = 200,
    given: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
    form: str = "",
) -> Response:
    """Show one result, with what was given in a form and what is wrong with it."""
    with desk.study() as opened:
        state = opened.state
        if not 1 <= number <= len(state.ledger.results):
            raise RefusedError(NOT_FOUND, f"there is no result number {number}")
        return render(
            request,
            "result.html",
            code,
            person=person,
            name=desk.name,
            path=slug(desk.name),
            objectives=opened.problem.objectives,
            result=state.ledger.result(number),
            reasons=state.conduct.reasons,
            two_people=state.conduct.two_people,
            closed=state.closed,
            given=given or {},
            errors=errors or {},
            form=form,
        )


@router.get("/studies/{study}/log")
def log(request: Request, study: str, person: Visitor, before: Number = 0) -> Response:
    """Show events, the newest first, with who recorded them."""
    desk = desk_of(request, study)
    last = before - 1 if before else desk.look().event
    with desk.study() as opened:
        events = opened.store.read(opened.name, max(0, last - PAGE), last)[::-1]
    entries = [words.entry(event) for event in events]
    return render(
        request, "log.html", person=person, name=desk.name, path=study, events=entries
    )


@router.get("/studies/{study}/{figure}.svg")
def picture(request: Request, study: str, figure: str, _: Visitor) -> Response:
    """Draw pulls or evidence over time."""
    drawn: dict[str, Callable[..., str]] = {
        "pulls": charts.pulls_picture,
        "evidence": charts.evidence_picture,
    }
    if figure not in drawn:
        raise RefusedError(NOT_FOUND, "there is no such figure")
    course = desk_of(request, study).course()
    policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    headers = {"content-security-policy": policy}
    return Response(drawn[figure](course), 200, headers, "image/svg+xml")


@router.get("/studies/{study}/results.csv")
def as_table(request: Request, study: str, _: Visitor) -> Response:
    """Return the results as `psips study export` writes them."""
    return _saved(request, study, "csv", "text/csv", as_csv)


@router.get("/studies/{study}/study.json")
def as_plain(request: Request, study: str, _: Visitor) -> Response:
    """Return design, tickets, results and log as `psips study export` writes them."""
    return _saved(request, study, "json", "application/json", lambda s: as_json(as_data(s)))


def _saved(
    request: Request, study: str, ending: str, kind: str, write: Callable[[Study], str]
) -> Response:
    desk = desk_of(request, study)
    with desk.study() as opened:
        text = write(opened)
    return Response(text.encode(errors="replace"), 200, _attachment(f"{study}.{ending}"), kind)


@router.get("/studies/{study}/report.html")
def report(request: Request, study: str, _: Visitor) -> Response:
    """Return the report, which replays the whole log."""
    from psips.report import report as write

    desk = desk_of(request, study)
    text = request.app.state.desks.report(desk.name, write)
    headers = {"content-security-policy": REPORT_POLICY}
    return Response(text, 200, headers, "text/html")


@router.get("/api/v1/docs")
def documentation(request: Request) -> Response:
    """Show what the JSON interface takes and gives."""
    return render(request, "api.html", schema=request.app.openapi())


def _attachment(name: str) -> dict[str, str]:
    """Name a file to be saved; names are slugs, so they need no quoting."""
    return {"content-disposition": f'attachment; filename="{name}"'}


def clear_cookie(request: Request, response: Response) -> None:
    """Forget who signed in."""
    secure = request.url.scheme == "https"
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax", secure=secure)
