"""What an ask returns and a tell returns, in sessions, in studies and from a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

from psips.input.former_names import warn_former


class Ticket(str):
    """One measurement that was asked for; its text is the arm's name.

    Measure the arm, on the ticket's item if it has one, and tell the ticket and the values.
    A ticket can be used wherever the name of an arm is expected. Two tickets are equal if they
    are the same ask; to count tickets by arm, use ``ticket.arm``.

    Parameters
    ----------
    arm : str
        What to measure.
    item : str or None
        What to measure it on, if the arms share items.
    id : str
        The name under which a study keeps the ticket; "" in a session.

    Examples
    --------
    >>> ticket = Ticket("large", "question 7")
    >>> print(ticket, ticket.item, {"large": 0.5}[ticket])
    large question 7 0.5
    """

    __slots__ = ("id", "item")
    id: str
    item: str | None

    def __new__(cls, arm: str, item: str | None = None, id: str = "") -> Self:
        """Make a ticket."""
        ticket = super().__new__(cls, arm)
        ticket.item, ticket.id = item, id
        return ticket

    @property
    def arm(self) -> str:
        """What to measure, as a plain str."""
        return str(self)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (self.arm, self.item, self.id)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Ticket):
            return (self.id, self.arm, self.item) == (other.id, other.arm, other.item)
        if isinstance(other, tuple) and self._former:
            warn_former(self._ADVICE)
            return self._former == other
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    # What an ask of earlier versions returned goes on working; text is text otherwise.

    _ADVICE = "an ask returns one ticket, not a pair: write ticket.arm and ticket.item"

    @property
    def _former(self) -> tuple[Any, ...]:
        return () if self.item is None else (self.arm, self.item)

    def __iter__(self) -> Iterator[Any]:
        if not self._former:
            return super().__iter__()
        warn_former(self._ADVICE)
        return iter(self._former)

    def __getitem__(self, key: Any) -> Any:
        size = len(self._former)
        if not isinstance(key, int) or not -size <= key < size:
            return super().__getitem__(key)
        warn_former(self._ADVICE)
        return self._former[key]

    def __repr__(self) -> str:
        more = "" if self.item is None else f", item={self.item!r}"
        more += f", id={self.id!r}" if self.id else ""
        return f"Ticket({self.arm!r}{more})"


class Receipt(NamedTuple):
    """What `tell` did: numbers of the new results, how many were known, whether it stopped.

    ``exact`` says which metrics are taken for exact from these results on, or no longer are.
    The rest is for studies: ``warnings`` has a sentence for each value that is too far from
    the others to be noise, ``held`` are the results that wait for confirmation now because of
    these: new ones, and earlier ones of an arm that they contradict. ``waits`` is the number
    of the event, if it is a change that another person has to confirm; ``released`` are
    results that were held and count after a change, because nothing contradicts them any
    more; ``skipped`` are the lines of a file that were left out.
    """

    numbers: tuple[int, ...]
    known: int
    stopped: bool
    warnings: tuple[str, ...] = ()
    held: tuple[int, ...] = ()
    waits: int | None = None
    released: tuple[int, ...] = ()
    skipped: tuple[str, ...] = ()
    exact: str = ""

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return tuple.__getitem__(self, key)
        warn_former(
            f"tell returns a receipt, not a dict: write receipt.{_FIELDS.get(key, key)}"
        )
        if key == "recorded":
            return len(self.numbers)
        if _FIELDS.get(key, key) not in self._fields:
            raise KeyError(key)
        found = getattr(self, _FIELDS.get(key, key))
        return list(found) if isinstance(found, tuple) else found


_FIELDS = {"results": "numbers", "recorded": "numbers"}  # of the dict of earlier versions
