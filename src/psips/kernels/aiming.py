"""The sampling rule ``directed`` beside ``certified``, without one covariance for all arms.

Every other pull aims at an open verdict, which the posterior may take for settled: evidence
that holds for any noise grows more slowly than that of a normal posterior for arms that lie far
apart, as stakes are limited by the range of values, and variances have to be learned. Draws
from the posterior do not fall there any more. So half of the pulls go by these draws, and half
to the two answers of the verdict that the stopping rule found weakest: to the one whose mean is
less well known, over what a pull costs.
"""

from __future__ import annotations

from psips.aliases import Floats
from psips.kernels.choosing import direct, opening
from psips.kernels.jit import bare, step
from psips.kernels.outcome import HINT
from psips.kernels.state import ASKED, Run


@bare
def less_known(C: Floats, N: Floats, pending: Floats, costs: Floats, z: int, x: int) -> int:
    """Return the one of two arms whose mean is less well known, for the cost of a pull."""
    lead = 0.0
    first, second = N[z] / (N[z] + pending[z]), N[x] / (N[x] + pending[x])
    for c in range(C.shape[1]):
        of_z, of_x = first * C[z, c, c], second * C[x, c, c]
        lead += (of_z / costs[z] - of_x / costs[x]) / (of_z / costs[z] + of_x / costs[x])
    return z if lead >= 0.0 else x


@step
def choose_aiming(run: Run) -> int:
    """Pull for the weakest verdict, and in turn as the directed rule does."""
    arm = opening(run)
    if arm >= 0:
        return arm
    learner, belief = run.learner, run.scene.belief
    z, x = int(run.outcome[HINT]), int(run.outcome[HINT + 1])
    if learner.tally[ASKED] % 2 == 0 or x < 0 or z == x:
        return direct(run)
    costs = run.scene.model.costs
    arm = less_known(belief.scatter.C, belief.N, learner.pending, costs, z, x)
    learner.played[arm] += 1.0
    learner.pending[arm] += 1.0
    return arm
