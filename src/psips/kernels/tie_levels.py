"""What the evidence must reach, by the near-ties around the nearest other truth.

If the truth were the least favourable one near the data, how often would noise take the
estimates into a wrong set that looks as sure as this one? The nearest point of a piece of the
alternative is taken for the truth, with everything that is within KAPPA standard errors of a
tie there made a tie: this structure has a rate at every level (`psips.kernels.tie_cone`), and
the evidence must reach the level at which the rate has fallen to what may be spent in an e-fold
of measurements. More ties can make the rate smaller, too: the largest level counts of those of
nested structures, which have the ties within KAPPA, 3/4, 1/2, 1/4 and 0 of it. A lead that
equals the tolerance may have a sure sign or not: both readings count where the two are alike
in size.

Answers that are surely dominated, or surely break a limit, are left out. Two answers are linked
if their relation is open: a tie between them decides whether one holds the other back, or a
limit whether the one that does is allowed. A structure is made of all that are linked with the
answer that the piece is about.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats, Ints, Mask, Stream
from psips.kernels.constraint import (
    Piece,
    applies,
    empty_piece,
    form,
    moved,
    put_lead,
    put_limit,
    shared,
)
from psips.kernels.grids import flags, floats, floats2, ints, ints2
from psips.kernels.halfspace import lead, may_beat, may_hold
from psips.kernels.jit import bare, part, standing
from psips.kernels.model import LimitModel
from psips.kernels.posterior import Posterior, between
from psips.kernels.records import Record, record
from psips.kernels.tie_cone import (
    DIRECTIONS,
    GRID,
    TieCone,
    level_of_rate,
    new_cone,
    tabulate,
    wrong_directions,
)

KAPPA = 2.0  # standard errors within which something may be a tie
NESTED = 4  # structures besides that of the exact ties
MOST = 16  # answers of a structure; a larger one is left to the nested ones
COORDINATES = 24  # .. and its dimensions
KEPT = 256  # cones of which rates are kept
STEP, ALIKE = 1.0 / 16.0, 0.99999  # to which covariances of ties are rounded; the largest
SMALL = 1e-6  # standard errors below which the nearest point does not say which side it is on


@record
class Known(Record):
    """Rates of the cones that were worked out last, which depend on the cone alone."""

    names: Ints  # (KEPT,)
    rates: Floats  # (KEPT, GRID)
    stream: Stream  # (4,) room for directions


def nothing_known() -> Known:
    """Return room for what is worked out."""
    return Known(np.zeros(KEPT, np.int64), np.zeros((KEPT, GRID)), np.zeros(4, np.uint64))


class Around(NamedTuple):
    """The nearest point of a piece, and what is close to a tie there."""

    point: Floats  # (n, d)
    kappa: float
    limit: Piece  # room for one limit
    reach: float  # standard errors up to which a tolerance leaves the sign of a lead open


@bare
def error_of_lead(p: Posterior, a: int, b: int, c: int) -> float:
    """Return the standard error of the lead (a - b)(c)."""
    if p.separate:
        return math.sqrt(p.C[a, c, c] + p.C[b, c, c])
    square = between(p, a, c, a, c) + between(p, b, c, b, c) - 2.0 * between(p, a, c, b, c)
    return math.sqrt(max(square, 0.0))


@bare
def _above(p: Posterior, around: Around, z: int, x: int, c: int) -> float:
    """1 if z is surely above x in ``c`` by more than the tolerance, -1 if it is not, else 0."""
    ahead = lead(around.point, p.slack, z, x, c)
    width = around.kappa * error_of_lead(p, z, x, c)
    return 1.0 if ahead > width else -1.0 if ahead < -width else 0.0


@bare
def _kept(p: Posterior, limits: LimitModel, around: Around, z: int, l: int) -> float:  # noqa: E741
    """1 if z surely keeps limit ``l``, -1 if it breaks it, else 0."""
    if not applies(limits, z, l):
        return 1.0
    put_limit(around.limit, 0, limits, z, l, 1.0)
    value = form(around.point, around.limit, 0)
    width = around.kappa * math.sqrt(shared(p, around.limit, 0, 0))
    return 1.0 if value > width else -1.0 if value < -width else 0.0


@bare
def _least_kept(p: Posterior, limits: LimitModel, around: Around, z: int) -> float:
    """1 if z surely keeps all limits, -1 if it surely breaks one, else 0."""
    least = 1.0
    if limits.kept.shape[0] > 0 and limits.kept[z] == 0.0:
        return -1.0
    for l in range(limits.metric.shape[0]):  # noqa: E741
        least = min(least, _kept(p, limits, around, z, l))
    return least


@bare
def _is_out(
    p: Posterior, limits: LimitModel, around: Around, members: Ints, state: Floats, a: int
) -> bool:
    """Whether ``a`` surely breaks a limit, or a member that keeps all surely beats it."""
    if state[a] < 0.0:
        return True
    for x in members:
        sure = x != a and state[x] > 0.0 and may_beat(p.facts, p.give, x, a)
        for c in range(p.mu.shape[1]):
            if sure and limits.aims[c] > 0.0:
                sure = _above(p, around, x, a, c) > 0.0
        if sure:
            return True
    return False


@bare
def _is_open(
    p: Posterior, limits: LimitModel, around: Around, state: Floats, a: int, b: int
) -> bool:
    """Whether noise decides if one of two answers holds the other back."""
    tie = False
    forth, back = may_hold(p.facts, p.give, a, b), may_hold(p.facts, p.give, b, a)
    for c in range(p.mu.shape[1]):
        if limits.aims[c] > 0.0:
            over, under = _above(p, around, a, b, c), _above(p, around, b, a, c)
            level = abs(around.point[a, c] - around.point[b, c])
            tie = tie or over == 0.0 or under == 0.0
            tie = tie or level <= around.kappa * error_of_lead(p, a, b, c)
            forth, back = forth and under <= 0.0, back and over <= 0.0
    return (forth and (tie or state[a] == 0.0)) or (back and (tie or state[b] == 0.0))


@part
def _linked(
    p: Posterior, limits: LimitModel, around: Around, members: Ints, z: int, arms: Ints
) -> int:
    """List the answers linked with z in ``arms``, in order; how many, 0 if too many."""
    n = p.mu.shape[0]
    state, seen = floats(n), flags(n)
    for a in range(n):
        state[a] = _least_kept(p, limits, around, a)
    if _is_out(p, limits, around, members, state, z):
        return 0
    controlled = False
    for l in range(limits.metric.shape[0]):  # noqa: E741
        controlled = controlled or limits.factor[l] != 0.0
    for a in range(n):
        seen[a] = _is_out(p, limits, around, members, state, a)
    arms[0], seen[z] = z, True
    k, i = 1, 0
    while i < k:
        for b in range(n):
            if seen[b]:
                continue
            one_limit = controlled and state[arms[i]] == 0.0 and state[b] == 0.0
            if one_limit or _is_open(p, limits, around, state, arms[i], b):
                if k == arms.shape[0]:
                    return 0
                seen[b] = True
                arms[k] = b
                k += 1
        i += 1
    for i in range(1, k):  # in the order of the answers
        a, j = arms[i], i
        while j > 0 and arms[j - 1] > a:
            arms[j] = arms[j - 1]
            j -= 1
        arms[j] = a
    return k


@part
def _cluster(
    p: Posterior, around: Around, c: int, arms: Ints, links: Ints, group: Ints, place: Floats
) -> None:
    """Make ties of objective ``c`` exact, the nearest first: answers in groups, with places.

    Within a group the places differ by 0 or by the tolerance where there is a tie.
    """
    k, slack = arms.shape[0], -p.slack[c]
    for i in range(k):
        group[i], place[i] = i, 0.0
    while True:
        best, one, two, apart = around.kappa + 1e-9, -1, -1, 0.0
        for i in range(k):
            for j in range(i):
                if group[i] == group[j] or links[i, j] == 0:
                    continue
                ahead = around.point[arms[i], c] - around.point[arms[j], c]
                width = max(error_of_lead(p, arms[i], arms[j], c), 1e-300)
                for side in range(-1, 2):
                    if side == 0 or slack != 0.0:
                        off = abs(ahead - side * slack) / width
                        if off < best:
                            best, one, two, apart = off, i, j, side * slack
        if one < 0:
            return
        shift, old = place[one] - apart - place[two], group[two]
        for i in range(k):
            if group[i] == old:
                group[i] = group[one]
                place[i] += shift


@bare
def _side(value: float, error: float, otherwise: float) -> float:
    """1 if a value is positive, or too small to tell and the other one is; else 0."""
    if abs(value) <= SMALL * error:
        value = otherwise
    return 1.0 if value > 0.0 else 0.0


@part
def _put_states(
    p: Posterior, around: Around, c: int, at: int, arms: Ints, group: Ints, place: Floats,
    cone: TieCone,
) -> None:  # fmt: skip
    """Write what is sure of the leads in objective ``c``, the cone's ``at``."""
    k, slack = arms.shape[0], -p.slack[c]
    for i in range(k):
        for j in range(k):
            if i == j:
                continue
            a, b = arms[i], arms[j]
            error = error_of_lead(p, a, b, c)
            ahead = around.point[a, c] - around.point[b, c]
            # Two that tie with a third may be told apart themselves.
            same = group[i] == group[j]
            if same:
                same = abs(ahead - place[i] + place[j]) <= 2.0 * around.kappa * error
            if same:
                ahead = place[i] - place[j]
            tiny = 1e-9 * (error + slack)
            beyond, below = ahead - slack, ahead + slack
            tie = same and abs(beyond) <= tiny
            level = same and abs(ahead) <= tiny
            if same and slack <= around.reach * error:
                level = min(abs(ahead), abs(beyond), abs(below)) <= tiny
            cone.above[i, j, at] = 0.0 if tie else 1.0 if beyond > 0.0 else -1.0
            cone.order[i, j, at] = 0.0 if level else 1.0 if ahead > 0.0 else -1.0
            cone.leads[i, j, at] = 1.0 if beyond > 0.0 else 0.0
            if tie:
                there = lead(around.point, p.slack, a, b, c)
                cone.leads[i, j, at] = _side(there, error, lead(p.mu, p.slack, a, b, c))


