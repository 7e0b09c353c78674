"""Forms in which measurements are asked for, entered, and taken back."""

from __future__ import annotations

import re

from fastapi import APIRouter, Request
from fastapi.responses import Response

from psips.errors import InputError, quote
from psips.input.quantities import parse_number
from psips.problem.measurements import ITEM
from psips.study import Study
from psips.study.outliers import DEVIATIONS
from psips.study.rows import Row
from psips.web.api import Ask, ask_for
from psips.web.forms import At, Posted, Recorder, Sent, done, read_field
from psips.web.pages import SECONDS, show_enter
from psips.web.problems import BAD_INPUT, FORBIDDEN, RefusedError, code_of, problem_data

router = APIRouter(include_in_schema=False)

GRACE = 15  # seconds that the button may be late


@router.post("/studies/{study}/ask")
def ask(request: Request, study: str, who: Recorder, at: At, sent: Sent) -> Response:
    """Give out tickets."""
    errors: dict[str, str] = {}
    n = read_field(errors, "n", lambda: _whole("the number of measurements", sent["n"] or "1"))
    days = read_field(
        errors,
        "expires",
        lambda: (
            parse_number("the number of days", sent["expires"]) if sent["expires"] else None
        ),
    )
    if not errors:
        try:
            with at.study(who.name) as opened:
                before = opened.state.seq
                wait = None if days is None else 86400.0 * days
                order = Ask.model_construct(
                    n=n, expires=wait, anyway=bool(sent["anyway"]), key=sent.key
                )
                ask_for(opened, order)
                return done(study, opened, sent, before, "/enter")
        except InputError as error:
            if code_of(error) >= 500:
                raise
            errors["expires" if "expire" in str(error) else "n"] = str(error)
    return show_enter(request, at, who, BAD_INPUT, given=sent.fields, errors=errors, form="ask")


@router.post("/studies/{study}/tell")
def tell(request: Request, study: str, who: Recorder, at: At, sent: Sent) -> Response:
    """Record a result; each thing that is wrong with it is said next to its field."""
    with at.study(who.name) as opened:
        objectives = opened.problem.objectives
        cells = {o: sent[f"value-{c}"].strip() for c, o in enumerate(objectives)}
        item = {ITEM: sent["item"].strip() or None} if opened.problem.has_items else {}
        where = {"ticket": sent["ticket"].strip(), "arm": sent["arm"], **item}
        before = opened.state.seq
        try:
            opened.tell_many(
                [Row("", {**cells, **where})], strict=not sent["anyway"], key=sent.key
            )
            answer = done(study, opened, sent, before, "/enter")
            if sent["next"] == "ask":
                _ask_for_next(opened, sent)
                answer.headers["location"] += "&next=ask"
            return answer
        except InputError as error:
            if code_of(error) >= 500:
                raise
            errors = _by_field(error, objectives)
    return show_enter(
        request, at, who, BAD_INPUT, given=sent.fields, errors=errors, form="tell"
    )


def _ask_for_next(opened: Study, sent: Posted) -> None:
    """Ask for one more measurement, if nothing is open and there is anything to ask for."""
    if not (opened.done or opened.open_tickets()):
        ask_for(
            opened, Ask.model_construct(n=1, expires=None, anyway=False, key=f"{sent.key}n")
        )


def _by_field(error: InputError, objectives: tuple[str, ...]) -> dict[str, str]:
    """Sort what is wrong by the field of the form it is about."""
    errors: dict[str, str] = {}
    for one in problem_data(error, objectives)["problems"]:
        field = "ticket"
        if one["field"] is not None:
            field = f"value-{objectives.index(one['field'])}"
        elif DEVIATIONS in one["message"]:
            place = next(
                (c for c, o in enumerate(objectives) if one["message"].startswith(o)), 0
            )
            field = f"value-{place}"
            errors["far"] = "yes"
        errors[field] = (
            f"{errors[field]}; {one['message']}" if field in errors else one["message"]
        )
    return errors


@router.post("/studies/{study}/events/{number}/undo")
def undo(study: str, number: int, who: Recorder, at: At, sent: Sent) -> Response:
    """Withdraw what was just entered; for a minute, and for who entered it."""
    if not at.seconds_left(number, who.name, SECONDS + GRACE):
        raise RefusedError(
            FORBIDDEN,
            f"what was entered can be undone for {SECONDS} seconds, by who entered it: "
            "withdraw the measurement instead, in the tab Results",
        )
    with at.study(who.name) as opened:
        before = opened.state.seq
        told = next(one for one in opened.state.keys.values() if one.seq == number)
        for place in range(told.size):
            key = sent.key if place == 0 else f"{sent.key}-{place}"
            opened.withdraw(result=told.first + place, reason="undone", key=key)
        return done(study, opened, sent, before, "/enter")


@router.post("/studies/{study}/cancel")
def cancel(study: str, who: Recorder, at: At, sent: Sent) -> Response:
    """Take back a ticket."""
    with at.study(who.name) as opened:
        before = opened.state.seq
        opened.cancel(sent["ticket"], reason=sent["reason"].strip(), key=sent.key)
        return done(study, opened, sent, before, "/enter")


def _whole(what: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text.strip()):
        raise InputError(f"{what} must be a whole number, got {quote(text)}")
    return int(text)
