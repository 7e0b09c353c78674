"""G-optimal design: weights on the arms that make the worst prediction variance least.

Kiefer and Wolfowitz: the largest ``||a||^2_{V_w^-1}`` over the arms, with
``V_w = sum_a w_a a a^T``, is at least the dimension r of the arms' span, and equals it
exactly at the D-optimal weights. So the largest leverage is a certificate, and the weights
are found by coordinate steps on log det V_w with away steps (Wynn, Fedorov, Atwood).
"""

from __future__ import annotations

import numpy as np

from psips.kernels.jit import kernel
from psips.kernels.model import Floats, Ints

RANK = 1e-10  # singular values below this fraction of the largest count as zero
STEPS = 100_000  # far beyond need: some hundreds of steps reach 1e-3


@kernel
def spanning_rows(B: Floats) -> Ints:  # B (K, r) of rank r
    """Choose r rows that span: each time the longest beside the span of the earlier ones."""
    K, r = B.shape
    rest = B.copy()
    chosen = np.empty(r, np.int64)
    for k in range(r):
        best, longest = 0, -1.0
        for a in range(K):
            length = 0.0
            for c in range(r):
                length += rest[a, c] * rest[a, c]
            if length > longest:
                best, longest = a, length
        chosen[k] = best
        unit = rest[best] / np.sqrt(longest)
        for a in range(K):
            along = 0.0
            for c in range(r):
                along += rest[a, c] * unit[c]
            for c in range(r):
                rest[a, c] -= along * unit[c]
    return chosen


@kernel
def leverages(B: Floats, inverse: Floats) -> Floats:
    """``||b||^2`` in the metric ``inverse``, for every row b of ``B``."""
    K, r = B.shape
    out = np.empty(K)
    for a in range(K):
        total = 0.0
        for c in range(r):
            inner = 0.0
            for e in range(r):
                inner += inverse[c, e] * B[a, e]
            total += B[a, c] * inner
        out[a] = total
    return out


@kernel
def design_steps(
    B: Floats, tolerance: float, max_steps: int
) -> tuple[Floats, float]:  # B (K, r) of rank r
    """Weights with largest leverage at most ``r (1 + tolerance)``, and that leverage over r."""
    K, r = B.shape
    w = np.zeros(K)
    w[spanning_rows(B)] = 1.0 / r
    fresh = False  # False: leverages must be computed from a direct inverse
    since = 0  # rank-one updates since then
    inverse = np.empty((r, r))
    leverage = np.empty(K)
    top = 0.0
    for _ in range(max_steps):
        if not fresh:
            V = np.zeros((r, r))
            for a in range(K):
                if w[a] > 0.0:
                    for c in range(r):
                        for e in range(r):
                            V[c, e] += w[a] * B[a, c] * B[a, e]
            inverse[:] = np.linalg.inv(V)
            leverage = leverages(B, inverse)
            fresh = True
            since = 0
        high, low = 0, -1
        for a in range(K):
            if leverage[a] > leverage[high]:
                high = a
            if w[a] > 0.0 and (low < 0 or leverage[a] < leverage[low]):
                low = a
        top = leverage[high]
        if top <= r * (1.0 + tolerance):
            if since == 0:
                break
            fresh = False  # certify with a direct inverse
            continue
        # w <- (1 - step) w + step e_a maximises log det V_w along the line.
        if top - r >= r - leverage[low]:
            a = high
            k = leverage[a]
            step = (k / r - 1.0) / (k - 1.0)
        else:
            a = low
            k = leverage[a]
            step = -w[a] / (1.0 - w[a])  # lets go of the arm
            if k > 1.0:
                step = max(step, (k / r - 1.0) / (k - 1.0))
        image = np.dot(inverse, B[a])
        scale = step / (1.0 - step + step * k)
        for c in range(r):
            for e in range(r):
                inverse[c, e] = (inverse[c, e] - scale * image[c] * image[e]) / (1.0 - step)
        for b in range(K):
            inner = 0.0
            for c in range(r):
                inner += B[b, c] * image[c]
            leverage[b] = (leverage[b] - scale * inner * inner) / (1.0 - step)
            w[b] *= 1.0 - step
        w[a] = max(w[a] + step, 0.0)
        if step < 0.0 and w[a] < 1e-15:
            w[a] = 0.0
        since += 1
        if since == 200:  # rounding must not build up
            fresh = False
    return w / w.sum(), top / r


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
    >>> import numpy as np
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
    w, _ = design_steps(B, tolerance, STEPS)
    return np.asarray(w)
