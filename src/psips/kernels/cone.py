"""Projections on the convex pieces of Alt(S), in the metric of a design.

Every piece is a list of constraints "answer z is at least x_k in objective c_k",
k = 1..m: "i below j" is z = j above x = i in all d objectives, "z escapes" has one
objective for each x in S. With G_kl = <z - x_k, z - x_l>_{V^-1} Sigma[c_k, c_l] and
b_k = mu_{x_k}(c_k) - mu_z(c_k), the squared distance from theta to the piece is
max_{y >= 0} 2 b.y - y'Gy, and the nearest point moves theta by sum_k y_k u_k with
u_k = V^-1 (z - x_k) (x) Sigma e_{c_k}.
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.grids import flags, floats, floats2, ints
from psips.kernels.jit import bare, part
from psips.kernels.model import Floats, Ints
from psips.kernels.records import Record, record


@record
class Metric(Record):
    """Means of the answers and the covariance between them (times Sigma)."""

    unstructured: bool
    inverse: Floats  # (n,) 1 / pulls of each arm, (0,) if linear
    W: Floats  # (n, h) whitened answers, (0, 0) if unstructured
    Sigma: Floats  # (d, d)
    mu: Floats  # (n, d)


@bare
def inner(metric: Metric, z: int, x: int, y: int) -> float:
    """<z - x, z - y> in V^-1."""
    if metric.unstructured:
        total = metric.inverse[z]
        if x == y:
            total += metric.inverse[x]
        return total
    total = 0.0
    W = metric.W
    for i in range(W.shape[1]):
        total += (W[z, i] - W[x, i]) * (W[z, i] - W[y, i])
    return total


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
def _project_many(metric: Metric, z: int, m: int, xs: Ints, cs: Ints, y: Floats) -> float:
    mu, Sigma = metric.mu, metric.Sigma
    G = floats2(m, m)
    rhs = floats(m)
    for k in range(m):
        rhs[k] = mu[xs[k], cs[k]] - mu[z, cs[k]]
        for j in range(k + 1):
            G[k, j] = inner(metric, z, xs[k], xs[j]) * Sigma[cs[k], cs[j]]
            G[j, k] = G[k, j]
    nonnegative(G, rhs, m, y)
    square = 0.0
    for k in range(m):
        square += rhs[k] * y[k]
    return max(square, 0.0)


@part
def project(metric: Metric, z: int, m: int, xs: Ints, cs: Ints, y: Floats) -> float:
    """Squared distance to the piece (z; xs[:m], cs[:m]); its multipliers go to ``y``."""
    mu, Sigma = metric.mu, metric.Sigma
    if m == 1:
        gap = mu[xs[0], cs[0]] - mu[z, cs[0]]
        if gap <= 0.0:
            y[0] = 0.0
            return 0.0
        y[0] = gap / (inner(metric, z, xs[0], xs[0]) * Sigma[cs[0], cs[0]])
        return gap * y[0]
    if m == 2:
        first = mu[xs[0], cs[0]] - mu[z, cs[0]]
        second = mu[xs[1], cs[1]] - mu[z, cs[1]]
        a = inner(metric, z, xs[0], xs[0]) * Sigma[cs[0], cs[0]]
        b = inner(metric, z, xs[0], xs[1]) * Sigma[cs[0], cs[1]]
        c = inner(metric, z, xs[1], xs[1]) * Sigma[cs[1], cs[1]]
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
    return _project_many(metric, z, m, xs, cs, y)


@bare
def move(metric: Metric, z: int, m: int, xs: Ints, cs: Ints, y: Floats, shift: Floats) -> None:
    """Write sum_k y_k u_k in whitened rows: answer ``a`` moves by w_a . shift Sigma.

    Linear: ``shift`` (h, d), row products with W. Unstructured: ``shift`` (n, d) holds
    the moves of the arms themselves divided by Sigma; only rows z and xs are written.
    """
    if metric.unstructured:
        for c in range(shift.shape[1]):
            shift[z, c] = 0.0
            for k in range(m):
                shift[xs[k], c] = 0.0
        for k in range(m):
            shift[z, cs[k]] += y[k] * metric.inverse[z]
            shift[xs[k], cs[k]] -= y[k] * metric.inverse[xs[k]]
        return
    W = metric.W
    for i in range(W.shape[1]):
        for c in range(shift.shape[1]):
            shift[i, c] = 0.0
    for k in range(m):
        if y[k] != 0.0:
            for i in range(W.shape[1]):
                shift[i, cs[k]] += y[k] * (W[z, i] - W[xs[k], i])


@bare
def moved(metric: Metric, a: int, shift: Floats, touched: bool, out: Floats) -> None:
    """Write the values of answer ``a`` at the nearest point into ``out`` (d,)."""
    d = out.shape[0]
    for c in range(d):
        out[c] = metric.mu[a, c]
    if metric.unstructured:
        if touched:
            for c in range(d):
                for e in range(d):
                    out[c] += metric.Sigma[c, e] * shift[a, e]
        return
    for e in range(d):
        along = 0.0
        for i in range(shift.shape[0]):
            along += metric.W[a, i] * shift[i, e]
        for c in range(d):
            out[c] += metric.Sigma[c, e] * along


@part
def still_dominating(
    metric: Metric,
    z: int,
    m: int,
    xs: Ints,
    cs: Ints,
    y: Floats,
    members: Ints,
    shift: Floats,
) -> int:
    """Which x in S dominates z most at the nearest point of the piece; -1 if none does.

    At -1 the nearest point lies in Alt(S): the piece cannot be refined further.
    """
    d = metric.mu.shape[1]
    move(metric, z, m, xs, cs, y, shift)
    at_z = floats(d)
    at_x = floats(d)
    moved(metric, z, shift, True, at_z)
    worst, most = -1, 1e-10  # below that z is as good as free
    for x in members:
        listed = False
        for k in range(m):
            if xs[k] == x:
                listed = True
                break
        if listed:
            continue
        moved(metric, x, shift, False, at_x)
        lead = np.inf
        for c in range(d):
            lead = min(lead, (at_x[c] - at_z[c]) / math.sqrt(metric.Sigma[c, c]))
            if lead <= 0.0:
                break
        if lead > most:
            worst, most = x, lead
    return worst
