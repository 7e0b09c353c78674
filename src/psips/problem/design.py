"""G-optimal design: weights on the arms that make the worst prediction variance least.

Kiefer and Wolfowitz: the largest ``||a||^2_{V_w^-1}`` over the arms (their leverage), with
``V_w = sum_a w_a a a^T``, is at least the dimension r of the arms' span, and equals it
exactly at the D-optimal weights. So the largest leverage is a certificate, and the weights
are found by coordinate steps on log det V_w with away steps (Wynn, Fedorov, Atwood).
"""

from __future__ import annotations

import numpy as np

from psips.aliases import Floats
from psips.input.checks import RANK

BLOCK = 200  # steps between two direct inverses: rounding must not build up
BLOCKS = 500  # far beyond need: some hundreds of steps reach 1e-3


def design_steps(
    B: Floats,  # (K, r) arms, of rank r
    w: Floats,  # (K,) weights, changed in place
    inverse: Floats,  # (r, r) of V_w, changed in place
    leverage: Floats,  # (K,) changed in place
    tolerance: float,
    steps: int,
) -> None:
    """Take up to ``steps`` steps, until no leverage is above ``r (1 + tolerance)``."""
    r = B.shape[1]
    columns = np.ascontiguousarray(B.T)
    for _ in range(steps):
        high = int(leverage.argmax())
        low = int(np.where(w > 0.0, leverage, np.inf).argmin())  # of the arms with weight
        if leverage[high] <= r * (1.0 + tolerance):
            return
        # w <- (1 - step) w + step e_a, with the step that maximises log det V_w
        if leverage[high] - r >= r - leverage[low]:
            a, k = high, leverage[high]
            step = (k / r - 1.0) / (k - 1.0)
        else:
            a, k = low, leverage[low]
            step = -w[a] / (1.0 - w[a])  # lets go of the arm
            if k > 1.0:
                step = max(step, (k / r - 1.0) / (k - 1.0))
        scale = step / (1.0 - step + step * k)
        # Sums one term after the other, not by BLAS: the same bits on every machine.
        image, inner = np.zeros(r), np.zeros(len(B))
        for c in range(r):
            image += inverse[:, c] * B[a, c]
        for c in range(r):
            inner += columns[c] * image[c]
        inverse[:] = (inverse - (scale * image)[:, None] * image) / (1.0 - step)
        leverage[:] = (leverage - scale * inner * inner) / (1.0 - step)
        w *= 1.0 - step
        w[a] += step
        if w[a] < 1e-15:  # let go of, up to rounding
            w[a] = 0.0


def spanning_rows(B: Floats) -> list[int]:
    """Choose r rows of ``B`` (K, r) that span: each the longest next to the earlier ones' span.

    Examples
    --------
    >>> spanning_rows(np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]]))
    [1, 2]
    """
    rest = B.copy()
    chosen = []
    for _ in range(B.shape[1]):
        lengths = np.einsum("ac,ac->a", rest, rest)
        longest = int(lengths.argmax())
        chosen.append(longest)
        unit = rest[longest] / np.sqrt(lengths[longest])
        rest -= np.outer(rest @ unit, unit)
    return chosen


def g_optimal(A: Floats, tolerance: float = 1e-3) -> Floats:
    """G-optimal weights over the rows of ``A``, within the rows' own span.

    Parameters
    ----------
    A : (K, h) array
        Features of the arms; they need not span all of R^h.
    tolerance : float
        The largest ``||a||^2_{V_w^-1}`` is at most ``rank(A) * (1 + tolerance)``.

    Returns
    -------
    (K,) array
        Weights that are at least 0 and sum to 1, zero on most arms.

    Examples
    --------
    >>> g_optimal(np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]]))
    array([0.5, 0.5, 0. ])
    """
    # The design does not depend on the basis, so take an orthonormal one: U of A = U S W^T.
    largest = np.abs(A).max(axis=0)
    U, s, _ = np.linalg.svd(A / np.where(largest > 0.0, largest, 1.0), full_matrices=False)
    r = int(np.sum(s > RANK * s[0]))
    if r == 0:  # every arm is the zero vector: nothing can be learned, whatever is pulled
        return np.full(len(A), 1.0 / len(A))
    B = np.ascontiguousarray(U[:, :r]) * np.sqrt(len(A))
    w = np.zeros(len(A))
    w[spanning_rows(B)] = 1.0 / r
    for _ in range(BLOCKS):
        w /= w.sum()
        support = np.flatnonzero(w)
        inverse = np.linalg.inv(B[support].T @ (w[support, None] * B[support]))
        leverage = np.einsum("ac,ac->a", B @ inverse, B)
        if leverage.max() <= r * (1.0 + tolerance):
            break
        design_steps(B, w, inverse, leverage, tolerance, BLOCK)
    return w
