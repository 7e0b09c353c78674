"""The JSON interface under ``/api/v1``: what the command line does, over HTTP."""

from __future__ import annotations

import logging
from concurrent.futures import wait
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
)

from psips.store import DamagedError, StoreError
from psips.study import Receipt, Study
from psips.study.ledger import Ticket
from psips.web.addresses import name_of, slug
from psips.web.authentication import OWNER, RECORDER, Person, require
from psips.web.bodies import StrictRoute
from psips.web.problems import NOT_FOUND, STOPPED, RefusedError
from psips.web.study_cache import CachedStudy, StudyCache

router = APIRouter(prefix="/api/v1", route_class=StrictRoute)

LOG = logging.getLogger("psips.web")
LIST_WAIT = 0.7  # seconds that a list waits for studies that are being read
MOST_ROWS = 10_000  # results, tickets or events in one request
Number = StrictFloat | StrictInt


def _numbers(values: Any) -> Any:
    """Refuse truth values: in JSON true is not 1."""
    every = values.values() if isinstance(values, dict) else values
    for cell in every if isinstance(values, dict | list) else [values]:
        if isinstance(cell, bool):
            raise ValueError(f"a value must be a number, got {str(cell).lower()}")
    return values


Values = Annotated[  # checked with the study at hand, which says more than a type can
    Any,
    AfterValidator(_numbers),
    Field(
        description="By objective, in their order, or one number.",
        json_schema_extra={
            "anyOf": [
                {"type": "object", "additionalProperties": {"type": "number"}},
                {"type": "array", "items": {"type": "number"}},
                {"type": "number"},
            ]
        },
    ),
]


class _Order(BaseModel):
    """What all requests that record have: a key, which makes repeating them safe."""

    model_config = ConfigDict(extra="forbid")
    key: str | None = Field(
        None, description="Any text: repeated with the same key, a request is recorded once."
    )


class Ask(_Order):
    """How many measurements to ask for."""

    n: StrictInt = Field(1, ge=1, le=MOST_ROWS, description="How many tickets.")
    expires: Number | None = Field(None, description="Seconds after which tickets expire.")
    anyway: StrictBool = Field(False, description="Give out tickets of a stopped study too.")


class Tell(_Order):
    """One result."""

    ticket: str | None = Field(None, description="What was measured.")
    arm: str | None = Field(None, description="What was measured, if there is no ticket.")
    item: str | None = Field(None, description="The same, if the arms share items.")
    values: Values
    strict: StrictBool = Field(False, description="Refuse values that are far from the others.")


class TellMany(_Order):
    """Results that are recorded together, or not at all."""

    rows: list[dict[str, Any]] = Field(
        description="Each with a ticket or an arm, and a value for each objective.",
        max_length=MOST_ROWS,
    )
    strict: StrictBool = Field(False, description="Refuse values that are far from the others.")


class Withdraw(_Order):
    """Which result, by ticket or number, and why."""

    ticket: str | None = Field(None, description="Ticket of the result.")
    result: StrictInt | None = Field(None, description="Number of the result.")
    reason: str = Field("", description="Why; the log keeps it.")


class Correct(Withdraw):
    """Which result, the values that change, and why."""

    values: Values


class Confirm(_Order):
    """A result that is held, or an event that waits for another person."""

    result: StrictInt | None = Field(None, description="Number of the result.")
    event: StrictInt | None = Field(None, description="Number of the event that waits.")
    reason: str = Field("", description="Why; the log keeps it.")


class Cancel(_Order):
    """Tickets that will have no result."""

    tickets: list[str] = Field(
        min_length=1, max_length=MOST_ROWS, description="Tickets that will have no result."
    )
    reason: str = Field("", description="Why; the log keeps it.")


class Close(_Order):
    """Why the study ends."""

    reason: str = Field("", description="Why; the log keeps it.")


def caller(request: Request) -> Person:
    """Return who calls, whom the guard has identified."""
    person: Person = request.scope["psips.person"]
    return person


