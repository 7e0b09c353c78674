"""Budgets: asks beyond them are refused, and their end claims nothing that was not earned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips import Problem, Session
from psips.errors import InputError
from psips.input.seeds import generator
from psips.problem.instances import Instance
from psips.problem.problem_file import read_problem_file
from psips.simulation import simulate
from psips.simulation.environments import GaussianEnvironment, environment_of
from psips.study import Study

TIE = np.array([[1.0, 0.0], [0.0, 1.0], [0.95, -0.05]])


def problem(**choices: Any) -> Problem:
    return Problem(objectives=["x", "y"], covariance=[1, 1], arms=["A", "B", "C"], **choices)


def tell_all(session: Session, arms: list[str], seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for arm in arms:
        session.tell(arm, TIE["ABC".index(arm)] + rng.normal(size=2))


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (-3, "the budget must be positive and finite, got -3"),
        (0, "the budget must be positive and finite, got 0"),
        (2.5, "the budget must be a whole number of results, got 2.5"),
        ("all", "the budget must be a number, got 'all'"),
        (2, "must cover the first results, without which nothing can be said, 3 results"),
    ],
)
def test_bad_budgets(budget: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        Session(problem(), budget=budget)
    with pytest.raises(InputError, match=text):
        Study.create(problem(), "sqlite://", name="b", budget=budget)


def test_budget_of_cost_must_cover_the_first_results() -> None:
    with pytest.raises(InputError, match=r"a cost of 7; got 6.5"):
        Session(problem(costs={"B": 5}), budget=6.5)
    assert Session(problem(costs={"B": 5}), budget=7.5).budget == 7.5


def test_asks_beyond_are_refused_and_results_are_taken() -> None:
    session = Session(problem(), budget=5, rng=1)
    first = session.ask(3)
    rest = session.ask(3)
    assert (len(rest), session.left) == (2, 0.0)  # as many as there is room for
    with pytest.raises(InputError, match=r"no room for 3 more .*5 results pending\): results"):
        session.ask(3)
    tell_all(session, [*first, *rest])
    with pytest.raises(InputError, match=r"the budget, 5 results, has no room for 1 more"):
        session.ask()
    assert session.exhausted
    tell_all(session, ["A", "B"])
    assert (session.results, session.spent, session.exhausted) == (7, 7.0, True)


def test_a_refused_ask_leaves_the_session_as_it_was() -> None:
    one, other = (Session(problem(), budget=40, rng=1) for _ in range(2))
    tell_all(one, one.ask(10))
    tell_all(other, other.ask(10))
    assert one.ask(31) == other.ask(30)
    with pytest.raises(InputError):
        one.ask(31)
    assert one.snapshot() == other.snapshot()


def test_the_budget_does_not_change_the_choice_before_its_end() -> None:
    free, bound = Session(problem(), rng=1), Session(problem(), budget=30, rng=1)
    for _ in range(10):
        batch = free.ask(3)
        assert bound.ask(3) == batch
        tell_all(free, batch)
        tell_all(bound, batch)


@pytest.mark.parametrize("n", [1, 4])
def test_cost_never_exceeds_the_budget(n: int) -> None:
    """The expensive arm no longer fits near the end: cheaper ones are pulled instead."""
    session = Session(problem(costs=[1.0, 10.0, 1.0]), budget=57, rng=1)
    while session.left >= n:
        tell_all(session, session.ask(n))
        assert session.spent <= 57
    assert 57 - n < session.spent <= 57


@pytest.mark.parametrize("costs", [None, [1.0, 10.0, 2.5]])
def test_simulation_is_the_session(costs: Any) -> None:
    one = problem(costs=costs)
    environment = GaussianEnvironment(one, TIE)
    run = simulate(one, environment, rng=7, budget=60, stopping="never")
    rng = generator(7)
    session = Session(one, rng=rng, budget=60, stopping="never")
    trial = environment.start(rng)
    while not session.exhausted:
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
    assert (run.pulls, run.cost, run.stopped) == (session.pulls, session.spent, False)
    assert run.pareto_set is None
    assert run.cost <= 60


def test_the_end_says_what_is_proven_and_open() -> None:
    truth = np.array([[9.0, -9.0], [0.0, 1.0], [0.05, 0.95]])
    made = Instance("", problem(), truth)
    run = Session(problem(), budget=60, rng=3)
    trial = environment_of(made).start(3)
    while not run.exhausted:
        arm = run.ask()
        run.tell(arm, trial.pull(arm))
    assert not run.stopped
    assert run.pareto_set is None
    found = run.status().outlook
    assert found is not None
    assert found.proven_in == ("A",)
    assert set(found.open) == {"B", "C"}
    assert 0.0 < found.probability < 0.99
    assert found.further_budget == 6
    assert sum(found.further.values()) == 6
    assert found.further.get("A", 0) <= 2  # the tie is where it informs most
    assert found.closing_cost == sum(found.closing.values()) > 60
    text = " ".join(str(run.status()).split())
    assert "only what is proven is claimed. Proven optimal: A." in text
    assert "Best use of 6 results more:" in text
    assert json.loads(json.dumps(found.to_dict()))["proven_in"] == ["A"]


def test_the_outlook_leaves_the_session_as_it_was() -> None:
    one, other = (Session(problem(), budget=20, rng=1) for _ in range(2))
    for session in (one, other):
        tell_all(session, session.ask(20))
    one.status()
    assert one.snapshot() == other.snapshot()
    twin = Session.restore(json.loads(json.dumps(one.snapshot())))
    assert twin.budget == 20
    assert twin.exhausted


def test_studies_count_what_is_withdrawn() -> None:
    study = Study.create(problem(), "sqlite://", name="b", seed=1, budget=6)
    tickets = study.ask(4)
    for ticket in tickets:
        study.tell(ticket, TIE["ABC".index(ticket.arm)])
    study.withdraw(result=4, reason="spilt")
    assert len(study.ask(2)) == 2
    with pytest.raises(InputError, match=r"4 results told, 2 results pending"):
        study.ask()
    study.cancel(study.tickets[-1].id)
    again = study.ask()
    study.tell(study.tickets[4], [0.0, 0.0])
    study.tell(again, [0.0, 0.0])
    known = study.status()
    assert (known.spent, known.results) == (6.0, 5)
    assert known.outlook is not None
    assert study.verify().problems == ()
    assert study.events()[0].payload["budget"] == 6.0


def test_in_files(tmp_path: Path) -> None:
    head = 'arms = ["A", "B"]\nobjectives = [{name = "yield", variance = 1.0}]\n'
    (tmp_path / "a.toml").write_text(head + "budget = 30\n")
    assert read_problem_file(tmp_path / "a.toml").budget == 30
    (tmp_path / "b.toml").write_text(head + "budget = -1\n")
    with pytest.raises(InputError, match=r"b.toml: the budget must be positive"):
        read_problem_file(tmp_path / "b.toml")
    study = Study.create(tmp_path / "a.toml", "sqlite://", seed=1)
    assert len(study.ask(31)) == 30
    with pytest.raises(InputError, match="30 results, has no room for 2 more"):
        study.ask(2)
