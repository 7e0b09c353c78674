"""Sessions in threads at once, copies of sessions, and Ctrl-C during long work of the core."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import snapshots
from psips import Problem, Session
from psips.simulation.environments import GaussianEnvironment
from psips.simulation.runs import simulate
from test_interruptible import interrupted_after

KINDS = (
    *(
        "default",
        "known noise",
        "predicted",
        "limits",
        "items",
        "tolerance",
        "control",
        "baseline",
    ),
    *("features", "features, estimated", "features, missing", "missing values", "exact"),
)


def followed(kind: str, number: int) -> str:
    """Restore a session, go on for a while, and say all of it."""
    session = Session.restore(json.loads(snapshots.whole(kind)))
    rng = np.random.default_rng(number)
    snapshots._tell(session, kind, rng, 25)
    found = session.snapshot()
    found.pop("time", None)
    answers = session.status().answers
    return json.dumps(found) + answers.to_csv()


def test_sessions_in_threads_are_those_one_after_the_other() -> None:
    work = [(kind, number) for number in range(2) for kind in KINDS[:6]]
    alone = [followed(*one) for one in work]
    gate = threading.Barrier(4)

    def wait() -> None:
        gate.wait(10)

    with ThreadPoolExecutor(4, initializer=wait) as pool:
        together = list(pool.map(lambda one: followed(*one), work))
    for one, first, second in zip(work, alone, together, strict=True):
        assert first == second, one


@pytest.mark.parametrize("kind", KINDS)
def test_copies_go_on_as_the_session_does(kind: str) -> None:
    """A copy has arrays of its own, which its records point to."""
    session = Session.restore(json.loads(snapshots.whole(kind)))
    copies = [copy.deepcopy(session), pickle.loads(pickle.dumps(session))]
    before = [one.engine.belief.B.copy() for one in copies]
    snapshots._tell(session, kind, np.random.default_rng(3), 10)
    for one, B in zip(copies, before, strict=True):
        np.testing.assert_array_equal(one.engine.belief.B, B)
        snapshots._tell(one, kind, np.random.default_rng(3), 10)
        left, right = session.snapshot(), one.snapshot()
        left.pop("time", None), right.pop("time", None)
        assert json.dumps(left) == json.dumps(right)


def large(d: int) -> Session:
    """A thousand arms with a few results each."""
    rng = np.random.default_rng(3)
    problem = Problem(arms=1000, objectives=[f"m{c}" for c in range(d)], covariance=[1.0] * d)
    session = Session(problem, rng=1)
    session.engine.know(np.full(1000, 20.0), 20.0 * rng.normal(size=(1000, d)))
    session.engine.judge()
    return session


def test_ctrl_c_during_a_simulation_of_a_thousand_arms() -> None:
    rng = np.random.default_rng(1)
    problem = Problem(arms=1000, objectives=["x", "y", "z"], covariance=[1.0] * 3)
    environment = GaussianEnvironment(problem, rng.normal(size=(1000, 3)))
    with interrupted_after(2.0) as seen:
        simulate(problem, environment, rng=1, max_results=10**9)
    assert seen[0] < 1.0


def test_ctrl_c_during_probabilities() -> None:
    engine: Any = large(4).engine
    with interrupted_after(0.5) as seen:
        for _ in range(50):
            engine.probabilities()
    assert seen[0] < 1.0
