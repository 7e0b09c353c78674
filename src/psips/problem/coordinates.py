"""Features as the kernels read them, in coordinates without units.

Nothing that is concluded may depend on the units of the features. The kernels therefore read
them in the coordinates of their orthonormal columns, the Q of A = Q R: scaling a column of A
changes R alone. Where a parameter set is given in the user's own coordinates, these stay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psips.aliases import Floats, Ints
from psips.input.checks import RANK
from psips.problem.design import spanning_rows

DIGITS = 12  # of coordinates, which are about 1: so that ties in them are exact ties


class Coordinates(NamedTuple):
    """Features of arms and answers as the kernels read them."""

    A: Floats  # (K, r)
    Z: Floats  # (n, r)
    basis: Floats  # (h, r) A = features @ basis; theta = basis @ theta of these coordinates


def orthonormal(A: Floats) -> Coordinates:
    """Coordinates with orthogonal columns of mean square 1 over the arms, and no answers.

    Columns that depend on those before them are left out: r is the rank.

    Examples
    --------
    >>> orthonormal(np.array([[3.0, 0.0], [0.0, 0.02]])).A
    array([[1.41421356, 0.        ],
           [0.        , 1.41421356]])
    """
    K, h = A.shape
    unit = units_of(A)
    rows = A / unit
    kept = _independent_columns(rows)
    Q, R = np.linalg.qr(rows[:, kept])
    signs = np.where(np.diag(R) < 0, -1.0, 1.0)
    basis = np.zeros((h, len(kept)))
    basis[kept] = np.linalg.inv(R) * signs * np.sqrt(K) / unit[kept, None]
    return Coordinates(_exact(Q * signs * np.sqrt(K)), np.zeros((0, len(kept))), basis)


def scaled(A: Floats, Z: Floats) -> Coordinates:
    """Coordinates with the same axes, and no entry of an arm above 1."""
    unit = units_of(A)
    return Coordinates(_exact(A / unit), _exact(Z / unit), np.diag(1.0 / unit))


def reexpress(Z: Floats, found: Coordinates) -> Floats:
    """Give further rows in the coordinates of ``orthonormal``."""
    return _exact(Z @ found.basis)


def spanning_arms(frame: Floats) -> Ints:
    """Choose arms that span the others, far from dependent (frame: see `orthonormal`)."""
    return np.array(spanning_rows(frame), np.int64)


def units_of(rows: Floats) -> Floats:
    """Return the largest absolute entry of each column, 1 where all are 0."""
    largest = np.asarray(np.abs(rows).max(axis=0), np.float64)
    return np.where(largest > 0.0, largest, 1.0)


def _exact(rows: Floats) -> Floats:
    return np.ascontiguousarray(np.round(rows, DIGITS) + 0.0)  # no negative zeros


def _independent_columns(rows: Floats) -> list[int]:
    """Columns that are not combinations of those before them."""
    units: list[Floats] = []
    kept = []
    for c, column in enumerate(rows.T):
        rest = column.copy()
        for _ in range(2):  # a second time for what rounding left over
            for unit in units:
                rest -= (rest @ unit) * unit
        size = float(np.linalg.norm(rest))
        if size > RANK * max(float(np.linalg.norm(column)), 1e-300):
            units.append(rest / size)
            kept.append(c)
    return kept
