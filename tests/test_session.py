"""Sessions: asking, telling, judging, saving, and what is refused."""

from __future__ import annotations

import json
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from psips.errors import InputError
from psips.lab.instances import instance
from psips.problem import Problem
from psips.problem.parameters import Ball
from psips.rules import Rules
from psips.session import Session
from psips.simulation.environments import environment_of


def tea() -> Problem:
    return Problem(
        objectives={"taste": "max", "cost": "min"},
        covariance=[1.0, 0.25],
        arms=["green", "black", "white"],
    )


def linear(**more: Any) -> Problem:
    return Problem(
        objectives={"speed": "max", "weight": "min"},
        covariance=[[1.0, 0.3], [0.3, 0.5]],
        arms=["a", "b", "c"],
        features=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]],
        answers=(["p", "q", "r", "also p"], [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]),
        **more,
    )


def drive(session: Session, trial: Any, steps: int) -> list[str]:
    asked = []
    for _ in range(steps):
        arm = session.ask()
        asked.append(arm)
        session.tell(arm, trial.pull(arm))
    return asked


def state(session: Session) -> str:
    return json.dumps(session.snapshot(), allow_nan=False)


def test_first_steps() -> None:
    session = Session(tea(), rng=1)
    assert session.ask(2) == ["green", "black"]
    assert session.ask() == "white"
    assert session.candidate_set == ()
    session.tell("green", {"cost": 1.0, "taste": 5.0})
    session.tell("black", [3.0, 2.0])
    assert session.candidate_set == ()
    assert not session.stopped
    session.tell("white", np.array([2.0, 0.5]))
    assert session.candidate_set == ("green", "white")
    assert session.pareto_set is None
    assert session.results == 3
    assert session.pulls == {"green": 1, "black": 1, "white": 1}
    assert session.rules == Rules()
    assert repr(session) == "Session(Problem(3 arms, 2 objectives), 3 results, open)"


def test_pending_arms_count_in_the_choice() -> None:
    session = Session(tea(), sampling="round-robin", rng=1)
    assert session.ask(7) == ["green", "black", "white"] * 2 + ["green"]
    assert session.status().arms["pending"].tolist() == [3, 2, 2]
    session.tell("green", [1.0, 1.0])
    assert session.status().arms["pending"].tolist() == [2, 2, 2]
    session.tell("white", [1.0, 1.0])  # told more often than asked: nothing below zero
    session.tell("white", [1.0, 1.0])
    session.tell("white", [1.0, 1.0])
    assert session.status().arms["pending"].tolist() == [2, 2, 0]


@pytest.mark.parametrize("sampling", ["directed", "projected", "posterior", "uniform"])
def test_asking_for_several_is_asking_in_turn(sampling: str) -> None:
    made = instance("correlated")
    together, apart = (Session(made.problem, sampling=sampling, rng=3) for _ in range(2))
    for session in (together, apart):
        drive(session, environment_of(made).start(4), 40)
    assert together.ask(30) == [apart.ask() for _ in range(30)]
    assert state(together) == state(apart)


def test_a_batch_is_spread() -> None:
    made = instance("correlated")
    session = Session(made.problem, rng=3)
    drive(session, environment_of(made).start(4), 60)
    assert len(set(session.ask(20))) >= 3


def test_results_from_before_the_session() -> None:
    rng = np.random.default_rng(7)
    truth = {"green": [5.0, 1.0], "black": [3.0, 2.0], "white": [2.0, 0.5]}
    rows = [
        (arm, *rng.normal(truth[arm], [1.0, 0.5])) for arm in sorted(truth) for _ in range(40)
    ]
    table = pd.DataFrame(rows, columns=["arm", "taste", "cost"]).sample(
        frac=1.0, random_state=1
    )
    session = Session(tea(), delta=0.05, rng=1)
    session.tell(table)
    assert session.stopped
    assert session.pareto_set == session.candidate_set == ("green", "white")
    assert session.pulls == dict.fromkeys(truth, 40)
    means = table.groupby("arm")[["taste", "cost"]].mean()
    arms = session.status().arms
    for arm in truth:
        for objective, variance in (("taste", 1.0), ("cost", 0.25)):
            estimate, se = (
                arms.loc[arm, f"{objective} estimate"],
                arms.loc[arm, f"{objective} se"],
            )
            assert estimate == pytest.approx(means.loc[arm, objective], abs=1e-12)
            assert se == pytest.approx(np.sqrt(variance / 40))


