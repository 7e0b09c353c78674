"""Limits: which answers are allowed, and the nearest points at which a set is another.

The set asked for is the Pareto set, by the objectives, of the answers that keep all limits. It
can be empty. With S that set, Alt(S) is made of convex pieces, in three kinds:

* BROKEN: a member i breaks limit l;
* BELOW: j is above a member i in every objective. Without a tolerance j is a member: if an
  answer outside is above i and keeps the limits, it escapes, or what holds it is above i. With
  one j is any answer, and one outside keeps all limits too;
* ENTERS: z outside S keeps all limits, and is above each x in S in some objective: a tree that
  branches on objectives, as in `psips.kernels.response`.

Constraints are those of `psips.kernels.constraint`.
Arms must be separate (no features); their covariances may be any.
"""

from __future__ import annotations

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.kernels.constraint import (
    Piece,
    applies,
    copy_piece,
    empty_piece,
    moved,
    project,
    put_lead,
    put_limit,
)
from psips.kernels.grids import as_array, as_grid, flags, floats, ints, ints2
from psips.kernels.halfspace import may_beat, may_hold
from psips.kernels.jit import bare, kernel, part
from psips.kernels.model import LimitModel
from psips.kernels.posterior import Posterior

BROKEN, BELOW, ENTERS = range(3)  # kinds of pieces
WHOLE, ALLOWED, FRONT = range(3)  # which are looked at: all; who is allowed; the front of these
FREE = 1e-10  # a lead below this many standard deviations of one measurement is none


@part
def gains_of(p: Posterior, piece: Piece, m: int, gains: Floats) -> None:
    """By arm, what a pull adds to the squared distance: v.C[a] v / N of one moved by C[a] v."""
    for a in range(gains.shape[0]):
        gains[a] = 0.0
    for k in range(m):
        if piece.y[k] != 0.0:
            for side in range(2):
                a = piece.first[k] if side == 0 else piece.second[k]
                v = piece.y[k] * (piece.one[k] if side == 0 else piece.two[k])
                c = piece.metric[k]
                gains[a] += v * (moved(p, piece, m, a, c) - p.mu[a, c]) / p.N[a]


@part
def holder(
    p: Posterior,
    aims: Floats,
    piece: Piece,
    m: int,
    z: int,
    inside: Mask,
    done: Ints,
    room: Floats,
) -> int:
    """Which x in S holds z back most at the nearest point; -1 if none. ``room`` is (d,).

    Not one of those ``done``, from which z escapes there: what is left of a lead is rounding.
    """
    n, d = p.mu.shape
    for c in range(d):
        room[c] = moved(p, piece, m, z, c)
    worst, most = -1, 0.0
    for x in range(n):
        candidate = inside[x] and may_hold(p.facts, p.give, x, z)
        for other in done:
            candidate = candidate and other != x
        if candidate:
            behind = np.inf
            for c in range(d):
                if aims[c] > 0.0:
                    gap = moved(p, piece, m, x, c) - room[c] - p.slack[c]
                    behind = min(behind, gap / p.unit[c])
            if behind > max(most, FREE):
                worst, most = x, behind
    return worst


@part
def entering(
    p: Posterior,
    limits: LimitModel,
    inside: Mask,
    z: int,
    rooted: bool,
    escaping: bool,
    work: Piece,
    best: Piece,
) -> tuple[float, int]:
    """Nearest point at which z keeps the limits and escapes S: its square, and constraints.

    The limits count if ``rooted``, the members if ``escaping``. The constraints and multipliers
    go to ``best``.
    """
    n, d = p.mu.shape
    base = 0
    if rooted:
        for l in range(limits.metric.shape[0]):  # noqa: E741
            if applies(limits, z, l):
                put_limit(work, base, limits, z, l, 1.0)
                base += 1
    nearest, found = np.inf, 0
    over = ints(n + 1)  # by depth: from whom to escape
    tried = ints(n + 1)  # .. and the next objective to try
    room = floats(d)
    depth = 0
    fresh = True
    while depth >= 0:
        m = base + depth
        if fresh:
            square = project(p, work, m) if m > 0 else 0.0
            x = -1
            if square < nearest and escaping:
                x = holder(p, limits.aims, work, m, z, inside, over[:depth], room)
            if square < nearest and x < 0:
                nearest, found = square, m
                copy_piece(work, m, best)
            over[depth] = x
            tried[depth] = 0
            fresh = False
        c = tried[depth]
        while c < d and limits.aims[c] == 0.0:
            c += 1
        if over[depth] < 0 or c >= d:
            depth -= 1
            continue
        tried[depth] = c + 1
        put_lead(work, m, p.slack, z, over[depth], c)
        depth += 1
        fresh = True
    return nearest, found


@part
def nearest_of(
    p: Posterior,
    limits: LimitModel,
    inside: Mask,
    kind: int,
    a: int,
    b: int,
    mode: int,
    work: Piece,
    best: Piece,
) -> tuple[float, int]:
    """Nearest point of a piece: BROKEN (i, l), BELOW (i, j) or ENTERS (z, -)."""
    if kind == ENTERS:
        return entering(p, limits, inside, a, mode != FRONT, mode != ALLOWED, work, best)
    m = 0
    if kind == BROKEN:
        put_limit(best, m, limits, a, b, -1.0)
        m += 1
    else:
        for c in range(p.mu.shape[1]):
            if limits.aims[c] > 0.0:
                put_lead(best, m, p.slack, b, a, c)
                m += 1
        if not inside[b] and mode == WHOLE:
            for l in range(limits.metric.shape[0]):  # noqa: E741
                if applies(limits, b, l):
                    put_limit(best, m, limits, b, l, 1.0)
                    m += 1
    return project(p, best, m), m


