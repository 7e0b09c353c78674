"""Held results are judged again when what they contradicted is changed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from psips.cli import main
from psips.problem import Problem
from psips.store import DatabaseStore, open_store
from psips.study import Receipt, Study, transfer

EXAMPLES = Path(__file__).parent / "examples"
MEANS = {"A": (2.0, 1.0), "B": (1.0, 0.5), "C": (0.0, 2.0), "D": (1.5, 3.0)}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DatabaseStore]:
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", create=True) as opened:
        yield opened


def contradiction(store: DatabaseStore, **conduct: object) -> Study:
    """A study whose results 1 and 5, of arm A, contradict each other."""
    problem = Problem(
        objectives={"gain": "max", "cost": "min"}, covariance=[1.0, 0.5], arms=list(MEANS)
    )
    study = Study.create(problem, store, name="trial", seed=3, conduct=conduct, user="Ann")
    for arm in MEANS:
        study.tell(arm, MEANS[arm])
    receipt = study.tell("A", [60.0, 1.0], key="far")
    assert receipt.held == (1, 5)  # no one knows which of the two is wrong
    assert study.tell("A", [60.0, 1.0], key="far").held == (1, 5)
    return study


def held(study: Study) -> list[int]:
    """Numbers of the held results: here, for another process and by replay, all the same."""
    numbers = [result.number for result in study.held]
    assert [r.number for r in Study.open("trial", study.store).held] == numbers
    assert study.verify().problems == ()
    study.replayed()
    assert [result.number for result in study.held] == numbers
    assert study.state.session.results == sum(result.counts for result in study.told)
    return numbers


Change = Callable[[Study], Receipt]


@pytest.mark.parametrize(
    ("change", "released", "still"),
    [
        (lambda study: study.correct([2.2, 1.0], result=5), (1,), []),
        (lambda study: study.correct([60.3, 1.0], result=1), (5,), []),
        (lambda study: study.withdraw(result=5), (1,), []),
        (lambda study: study.withdraw(result=1), (), [5]),  # far from every other arm
        (lambda study: study.correct([61.0, 1.0], result=5), (), [1]),
        (lambda study: study.confirm(result=5), (), [1]),
    ],
)
def test_a_result_is_released_with_what_it_contradicted(
    store: DatabaseStore, change: Change, released: tuple[int, ...], still: list[int]
) -> None:
    study = contradiction(store)
    assert change(study).released == released
    assert held(study) == still


def test_a_result_that_agrees_with_a_confirmed_one_is_released(store: DatabaseStore) -> None:
    study = contradiction(store)
    assert study.tell("A", [2.1, 1.0]).held == ()  # agrees with the first
    assert study.tell("A", [60.5, 1.0]).held == (5, 7)
    assert study.confirm(result=5).released == (7,)
    assert held(study) == []


def test_a_change_that_waits_releases_nothing(store: DatabaseStore) -> None:
    study = contradiction(store, two_people=True)
    receipt = study.correct([2.2, 1.0], result=5)
    assert receipt.released == ()
    assert held(study) == [1, 5]
    other = Study.open("trial", store, user="Ben")
    assert other.confirm(event=receipt.waits).released == (1,)
    assert held(study) == []


def test_a_first_result_that_is_put_in_doubt_is_named(store: DatabaseStore) -> None:
    problem = Problem(objectives=["gain"], covariance=[1.0], arms=["A", "B", "C"])
    study = Study.create(problem, store, name="trial", seed=3)
    study.tell("A", 90.0)
    assert study.tell("B", 1.0).held == (2,)
    assert study.tell("B", 1.1).held == (1,)  # B is as it seems, so A is in doubt
    assert held(study) == [1]


def test_events_of_schema_2_mean_what_they_meant(store: DatabaseStore) -> None:
    file = EXAMPLES / "schema-2-held.json"
    kept = json.loads(file.read_text())
    name, head = transfer.import_export(store, file)
    study = Study.open(name, store)
    assert head == kept["events"][-1]["hash"]
    objectives = study.problem.objectives
    assert [result.to_dict(objectives) for result in study.told] == kept["results"]
    assert [result.number for result in study.held] == [1]
    assert study.correct([2.1, 1.0], result=5).released == (1,)  # an event of today's schema


def test_what_is_said_of_held_results_fits_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arm = "an arm with a name that is longer than any column of a table may be"
    objectives = ", ".join(f'{{name = "o{c}", variance = 1.0}}' for c in range(6))
    text = f'name = "trial"\narms = ["{arm}", "B"]\nseed = 1\nobjectives = [{objectives}]\n'
    (tmp_path / "design.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PSIPS_USER", "a person whose name is longer than that of most people")

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["psips", "study", *words])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code in (None, 0)
        return capsys.readouterr().out

    def tell(number: str) -> str:
        values = [word for c in range(6) for word in ("--value", f"o{c}={number}")]
        return run("tell", "trial", "--arm", arm, *values)

    run("create", "design.toml")
    tell("-1.23456789")
    told, status = tell("-123456.789"), run("status", "trial")
    changed = run("correct", "trial", "--result", "2", "--value", "o0=1", *_rest())
    for said in (told, status):
        assert "held, does not count: result 1 of" in said
        assert "held, does not count: result 2 of" in said
    assert "result 1 counts again: nothing contradicts it any more" in changed
    assert max(map(len, f"{told}{status}{changed}".splitlines())) <= 80


def _rest() -> list[str]:
    return [word for c in range(1, 6) for word in ("--value", f"o{c}=-1")]
