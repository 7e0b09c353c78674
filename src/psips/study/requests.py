"""Requests that record something: a key is bound to who asked, and to all they asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from psips.errors import InputError
from psips.store import Event
from psips.store.events import canonical
from psips.study.schema import ASKED, CLOSED, CONFIRMED, CORRECTED, TOLD, WITHDRAWN
from psips.study.state import State

ASK, TELL, CORRECT, WITHDRAW = "ask", "tell", "correct", "withdraw"
CANCEL, CONFIRM, CLOSE = "cancel", "confirm", "close"
MICROSECOND = timedelta(microseconds=1)


class KeyUsedError(InputError):
    """A key that was given to another request, or by another person."""


class Request(NamedTuple):
    """What someone asks for.

    Parameters
    ----------
    verb : str
    given : callable
        Its parameters as plain data, in the terms of the log: a result by its number,
        whether it was named by that or by its ticket. A function of the state, and the same
        whenever the request is repeated.
    """

    verb: str
    given: Callable[[State], Mapping[str, Any]]

    def fingerprint(self, state: State, user: str) -> str:
        """Return the hash of the request and of who makes it; events keep it."""
        text = canonical([self.verb, user, self.given(state)])
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

    def check(self, event: Event, key: str, state: State, user: str) -> None:
        """Refuse a key whose event was recorded on another request."""
        by = event.payload.get("by", {}).get("user")
        try:
            same = self._led_to(event, state, user)
        except InputError:  # it names something that does not exist: that event does not
            same = False
        if not same:
            raise KeyUsedError(
                f"the key {key!r} is that of another event, number {event.seq} ({event.kind}"
                f"{'' if by is None else f' by {by!r}'}): give each request a key of its own"
            )

    def _led_to(self, event: Event, state: State, user: str) -> bool:
        data = event.payload
        if "request" in data:
            return bool(data["request"] == self.fingerprint(state, user))
        verb, said = _said(event)  # an older psips recorded it: what the event says has to do
        given = self.given(state)
        agree = all(given[name] == said[name] for name in given if name in said)
        return agree and verb == self.verb and data.get("by", {}).get("user") in (user, None)


def duration(wait: timedelta | None) -> int | None:
    """Return how long tickets last, in microseconds."""
    return None if wait is None else wait // MICROSECOND


def _said(event: Event) -> tuple[str, dict[str, Any]]:
    """Return the request that led to an event, as far as the event says."""
    data = event.payload
    reason = {"reason": data.get("reason", "")}
    if event.kind == ASKED:
        wait = None
        if data["expires"] is not None:
            wait = datetime.fromisoformat(data["expires"]) - datetime.fromisoformat(event.at)
        return ASK, {"n": len(data["tickets"]), "expires": duration(wait)}
    if event.kind == TOLD:
        entries = [{"item": None, "kept": None, **entry} for entry in data["results"]]
        return TELL, {"results": entries, "file": data.get("file")}
    if event.kind == CORRECTED:
        values = {f"value of {o}": value for o, value in data["values"].items()}
        return CORRECT, {"result": data["result"], **values, **reason}
    if event.kind == WITHDRAWN and data["results"]:
        return WITHDRAW, {"result": data["results"][0], **reason}
    if event.kind == WITHDRAWN:
        return CANCEL, {"tickets": data["tickets"], **reason}
    if event.kind == CONFIRMED:
        numbers = {name: (*data[f"{name}s"], None)[0] for name in ("result", "event")}
        return CONFIRM, {**numbers, **reason}
    return CLOSE if event.kind == CLOSED else event.kind, reason