def recorder(who: Annotated[Person, Depends(caller)]) -> Person:
    """Return who records."""
    return require(who, RECORDER)


def owner(who: Annotated[Person, Depends(caller)]) -> Person:
    """Return who closes a study."""
    return require(who, OWNER)


def cached_study(
    request: Request,
    study: Annotated[str, Path(description="The study; see `path` in the list of studies.")],
) -> CachedStudy:
    """Return the study in the path."""
    return find_study(request.app.state.cache, study)


def find_study(cache: StudyCache, path: str, wait: float | None = None) -> CachedStudy:
    """Return the study that a path names."""
    name = name_of(path)
    if name is None or name not in cache.names():
        raise RefusedError(NOT_FOUND, "there is no study of this name on this server")
    return cache.get(name, wait)


# Who comes before where: parameters are looked up in their order.
Caller = Annotated[Person, Depends(caller)]
Recorder = Annotated[Person, Depends(recorder)]
Owner = Annotated[Person, Depends(owner)]
At = Annotated[CachedStudy, Depends(cached_study)]
After = Annotated[int, Query(ge=0, le=2**31, description="Only those with a larger number.")]
Limit = Annotated[int, Query(ge=1, le=MOST_ROWS)]


@router.get("/studies", summary="List the studies")
def list_studies(request: Request, _: Caller) -> dict[str, Any]:
    """Return name, path, state, results and progress of each study."""
    return {"studies": overview(request.app.state.cache)}


def overview(cache: StudyCache) -> list[dict[str, Any]]:
    """Return what a list of studies shows; a damaged one must not hide the others."""
    rows: list[dict[str, Any]] = []
    begins = {name: cache.begin(name) for name in cache.names()}
    wait(begins.values(), LIST_WAIT)
    for name, begun in begins.items():
        row: dict[str, Any] = {"study": name, "path": slug(name)}
        if not begun.done():
            rows.append({**row, "state": "being read"})
            continue
        try:
            view = begun.result().view()
        except StoreError:
            raise
        except (DamagedError, ValueError, KeyError, TypeError, IndexError):
            rows.append({**row, "state": "damaged"})
            continue
        except Exception as error:
            LOG.error("the study %r cannot be opened", name, exc_info=error)
            rows.append({**row, "state": "cannot be opened"})
            continue
        known = view.status
        rows.append(
            {
                **row,
                "state": view.state,
                "stopped": known.stopped,
                "results": known.results,
                "progress": view.data["progress"],
                "to_the_stop": view.to_the_stop,
                "candidate_set": list(known.candidate_set),
                "events": view.event,
            }
        )
    return rows


@router.get("/studies/{study}", summary="What is known")
def status(_: Caller, at: At) -> dict[str, Any]:
    """Return what `psips study status --json` prints, the design's names and the promise."""
    view = at.view()
    problem = view.problem
    return {
        **view.data,
        "promise": view.short_promise,
        "objectives": dict(zip(problem.objectives, problem.directions, strict=True)),
    }


@router.get("/studies/{study}/changes", summary="The number of the last event")
def changes(_: Caller, at: At) -> dict[str, int]:
    """Return the number of the last event: when it grows, there is something new."""
    return {"event": at.last()}


@router.get("/studies/{study}/results", summary="The results")
def results(_: Caller, at: At, after: After = 0, limit: Limit = 1000) -> dict[str, Any]:
    """Return results by number, the withdrawn and the held ones included."""
    with at.study() as opened:
        ledger, objectives = opened.state.ledger, opened.problem.objectives
        chosen = ledger.results[after : after + limit]
        rows = [result.to_dict(objectives) for result in chosen]
        return {"results": rows, "told": len(ledger.results)}


@router.get("/studies/{study}/log", summary="The log of events")
def log(_: Caller, at: At, after: After = 0, limit: Limit = 1000) -> dict[str, Any]:
    """Return events with who recorded them, and their hashes."""
    with at.study() as opened:
        events = opened.store.read(opened.name, after, after + limit)
        return {"events": [event.to_dict() for event in events]}


