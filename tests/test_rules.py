"""Rules: names, checks, and where there is no proof."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import naive
from psips.errors import InputError
from psips.lab.instances import instance
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.problem.parameters import Ball, Box
from psips.rules import CALIBRATION, DRAWS, SAMPLING, STOPPING, TRACKING, Rules
from psips.rules.promises import promise
from psips.session import Session
from psips.simulation.environments import environment_of
from psips.state.codes import PROVEN

TABLES = {
    "sampling": SAMPLING,
    "stopping": STOPPING,
    "calibration": CALIBRATION,
    "draws": DRAWS,
    "tracking": TRACKING,
}


def test_plain_data_and_back() -> None:
    rules = Rules(delta=0.02, sampling="posterior", tuning={"eta": "estimate", "alpha": 0.3})
    assert set(rules.to_dict()) == {
        *TABLES,
        "delta",
        "eta",
        "alpha",
        "kappa",
    }  # as in every log and snapshot so far
    assert Rules.from_dict(rules.to_dict()) == rules


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_choice_is_described_and_has_a_step_or_code_of_its_own(
    table: dict[str, Any],
) -> None:
    own = {rule.step if hasattr(rule, "step") else rule.code for rule in table.values()}
    assert len(own) == len(table)
    assert all(rule.about for rule in table.values())


def line() -> Instance:
    means = np.array([[0.0], [0.5], [0.9], [1.0], [0.2]])
    return Instance("line", Problem(objectives=["y"], covariance=[1], arms=5), means)


@pytest.mark.parametrize(
    ("field", "name"), [(field, name) for field, table in TABLES.items() for name in table]
)
def test_every_rule_runs(field: str, name: str) -> None:
    made = line() if name == "top-two" else instance("correlated")
    if name == "two-stage":  # with limits that everything keeps
        loose = {**made.problem.to_dict(), "limits": ["objective 1 >= -100"]}
        made = replace(made, problem=Problem.from_dict(loose))
    choice: dict[str, Any] = {field: name}
    if field == "stopping":
        choice |= {"sampling": STOPPING[name].partner or "directed"}
    if field == "calibration":
        rule = next(one for one, rule in STOPPING.items() if name in rule.calibrations)
        choice |= {"stopping": rule}
    if name == "oracle":
        choice |= {"target": [0.2] * 5}
    if name.startswith("ege"):
        choice |= {"budget": 500}  # its end is beyond that of this run
    session = Session(made.problem, rng=1, **choice)
    trial = environment_of(made).start(1)
    while session.results < 60 and not session.stopped:
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
    assert min(session.pulls.values()) >= 1
    assert sum(session.pulls.values()) == session.results
    arms, values = session.told  # the candidate set is that of the means of what was told
    means = np.array([values[arms == k].mean(axis=0) for k in range(made.problem.K)])
    inside = np.flatnonzero(naive.pareto_mask(made.problem.inward(means)))
    assert session.candidate_set == tuple(made.problem.answers[i] for i in inside)
    fraction = session.status().evidence["fraction"]
    assert fraction is not None
    assert 0.0 <= fraction <= 1.0
    assert (fraction == 1.0) == session.stopped


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "sampling",
            "posteriori",
            "unknown sampling rule 'posteriori': did you mean 'posterior'?",
        ),
        ("stopping", "nevr", "unknown stopping rule 'nevr': did you mean 'never'? known: "),
        (
            "calibration",
            "sharpe",
            "unknown calibration 'sharpe': did you mean 'sharp'? known: ",
        ),
        ("draws", "litteral", "unknown kind of draws 'litteral': did you mean 'literal'?"),
        ("tracking", "d-tracking", "unknown tracking 'd-tracking': did you mean 'c-tracking'?"),
        ("tuning", {"eta": 0}, "expected a positive number or 'estimate', got 0"),
        ("tuning", {"eta": "guess"}, "expected a positive number or 'estimate', got 'guess'"),
        (
            "tuning",
            {"alpha": 0.0},
            "alpha is the rate of forced exploration: expected a number between 0",
        ),
        ("tuning", {"kappa": -1.0}, "kappa: expected a positive number, got -1.0"),
        ("tuning", {"kappa": True}, "kappa: expected a positive number, got True"),
        ("tuning", {"eta": True}, "expected a positive number or 'estimate', got True"),
        ("delta", 0.0, "delta is the accepted probability of being wrong"),
        ("delta", 1.0, "expected a number between 0 and 1, got 1.0; 0.05 or 0.1 are usual"),
        ("delta", -3, "got -3"),
        ("delta", None, "got None"),
    ],
)
def test_refusals(field: str, value: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        Rules(**{field: value})
    assert message in str(error.value)


def linear(d: int, parameter_set: Ball | Box | None) -> Problem:
    return Problem(
        objectives=[f"o{c}" for c in range(d)],
        covariance=[1.0] * d,
        features=[[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]],
        parameter_set=parameter_set,
    )


def proven() -> list[tuple[str, Problem]]:
    """Rules and problems that have a proof: that of the posterior rule is for fewer."""
    free = [
        Problem(objectives=["a", "b"], covariance=[1, 2], arms=3),
        Problem(objectives=["a", "b"], covariance=[[1, 0.5], [0.5, 1]], arms=3),
        Problem(objectives=["a"], covariance=[1], arms=3, parameter_set=Box(0, 1)),
        linear(1, Ball(2.0)),
    ]
    several = linear(2, Ball(2.0))
    return [(name, one) for name in ("glr", "posterior") for one in free] + [("glr", several)]


@pytest.mark.parametrize(("stopping", "problem"), proven(), ids=str)
def test_proven_where_there_is_a_proof(stopping: str, problem: Problem) -> None:
    """Not refused, and what runs is that of the lemma and not another calibration."""
    rules = Rules(stopping=stopping, calibration="proven")
    found = rules.program(problem).options.calibration
    assert found.code == PROVEN
    assert found.log_inverse == -math.log(0.1)
    assert len(found.log_q) == (problem.n + 1 if stopping == "posterior" else 1)
    assert (found.bias > 0.0) == (not problem.unstructured)
    assert promise(rules, problem).startswith("Proven: if the noise is Gaussian")


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (linear(2, Ball(2.0)), "for a linear problem with several objectives"),
        (linear(1, None), r"for a linear problem without parameter_set=Ball\(...\)"),
    ],
)
def test_proven_where_there_is_none(problem: Problem, reason: str) -> None:
    with pytest.raises(InputError, match=f"no proof .* is known {reason}"):
        Rules(stopping="posterior", calibration="proven").program(problem)


def unproven() -> list[Problem]:
    """Every kind of problem for which the posterior rule has no proof."""
    return [
        *(linear(2, bound) for bound in (Ball(2.0), Box(-1, 1), None)),
        *(linear(1, bound) for bound in (Box(-1, 1), None)),
    ]


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("problem", unproven(), ids=str)
def test_what_a_refusal_proposes_is_not_refused(problem: Problem, draws: str) -> None:
    with pytest.raises(InputError) as error:
        Rules(stopping="posterior", calibration="proven", draws=draws).program(problem)
    proposed = str(error.value).partition(": choose ")[2]
    stopping, calibration = proposed.split(", or ")
    assert calibration == "calibration='heuristic'"
    Rules(stopping="posterior", calibration="heuristic", draws=draws).program(problem)
    if "parameter_set=Ball(...)" in stopping:
        problem = linear(problem.d, Ball(2.0))
    draws = "first-hit" if "draws='first-hit'" in stopping else draws
    names = [name for name in STOPPING if f"'{name}'" in stopping]
    assert names == ["glr", "certified"]
    for name in names:
        Rules(stopping=name, calibration="proven", draws=draws).program(problem)


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize(
    "choice",
    [{"stopping": "bayes"}, {"stopping": "never"}, {"stopping": "ape"}, {"sampling": "ape"}],
)
def test_a_proof_is_proposed_that_there_is(choice: dict[str, str], draws: str) -> None:
    with pytest.raises(InputError) as error:
        Rules(**choice, calibration="proven", draws=draws)
    text = str(error.value)
    assert "leave sampling at its default and choose stopping=" in text
    assert "'posterior' not for every problem, linear ones need parameter_set=Ball" in text
    assert ("draws='first-hit'" in text) == (draws == "literal")
    proposed = text.partition("choose stopping=")[2]
    names = [name for name in STOPPING if f"'{name}'" in proposed.partition(", which")[0]]
    assert names == ["glr", "posterior", "certified"]
    for bound in (None, Ball(2.0), Box(0, 1)):
        problem = Problem(objectives=["a", "b"], covariance=[1, 1], arms=3, parameter_set=bound)
        for name in names if bound is None else names[1:]:
            Rules(stopping=name, calibration="proven").program(problem)
    Rules(**choice)


def test_a_box_is_not_proposed_where_it_is_refused() -> None:
    with pytest.raises(InputError, match=r"give one \(a Box is not enough\)"):
        Rules(stopping="certified").program(linear(2, Box(-1, 1)))


def test_estimating_eta_of_a_linear_problem_needs_a_bound() -> None:
    with pytest.raises(InputError, match="needs a bounded parameter set"):
        Rules(tuning={"eta": "estimate"}).program(linear(2, None))
    assert Rules(tuning={"eta": "estimate"}).program(linear(2, Ball(1.0))).options.eta > 0


def test_eta_of_a_linear_problem_is_that_of_algorithm_2() -> None:
    ball = Ball([1.0, 2.0])
    features = np.array([[3.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    problem = Problem(
        features=features,
        intercept=False,
        objectives=["x", "y"],
        covariance=[4.0, 0.25],
        parameter_set=ball,
    )
    L_A2 = 3.0**2 / 0.25  # the longest feature, in units of the smallest noise
    L_Theta2 = 1.0**2 + 2.0**2
    eta = Rules(tuning={"eta": "estimate"}).program(problem).options.eta
    assert eta == pytest.approx(1.0 / (8.0 * L_A2 * L_Theta2))


def test_the_published_rule_keeps_its_calibration() -> None:
    assert Rules().calibration == "measured"
    assert Rules(sampling="round-robin").calibration == "measured"
    assert Rules(sampling="posterior").calibration == "heuristic"
    assert Rules(sampling="posterior", calibration="sharp").calibration == "sharp"
    assert Rules(sampling="track-and-stop").calibration == "heuristic"
    assert (Rules(draws="literal").stopping, Rules().stopping) == ("posterior", "glr")


@pytest.mark.parametrize(
    "wrong",
    [
        {"tuning": {"alpha": "0.35"}},
        {"tuning": {"kappa": "2"}},
        {"sampling": ["directed"]},
        {"draws": None},
    ],
)
def test_values_of_another_type_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Rules(**wrong)
