"""Designs drafted from results: how much of the noise items share, against pairs by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from psips.aliases import Floats, Ints
from psips.diagnostics.residuals import pooled_covariance
from psips.input.tabular.grid import Grid
from psips.study.drafting import MOST_BETWEEN, _between_items


def table(arms: Ints, items: list[str], values: Floats, column: str = "item") -> Grid:
    lines = [
        (number, [f"arm {arm}", item, *map(str, x)])
        for number, (arm, item, x) in enumerate(zip(arms, items, values, strict=True), start=2)
    ]
    return Grid("results.csv", ["arm", column, "a", "b"], lines, ",", "line")


def results(effect: float) -> tuple[Ints, list[str], Floats]:
    """Five items of three arms, one more result of an item twice, and two without an item."""
    rng = np.random.default_rng(3)
    arms = np.array([*np.tile([0, 1, 2], 5), 0, 1, 2])
    items = [f"q{k // 3}" for k in range(15)] + ["q0", "", ""]
    shared = {item: effect * rng.normal(size=2) for item in sorted(set(items))}
    shared[""] = np.zeros(2)
    values = np.array([shared[item] for item in items]) + rng.normal(size=(18, 2))
    return arms, items, values + arms[:, None]


@pytest.mark.parametrize("effect", [0.8, 1.5])
def test_the_share_is_that_of_pairs_of_different_arms(effect: float) -> None:
    arms, items, values = results(effect)
    covariance, _ = pooled_covariance(arms, values)
    rest = values - np.array([values[arms == a].mean(axis=0) for a in range(3)])[arms]
    products = [
        rest[i] * rest[j]
        for i, j in permutations(range(18), 2)
        if items[i] and items[i] == items[j] and arms[i] != arms[j]
    ]
    expected = np.mean(products, axis=0) / np.diag(covariance)
    assert ((expected > 0.0) & (expected < MOST_BETWEEN)).all()
    found, why = _between_items(table(arms, items, values), arms, values, covariance)
    assert found == pytest.approx(expected)
    assert why == ""


def test_where_there_is_no_share() -> None:
    arms, items, values = results(1.0)
    covariance, _ = pooled_covariance(arms, values)
    other = table(arms, items, values, column="day")
    assert _between_items(other, arms, values, covariance) == (None, "")
    apart = [f"q{k}" for k in range(18)]
    found = _between_items(table(arms, apart, values), arms, values, covariance)
    assert found == (None, "names no item that two arms share")
    values[3, 1] = np.nan
    found = _between_items(table(arms, items, values), arms, values, covariance)
    assert found == (None, "goes with results that have all their values")


def test_a_share_is_never_negative_nor_everything() -> None:
    arms, items = np.array([0, 1] * 4), [f"q{k // 2}" for k in range(8)]
    x = np.array([1.0, -1.0, -1.0, 1.0, 2.0, -2.0, -2.0, 2.0])
    values = np.column_stack([x, np.abs(x) * np.sign(np.repeat([1.0, -1.0, 1.0, -1.0], 2))])
    covariance, _ = pooled_covariance(arms, values)
    found, _ = _between_items(table(arms, items, values), arms, values, covariance / 2)
    assert found is not None
    assert found.tolist() == [0.0, MOST_BETWEEN]