def test_results_told_after_the_stop_are_judged_again() -> None:
    session = Session(tea(), rng=1)
    good = pd.DataFrame(
        {"taste": [9.0, 1.0, 5.0] * 20, "cost": [1.0, 9.0, 5.0] * 20},
        index=["green", "black", "white"] * 20,
    )
    session.tell(good)
    assert session.pareto_set == ("green",)
    assert session.ask() in session.problem.arms
    for _ in range(20):  # brings white level with green
        session.tell("white", [13.0, -3.0])
    assert not session.stopped
    assert session.pareto_set is None


def test_linear_status_is_the_posterior() -> None:
    problem = linear(regularization=1.0, intercept=False)
    session = Session(problem, rng=2)
    rng = np.random.default_rng(3)
    theta = rng.normal(size=(2, 2))
    V, B = np.eye(2), np.zeros((2, 2))
    assert problem.features is not None
    assert problem.answer_features is not None
    for _ in range(60):
        arm = session.ask()
        a = problem.features[problem.arm_index(arm)]
        x = a @ theta + rng.normal(size=2)
        session.tell(arm, x)
        V += np.outer(a, a)
        B += np.outer(a, x)
    estimate = np.linalg.solve(V, B)
    for rows, table in (
        (problem.features, session.status().arms),
        (problem.answer_features, session.status().answers),
    ):
        width = np.einsum("ij,jk,ik->i", rows, np.linalg.inv(V), rows)
        for c, objective in enumerate(problem.objectives):
            np.testing.assert_allclose(table[f"{objective} estimate"], (rows @ estimate)[:, c])
            variance = problem.covariance[c, c]
            np.testing.assert_allclose(table[f"{objective} se"], np.sqrt(width * variance))
    answers = session.status().answers
    assert answers["also"].tolist() == ["also p", "", ""]
    assert tuple(answers.index[answers["candidate"]]) == session.candidate_set


def naive_pareto(mu: np.ndarray) -> list[int]:
    return [
        i for i, x in enumerate(mu) if not any(np.all(y >= x) and np.any(y > x) for y in mu)
    ]


@given(seed=st.integers(0, 10**6), K=st.integers(2, 6), d=st.integers(1, 4), rho=st.booleans())
def test_candidates_are_the_pareto_set_of_the_estimates(
    seed: int, K: int, d: int, rho: bool
) -> None:
    """Results are 0 or 1 and means often equal, so that ties abound."""
    rng = np.random.default_rng(seed)
    covariance = 0.25 * (np.eye(d) + rho * 0.5 * (1 - np.eye(d)))
    problem = Problem(objectives=[f"o{c}" for c in range(d)], covariance=covariance, arms=K)
    means = rng.choice([0.0, 0.5, 1.0], size=(K, d))
    session = Session(problem, rng=seed)
    for _ in range(120):
        arm = session.ask()
        session.tell(arm, rng.random(d) < means[problem.arm_index(arm)])
        if session.candidate_set:
            found = [problem.answer_index(name) for name in session.candidate_set]
            assert found == naive_pareto(session.engine.belief.theta)


def test_candidates_of_a_linear_problem() -> None:
    made = instance("noc-transductive")
    session = Session(made.problem, rng=5)
    trial = environment_of(made).start(6)
    for _ in range(15):
        drive(session, trial, 20)
        estimates = session.status().answers.filter(like="estimate").to_numpy()
        found = [made.problem.answer_index(name) for name in session.candidate_set]
        assert found == naive_pareto(made.problem.inward(estimates))


