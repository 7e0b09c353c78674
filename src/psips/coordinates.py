"""Features as the kernels read them: an intercept, and coordinates without units.

Nothing that is concluded may depend on the units of the features. The kernels therefore read
them in the coordinates of their orthonormal columns, the Q of A = Q R: scaling a column of A
changes R alone. Where a parameter set is given in the user's own coordinates, these stay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psips.checks import RANK, check_span
from psips.errors import InputError
from psips.kernels.model import Floats, Ints

INTERCEPT = "intercept"  # name of the feature that is 1 everywhere
CONSTANT = 1e-8  # distance from a constant, relative to it, below which features span it
DIGITS = 12  # of coordinates, which are about 1: so that ties in them are exact ties


class Coordinates(NamedTuple):
    """Features of arms and answers as the kernels read them."""

    A: Floats  # (K, r)
    Z: Floats  # (n, r)
    basis: Floats  # (h, r) A = features @ basis; theta = basis @ theta of these coordinates


def decide_intercept(arms: Floats, answers: Floats, asked: bool | None) -> bool:
    """Whether to fit an intercept: unless the features span a constant, or as ``asked``.

    Examples
    --------
    >>> one_hot, line = np.eye(2), np.array([[0.0], [1.0]])
    >>> decide_intercept(one_hot, one_hot, None), decide_intercept(line, line, None)
    (False, True)
    """
    if asked is False:
        return False
    rows = np.vstack([arms, answers])
    ones = np.ones(len(rows))
    scaled = rows / _units(rows)
    rest = ones - scaled @ np.linalg.lstsq(scaled, ones, rcond=RANK)[0]
    spans = bool(np.linalg.norm(rest) <= CONSTANT * np.linalg.norm(ones))
    if asked and spans:
        raise InputError(
            "intercept=True was given, but a combination of the features is 1 everywhere, so "
            "that they have an intercept already: leave intercept out"
        )
    return not spans


def add_intercept(arms: Floats, answers: Floats) -> tuple[Floats, Floats]:
    """Append a column of ones to the features of arms and answers."""
    both = (np.column_stack([arms, np.ones(len(arms))]),)
    both += (np.column_stack([answers, np.ones(len(answers))]),)
    try:
        check_span(*both)
    except InputError as error:
        raise InputError(
            f"with an intercept {error}, or leave the intercept out with intercept=False"
        ) from None
    return both


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
    unit = _units(A)
    rows = A / unit
    kept = _independent_columns(rows)
    Q, R = np.linalg.qr(rows[:, kept])
    signs = np.where(np.diag(R) < 0, -1.0, 1.0)
    basis = np.zeros((h, len(kept)))
    basis[kept] = np.linalg.inv(R) * signs * np.sqrt(K) / unit[kept, None]
    return Coordinates(_exact(Q * signs * np.sqrt(K)), np.zeros((0, len(kept))), basis)


def scaled(A: Floats, Z: Floats) -> Coordinates:
    """Coordinates with the same axes, and no entry of an arm above 1."""
    unit = _units(A)
    return Coordinates(_exact(A / unit), _exact(Z / unit), np.diag(1.0 / unit))


def reexpress(Z: Floats, found: Coordinates) -> Floats:
    """Give further rows in the coordinates of ``orthonormal``."""
    return _exact(Z @ found.basis)


def spanning_arms(frame: Floats) -> Ints:
    """Choose arms that span the others, far from dependent (frame: see `orthonormal`)."""
    from psips.kernels.design import spanning_rows  # compiled code: import where it is used

    return np.array(spanning_rows(frame), np.int64)


def _units(rows: Floats) -> Floats:
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
