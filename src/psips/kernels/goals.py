"""The sampling rule ``directed`` with a goal other than the whole set: pull for what it takes.

The stopping rule names the claim that the goal waits for (`psips.kernels.settling.reached`): an
answer and a rival, the one that there is the least evidence about. A candidate is to be proven
not to be below the rival: the alternative is the piece "the rival is above it in every
objective". Any other answer is to be proven to be below: of the half-spaces "it is above the
rival in objective c" the nearest is taken. Arms are pulled as they keep the nearest point of
that piece away, see `psips.kernels.learner.aimed`; what is forced keeps the others in view.
"""

from __future__ import annotations

import numpy as np

from psips.aliases import Floats
from psips.kernels.choosing import direct, follow, informed, opening, share_of_exploring
from psips.kernels.cone import project
from psips.kernels.cover import dismiss
from psips.kernels.grids import floats
from psips.kernels.jit import part, step
from psips.kernels.learner import aimed
from psips.kernels.outcome import HINT
from psips.kernels.posterior import refresh_listed
from psips.kernels.scene import Scene
from psips.kernels.shifts import gains_of_move, move
from psips.kernels.state import TRACK, Run


@part
def gains_of_claim(scene: Scene, z: int, x: int, gains: Floats) -> None:
    """By arm, what a pull adds to the squared distance to where the claim of z and x fails."""
    p, draw = scene.posterior, scene.draw
    xs, cs, y = draw.xs, draw.cs, draw.y
    draw.piece[0], draw.piece[1] = z, x
    refresh_listed(p, draw.piece[:2])
    d = p.mu.shape[1]
    above, below, m = x, z, d
    if scene.front.inside[z]:
        for c in range(d):
            cs[c] = c
    else:
        above, below, m = z, x, 1
        nearest, at = np.inf, 0
        for c in range(d):
            xs[0], cs[0] = below, c
            square = project(p, above, m, xs, cs, y)
            if square < nearest:
                nearest, at = square, c
        cs[0] = at
    for k in range(m):
        xs[k] = below
    project(p, above, m, xs, cs, y)
    move(p, above, m, xs, cs, y, draw.shift)
    gains_of_move(p, above, m, xs, cs, y, draw.shift, gains)


@step
def choose_for_goal(run: Run) -> int:
    """Pull for the claim that the goal waits for; without one, as the directed rule does."""
    arm = opening(run)
    if arm >= 0:
        return arm
    z, x = int(run.outcome[HINT]), int(run.outcome[HINT + 1])
    if x < 0 or z == x or not informed(run):
        return direct(run)
    scene, model = run.scene, run.scene.model
    dismiss(scene.cover)
    w, gains = floats(model.K), floats(model.K)
    gains_of_claim(scene, z, x, gains)
    aimed(model, scene.belief.N, gains, share_of_exploring(run), w)
    return follow(run, w, 0.0, run.options.tracking == TRACK)
