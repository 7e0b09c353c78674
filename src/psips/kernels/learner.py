"""The min learner's move: from a posterior draw in Alt(S_hat) to the arms' gains.

``posterior`` is the published learner: lambda_t is the draw itself. ``projected`` keeps of
the draw only which convex piece of Alt it fell in, and takes the point of that piece
nearest to theta in the metric of the counts: the gains are then free of posterior noise.
``directed`` pulls for that piece at once instead of feeding the gains to AdaHedge.
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import Belief
from psips.kernels.cone import Metric, move, moved, project
from psips.kernels.draws import NUMBER, Draw, draw_rest
from psips.kernels.front import EAGER, MEMBERS, Front, refresh_listed
from psips.kernels.grids import floats, floats2
from psips.kernels.jit import bare, part
from psips.kernels.model import Floats, Ints, Model


@bare
def form(P: Floats, x: Floats) -> float:
    """||x||^2 in the metric P."""
    total = 0.0
    for c in range(x.shape[0]):
        for e in range(x.shape[0]):
            total += x[c] * P[c, e] * x[e]
    return total


@bare
def gains_of_change(A: Floats, change: Floats, gains: Floats) -> None:
    """g(a) = ||(theta - lambda)^T a||^2 in Sigma^-1, linear.

    ``change`` (h, d) is lambda - theta with its rows whitened by L^-1.
    """
    h, d = change.shape
    for a in range(A.shape[0]):
        gains[a] = 0.0
        for c in range(d):
            along = 0.0
            for i in range(h):
                along += A[a, i] * change[i, c]
            gains[a] += along * along


@part
def posterior_gains(
    model: Model, belief: Belief, front: Front, draw: Draw, scale: float, gains: Floats
) -> None:
    """Gains of the published learner: of the draw that hit, completed where it was not."""
    d, L = model.d, model.L
    if not model.unstructured:
        change = floats2(model.h, d)
        for i in range(model.h):
            for c in range(d):
                total = draw.theta[i, c] - belief.theta[i, c]
                for e in range(c):
                    total -= L[c, e] * change[i, e]
                change[i, c] = total / L[c, c]
        gains_of_change(model.A, change, gains)
        return
    draw_rest(
        draw.stream,
        model.L,
        belief.theta,
        front.inverse,
        scale,
        draw.values,
        draw.drawn,
        int(draw.made[NUMBER]),
    )
    x = floats(d)
    for a in range(model.K):
        for c in range(d):
            x[c] = draw.values[a, c] - belief.theta[a, c]
        gains[a] = form(model.P, x)


@bare
def pool(
    mu: Floats, inverse: Floats, Sigma: Floats, z: int, m: int, xs: Ints, cs: Ints, y: Floats
) -> None:
    """Multipliers of a piece when arms and objectives are independent.

    In each objective z and the x above the common level meet at their pooled mean.
    """
    for c in range(mu.shape[1]):
        level = mu[z, c]
        while True:
            weight = 1.0 / inverse[z]
            total = weight * mu[z, c]
            for k in range(m):
                if cs[k] == c and mu[xs[k], c] > level:
                    weight += 1.0 / inverse[xs[k]]
                    total += mu[xs[k], c] / inverse[xs[k]]
            pooled = total / weight
            if pooled <= level:
                break
            level = pooled
        for k in range(m):
            if cs[k] == c:
                above = max(mu[xs[k], c] - level, 0.0)
                y[k] = above / (inverse[xs[k]] * Sigma[c, c])


@part
def nearest_in_escape(
    metric: Metric,
    diagonal: bool,
    z: int,
    members: Ints,
    draw: Draw,
) -> int:
    """Project on the piece "z above each x in S, in the objective where the draw has it most".

    Constraints come in when they are violated; returns how many.
    """
    d = metric.mu.shape[1]
    s = members.shape[0]
    xs, cs, choice = draw.lists[0], draw.lists[1], draw.lists[2]  # choice -1 once listed
    y, at_z, at_x = draw.work[0], draw.work[1][:d], draw.work[2][:d]
    values, shift = draw.values, draw.shift
    m = 0
    for i in range(s):
        x = members[i]
        most = -np.inf
        for c in range(d):
            lead = (values[z, c] - values[x, c]) / math.sqrt(metric.Sigma[c, c])
            if lead > most:
                most = lead
                choice[i] = c
        c = choice[i]
        if metric.mu[x, c] > metric.mu[z, c]:
            xs[m] = x
            cs[m] = c
            choice[i] = -1
            m += 1
    if metric.unstructured and diagonal:
        pool(metric.mu, metric.inverse, metric.Sigma, z, m, xs, cs, y)
        return m
    listed = -1
    while m > listed:
        listed = m
        if m > 0:
            project(metric, z, m, xs, cs, y)
        move(metric, z, m, xs, cs, y, shift)
        moved(metric, z, shift, True, at_z)
        for i in range(s):
            c = choice[i]
            if c >= 0:
                moved(metric, members[i], shift, False, at_x)
                if at_x[c] - at_z[c] > 1e-10 * math.sqrt(metric.Sigma[c, c]):
                    xs[m] = members[i]
                    cs[m] = c
                    choice[i] = -1
                    m += 1
    return m


@part
def projected_gains(
    model: Model, belief: Belief, front: Front, draw: Draw, gains: Floats
) -> bool:
    """Gains of the projected learner; False if theta is on the piece's edge (rounding)."""
    z, below = draw.piece[0], draw.piece[1]
    members = front.members[: front.size[MEMBERS]]
    if front.size[EAGER] == 1 and not model.unstructured:
        refresh_listed(model.Z, belief.theta, belief.F, draw.piece[:1], front.mu, front.W)
        refresh_listed(model.Z, belief.theta, belief.F, members, front.mu, front.W)
    metric = front.metric
    d = model.d
    xs, cs, y = draw.lists[0], draw.lists[1], draw.work[0]
    if below >= 0:
        m = d
        for c in range(m):
            xs[c] = below
            cs[c] = c
        project(metric, z, m, xs, cs, y)
    else:
        m = nearest_in_escape(metric, model.diagonal, z, members, draw)
    if m == 0:
        return False
    shift, Sigma = draw.shift, model.Sigma
    move(metric, z, m, xs, cs, y, shift)
    if model.unstructured:
        for a in range(model.K):
            gains[a] = 0.0
        gains[z] = form(Sigma, shift[z])  # ||Sigma s||^2 in Sigma^-1
        for k in range(m):
            gains[xs[k]] = form(Sigma, shift[xs[k]])
        return True
    change = floats2(model.h, d)  # F shift Sigma, whitened: F shift L
    for i in range(model.h):
        for e in range(d):
            along = 0.0
            for j in range(model.h):
                along += belief.F[i, j] * shift[j, e]
            for c in range(e + 1):
                change[i, c] += along * model.L[e, c]
    gains_of_change(model.A, change, gains)
    return True


@bare
def shares(
    N: Floats, gains: Floats, costs: Floats, thrift: Floats, gamma: float, w: Floats
) -> None:
    """Write each arm's share of the pulls into ``w``; a part gamma of it is forced.

    An arm's share of what is spent is N_a g_a, its share of the squared distance to the
    nearest point: it is paid for as much as it keeps the piece away. That is
    information-directed selection (You, Qin, Wang, Yang 2023), with the posterior's draw as the
    choice of the piece. The share of the pulls is that over the cost of one.
    """
    total = 0.0
    for a in range(N.shape[0]):
        total += N[a] * gains[a] / costs[a]
    for a in range(N.shape[0]):
        w[a] = N[a] * gains[a] / costs[a] / total if total > 0.0 else thrift[a]
        w[a] = (1.0 - gamma) * w[a] + gamma * thrift[a]
