"""Linear problems in which the precision of theta has no simple form.

A result x of arm a with the objectives in p, of the covariance S, adds a a^T (x) Q to the
precision V (h d, h d) of theta, and a (x) Q x to B, with Q = E^T (E S E^T)^-1 E and E the rows
of the identity that p has. theta = V^-1 B is exact, whatever is missing. Entry i d + c is row i
of theta in objective c.
"""

from __future__ import annotations

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.kernels.belief import refactor
from psips.kernels.grids import as_grid, floats2
from psips.kernels.jit import kernel


def precision_of(S: Floats, seen: Mask) -> Floats:
    """Return Q (d, d): what a result with the objectives ``seen`` tells of its mean.

    Examples
    --------
    >>> precision_of(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([True, False]))
    array([[1., 0.],
           [0., 0.]])
    """
    Q = np.zeros(S.shape)
    places = np.ix_(seen, seen)
    Q[places] = np.linalg.inv(S[places])
    return Q


@kernel
def add_rows(
    rows: Floats, arms: Ints, precisions: Floats, values: Floats, V: Floats, B: Floats
) -> None:
    """Add results of ``arms`` (T,) to V and B; precisions (T, d, d), values (T, d)."""
    A, which, Q, x = as_grid(rows), as_grid(arms), as_grid(precisions), as_grid(values)
    to, right = as_grid(V), as_grid(B)
    h, d = A.shape[1], x.shape[1]
    for t in range(x.shape[0]):
        a = which[t]
        for i in range(h):
            for c in range(d):
                for e in range(d):
                    right[i, c] += A[a, i] * Q[t, c, e] * x[t, e]
                for j in range(h):
                    for e in range(d):
                        to[i * d + c, j * d + e] += A[a, i] * A[a, j] * Q[t, c, e]


@kernel
def solve_joint(
    V: Floats, B: Floats, Z: Floats, F: Floats, theta: Floats, X: Floats, G: Floats
) -> None:
    """Write F, a factor of V^-1, theta, and the covariances X and G; V is positive definite."""
    of, to, rows, right = as_grid(V), as_grid(F), as_grid(Z), as_grid(B)
    mean, cross, whole = as_grid(theta), as_grid(X), as_grid(G)
    (n, h), d, wide = rows.shape, right.shape[1], of.shape[0]
    refactor(of, to)
    M = floats2(wide, wide)  # V^-1
    for i in range(wide):
        for j in range(i + 1):
            total = 0.0
            for k in range(wide):
                total += to[i, k] * to[j, k]
            M[i, j] = total
            M[j, i] = total
    for i in range(wide):
        total = 0.0
        for j in range(h):
            for e in range(d):
                total += M[i, j * d + e] * right[j, e]
        mean[i // d, i % d] = total
        for z in range(n):
            for c in range(d):
                total = 0.0
                for j in range(h):
                    total += M[i, j * d + c] * rows[z, j]
                cross[i, z * d + c] = total
    for z in range(n):
        for c in range(d):
            for k in range(n * d):
                total = 0.0
                for i in range(h):
                    total += rows[z, i] * cross[i * d + c, k]
                whole[z * d + c, k] = total
