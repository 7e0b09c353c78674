"""What says which call is next, and gets the result: a session, or a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from psips.errors import InputError
from psips.session import Session, Ticket
from psips.session.status import Status
from psips.study import Study


class Source(Protocol):
    """Asks and is told."""

    @property
    def session(self) -> Session:
        """What is known."""

    @property
    def name(self) -> str:
        """Name of the study; empty if there is none."""

    def status(self) -> Status:
        """Return what is known now."""

    @property
    def stopped(self) -> bool:
        """Whether the set is known."""

    def ask(self) -> Ticket | None:
        """Return the next call; None if there is none left."""

    def tell(self, ticket: Ticket, values: Any) -> None:
        """Take in the values of a call."""

    def give_up(self, ticket: Ticket) -> None:
        """Note that a call will have no values, and is not to be made again."""

    def leave(self, tickets: Sequence[Ticket]) -> None:
        """Take back what no one will answer."""


class SessionSource:
    """A session of this process."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.name = session.problem.name

    def status(self) -> Status:
        """Return what is known now."""
        return self.session.status()

    @property
    def stopped(self) -> bool:
        """Whether the set is known."""
        return self.session.stopped

    def ask(self) -> Ticket | None:
        """Return the next call; None if there is none left."""
        if not has_next(self.session):
            return None
        return self.session.ask()

    def tell(self, ticket: Ticket, values: Any) -> None:
        """Take in the values of a call."""
        self.session.tell(ticket, values)

    def give_up(self, ticket: Ticket) -> None:
        """Note that a call will have no values, and is not to be made again."""
        self.session.cancel(ticket, again=False)

    def leave(self, tickets: Sequence[Ticket]) -> None:
        """Take back what no one will answer."""
        for ticket in tickets:
            self.session.cancel(ticket)


class StudySource:
    """A study: every ask and every result is an event of its log."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.name = study.name
        self._given_up: list[Ticket] = []

    def status(self) -> Status:
        """Return what is known now."""
        return self.study.status()

    @property
    def session(self) -> Session:
        """What is known."""
        return self.study.state.session

    @property
    def stopped(self) -> bool:
        """Whether the set is known."""
        return self.session.stopped

    def ask(self) -> Ticket | None:
        """Return the next call; None if there is none left."""
        if not self.study.has_next:
            return None
        try:
            return self.study.ask()
        except InputError:
            if self.study.has_next:
                raise
            return None  # others were quicker

    def tell(self, ticket: Ticket, values: Any) -> None:
        """Take in the values of a call."""
        self.study.tell(ticket, values)

    def give_up(self, ticket: Ticket) -> None:
        """Leave the ticket open until the end: the arm is not asked for the item again."""
        self._given_up.append(ticket)

    def leave(self, tickets: Sequence[Ticket]) -> None:
        """Cancel the tickets that no one will answer."""
        left = (*tickets, *self._given_up)
        if left:
            self.study.cancel(*left, reason="no answer")


def has_next(session: Session) -> bool:
    """Whether there is an item that some arm has not seen, and room in the budget."""
    return session.items is not None and session.has_next
