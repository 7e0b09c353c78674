"""Posterior draws, made as far as they are looked at.

Whether a point lies in Alt(S_hat) is often settled by a few answers: arms, or answers of a
linear problem, come into being when they are first needed.
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import Belief, in_theta
from psips.kernels.cover import DEPTH
from psips.kernels.front import LIVE, MEMBERS, Front, copy_rows, image
from psips.kernels.jit import bare, part
from psips.kernels.model import Floats, Ints, Model, Stream
from psips.kernels.pareto import dominates
from psips.kernels.records import Record, record
from psips.kernels.rng import normal

# Places in Draw.made; HALT is not 0 if somebody asked the draws to end.
PROPOSALS, LITERALS, NUMBER, HALT = range(4)
PATIENCE = 1_000_000  # draws after which a learner goes without a hit
OUTSIDE = 100  # hits outside Theta after which a learner takes one of them


@record
class Draw(Record):
    """Room for one posterior draw."""

    stream: Stream  # (4,)
    theta: Floats  # (h, d) the draw; linear problems, or once it is complete
    values: Floats  # (n, d) its answers, as far as they were needed
    drawn: Ints  # (n,) unstructured: number of the draw in which an arm's value was made
    shift: Floats  # (h, d)
    piece: Ints  # (2,) piece of Alt in which the point was found, see ``find_change``
    p: Floats  # (records,) probabilities of the cover's sets, relative to the largest
    made: Floats  # (4,) proposals made, literal draws made, number of the current draw, HALT
    nearest: Ints  # (2,) z and number of constraints of the piece of Alt nearest last time
    lists: Ints  # (5, room) where kernels keep lists; the last two: that piece's constraints
    work: Floats  # (3, room) the same for numbers; room for n answers or a record


def empty_draw(model: Model, capacity: int) -> Draw:
    """Return the room that the searches work in."""
    shape = (model.h, model.d)
    room = max(model.n, model.d, DEPTH)
    return Draw(
        np.zeros(4, np.uint64),
        np.zeros(shape),
        np.zeros((model.n, model.d)),
        np.zeros(model.n, np.int64),
        np.zeros(shape),
        np.zeros(2, np.int64),
        np.zeros(capacity),
        np.zeros(4),
        np.full(2, -1, np.int64),
        np.zeros((5, room), np.int64),
        np.zeros((3, room)),
    )


@part
def draw_row(
    stream: Stream, L: Floats, mean: Floats, sd: float, a: int, values: Floats
) -> None:
    """Draw row ``a`` of ``values`` ~ N(mean[a], sd^2 L L^T)."""
    d = L.shape[0]
    for c in range(d):
        values[a, c] = normal(stream)
    for c in range(d - 1, -1, -1):
        total = 0.0
        for e in range(c + 1):
            total += L[c, e] * values[a, e]
        values[a, c] = mean[a, c] + sd * total


@bare
def draw_rows(
    stream: Stream,
    L: Floats,
    mean: Floats,
    inverse: Floats,
    scale: float,
    which: Ints,
    values: Floats,
    drawn: Ints,
    number: int,
) -> None:
    """Draw the arms of a list (unstructured)."""
    for a in which:
        draw_row(stream, L, mean, scale * math.sqrt(inverse[a]), a, values)
        drawn[a] = number


@bare
def draw_rest(
    stream: Stream,
    L: Floats,
    mean: Floats,
    inverse: Floats,
    scale: float,
    values: Floats,
    drawn: Ints,
    number: int,
) -> None:
    """Draw the arms that were not needed so far (unstructured)."""
    for a in range(mean.shape[0]):
        if drawn[a] != number:
            draw_row(stream, L, mean, scale * math.sqrt(inverse[a]), a, values)
            drawn[a] = number


@bare
def draw_theta(
    stream: Stream,
    L: Floats,
    F: Floats,
    mean: Floats,
    scale: float,
    row: Floats,
    theta: Floats,
) -> None:
    """Draw theta (linear): mean + scale F G L^T, G standard normal."""
    h, d = mean.shape
    copy_rows(mean, theta)
    for j in range(h):
        for c in range(d):
            row[c] = normal(stream)
        for c in range(d - 1, -1, -1):
            total = 0.0
            for e in range(c + 1):
                total += L[c, e] * row[e]
            row[c] = scale * total
        for i in range(h):
            for c in range(d):
                theta[i, c] += F[i, j] * row[c]


@bare
def search(
    stream: Stream,
    L: Floats,
    mean: Floats,
    inverse: Floats,
    scale: float,
    members: Ints,
    live: Ints,
    keeper: Ints,
    values: Floats,
    drawn: Ints,
    number: int,
    piece: Ints,
) -> bool:
    """Draw arms one by one (unstructured) until the point is seen to be in Alt(S_hat)."""
    draw_rows(stream, L, mean, inverse, scale, members, values, drawn, number)
    for i in members:
        for j in members:
            if i != j and dominates(values, j, i):
                piece[0] = j
                piece[1] = i
                return True
    for i in range(live.shape[0]):
        z = live[i]
        draw_row(stream, L, mean, scale * math.sqrt(inverse[z]), z, values)
        drawn[z] = number
        if not dominates(values, keeper[z], z):
            held = False
            for x in members:
                if dominates(values, x, z):
                    held = True
                    break
            if not held:
                live[i], live[i // 2] = live[i // 2], z  # look at it sooner next time
                piece[0] = z
                piece[1] = -1
                return True
    return False


@bare
def search_image(
    Z: Floats,
    theta: Floats,
    members: Ints,
    live: Ints,
    keeper: Ints,
    values: Floats,
    piece: Ints,
) -> bool:
    """Compute answers one by one (linear) until ``theta`` is seen to be in Alt(S_hat)."""
    for x in members:
        image(Z, theta, x, values)
    for i in members:
        for j in members:
            if i != j and dominates(values, j, i):
                piece[0] = j
                piece[1] = i
                return True
    for i in range(live.shape[0]):
        z = live[i]
        image(Z, theta, z, values)
        if not dominates(values, keeper[z], z):
            held = False
            for x in members:
                if dominates(values, x, z):
                    held = True
                    break
            if not held:
                live[i], live[i // 2] = live[i // 2], z  # look at it sooner next time
                piece[0] = z
                piece[1] = -1
                return True
    return False


@bare
def literal_draw(model: Model, belief: Belief, front: Front, draw: Draw, scale: float) -> bool:
    """One posterior draw, as far as needed; whether it is in Alt(S_hat)."""
    draw.made[LITERALS] += 1.0
    draw.made[NUMBER] += 1.0
    number = int(draw.made[NUMBER])
    members = front.members[: front.size[MEMBERS]]
    live = front.live[: front.size[LIVE]]
    if not model.unstructured:
        row = draw.work[0]
        draw_theta(draw.stream, model.L, belief.F, belief.theta, scale, row, draw.theta)
        return search_image(
            model.Z, draw.theta, members, live, front.keeper, draw.values, draw.piece
        )
    return search(
        draw.stream,
        model.L,
        belief.theta,
        front.inverse,
        scale,
        members,
        live,
        front.keeper,
        draw.values,
        draw.drawn,
        number,
        draw.piece,
    )


@bare
def allowed(model: Model, belief: Belief, front: Front, draw: Draw, scale: float) -> bool:
    """Whether the point drawn is in Theta; completes it first if that has to be looked at."""
    if model.kind == 0:
        return True
    if model.unstructured:
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
        copy_rows(draw.values, draw.theta)
    return in_theta(model.kind, model.ball, model.low, model.high, draw.theta)
