"""A sampling rule and a stopping rule of one's own: a kernel and a line in a table each."""

from __future__ import annotations

import sys

import pytest

from psips import Problem, Session, simulate
from psips.environments import environment_of
from psips.instances import instance
from psips.kernels.choosing import opening
from psips.kernels.jit import step
from psips.kernels.outcome import STOPPED
from psips.kernels.state import Run
from psips.rules import SAMPLING, STOPPING, Rule, Rules


@step
def choose_last(run: Run) -> int:
    """Pull the last arm, for ever."""
    arm = opening(run)
    if arm < 0:
        arm = run.scene.model.K - 1
        run.learner.pending[arm] += 1.0
    return arm


@step
def judge_fifty(run: Run) -> int:
    """Stop after fifty results of the last arm."""
    enough = run.scene.belief.pulls[run.scene.model.K - 1] >= 50.0
    run.outcome[STOPPED] = 1.0 if enough else 0.0
    return 0


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psips.kernels.of_a_test", sys.modules[__name__])
    chosen = Rule("the last arm, for ever", "of_a_test:choose_last", own="fifty")
    monkeypatch.setitem(SAMPLING, "last", chosen)
    monkeypatch.setitem(STOPPING, "fifty", Rule("fifty of it", "of_a_test:judge_fifty"))


@pytest.mark.usefixtures("own")
def test_rules_of_ones_own() -> None:
    problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B", "C"])
    session = Session(problem, sampling="last", rng=1)
    assert session.rules.stopping == "fifty"
    asked = []
    while not session.stopped:
        asked.append(session.ask())
        session.tell(asked[-1], [float(len(asked))])
    assert asked == ["A", "B"] + ["C"] * 50


@pytest.mark.usefixtures("own")
def test_they_run_in_simulations() -> None:
    made = instance("near-tie", gap=1.0)
    found = simulate(made.problem, environment_of(made), rules=Rules(sampling="last"), rng=1)
    assert found.results == 51