def test_status() -> None:
    session = Session(tea(), rng=1)
    session.tell("green", [5.0, 1.0])
    status = session.status()
    assert np.isnan(status.arms.loc["black", "taste estimate"])
    assert np.isnan(status.arms.loc["black", "taste se"])
    assert status.arms.loc["green", "cost estimate"] == 1.0
    assert status.evidence["fraction"] == 0.0
    assert "candidate set: none yet" in str(status)
    for _ in range(60):
        session.tell("green", [5.0, 1.0])
        session.tell("black", [4.4, 1.3])
        session.tell("white", [1.0, 3.0])
        status = session.status()
        fraction = status.evidence["fraction"]
        assert fraction is not None
        assert 0.0 <= fraction <= 1.0
        assert (fraction == 1.0) == status.stopped
        if status.stopped:
            break
        value, threshold = status.evidence["evidence"], status.evidence["threshold"]
        if value:
            assert threshold is not None
            assert value < threshold
            assert str(status.progress) in " ".join(str(status).split())
    assert status.stopped
    head = f"stopped after {session.results} results (90% confidence, validated)\n"
    assert str(status).startswith(f"{head}Pareto set: green")
    assert repr(status).startswith("Status(stopped, ")
    with pytest.raises(AttributeError):
        status.stopped = False  # type: ignore[misc]


def test_one_objective_takes_a_number() -> None:
    problem = Problem(objectives=["score"], covariance=[1.0], arms=[1, 2])
    session = Session(problem, rng=1)
    session.tell(1, 3)  # names that are numbers
    session.tell("2", np.float32(4.5))
    session.tell("2", True)
    session.tell("1", pd.Series({"score": 2.0}))
    session.tell(1, np.array(2.5))
    assert session.pulls == {"1": 3, "2": 2}
    assert session.status().arms["score estimate"].tolist() == [2.5, 2.75]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(
            {"day": [1, 2], "arm": ["black", "green"], "cost": [1, 2], "taste": [3, 4]}
        ),
        pd.DataFrame({"cost": [1, 2], "taste": [3, 4]}, index=["black", "green"]),
        pd.DataFrame(
            {"cost": [1.0, 2.0], "taste": [3.0, 4.0]},
            index=pd.Index(["black", "green"], name="arm"),
        ),
        pd.DataFrame(
            {"arm": ["black", "green"], "cost": [1, 2], "taste": [3, 4]}, dtype=object
        ),
        pd.DataFrame(
            {"arm": ["black", "green"], "cost": [1, 2], "taste": [3, 4]}
        ).convert_dtypes(),
    ],
)
def test_tables(table: pd.DataFrame) -> None:
    session, twin = Session(tea(), rng=1), Session(tea(), rng=1)
    session.tell(table)
    twin.tell("black", [3, 1])
    twin.tell("green", [4, 2])
    assert state(session) == state(twin)
    session.tell(table.iloc[:0])
    assert state(session) == state(twin)


