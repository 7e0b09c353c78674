"""Costs of pulls: where the sampling spends, and T* in units of cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips import Problem, Session
from psips.errors import InputError
from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.problem.problem_file import read_problem_file
from psips.simulation import simulate, simulate_many
from psips.simulation.environments import environment_of
from psips.theory.geometry import best_response, complexity

ARMS = ["A", "B", "C"]


def problem(**choices: Any) -> Problem:
    return Problem(objectives=["yield"], covariance=[1.0], arms=ARMS, **choices)


def with_costs(one: Problem, costs: Any) -> Problem:
    return Problem.from_dict({**one.to_dict(), "costs": list(map(float, costs))})


def test_costs_by_name_and_in_order() -> None:
    assert problem(costs={"B": 5}).costs.tolist() == [1.0, 5.0, 1.0]
    assert problem(costs=[2, 3, 4]).costs.tolist() == [2.0, 3.0, 4.0]
    assert not problem().has_costs
    assert problem(costs={"A": 2.0}).has_costs


def test_designs_without_costs_are_as_they_were() -> None:
    assert "costs" not in problem().to_dict()
    assert problem(costs={"A": 1.0}) == problem()
    data = json.loads(json.dumps(problem(costs={"B": 5}).to_dict()))
    assert Problem.from_dict(data) == problem(costs={"B": 5})
    assert Problem.from_dict(data) != problem()


@pytest.mark.parametrize(
    ("costs", "text"),
    [
        ({"B": 0}, "the cost of arm 'B' must be positive and finite, got 0"),
        ({"B": -1.0}, "the cost of arm 'B' must be positive and finite, got -1.0"),
        ({"B": float("inf")}, "must be positive and finite"),
        ({"B": "dear"}, "the cost of arm 'B' must be a number, got 'dear'"),
        ({"D": 2.0}, "unknown arm in the costs 'D'"),
        ([1.0, 2.0], "there must be 3 costs, one per arm, got 2"),
        ("dear", "costs must be a mapping from arm to number"),
        (3.0, "costs must be a mapping from arm to number"),
    ],
)
def test_bad_costs(costs: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        problem(costs=costs)


def test_in_files(tmp_path: Path) -> None:
    head = 'arms = ["A", "B"]\nobjectives = [{name = "yield", variance = 1.0}]\n'
    (tmp_path / "a.toml").write_text(head + "costs = {B = 5.0}\n")
    (tmp_path / "b.toml").write_text(head + 'costs = "costs.csv"\n')
    (tmp_path / "costs.csv").write_text("arm,cost\nB,5\n")
    for name in ("a.toml", "b.toml"):
        assert read_problem_file(tmp_path / name).problem.costs.tolist() == [1.0, 5.0]
    (tmp_path / "costs.csv").write_text("arm,cost,more\nB,5,1\n")
    with pytest.raises(InputError, match="one column of costs next to the arms, got 2"):
        read_problem_file(tmp_path / "b.toml")
    (tmp_path / "c.toml").write_text(head + "costs = {B = -5.0}\n")
    with pytest.raises(InputError, match=r"c.toml: the cost of arm 'B' must be positive"):
        read_problem_file(tmp_path / "c.toml")


def test_t_star_of_two_arms() -> None:
    """The lead's variance c_1 / s_1 + c_2 / s_2, by spending s, is least at s ~ sqrt(c)."""
    two = Problem(objectives=["y"], covariance=[1.0], arms=2, costs=[1.0, 50.0])
    found = complexity(two, [[1.0], [0.0]], tolerance=1e-4)
    assert found.t_star == pytest.approx(2 * (1 + np.sqrt(50)) ** 2, rel=2e-4)
    shares = np.array(list(found.weights.values()))
    assert shares == pytest.approx(np.array([np.sqrt(50), 1]) / (1 + np.sqrt(50)), rel=0.02)