@part
def _put_truth(
    cone: TieCone, arms: Ints, piece: Piece, m: int, places: Ints, even: bool
) -> None:
    """At the truth the constraints of the piece hold; its answer leads where it is level."""
    k = arms.shape[0]
    for q in range(m):
        z = x = -1
        for i in range(k):
            z = i if arms[i] == piece.first[q] else z
            x = i if arms[i] == piece.second[q] else x
        l = abs(piece.limit[q]) - 1  # noqa: E741
        if l >= 0 and z >= 0 and cone.kept[z, l] == 0.0:
            cone.keeps[z, l] = 1.0 if piece.limit[q] > 0 else 0.0
        elif l < 0 and z >= 0 and x >= 0:
            c = places[piece.metric[q]]
            if cone.above[z, x, c] == 0.0:
                cone.leads[z, x, c] = 1.0
                if even:
                    cone.leads[x, z, c] = 0.0
    for i in range(k):
        for j in range(k):
            for c in range(cone.leads.shape[2]):
                level = even and arms[i] == piece.first[0] and i != j
                if level and cone.leads[i, j, c] == 0.0 and cone.leads[j, i, c] == 0.0:
                    cone.leads[i, j, c] = 1.0


@bare
def _rounded(value: float) -> float:
    """Round to a multiple of STEP: ties that hardly differ are worked out once."""
    return STEP * math.floor(value / STEP + 0.5)