GOOD = {"arm": ["black", "green"], "cost": [1.0, 2.0], "taste": [3.0, 4.0]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("grene", [1, 2]), "unknown arm 'grene': did you mean 'green'? known: "),
        (("green", {"taste": 1}), "the result has no value for objective 'cost'"),
        (("green", {"taste": 1, "cost": 2, "smell": 3}), "unknown objective 'smell'; known: "),
        (
            ("green", {"tsate": 1, "cost": 2}),
            "unknown objective 'tsate': did you mean 'taste'?",
        ),
        (("green", [1]), "expected 2 values (for 'taste', 'cost'), got 1"),
        (("green", [1, 2, 3]), "expected 2 values (for 'taste', 'cost'), got 3"),
        (("green", 1.0), "expected 2 values (for 'taste', 'cost'), got 1"),
        (("green", None), "there are no values with 'green'"),
        (("green", [1, np.nan]), "the value of 'cost' is missing (it is nan)"),
        (("green", [np.inf, 1]), "the value of 'taste' must be finite, got inf"),
        (("green", ["much", 1]), "the value of 'taste' must be a number, got 'much'"),
        (("green", ["1", 1]), "the value of 'taste' must be a number, got '1'"),
        (("green", [None, 1]), "the value of 'taste' is missing (it is None)"),
        (("green", [1j, 1]), "the value of 'taste' must be a number, got 1j"),
        (("green", [[1], [2]]), "the value of 'taste' must be a number, got [1]"),
        (("green",), "there are no values with 'green'"),
        ((pd.DataFrame(GOOD), [1, 2]), "a table of results has its values in it"),
        (
            (pd.DataFrame(GOOD).drop(columns="cost"),),
            "has no column 'cost'; its columns: 'arm'",
        ),
        ((pd.DataFrame(GOOD).drop(columns="arm"),), "has no column 'arm'"),
        ((pd.DataFrame(GOOD).rename(columns={"arm": "tea"}),), "has no column 'arm'"),
        (
            (pd.DataFrame(GOOD | {"arm": ["green", "blakc"]}),),
            "row 2 of the results: unknown arm",
        ),
        ((pd.DataFrame(GOOD | {"cost": [1.0, np.nan]}),), "row 2 of the results: the value of"),
        (
            (pd.DataFrame(GOOD | {"cost": ["x", "y"]}),),
            "row 1 of the results: the value of 'cost'",
        ),
        (
            (pd.DataFrame(GOOD | {"cost": [1, None]}, dtype=object),),
            "the value of 'cost' is missing (it is None)",
        ),
        (
            (pd.concat([pd.DataFrame(GOOD), pd.DataFrame(GOOD)[["cost"]]], axis=1),),
            "has several columns 'cost'",
        ),
    ],
)
def test_tell_refuses_and_changes_nothing(call: tuple[Any, ...], message: str) -> None:
    session = Session(tea(), rng=1)
    session.tell("green", [1.0, 2.0])
    before = state(session)
    with pytest.raises(InputError) as error:
        session.tell(*call)
    assert message in str(error.value)
    assert state(session) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delta": 0.0}, "expected a number between 0 and 1, got 0.0"),
        ({"delta": 1}, "expected a number between 0 and 1, got 1"),
        ({"delta": "0.1"}, "expected a number between 0 and 1, got '0.1'"),
        ({"delta": float("nan")}, "expected a number between 0 and 1, got nan"),
        (
            {"sampling": "projcted"},
            "unknown sampling rule 'projcted': did you mean 'projected'?",
        ),
        (
            {"smapling": "projected"},
            "unknown rule 'smapling': did you mean 'sampling'? known: ",
        ),
        ({"rules": Rules(), "delta": 0.1}, "give either rules or 'delta', not both"),
        ({"rules": {"delta": 0.1}}, "rules must be a Rules object"),
        ({"rng": -1}, "the seed must be None, a whole number of at least 0"),
        ({"rng": "seed"}, "the seed must be None"),
        ({"sampling": "oracle"}, "the sampling rule 'oracle' needs the truth"),
        ({"sampling": "oracle", "target": [1.0]}, "one weight per arm, 3 in all, got (1,)"),
        ({"sampling": "oracle", "target": [1.0, 1.0, 0.0]}, "that sum to 1"),
        ({"sampling": "oracle", "target": {"red": 1.0}}, "unknown arm 'red'"),
    ],
)
def test_sessions_that_cannot_be(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        Session(tea(), **arguments)
    assert message in str(error.value)


def test_not_a_problem() -> None:
    with pytest.raises(InputError, match="a session needs a Problem"):
        Session("cov-boost")  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_asking_for_nothing(n: Any) -> None:
    with pytest.raises(InputError, match="must be a whole number of at least 1"):
        Session(tea(), rng=1).ask(n)


def test_every_kind_of_seed() -> None:
    made = instance("correlated")
    kinds = [5, np.random.SeedSequence(5), np.random.default_rng(5)]
    sessions = [Session(made.problem, sampling="uniform", rng=rng) for rng in kinds]
    asks = [session.ask(50) for session in sessions]
    assert asks[0] == asks[1] == asks[2]
    assert Session(made.problem, sampling="uniform", rng=6).ask(50) != asks[0]
    assert Session(made.problem, sampling="uniform").ask(50) != asks[0]


def test_two_words_are_drawn_and_no_more() -> None:
    rng, twin = np.random.default_rng(5), np.random.default_rng(5)
    session = Session(tea(), rng=rng)
    session.ask(20)
    twin.integers(0, 2**64, size=2, dtype=np.uint64)
    assert rng.bit_generator.state == twin.bit_generator.state


RULES: list[dict[str, Any]] = [
    {},
    {"sampling": "posterior", "tracking": "mixture"},
    {"sampling": "posterior", "draws": "literal"},
    {"sampling": "uniform", "stopping": "never"},
    {"stopping": "posterior", "calibration": "sharp", "tuning": {"kappa": 2.0}, "delta": 0.01},
    {"sampling": "oracle", "target": [0.2] * 5},
    {"sampling": "posterior", "draws": "literal", "tuning": {"eta": "estimate"}},
]


@given(
    rules=st.sampled_from(RULES),
    before=st.integers(0, 80),
    after=st.integers(1, 30),
    batch=st.integers(0, 3),
)
def test_snapshot_anywhere_then_go_on_to_the_bit(
    rules: dict[str, Any], before: int, after: int, batch: int
) -> None:
    made = instance("correlated", rho=0.5)
    session = Session(made.problem, rng=11, **rules)
    trial = environment_of(made).start(12)
    drive(session, trial, before)
    session.ask(batch) if batch else None
    twin = Session.restore(json.loads(state(session)))
    assert state(twin) == state(session)
    assert twin.stopped == session.stopped
    assert twin.problem == session.problem
    assert twin.rules == session.rules
    for _ in range(after):
        arm = session.ask()
        assert twin.ask() == arm
        x = trial.pull(arm)
        session.tell(arm, x)
        twin.tell(arm, x)
    assert state(twin) == state(session)


@pytest.mark.parametrize("name", ["noc-transductive", "cov-boost", "random-bernoulli"])
def test_snapshot_of_other_settings(name: str) -> None:
    made = instance(name)
    session = Session(made.problem, rng=11)
    trial = environment_of(made).start(12)
    drive(session, trial, 150)
    twin = Session.restore(json.loads(state(session)))
    for _ in range(100):
        arm = session.ask()
        assert twin.ask() == arm
        x = trial.pull(arm)
        session.tell(arm, x)
        twin.tell(arm, x)
    assert state(twin) == state(session)


def test_snapshot_keeps_a_parameter_set() -> None:
    problem = Problem(objectives=["y"], covariance=[1], arms=3, parameter_set=Ball(2.0))
    session = Session(problem, rng=1)
    assert Session.restore(json.loads(state(session))).problem == problem


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"format": 99},
            "the snapshot has format 99, but this version of psips reads formats 6 to 7",
        ),
        ({"format": None}, "the snapshot has format None"),
        ({"engine": {}}, "the snapshot is damaged"),
        ({"rules": {"delta": 2}}, "expected a number between 0 and 1"),
        ({"problem": {"name": ""}}, "the problem lacks the key"),
    ],
)
def test_damaged_snapshots(change: dict[str, Any], message: str) -> None:
    snapshot = Session(tea(), rng=1).snapshot() | change
    with pytest.raises(InputError) as error:
        Session.restore(snapshot)
    assert message in str(error.value)


