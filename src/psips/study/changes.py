"""Changes of recorded results: corrections, withdrawals, and their confirmation by others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from psips.errors import InputError
from psips.study.conduct import read_reason, read_text
from psips.study.exactness import check_correction
from psips.study.inputs import read_count
from psips.study.journal import Decide, Entry
from psips.study.ledger import Result, id_of
from psips.study.requests import CANCEL, CLOSE, CONFIRM, CORRECT, WITHDRAW, Request
from psips.study.schema import CLOSED, CONFIRMED, CORRECTED, WITHDRAWN
from psips.study.state import State

Find = Callable[[State], Result]
Change = tuple[Request, Decide]  # what is asked for, and how to decide on the event


def find_result(ticket: str | None, number: int | None) -> Find:
    """Return how to find a result by its ticket or by its number, one of the two."""
    if (ticket is None) == (number is None):
        raise InputError("name the result by its ticket or by its number, one of the two")
    if ticket is not None:
        name = id_of(ticket)
        return lambda state: state.ledger.result_of(name)
    whole = read_count("the number of a result", number, 1)
    return lambda state: state.ledger.result(whole)


def correction(find: Find, new: Mapping[str, float | None], reason: str) -> Change:
    """Replace those values of a result that change."""
    reason = read_text("a reason", reason)
    values = {f"value of {objective}": value for objective, value in new.items()}
    request = Request(
        CORRECT, lambda state: {"result": find(state).number, **values, "reason": reason}
    )

    def decide(state: State, _: str) -> Entry | None:
        chosen = find(state)
        if chosen.withdrawn:
            raise InputError(f"result {chosen.number} was withdrawn: nothing to correct")
        objectives = state.problem.objectives
        old = zip(objectives, chosen.values, strict=True)
        cells = tuple(new.get(objective, value) for objective, value in old)
        if all(cell is None for cell in cells):
            raise InputError(
                f"result {chosen.number} would have no value in any objective: withdraw it"
            )
        if chosen.values == cells and not chosen.held:
            return None
        check_correction(state, chosen, cells)
        payload = {
            "result": chosen.number,
            "values": dict(zip(objectives, cells, strict=True)),
            "instead_of": dict(zip(objectives, chosen.values, strict=True)),
            "reason": read_reason(state.conduct, reason),
        }
        return CORRECTED, _awaiting(state, payload)

    return request, decide


def withdrawal(find: Find, reason: str) -> Change:
    """Take a result out of the count."""
    reason = read_text("a reason", reason)
    request = Request(WITHDRAW, lambda state: {"result": find(state).number, "reason": reason})

    def decide(state: State, _: str) -> Entry | None:
        chosen = find(state)
        if chosen.withdrawn:
            return None
        payload = {
            "results": [chosen.number],
            "tickets": [],
            "reason": read_reason(state.conduct, reason),
        }
        return WITHDRAWN, _awaiting(state, payload)

    return request, decide


def cancellation(tickets: Sequence[str], reason: str) -> Change:
    """Cancel tickets."""
    reason = read_text("a reason", reason)
    names = list(dict.fromkeys(map(id_of, tickets)))
    given = {"tickets": names, "reason": reason}

    def decide(state: State, _: str) -> Entry | None:
        for name in names:
            if state.ledger.ticket(name).result is not None:
                raise InputError(f"ticket {name!r} has a result: withdraw the result instead")
        waiting = [name for name in names if name in state.ledger.waiting]
        payload = {"results": [], "tickets": waiting, "reason": reason}
        return (WITHDRAWN, payload) if waiting else None

    return Request(CANCEL, lambda _: given), decide


def confirmation(result: int | None, event: int | None, user: str, reason: str) -> Change:
    """Confirm a held result, or another's change."""
    if (result is None) == (event is None):
        raise InputError("name a result that is held, or an event that waits: one of the two")
    reason = read_text("a reason", reason)
    result = None if result is None else read_count("the number of a result", result, 1)
    number = 0 if event is None else read_count("the number of an event", event, 1)
    given = {"result": result, "event": number or None, "reason": reason}

    def decide(state: State, _: str) -> Entry | None:
        if result is not None:
            held = state.ledger.result(result)
            if held.withdrawn:
                raise InputError(f"result {held.number} was withdrawn: nothing to confirm")
            if not held.held:
                return None
            return CONFIRMED, {"results": [held.number], "events": [], "reason": reason}
        proposal = state.proposals.get(number)
        if proposal is None:
            raise InputError(f"event {number} does not wait for a confirmation")
        if proposal["user"] == user:
            raise InputError(
                f"event {number} was recorded by {user!r}: another person must confirm it"
            )
        return CONFIRMED, {"results": [], "events": [number], "reason": reason}

    return Request(CONFIRM, lambda _: given), decide


def closure(reason: str) -> Change:
    """End the study."""
    reason = read_text("a reason", reason)
    request = Request(CLOSE, lambda _: {"reason": reason})
    return request, lambda *_: (CLOSED, {"reason": reason})


def _awaiting(state: State, payload: dict[str, Any]) -> dict[str, Any]:
    """Mark a change that another person must confirm, if the design says so."""
    return {**payload, "awaits": True} if state.conduct.two_people else payload
