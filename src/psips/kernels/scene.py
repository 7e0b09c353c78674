"""What kernels look at together: the posterior, the candidate set, its cover, and a draw."""

from __future__ import annotations

import numpy as np

from psips.aliases import Floats, Ints, Stream
from psips.kernels.belief import Belief
from psips.kernels.cover import DEPTH, Cover, empty_cover
from psips.kernels.front import Front, empty_front
from psips.kernels.model import Model
from psips.kernels.posterior import Posterior, empty_posterior
from psips.kernels.records import Record, record
from psips.kernels.tie_levels import Known, nothing_known

# Places in Draw.made; HALT is not 0 if somebody asked the draws to end.
PROPOSALS, LITERALS, NUMBER, HALT = range(4)
# Places in Draw.piece: z of "z escapes" or j of "i below j"; i, or -1.
ABOVE, BELOW = range(2)


@record
class Draw(Record):
    """Room for one posterior draw, and for what is made of it."""

    stream: Stream  # (4,)
    theta: Floats  # (h, d) the draw; linear problems, or once it is complete
    values: Floats  # (n, d) its answers, as far as they were needed
    drawn: Ints  # (n,) number of the draw in which an answer's values were made
    made: Floats  # (4,) proposals made, literal draws made, number of the current draw, HALT
    piece: Ints  # (2,) piece of Alt in which the point was found, see `find_change`
    p: Floats  # (records,) probabilities of the cover's sets, relative to the largest
    xs: Ints  # (room,) rivals of the piece that is worked on; room for n answers or a record
    cs: Ints  # (room,) its objectives
    y: Floats  # (room,) its multipliers
    choice: Ints  # (room,) objective for each member that is not among the rivals yet
    forms: Floats  # (room,) linear forms of a record's groups
    shift: Floats  # (h, d) see `psips.kernels.posterior.move`
    at_z: Floats  # (d,) means of z somewhere else
    at_x: Floats  # (d,) means of a rival there
    row: Floats  # (d,)
    nearest: Ints  # (3,) z, constraints and kind of the piece of Alt that was nearest last time
    nearest_xs: Ints  # (room,) its rivals
    nearest_cs: Ints  # (room,) its objectives


@record
class Scene(Record):
    """All that is looked at to say what could be otherwise."""

    model: Model
    belief: Belief
    posterior: Posterior
    front: Front
    cover: Cover
    draw: Draw
    ties: Known


def empty_draw(model: Model, capacity: int) -> Draw:
    """Return the room that the searches work in."""
    shape = (model.h, model.d)
    room = max(model.n, model.d, DEPTH)
    return Draw(
        stream=np.zeros(4, np.uint64),
        theta=np.zeros(shape),
        values=np.zeros((model.n, model.d)),
        drawn=np.zeros(model.n, np.int64),
        made=np.zeros(4),
        piece=np.zeros(2, np.int64),
        p=np.zeros(capacity),
        xs=np.zeros(room, np.int64),
        cs=np.zeros(room, np.int64),
        y=np.zeros(room),
        choice=np.zeros(room, np.int64),
        forms=np.zeros(room),
        shift=np.zeros(shape),
        at_z=np.zeros(model.d),
        at_x=np.zeros(model.d),
        row=np.zeros(model.d),
        nearest=np.full(3, -1, np.int64),
        nearest_xs=np.zeros(room, np.int64),
        nearest_cs=np.zeros(room, np.int64),
    )


def empty_scene(model: Model, belief: Belief, capacity: int) -> Scene:
    """Return a scene in which nothing was looked at; its cover may hold ``capacity`` sets."""
    return Scene(
        model,
        belief,
        empty_posterior(model, belief),
        empty_front(model),
        empty_cover(model, capacity),
        empty_draw(model, capacity),
        nothing_known(),
    )
