"""What is read of a run, rule by rule: numbers for people, and how far it is."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from psips.rules import evidence


def run(stopped: bool = False, ready: bool = True, **outcome: float) -> Any:
    """A run of four answers and 50 results, with a ratio of 2 against 8."""
    return SimpleNamespace(
        outcome=SimpleNamespace(**outcome),
        model=SimpleNamespace(n=4),
        results=50,
        ready=ready,
        stopped=stopped,
        ratio=lambda: (2.0, 8.0),
    )


def never() -> int:
    raise AssertionError("counting takes time, and no one asked for it")


@pytest.mark.parametrize(
    ("value", "threshold", "fraction"), [(2.0, 8.0, 0.25), (-1.0, 8.0, 0.0), (9.0, 8.0, 1.0)]
)
def test_a_threshold(value: float, threshold: float, fraction: float) -> None:
    found = evidence.of_threshold(run(evidence=value, threshold=threshold), never)
    assert found == {"evidence": value, "threshold": threshold, "fraction": fraction}
    stopped = evidence.of_threshold(run(True, evidence=value, threshold=threshold), never)
    assert stopped["fraction"] == 1.0


def test_claims() -> None:
    told = {"evidence": 8.0, "threshold": 8.0, "settled": 3.0, "pieces": 5.0}
    found = evidence.of_claims(run(**told), never)
    assert (found["settled"], found["claims"], found["fraction"]) == (3.0, 5.0, 0.99)
    assert evidence.of_claims(run(True, **told), never)["fraction"] == 1.0
    nothing = evidence.of_claims(run(**{**told, "settled": -1.0, "pieces": -1.0}), never)
    assert (nothing["settled"], nothing["claims"]) == (0.0, 0.0)


def test_answers_that_are_settled() -> None:
    found = evidence.of_verdicts(run(), lambda: 3)
    assert found == {"settled": 3.0, "answers": 4.0, "fraction": 0.75}
    assert evidence.of_verdicts(run(True), lambda: 3)["fraction"] == 1.0  # a goal was reached
    intervals = evidence.of_intervals(run(evidence=1.0), never)
    assert intervals == {"settled": 1.0, "answers": 4.0, "fraction": 0.25}


@pytest.mark.parametrize(
    ("hit", "budget", "shown", "fraction"),
    [
        (1.0, 4.0, 1.0, 0.25),
        (math.inf, 4.0, None, 1.0),  # no draw disagreed
        (1.0, 0.0, 1.0, 0.0),  # before there is a budget
        (1.0, -1.0, 1.0, 0.0),
    ],
)
def test_draws(hit: float, budget: float, shown: float | None, fraction: float) -> None:
    told = {"log_hit": hit, "log_budget": budget}
    found = evidence.of_draws(run(**told), never)
    assert found == {"log_hit": shown, "log_budget": budget, "fraction": fraction}
    assert evidence.of_draws(run(True, **told), never)["fraction"] == 1.0
    assert evidence.of_nothing(run(True, **told), never)["fraction"] == 0.0


def test_a_ratio() -> None:
    found = evidence.of_ratio(run(), never)
    assert found == {"evidence": 2.0, "threshold": 8.0, "fraction": 0.25}
    assert evidence.of_ratio(run(True), never)["fraction"] == 1.0
    early = evidence.of_ratio(run(ready=False), never)
    assert early == {"evidence": 0.0, "threshold": None, "fraction": 0.0}
    none = run()
    none.ratio = lambda: (0.0, 8.0)
    assert evidence.of_ratio(none, never)["fraction"] == 0.0
