"""Verdicts by certificates and by predicted claims: which follow, and how often they err."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from psips._core import IN, OPEN, OUT, verdicts_by, weigh_account
from psips.lab.instances import instance
from psips.problem import Problem
from psips.session import Session
from psips.session.verdicts import verdicts_of
from psips.state.account import Account, open_account
from test_predicted import early_prediction, go_on, told

LOOKS = np.unique(np.geomspace(1, 3000, 60).astype(int))


def account_of(means: np.ndarray, level: float, results: float = 10.0) -> tuple[Any, Account]:
    """Return a session and the account of the Pareto set of ``means``, the first phase's."""
    K, d = means.shape
    problem = Problem(objectives=[f"o{c}" for c in range(d)], covariance=[1] * d, arms=K)
    session = Session(problem, stopping="never", rng=1)
    N1 = np.full(K, results)
    session.engine.know(N1, means * results)
    session.engine.judge()
    inside = session.engine.front.inside
    return session, open_account(problem.model, inside, N1, means * results, level)


def by(account: Account) -> np.ndarray:
    verdict = np.zeros(len(account.inside), np.int64)
    verdicts_by(account, verdict)
    return verdict


def in_any_order(account: Account) -> np.ndarray:
    """Return verdicts as soon as the answer's own pieces are settled: not proven."""
    open_yet = set(account.owner[~account.settled].tolist())
    codes = np.where(account.inside, IN, OUT)
    return np.array([OPEN if a in open_yet else codes[a] for a in range(len(codes))])


def test_no_verdict_of_an_account_is_wrong_more_often_than_its_level_says() -> None:
    """The worst truth: forty equal arms, one of which looked best and has more results since.
    Without the order of the answers each would have its own chance to err, and the test must
    see that."""
    chance, runs, K = 0.1, 200, 40
    means = np.zeros((K, 1))
    means[0] = 1.0
    wrong = {by: 0, in_any_order: 0}
    rng = np.random.default_rng(1)
    session, account = account_of(means, -math.log(chance))
    times = np.ones(K)
    times[0] = 5.0
    for _ in range(runs):
        account.settled[:] = False
        later = np.sqrt(times) * rng.normal(size=(LOOKS[-1], K)).cumsum(axis=0)
        erred = dict.fromkeys(wrong, False)
        for n in LOOKS:
            session.engine.know(account.N1 + n * times, account.B1 + later[n - 1][:, None])
            weigh_account(session.engine.model, session.engine.belief, account)
            for judge in wrong:
                erred[judge] |= bool((judge(account) == OUT).any())
        for judge in wrong:
            wrong[judge] += erred[judge]
    bound = chance * runs + 2 * math.sqrt(chance * runs)
    assert 0 < wrong[by] <= bound
    assert wrong[in_any_order] > bound


def test_verdicts_follow_the_order_and_members_come_last() -> None:
    means = np.array([[3.0, 0.0], [0.0, 3.0], [2.5, -1.0], [-9.0, -9.0], [-1.0, 2.9]])
    _, account = account_of(means, 3.0)
    assert account.order.tolist()[:3] == [3, 2, 4]
    assert set(account.order[3:].tolist()) == {0, 1}
    account.settled[:] = account.owner == 2
    account.left[: account.size[0]] = 0
    rest = np.flatnonzero(~account.settled)
    account.left[: len(rest)], account.size[0] = rest, len(rest)
    assert (by(account) == OPEN).all()  # 3 comes before it
    rest = np.flatnonzero(~np.isin(account.owner, [2, 3]))
    account.left[: len(rest)], account.size[0] = rest, len(rest)
    assert by(account).tolist() == [OPEN, OPEN, OUT, OUT, OPEN]
    account.size[0] = 0
    assert by(account).tolist() == [IN, IN, OUT, OUT, OUT]


@pytest.mark.parametrize("name", ["correlated", "cov-boost"])
def test_a_set_that_is_proven_leaves_no_verdict_open(name: str) -> None:
    made = instance(name)
    session, trial = told(made, 300)
    early = {one.answer: one.verdict for one in verdicts_of(made.problem, session.engine)}
    go_on(session, trial, 10**5)
    assert session.stopped
    found = {one.answer: one.verdict for one in verdicts_of(made.problem, session.engine)}
    right = {a: "in" if a in made.pareto_set else "out" for a in made.problem.answers}
    assert found == right
    assert all(verdict in ("open", right[answer]) for answer, verdict in early.items())
    text = str(session.status())
    assert "undecided" not in text.split("What is proven of each arm")[1]


def test_either_kind_of_evidence_is_enough() -> None:
    """Before a set is predicted certificates alone speak; they are held to a tenth of delta."""
    problem = Problem(objectives=["a"], covariance=[1], arms=2)
    session = Session(problem, stopping="predicted", rng=1)
    for _ in range(50):  # not one judgement in between: nothing is predicted
        session.engine.learn(0, np.array([2.0]))
        session.engine.learn(1, np.array([0.0]))
    assert not session.engine.predictions.accounts
    session.engine.judge()
    assert session.stopped
    assert [one.verdict for one in verdicts_of(problem, session.engine)] == ["in", "out"]
    session = early_prediction()
    for _ in range(27):  # too little for certificates, with all that was told before
        session.engine.learn(0, np.array([0.85]))
        session.engine.learn(1, np.array([0.0]))
    session.engine.judge()
    alone = Session(problem, stopping="never", rng=1, delta=0.01)
    alone.engine.know(session.engine.belief.pulls, session.engine.belief.B)
    alone.engine.judge()
    assert {one.verdict for one in verdicts_of(problem, alone.engine)} == {"open"}
    assert session.stopped
    assert session.engine.account.settled.all()
    assert [one.verdict for one in verdicts_of(problem, session.engine)] == ["in", "out"]