@part
def _whiten(p: Posterior, basis: Piece, m: int) -> Floats:
    """Return a factor of the covariance of ties (m, m), up to its scale, rounded.

    Lengths are rounded in the logarithm, and partial correlations after Fisher's
    transformation; so what is rounded is a covariance still.
    """
    factor, exact = floats2(m, m), floats2(m, m)
    scale = math.sqrt(max(shared(p, basis, 0, 0), 1e-300))
    for i in range(m):
        own = max(shared(p, basis, i, i), 1e-300)
        left, rest = own, 1.0
        for j in range(i):
            total = shared(p, basis, i, j)
            for q in range(j):
                total -= exact[i, q] * exact[j, q]
            if exact[j, j] > 0.0:
                exact[i, j] = total / exact[j, j]
                alike = max(min(exact[i, j] / math.sqrt(max(left, 1e-300)), ALIKE), -ALIKE)
                alike = math.tanh(_rounded(math.atanh(alike)))
                factor[i, j] = alike * math.sqrt(rest)
                rest *= 1.0 - alike * alike
                left -= exact[i, j] ** 2
        if left > 1e-10 * own:
            exact[i, i] = math.sqrt(left)
            factor[i, i] = math.sqrt(rest)
        length = math.exp(_rounded(math.log(math.sqrt(own) / scale)))
        for j in range(i + 1):
            factor[i, j] *= length
    return factor


