"""Pareto sets, and membership of Alt(S) without computing one.

``z`` is dominated by ``x`` if x is at least z in every objective and above it in one;
equal points do not dominate each other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psips.kernels.jit import kernel
from psips.kernels.model import Floats, Ints

Mask = npt.NDArray[np.bool_]


@kernel
def dominates(mu: Floats, x: int, z: int) -> bool:
    """Whether point ``x`` dominates point ``z``."""
    above = False
    for c in range(mu.shape[1]):
        if mu[x, c] < mu[z, c]:
            return False
        if mu[x, c] > mu[z, c]:
            above = True
    return above


@kernel
def _descending(mu: Floats) -> Ints:
    """Lexicographic order, largest first: nothing is dominated by a later point."""
    n, d = mu.shape
    order = np.arange(n)
    for c in range(d - 1, -1, -1):
        order = order[np.argsort(-mu[order, c], kind="mergesort")]
    return order


@kernel
def _same(mu: Floats, x: int, z: int) -> bool:
    for c in range(mu.shape[1]):
        if mu[x, c] != mu[z, c]:
            return False
    return True


@kernel
def pareto_set(mu: Floats) -> Mask:
    """Return the mask of points that no other dominates; n log n for d <= 3, then n |S| d."""
    n, d = mu.shape
    keep = np.zeros(n, np.bool_)
    order = _descending(mu)
    front = np.empty(n, np.int64)
    size = 0
    best = -np.inf  # d = 2: largest second objective so far
    # d = 3: Fenwick tree over ranks of the second objective, maximum of the third
    rank = np.empty(n if d == 3 else 0, np.int64)
    tree = np.full(n + 1 if d == 3 else 0, -np.inf)
    if d == 3:
        by_second = np.argsort(-mu[:, 1], kind="mergesort")
        place = 0
        for k in range(n):
            if k == 0 or mu[by_second[k], 1] != mu[by_second[k - 1], 1]:
                place += 1
            rank[by_second[k]] = place
    for k in range(n):
        z = order[k]
        if k > 0 and _same(mu, order[k - 1], z):
            keep[z] = keep[order[k - 1]]
            continue
        dominated = False
        if d == 1:
            dominated = k > 0 and mu[order[0], 0] > mu[z, 0]
        elif d == 2:
            dominated = mu[z, 1] <= best
            best = max(best, mu[z, 1])
        elif d == 3:
            i = rank[z]
            while i > 0 and not dominated:
                dominated = tree[i] >= mu[z, 2]
                i -= i & -i
            if not dominated:
                i = rank[z]
                while i <= n:
                    tree[i] = max(tree[i], mu[z, 2])
                    i += i & -i
        else:
            for j in range(size):
                if dominates(mu, front[j], z):
                    dominated = True
                    break
            if not dominated:
                front[size] = z
                size += 1
        keep[z] = not dominated
    return keep


@kernel
def in_alternative(values: Floats, inside: Mask, members: Ints) -> bool:
    """Whether the Pareto set of ``values`` (n, d) differs from ``members`` = where ``inside``."""
    for i in members:
        for j in members:
            if i != j and dominates(values, i, j):
                return True
    for z in range(values.shape[0]):
        if not inside[z]:
            held = False
            for x in members:
                if dominates(values, x, z):
                    held = True
                    break
            if not held:
                return True
    return False
