"""How often noise leads from a tie to a wrong set that looks sure: one cone, all wrong sets.

At a truth some constraints are ties: their value is 0 up to a small difference, and everything
else is many standard errors away and stays there. In the coordinates u (m,) of the ties, in
which the noise is a standard normal, everything is a cone: which set the estimates have, and
whether it is wrong, depends on the direction of u alone, and the evidence against all other
sets at r u is r^2 g(u). With u uniform on the sphere, E the evidence, X the estimates,

    P(the set is wrong, E >= c) = E_u[ wrong(u) P(chi2_m >= c / g(u)) ].

In log time the estimates are a stationary Ornstein-Uhlenbeck process, and regions far out are
entered at about -c d/dc of this probability times in an e-fold of measurements: for a lone tie
(m = 1, g = 1/2) that is (c / 4 pi)^(1/2) exp(-c). All wrong sets are in it at once.

Far out a direction counts if it is nearly along one of the ties. So directions are not drawn
uniformly for m > 3, but around the ties, and weighted (balance heuristic): t = cos(angle) to a
tie picked in turn has t^2 ~ Beta(9/2, (m - 1)/2) in the place of Beta(1/2, (m - 1)/2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats, Ints, Mask, Stream
from psips.kernels.cone import nonnegative
from psips.kernels.grids import as_grid, flags, floats, floats2, floats3, ints
from psips.kernels.jit import bare, kernel, part, standing
from psips.kernels.rng import normal, uniform

DIRECTIONS = 1024
GRID, GROWTH = 40, 1.15  # levels at which rates are kept, from 0.5 on
AROUND = 9  # degrees of freedom of the square of the length along a tie
UNIFORM = 8  # one direction in so many is uniform
GOLDEN = math.pi * (3.0 - math.sqrt(5.0))  # angle between neighbours of a spiral
LEVEL = 1e-9  # a value below this is 0: the constraint is met with equality


class TieCone(NamedTuple):
    """Answers that tie, as (k,) answers in d objectives with L limits.

    A state is 1 or -1 where a sign is certain, and 0 for a tie. ``above[z, x, c]``: z is above
    x in c by more than the tolerance. ``order[z, x, c]``: z is above x. ``kept[z, l]``: z keeps
    limit l. The value of a tie at u is a product of u with a vector: ``at[z, c] - at[x, c]``,
    or ``limit[z, l]``. At the truth ``leads[z, x, c]`` and ``keeps[z, l]`` say which
    constraints hold. ``holds[x, z]`` and ``beats[x, z]`` are what exact metrics allow: that x
    holds z back, that x beats z.
    """

    at: Floats  # (k, d, m)
    limit: Floats  # (k, L, m)
    above: Floats  # (k, k, d)
    order: Floats  # (k, k, d)
    kept: Floats  # (k, L)
    leads: Floats  # (k, k, d)
    keeps: Floats  # (k, L)
    holds: Floats  # (k, k)
    beats: Floats  # (k, k)
    tolerant: bool


class Room(NamedTuple):
    """Where a direction is worked on."""

    u: Floats  # (m,)
    value: Floats  # (k, d) of u at every coordinate
    bound: Floats  # (k, L) and at every limit
    inside: Mask  # (k,) the set that the direction leads to
    rows: Floats  # (constraints, m) of the piece that is worked on
    y: Floats  # its multipliers
    point: Floats  # (m,) its point nearest to u


@part
def new_cone(k: int, d: int, L: int, m: int, tolerant: bool) -> TieCone:
    """Return room for a cone: nothing is a tie, and nothing holds."""
    return TieCone(
        floats3(k, d, m),
        floats3(k, L, m),
        floats3(k, k, d),
        floats3(k, k, d),
        floats2(k, L),
        floats3(k, k, d),
        floats2(k, L),
        floats2(k, k),
        floats2(k, k),
        tolerant,
    )


@part
def _room(cone: TieCone) -> Room:
    k, d, m = cone.at.shape
    L = cone.limit.shape[1]
    most = k + d + L + 1
    return Room(
        floats(m),
        floats2(k, d),
        floats2(k, L),
        flags(k),
        floats2(most, m),
        floats(most),
        floats(m),
    )


# ------------------------------------------------------------------ the set in a direction


@bare
def _allowed(cone: TieCone, room: Room, z: int) -> bool:
    """Whether z keeps all limits in the direction."""
    for l in range(cone.kept.shape[1]):  # noqa: E741
        state = cone.kept[z, l]
        if state < 0 or (state == 0 and room.bound[z, l] < 0.0):
            return False
    return True


@bare
def _dominates(cone: TieCone, room: Room, x: int, z: int) -> bool:
    """Whether x is above z in every objective in the direction."""
    if cone.holds[x, z] == 0:
        return False
    for c in range(cone.at.shape[1]):
        state = cone.order[x, z, c]
        if state < 0 or (state == 0 and room.value[x, c] < room.value[z, c]):
            return False
    return True


@bare
def _find_set(cone: TieCone, room: Room) -> None:
    k, d, m = cone.at.shape
    for z in range(k):
        for c in range(d):
            total = 0.0
            for i in range(m):
                total += cone.at[z, c, i] * room.u[i]
            room.value[z, c] = total
        for l in range(cone.kept.shape[1]):  # noqa: E741
            total = 0.0
            for i in range(m):
                total += cone.limit[z, l, i] * room.u[i]
            room.bound[z, l] = total
    for z in range(k):
        room.inside[z] = _allowed(cone, room, z)
    for z in range(k):
        for x in range(k):
            if room.inside[z] and x != z and _allowed(cone, room, x):
                room.inside[z] = not _dominates(cone, room, x, z)


@bare
def _truly_keeps(cone: TieCone, z: int) -> bool:
    for l in range(cone.keeps.shape[1]):  # noqa: E741, SIM110
        if cone.keeps[z, l] == 0:
            return False
    return True


@bare
def _truly_leads(cone: TieCone, z: int, x: int, everywhere: bool) -> bool:
    """Whether z leads x at the truth, in one objective or in all."""
    for c in range(cone.at.shape[1]):
        if (cone.leads[z, x, c] == 0) == everywhere:
            return not everywhere
    return everywhere


@bare
def _is_wrong(cone: TieCone, inside: Mask) -> bool:
    """Whether the truth lies in a piece of the alternative of a set."""
    k = cone.at.shape[0]
    for z in range(k):
        keeps = _truly_keeps(cone, z)
        if inside[z] and not keeps:
            return True
        escapes = not inside[z]
        for x in range(k):
            if x == z:
                continue
            if inside[z] and cone.beats[x, z] != 0 and (inside[x] or cone.tolerant):
                if _truly_keeps(cone, x) and _truly_leads(cone, x, z, True):
                    return True
            elif inside[x] and escapes and cone.holds[x, z] != 0:
                escapes = _truly_leads(cone, z, x, False)
        if escapes and keeps:
            return True
    return False


# ------------------------------------------------------------------ its evidence


@bare
def _put_lead(cone: TieCone, room: Room, q: int, z: int, x: int, c: int) -> None:
    for i in range(cone.at.shape[2]):
        room.rows[q, i] = cone.at[z, c, i] - cone.at[x, c, i]


@bare
def _put_limits(cone: TieCone, room: Room, z: int) -> int:
    """Put what z needs to keep its limits; how many constraints, -1 if it never does."""
    q = 0
    for l in range(cone.kept.shape[1]):  # noqa: E741
        if cone.kept[z, l] < 0:
            return -1
        if cone.kept[z, l] == 0:
            for i in range(cone.at.shape[2]):
                room.rows[q, i] = cone.limit[z, l, i]
            q += 1
    return q


@part
def _project(room: Room, q: int) -> float:
    """Squared distance of u to where the first ``q`` rows are not negative; that point."""
    m = room.u.shape[0]
    G, b = floats2(q, q), floats(q)
    behind = False
    for k in range(q):
        for j in range(k + 1):
            total = 0.0
            for i in range(m):
                total += room.rows[k, i] * room.rows[j, i]
            G[k, j] = total
            G[j, k] = total
        for i in range(m):
            b[k] -= room.rows[k, i] * room.u[i]
        behind = behind or b[k] > 0.0
    for i in range(m):
        room.point[i] = room.u[i]
    if not behind:
        return 0.0
    if q == 1:
        room.y[0] = b[0] / max(G[0, 0], 1e-300)
    else:
        nonnegative(G, b, q, room.y)
    square = 0.0
    for k in range(q):
        square += b[k] * room.y[k]
        for i in range(m):
            room.point[i] += room.y[k] * room.rows[k, i]
    return max(square, 0.0)


@bare
def _holder(cone: TieCone, room: Room, z: int, done: Ints) -> int:
    """Which member holds z back at the point, not one of those ``done``; -1 if none."""
    k, d, m = cone.at.shape
    worst, most = -1, LEVEL
    for x in range(k):
        if not room.inside[x] or x == z or cone.holds[x, z] == 0:
            continue
        behind = np.inf
        for c in range(d):
            if cone.above[z, x, c] > 0:
                behind = -1.0
            elif cone.above[z, x, c] == 0:
                total = 0.0
                for i in range(m):
                    total -= (cone.at[z, c, i] - cone.at[x, c, i]) * room.point[i]
                behind = min(behind, total)
        for other in done:
            if other == x:
                behind = -1.0
        if behind > most:
            worst, most = x, behind
    return worst


@part
def _escapes(cone: TieCone, room: Room, z: int, ceiling: float) -> float:
    """Squared distance to where z keeps its limits and escapes from the set."""
    k, d, _ = cone.at.shape
    base = _put_limits(cone, room, z)
    best = ceiling
    if base < 0:
        return best
    over, tried = ints(k + 1), ints(k + 1)
    depth, fresh = 0, True
    while depth >= 0:
        if fresh:
            square = _project(room, base + depth)
            over[depth] = -1
            tried[depth] = 0
            if square < best:
                over[depth] = _holder(cone, room, z, over[:depth])
                if over[depth] < 0:
                    best = square
            fresh = False
        x, c = over[depth], tried[depth]
        while x >= 0 and c < d and cone.above[z, x, c] != 0:
            c += 1  # certain: it does not get above it there
        if x < 0 or c >= d:
            depth -= 1
            continue
        tried[depth] = c + 1
        _put_lead(cone, room, base + depth, z, x, c)
        depth += 1
        fresh = True
    return best


@part
def _falls_below(cone: TieCone, room: Room, i: int, j: int) -> float:
    """Squared distance to where j, which keeps its limits, beats i; inf if never."""
    q = 0
    if not room.inside[j]:
        q = _put_limits(cone, room, j)
    if q < 0:
        return np.inf
    for c in range(cone.at.shape[1]):
        if cone.above[j, i, c] < 0:
            return np.inf
        if cone.above[j, i, c] == 0:
            _put_lead(cone, room, q, j, i, c)
            q += 1
    return _project(room, q)


@part
def _square(cone: TieCone, room: Room) -> float:
    """Squared distance from u to the alternative of its set; at most 1, u being of length 1."""
    k, m = cone.at.shape[0], cone.at.shape[2]
    best = 1.0
    for z in range(k):
        if not room.inside[z]:
            best = min(best, _escapes(cone, room, z, best))
            continue
        for l in range(cone.kept.shape[1]):  # noqa: E741
            if cone.kept[z, l] == 0:
                length = 1e-300
                for i in range(m):
                    length += cone.limit[z, l, i] ** 2
                best = min(best, room.bound[z, l] ** 2 / length)
        for j in range(k):
            may = cone.beats[j, z] != 0 and (room.inside[j] or cone.tolerant)
            if j != z and may:
                best = min(best, _falls_below(cone, room, z, j))
    return best


# ------------------------------------------------------------------ directions and rates


@part
def _ties_of(cone: TieCone) -> Floats:
    """Return the ties as vectors of length 1 (J, m), each one once."""
    k, d, m = cone.at.shape
    L = cone.kept.shape[1]
    found, J = floats2(k * (k - 1) // 2 * d + k * L + 1, m), 0
    for z in range(k):
        for x in range(z):
            for c in range(d):
                if cone.above[z, x, c] == 0 or cone.above[x, z, c] == 0:
                    J += _put_unit(cone.at[z, c], cone.at[x, c], 1.0, found[J])
        for l in range(L):  # noqa: E741
            if cone.kept[z, l] == 0:
                J += _put_unit(cone.limit[z, l], cone.limit[z, l], 0.0, found[J])
    return found[:J]


@bare
def _put_unit(one: Floats, two: Floats, less: float, out: Floats) -> int:
    """Write the direction of ``one - less * two``; 0 if it has none, else 1."""
    length = 0.0
    for i in range(out.shape[0]):
        out[i] = one[i] - less * two[i]
        length += out[i] ** 2
    if length <= 0.0:
        return 0
    for i in range(out.shape[0]):
        out[i] /= math.sqrt(length)
    return 1


@part
def _directions(ties: Floats, m: int, stream: Stream) -> tuple[Floats, Floats]:
    """Return directions (N, m) of length 1, and their weights (N,), which sum to 1."""
    if m == 1:
        two, even = floats2(2, 1), floats(2)
        for s in range(2):
            two[s, 0], even[s] = 2.0 * s - 1.0, 0.5
        return two, even
    N, J = DIRECTIONS, ties.shape[0]
    u, weight = floats2(N, m), floats(N)
    if m == 2:
        for s in range(N):
            angle = 2.0 * math.pi * (s + 0.5) / N
            u[s, 0], u[s, 1], weight[s] = math.cos(angle), math.sin(angle), 1.0 / N
        return u, weight
    if m == 3:  # a spiral
        for s in range(N):
            angle, height = GOLDEN * s, 1.0 - (2 * s + 1.0) / N
            around = math.sqrt(1.0 - height * height)
            u[s, 0], u[s, 1] = around * math.cos(angle), around * math.sin(angle)
            u[s, 2], weight[s] = height, 1.0 / N
        return u, weight
    for i in range(4):  # the same directions for every cone of this size
        stream[i] = np.uint64(0x9E3779B97F4A7C15) * np.uint64(2 * i + m)
    for _ in range(64):  # until its bits are mixed
        uniform(stream)
    half = 0.5 * (m - 1)
    ratio = math.lgamma(0.5) - math.lgamma(0.5 + half)
    ratio = 2.0 * math.exp(ratio - math.lgamma(0.5 * AROUND) + math.lgamma(0.5 * AROUND + half))
    plain = N // UNIFORM
    for s in range(N):
        j, side = min(int(uniform(stream) * J), J - 1), 1.0 - 2.0 * (s % 2)
        along = length = 0.0
        for i in range(m):
            u[s, i] = normal(stream)
            along += u[s, i] * ties[j, i]
        if s >= plain:
            for _ in range(AROUND):
                length += normal(stream) ** 2
            for i in range(m):
                u[s, i] += (side * math.sqrt(length) - along) * ties[j, i]
        length = 0.0
        for i in range(m):
            length += u[s, i] ** 2
        drawn = 0.0
        for i in range(m):
            u[s, i] /= math.sqrt(length)
        for j in range(J):
            along = 0.0
            for i in range(m):
                along += u[s, i] * ties[j, i]
            drawn += ratio * abs(along) ** (AROUND - 1) / 2.0
        weight[s] = 1.0 / (plain + (N - plain) * drawn / J)
    return u, weight


@standing
@part
def wrong_directions(cone: TieCone, stream: Stream, squares: Floats, weights: Floats) -> int:
    """Write the squared distances 2 g(u) of wrong directions and their weights; how many."""
    m = cone.at.shape[2]
    room = _room(cone)
    u, weight = _directions(_ties_of(cone), m, stream)
    found = 0
    for s in range(u.shape[0]):
        for i in range(m):
            room.u[i] = u[s, i]
        _find_set(cone, room)
        if _is_wrong(cone, room.inside):
            square = _square(cone, room)
            if square > 1e-3:  # nearer ones do not count
                squares[found], weights[found] = square, weight[s]
                found += 1
    return found


@bare
def level_on_grid(i: int) -> float:
    """Return the i-th of the levels at which rates are kept."""
    return 0.5 * GROWTH**i


@part
def tabulate(squares: Floats, weights: Floats, m: int, rates: Floats) -> None:
    """Write the logs of the rates at which wrong sets are entered at the levels of the grid.

    -c d/dc of the tail: the density f of chi2_m enters as x f(x) at x = c / g(u).
    """
    half = 0.5 * m
    for i in range(rates.shape[0]):
        c, total = level_on_grid(i), 0.0
        for s in range(squares.shape[0]):
            x = c / squares[s]
            total += weights[s] * math.exp(half * math.log(x) - x)
        rates[i] = math.log(max(total, 1e-300)) - math.lgamma(half)


@part
def level_of_rate(rates: Floats, wanted: float, least: float) -> float:
    """Return the level, ``least`` or more, at which the log rate has fallen to ``wanted``."""
    last = rates.shape[0] - 1
    i = last
    while i >= 0 and rates[i] <= wanted:
        i -= 1
    if i < 0:
        return least
    c = level_on_grid(i)
    if i == last:
        return max(c + rates[i] - wanted, least)
    share = (rates[i] - wanted) / (rates[i] - rates[i + 1])
    return max(c + share * (level_on_grid(i + 1) - c), least)


@kernel
def wrong_in_cone(
    at: Floats,
    limit: Floats,
    above: Floats,
    order: Floats,
    kept: Floats,
    leads: Floats,
    keeps: Floats,
    holds: Floats,
    beats: Floats,
    tolerant: bool,
    stream: Stream,
    squares: Floats,
    weights: Floats,
) -> int:
    """As ``wrong_directions``, for callers in Python."""
    cone = TieCone(
        as_grid(at),
        as_grid(limit),
        as_grid(above),
        as_grid(order),
        as_grid(kept),
        as_grid(leads),
        as_grid(keeps),
        as_grid(holds),
        as_grid(beats),
        tolerant,
    )
    return wrong_directions(cone, as_grid(stream), as_grid(squares), as_grid(weights))