@pytest.mark.parametrize("key", ["problem", "rules", "target", "engine"])
def test_snapshot_cut_short(key: str) -> None:
    snapshot = Session(tea(), rng=1).snapshot()
    del snapshot[key]
    with pytest.raises(InputError, match=f"the snapshot lacks the key '{key}'"):
        Session.restore(snapshot)


@pytest.mark.parametrize("data", [{}, [], None, "snapshot"])
def test_not_a_snapshot(data: Any) -> None:
    with pytest.raises(InputError, match="this is not a snapshot of a session"):
        Session.restore(data)


CLEAR = [(0, 40.0, -40.0), (1, 0.0, 0.0), (2, -40.0, 40.0)]  # a result of each arm: enough


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.floats(-50, 50), st.floats(-50, 50)),
        min_size=1,
        max_size=25,
    ),
    cuts=st.lists(st.integers(0, 25), max_size=4),
    shuffle=st.randoms(use_true_random=False),
    structured=st.booleans(),
)
@example(CLEAR, [2], Random(1), False)
@example([*CLEAR, (1, 80.0, -80.0)], [3], Random(1), False)  # a stop that more results undo
def test_order_and_batches_do_not_matter(
    rows: list[tuple[int, float, float]], cuts: list[int], shuffle: Any, structured: bool
) -> None:
    problem = linear() if structured else tea()
    table = pd.DataFrame(
        [(problem.arms[arm], x, y) for arm, x, y in rows], columns=["arm", *problem.objectives]
    )
    whole, batches, shuffled = (Session(problem, rng=1) for _ in range(3))
    whole.tell(table)
    edges = [0, *sorted(min(cut, len(table)) for cut in cuts), len(table)]
    for start, end in pairwise(edges):
        batches.tell(table.iloc[start:end])
    order = list(range(len(table)))
    shuffle.shuffle(order)
    for row in order:
        arm, x, y = table.iloc[row]
        shuffled.tell(arm, [x, y])
    # The same order gives the same bits; another order differs by rounding only.
    pd.testing.assert_frame_equal(
        batches.status().answers.drop(columns="candidate"),
        whole.status().answers.drop(columns="candidate"),
        check_exact=True,
    )
    pd.testing.assert_frame_equal(
        shuffled.status().arms, whole.status().arms, rtol=1e-9, atol=1e-9
    )
    assert batches.stopped == whole.stopped