def test_t_star_on_a_grid() -> None:
    """No weights with sum cost w = 1 do better than the optimum, and those found reach it."""
    made = instance("random-gaussian", K=3, d=2, seed=3)
    costs = np.array([1.0, 7.0, 30.0])
    one = with_costs(made.problem, costs)
    found = complexity(one, made.theta)
    rng = np.random.default_rng(0)
    for spent in rng.dirichlet(np.ones(3), 300):
        value = best_response(one, made.theta, spent / costs).value
        assert value <= 2 / found.t_star * (1 + 1e-9)
    shares = np.array(list(found.weights.values()))
    reached = best_response(one, made.theta, shares / (costs @ shares)).value
    assert reached >= 2 / found.t_star / (1 + found.gap) * (1 - 1e-9)


def test_the_unit_of_cost_does_not_matter() -> None:
    made = instance("random-gaussian", K=4, d=2, seed=1)
    costs = np.array([1.0, 2.0, 4.0, 8.0])
    dear = [with_costs(made.problem, unit * costs) for unit in (1.0, 4.0)]
    few, many = (simulate(one, environment_of(made), rng=5) for one in dear)
    assert few.pulls == many.pulls
    assert many.cost == 4 * few.cost == pytest.approx(4 * costs @ list(few.pulls.values()))
    cheap, steep = (complexity(one, made.theta).t_star for one in dear)
    assert steep == pytest.approx(4 * cheap, rel=2e-3)


def test_equal_costs_change_nothing() -> None:
    made = instance("random-gaussian", K=4, d=2, seed=1)
    equal = with_costs(made.problem, [8.0] * 4)
    plain = simulate(made.problem, environment_of(made), rng=5)
    assert simulate(equal, environment_of(made), rng=5).pulls == plain.pulls


def test_baselines_ignore_costs() -> None:
    made = instance("random-gaussian", K=4, d=2, seed=1)
    dear = with_costs(made.problem, [1.0, 50.0, 1.0, 50.0])
    for sampling in ("ape", "track-and-stop", "projected"):
        blind = simulate(made.problem, environment_of(made), rng=5, sampling=sampling)
        assert (
            simulate(dear, environment_of(made), rng=5, sampling=sampling).pulls == blind.pulls
        )


@pytest.mark.parametrize("stopping", ["glr", "predicted"])
def test_less_is_spent(stopping: str) -> None:
    """Two arms that nearly tie, one expensive: blind rules pay for both alike."""
    one = Problem(objectives=["y"], covariance=[1.0], arms=2, costs=[1.0, 50.0])
    made = Instance("", one, np.array([[0.3], [0.0]]))
    blind = Instance("", Problem(objectives=["y"], covariance=[1.0], arms=2), made.theta)
    spent = np.array([r.cost for r in simulate_many(made, runs=40, stopping=stopping).each])
    each = simulate_many(blind, runs=40, stopping=stopping).each
    paid = np.array([np.dot([1.0, 50.0], list(run.pulls.values())) for run in each])
    assert spent.mean() < 0.85 * paid.mean()


def test_summary_has_the_cost() -> None:
    made = instance("random-gaussian", K=4, d=2, seed=1)
    dear = Instance("", with_costs(made.problem, [1.0, 2.0, 1.0, 3.0]), made.theta)
    found = simulate_many(dear, runs=3)
    assert found.to_dict()["mean_cost"] == pytest.approx(found.costs.mean())
    assert "mean_cost" not in simulate_many(made, runs=1).to_dict()


def test_status_says_what_was_spent() -> None:
    session = Session(problem(costs={"B": 5}), rng=1)
    for arm in ARMS:
        session.tell(arm, 1.0 if arm == "A" else 0.0)
    assert session.spent == 7.0
    assert "spent: 7 in cost" in str(session.status())


def test_where_arms_share_features_cheap_ones_replace_expensive_ones() -> None:
    made = instance("linear", K=20, h=4, d=2, norm=3.0, seed=2)
    costs = np.where(np.arange(20) % 2, 50.0, 1.0)
    dear = with_costs(made.problem, costs)
    assert (costs[dear.model.first] == 1.0).all()
    assert (costs[made.problem.model.first] == 50.0).any()
    assert dear.model.thrift @ costs < 0.2 * (made.problem.model.explore @ costs)
    spent = [
        sum(
            costs @ list(simulate(one, environment_of(made), rng=seed).pulls.values())
            for seed in range(5)
        )
        for one in (dear, made.problem)
    ]
    assert spent[0] < 0.3 * spent[1]
