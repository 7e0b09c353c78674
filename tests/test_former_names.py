"""Names of earlier versions go on working for one, each with a warning that says how."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from psips import Problem, Receipt, Session, Study, Ticket
from psips.errors import InputError
from psips.input.former_names import FormerNameWarning
from psips.problem.problem_file import read_problem_file
from psips.rules import Rules
from psips.web.client import Client

ARMS = ["small", "large"]
SHARED: dict[str, Any] = {"objectives": ["score"], "arms": ARMS, "name": "models"}


def session() -> Session:
    return Session(Problem(**SHARED, items=True), seed=1)


def study() -> Study:
    return Study.create(Problem(**SHARED, items=True), "sqlite://", seed=1)


@contextmanager
def warned(words: str) -> Iterator[None]:
    """Expect one warning, of a kind that Python shows to developers, at a line of this file."""
    with pytest.warns(DeprecationWarning, match=words) as caught:
        yield
    assert {Path(one.filename).name for one in caught} == {Path(__file__).name}
    assert {one.category for one in caught} == {FormerNameWarning}


def test_an_ask_with_items_was_a_pair() -> None:
    words = "one ticket, not a pair: write ticket.arm and ticket.item"
    one, now = session(), session()
    with warned(words):
        arm, item = one.ask()
    ticket = now.ask()
    assert (arm, item) == (ticket.arm, ticket.item)
    assert type(arm) is str
    with warned(words):
        assert [f"{arm} {item}" for arm, item in one.ask(3)] == [
            f"{ticket.arm} {ticket.item}" for ticket in now.ask(3)
        ]
    with warned(words):
        assert ticket[0] == arm
    with warned(words):
        assert ticket[-1] == item
    with warned(words):
        assert (arm, item) in [ticket]
    with warned(words):
        assert ticket != (arm, "another")
    assert ticket[2:] == "all"


def test_an_ask_without_items_was_a_text() -> None:
    """It is one still: its letters are letters, without a warning."""
    ticket = Session(Problem(**SHARED), seed=1).ask()
    assert list(ticket) == list("small")
    assert ticket[0] == "s"


def test_an_ask_of_a_study_was_a_list() -> None:
    words = (
        r"one ticket, not a list: write ticket = study.ask\(\), or study.ask\(1\) for a list"
    )
    kept = study()
    with warned(words):
        (ticket,) = kept.ask()
    assert ticket is kept.tickets[0]
    with warned(words):
        for ticket in kept.ask():
            assert ticket is kept.tickets[1]
    with warned(words):
        assert kept.ask()[0] is kept.tickets[2]
    with warned(words):
        assert kept.ask()[-1] is kept.tickets[3]
    assert [ticket.id for ticket in kept.ask(1)] == [kept.tickets[4].id]


def test_items_were_blocks() -> None:
    with warned("blocks= is called items= now"):
        problem = Problem(**SHARED, blocks=["q1", "q2"])
    assert problem == Problem(**SHARED, items=["q1", "q2"])
    with warned("blocks= is called items= now"):
        assert Problem(**SHARED, blocks=False) == Problem(**SHARED)
    with warned("problem.blocks is called problem.has_items"):
        assert problem.blocks
    with pytest.raises(InputError, match="blocks= is the former name of items=: give items="):
        Problem(**SHARED, blocks=True, items=True)


@pytest.mark.parametrize("made", [session, study])
def test_an_item_was_a_block(made: Any) -> None:
    one = made()
    with warned("block= is called item= now"):
        one.tell("small", 1.0, block="q1")
    assert one.to_frame()["item"].tolist() == ["q1"]
    with pytest.raises(InputError, match="block= is the former name of item=: give item="):
        one.tell("small", 1.0, block="q1", item="q1")


def test_an_item_that_was_cancelled_was_a_block() -> None:
    one = session()
    ticket, _, other = one.ask(3)
    with warned("block= is called item= now"):
        one.cancel("small", block=ticket.item)
    assert one.items.asked(0) == [other.item]  # type: ignore[union-attr]


def test_the_words_of_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, Any]] = []
    answers: dict[str, Any] = {
        "": {"studies": [{"study": "models"}]},
        "tell": {
            **{"recorded": 1, "results": [7], "known": 0, "stopped": False},
            **{"warnings": ["far"], "held": [], "waits": None},
        },
        "ask": {"tickets": [{"id": "models-000001", "arm": "small", "item": "q1"}]},
        "cancel": {},
    }

    def once(_: object, __: str, path: str, body: Any) -> Any:
        sent.append((path, body))
        return answers[path.rsplit("/", maxsplit=1)[-1]]

    monkeypatch.setattr(Client, "_once", once)
    client = Client("http://127.0.0.1")
    with warned("one ticket, not a pair"):
        arm, item = client.ask()
    with warned("block= is called item= now"):
        receipt = client.tell(arm, 1.0, block=item)
    assert sent[-1][1]["ticket"] == "models-000001"
    assert receipt == Receipt((7,), 0, False, ("far",))
    old = answers["tell"]
    for key, name in {**dict.fromkeys(old, ""), "results": "numbers"}.items():
        with warned(f"a receipt, not a dict: write receipt.{name}"):
            assert receipt[key] == old[key]
    with pytest.raises(KeyError), warned("receipt"):
        receipt["nothing"]
    assert receipt[0] == (7,)  # a tuple, as receipts of studies always were
    client.ask()
    with warned("block= is called item= now"):
        client.cancel(arm, block=item)
    assert sent[-1][1]["tickets"] == ["models-000001"]


def test_constants_of_rules_were_arguments() -> None:
    with warned(r"give tuning=\{'kappa': 3.0\}"):
        assert Rules(kappa=3.0).tuning.kappa == 3.0


def test_problem_files_with_blocks_are_read_without_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    text = 'arms = ["A", "B"]\nobjectives = ["score"]\n'
    found = {}
    for key in ("items", "blocks"):
        for value in ("true", '["q1", "q2"]', "2", "false"):
            path.write_text(f"{text}{key} = {value}\n")
            found.setdefault(value, []).append(read_problem_file(path).problem)
    assert all(one == other for one, other in found.values())
    assert [one.has_items for one, _ in found.values()] == [True, True, True, False]
    path.write_text(f"{text}items = true\nblocks = true\n")
    with pytest.raises(InputError, match="'blocks' is the former name of 'items': remove"):
        read_problem_file(path)


def test_what_is_recorded_keeps_its_names() -> None:
    problem = Problem(**SHARED, items=["q1", "q2"])
    data = json.loads(json.dumps(problem.to_dict()))
    assert data["blocks"] == ["q1", "q2"]
    assert "items" not in data
    assert Problem.from_dict(data) == problem
    asked = study()
    asked.ask()
    assert set(asked.events()[1].payload["tickets"][0]) == {"id", "arm", "item"}


def test_tickets_of_another_arm_are_no_pairs() -> None:
    assert Ticket("small") != ("small", None)
    assert Ticket("small", "q1") != ["small", "q1"]
