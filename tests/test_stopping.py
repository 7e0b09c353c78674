"""The rules that weigh evidence: when they stop, what is refused, a run against a session."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

import naive
import naive_certificates as certificates
from psips.errors import InputError
from psips.lab.instances import instance
from psips.problem import Problem
from psips.problem.parameters import Ball
from psips.rules import Rules
from psips.session import Session
from psips.session.verdicts import verdicts_of
from psips.simulation import simulate
from psips.simulation.environments import GaussianEnvironment, environment_of
from psips.theory.geometry import glr

CERTAIN = ("glr", "certified", "bayes")


@pytest.mark.parametrize("stopping", CERTAIN)
def test_a_run_is_a_session_asked_and_told(stopping: str) -> None:
    made = instance("correlated", rho=-0.9)
    run = simulate(made.problem, environment_of(made), rng=4, stopping=stopping)
    rng = np.random.default_rng(4)
    session = Session(made.problem, rng=rng, stopping=stopping)
    trial = environment_of(made).start(rng)
    while not session.stopped:
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
    assert session.pulls == run.pulls
    assert run.stopped
    assert run.pareto_set == made.pareto_set


@pytest.mark.parametrize("calibration", ["heuristic", "proven"])
def test_glr_stops_at_its_threshold_and_not_before(calibration: str) -> None:
    made = instance("correlated")
    rng = np.random.default_rng(6)
    session = Session(made.problem, rng=rng, stopping="glr", calibration=calibration)
    trial = environment_of(made).start(rng)
    for t in range(1, 20001):
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
        if t < 5 or (t % 50 and not session.stopped):
            continue
        if calibration == "proven":
            threshold = naive.beta_unstructured(5, 2, t, 0.1)
        else:
            threshold = math.log(10) + math.log(math.log(1 + t))
        belief = session.engine.belief
        value = glr(made.problem, belief.theta, belief.N)
        assert session.stopped == (value >= threshold)
        if session.stopped:
            break
    assert session.stopped


def test_certified_stops_when_nothing_is_open() -> None:
    made = instance("correlated")
    rng = np.random.default_rng(7)
    session = Session(made.problem, rng=rng, stopping="certified")
    trial = environment_of(made).start(rng)
    while not session.stopped:
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
        if session.results % 100 == 0 or session.stopped:
            found = verdicts_of(made.problem, session.engine)
            assert session.stopped == all(one.verdict != "open" for one in found)
    inside = tuple(one.answer for one in found if one.verdict == "in")
    assert inside == session.pareto_set == made.pareto_set
    assert session.status().evidence["fraction"] == 1.0


@pytest.mark.parametrize(
    ("stopping", "settled"), [("posterior", 2), ("glr", 2), ("bayes", 1), ("never", 5)]
)
def test_verdicts_are_shown_whatever_stops(stopping: str, settled: int) -> None:
    """They are what an enumeration of all sets proves from the same results."""
    made = instance("correlated")
    run = simulate(
        made.problem,
        environment_of(made),
        rng=1,
        stopping=stopping,
        verdicts=True,
        max_results=1500,
    )
    rng = np.random.default_rng(1)
    session = Session(made.problem, rng=rng, stopping=stopping)
    trial = environment_of(made).start(rng)
    for _ in range(run.results):
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
    belief = session.engine.belief
    exact = certificates.verdicts(made.problem, belief.theta, belief.N, 0.1)
    assert run.verdicts == dict(zip(made.problem.answers, exact, strict=True))
    assert sum(one != "open" for one in exact) == settled


def linear(parameter_set: Ball | None) -> Problem:
    return Problem(
        objectives=["a", "b"],
        covariance=[1, 1],
        features=[[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]],
        parameter_set=parameter_set,
    )


@pytest.mark.parametrize(
    "rules",
    [Rules(stopping="certified"), Rules(stopping="glr", calibration="proven")],
    ids=lambda rules: rules.stopping,
)
def test_refused_where_there_is_no_proof(rules: Rules) -> None:
    rules.program(linear(Ball(1.0)))
    with pytest.raises(InputError, match=r"no proof .* without parameter_set=Ball\(\.\.\.\)"):
        rules.program(linear(None))


@pytest.mark.parametrize("xi", [0.01, 1.0, 100.0])
def test_the_proven_threshold_covers_the_shrinkage(xi: float) -> None:
    """Without noise the estimate is off by what the regularisation does."""
    problem = Problem(
        objectives=["a", "b"],
        covariance=[0.5, 2.0],
        features=np.eye(2),
        parameter_set=Ball(3.0),
        regularization=xi,
    )
    bias = Rules(stopping="glr", calibration="proven").program(problem).options.calibration.bias
    A, theta = np.array([1.0, 0.0]), np.array([[0.0, 0.0], [3.0, 3.0]])
    for pulls in (1, 100):
        V = xi * np.eye(2) + pulls * np.outer(A, A)
        off = theta - np.linalg.solve(V, pulls * np.outer(A, A) @ theta)
        distance = np.einsum("ic,ij,jc,c->", off, V, off, [1 / 0.5, 1 / 2.0])
        assert distance / 2 <= bias**2 * (1 + 1e-12)
        assert distance / 2 >= 0.5 * bias**2


def test_a_refusal_names_the_rules_that_have_a_proof() -> None:
    with pytest.raises(InputError, match="choose stopping='certified' or 'glr', which have"):
        Rules(stopping="posterior", calibration="proven").program(linear(Ball(1.0)))


def test_choices_that_do_not_go_together() -> None:
    with pytest.raises(InputError, match="'sharp' belongs to the rule 'posterior'"):
        Rules(stopping="glr", calibration="sharp")
    with pytest.raises(InputError, match="'measured' belongs to the rule 'glr'"):
        Rules(stopping="posterior", calibration="measured")
    with pytest.raises(InputError, match="not by 'certified': leave draws at 'first-hit'"):
        Rules(stopping="certified", draws="literal")


@pytest.mark.parametrize("stopping", ["bayes", "never", "certified"])
def test_rules_without_a_calibration_take_none(stopping: str) -> None:
    with pytest.raises(InputError, match=f"'{stopping}' has none to choose; leave calibration"):
        Rules(stopping=stopping, calibration="sharp")
    own = Rules(stopping=stopping)
    assert Rules(stopping=stopping, calibration="heuristic") == own  # as stored
    assert Rules.from_dict(own.to_dict()) == own


@pytest.mark.parametrize("stopping", ["bayes", "never"])
def test_what_has_no_proof_is_not_called_proven(stopping: str) -> None:
    with pytest.raises(InputError, match="'posterior', 'glr' or 'certified', which have a p"):
        Rules(stopping=stopping, calibration="proven")


def test_certified_is_proven() -> None:
    made = instance("correlated")
    named, own = (
        simulate(made.problem, environment_of(made), rng=3, stopping="certified", **choice)
        for choice in ({"calibration": "proven"}, {})
    )
    assert named.stopped
    assert named.pulls == own.pulls


TIGHT = np.array([[2.0, -1.0], [-1.0, 2.0]])  # both columns of norm 2.24


@pytest.mark.parametrize("stopping", CERTAIN)
def test_linear_problems_stop_with_a_ball_that_binds(stopping: str) -> None:
    """The truth is just inside, so that estimates are outside for a while."""
    problem = linear(Ball(2.3))
    environment = GaussianEnvironment(problem, TIGHT)
    run = simulate(problem, environment, rng=1, stopping=stopping, max_results=20000)
    assert run.stopped
    assert run.pareto_set == problem.answers


@pytest.mark.parametrize("radius", [2.3, 15.0])
def test_linear_problems_are_certified_when_every_claim_is_and_not_before(
    radius: float,
) -> None:
    """Recomputed after each result; with another radius the claims come at another time."""
    problem = linear(Ball(radius))
    rng = np.random.default_rng(3)
    session = Session(problem, stopping="certified", rng=rng)
    trial = GaussianEnvironment(problem, TIGHT).start(rng)
    L = certificates.level(problem, 2, 3, 0.1)
    outside = 0
    while not session.stopped:
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
        N, theta = session.engine.belief.N, session.engine.belief.theta
        outside += np.linalg.norm(theta, axis=0).max() > 2.3
        least = min(
            certificates.told_apart(problem, N, theta, z, x, True)
            for z, x in permutations(range(3), 2)
        )
        whole = len(session.candidate_set) == 3
        assert session.stopped == (whole and least >= L)
    assert (session.results > 150) == (radius > 3.0)
    assert outside > 0
