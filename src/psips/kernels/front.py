"""The candidate set S_hat = S(theta_hat), and the answers that could still change it."""

from __future__ import annotations

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.kernels.grids import flags, floats2, ints
from psips.kernels.jit import part, standing
from psips.kernels.model import Model
from psips.kernels.pareto import join, pareto_set, surpasses
from psips.kernels.records import Record, record

# Places in Front.size.
MEMBERS, LIVE = range(2)


@record
class Front(Record):
    """S_hat and what lies around it.

    Without a cover every answer outside S_hat is live. With one only those that can matter
    are; the others follow them in ``outside``.
    """

    inside: Mask  # (n,) S_hat
    members: Ints  # (n,) S_hat as a list, the first size[MEMBERS]
    outside: Ints  # (n,) the other answers; the first size[LIVE] are live: they could escape
    keeper: Ints  # (n,) for each answer outside, a member that dominates it
    size: Ints  # (2,)


def empty_front(model: Model) -> Front:
    """Return a front that has seen nothing."""
    n = model.n
    return Front(
        np.zeros(n, np.bool_),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(2, np.int64),
    )


@standing
@part
def elect(mu: Floats, facts: Floats, front: Front) -> None:
    """Make S_hat the Pareto set of the current means; everything else is live.

    Only old members and answers that no old member dominates can belong to it, so what is
    sorted is a small part of the answers; n d operations otherwise. All of this is about
    plain domination, which is transitive, whatever the slack of the half-spaces.
    """
    n, d = mu.shape
    inside, members, keeper, size = front.inside, front.members, front.keeper, front.size
    old = size[MEMBERS]
    rivals = ints(n)
    count = 0
    for z in range(n):
        if not inside[z]:
            held = False
            if old > 0:
                held = surpasses(mu, facts, keeper[z], z)
            k = 0
            while not held and k < old:
                if surpasses(mu, facts, members[k], z):
                    keeper[z] = members[k]
                    held = True
                k += 1
            if held:
                continue
        rivals[count] = z
        count += 1
    points = floats2(count, d + facts.shape[1])
    best = flags(count)
    join(mu, facts, rivals, points)
    pareto_set(points, best)
    size[MEMBERS] = 0
    for k in range(count):
        z = rivals[k]
        inside[z] = best[k]
        if best[k]:
            members[size[MEMBERS]] = z
            size[MEMBERS] += 1
    for k in range(count):
        z = rivals[k]
        if not best[k]:
            for j in range(size[MEMBERS]):
                if surpasses(mu, facts, members[j], z):
                    keeper[z] = members[j]
                    break
    size[LIVE] = 0
    for z in range(n):
        if not inside[z]:
            if not inside[keeper[z]]:  # it has left; what dominates it dominates z
                keeper[z] = keeper[keeper[z]]
            front.outside[size[LIVE]] = z
            size[LIVE] += 1