@part
def room_for(p: Posterior, limits: LimitModel) -> int:
    """How many constraints a piece can have."""
    n, d = p.mu.shape
    return limits.metric.shape[0] + max(n, d) + 1


@bare
def may_keep(limits: LimitModel, z: int) -> bool:
    """Whether z breaks no limit on an exact metric."""
    return limits.kept.shape[0] == 0 or limits.kept[z] > 0.0


@bare
def keeps(mu: Floats, limits: LimitModel, z: int) -> bool:
    """Whether z keeps all limits at the means ``mu`` (n, d)."""
    if not may_keep(limits, z):
        return False
    for l in range(limits.metric.shape[0]):  # noqa: E741
        c = limits.metric[l]
        value = mu[z, c] - limits.factor[l] * mu[limits.control, c]
        if applies(limits, z, l) and limits.sign[l] * value < limits.bound[l]:
            return False
    return True


@part
def select(mu: Floats, facts: Floats, limits: LimitModel, allowed: Mask, inside: Mask) -> None:
    """Write who keeps the limits, and who of these is Pareto-optimal by the objectives."""
    n, d = mu.shape
    for z in range(n):
        allowed[z] = keeps(mu, limits, z)
    for z in range(n):
        inside[z] = allowed[z]
        for x in range(n):
            if inside[z] and allowed[x] and x != z:
                worse = better = False
                for c in range(d):
                    if limits.aims[c] > 0.0:
                        worse = worse or mu[x, c] < mu[z, c]
                        better = better or mu[x, c] > mu[z, c]
                for c in range(facts.shape[1]):
                    worse = worse or facts[x, c] < facts[z, c]
                    better = better or facts[x, c] > facts[z, c]
                if better and not worse:
                    inside[z] = False


@part
def list_pieces(
    p: Posterior, limits: LimitModel, allowed: Mask, inside: Mask, mode: int
) -> Ints:
    """Return the pieces (P, 3) to look at: kind, and the two that it is about."""
    n, L = p.mu.shape[0], limits.metric.shape[0]
    open_to_noise = False
    for c in range(limits.aims.shape[0]):
        open_to_noise = open_to_noise or limits.aims[c] > 0.0
    found = ints2(n * (L + n + 1), 3)
    P = 0
    for i in range(n):
        subject = allowed[i] if mode == ALLOWED else inside[i]
        if subject and mode != FRONT:
            for l in range(L):  # noqa: E741
                if applies(limits, i, l):
                    found[P, 0], found[P, 1], found[P, 2] = BROKEN, i, l
                    P += 1
        if inside[i] and mode != ALLOWED:
            for j in range(n):
                rival = inside[j] or (p.tolerant and (mode == WHOLE or allowed[j]))
                possible = may_keep(limits, j) and may_beat(p.facts, p.give, j, i)
                if j != i and rival and possible and open_to_noise:
                    found[P, 0], found[P, 1], found[P, 2] = BELOW, i, j
                    P += 1
        outside = not inside[i] and (mode == WHOLE or allowed[i])
        enters = (not allowed[i] and mode == ALLOWED) or (outside and mode != ALLOWED)
        if enters and may_keep(limits, i):
            found[P, 0], found[P, 1], found[P, 2] = ENTERS, i, -1
            P += 1
    return found[:P]


@kernel
def selected(mu: Floats, facts: Floats, limits: LimitModel) -> tuple[Mask, Mask]:
    """Who keeps the limits, and the set asked for, for callers in Python."""
    n = mu.shape[0]
    allowed, inside = flags(n), flags(n)
    select(as_grid(mu), as_grid(facts), limits, allowed, inside)
    return as_array(allowed), as_array(inside)


@kernel
def respond_limited(
    p: Posterior, limits: LimitModel, allowed: Mask, inside: Mask
) -> tuple[float, Ints, Floats]:
    """Best response for callers in Python: squared distance, the piece, and gains by arm."""
    keeping, members = as_grid(allowed), as_grid(inside)
    room = room_for(p, limits)
    work, best = empty_piece(room), empty_piece(room)
    pieces = list_pieces(p, limits, keeping, members, WHOLE)
    nearest, which = np.inf, -1
    for k in range(pieces.shape[0]):
        square, _ = nearest_of(
            p, limits, members, pieces[k, 0], pieces[k, 1], pieces[k, 2], WHOLE, work, best
        )
        if square < nearest:
            nearest, which = square, k
    gains = floats(p.N.shape[0])
    piece = ints(3)
    if which >= 0:
        for k in range(3):
            piece[k] = pieces[which, k]
        _, m = nearest_of(p, limits, members, piece[0], piece[1], piece[2], WHOLE, work, best)
        gains_of(p, best, m, gains)
    return nearest, as_array(piece), as_array(gains)
