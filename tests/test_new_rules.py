"""A sampling rule and a stopping rule of one's own, written in Python as CONTRIBUTING says: an
object and a declaration each, and they are known wherever rules are."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips import InputError, Problem, Session, Study, plots, simulate
from psips.lab.instances import instance
from psips.report import report
from psips.rules import CALIBRATION, DRAWS, SAMPLING, STOPPING, TRACKING, Rules
from psips.rules.promises import promise
from psips.rules.sampling import SamplingRule
from psips.rules.stopping import HEURISTIC, StoppingRule
from psips.session.own_rules import RuleState
from psips.simulation.environments import environment_of

ROOT = Path(__file__).parents[1]


class Last:
    """Pull the last arm, for ever."""

    def choose(self, state: RuleState) -> int:
        return len(state.pulls) - 1


class Fifty:
    """Stop after fifty results of the last arm."""

    def should_stop(self, state: RuleState) -> tuple[float, float]:
        return float(state.pulls[-1]), 50.0


LAST = SamplingRule("the last arm, for ever", Last(), own="fifty")
FIFTY = StoppingRule(
    "stops at fifty results of the last arm",
    Fifty(),
    promise=HEURISTIC,
    caption="Results of the last arm. The rule stops at fifty.",
    measured=(("heuristic", 1.0),),
)


def declare(put: Any = dict.__setitem__) -> None:
    """Do what two lines in rules/ do."""
    put(SAMPLING, "last", LAST)
    put(STOPPING, "fifty", FIFTY)


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    declare(monkeypatch.setitem)


def problem() -> Problem:
    return Problem(objectives=["yield"], covariance=[1], arms=["A", "B", "C"])


@pytest.mark.usefixtures("own")
def test_rules_of_ones_own() -> None:
    session = Session(problem(), sampling="last", rng=1)
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


@pytest.mark.usefixtures("own")
def test_status_figures_and_report_know_them() -> None:
    study = Study.create(problem(), "sqlite://", name="own", seed=1, sampling="last")
    for arm in ["A", "B"] + ["C"] * 25:
        study.tell(arm, [1.0])
    known = study.status()
    assert known.evidence == {"evidence": 25.0, "threshold": 50.0, "fraction": 0.5}
    assert known.promise == "aimed at 90% confidence, without a promise"
    drawn = plots.evidence(study)
    assert drawn.get_ylabel() == "evidence"
    evidence, threshold = (line.get_ydata() for line in drawn.get_lines())
    assert list(evidence)[-1] == 25.0
    assert set(threshold) == {50.0}
    page = report(study)
    assert f"fifty: {FIFTY.about}" in page
    assert f"last: {LAST.about}" in page
    assert FIFTY.caption in page
    assert promise(study.rules, study.problem) in page


def command(*arguments: str) -> str:
    """The command line in a process where the two rules have been declared."""
    code = "import test_new_rules as own; own.declare(); from psips.cli import main; main()"
    path = os.pathsep.join([str(ROOT / "tests"), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "300", "PYTHONPATH": path},
    )
    return done.stdout


def test_the_command_line_knows_them() -> None:
    page = " ".join(command("simulate", "--help").split())
    assert "track-and-stop or last." in page
    assert "never or fifty." in page
    found = command("simulate", "near-tie", "--gap", "1", "--sampling", "last", "--runs", "3")
    assert "stopping fifty" in found
    assert "3 of 3 runs" in found


def test_the_calibration_measures_them() -> None:
    code = (
        "import test_new_rules as own; own.declare()\n"
        "from psips.lab.calibration.measuring import RULES\n"
        "print([rule.name for rule in RULES])"
    )
    path = os.pathsep.join([str(ROOT / "tests"), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert "'fifty'" in done.stdout


def test_the_page_of_rules_has_every_rule() -> None:
    page = (ROOT / "docs" / "reference" / "rules.md").read_text()
    rows = [line for line in page.splitlines() if "| `" in line]
    by_choice = {row.split("`")[1]: row for row in rows}
    tables: dict[str, Any] = {
        "sampling": SAMPLING,
        "stopping": STOPPING,
        "calibration": CALIBRATION,
        "draws": DRAWS,
        "tracking": TRACKING,
    }
    for choice, table in tables.items():
        for name in table:
            assert f"`{name}`" in by_choice[choice]


class Says:
    """A rule that answers what it is given, or raises it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def choose(self, state: RuleState) -> Any:
        state.means[:] = state.pulls[:] = state.pending[:] = np.nan  # copies
        state.candidate_set.clear()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    should_stop = choose


BAD_ARMS = (-1, 3, 1.5, np.nan, np.inf, 10**400, True, "1", None, [1], np.array([1, 2]), 1j)
BAD_VERDICTS = (None, 1, np.nan, (np.nan, 1.0), (1.0, np.nan), (1, 2, 3), "12", (10**400, 1))


def told(monkeypatch: pytest.MonkeyPatch, chooses: Any = 0, stops: Any = False) -> Session:
    """A session whose rules answer this, in which each arm has a result."""
    monkeypatch.setitem(SAMPLING, "says", SamplingRule("answers", Says(chooses)))
    rule = replace(FIFTY, step=Says(False))
    monkeypatch.setitem(STOPPING, "says", rule)
    session = Session(problem(), sampling="says", stopping="says", rng=1)
    for arm in "ABC":
        session.tell(arm, [1.0])
    rule.step.answer = stops
    return session


@pytest.mark.parametrize("answer", BAD_ARMS, ids=repr)
def test_arms_that_are_none_are_refused(monkeypatch: Any, answer: Any) -> None:
    session = told(monkeypatch, answer)
    with pytest.raises(InputError, match=r"Says.choose\(state\) returns the number of an arm"):
        session.ask()
    assert session.pending == {"A": 0, "B": 0, "C": 0}


@pytest.mark.parametrize("answer", BAD_VERDICTS, ids=repr)
def test_verdicts_that_are_none_are_refused(monkeypatch: Any, answer: Any) -> None:
    session = told(monkeypatch, stops=answer)
    with pytest.raises(InputError, match=r"should_stop\(state\) returns True or False, or"):
        session.tell("A", [2.0])
    assert (session.results, session.stopped) == (4, False)


def test_an_error_in_a_rule_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    session = told(monkeypatch, KeyError("wrong"), ZeroDivisionError("by zero"))
    with pytest.raises(InputError, match=r"choose\(state\) raised KeyError: 'wrong'") as found:
        session.ask()
    assert isinstance(found.value.__cause__, KeyError)  # with its traceback
    with pytest.raises(InputError, match="ZeroDivisionError: by zero; the 4 results told are"):
        session.tell("A", [2.0])
    assert session.pulls == {"A": 2, "B": 1, "C": 1}
    assert np.isfinite(session.engine.means).all()
