"""PSI gaps against the definition written out, and what they reduce to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psips.problem.gaps import gaps, hardness, hardness_floor

# Few distinct values, so that ties and duplicates come up.
means = st.integers(1, 3).flatmap(
    lambda d: st.lists(
        st.lists(st.integers(-3, 3).map(lambda x: x / 4), min_size=d, max_size=d),
        min_size=1,
        max_size=7,
    )
)


def naive_gaps(mu: list[list[float]]) -> list[float]:
    n, d = len(mu), len(mu[0])

    def m(i: int, j: int) -> float:
        return min(mu[j][c] - mu[i][c] for c in range(d))

    def M(i: int, j: int) -> float:  # noqa: N802
        return max(mu[i][c] - mu[j][c] for c in range(d))

    def dominated(i: int) -> bool:
        return any(
            all(mu[j][c] >= mu[i][c] for c in range(d)) and mu[j] != mu[i] for j in range(n)
        )

    S = [i for i in range(n) if not dominated(i)]
    delta = {i: max(m(i, j) for j in S) for i in range(n) if i not in S}
    for i in S:
        plus = [min(M(i, j), M(j, i)) for j in S if j != i]
        minus = [max(M(j, i), 0) + delta[j] for j in range(n) if j not in S]
        delta[i] = min([*plus, *minus, np.inf])
    return [delta[i] for i in range(n)]


@given(means)
def test_against_the_definition(mu: list[list[float]]) -> None:
    assert gaps(mu).tolist() == naive_gaps(mu)


@given(means)
def test_hardness_and_its_floor(mu: list[list[float]]) -> None:
    inverse = [np.inf if gap == 0 else gap**-2 for gap in naive_gaps(mu)]
    assert hardness(mu) == pytest.approx(sum(inverse))
    assert hardness_floor(mu) <= hardness(mu) * (1 + 1e-12)


def test_the_floor_is_worth_something() -> None:
    mu = [[1.0, 1.0], [0.5, 0.9], [0.2, 0.2]]
    assert hardness_floor(mu) == pytest.approx(0.1**-2 + 0.8**-2)


def test_one_objective_gives_the_gaps_of_best_arm_identification() -> None:
    assert gaps([[3.0], [1.0], [2.5]]).tolist() == [0.5, 2.0, 0.5]


def test_one_answer_has_no_rival() -> None:
    assert gaps([[1.0, 2.0]]).tolist() == [np.inf]
    assert hardness([[1.0, 2.0]]) == 0.0


def test_many_at_once() -> None:
    mu = np.random.default_rng(0).uniform(size=(4, 5, 6, 3))
    one_by_one = np.array([[gaps(x) for x in row] for row in mu])
    assert np.array_equal(gaps(mu), one_by_one)
    assert hardness(mu).shape == hardness_floor(mu).shape == (4, 5)
