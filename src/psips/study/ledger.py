"""The ledger of a study: which tickets were given out and which results came in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from psips.errors import InputError, quote
from psips.session import tickets
from psips.study.inputs import stamp

Values = tuple[float | None, ...]  # in the order of the objectives; None is missing


def tag_of(identity: str, key: str) -> str:
    """Return what tells the tickets of one ask, in one study, from all others.

    Copies of a study that go on apart ask under different keys.
    """
    return hashlib.sha256(f"{identity}:{key}".encode()).hexdigest()[:6]


class Ticket(tickets.Ticket):
    """One measurement that was asked for, as a study keeps it; its text is the arm's name.

    Parameters
    ----------
    id : str
        The study's name, a tag of the study and the ask, and a number.
    arm : str
        What to measure.
    asked : str
        When, in UTC; if the clock was ahead, when it was set back.
    expires : str or None
        From when on it no longer counts as pending; a late result is still taken.
    result : int or None
        Number of its result, once told.
    cancelled : bool
    item : str or None
        What to measure the arm on, if the arms share items.
    """

    __slots__ = ("asked", "cancelled", "expires", "result")
    asked: str
    expires: str | None
    result: int | None
    cancelled: bool

    def __new__(
        cls,
        id: str,
        arm: str,
        asked: str,
        expires: str | None = None,
        result: int | None = None,
        cancelled: bool = False,
        item: str | None = None,
    ) -> Self:
        """Make a ticket."""
        ticket = super().__new__(cls, arm, item, id)
        ticket.asked, ticket.expires = asked, expires
        ticket.result, ticket.cancelled = result, cancelled
        return ticket

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self.to_dict().values())

    _ADVICE = (
        "study.ask() returns one ticket, not a list: write ticket = study.ask(), or "
        "study.ask(1) for a list"
    )

    @property
    def _former(self) -> tuple[Any, ...]:
        return (self,)

    def state(self, at: str) -> str:
        """Return ``"told"``, ``"cancelled"``, ``"expired"`` or ``"open"``."""
        if self.result is not None:
            return "told"
        if self.cancelled:
            return "cancelled"
        late = self.expires is not None and self.expires <= at
        return "expired" if late else "open"

    def to_dict(self) -> dict[str, Any]:
        """Return the ticket as plain data."""
        return {
            "id": self.id,
            "arm": self.arm,
            "asked": self.asked,
            "expires": self.expires,
            "result": self.result,
            "cancelled": self.cancelled,
            **({} if self.item is None else {"item": self.item}),
        }


def id_of(ticket: object) -> str:
    """Return the id of a ticket that is given as such, or by its id."""
    return ticket.id if isinstance(ticket, tickets.Ticket) and ticket.id else str(ticket)


@dataclass(slots=True)
class Result:
    """One result that was told.

    Parameters
    ----------
    number : int
        1 for the first result of the study.
    arm : str
    values : tuple of float or None
        In the order of the objectives, as they count now; None for one that is missing.
    told : str
        When, in UTC.
    ticket : str or None
    corrected : int
        How many times it was corrected; the log has the old values.
    withdrawn : bool
        A withdrawn result does not count.
    held : bool
        Nor does one that is held for confirmation.
    confirmed : bool
        Whether someone has confirmed, or corrected, the values.
    kept : dict or None
        Other columns of the file it came in, if they were to be kept.
    item : str or None
        What the arm was measured on, if the arms share items.
    """

    number: int
    arm: str
    values: Values
    told: str
    ticket: str | None = None
    corrected: int = 0
    withdrawn: bool = False
    held: bool = False
    confirmed: bool = False
    kept: dict[str, str] | None = None
    item: str | None = None

    @property
    def counts(self) -> bool:
        """Whether the result counts."""
        return not (self.withdrawn or self.held)

    def to_dict(self, objectives: Sequence[str]) -> dict[str, Any]:
        """Return the result as plain data, its values by objective."""
        values = dict(zip(objectives, self.values, strict=True))
        return {
            "number": self.number,
            "told": self.told,
            "ticket": self.ticket,
            "arm": self.arm,
            "values": values,
            "corrected": self.corrected,
            "withdrawn": self.withdrawn,
            "held": self.held,
            **({} if self.kept is None else {"kept": self.kept}),
            **({} if self.item is None else {"item": self.item}),
        }


class Ledger:
    """All tickets and results of a study, and which tickets are still without a result."""

    def __init__(self, study: str, identity: str = "") -> None:
        self.study = study
        self.identity = identity  # of the study; logs of schema 1 have none
        self.tickets: list[Ticket] = []
        self.results: list[Result] = []
        self.waiting: dict[str, Ticket] = {}  # neither told nor cancelled

    def ticket_id(self, number: int, key: str) -> str:
        """Return the id of the ticket with this number, asked for under a key."""
        tag = tag_of(self.identity, key) if self.identity else ""
        return f"{self.study}-{tag}-{number:06d}" if tag else f"{self.study}-{number:06d}"

    def ticket(self, name: str) -> Ticket:
        """Return the ticket with this id; an error if there is none."""
        head, _, digits = str(name).rpartition("-")
        plain = digits.isdecimal() and digits.isascii() and len(digits) < 18
        number = int(digits) if plain else 0
        if 1 <= number <= len(self.tickets) and head.startswith(self.study):
            found = self.tickets[number - 1]
            if found.id == name:
                return found
            raise InputError(
                f"unknown ticket {quote(name)}: ticket {number} of this study is {found.id!r}; "
                "the other may be of another study, or another copy of it"
            )
        ends = (self.tickets[0].id, self.tickets[-1].id) if self.tickets else ()
        given = " to ".join(ends) or "none yet"
        raise InputError(f"unknown ticket {quote(name)}; given out so far: {given}")

    def result(self, number: int) -> Result:
        """Return the result with this number; an error if there is none."""
        if not 1 <= number <= len(self.results):
            raise InputError(
                f"there is no result number {number}; {len(self.results)} were told so far"
            )
        return self.results[number - 1]

    @property
    def held(self) -> list[Result]:
        """The results that do not count until they are confirmed or corrected."""
        return [result for result in self.results if result.held and not result.withdrawn]

    def result_of(self, ticket: str) -> Result:
        """Return the result that was told for a ticket; an error if there is none."""
        number = self.ticket(ticket).result
        if number is None:
            raise InputError(f"ticket {ticket!r} has no result yet: tell one first")
        return self.result(number)

    def pending(self, at: str) -> list[Ticket]:
        """Return the tickets that count as pending at a time."""
        return [ticket for ticket in self.waiting.values() if ticket.state(at) == "open"]

    def ask(self, arms: Sequence[str], at: str, expires: str | None, key: str) -> list[Ticket]:
        """Give out tickets."""
        first = len(self.tickets) + 1
        made = [
            Ticket(self.ticket_id(number, key), arm, at, expires)
            for number, arm in enumerate(arms, start=first)
        ]
        self.tickets += made
        self.waiting.update((ticket.id, ticket) for ticket in made)
        return made

    def tell(
        self, arm: str, values: Sequence[float | None], at: str, ticket: str | None
    ) -> Result:
        """Take in a result."""
        result = Result(len(self.results) + 1, arm, tuple(values), at, ticket)
        self.results.append(result)
        if ticket is not None:
            self.ticket(ticket).result = result.number
            self.waiting.pop(ticket, None)
        return result

    def set_back(self, at: str) -> None:
        """Take open tickets that were asked for by a clock that was ahead as asked for now."""
        moment = datetime.fromisoformat(at)
        for ticket in self.waiting.values():
            if ticket.asked > at:
                if ticket.expires is not None:
                    asked, expires = map(datetime.fromisoformat, (ticket.asked, ticket.expires))
                    ticket.expires = stamp(moment + (expires - asked))
                ticket.asked = at

    def cancel(self, ticket: str) -> None:
        """Take back a ticket."""
        self.ticket(ticket).cancelled = True
        self.waiting.pop(ticket, None)

    def snapshot(self) -> dict[str, Any]:
        """Return the ledger as rows of plain data."""
        return {
            "tickets": [
                [t.id, t.arm, t.asked, t.expires, t.result, t.cancelled, *_item(t)]
                for t in self.tickets
            ],
            "results": [
                [
                    *(r.arm, r.values, r.told, r.ticket),
                    *(r.corrected, r.withdrawn, r.held, r.confirmed, r.kept, *_item(r)),
                ]
                for r in self.results
            ],
        }

    @classmethod
    def restore(cls, study: str, identity: str, data: dict[str, Any]) -> Ledger:
        """Return the ledger that `snapshot` was taken of."""
        ledger = cls(study, identity)
        ledger.tickets = [Ticket(*row) for row in data["tickets"]]
        ledger.waiting = {
            t.id: t for t in ledger.tickets if t.result is None and not t.cancelled
        }
        ledger.results = [
            Result(number, arm, tuple(values), *rest)
            for number, (arm, values, *rest) in enumerate(data["results"], start=1)
        ]
        return ledger


def _item(entry: Ticket | Result) -> list[str]:
    """Return the item of a ticket or a result as the end of its row; empty if it has none."""
    return [] if entry.item is None else [entry.item]
