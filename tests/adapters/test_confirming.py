"""Fronts that are measured again, whoever found them: no other package is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psips import InputError
from psips.adapters.confirming import Candidate, confirm_front

TRUTH = {3: (4.0, 1.0), 5: (1.0, 0.0), 7: (3.0, 2.0), 9: (0.0, 3.0)}  # 3 and 5 are the front
FOUND = {3: (4.1, 1.1), 5: (0.9, 0.2), 7: (4.5, 1.0), 9: (0.1, 2.9)}  # 7 was lucky, 3 was not
WAYS = {"gain": "max", "cost": "min"}


def candidates() -> list[Candidate]:
    return [Candidate(n, {"x": n}, values) for n, values in FOUND.items()]


def lab(seed: int) -> Any:
    rng = np.random.default_rng(seed)

    def measure(one: Candidate, *item: Any) -> Any:
        shared = np.random.default_rng(item[0]).normal(size=2) if item else 0.0
        return tuple(np.array(TRUTH[one.number]) + shared + 0.3 * rng.normal(size=2))

    return measure


@pytest.mark.parametrize("items", [None, range(300)])
def test_the_front_is_that_of_the_means(items: Any) -> None:
    found = confirm_front(candidates(), WAYS, lab(1), items=items, seed=1)
    assert found.stopped
    assert set(found.front) == {3, 5}
    assert found.flukes == (7,)
    assert found.overlooked == (3,)
    assert bool(found.session.problem.has_items) == (items is not None)
    assert list(found.trials.index) == [5, 7, 3, 9]  # front by front, as they were found
    assert found.trials["was on the front"].tolist() == [True, True, False, False]
    assert found.trials["is on the front"].tolist() == [True, False, True, False]
    assert found.trials["gain found"].tolist() == [0.9, 4.5, 4.1, 0.1]
    assert found.trials.loc[3, "cost estimate"] == pytest.approx(1.0, abs=1.0)
    assert found.results == found.trials["results"].sum()
    assert "flukes, on the front as found and not on this one: 7\n" in str(found)


def test_a_front_that_is_given_counts_as_found() -> None:
    found = confirm_front(candidates(), WAYS, lab(1), best={3, 5}, seed=1)
    assert (found.flukes, found.overlooked) == ((), ())
    assert "flukes, on the front as found and not on this one: none\n" in str(found)


def test_trials_by_number_or_by_how_many() -> None:
    found = confirm_front(candidates(), WAYS, lab(1), trials=[9, 3], seed=1)
    assert list(found.trials.index) == [9, 3]
    assert found.front == (3,)
    assert found.flukes == ()  # of what was not measured nothing is said
    least = confirm_front(candidates(), WAYS, lab(1), trials=1, seed=1)
    assert list(least.trials.index) == [5, 7]  # two at least
    with pytest.raises(InputError, match="there is no complete trial 4: choose others"):
        confirm_front(candidates(), WAYS, lab(1), trials=[3, 4])


def test_equal_parameters_are_measured_once() -> None:
    twice = [*candidates(), Candidate(11, {"x": 3}, (9.0, 9.0))]
    found = confirm_front(twice, WAYS, lab(1), seed=1)
    assert 11 not in found.trials.index
    with pytest.raises(InputError, match="at least two different trials, and there are 1"):
        confirm_front([twice[0], twice[-1]], WAYS, lab(1))


def test_a_budget_ends_without_a_claim() -> None:
    found = confirm_front(candidates(), WAYS, lab(1), budget=9, seed=1)
    assert (found.stopped, found.results) == (False, 9)
    assert "front after 9 measurements, not confirmed yet: " in str(found)
