"""What searches look at together: the candidate set, its cover, a draw; see `src/core`."""

from __future__ import annotations

import numpy as np

from psips._core import COVER_DEPTH, RATE_LEVELS
from psips.aliases import Floats, Ints, Mask, Stream
from psips.state.belief import Belief
from psips.state.model import POOLED, Model
from psips.state.posterior import Posterior, empty_posterior
from psips.state.records import Record, record

# Kinds of pieces of the alternative: "i is below j", "z escapes".
PAIR, ESCAPE = range(2)  # kinds of pieces: "i below j", "z escapes"
# Places in Front.size.
MEMBERS, LIVE = range(2)
KEPT = 256  # structures of ties of which rates are kept
CAPACITY = 4096  # half-spaces a cover may hold; a larger one is not built
LARGE_CAPACITY = 32768  # the same, beyond a hundred answers
# Stages of a cover's life.
EAGER, BUILT, FULL, LEAVING = range(4)
# Places in Cover.life: its stage; its records; since it was built rounds, rejected proposals.
STAGE, RECORDS, AGE, REJECTED = range(4)
# Places in Cover.reach: distance of the nearest piece; from which on pieces were left out; the
# largest inflation of any draw that it has to serve.
NEAREST, LEFT_OUT, SPARE = range(3)
# Places in Cover.shape.
ANSWER, CONSTRAINTS, KIND, GROUPS = range(4)
# .. and of one of its constraints.
RIVAL, OBJECTIVE, GROUP = range(3)
# Whose draws it serves: places in Cover.mass and Cover.scale.
STOPPER, LEARNER = range(2)
# Places in Draw.made; HALT is not 0 if someone asked the draws to end.
PROPOSALS, LITERALS, NUMBER, HALT = range(4)


@record
class Front(Record):
    """S_hat and what lies around it.

    Without a cover every answer outside S_hat is live. With one only those that can matter
    are; the others follow them in ``outside``.
    """

    inside: Mask  # (n,) S_hat
    members: Ints  # (n,) S_hat as a list, the first size[MEMBERS]
    outside: Ints  # (n,) the other answers; the first size[LIVE] are live: they could escape
    dominator: Ints  # (n,) for each answer outside, a member that dominates it
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


@record
class Cover(Record):
    """Records, the first ``life[RECORDS]``, and where theta was when they were made."""

    shape: Ints  # (records, 4) z, number of constraints, PAIR or ESCAPE, number of groups
    terms: Ints  # (records, DEPTH, 3) x_k, c_k, g_k
    y: Floats  # (records, DEPTH)
    gap: Floats  # (records, DEPTH) by group
    L: Floats  # (records, DEPTH, DEPTH) by group
    b: Floats  # (records, DEPTH) by group
    r: Floats  # (records,) distance of theta: norm of the positive part of b
    mass: Floats  # (records, 2) bounds of the probability at ``scale``; -1 if not known
    scale: Floats  # (2,) largest scale of the stopping rule's and of the learner's draws
    theta: Floats  # (h, d)
    R: Floats  # (n, d, d) factors of the arms' covariances then; linear: (1, d, d), or none
    V: Floats  # (h, h) precision then, (0, 0) if unstructured
    life: Ints  # (4,)
    reach: Floats  # (3,)


def empty_cover(model: Model, capacity: int) -> Cover:
    """Return room for ``capacity`` records."""
    arms, width = (model.n, 0) if model.unstructured else (0, model.h)
    if model.joint:
        arms, width = 0, model.h * model.d
    elif not model.unstructured and model.noise.mode == POOLED:
        arms = 1
    depth = COVER_DEPTH if capacity > 0 else 0
    return Cover(
        shape=np.zeros((capacity, 4), np.int64),
        terms=np.zeros((capacity, depth, 3), np.int64),
        y=np.zeros((capacity, depth)),
        gap=np.zeros((capacity, depth)),
        L=np.zeros((capacity, depth, depth)),
        b=np.zeros((capacity, depth)),
        r=np.zeros(capacity),
        mass=np.zeros((capacity, 2)),
        scale=np.zeros(2),
        theta=np.zeros((model.h, model.d)),
        R=np.zeros((arms, model.d, model.d)),
        V=np.zeros((width, width)),
        life=np.zeros(4, np.int64),
        reach=np.zeros(3),
    )


def capacity_for(model: Model) -> int:
    """Return how many half-spaces a cover may hold."""
    return CAPACITY if model.n <= 100 else LARGE_CAPACITY


@record
class TieRates(Record):
    """Rates of the structures of ties that were worked out last, by name."""

    names: Ints  # (KEPT,)
    rates: Floats  # (KEPT, RATE_LEVELS)
    stream: Stream  # (4,) room for directions


def no_rates() -> TieRates:
    """Return room for what is worked out."""
    return TieRates(
        np.zeros(KEPT, np.int64), np.zeros((KEPT, RATE_LEVELS)), np.zeros(4, np.uint64)
    )


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
    choice: Ints  # (room,) objective for each member that is not among the rivals yet
    forms: Floats  # (room,) linear forms of a record's groups
    shift: Floats  # (h, d) see `src/core/posterior.h`
    at_z: Floats  # (d,) means of z somewhere else
    at_x: Floats  # (d,) means of a rival there
    row: Floats  # (d,)
    nearest: Ints  # (3,) z, constraints and kind of the piece of Alt that was nearest last time
    nearest_xs: Ints  # (room,) its rivals
    nearest_cs: Ints  # (room,) its objectives


@record
class SearchState(Record):
    """All that is looked at to say what could be otherwise."""

    model: Model
    belief: Belief
    posterior: Posterior
    front: Front
    cover: Cover
    draw: Draw
    ties: TieRates


def empty_draw(model: Model, capacity: int) -> Draw:
    """Return the room that the searches work in."""
    shape = (model.h, model.d)
    room = max(model.n, model.d, COVER_DEPTH)
    return Draw(
        stream=np.zeros(4, np.uint64),
        theta=np.zeros(shape),
        values=np.zeros((model.n, model.d)),
        drawn=np.zeros(model.n, np.int64),
        made=np.zeros(4),
        piece=np.zeros(2, np.int64),
        p=np.zeros(capacity),
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


def empty_search(model: Model, belief: Belief, capacity: int) -> SearchState:
    """Return a search in which nothing was looked at; its cover may hold ``capacity`` sets."""
    return SearchState(
        model,
        belief,
        empty_posterior(model, belief),
        empty_front(model),
        empty_cover(model, capacity),
        empty_draw(model, capacity),
        no_rates(),
    )
