"""How many measurements are expected moves where delta is spent, and not how much of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import tie_error_quadrature as ties
from psips import Problem, Rules, Session, Study
from psips._core import log_spent, lone_level
from psips.cli import app
from psips.errors import InputError
from psips.lab.instances import instance
from psips.problem.problem_file import read_problem_file
from psips.report import report
from psips.rules.program import window
from psips.simulation import simulate, simulate_many
from psips.simulation.comparing import read_designs
from psips.simulation.environments import environment_of
from psips.simulation.planning import rules_of

Expected = float | tuple[float, float] | None
PAIR = Problem(objectives=["gain"], covariance=[1.0], arms=["A", "B"])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (300, 300),
        (300.0, 300),
        (2.5, 2.5),
        (np.int64(40), 40),
        ((100, 1000), (100, 1000)),
        ([100.0, 100.0], (100, 100)),
        (1e300, 1e300),
        (None, None),
    ],
)
def test_numbers_and_ranges(given: Any, kept: Any) -> None:
    rules = Rules(expected_results=given)
    assert rules.expected_results == kept
    plain = json.loads(json.dumps(rules.to_dict()))
    assert ("expected_results" in plain) == (given is not None)
    assert Rules.from_dict(plain) == rules
    assert hash(Rules.from_dict(plain)) == hash(rules)
    assert replace(rules, delta=0.05).expected_results == kept


@pytest.mark.parametrize(
    "given",
    [
        *(0, 1, 1.9, -300, math.nan, math.inf, True, "300", "many", {}, {"low": 3}, b"3"),
        *((), (100,), (1000, 100), (1, 100), (100, math.inf), (100, "1000"), (3, 4, 5)),
        *((None, 100), [[100, 200]], 10**400),
    ],
)
def test_what_is_no_number_of_measurements(given: Any) -> None:
    with pytest.raises(InputError, match="a number of measurements, at least 2, or a range"):
        Rules(expected_results=given)


@pytest.mark.parametrize(
    "choices",
    [
        *({"stopping": one} for one in ("certified", "predicted", "bayes", "never")),
        *({"calibration": one} for one in ("proven", "heuristic")),
        *({"sampling": one} for one in ("posterior", "track-and-stop", "ape")),
        {"sampling": "two-stage"},  # measured, and a yardstick
        {"draws": "literal"},
    ],
)
def test_rules_that_do_not_use_it_refuse_it(choices: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"does not use expected_results=300: leave it out"):
        Rules(expected_results=300, **choices)


@pytest.mark.parametrize("more", [{"guarantee": "proven"}, {"goal": "1 optimal"}])
def test_sessions_say_it_too(more: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="does not use expected_results"):
        Session(PAIR, expected_results=300, **more)
    with pytest.raises(InputError, match="either rules or 'expected_results'"):
        Session(PAIR, rules=Rules(), expected_results=300)
    session = Session(PAIR, expected_results=300, guarantee="validated")
    assert session.rules == Rules(expected_results=300)


def test_windows() -> None:
    found: dict[Any, tuple[float, float]] = {
        (300, 3): (150, 600),
        (300, 20): (22.5, 600),
        ((100, 1000), 2): (100, 1000),
        ((100, 1000), 30): (10, 1000),
        ((300, 300), 2): (150, 600),  # a factor of 4 at least
        ((100, 144), 2): (60, 240),
        (2, 2): (2, 8),
        ((2, 2), 1000): (2, 8),
    }
    found |= {(None, h): (50 * min(h, 3), 5000 * h**0.5) for h in (1, 2, 3, 20, 10_000)}
    for (expected, h), ends in found.items():
        assert [math.exp(end) for end in window(expected, h)] == pytest.approx(ends)


def calibration(expected: Expected, delta: float, problem: Problem = PAIR) -> Any:
    rules = Rules(delta=delta, expected_results=expected)
    return rules.program(problem).options.calibration


def ends_of(found: Any) -> tuple[float, float]:
    return found.low, found.high


def asked_for(
    expected: Expected, delta: float, less: float = 0.0, K: int = 2
) -> Callable[[float], float]:
    """Return the threshold of a lone tie; ``less`` is by how much a broken one is lower."""
    problem = Problem(objectives=["gain"], covariance=[1.0], arms=K)
    found = calibration(expected, delta, problem)
    return lambda t: lone_level(log_spent(found, t, t)) - less


def test_it_reaches_the_threshold() -> None:
    for expected in (None, 30, (1000, 1e5)):
        session = Session(PAIR, expected_results=expected)
        for _ in range(20):
            session.tell("A", [3.0])
            session.tell("B", [1.0])
        threshold = session.engine.ratio()[1]
        assert threshold == pytest.approx(asked_for(expected, 0.1)(40.0))
    assert ends_of(calibration(None, 0.1)) == window(None, 2)
    features = Problem(objectives=["a"], covariance=[1.0], features=np.eye(9)[:, :6] + 1.0)
    assert ends_of(calibration(300, 0.1, features)) == window(300, 7)  # an intercept


@pytest.mark.parametrize("delta", [0.3, 0.01])
def test_it_is_lowest_where_it_is_expected_and_higher_elsewhere(delta: float) -> None:
    usual, early, late = (asked_for(one, delta) for one in (None, 40, 40_000))
    assert early(40) < usual(40) - 0.4
    assert late(40_000) < usual(40_000) - 0.4
    assert early(40_000) > usual(40_000) + 0.4
    assert late(40) > usual(40) + 0.4


WINDOWS: list[tuple[Expected, float]] = [
    (20, 1e5),
    (100, 1e6),
    ((10, 50), 1e6),
    (2, 1e5),
    ((1e5, 1e6), 1e9),
    (60_000, 1e9),
]


@pytest.mark.parametrize("delta", [0.3, 0.01])
@pytest.mark.parametrize(("expected", "most"), WINDOWS)
def test_near_ties_keep_delta_whatever_is_expected(
    expected: Expected, most: float, delta: float
) -> None:
    """They err in 0.54 to 0.993 of delta; beyond ``most`` a hundredth is left."""
    found = ties.wrong(asked_for(expected, delta), most)[round(most)]
    assert 0.5 * delta < found <= 0.995 * delta


@pytest.mark.parametrize("delta", [0.3, 0.01])
@pytest.mark.parametrize("K", [2, 3, 20, 10_000])
def test_near_ties_keep_delta_among_however_many(K: int, delta: float) -> None:
    """Measured alone from the start; they err in 0.79 to 0.93 of delta."""
    found = ties.wrong(asked_for(None, delta, K=K), 1e10)[10**10]
    assert 0.75 * delta < found < 0.95 * delta


@pytest.mark.parametrize("delta", [0.3, 0.01])
def test_a_threshold_that_is_lower_without_being_higher_elsewhere_is_seen(
    delta: float,
) -> None:
    """By as much as 100 expected measurements lower it there, and everywhere."""
    less = asked_for(None, delta)(100) - asked_for(100, delta)(100)
    assert less > 0.4
    found = ties.wrong(asked_for(None, delta, less), 1e7)[10**7]
    assert found > 1.2 * delta


def mean_results(expected: Expected, runs: int = 200, delta: float = 0.1) -> float:
    made = instance("correlated")
    found = simulate_many(made, runs=runs, seed=7, delta=delta, expected_results=expected)
    assert found.errors <= 0.05 * runs
    return float(np.mean([run.results for run in found.each]))


def test_small_experiments_take_fewer_results() -> None:
    """On common seeds: 620 by default, of which 540 are left if 620 are expected."""
    usual = mean_results(None)
    assert mean_results(620) < 0.91 * usual
    assert mean_results((200, 2000)) < 0.97 * usual
    assert usual < mean_results((1e6, 1e7), runs=100)  # elsewhere it is paid for


def test_simulations_take_it() -> None:
    made = instance("correlated")
    run = simulate(made.problem, environment_of(made), rng=1, expected_results=600)
    rules = Rules(expected_results=600)
    same = simulate(made.problem, environment_of(made), rng=1, rules=rules)
    assert run.pulls == same.pulls
    summary = simulate_many(made, runs=2, expected_results=(100, 1000), max_results=20)
    settings = json.loads(json.dumps(summary.to_dict()["settings"]))
    assert settings["rules"]["expected_results"] == [100, 1000]


@pytest.mark.parametrize("expected", [300, (100, 1000)])
def test_sessions_are_stored_with_it(expected: Expected) -> None:
    session = Session(PAIR, expected_results=expected, rng=1)
    for _ in range(5):
        session.tell(session.ask(), [1.0])
    again = Session.restore(json.loads(json.dumps(session.snapshot())))
    assert again.rules == session.rules
    assert again.engine.ratio() == session.engine.ratio()
    old = Session(PAIR, rng=1).snapshot()
    assert "expected_results" not in old["rules"]  # as in those of earlier versions
    assert Session.restore(old).rules.expected_results is None


DESIGN = """
name = "pills"
{top}
arms = ["A", "B"]
objectives = [{{name = "effect", variance = 1.0}}]
{rules}
[truth]
A = [0.0]
B = [2.0]
"""


def design(tmp_path: Path, top: str = "", rules: str = "") -> Path:
    path = tmp_path / "design.toml"
    path.write_text(DESIGN.format(top=top, rules=rules))
    return path


@pytest.mark.parametrize(
    ("top", "rules"),
    [
        ("expected_results = [30, 120]", ""),
        ("", "[rules]\nexpected_results = [30, 120.0]"),
    ],
)
def test_files_and_studies_take_it(tmp_path: Path, top: str, rules: str) -> None:
    path, store = design(tmp_path, top, rules), f"sqlite:///{tmp_path / 'a.db'}"
    assert rules_of(read_problem_file(path)).expected_results == (30, 120)
    study = Study.create(path, store=store, seed=1)
    assert study.state.rules.expected_results == (30, 120)
    assert "<td>30 to 120</td>" in report(study)
    assert Study.open("pills", store=store).state.rules == study.state.rules
    other = Study.create(path, name="other", store=store, expected_results=50)
    assert other.state.rules.expected_results == 50
    proven = Study.create(path, name="proven", store=store, guarantee="proven")
    assert proven.state.rules == Rules(stopping="predicted")
    certified = Study.create(path, name="certified", store=store, stopping="certified")
    assert certified.state.rules == Rules(stopping="certified")


def test_files_say_what_is_wrong(tmp_path: Path) -> None:
    both = design(tmp_path, "expected_results = 30", "[rules]\nexpected_results = 30")
    with pytest.raises(InputError, match="'expected_results' is in the file and in"):
        read_problem_file(both)
    for value in ('"30"', "1", "[30]", "true", "[120, 30]"):
        path = design(tmp_path, f"expected_results = {value}")
        with pytest.raises(InputError, match=r"design.toml: expected_results must be a number"):
            read_problem_file(path)
    against = design(tmp_path, "expected_results = 30", '[rules]\nstopping = "certified"')
    with pytest.raises(InputError, match="does not use expected_results=30"):
        rules_of(read_problem_file(against))


def test_designs_are_compared_by_it(tmp_path: Path) -> None:
    plain = read_problem_file(design(tmp_path))
    designs = read_designs([plain], ["expected_results=30,100:1000"])
    assert [one.rules.expected_results for one in designs] == [30, (100, 1000)]
    assert [one.name for one in designs] == [
        "expected_results 30",
        "expected_results 100 to 1,000",
    ]
    file = read_problem_file(design(tmp_path, "expected_results = 30"))
    for vary in ("guarantee=validated,proven", "stopping=glr,certified", "goal=1 optimal"):
        one = read_designs([file], [vary])[-1].rules
        assert (one.stopping != "glr", one.expected_results) == (True, None)
    assert read_designs([file], ["guarantee=validated,proven"])[0].rules.expected_results == 30
    assert read_designs([file], ["sampling=uniform"])[0].rules.expected_results == 30
    with pytest.raises(InputError, match="does not use expected_results"):
        read_designs([file], ["stopping=certified", "expected_results=30"])


@pytest.mark.parametrize(
    ("text", "kept"), [("300", 300), ("100:1000", [100, 1000]), ("1e3 : 2e3", [1000, 2000])]
)
def test_the_command_line_takes_it(tmp_path: Path, text: str, kept: Any) -> None:
    run = CliRunner().invoke
    asked = ["simulate", "correlated", "--runs", "2", "--max-samples", "20", "--json"]
    found = run(app, [*asked, "--expected-results", text])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["settings"]["rules"]["expected_results"] == kept
    store = f"sqlite:///{tmp_path / 'a.db'}"
    create = ["study", "create", str(design(tmp_path)), "--store", store]
    made = run(app, [*create, "--expected-results", text])
    assert made.exit_code == 0, made.output
    rules = Study.open("pills", store=store).state.rules
    assert rules == Rules(expected_results=kept)


@pytest.mark.parametrize("text", ["1", "many", "100:", ":100", "1000:100", "1:2:3", ""])
def test_the_command_line_says_what_is_wrong(text: str) -> None:
    asked = ["simulate", "correlated", "--runs", "2", "--expected-results", text]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code != 0
    assert "expected_results must be" in str(found.exception or found.output)
