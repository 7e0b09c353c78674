"""Projections on the convex pieces of Alt(S), in the metric of a design.

Every piece is a list of constraints "answer z is at least x_k in objective c_k",
k = 1..m: "i below j" is z = j above x = i in all d objectives, "z escapes" has one
objective for each x in S. With G_kl the covariance of the leads (z - x_k)(c_k) and
(z - x_l)(c_l), and b_k the k-th lead's mean with the sign turned, the squared distance from
theta to the piece is max_{y >= 0} 2 b.y - y'Gy, and the nearest point shifts theta along
sum_k y_k (z - x_k)(c_k).
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints
from psips.kernels.grids import flags, floats, floats2, ints
from psips.kernels.halfspace import lead, may_hold
from psips.kernels.jit import part, standing
from psips.kernels.posterior import Posterior, cov
from psips.kernels.shifts import move, moved


@standing
@part
def nonnegative(G: Floats, b: Floats, m: int, y: Floats) -> None:
    """Solve min_{y >= 0} y'Gy/2 - b.y for the leading m x m block (active set on G)."""
    free = flags(m)
    for k in range(m):
        y[k] = 0.0
    largest = 0.0
    for k in range(m):
        largest = max(largest, abs(b[k]))
    tolerance = 1e-12 * largest
    s = floats(m)
    index = ints(m)
    C = floats2(m, m)
    blocked = flags(m)
    for _ in range(8 * m + 8):
        enter, steepest = -1, tolerance
        for k in range(m):
            if not free[k] and not blocked[k]:
                slope = b[k]
                for j in range(m):
                    if free[j]:
                        slope -= G[k, j] * y[j]
                if slope > steepest:
                    enter, steepest = k, slope
        if enter < 0:
            return
        free[enter] = True
        while True:
            p = 0
            for k in range(m):
                if free[k] and k != enter:
                    index[p] = k
                    p += 1
            if free[enter]:  # last, so that only its row can be dependent
                index[p] = enter
                p += 1
            singular = False
            for i in range(p):  # Cholesky of the free block
                for j in range(i + 1):
                    total = G[index[i], index[j]]
                    for k in range(j):
                        total -= C[i, k] * C[j, k]
                    if i == j:
                        if total <= 1e-13 * G[index[i], index[i]]:
                            singular = True
                            break
                        C[i, i] = math.sqrt(total)
                    else:
                        C[i, j] = total / C[j, j]
                if singular:
                    break
            if singular:  # u_enter = sum a_i u_i: exchange it for the first that reaches 0
                leave, step = -1, np.inf
                for i in range(p - 2, -1, -1):
                    total = C[p - 1, i]
                    for k in range(i + 1, p - 1):
                        total -= C[k, i] * s[k]
                    s[i] = total / C[i, i]
                    if s[i] > 1e-12 and y[index[i]] < step * s[i]:
                        leave, step = i, y[index[i]] / s[i]
                if leave < 0:  # no point satisfies them all: it adds nothing here
                    free[enter] = False
                    blocked[enter] = True
                    y[enter] = 0.0
                    break
                for i in range(p - 1):
                    y[index[i]] = max(y[index[i]] - step * s[i], 0.0)
                y[enter] += step
                y[index[leave]] = 0.0
                free[index[leave]] = False
                continue
            for i in range(p):
                total = b[index[i]]
                for k in range(i):
                    total -= C[i, k] * s[k]
                s[i] = total / C[i, i]
            for i in range(p - 1, -1, -1):
                total = s[i]
                for k in range(i + 1, p):
                    total -= C[k, i] * s[k]
                s[i] = total / C[i, i]
            step = 1.0
            for i in range(p):
                if s[i] <= 0.0:
                    step = min(step, y[index[i]] / (y[index[i]] - s[i]))
            if step >= 1.0:
                for i in range(p):
                    y[index[i]] = s[i]
                for k in range(m):
                    blocked[k] = False
                break
            dropped = False
            for i in range(p):
                k = index[i]
                y[k] += step * (s[i] - y[k])
                if s[i] <= 0.0 and y[k] <= 1e-14 * abs(s[i]) + 1e-300:
                    y[k] = 0.0
                    free[k] = False
                    dropped = True
            if not dropped:  # rounding: drop the smallest
                worst = index[0]
                for i in range(p):
                    if s[i] <= 0.0:
                        worst = index[i]
                y[worst] = 0.0
                free[worst] = False


@part
def _project_many(p: Posterior, z: int, m: int, xs: Ints, cs: Ints, y: Floats) -> float:
    G = floats2(m, m)
    rhs = floats(m)
    for k in range(m):
        rhs[k] = -lead(p.mu, p.slack, z, xs[k], cs[k])
        for j in range(k + 1):
            G[k, j] = cov(p, z, xs[k], cs[k], xs[j], cs[j])
            G[j, k] = G[k, j]
    nonnegative(G, rhs, m, y)
    square = 0.0
    for k in range(m):
        square += rhs[k] * y[k]
    return max(square, 0.0)


@part
def project(p: Posterior, z: int, m: int, xs: Ints, cs: Ints, y: Floats) -> float:
    """Squared distance to the piece (z; xs[:m], cs[:m]); its multipliers go to ``y``."""
    if m == 1:
        gap = -lead(p.mu, p.slack, z, xs[0], cs[0])
        if gap <= 0.0:
            y[0] = 0.0
            return 0.0
        y[0] = gap / cov(p, z, xs[0], cs[0], xs[0], cs[0])
        return gap * y[0]
    if m == 2:
        first = -lead(p.mu, p.slack, z, xs[0], cs[0])
        second = -lead(p.mu, p.slack, z, xs[1], cs[1])
        a = cov(p, z, xs[0], cs[0], xs[0], cs[0])
        b = cov(p, z, xs[0], cs[0], xs[1], cs[1])
        c = cov(p, z, xs[1], cs[1], xs[1], cs[1])
        determinant = a * c - b * b
        y[0] = c * first - b * second
        y[1] = a * second - b * first
        if y[0] > 0.0 and y[1] > 0.0 and determinant > 1e-12 * a * c:
            y[0] /= determinant
            y[1] /= determinant
        else:  # one constraint is enough
            y[0] = max(first, 0.0) / a
            y[1] = 0.0
            if second > b * y[0]:
                y[0] = 0.0
                y[1] = max(second, 0.0) / c
        return first * y[0] + second * y[1]
    return _project_many(p, z, m, xs, cs, y)


@part
def still_holding(
    p: Posterior, z: int, m: int, xs: Ints, cs: Ints, y: Floats, members: Ints, shift: Floats
) -> int:
    """Which x in S holds z back most at the nearest point of the piece; -1 if none does.

    At -1 the nearest point lies in Alt(S): the piece cannot be refined further.
    """
    d = p.mu.shape[1]
    move(p, z, m, xs, cs, y, shift)
    at_z = floats(d)
    at_x = floats(d)
    moved(p, z, shift, True, at_z)
    worst, most = -1, 1e-10  # below that z is as good as free
    for x in members:
        listed = False
        for k in range(m):
            if xs[k] == x:
                listed = True
                break
        if listed or not may_hold(p.facts, p.give, x, z):
            continue
        moved(p, x, shift, False, at_x)
        behind = np.inf
        for c in range(d):
            behind = min(behind, (at_x[c] - at_z[c] - p.slack[c]) / p.unit[c])
            if behind <= 0.0:
                break
        if behind > most:
            worst, most = x, behind
    return worst