@part
def _objectives(limits: LimitModel, places: Ints) -> int:
    """Write the numbers of the metrics that are objectives; return how many."""
    count = 0
    for c in range(places.shape[0]):
        places[c] = count
        if limits.aims[c] > 0.0:
            count += 1
    return count


@part
def _structure(
    p: Posterior, limits: LimitModel, around: Around, arms: Ints, piece: Piece, m: int
) -> TieCone:
    """Return the cone of the ties of ``arms``; with no dimension if there are too many."""
    k, d, L = arms.shape[0], p.mu.shape[1], limits.metric.shape[0]
    places = ints(d)
    objectives = _objectives(limits, places)
    links, group, place = ints2(k, k), ints2(d, k), floats2(d, k)
    state = floats(p.mu.shape[0])
    for i in range(k):
        state[arms[i]] = _least_kept(p, limits, around, arms[i])
    for i in range(k):
        for j in range(i):
            if _is_open(p, limits, around, state, arms[i], arms[j]):
                links[i, j] = 1
    basis, size = empty_piece(k * (objectives + L)), 0
    for c in range(d):
        if limits.aims[c] > 0.0:
            _cluster(p, around, c, arms, links, group[c], place[c])
            for i in range(k):
                first = 0
                while group[c, first] != group[c, i]:
                    first += 1
                if first < i:
                    put_lead(basis, size, p.slack, arms[i], arms[first], c)
                    size += 1
    for i in range(k):
        for l in range(L):  # noqa: E741
            if _kept(p, limits, around, arms[i], l) == 0.0:
                put_limit(basis, size, limits, arms[i], l, 1.0)
                size += 1
    wide = size if size <= COORDINATES else 0
    cone = new_cone(k, objectives, L, wide, p.tolerant)
    if wide == 0:
        return cone
    factor = _whiten(p, basis, size)
    q = 0
    for c in range(d):
        if limits.aims[c] > 0.0:
            _put_states(p, around, c, places[c], arms, group[c], place[c], cone)
            for i in range(k):
                first = 0
                while group[c, first] != group[c, i]:
                    first += 1
                if first < i:
                    for j in range(q + 1):
                        cone.at[i, places[c], j] = factor[q, j]
                    q += 1
    for i in range(k):
        for l in range(L):  # noqa: E741
            cone.kept[i, l] = _kept(p, limits, around, arms[i], l)
            cone.keeps[i, l] = 1.0 if cone.kept[i, l] > 0.0 else 0.0
            if cone.kept[i, l] == 0.0:
                for j in range(q + 1):
                    cone.limit[i, l, j] = factor[q, j]
                q += 1
                put_limit(around.limit, 0, limits, arms[i], l, 1.0)
                error = math.sqrt(shared(p, around.limit, 0, 0))
                there = form(around.point, around.limit, 0)
                cone.keeps[i, l] = _side(there, error, form(p.mu, around.limit, 0))
        for j in range(k):
            cone.holds[i, j] = 1.0 if may_hold(p.facts, p.give, arms[i], arms[j]) else 0.0
            cone.beats[i, j] = 1.0 if may_beat(p.facts, p.give, arms[i], arms[j]) else 0.0
    _put_truth(cone, arms, piece, m, places, not p.tolerant)
    return cone


