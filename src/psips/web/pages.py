"""Pages: the list of studies, and the tabs of a study."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, Response
from markupsafe import Markup

from psips.errors import InputError, unknown
from psips.pictures import svg
from psips.report.design import design_of
from psips.session import headline
from psips.web import orders, tables, text
from psips.web.addresses import slug
from psips.web.api import overview
from psips.web.authentication import RECORDER, Person
from psips.web.problems import NOT_FOUND, RefusedError
from psips.web.rendering import Number, Visitor, cached_study, render
from psips.web.study_cache import CachedStudy, StudyCache
from psips.web.tables import Wanted
from psips.web.view_models import StudyView

router = APIRouter(include_in_schema=False)

PAGE = 100  # events of a page
BUTTONS = 60  # options that have a button of their own where they are chosen
SECONDS = 60  # for which what was entered can be undone by a button
TABS = (
    ("", "Overview"),
    ("enter", "Enter"),
    ("results", "Results"),
    ("comparisons", "Comparisons"),
    ("log", "Log"),
    ("design", "Design"),
)


@router.get("/")
def studies(request: Request, person: Visitor) -> Response:
    """List the studies."""
    cache: StudyCache = request.app.state.cache
    return render(request, "studies.html", person=person, rows=overview(cache))


def wanted(
    sort: str = "",
    down: str = "",
    q: str = "",
    state: str = "",
    page: Annotated[int, Query(ge=1, le=10**6)] = 1,
) -> Wanted:
    """Return what an address asks of a table."""
    return Wanted(sort[:200], bool(down), q[:200].strip(), state[:20], page)


Asked = Annotated[Wanted, Depends(wanted)]


DRAWN = "x-psips-drawn"  # sent by a page that draws the front itself: it needs no picture
ADDRESSES = {  # of what can be done next, in a study; "" is the form that asks
    headline.HELD: "results/{}",
    headline.CONFIRM: "#waiting",
    headline.REPORT: "report.html",
    headline.COMPARE: "comparisons",
    headline.ENTER: "enter",
    headline.ASK: "",
}


def on_top(view: StudyView, person: Person) -> dict[str, Any]:
    """Return the answer, for someone who may record or not, and where the next step leads."""
    waiting = headline.Waiting(
        tuple(r.number for r in view.held),
        tuple(view.proposals),
        tuple(t.arm for t in view.tickets),
    )
    head = headline.headline_of(
        view.problem, view.rules, view.status, waiting, person.may(RECORDER)
    )
    return {"head": head, "step_to": ADDRESSES[head.step.kind].format(head.step.of)}


def tab(
    request: Request,
    cached: CachedStudy,
    person: Person,
    which: str,
    code: int = 200,
    done: int | None = None,
    **given: Any,
) -> Response:
    """Fill in a tab of a study.

    Parameters
    ----------
    request, cached, person : Request, CachedStudy, Person
    which : str
        Of TABS; "" is the overview.
    code : int
        Of HTTP.
    done : int
        Number of the event that was just recorded; 0 if it was known already.
    **given
        What the tab shows besides.
    """
    view = cached.view()
    path = slug(cached.name)
    return render(
        request,
        f"{which or 'overview'}.html",
        code,
        person=person,
        view=view,
        name=cached.name,
        path=path,
        here=f"/studies/{path}{'/' if which else ''}{which}",
        tabs=TABS,
        which=which,
        **on_top(view, person),
        done=done,
        said=next((entry for entry in view.log if entry.seq == done), None),
        undo=cached.seconds_left(done, person.name, SECONDS) if done else 0,
        **given,
    )


@router.get("/studies/{study}")
def overview_tab(
    request: Request,
    study: str,
    person: Visitor,
    asked: Asked,
    x: str = "",
    y: str = "",
    hide: str = "",
    done: Number | None = None,
) -> Response:
    """Show what is known: the answer, the front, the options."""
    cached = cached_study(request, study)
    view = cached.view()
    first, second = pair_of(view, x, y)
    drawn = DRAWN in request.headers
    return tab(
        request,
        cached,
        person,
        "",
        done=done,
        picture="" if drawn else Markup(svg.front(view.front, first, second, bool(hide))),
        marks=sorted({(o.mark, o.label) for o in view.front.shown()}),
        x=first,
        y=second,
        hide=bool(hide),
        wanted=asked,
        table=tables.options(view, asked, bool(hide)),
    )


def pair_of(view: StudyView, x: str, y: str) -> tuple[int, int]:
    """Return which two objectives to draw."""
    names = list(view.problem.objectives)
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


@router.get("/studies/{study}/enter")
def enter_tab(
    request: Request,
    study: str,
    person: Visitor,
    ticket: str = "",
    then: Annotated[str, Query(alias="next")] = "",
    done: Number | None = None,
) -> Response:
    """Show what is to be measured, and the forms to enter it."""
    cached = cached_study(request, study)
    given = {"ticket": ticket[:200], "next": then[:3]}
    return show_enter(request, cached, person, given=given, done=done)


def show_enter(
    request: Request,
    cached: CachedStudy,
    person: Person,
    code: int = 200,
    given: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
    form: str = "",
    done: int | None = None,
) -> Response:
    """Show the forms to enter, with what was given in one and what is wrong with it.

    Parameters
    ----------
    request, cached, person, code, done
        See `tab`.
    given, errors : dict
        By field: what was typed, and what is wrong with it.
    form : str
        Which form they belong to.
    """
    view = cached.view()
    typed = given or {}
    ticket = typed.get("ticket", "")
    if not ticket and not typed.get("arm") and not form and view.tickets:
        ticket = view.tickets[0].id
    problem = view.problem
    return tab(
        request,
        cached,
        person,
        "enter",
        code,
        done,
        given=typed,
        errors=errors or {},
        form=form,
        ticket=ticket,
        asked_for=next((t for t in view.tickets if t.id == ticket), None),
        buttons=problem.arms if len(problem.arms) <= BUTTONS else (),
    )


@router.get("/studies/{study}/results")
def results_tab(
    request: Request, study: str, person: Visitor, asked: Asked, done: Number | None = None
) -> Response:
    """Show the measurements, the newest first unless the address says otherwise."""
    cached = cached_study(request, study)
    with cached.study() as opened:
        every = opened.state.ledger.results
        found = tables.results(every, opened.problem.objectives, asked)
    return tab(
        request,
        cached,
        person,
        "results",
        done=done,
        wanted=asked,
        table=found,
        states=tables.STATES,
    )


@router.get("/studies/{study}/results/{number}")
def result_page(
    request: Request, study: str, person: Visitor, number: int, done: Number | None = None
) -> Response:
    """Show one result, and the forms that change it."""
    return show_result(request, cached_study(request, study), person, number, done=done)


def show_result(
    request: Request,
    cached: CachedStudy,
    person: Person,
    number: int,
    code: int = 200,
    given: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
    form: str = "",
    done: int | None = None,
) -> Response:
    """Show one result, with what was given in a form and what is wrong with it."""
    with cached.study() as opened:
        state = opened.state
        if not 1 <= number <= len(state.ledger.results):
            raise RefusedError(NOT_FOUND, f"there is no measurement number {number}")
        view = cached.view()
        path = slug(cached.name)
        return render(
            request,
            "result.html",
            code,
            person=person,
            view=view,
            name=cached.name,
            path=path,
            here=f"/studies/{path}/results/{number}",
            tabs=TABS,
            which="results",
            **on_top(view, person),
            objectives=opened.problem.objectives,
            result=state.ledger.result(number),
            given=given or {},
            errors=errors or {},
            form=form,
            done=done,
            said=next((entry for entry in view.log if entry.seq == done), None),
            undo=0,
        )


@router.get("/studies/{study}/comparisons")
def comparisons_tab(
    request: Request, study: str, person: Visitor, done: Number | None = None
) -> Response:
    """Show who dominates whom, and what the undecided pairs would cost."""
    cached = cached_study(request, study)
    found = cached.comparisons()
    return tab(
        request,
        cached,
        person,
        "comparisons",
        done=done,
        found=found,
        drawing=Markup(orders.order_picture(found)),
    )


@router.get("/studies/{study}/log")
def log_tab(request: Request, study: str, person: Visitor, before: Number = 0) -> Response:
    """Show events, the newest first, with who recorded them."""
    cached = cached_study(request, study)
    last = before - 1 if before else cached.view().event
    with cached.study() as opened:
        events = opened.store.read(opened.name, max(0, last - PAGE), last)[::-1]
    entries = [text.entry(event) for event in events]
    return tab(request, cached, person, "log", events=entries, before=before)


@router.get("/studies/{study}/design")
def design_tab(
    request: Request, study: str, person: Visitor, done: Number | None = None
) -> Response:
    """Show the design as registered, the noise, what is promised, and files to save."""
    cached = cached_study(request, study)
    with cached.study() as opened:
        design = Markup(design_of(opened.state))  # it escapes every text
    kind = headline.kind_of(cached.view().rules)
    given: dict[str, Any] = {"design": design, "promised": kind, "noise": cached.noise()}
    return tab(request, cached, person, "design", done=done, **given)


@router.get("/studies/{study}/changes")
def changes(request: Request, study: str, _: Visitor) -> Response:
    """Return the number of the last event, for pages that follow a study."""
    return JSONResponse({"event": cached_study(request, study).last()})
