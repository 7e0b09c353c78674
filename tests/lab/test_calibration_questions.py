"""Cells of the calibration that ask for more than the set: costs, goals, budgets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from psips.lab.calibration.families import families
from psips.lab.calibration.measuring import Row, Rule, measure
from psips.session.verdicts import verdicts_of


def asked(builder: str, rules: tuple[Rule, ...], delta: float = 0.1, runs: int = 40) -> Row:
    (row,) = measure(runs=runs, deltas=(delta,), rules=rules, only=(builder,))
    return row


def test_costs_are_asked_for_and_counted() -> None:
    family = families()["near-tie gap=0.1 costs=50:1"]
    (made,) = family.instances()
    assert made.problem.costs.tolist() == [50.0, 1.0]
    plain, dear = (
        asked(name, (Rule("glr", "measured"),)) for name in ("near-tie gap=0.1", family.name)
    )
    assert dear.mean_samples > 5 * plain.mean_samples  # both in what is paid
    assert dear.lower_bound > 5 * plain.lower_bound


def test_a_goal_is_measured_with_the_rule_that_can_have_one() -> None:
    name = "worse d=4 gap=0.3 goal=1 optimal"
    rules = (Rule("certified"), Rule("glr", "measured"))
    (row,) = measure(runs=40, deltas=(0.1,), rules=rules, only=(name,))
    (whole,) = measure(runs=40, deltas=(0.1,), rules=rules[:1], only=("worse d=4 gap=0.3",))
    assert row.rule == "certified"
    assert row.stopped == 40
    assert row.mean_samples < 0.7 * whole.mean_samples
    assert row.lower_bound == 0.0


def test_false_verdicts_at_the_end_of_a_budget_are_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "worse d=4 gap=0.3 budget=400"
    sound = asked(name, (Rule("certified"),))
    assert sound.stopped > 20
    assert sound.errors == 0
    assert sound.mean_samples <= 400

    def turned(*args: Any, **choices: Any) -> list[Any]:
        other = {"in": "out", "out": "in", "open": "open"}
        found = verdicts_of(*args, **choices)
        return [replace(one, verdict=other[one.verdict]) for one in found]

    monkeypatch.setattr("psips.session.verdicts.verdicts_of", turned)
    broken = asked(name, (Rule("certified"),))
    assert broken.errors == broken.stopped == sound.stopped
