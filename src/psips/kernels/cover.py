"""A cover of Alt(S_hat) by sets whose posterior probability is known exactly.

A record (z; x_k, c_k, y_k, g_k) covers the piece "z above x_k in objective c_k for all k".
Within group g the multipliers y of the projection give the linear form
f_g = sum_{k in g} y_k (z - x_k)(c_k), which is >= 0 on the piece; f has mean -gap and
covariance Gamma = L L^T. Groups are formed so that Gamma has no positive entry off the
diagonal: then L^-1 >= 0 and the piece lies in { e >= b }, where e is the standardised
L^-1 (f + gap) and b = L^-1 gap, whose probability is prod_j P(N > b_j / scale). The groups
come in an order in which b >= 0 (``tree._order``), so that the set is never larger than the
half-space tangent to the piece. With one group it is that half-space; with a diagonal Sigma
there is one group for each objective, and "i below j" is covered by itself.

The structure is kept between rounds and its numbers are refreshed: a record stays valid,
if a little loose, whatever theta becomes. Pieces with less than e^-28 of the largest one's
mass are left out when the cover is built, and it is built anew before that margin can have
shrunk to e^-20: precision only grows, so no distance shrinks by more than theta moves. (Of
noise that is estimated it may fall; `psips.kernels.posterior.growth` bounds by how much.)

The life of a cover. EAGER: there is none, because hits come within a few literal draws; when
they do not, it is built. BUILT: it is complete, and refreshed before each round, or built anew
where it cannot be. FULL: it did not fit; draws are literal, and it is tried again in the next
round. LEAVING: the learner's hits came at once, so the next round begins without one.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints
from psips.kernels.halfspace import lead
from psips.kernels.jit import bare, standing
from psips.kernels.model import POOLED, Model
from psips.kernels.posterior import Posterior, cov
from psips.kernels.records import Record, record

NATS = 28.0  # pieces with less than e^-NATS of the largest piece's mass are left out
FEWER_NATS = 14.0  # the same for a single answer, whose probability is an estimate anyway
MARGIN = 20.0  # what must remain of NATS while the cover is used
CAPACITY = 4096  # half-spaces a cover may hold; a larger one is not built
LARGE_CAPACITY = 32768  # the same, beyond a hundred answers
DEPTH = 12  # constraints a record can hold

# Stages of a cover's life.
EAGER, BUILT, FULL, LEAVING = range(4)
# Places in Cover.life: its stage; its records; since it was built rounds, proposals in vain.
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
    depth = DEPTH if capacity > 0 else 0
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


@bare
def is_eager(cover: Cover) -> bool:
    """Whether literal draws come first."""
    return cover.life[STAGE] == EAGER


@bare
def is_complete(cover: Cover) -> bool:
    """Whether the records cover the alternative."""
    return cover.life[STAGE] == BUILT


@bare
def begin_round(cover: Cover) -> None:
    """Let a cover go that was leaving; the others are a round older."""
    if cover.life[STAGE] == LEAVING:
        cover.life[STAGE] = EAGER
    cover.life[AGE] += 1


@bare
def begin_building(cover: Cover) -> None:
    """There are no records yet."""
    cover.life[STAGE] = BUILT
    cover.life[RECORDS] = 0
    cover.life[AGE] = 0
    cover.life[REJECTED] = 0


@bare
def give_up(cover: Cover) -> None:
    """There is no room for all records."""
    cover.life[STAGE] = FULL


@bare
def leave(cover: Cover) -> None:
    """Literal draws serve better, from the next round on."""
    cover.life[STAGE] = LEAVING


@bare
def dismiss(cover: Cover) -> None:
    """Nobody needs a cover for now."""
    cover.life[STAGE] = EAGER


@bare
def is_stale(cover: Cover, results: int) -> bool:
    """Whether the records are not worth refreshing: too old, or too many proposals in vain."""
    life = cover.life
    old = life[AGE] > 32 + results // 64
    return life[STAGE] != BUILT or old or life[REJECTED] > 16 + life[AGE] // 2


@standing
@bare
def measure(p: Posterior, cover: Cover, first: int, last: int, only: int) -> float:
    """Refresh gap, L, b and r of records ``first`` to ``last``; return the smallest r.

    Of separate arms only those that speak of arm ``only``, unless it is negative.
    A record whose groups clash (a positive entry off the diagonal) gets r = -1.
    """
    shape, terms, y, gap, L, b = cover.shape, cover.terms, cover.y, cover.gap, cover.L, cover.b
    r, mass, mu, slack, diagonal = cover.r, cover.mass, p.mu, p.slack, p.diagonal
    nearest = np.inf
    for one in range(first, last):
        z, m, groups = shape[one, ANSWER], shape[one, CONSTRAINTS], shape[one, GROUPS]
        if only >= 0 and z != only:
            spoken_of = False
            for k in range(m):
                if terms[one, k, RIVAL] == only:
                    spoken_of = True
                    break
            if not spoken_of:
                nearest = min(nearest, r[one])
                continue
        mass[one, STOPPER] = -1.0
        mass[one, LEARNER] = -1.0
        if diagonal and p.separate and groups == m:  # one constraint a group, all independent
            square = 0.0
            for k in range(m):
                x, c, g = terms[one, k, RIVAL], terms[one, k, OBJECTIVE], terms[one, k, GROUP]
                gap[one, g] = -y[one, k] * lead(mu, slack, z, x, c)
                for f in range(g):
                    L[one, g, f] = 0.0
                L[one, g, g] = y[one, k] * math.sqrt(p.C[z, c, c] + p.C[x, c, c])
                b[one, g] = gap[one, g] / L[one, g, g]
                square += max(b[one, g], 0.0) ** 2
            r[one] = math.sqrt(square)
            nearest = min(nearest, r[one])
            continue
        for g in range(groups):
            gap[one, g] = 0.0
            for f in range(g + 1):
                L[one, g, f] = 0.0
        for k in range(m):
            x, c, g = terms[one, k, RIVAL], terms[one, k, OBJECTIVE], terms[one, k, GROUP]
            weight = y[one, k]
            gap[one, g] -= weight * lead(mu, slack, z, x, c)
            for j in range(k + 1):
                v, e, f = terms[one, j, RIVAL], terms[one, j, OBJECTIVE], terms[one, j, GROUP]
                if diagonal and g != f:
                    continue
                shared = weight * y[one, j] * cov(p, z, x, c, v, e)
                if g == f:
                    L[one, g, g] += shared if j == k else 2.0 * shared
                elif g > f:
                    L[one, g, f] += shared
                else:
                    L[one, f, g] += shared
        square = 0.0
        for g in range(groups):
            rest = gap[one, g]
            if diagonal:
                L[one, g, g] = math.sqrt(L[one, g, g])
            else:
                scale = 1e-12 * L[one, g, g]
                for f in range(g + 1):
                    total = L[one, g, f]
                    for k in range(f):
                        total -= L[one, g, k] * L[one, f, k]
                    if f < g:
                        if total > scale:
                            square = -np.inf
                        L[one, g, f] = min(total, 0.0) / L[one, f, f]
                        rest -= L[one, g, f] * b[one, f]
                    else:
                        if total <= scale:
                            square = -np.inf
                        L[one, g, g] = math.sqrt(max(total, scale))
            b[one, g] = rest / L[one, g, g]
            square += max(b[one, g], 0.0) ** 2
        r[one] = math.sqrt(square) if square >= 0.0 else -1.0
        nearest = min(nearest, r[one])
    return nearest


def capacity_for(model: Model) -> int:
    """Return how many half-spaces a cover may hold."""
    return CAPACITY if model.n <= 100 else LARGE_CAPACITY
