"""Budgets: what may be spent in all."""

from __future__ import annotations

from psips.kernels.jit import part
from psips.kernels.state import ROOM, Run

NO_ROOM = -3  # in the place of an arm: none is cheap enough
ROUNDING = 1e-9  # of the budget, so that ten times 0.1 is 1


@part
def within_budget(run: Run, arm: int) -> int:
    """Return the arm just chosen if the budget has room for it, or else another that fits.

    That is the one furthest behind the weights played; NO_ROOM if all are too dear.
    """
    pulls, learner, costs = run.scene.belief.pulls, run.learner, run.scene.model.costs
    left = run.room[ROOM] * (1.0 + ROUNDING)
    for a in range(run.scene.model.K):
        left -= costs[a] * (pulls[a] + learner.pending[a])
    if left >= 0.0:
        return arm
    learner.pending[arm] -= 1.0
    left += costs[arm]
    found, behind = NO_ROOM, 0.0
    for a in range(run.scene.model.K):
        short = learner.played[a] - pulls[a] - learner.pending[a]
        if costs[a] <= left and (found < 0 or short > behind):
            found, behind = a, short
    if found >= 0:
        learner.pending[found] += 1.0
    return found
