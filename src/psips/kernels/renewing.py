"""Bringing the candidate set up to date, and its cover where that is less than to build it."""

from __future__ import annotations

import math

from psips.kernels.belief import RESULTS
from psips.kernels.cover import LEFT_OUT, MARGIN, NEAREST, RECORDS, SPARE, is_stale, measure
from psips.kernels.draws import find_change
from psips.kernels.front import LIVE, MEMBERS, elect
from psips.kernels.jit import bare, part
from psips.kernels.posterior import refresh_listed, refresh_means
from psips.kernels.scene import Scene
from psips.kernels.shifts import displacement, growth


@bare
def _changed(scene: Scene) -> bool:
    """Whether theta has another Pareto set than S_hat, whatever the tolerance."""
    model, live = scene.model, scene.front.size[LIVE]
    return find_change(scene, scene.posterior.mu, model.level, model.even, live, 0.0)


@part
def elect_plainly(scene: Scene) -> None:
    """Candidate set without a cover: keep S_hat unless theta has another Pareto set."""
    front, p = scene.front, scene.posterior
    refresh_means(p)
    whole = front.size[MEMBERS] + front.size[LIVE] == scene.model.n
    if not whole or _changed(scene):
        elect(p.mu, p.facts, front)


@bare
def refresh(scene: Scene) -> bool:
    """Bring the numbers of a built cover up to date; False if it has to be built anew."""
    p, front, cover = scene.posterior, scene.front, scene.cover
    if is_stale(cover, scene.belief.tally[RESULTS]):
        return False
    only = -1  # the one arm pulled since the last time, if it is one
    if p.separate:
        only = refresh_means(p)
    refresh_listed(p, front.members[: front.size[MEMBERS]])
    refresh_listed(p, front.outside[: front.size[LIVE]])
    if _changed(scene):
        return False
    moved = displacement(p, cover.theta, cover.R, cover.V, scene.draw.row)
    grown = math.sqrt(growth(p, cover.R))
    if not p.separate:
        moved *= grown  # from the covariance of a result as it is now to that of then
    left_out = (cover.reach[LEFT_OUT] - moved) / grown
    nearest = measure(p, cover, 0, cover.life[RECORDS], only)
    if nearest < 0.0:
        return False
    cover.reach[NEAREST] = nearest
    return left_out > 0.0 and left_out**2 > nearest**2 + 2.0 * MARGIN * cover.reach[SPARE]
