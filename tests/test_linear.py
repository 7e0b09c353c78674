"""Linear problems: what is concluded does not depend on units, nor on where zero is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psips import Ball, Problem, Session
from psips.plots.history import evidence_over_time, history_of
from psips.problem.instances import Instance
from psips.problem.parameters import Box
from psips.simulation import simulate
from psips.simulation.environments import GaussianEnvironment, environment_of
from psips.simulation.summary import clopper_pearson

RULES = [
    {},
    {"stopping": "glr"},
    {"sampling": "projected", "tracking": "mixture"},
    {"sampling": "posterior", "draws": "literal"},
    {"sampling": "track-and-stop"},
    {"sampling": "round-robin"},
]


def spread(K: int = 8, h: int = 3, d: int = 2, **more: Any) -> Instance:
    """Arms in all directions and a truth of norm 30, not near a tie."""
    rng = np.random.default_rng(4)
    theta = rng.normal(size=(h, d))
    theta *= 30 / np.linalg.norm(theta, axis=0)
    problem = Problem(
        objectives=[f"o{c}" for c in range(d)],
        covariance=np.eye(d) + 0.3 * (1 - np.eye(d)),
        features=rng.normal(size=(K, h)),
        **more,
    )
    return Instance("spread", problem, theta)


def in_units(made: Instance, s: np.ndarray, **more: Any) -> Instance:
    """The same truth with the features times ``s``."""
    A = made.problem.features
    assert A is not None
    given = A.shape[1] - made.problem.intercept
    problem = Problem(
        objectives=made.problem.objectives,
        covariance=made.problem.covariance,
        features=A[:, :given] * s,
        **more,
    )
    return Instance("scaled", problem, made.theta[:given] / s[:, None])


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_units_of_the_features_do_not_matter(rules: dict[str, Any]) -> None:
    """Same noise, same seed: the same asks and the same stop, whatever the units."""
    made = spread()
    made = Instance("", made.problem, made.theta / 30)  # not over at once
    rng = np.random.default_rng(5)
    units = [np.full(3, 0.01), np.full(3, 100.0), 10 ** rng.uniform(-2, 2, 3)]

    def run(at: Instance) -> tuple[list[str], tuple[str, ...], bool]:
        session = Session(at.problem, delta=0.1, rng=7, **rules)
        trial = environment_of(at).start(rng=8)
        asked = []
        while len(asked) < 300 and not session.stopped:
            asked.append(session.ask())
            session.tell(asked[-1], trial.pull(asked[-1]))
        return asked, session.candidate_set, session.stopped

    ours = run(made)
    assert len(ours[0]) > 8
    for s in units:
        assert run(in_units(made, s)) == ours


def test_a_regularisation_is_what_breaks_it() -> None:
    """The same comparison, with the prior around 0 that no one asked for."""
    made = spread()
    counts = set()
    for s in (1.0, 0.01):
        scaled = in_units(made, np.full(3, s), regularization=1.0)
        run = simulate(
            scaled.problem, environment_of(scaled), rng=1, max_results=500, delta=0.1
        )
        counts.add((run.results, run.candidate_set))
    assert len(counts) == 2


@pytest.mark.parametrize("box", [False, True])
def test_estimates_are_least_squares(box: bool) -> None:
    rng = np.random.default_rng(6)
    A = rng.normal(size=(12, 4))
    A[:, 1] = A[:, 0] + 1e-4 * A[:, 1]  # nearly collinear
    theta = rng.normal(size=(4, 2)) * 5
    for _ in range(6):
        s = 10 ** rng.uniform(-2, 2, 4)
        problem = Problem(
            objectives=["a", "b"],
            covariance=[1.0, 1.0],
            features=A * s,
            parameter_set=Box(-1e9, 1e9) if box else None,
        )
        session = Session(problem, stopping="never", rng=1)
        trial = GaussianEnvironment(problem, theta / s[:, None]).start(rng=2)
        for _ in range(700):
            arm = session.ask()
            session.tell(arm, trial.pull(arm))
            if session.results in (5, 6, 21, 511, 700) and session.candidate_set:
                told = session.told
                rows = np.column_stack([A, np.ones(12)])[told.arms]
                fitted = np.linalg.lstsq(rows, told.values, rcond=None)[0]
                expected = np.column_stack([A, np.ones(12)]) @ fitted
                table = session.status().arms
                found = table[["a estimate", "b estimate"]].to_numpy()
                cover = np.linalg.pinv(rows.T @ rows, rcond=1e-14, hermitian=True)
                full = np.column_stack([A, np.ones(12)])
                se = np.sqrt(np.einsum("ij,jk,ik->i", full, cover, full))
                # A sum of squares of condition 6e9, as here with a Box, is rounded to 1e-7.
                off = np.abs(found - expected) - 1e-8 * np.abs(expected).max()
                assert (off <= 1e-5 * se[:, None]).all()
                np.testing.assert_allclose(table["a se"], se, rtol=1e-4)
        assert session.candidate_set


HARD = {
    "one-hot": Instance(
        "one-hot",
        Problem(objectives=["y"], covariance=[1.0], features=np.eye(2)),
        np.array([[25.0], [50.0]]),
    ),
    "slope": Instance(
        "slope",
        Problem(
            objectives=["y"],
            covariance=[1.0],
            features=[[1.0, 0.0], [1.0, 0.5], [1.0, 1.0]],
        ),
        np.array([[20.0], [-1.0]]),
    ),
    "long": spread(),
}


@pytest.mark.parametrize("name", list(HARD))
@pytest.mark.parametrize("stopping", ["posterior", "glr", "bayes", "certified"])
def test_nothing_stops_before_the_features_are_spanned(name: str, stopping: str) -> None:
    made = HARD[name]
    if stopping == "certified":
        features = np.asarray(made.problem.features)[
            :, : made.problem.h - made.problem.intercept
        ]
        bounded = Problem(
            objectives=made.problem.objectives,
            covariance=made.problem.covariance,
            features=features,
            parameter_set=Ball(90.0),
        )
        made = Instance("", bounded, made.theta)
    rank = made.problem.h
    for key in range(10):
        session = Session(made.problem, delta=0.1, stopping=stopping, rng=key)
        trial = environment_of(made).start(rng=100 + key)
        seen: set[str] = set()
        for _ in range(rank):
            assert not session.stopped
            assert session.candidate_set == ()
            arm = session.ask()
            assert arm not in seen
            seen.add(arm)
            session.tell(arm, trial.pull(arm))
        assert session.candidate_set != ()


@pytest.mark.parametrize("name", list(HARD))
def test_a_large_truth_is_not_mistaken_for_zero(name: str) -> None:
    """All of these stopped on a wrong set at once when theta was shrunk towards 0."""
    made = HARD[name]
    errors = 0
    for key in range(200):
        run = simulate(
            made.problem,
            environment_of(made),
            rng=key,
            max_results=20_000,
            delta=0.1,
            stopping="glr",
        )
        assert run.stopped
        errors += run.candidate_set != made.pareto_set
    assert clopper_pearson(errors, 200)[0] <= 0.1


def test_an_offset_is_the_intercept() -> None:
    """Thirty designs and an offset of 5: without the intercept, errors."""
    rng = np.random.default_rng(8)
    features = rng.uniform(-1, 1, size=(30, 3))
    theta = rng.normal(size=(3, 2))
    problem = Problem(objectives=["a", "b"], covariance=[0.1, 0.1], features=features)
    assert problem.intercept
    made = Instance("", problem, np.vstack([theta, [[5.0, 5.0]]]))
    without = Problem(
        objectives=["a", "b"], covariance=[0.1, 0.1], features=features, intercept=False
    )
    wrong = {True: 0, False: 0}
    for key in range(20):
        for tried in (problem, without):
            run = simulate(
                tried,
                environment_of(made),
                rng=key,
                max_results=3000,
                delta=0.1,
                stopping="glr",
            )
            wrong[tried.intercept] += run.stopped and run.candidate_set != made.pareto_set
    assert wrong[True] <= 3
    assert wrong[False] >= 10


def test_results_that_were_not_asked_for_span_too() -> None:
    made = spread()
    problem = made.problem
    session = Session(problem, rng=1)
    first = [problem.arms[a] for a in problem.model.first]
    others = [arm for arm in problem.arms if arm not in first]
    assert session.ask(6)[:4] == first  # what is pending is not asked for again
    for k, arm in enumerate(others):
        assert (session.candidate_set == ()) == (k < 4)
        assert session.status().arms["o0 estimate"].isna().all() == (k < 4)
        session.tell(arm, [1.0 + k, 2.0])
    assert len(others) == 4
    assert session.candidate_set != ()
    twin = Session.restore(session.snapshot())
    assert twin.candidate_set == session.candidate_set
    assert twin.ask(5) == session.ask(5)
    assert history_of(session).known == 4
    assert evidence_over_time(history_of(session)).results.tolist() == [4]


def test_one_arm_again_and_again_spans_nothing() -> None:
    session = Session(spread().problem, rng=1)
    for _ in range(50):
        session.tell("arm 1", [1.0, 2.0])
    assert session.candidate_set == ()
    assert not session.stopped
    assert np.isnan(session.status().probability_of_change)
    assert history_of(session).known == 0
    assert len(evidence_over_time(history_of(session)).results) == 0
    session.tell("arm 2", [1.0, 2.0])
    restored = Session.restore(session.snapshot())
    assert restored.ask(2) == session.ask(2)
    assert restored.candidate_set == ()


def test_verdicts_wait_too() -> None:
    session = Session(spread(parameter_set=Ball(40.0)).problem, rng=1)
    assert set(session.status().answers["reason"]) == {
        "the arms measured do not span the features yet"
    }