def test_an_ask_is_taken_back() -> None:
    problem = Problem(objectives=["a"], covariance=[1.0], arms=["A", "B"])
    session, other = Session(problem, rng=1), Session(problem, rng=1)
    for one in (session, other):
        one.tell("A", 1.0)
        one.tell("B", 0.0)
    asked = session.ask(6)
    assert session.pending == {arm: asked.count(arm) for arm in problem.arms}
    for arm in asked:
        session.cancel(arm)
    assert set(session.pending.values()) == {0}
    assert session.status().arms["pending"].sum() == 0
    with pytest.raises(InputError, match="arm 'A' has 0 asks without a result, so 1 cannot be"):
        session.cancel("A")
    with pytest.raises(InputError, match="unknown arm 'C'"):
        session.cancel("C")
    arm = session.ask()
    with pytest.raises(InputError, match="must be a whole number of at least 1, got True"):
        session.cancel(arm, True)
    assert Session.restore(session.snapshot()).pending == session.pending


def test_results_as_a_table() -> None:
    session = Session(
        Problem(objectives={"a": "max", "b": "min"}, covariance=[1, 1], arms=["A", "B"]), rng=1
    )
    assert session.to_frame().empty
    session.tell("B", [1.0, 2.0])
    session.tell("A", {"b": 4.0, "a": 3.0})
    frame = session.to_frame()
    assert list(frame.columns) == ["arm", "a", "b"]
    assert frame.loc[1].tolist() == ["B", 1.0, 2.0]
    twin = Session(session.problem, rng=1)
    twin.tell(frame)  # it is a table that can be told
    assert twin.pulls == session.pulls


def test_a_table_of_means_is_refused() -> None:
    session = Session(Problem(objectives=["a"], covariance=[1], arms=["A", "B"]), rng=1)
    table = pd.DataFrame({"arm": ["A"], "a": [1.0], "sd": [0.2]})
    with pytest.raises(InputError, match="'sd' looks like one of a table of means"):
        session.tell(table)
    assert session.results == 0


@pytest.mark.parametrize("name", ["delta", "eta", "alpha", "kappa"])
@pytest.mark.parametrize("value", [True, 10**400, 10**5000], ids=["true", "400", "5000"])
def test_numbers_of_rules(name: str, value: object) -> None:
    problem = Problem(objectives=["a"], covariance=[1], arms=["A", "B"])
    given = {name: value} if name == "delta" else {"tuning": {name: value}}
    with pytest.raises(InputError, match=rf"{name}\b.* expected a .*, got ") as caught:
        Session(problem, **given)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 200


def test_results_as_mappings_are_those_of_a_table() -> None:
    problem = Problem(objectives={"yield": "max", "cost": "min"}, arms=["A", "B"], items=True)
    rows = [
        {"arm": arm, "item": f"plot {j}", "yield": j % 3 + k, "cost": 1.0 + j % 2, "day": 1}
        for j in range(6)
        for k, arm in enumerate("AB")
    ]
    told = [Session(problem, rng=1) for _ in range(2)]
    assert told[0].tell(rows) == told[1].tell(pd.DataFrame(rows))
    assert told[0].snapshot() == told[1].snapshot()
    before = told[0].snapshot()
    for wrong, said in [
        (
            [{"item": "p", "yield": 1, "cost": 1}],
            "row 1 of the results: it names no 'arm'",
        ),
        ([{}], "its keys: nothing"),
        ([*rows[:1], {**rows[1], "arm": "C"}], "row 2 of the results: unknown arm 'C'"),
        ([{**rows[0], "cost": "x"}], "row 1 of the results: .*'cost'"),
        ([{"arm": "A", "yield": 1}], "row 1 of the results: .*no value for objective 'cost'"),
    ]:
        with pytest.raises(InputError, match=said):
            told[0].tell(wrong)
    assert told[0].snapshot() == before
    with pytest.raises(InputError, match="give nothing else"):
        told[0].tell(rows, [1.0, 2.0])
