"""The smaller of the sets that a tolerance allows.

With a tolerance several sets are right. People mean the one without a member that another
member matches, up to the tolerance in every objective, and beats by more than the tolerance in
one. Estimates a little either side of a tie decide whether such a member belongs to S_hat; the
set without it is a candidate of its own, with its own alternative and its own evidence.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.kernels.front import LIVE, MEMBERS, Front, elect
from psips.kernels.grids import flags, floats
from psips.kernels.halfspace import lead, may_hold
from psips.kernels.jit import bare, kernel, part
from psips.kernels.limited import evidence, renew
from psips.kernels.limits import WHOLE, select
from psips.kernels.posterior import Posterior, apart, refresh_all, variance
from psips.kernels.ratio import weigh_cover
from psips.kernels.scene import Scene
from psips.kernels.thresholds import Calibration
from psips.kernels.tree import cover_alternative


@bare
def margin(p: Posterior, aims: Floats, x: int, z: int) -> float:
    """By how many standard errors x matches z up to the tolerance; -1 if x cannot replace z.

    x can replace z if it matches z in every objective and beats it by more than the tolerance
    in one.
    """
    near = apart(p, x, z)
    if near <= 0.0 or not may_hold(p.facts, p.give, x, z):
        return -1.0
    least, beats = np.inf, False
    for e in range(p.give.shape[0]):
        beats = beats or p.facts[x, e] - p.facts[z, e] > p.give[e]
    for c in range(p.mu.shape[1]):
        if aims[c] == 0.0:
            continue
        spare = -lead(p.mu, p.slack, z, x, c)
        if spare < 0.0:
            return -1.0
        beats = beats or lead(p.mu, p.slack, x, z, c) > 0.0
        least = min(least, spare / math.sqrt(variance(p, x, z, c, near)))
    return least if beats else -1.0


@bare
def replacement(
    p: Posterior, aims: Floats, members: Ints, gone: Mask, z: int
) -> tuple[float, int]:
    """Return the largest margin by which a remaining member replaces z, and its place."""
    best, by = -1.0, -1
    for k in range(members.shape[0]):
        if not gone[k] and members[k] != z:
            found = margin(p, aims, members[k], z)
            if found > best:
                best, by = found, k
    return best, by


@part
def leave_out(p: Posterior, aims: Floats, members: Ints, gone: Mask) -> int:
    """Mark the members that a remaining one replaces; return how many.

    The relation is not transitive and can be circular, so the order matters: the member that
    is matched most safely goes first, and whoever has replaced another stays.
    """
    count = members.shape[0]
    safest, needed = floats(count), flags(count)
    for k in range(count):
        safest[k] = replacement(p, aims, members, gone, members[k])[0]
    out = 0
    for _ in range(count):
        at = -1
        for k in range(count):
            free = safest[k] >= 0.0 and not needed[k]
            if free and (at < 0 or safest[k] > safest[at]):
                at = k
        if at < 0:
            break
        safest[at] = -1.0
        found, by = replacement(p, aims, members, gone, members[at])
        if found >= 0.0:
            gone[at] = True
            needed[by] = True
            out += 1
    return out


@part
def reduce_front(front: Front, gone: Mask) -> None:
    """Take the members that are marked out of the candidate set."""
    count = front.size[MEMBERS]
    front.size[MEMBERS] = 0
    for k in range(count):
        z = front.members[k]
        if gone[k]:
            front.inside[z] = False
        else:
            front.members[front.size[MEMBERS]] = z
            front.size[MEMBERS] += 1
    front.size[LIVE] = 0
    for z in range(front.inside.shape[0]):
        if not front.inside[z]:
            front.outside[front.size[LIVE]] = z
            front.size[LIVE] += 1
            if not front.inside[front.keeper[z]]:
                front.keeper[z] = front.members[0]


@kernel
def weigh_smaller(
    scene: Scene, calibration: Calibration, spare: float
) -> tuple[int, float, float]:
    """Leave out of S_hat what another member replaces, and weigh the evidence for the rest.

    Return how many members were left out, the evidence and its threshold; ``scene.front`` has
    the smaller set. ``spare`` is that of `psips.kernels.tree.build`.
    """
    p, front, aims = scene.posterior, scene.front, scene.model.limits.aims
    refresh_all(p)
    elect(p.mu, p.facts, front)
    gone = flags(front.size[MEMBERS])
    out = leave_out(p, aims, front.members[: front.size[MEMBERS]], gone)
    if out == 0:
        return 0, 0.0, np.inf
    reduce_front(front, gone)
    cover_alternative(scene, spare)
    found, threshold = weigh_cover(scene, calibration)
    return out, found, threshold


@kernel
def weigh_smaller_limited(scene: Scene, calibration: Calibration) -> tuple[int, float, float]:
    """Do the same for answers that have to keep limits."""
    p, front, model = scene.posterior, scene.front, scene.model
    renew(scene)
    gone = flags(front.size[MEMBERS])
    out = leave_out(p, model.limits.aims, front.members[: front.size[MEMBERS]], gone)
    if out == 0:
        return 0, 0.0, np.inf
    reduce_front(front, gone)
    allowed, inside = flags(model.n), flags(model.n)
    select(p.mu, model.facts, model.limits, allowed, inside)
    found, threshold = evidence(scene, calibration, allowed, front.inside, WHOLE)
    return out, found, threshold
