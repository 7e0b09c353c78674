"""Tickets and receipts: the same in sessions and in studies, and texts wherever texts go."""

from __future__ import annotations

import copy
import csv
import io
import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psips import Problem, Receipt, Session, Study, Ticket
from psips.errors import InputError, quote

ARMS = ["small", "large"]
PLAIN = Problem(objectives=["score", "speed"], arms=ARMS, name="models")
SHARED = Problem(objectives=["score", "speed"], arms=ARMS, items=True, name="models")


def study(problem: Problem = PLAIN) -> Study:
    return Study.create(problem, "sqlite://", seed=1)


KINDS = {
    "session": lambda: Session(PLAIN, seed=1).ask(),
    "session with items": lambda: Session(SHARED, seed=1).ask(),
    "study": lambda: study().ask(),
    "study with items": lambda: study(SHARED).ask(),
    "server": lambda: Ticket("small", "1", "models-000001"),
}


@pytest.fixture(params=KINDS)
def ticket(request: pytest.FixtureRequest) -> Ticket:
    return KINDS[request.param]()


def test_a_ticket_is_the_text_of_its_arm(ticket: Ticket) -> None:
    """Warnings for former names are errors here, so nothing takes a ticket to pieces."""
    assert type(ticket.arm) is type(str(ticket)) is str
    assert ticket.arm == str(ticket) == f"{ticket}" == "small"
    assert f"{ticket:>7}|{ticket!s}|%s" % ticket == "  small|small|small"
    assert "-".join([ticket, ticket]) == "small-small"
    assert ticket + "!" == "small!"
    assert (ticket.upper(), ticket[1:3], ticket.split("a"), len(ticket)) == (
        *("SMALL", "ma", ["sm", "ll"]),
        5,
    )
    assert sorted([ticket, "large"]) == ["large", "small"]
    assert quote(ticket) == "'small'"
    with pytest.raises(InputError, match="unknown arm 'small'"):
        Problem(objectives=["score"], arms=["a", "b"]).arm_index(ticket)


def test_a_ticket_is_a_key_like_its_arm(ticket: Ticket) -> None:
    assert {"small": 1}[ticket] == {ticket: 1}["small"] == 1
    assert ticket in ARMS
    assert ticket in set(ARMS)
    assert ARMS.index(ticket) == [ticket].index("small") == 0
    assert ticket == "small"
    assert "small" == ticket  # noqa: SIM300
    assert ticket != "large"
    assert not ticket != "small"  # noqa: SIM202


def test_a_ticket_is_written_as_its_arm(ticket: Ticket) -> None:
    assert json.dumps([ticket, {ticket: ticket}]) == '["small", {"small": "small"}]'
    file = io.StringIO()
    csv.writer(file).writerow([ticket, 1])
    assert file.getvalue() == "small,1\r\n"


def test_arrays_and_tables_take_tickets_for_texts(ticket: Ticket) -> None:
    array = np.array([ticket, "large", ticket])
    assert array.shape == (3,)
    assert array.dtype.kind == "U"
    assert (array == ticket).tolist() == (array == "small").tolist() == [True, False, True]
    assert np.array(ticket).shape == ()
    frame = pd.DataFrame({"arm": [ticket, "large", ticket], "score": [1.0, 2.0, 4.0]})
    assert frame["arm"].tolist() == ["small", "large", "small"]
    assert frame[frame["arm"] == "small"]["score"].sum() == 5.0
    assert frame.groupby("arm")["score"].sum().to_dict() == {"small": 5.0, "large": 2.0}
    assert frame["arm"].map({"small": 3, "large": 4}).tolist() == [3, 4, 3]
    assert frame.set_index("arm").loc["small", "score"].tolist() == [1.0, 4.0]
    assert frame.to_csv(index=False).splitlines()[1] == "small,1.0"
    frame = frame.assign(speed=frame["score"])
    assert Session(PLAIN, seed=1).tell(frame).numbers == (1, 2, 3)
    assert study().tell(frame).numbers == (1, 2, 3)


def test_copies_are_the_same_ask(ticket: Ticket) -> None:
    for twin in (copy.copy(ticket), copy.deepcopy(ticket), pickle.loads(pickle.dumps(ticket))):
        assert type(twin) is type(ticket)
        assert twin == ticket
        assert hash(twin) == hash(ticket)
        assert (twin.arm, twin.item, twin.id) == (ticket.arm, ticket.item, ticket.id)
        assert getattr(twin, "asked", "") == getattr(ticket, "asked", "")


def test_two_tickets_are_equal_if_they_are_the_same_ask() -> None:
    first = Ticket("small", "1", "t-1")
    assert first == Ticket("small", "1", "t-1")
    assert first != Ticket("small", "1", "t-2")
    assert first != Ticket("small", "2", "t-1")
    assert first != Ticket("large", "1", "t-1")
    tickets = study().ask(6)
    assert len(set(tickets)) == 6
    assert len({ticket.arm for ticket in tickets}) == 2


def test_what_a_ticket_shows() -> None:
    assert repr(Ticket("small")) == "Ticket('small')"
    assert repr(Ticket("small", "1", "t-1")) == "Ticket('small', item='1', id='t-1')"


