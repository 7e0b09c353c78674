"""Matrix games in which the opponent gets one more answer after the other."""

from __future__ import annotations

import numpy as np

from psips.aliases import Floats, Ints

GAIN, PIVOT = 1e-11, 1e-10  # from which on something is a gain, and a pivot
CLOSE = 1e-8  # how far the two sides' values may be apart, relative to them
LEVEL = 1e-9  # by which bounds are set apart, so that no vertex is met twice
FRESH = 50  # exchanges after which the inverse is made again


class MatrixGame:
    """Weights w over K arms against columns g_k >= 0: the largest min_k w . g_k.

    The opponent's side is the linear program of the largest sum of q >= 0 with G q <= 1, by the
    revised simplex method: one more column leaves what was found feasible.

    Examples
    --------
    >>> game = MatrixGame(2)
    >>> game.add(np.array([1.0, 0.0]))
    >>> game.add(np.array([0.0, 3.0]))
    >>> w, p = game.solved()
    >>> w.round(6).tolist(), p.round(6).tolist()
    ([0.75, 0.25], [0.75, 0.25])
    """

    def __init__(self, K: int) -> None:
        self.columns = np.zeros((K, 0))
        self._basis: Ints = -1 - np.arange(K)  # columns, and -1 - a for the slack of arm a
        self._inverse = np.eye(K)
        self._level = 1.0 + LEVEL * np.arange(1, K + 1) / K
        self._scale = 1.0

    @property
    def count(self) -> int:
        """How many columns there are."""
        return self.columns.shape[1]

    def add(self, column: Floats) -> None:
        """Give the opponent one more answer."""
        if not self.columns.size:
            self._scale = float(column.max())
        self.columns = np.column_stack([self.columns, column])

    def solved(self) -> tuple[Floats, Floats]:
        """Return the weights (K,) of the arms and the mixture of the columns.

        What the weights gain at least and what the mixture grants at most enclose the value.
        """
        K, m = self.columns.shape
        G = self.columns / self._scale
        w, mixture = np.full(K, 1.0 / K), np.full(m, 1.0 / m)
        for k in range(20 * (K + m)):
            if k % FRESH == FRESH - 1:
                self._inverse[:] = np.linalg.inv(self._matrix(G))
            inside = self._basis >= 0
            duals = self._inverse[inside].sum(axis=0)
            if inside.any():
                w, mixture = np.maximum(duals, 0.0), np.zeros(m)
                mixture[self._basis[inside]] = np.maximum(self._inverse @ self._level, 0.0)[
                    inside
                ]
                w, mixture = w / w.sum(), mixture / mixture.sum()
            gains = np.append(1.0 - duals @ G, -duals)
            enter = int(gains.argmax())
            if gains[enter] <= GAIN or (G @ mixture).max() <= (1.0 + CLOSE) * (w @ G).min():
                break
            self._exchange(G, enter if enter < m else m - 1 - enter)
        return w, mixture

    def _matrix(self, G: Floats) -> Floats:
        found = np.zeros_like(self._inverse)
        for place, k in enumerate(self._basis.tolist()):
            if k >= 0:
                found[:, place] = G[:, k]
            else:
                found[-1 - k, place] = 1.0
        return found

    def _exchange(self, G: Floats, enter: int) -> None:
        """Bring a column, or the slack -1 - a, into the basis."""
        inverse = self._inverse
        given = G[:, enter] if enter >= 0 else np.eye(len(inverse))[-1 - enter]
        column = inverse @ given
        rises = column > PIVOT * (np.abs(inverse) @ given)  # of what is added up in its row
        steps = np.full(len(column), np.inf)
        steps[rises] = np.maximum(inverse @ self._level, 0.0)[rises] / column[rises]
        leave = int(steps.argmin())
        rest = column.copy()
        rest[leave] = 0.0
        inverse[leave] /= column[leave]
        inverse -= np.outer(rest, inverse[leave])
        self._basis[leave] = enter
