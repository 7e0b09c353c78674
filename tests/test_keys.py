"""Keys of events, which callers choose or which are made, and keys of a study's design."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from psips import InputError, Problem, Study
from psips.study.conduct import Conduct
from psips.study.people import read_key


@pytest.mark.parametrize("key", ["k", "visit 12", "Besuch über 3 €", "x" * 100])
def test_a_key_is_taken_as_it_is(key: str) -> None:
    assert read_key(key) == key


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("", "a key has 1 to 100 printable characters, got ''"),
        ("x" * 101, "a key has 1 to 100 printable characters, got 'x"),
        ("two\nlines", r"printable characters, got 'two\\nlines'"),
        ("\x1b[31m", r"printable characters, got '\\x1b\[31m'"),
        ("a\0b", "a key must not hold the character NUL"),
        ("\ud800", "a key must be text that UTF-8 can write"),
        ("x" * 2001, "a key has at most 2000 characters, got 2001"),
    ],
)
def test_a_key_that_is_refused(key: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as error:
        read_key(key)
    assert len(str(error.value)) < 200


def test_keys_that_are_made_differ() -> None:
    made = {read_key(None) for _ in range(200)}
    assert len(made) == 200
    assert all(re.fullmatch("[0-9a-f]{16}", key) for key in made)


def test_events_carry_their_keys_and_remember_them(tmp_path: Path) -> None:
    problem = Problem(objectives=["a"], covariance=[1.0], arms=["A", "B"])
    url = f"sqlite:///{tmp_path}/psips.db"
    study = Study.create(problem, url, name="trial", seed=1)
    tickets = study.ask(2, key="round 1")
    receipt = study.tell(tickets[0], [1.0], key="visit 1")
    study.tell(tickets[1], [2.0])
    again = Study.open("trial", store=url)
    assert again.ask(2, key="round 1") == tickets
    assert again.tell(tickets[0], [1.0], key="visit 1") == receipt
    with pytest.raises(InputError, match="the key 'visit 1' is that of another event, number"):
        again.tell(tickets[0], [1.5], key="visit 1")
    keys = [event.payload["key"] for event in again.events()]
    assert keys[1:3] == ["round 1", "visit 1"]
    assert len(keys) == len(set(keys)) == 4


@pytest.mark.parametrize("name", ["hold", "reasons", "two_people"])
def test_every_key_of_a_design_is_read(name: str) -> None:
    usual = Conduct.read({})
    assert usual == Conduct(10.0, False, False)
    given = {"hold": 7, "reasons": True, "two_people": True}[name]
    found = Conduct.read({name: given})
    assert found != usual
    assert found == Conduct(**{name: given})
    assert Conduct.read(found.to_dict()) == found


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"resons": True}, "unknown key of the study 'resons': did you mean 'reasons'"),
        ({"hold": 4.99}, "hold must be a number of standard deviations of at least 5"),
        ({"hold": 1e9}, "hold must be a number of standard deviations"),
        ({"hold": True}, "hold must be a number of standard deviations"),
        ({"reasons": 1}, "reasons must be true or false, got '1'"),
        ({"two_people": "yes"}, "two_people must be true or false, got 'yes'"),
    ],
)
def test_a_key_of_a_design_that_is_refused(given: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        Conduct.read(given)
    assert Conduct.read({"hold": 5}).hold == 5.0
