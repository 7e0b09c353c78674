"""Pareto sets.

``z`` is dominated by ``x`` if x is at least z in every objective and above it in one;
equal points do not dominate each other.
"""

from __future__ import annotations

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.kernels.grids import as_grid, floats, ints
from psips.kernels.jit import bare, kernel, part

FEW = 500  # points of which a Pareto set is found without the compiler


@bare
def dominates(mu: Floats, x: int, z: int) -> bool:
    """Whether point ``x`` dominates point ``z``."""
    above = False
    for c in range(mu.shape[1]):
        if mu[x, c] < mu[z, c]:
            return False
        if mu[x, c] > mu[z, c]:
            above = True
    return above


@bare
def surpasses(mu: Floats, facts: Floats, x: int, z: int) -> bool:
    """Whether ``x`` dominates ``z`` by ``mu`` (n, d) and exact metrics ``facts`` (n, e)."""
    above = False
    for c in range(facts.shape[1]):
        if facts[x, c] < facts[z, c]:
            return False
        if facts[x, c] > facts[z, c]:
            above = True
    for c in range(mu.shape[1]):
        if mu[x, c] < mu[z, c]:
            return False
        if mu[x, c] > mu[z, c]:
            above = True
    return above


@part
def join(mu: Floats, facts: Floats, rows: Ints, points: Floats) -> None:
    """Write some rows of ``mu`` and ``facts`` side by side."""
    d = mu.shape[1]
    for k in range(points.shape[0]):
        for c in range(d):
            points[k, c] = mu[rows[k], c]
        for c in range(facts.shape[1]):
            points[k, d + c] = facts[rows[k], c]


@bare
def _before(mu: Floats, first: int, a: int, b: int) -> bool:
    """Whether point ``a`` comes before ``b``, largest first, from objective ``first`` on."""
    for c in range(first, mu.shape[1]):
        if mu[a, c] != mu[b, c]:
            return bool(mu[a, c] > mu[b, c])
    return False


@bare
def _order(mu: Floats, first: int, order: Ints) -> None:
    """Lexicographic order, largest first (heapsort): only earlier points dominate a point."""
    n = mu.shape[0]
    for k in range(n):
        order[k] = k
    for step in range(n // 2 + n - 1):
        if step < n // 2:  # make the heap: the last in order on top
            at, end = n // 2 - 1 - step, n
        else:  # take its top to the end
            end = n - 1 - (step - n // 2)
            at = 0
            order[0], order[end] = order[end], order[0]
        moving = order[at]
        while True:
            child = 2 * at + 1
            if child >= end:
                break
            if child + 1 < end and _before(mu, first, order[child], order[child + 1]):
                child += 1
            if not _before(mu, first, moving, order[child]):
                break
            order[at] = order[child]
            at = child
        order[at] = moving


@bare
def _same(mu: Floats, x: int, z: int) -> bool:
    same = True
    for c in range(mu.shape[1]):
        same = same and mu[x, c] == mu[z, c]
    return same


@part
def pareto_set(mu: Floats, keep: Mask) -> None:
    """Mark the points that no other dominates; n log n for d <= 3, then n |S| d."""
    n, d = mu.shape
    order = ints(n)
    _order(mu, 0, order)
    front = ints(n)
    size = 0
    best = -np.inf  # d = 2: largest second objective so far
    # d = 3: Fenwick tree over ranks of the second objective, maximum of the third
    rank = ints(n if d == 3 else 0)
    tree = floats(n + 1 if d == 3 else 0)
    if d == 3:
        _order(mu, 1, front)
        place = 0
        tree[0] = -np.inf
        for k in range(n):
            if k == 0 or mu[front[k], 1] != mu[front[k - 1], 1]:
                place += 1
            rank[front[k]] = place
            tree[k + 1] = -np.inf
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


def pareto_mask(mu: Floats) -> Mask:
    """Return the mask of the Pareto set of ``mu`` (n, d), for callers in Python."""
    mu = np.ascontiguousarray(mu)
    if len(mu) <= FEW:  # not worth compiling for
        above = (mu[:, None] >= mu[None]).all(axis=2) & (mu[:, None] > mu[None]).any(axis=2)
        return ~np.asarray(above.any(axis=0))
    keep = np.zeros(len(mu), np.bool_)
    _mark(mu, keep)
    return keep


@kernel
def _mark(mu: Floats, keep: Mask) -> None:
    pareto_set(as_grid(mu), as_grid(keep))
