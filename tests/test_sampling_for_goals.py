"""Sampling aims at the goal: it takes fewer results, and without a goal nothing changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from psips import Problem, Session
from psips.problem.instances import Instance
from psips.rules import SAMPLING, Rules
from psips.simulation import simulate
from psips.simulation.environments import environment_of
from psips.simulation.runs import Run, verdicts_right
from psips.state.codes import SETTLE

# Two pairs: A beats B clearly; C and D nearly tie, far away from both.
MEANS = np.array([[0.0, 3.0], [-0.8, 2.2], [3.0, 0.0], [2.95, -0.05]])
RUNS = 20


def made(**choices: object) -> Instance:
    problem = Problem(
        objectives=["x", "y"],
        **{"covariance": [1, 1], "arms": list("ABCD"), "control": "B", **choices},
    )
    return Instance("", problem, MEANS)


def runs(one: Instance, goal: str | None, count: int = RUNS) -> list[Run]:
    known = replace(one, problem=made().problem)
    return [
        simulate(one.problem, environment_of(known), rng=seed, goal=goal, max_results=20_000)
        for seed in range(count)
    ]


def mean(found: list[Run]) -> float:
    return float(np.mean([run.results for run in found]))


@pytest.mark.parametrize("goal", ["1 optimal", "settle A", "settle B", "beat control"])
def test_a_goal_takes_less_than_half_of_what_the_whole_set_would(
    goal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = made()
    aimed = runs(one, goal)
    monkeypatch.setitem(SAMPLING, "directed", replace(SAMPLING["directed"], seeking=""))
    plain = runs(one, goal)
    assert all(run.stopped and verdicts_right(one, run) for run in (*aimed, *plain))
    assert mean(aimed) < 0.5 * mean(plain)
    assert [run.results for run in aimed] != [run.results for run in plain]


def test_pulls_go_to_those_who_bear_on_it() -> None:
    for run in runs(made(), "settle B", 5):
        others = run.pulls["C"] + run.pulls["D"]
        assert others < 0.5 * run.results  # what is forced
        assert run.pulls["A"] + run.pulls["B"] > 0.5 * run.results


def test_an_expensive_arm_is_spared() -> None:
    """The answer asked for costs fifty times its rival: more is spent on the rival's pulls."""
    dear = made(costs={"A": 1.0, "B": 50.0, "C": 1.0, "D": 1.0})
    cheap, other = runs(dear, "settle B", 5), runs(made(), "settle B", 5)
    share = [np.mean([r.pulls["B"] / r.pulls["A"] for r in each]) for each in (cheap, other)]
    assert share[0] < 0.6 * share[1]


def test_noise_that_is_estimated() -> None:
    one = made(covariance="per-arm")
    for run in runs(one, "beat control", 5):
        assert run.stopped
        assert verdicts_right(one, run)
        assert run.results < 2000  # the whole set takes ten times that


def test_aiming_at_another_answer_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken aim, at C instead of B, takes as long as none."""
    right = mean(runs(made(), "settle B", 5))
    program = Rules.program

    def astray(self, problem, target=None, goal=None):  # type: ignore[no-untyped-def]
        found = program(self, problem, target, goal)
        if goal is not None and goal.kind == SETTLE:
            found.options.goal[1] = 2
        return found

    monkeypatch.setattr(Rules, "program", astray)
    assert mean(runs(made(), "settle B", 5)) > 5 * right


def test_a_session_and_a_simulation_are_one() -> None:
    one = made()
    run = runs(one, "2 optimal", 1)[0]
    rng = np.random.default_rng(0)
    session = Session(one.problem, rng=rng, goal="2 optimal")
    trial = environment_of(one).start(rng)
    while not session.stopped:
        if session.results == 50:  # restored on the way: the same arms
            session = Session.restore(session.snapshot())
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
    assert session.results == run.results
    assert {arm: session.pulls[arm] for arm in "ABCD"} == run.pulls


def test_without_a_goal_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    one = made()
    assert Rules().program(one.problem).choose == SAMPLING["directed"].step
    known = runs(one, None, 3)
    monkeypatch.setitem(SAMPLING, "directed", replace(SAMPLING["directed"], seeking=""))
    for run, other in zip(known, runs(one, None, 3), strict=True):
        assert run.pulls == other.pulls


def test_a_linear_problem_reaches_a_goal() -> None:
    from psips.problem.parameters import Ball

    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6], [-0.5, -0.5]])
    problem = Problem(
        objectives=["x", "y"],
        covariance=[0.25, 0.25],
        features=features,
        intercept=False,
        parameter_set=Ball(3.0),
    )
    one = Instance("", problem, np.array([[2.0, 0.0], [0.0, 2.0]]))
    run = simulate(problem, environment_of(one), rng=1, goal="settle arm 4", max_results=20_000)
    assert run.stopped
    assert run.verdicts is not None
    assert run.verdicts["arm 4"] == "out"