@bare
def _mixed(name: int, value: float) -> int:
    return (name * 1000003 + int(1024.0 * value + 1048576.5)) % 2147483647


@bare
def _name(cone: TieCone) -> int:
    """Return a number that tells cones apart."""
    k, d, m = cone.at.shape
    name = _mixed(_mixed(_mixed(1 if cone.tolerant else 0, k), d), m)
    for i in range(k):
        for j in range(k):
            name = _mixed(_mixed(name, cone.holds[i, j]), cone.beats[i, j])
            for c in range(d):
                name = _mixed(_mixed(name, cone.above[i, j, c]), cone.order[i, j, c])
                name = _mixed(name, cone.leads[i, j, c])
        for c in range(d):
            for q in range(m):
                name = _mixed(name, cone.at[i, c, q])
        for l in range(cone.kept.shape[1]):  # noqa: E741
            name = _mixed(_mixed(name, cone.kept[i, l]), cone.keeps[i, l])
            for q in range(m):
                name = _mixed(name, cone.limit[i, l, q])
    return name + 1


@part
def _rates(cone: TieCone, known: Known) -> Floats:
    """Return the rates of a cone at the levels of the grid; those of before if it is known."""
    name = _name(cone)
    place = name % known.names.shape[0]
    if known.names[place] != name:
        known.names[place] = name
        squares, weights = floats(DIRECTIONS), floats(DIRECTIONS)
        found = wrong_directions(cone, known.stream, squares, weights)
        tabulate(squares[:found], weights[:found], cone.at.shape[2], known.rates[place])
    return known.rates[place]


@standing
@part
def level_with_ties(
    p: Posterior, limits: LimitModel, inside: Mask, piece: Piece, m: int, wanted: float,
    lone: float,
    enough: float,
    known: Known,
) -> float:  # fmt: skip
    """Return the evidence that a piece of ``m`` constraints must have.

    ``wanted`` is the log of the rate that may be spent, ``lone`` the level of a lone tie, which
    is the least; a level above ``enough`` need not be the largest. ``piece.first[0]`` is the
    answer that the piece is about.
    """
    n, d = p.mu.shape
    point, members, count = floats2(n, d), ints(n), 0
    for a in range(n):
        for c in range(d):
            point[a, c] = moved(p, piece, m, a, c)
        if inside[a]:
            members[count] = a
            count += 1
    room = empty_piece(1)
    arms, level = ints(MOST), lone
    readings = 2 if p.tolerant else 1
    for turn in range(readings * (NESTED + 1)):
        nested = NESTED - turn // readings
        kappa = max(KAPPA * nested / NESTED, 1e-3)
        around = Around(point, kappa, room, 0.5 if turn % readings == 0 else 3.0)
        k = _linked(p, limits, around, members[:count], piece.first[0], arms)
        if k == 0:
            continue
        cone = _structure(p, limits, around, arms[:k], piece, m)
        if cone.at.shape[2] > 0:
            level = level_of_rate(_rates(cone, known), wanted, level)
        if level > enough:
            break
    return level
