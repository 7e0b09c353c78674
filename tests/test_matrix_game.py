"""Matrix games against SciPy's linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from psips.theory.matrix_game import MatrixGame


def value_of(G: np.ndarray) -> float:
    K, m = G.shape
    found = linprog(
        np.append(np.zeros(K), -1.0),
        A_ub=np.column_stack([-G.T, np.ones(m)]),
        b_ub=np.zeros(m),
        A_eq=np.append(np.ones(K), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0.0, None)] * K + [(None, None)],
    )
    return -float(found.fun)


KINDS = ("dense", "sparse", "many sizes", "far columns", "ties", "alike", "one arm")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_values_are_those_of_linear_programs(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    K = 1 if kind == "one arm" else int(rng.integers(2, 25))
    game = MatrixGame(K)
    for _ in range(int(rng.integers(1, 40))):
        column = rng.exponential(size=K)
        if kind == "sparse":
            column *= rng.random(K) < 0.3
        if kind == "many sizes":
            column *= 10.0 ** rng.uniform(-4, 4, K)
        if kind == "far columns":
            column *= 10.0 ** rng.uniform(-8, 8)
        if kind == "ties":
            column = rng.integers(0, 3, K).astype(float)
        if kind == "alike":
            column = np.ones(K) + 1e-7 * column
        if not column.any():
            column[0] = 1.0
        game.add(column)
        w, p = game.solved()
        assert w.min() >= 0.0
        assert p.min() >= 0.0
        low, high = (w @ game.columns).min(), (game.columns @ p).max()
        assert low <= high * (1.0 + 1e-9)
        assert low >= high * (1.0 - 1e-6)  # the value lies between them
    if kind == "far columns":
        return  # what SciPy takes for 0 is larger than the value
    scale = game.columns.max()
    assert low == pytest.approx(scale * value_of(game.columns / scale), rel=1e-6, abs=1e-9)


def test_a_small_column_hides_no_pivot() -> None:
    """The value is 3e-6; it was left at 3.76e-6 where pivots were compared across rows."""
    game = MatrixGame(3)
    for column in np.array([[7e4, 3e-6], [1.8e5, 1.8e-6], [2e5, 2e-7]]).T:
        game.add(column)
    w, p = game.solved()
    assert (w @ game.columns).min() == pytest.approx(3e-6, rel=1e-6)
    assert (game.columns @ p).max() == pytest.approx(3e-6, rel=1e-6)
