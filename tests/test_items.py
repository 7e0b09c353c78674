"""Sessions whose results share items."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from psips import InputError, Problem, Session
from psips.plots.history import evidence_over_time, history_of
from psips.problem.instances import Instance
from psips.session import Ticket

MEANS = np.array([[3.0, 3.0], [2.0, 1.0], [2.2, 2.5], [1.0, 0.5]])
ARMS = ["A", "B", "C", "D"]


def problem(**given) -> Problem:
    return Problem(
        objectives={"yield": "max", "cost": "min"}, arms=ARMS, **{"items": True, **given}
    )


class Lab:
    """Gives results: an effect of the item, the same for all arms, and noise of their own."""

    def __init__(self, seed: int, between: float = 1.2, within: float = 0.8) -> None:
        self.rng = np.random.default_rng(seed)
        self.effects: dict[str, np.ndarray] = {}
        self.between, self.within = between, within

    def measure(self, arm: str, item: str | None) -> np.ndarray:
        assert item is not None
        if item not in self.effects:
            self.effects[item] = self.between * self.rng.normal(size=2)
        noise = self.within * self.rng.normal(size=2)
        return MEANS[ARMS.index(arm)] + self.effects[item] + noise


def go(session: Session, lab: Lab, n: int) -> list[Ticket]:
    asked = []
    for _ in range(n):
        ticket = session.ask()
        session.tell(ticket, lab.measure(ticket.arm, ticket.item))
        asked.append(ticket)
    return asked


def test_each_arm_goes_through_the_items_in_their_order() -> None:
    session = Session(problem(), rng=1)
    asked = go(session, Lab(1), 60)
    for arm in ARMS:
        items = [ticket.item for ticket in asked if ticket == arm]
        assert items == [str(n) for n in range(1, len(items) + 1)]
    assert len(set(asked)) == 60


def test_it_stops_with_the_right_set_and_knows_both_variances() -> None:
    session = Session(problem(), rng=1)
    lab = Lab(1)
    while not session.stopped:
        go(session, lab, 1)
    assert session.pareto_set == ("A", "B", "C", "D")
    noise = session.status().noise
    assert noise.loc["between items", "yield sd"] == pytest.approx(1.2, rel=0.15)
    assert noise.loc["B", "cost sd"] == pytest.approx(0.8, rel=0.15)


def test_asks_in_flight_are_for_different_items() -> None:
    session = Session(problem(), rng=1)
    asked = session.ask(40)
    assert len(set(asked)) == 40
    assert session.pending == {arm: sum(ticket == arm for ticket in asked) for arm in ARMS}
    lab = Lab(1)
    for ticket in reversed(asked):
        session.tell(ticket, lab.measure(ticket.arm, ticket.item))
    assert not any(session.pending.values())


def test_an_item_that_was_taken_back_comes_again() -> None:
    session = Session(problem(), rng=1)
    first = session.ask(8)
    session.cancel(first[0])
    again = session.ask(8)
    assert first[0] in again
    session.cancel(first[1].arm, item=first[1].item)
    assert first[1] in session.ask(8)
    with pytest.raises(InputError, match="was not asked for item 'nowhere'"):
        session.cancel(first[0].arm, item="nowhere")


def test_a_list_of_items_ends() -> None:
    session = Session(problem(items=["q1", "q2", "q3", "q4", "q5", "q6"]), rng=1)
    asked = go(session, Lab(1), 24)
    assert len(set(asked)) == 24
    with pytest.raises(InputError, match="every arm was asked for every item, 6 in all"):
        session.ask()
    text = str(session.status())
    assert "all 6 items were measured with every arm" in text
    with pytest.raises(InputError, match="unknown item 'q7'"):
        session.tell("A", [1, 2], item="q7")


def test_snapshots_go_on_to_the_bit() -> None:
    one = Session(problem(), rng=1)
    go(one, Lab(1), 77)
    one.ask(3)
    other = Session.restore(json.loads(json.dumps(one.snapshot())))
    assert go(one, Lab(2), 40) == go(other, Lab(2), 40)
    assert one.engine.belief.theta.tolist() == other.engine.belief.theta.tolist()
    assert one.engine.belief.G.tolist() == other.engine.belief.G.tolist()


def test_results_without_an_item_and_tables_are_taken() -> None:
    lab, rows = Lab(3), []
    for n in range(30):
        for arm in ARMS:
            values = lab.measure(arm, f"q{n}")
            rows.append({"arm": arm, "item": f"q{n}", "yield": values[0], "cost": values[1]})
    session = Session(problem(), rng=1)
    session.tell(pd.DataFrame(rows))
    before = session.engine.covariances()[0, 0, 0]
    for _ in range(20):
        session.tell("A", lab.measure("A", str(lab.rng.random())))
    assert session.results == 140
    assert session.engine.covariances()[0, 0, 0] < before
    frame = session.to_frame()
    assert frame["item"].iloc[5] == "q1"
    assert frame["item"].iloc[-1] == ""
    assert (frame.columns == ["arm", "item", "yield", "cost"]).all()


def test_differences_within_items_are_known_better_than_the_means() -> None:
    """With 2,000 times the variance between items, differences do not feel it."""
    lab, session = Lab(4, between=40.0, within=0.9), Session(problem(), rng=1)
    for n in range(50):
        for arm in ARMS:
            session.tell(arm, lab.measure(arm, str(n)), item=n)
    theta = session.engine.belief.theta * [1.0, -1.0]
    wanted = MEANS - MEANS[0]
    assert np.abs(theta - theta[0] - wanted).max() < 5 * 0.9 * np.sqrt(2 / 50)
    errors = np.sqrt(session.engine.covariances()[:, 0, 0])
    assert (errors > 3.0).all()  # of the mean over all items there are
    assert session.candidate_set == ("A", "B", "C", "D")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"covariance": [1, 1]}, "cannot be combined with a covariance"),
        ({"partial": True}, "cannot be combined with missing values"),
        ({"features": [[0.0], [1.0], [2.0], [3.0]]}, "cannot be combined with features"),
    ],
)
def test_what_does_not_go_with_items_is_refused(given, words) -> None:
    with pytest.raises(InputError, match=words):
        problem(**given)


@pytest.mark.parametrize("stopping", ["certified", "predicted", "bayes"])
def test_rules_that_need_a_covariance_are_refused(stopping: str) -> None:
    with pytest.raises(InputError, match="choose stopping='glr'"):
        Session(problem(), stopping=stopping)


def test_an_item_where_there_are_none_is_refused() -> None:
    session = Session(problem(items=False), rng=1)
    with pytest.raises(InputError, match="has no items, got 'q1'"):
        session.tell("A", [1, 2], item="q1")


def test_a_problem_with_items_is_recorded() -> None:
    for items in (True, ["q1", "q2"], 2):
        one = problem(items=items)
        assert Problem.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    assert "blocks" not in problem(items=False).to_dict()


def test_a_tolerance_goes_with_items_and_limits_do_not() -> None:
    took = {}
    for epsilon in (None, 0.4):
        session, lab = Session(problem(epsilon=epsilon), rng=1), Lab(3)
        while not session.stopped:
            go(session, lab, 1)
        assert Instance("", session.problem, MEANS).is_right(session.candidate_set)
        took[epsilon] = session.results
    assert took[0.4] < took[None]
    with pytest.raises(InputError, match="leave the limits out, or the items"):
        Session(problem(limits=["cost <= 3"]), rng=1)


def test_the_evidence_over_time_ends_where_the_session_is() -> None:
    """Told again in their order, results of one item are still known to share it."""
    session = Session(problem(), rng=1, stopping="glr", calibration="measured")
    go(session, Lab(1), 60)
    found = evidence_over_time(history_of(session), 4)
    assert found.results[-1] == 60
    value, threshold = session.engine.ratio()
    assert found.value[-1] == pytest.approx(value, rel=1e-9)
    assert found.threshold[-1] == pytest.approx(threshold)
    early = Session(problem(), rng=1, stopping="glr", calibration="measured")
    go(early, Lab(1), int(found.results[-2]))
    assert found.value[-2] == pytest.approx(early.engine.ratio()[0], rel=1e-9)


@pytest.mark.parametrize("agree", [6, 9, 15])
@pytest.mark.parametrize("seed", range(4))
def test_options_that_agree_on_all_items_so_far(agree: int, seed: int) -> None:
    """Four models that are right on the same questions at first: nothing becomes NaN."""
    rng = np.random.default_rng(seed)
    arms, items = ["a", "b", "c", "d"], [f"q{j}" for j in range(40)]
    accuracy = (rng.random((4, 40)) < 0.7).astype(float)
    accuracy[:, :agree] = accuracy[0, :agree]
    cost = np.exp(0.3 * rng.normal(size=40) + 0.2 * rng.normal(size=(4, 40)))
    objectives = {"accuracy": {"kind": "binary"}, "cost": "min"}
    session = Session(Problem(objectives=objectives, arms=arms, items=items), rng=1)
    for j, item in enumerate(items):
        for a, arm in enumerate(arms):
            session.tell(arm, [accuracy[a, j], cost[a, j]], item=item)
            assert np.isfinite(session.engine.belief.theta).all()
            assert np.isfinite(session.engine.between).all()
    assert session.candidate_set
    found = session.status().arms["accuracy estimate"].to_numpy()
    assert np.allclose(found, accuracy.mean(axis=1), atol=1e-6)


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_snapshot_with_a_result_that_is_no_number_is_refused(value: float) -> None:
    problem = Problem(objectives=["x"], arms=["A", "B"], items=True)
    session = Session(problem, rng=1)
    lab = np.random.default_rng(1)
    for item in range(6):
        for arm in "AB":
            session.tell(arm, [lab.normal()], item=f"q{item}")
    kept = session.snapshot()
    assert Session.restore(kept).results == 12
    kept["engine"]["items"]["values"][3] = [value]
    with pytest.raises(InputError, match="a result is not finite"):
        Session.restore(kept)