@router.post("/studies/{study}/ask", summary="Ask what to measure next")
def ask(who: Recorder, at: At, order: Ask) -> dict[str, Any]:
    """Give out tickets; 409 and none of them once the study has stopped, unless `anyway`."""
    with at.study(who.name) as opened:
        tickets = ask_for(opened, order)
        return {"tickets": [t.to_dict() for t in tickets], "stopped": opened.stopped}


def ask_for(opened: Study, order: Ask) -> list[Ticket]:
    """Give out tickets as the command line does."""
    known = order.key is not None and order.key in opened.state.keys
    if opened.stopped and not (order.anyway or known or opened.closed):
        raise RefusedError(
            STOPPED,
            "the study has stopped: nothing more needs to be measured, and tickets are given "
            "out only if you ask for them anyway",
            exit_code=3,
        )
    return opened.ask(order.n, expires=order.expires, key=order.key)


@router.post("/studies/{study}/tell", summary="Tell one result")
def tell(who: Recorder, at: At, order: Tell) -> dict[str, Any]:
    """Record one result, by its ticket or by its arm."""
    with at.study(who.name) as opened:
        receipt = opened.tell(
            order.arm,
            order.values,
            ticket=order.ticket,
            item=order.item,
            strict=order.strict,
            key=order.key,
        )
        return receipt_data(receipt)


@router.post("/studies/{study}/tell-many", summary="Tell several results")
def tell_many(who: Recorder, at: At, order: TellMany) -> dict[str, Any]:
    """Record results as one event: all of them, or none if one is wrong."""
    with at.study(who.name) as opened:
        return receipt_data(opened.tell_many(order.rows, strict=order.strict, key=order.key))


@router.post("/studies/{study}/correct", summary="Correct a result")
def correct(who: Recorder, at: At, order: Correct) -> dict[str, Any]:
    """Replace values of a result, those that change; the old ones stay in the log."""
    with at.study(who.name) as opened:
        which = {"ticket": order.ticket, "result": order.result}
        return receipt_data(
            opened.correct(order.values, **which, reason=order.reason, key=order.key)  # type: ignore[arg-type]
        )


@router.post("/studies/{study}/withdraw", summary="Withdraw a result")
def withdraw(who: Recorder, at: At, order: Withdraw) -> dict[str, Any]:
    """Take a result out of the count for good; it stays in the log."""
    with at.study(who.name) as opened:
        which = {"ticket": order.ticket, "result": order.result}
        return receipt_data(
            opened.withdraw(**which, reason=order.reason, key=order.key)  # type: ignore[arg-type]
        )


@router.post("/studies/{study}/confirm", summary="Confirm what waits")
def confirm(who: Recorder, at: At, order: Confirm) -> dict[str, Any]:
    """Confirm a result that is held, or a change that another person has recorded."""
    with at.study(who.name) as opened:
        return receipt_data(
            opened.confirm(
                result=order.result, event=order.event, reason=order.reason, key=order.key
            )
        )


@router.post("/studies/{study}/cancel", summary="Take back tickets")
def cancel(who: Recorder, at: At, order: Cancel) -> dict[str, Any]:
    """Take back tickets: they no longer count as pending."""
    with at.study(who.name) as opened:
        opened.cancel(*order.tickets, reason=order.reason, key=order.key)
    return {"cancelled": order.tickets}


@router.post("/studies/{study}/close", summary="Close the study")
def close(who: Owner, at: At, order: Close) -> dict[str, Any]:
    """End the study: nothing can be recorded after it. For owners."""
    with at.study(who.name) as opened:
        opened.close(order.reason, key=order.key)
    return {"closed": True}


def receipt_data(receipt: Receipt) -> dict[str, Any]:
    """Return what became of results as plain data."""
    return {
        "recorded": len(receipt.numbers),
        "known": receipt.known,
        "results": list(receipt.numbers),
        "stopped": receipt.stopped,
        "warnings": list(receipt.warnings),
        "held": list(receipt.held),
        "waits": receipt.waits,
        "released": list(receipt.released),
        "exact": receipt.exact,
    }
