"""Shared items: which item an arm gets next, and which were asked for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from psips.errors import InputError, quote, unknown
from psips.input.checks import read_items
from psips.input.quantities import stripped
from psips.session.restoring import require, within


class Items:
    """The items of a session in their order, and what each arm has seen of them.

    Parameters
    ----------
    arms : names
    names : list of items
        All there are; if it is empty, as many as are needed: numbers, and whatever is told.

    Examples
    --------
    >>> items = Items(["A", "B"], ["q1", "q2"])
    >>> items.next(0), items.take(0), items.next(0)
    (0, 'q1', 1)
    """

    def __init__(self, arms: Sequence[str], names: Sequence[str] = ()) -> None:
        self.finite = bool(names)
        self.names = list(names)
        self._arms = arms
        self._places = {name: i for i, name in enumerate(self.names)}
        self._told: list[set[int]] = [set() for _ in arms]
        self._open: Counter[tuple[int, int]] = Counter()  # asked for, without a result yet
        self._from = [0] * len(arms)  # all before it were seen

    def next(self, arm: int) -> int | None:
        """Place of the first item that an arm has no result of and no ask for, or None."""
        told, place = self._told[arm], self._from[arm]
        while place in told or (arm, place) in self._open:
            place += 1
        self._from[arm] = place
        return None if self.finite and place == len(self.names) else place

    def take(self, arm: int) -> str:
        """Ask for the next item of an arm, which must have one."""
        place = self.next(arm)
        if place is None:
            raise InputError(f"arm {quote(self._arms[arm])} has seen all items")
        if place == len(self.names):
            number = len(self.names) + 1
            while str(number) in self._places:
                number += 1
            self._add(str(number))
        self._open[arm, place] += 1
        return self.names[place]

    def begin(self, name: str) -> None:
        """Leave all items before this one behind: it is the next of every arm.

        For items that pass, such as rounds and days. One that is not there comes into being.
        """
        place = self.place(name)
        self._from = [self._add(name) if place < 0 else place] * len(self._arms)

    def set_open(self, asked: Iterable[tuple[int, str]]) -> None:
        """Make these the items that were asked for, by arm, and have no result yet."""
        self._open = Counter()
        for arm, name in asked:
            place = self.place(name)
            self._open[arm, self._add(name) if place < 0 else place] += 1
        self._from = [0] * len(self._arms)

    def _add(self, name: str) -> int:
        self._places[name] = len(self.names)
        self.names.append(name)
        return len(self.names) - 1

    def read(self, name: object) -> str:
        """Return the name of an item, checked; "" for None."""
        if name is None:
            return ""
        if isinstance(name, str) and name in self._places:
            return name
        return read_item(name, self.names if self.finite else ())

    def tell(self, arm: int, name: str) -> tuple[int, bool]:
        """Note a result of an arm: the place of its item, -1 for none; whether it was asked."""
        if not name:
            return -1, False
        place = self._places.get(name)
        place = self._add(name) if place is None else place
        self._told[arm].add(place)
        asked = (arm, place) in self._open
        if asked:
            self._close(arm, place)
        return place, asked

    def _close(self, arm: int, place: int) -> None:
        self._open[arm, place] -= 1
        if not self._open[arm, place]:
            del self._open[arm, place]

    def cancel(self, arm: int, name: str) -> None:
        """Take back an ask; the arm meets the item again, unless it was measured on it."""
        place = self.place(name)
        if (arm, place) not in self._open:
            raise InputError(
                f"arm {quote(self._arms[arm])} was not asked for item {quote(name)}, so "
                f"there is no ask to take back"
            )
        self._close(arm, place)
        self._from[arm] = min(self._from[arm], place)

    def leave_out(self, arm: int, name: str) -> None:
        """Never ask an arm for an item (again): there will be no result of it."""
        place = self.place(name)
        if (arm, place) in self._open:
            self._close(arm, place)
        self._told[arm].add(place)

    def exchange(self, ask: tuple[int, str], other: tuple[int, str]) -> None:
        """Let an arm and its item have been asked for instead of another ask."""
        self.cancel(*ask)
        arm, name = other
        place = self.place(name)
        self._open[arm, self._add(name) if place < 0 else place] += 1

    def asked(self, arm: int) -> list[str]:
        """Items that an arm was asked for and has no result of, the latest last."""
        return [self.names[place] for a, place in self._open if a == arm]

    def place(self, name: str) -> int:
        """Place of an item, -1 if there is none of this name."""
        return self._places.get(name, -1)

    @property
    def all_told(self) -> bool:
        """Whether every arm was measured on every item of a list."""
        return self.finite and all(len(told) == len(self.names) for told in self._told)

    @property
    def left(self) -> float:
        """How many asks the items leave, of all arms; infinite without a list."""
        if not self.finite:
            return math.inf
        seen = sum(map(len, self._told))
        seen += sum(place not in self._told[arm] for arm, place in self._open)
        return len(self._arms) * len(self.names) - seen

    def has_more(self, arm: int) -> bool:
        """Whether there is an item that the arm has not seen."""
        return self.next(arm) is not None

    def snapshot(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {
            "names": self.names,
            "told": [sorted(told) for told in self._told],
            "open": [[arm, place, n] for (arm, place), n in self._open.items()],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over the state of ``snapshot``."""
        names = list(state["names"])
        require(all(isinstance(name, str) and name for name in names), "an item has no name")
        require(names == self.names or not self.finite, "the items are not those of the list")
        self.names = names
        self._places = {name: i for i, name in enumerate(self.names)}
        require(len(self._places) == len(names), "two items have the same name")
        self._told = [{int(place) for place in told} for told in state["told"]]
        require(len(self._told) == len(self._arms), "there are items of other arms")
        places = [*chain.from_iterable(self._told)]
        self._open = Counter()
        for arm, place, n in state["open"]:
            require(within(arm, len(self._arms)) and n > 0, "an item is asked of no arm")
            self._open[int(arm), int(place)] = int(n)
            places.append(int(place))
        require(within(places, len(names)), "an item that was met is not in the list")
        self._from = [0] * len(self._arms)


def read_item(given: object, known: Sequence[str]) -> str:
    """Return the name of an item, checked; one of those known, if there are any."""
    name = read_items([given])[0]
    if not known or name in known:
        return name
    same = [one for one in known if stripped(one) == stripped(name)]  # as files are read
    if len(same) != 1:
        raise unknown("item", name, known)
    return same[0]
