"""Posterior draws, made as far as they are looked at, and whether they change the set.

Whether a point lies in Alt(S_hat) is often settled by a few answers: arms, or answers of a
linear problem, come into being when they are first needed.
"""

from __future__ import annotations

from psips.aliases import Floats
from psips.kernels.belief import in_theta
from psips.kernels.front import LIVE, MEMBERS
from psips.kernels.halfspace import beats, held, holds, may_beat, may_hold
from psips.kernels.jit import bare, standing
from psips.kernels.model import EVERYTHING
from psips.kernels.posterior import draw_answer, draw_theta, image
from psips.kernels.scene import ABOVE, BELOW, LITERALS, NUMBER, Scene

PATIENCE = 1_000_000  # draws after which a learner goes without a hit
OUTSIDE = 100  # hits outside Theta after which a learner takes one of them


@bare
def begin_draw(scene: Scene, scale: float) -> None:
    """Begin a draw: nothing of it is made yet, but for theta of a linear problem."""
    p, draw = scene.posterior, scene.draw
    draw.made[NUMBER] += 1.0
    if not p.separate:
        draw_theta(p, draw.stream, scale, draw.row, draw.theta)


@bare
def look_at(scene: Scene, a: int, scale: float) -> None:
    """Make the values of answer ``a`` at the point drawn, if they are not made yet."""
    _make(scene, int(scene.draw.made[NUMBER]), a, scale)


@bare
def _make(scene: Scene, number: int, a: int, scale: float) -> None:
    """Make the values of answer ``a``, if they are not those of draw ``number``."""
    p, draw = scene.posterior, scene.draw
    if draw.drawn[a] != number:
        if p.separate:
            draw_answer(p, draw.stream, scale, a, draw.values)
        else:
            image(p.Z, draw.theta, a, draw.values)
        draw.drawn[a] = number


@bare
def look_at_all(scene: Scene, scale: float) -> None:
    """Make the values of all answers that were not needed so far."""
    number = int(scene.draw.made[NUMBER])
    for a in range(scene.model.n):
        _make(scene, number, a, scale)


@standing
@bare
def find_change(
    scene: Scene, values: Floats, slack: Floats, give: Floats, others: int, scale: float
) -> bool:
    """Whether ``values`` (n, d) lie in Alt(S_hat), and in which piece.

    ``others`` answers outside S_hat are looked at. If ``scale`` is not 0, what is not made yet
    of the point drawn is made with it. ``draw.piece`` becomes (j, i) for "i below j" or
    (z, -1) for "z escapes".
    """
    front, piece = scene.front, scene.draw.piece
    outside, facts = front.outside, scene.posterior.facts
    members = front.members[: front.size[MEMBERS]]
    lazily, tolerant = scale > 0.0, scene.posterior.tolerant
    number = int(scene.draw.made[NUMBER])
    if lazily:
        for x in members:
            _make(scene, number, x, scale)
    for i in members:
        for j in members:
            if i != j and may_beat(facts, give, j, i) and beats(values, slack, j, i):
                piece[ABOVE] = j
                piece[BELOW] = i
                return True
    for k in range(others):
        z = outside[k]
        if lazily:
            _make(scene, number, z, scale)
        if tolerant:
            for i in members:
                if may_beat(facts, give, z, i) and beats(values, slack, z, i):
                    piece[ABOVE] = z
                    piece[BELOW] = i
                    return True
        x = front.keeper[z]
        if may_hold(facts, give, x, z) and holds(values, slack, x, z):
            continue
        if not held(values, slack, facts, give, members, z):
            if lazily:
                outside[k], outside[k // 2] = outside[k // 2], z  # sooner next time
            piece[ABOVE] = z
            piece[BELOW] = -1
            return True
    return False


@bare
def changes_set(scene: Scene, values: Floats) -> bool:
    """Whether the point with all of ``values`` (n, d) lies in Alt(S_hat)."""
    others = scene.model.n - scene.front.size[MEMBERS]
    p = scene.posterior
    return find_change(scene, values, p.slack, p.give, others, 0.0)


@standing
@bare
def literal_draw(scene: Scene, scale: float) -> bool:
    """One posterior draw, as far as needed; whether it is in Alt(S_hat)."""
    scene.draw.made[LITERALS] += 1.0
    begin_draw(scene, scale)
    p, live = scene.posterior, scene.front.size[LIVE]
    return find_change(scene, scene.draw.values, p.slack, p.give, live, scale)


@bare
def allowed(scene: Scene, scale: float) -> bool:
    """Whether the point drawn is in Theta; completes it first if that has to be looked at."""
    model, draw = scene.model, scene.draw
    if model.kind == EVERYTHING:
        return True
    if scene.posterior.separate:
        look_at_all(scene, scale)
        return in_theta(model, draw.values)
    return in_theta(model, draw.theta)
