"""The min learner's move: from a posterior draw in Alt(S_hat) to the arms' gains.

``posterior`` is the published learner: lambda_t is the draw itself. ``projected`` keeps of
the draw only which convex piece of Alt it fell in, and takes the point of that piece
nearest to theta in the metric of the counts: the gains are then free of posterior noise.
``directed`` pulls for that piece at once instead of feeding the gains to AdaHedge.
"""

from __future__ import annotations

import numpy as np

from psips.aliases import Floats, Ints
from psips.kernels.cone import project
from psips.kernels.cover import is_eager
from psips.kernels.draws import look_at_all
from psips.kernels.front import MEMBERS
from psips.kernels.halfspace import lead, may_hold
from psips.kernels.jit import bare, part
from psips.kernels.model import Model
from psips.kernels.posterior import Posterior, refresh_listed
from psips.kernels.scene import ABOVE, BELOW, Scene
from psips.kernels.shifts import gains_of_move, gains_of_point, move, moved

ROUNDING = 1e-9  # gains that differ by less, in relation to them, are the same


@part
def posterior_gains(scene: Scene, scale: float, gains: Floats) -> None:
    """Gains of the published learner: of the draw that hit, completed where it was not."""
    draw = scene.draw
    if scene.posterior.separate:
        look_at_all(scene, scale)
    gains_of_point(scene.posterior, draw.values, draw.theta, draw.row, gains)


@bare
def pool(p: Posterior, z: int, m: int, xs: Ints, cs: Ints, y: Floats) -> None:
    """Multipliers of a piece when arms and objectives are independent.

    In each objective z and the x above the common level meet at their pooled mean.
    """
    for c in range(p.mu.shape[1]):
        level = p.mu[z, c]
        for _ in range(m + 2):  # each time one more of the x is below the level
            weight = 1.0 / p.C[z, c, c]
            total = weight * p.mu[z, c]
            for k in range(m):
                x, other = xs[k], p.mu[xs[k], c] - p.slack[c]
                if cs[k] == c and other > level:
                    weight += 1.0 / p.C[x, c, c]
                    total += other / p.C[x, c, c]
            pooled = total / weight
            if pooled <= level:
                break
            level = pooled
        for k in range(m):
            if cs[k] == c:
                y[k] = max(p.mu[xs[k], c] - p.slack[c] - level, 0.0) / p.C[xs[k], c, c]


@part
def nearest_in_escape(scene: Scene, z: int) -> int:
    """Project on the piece "z above each x in S, in the objective where the draw has it most".

    Constraints come into ``draw.xs``, ``cs`` and ``y`` when violated; returns how many.
    """
    p, front, draw = scene.posterior, scene.front, scene.draw
    xs, cs, y, choice = draw.xs, draw.cs, draw.y, draw.choice  # choice -1 once listed
    s = front.size[MEMBERS]
    m = 0
    for i in range(s):
        x = front.members[i]
        if not may_hold(p.facts, p.give, x, z):
            choice[i] = -1
            continue
        most = -np.inf
        for c in range(p.mu.shape[1]):
            ahead = lead(draw.values, p.slack, z, x, c) / p.unit[c]
            if ahead > most:
                most = ahead
                choice[i] = c
        c = choice[i]
        if lead(p.mu, p.slack, z, x, c) < 0.0:
            xs[m] = x
            cs[m] = c
            choice[i] = -1
            m += 1
    if p.separate and p.diagonal:
        pool(p, z, m, xs, cs, y)
        return m
    listed = -1
    while m > listed:
        listed = m
        if m > 0:
            project(p, z, m, xs, cs, y)
        move(p, z, m, xs, cs, y, draw.shift)
        moved(p, z, draw.shift, True, draw.at_z)
        for i in range(s):
            c = choice[i]
            if c >= 0:
                moved(p, front.members[i], draw.shift, False, draw.at_x)
                if draw.at_x[c] - draw.at_z[c] - p.slack[c] > 1e-10 * p.unit[c]:
                    xs[m] = front.members[i]
                    cs[m] = c
                    choice[i] = -1
                    m += 1
    return m


@part
def projected_gains(scene: Scene, gains: Floats) -> bool:
    """Gains of the projected learner; False if theta is on the piece's edge (rounding)."""
    p, front, draw = scene.posterior, scene.front, scene.draw
    z, below = draw.piece[ABOVE], draw.piece[BELOW]
    if is_eager(scene.cover):
        refresh_listed(p, draw.piece[:1])
        refresh_listed(p, front.members[: front.size[MEMBERS]])
    xs, cs, y = draw.xs, draw.cs, draw.y
    if below >= 0:
        m = p.mu.shape[1]
        for c in range(m):
            xs[c] = below
            cs[c] = c
        project(p, z, m, xs, cs, y)
    else:
        m = nearest_in_escape(scene, z)
    if m == 0:
        return False
    move(p, z, m, xs, cs, y, draw.shift)
    gains_of_move(p, z, m, xs, cs, y, draw.shift, gains)
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


@bare
def steepest(gains: Floats, costs: Floats, thrift: Floats, gamma: float, w: Floats) -> None:
    """As ``shares`` where arms tell of each other: all of it to the arm that tells most.

    An arm without results has no share in the squared distance, though it may tell more than
    all others. Of arms that tell the same, up to rounding, the first is taken.
    """
    most = 0.0
    for a in range(gains.shape[0]):
        most = max(most, gains[a] / costs[a])
    forced = gamma if most > 0.0 else 1.0
    left = 1.0 - forced
    for a in range(gains.shape[0]):
        w[a] = forced * thrift[a]
        if gains[a] / costs[a] >= (1.0 - ROUNDING) * most:
            w[a] += left
            left = 0.0


@bare
def aimed(model: Model, N: Floats, gains: Floats, gamma: float, w: Floats) -> None:
    """Write shares of the pulls for a piece into ``w`` (K,), by what each arm tells of it."""
    if model.unstructured:
        shares(N, gains, model.costs, model.thrift, gamma, w)
    else:
        steepest(gains, model.costs, model.thrift, gamma, w)