@pytest.mark.parametrize("problem", [PLAIN, SHARED], ids=["plain", "items"])
def test_the_same_loop_in_a_session_and_in_a_study(problem: Problem) -> None:
    rng = np.random.default_rng(1)
    session, kept = Session(problem, seed=1), study(problem)
    for number in range(1, 25):
        one, other = session.ask(), kept.ask()
        assert (one.arm, one.item) == (other.arm, other.item)
        values = rng.normal(size=2)
        receipt = session.tell(one, values)
        assert isinstance(receipt, Receipt)
        assert receipt == kept.tell(other, values)
        assert receipt.numbers == (number,)
        assert not receipt.known
    one, other = session.ask(3), kept.ask(3)
    assert [(t.arm, t.item) for t in one] == [(t.arm, t.item) for t in other]
    session.cancel(one[1])
    kept.cancel(other[1])
    assert sum(session.pending.values()) == len(kept.open_tickets()) == 2
    one, other = session.ask(), kept.ask()
    assert (one.arm, one.item) == (other.arm, other.item)


def test_receipts_of_a_session() -> None:
    session = Session(PLAIN, seed=1)
    table = pd.DataFrame({"arm": ARMS, "score": [1.0, 2.0], "speed": [3.0, 4.0]})
    assert session.tell(table) == Receipt((1, 2), 0, False)
    assert session.tell(table.iloc[:0]) == Receipt((), 0, False)
    assert (
        session.tell("small", [1.5, 3.0]).exact == "'speed' repeats exactly: treated as exact"
    )
    assert session.tell("small", [1.25, 3.0]).exact == ""
    assert "it has noise" in session.tell("small", [1.0, 3.5]).exact
    twin = Session.restore(session.snapshot())
    assert twin.tell("large", [1.0, 2.0]).numbers == (6,)
    certain = Problem(objectives=["score"], covariance=[1.0], arms=ARMS)
    session = Session(certain, seed=1)
    stops = [session.tell(ARMS[k % 2], 9.0 * (k % 2)).stopped for k in range(8)]
    assert not stops[0]
    assert stops[-1]


def test_a_session_takes_the_item_of_the_ticket() -> None:
    session = Session(SHARED, seed=1)
    first, second, third = session.ask(3)
    session.tell(third, [1.0, 2.0])
    session.tell(first, [1.0, 2.0], item=first.item)
    with pytest.raises(InputError, match=f"the ticket is for item '{second.item}', not 'x'"):
        session.tell(second, [1.0, 2.0], item="x")
    with pytest.raises(InputError, match=f"the ticket is for item '{second.item}', not 'x'"):
        session.cancel(second, item="x")
    assert session.to_frame()["item"].tolist() == [third.item, first.item]
    assert sum(session.pending.values()) == 1
    session.cancel(second, again=False)
    assert second not in session.ask(4)
    with pytest.raises(InputError, match="the problem has no items, got '1'"):
        Session(PLAIN, seed=1).tell(first, [1.0, 2.0])


def test_a_study_takes_a_ticket_wherever_it_takes_an_id() -> None:
    kept = study(SHARED)
    a, b, c, d = kept.ask(4)
    kept.tell(a, [1.0, 2.0])
    kept.tell(values=[1.0, 2.0], ticket=b)
    assert kept.tell_many([{"ticket": c, "score": 1.0, "speed": 2.0}]).numbers == (3,)
    kept.correct([3.0, 4.0], ticket=a)
    kept.withdraw(ticket=b)
    kept.cancel(d)
    with pytest.raises(InputError, match=f"ticket '{a.id}' has a result"):
        kept.cancel(a)
    with pytest.raises(InputError, match=f"ticket '{c.id}' is for item '{c.item}', not 'x'"):
        kept.tell(c, [1.0, 2.0], item="x")
    assert [t.state("9") for t in (a, b, c, d)] == ["told", "told", "told", "cancelled"]
    assert [r.values for r in kept.told] == [(3.0, 4.0), (1.0, 2.0), (1.0, 2.0)]
    payloads = json.dumps([event.payload for event in kept.events()])
    assert payloads.count(a.id) == 2  # asked, told: changes name the result
    session_ticket = Ticket("large", "extra")
    assert kept.tell(session_ticket, [5.0, 6.0]).numbers == (4,)
    assert (kept.told[3].arm, kept.told[3].item, kept.told[3].ticket) == (
        *("large", "extra"),
        None,
    )
    with pytest.raises(InputError, match="unknown ticket 'large'"):
        kept.cancel(session_ticket)
    assert kept.verify().problems == ()
    session = Session(SHARED, seed=1)
    session.tell(a, [1.0, 2.0])  # the ticket of a study, in a session
    assert session.to_frame()["item"].tolist() == [a.item]


def test_a_ticket_of_a_study_says_what_became_of_it() -> None:
    kept = study()
    ticket = kept.ask(expires=60.0)
    assert list(ticket.to_dict()) == ["id", "arm", "asked", "expires", "result", "cancelled"]
    assert ticket.expires is not None
    assert [ticket.state(ticket.asked), ticket.state(ticket.expires)] == ["open", "expired"]
    kept.tell(ticket, [1.0, 2.0])
    assert ticket.to_dict() == kept.tickets[0].to_dict()
    assert ticket.result == 1


@pytest.mark.parametrize(
    ("items", "names", "asked"),
    [(3, "123", "1122"), (["q"], "q", "qq"), (True, "", "1122")],
)
def test_items_of_a_problem(items: Any, names: str, asked: str) -> None:
    problem = Problem(objectives=["score"], arms=ARMS, items=items)
    assert (problem.items, problem.has_items) == (tuple(names), True)
    assert [ticket.item for ticket in Session(problem, seed=1).ask(4)] == list(asked)


@pytest.mark.parametrize("items", [0, -1, 10**9, "q1", None])
def test_items_that_are_none(items: Any) -> None:
    with pytest.raises(InputError, match="items"):
        Problem(objectives=["score"], arms=ARMS, items=items)
