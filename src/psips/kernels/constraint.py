"""Constraints: a lead of one answer over another, a limit kept or broken.

A constraint is f(m) = one m[first, metric] + two m[second, metric] + offset >= 0: a lead of z
over x, up to a tolerance; a limit; a limit against the control. A piece of the alternative is
where some of them hold. With G_kl the covariance of f_k and f_l and b_k = -f_k at theta_hat,
the squared distance to it is max_{y >= 0} 2 b.y - y'Gy.
"""

from __future__ import annotations

from typing import NamedTuple

from psips.aliases import Floats, Ints
from psips.kernels.cone import nonnegative
from psips.kernels.grids import floats, floats2, ints
from psips.kernels.jit import bare, part
from psips.kernels.model import LimitModel
from psips.kernels.posterior import Posterior, between


class Piece(NamedTuple):
    """Constraints and their multipliers; room for more than there are."""

    first: Ints
    second: Ints
    metric: Ints
    one: Floats
    two: Floats
    offset: Floats
    y: Floats
    limit: Ints  # 0 for a lead; l + 1 for limit l that is kept, -(l + 1) for one that is broken


@part
def empty_piece(room: int) -> Piece:
    """Return room for constraints."""
    return Piece(
        ints(room),
        ints(room),
        ints(room),
        floats(room),
        floats(room),
        floats(room),
        floats(room),
        ints(room),
    )


@bare
def applies(limits: LimitModel, z: int, l: int) -> bool:  # noqa: E741
    """Whether limit ``l`` says anything of z: not that the control is equal to itself."""
    return limits.factor[l] != 1.0 or z != limits.control


@bare
def put_limit(piece: Piece, k: int, limits: LimitModel, z: int, l: int, side: float) -> None:  # noqa: E741
    """Constraint ``k`` becomes: z keeps limit ``l`` (``side`` 1), or breaks it (-1)."""
    sign = side * limits.sign[l]
    piece.first[k] = z
    piece.second[k] = z
    piece.metric[k] = limits.metric[l]
    piece.one[k] = sign
    piece.two[k] = 0.0
    piece.offset[k] = -side * limits.bound[l]
    piece.limit[k] = l + 1 if side > 0.0 else -l - 1
    if limits.factor[l] != 0.0:
        if z == limits.control:
            piece.one[k] = sign * (1.0 - limits.factor[l])
        else:
            piece.second[k] = limits.control
            piece.two[k] = -sign * limits.factor[l]


@bare
def put_lead(piece: Piece, k: int, slack: Floats, z: int, x: int, c: int) -> None:
    """Constraint ``k`` becomes: z is above x in ``c``, up to the offset."""
    piece.first[k] = z
    piece.second[k] = x
    piece.metric[k] = c
    piece.one[k] = 1.0
    piece.two[k] = -1.0
    piece.offset[k] = slack[c]
    piece.limit[k] = 0


@bare
def form(mu: Floats, piece: Piece, k: int) -> float:
    """f_k at the means ``mu`` (n, d)."""
    c = piece.metric[k]
    found = piece.one[k] * mu[piece.first[k], c] + piece.two[k] * mu[piece.second[k], c]
    return found + piece.offset[k]


@bare
def with_mean(p: Posterior, piece: Piece, k: int, a: int, c: int) -> float:
    """Covariance of f_k and the mean of answer ``a`` in ``c``."""
    e = piece.metric[k]
    total = piece.one[k] * between(p, piece.first[k], e, a, c)
    if piece.two[k] != 0.0:
        total += piece.two[k] * between(p, piece.second[k], e, a, c)
    return total


@bare
def shared(p: Posterior, piece: Piece, k: int, j: int) -> float:
    """Covariance of f_k and f_j."""
    c = piece.metric[j]
    total = piece.one[j] * with_mean(p, piece, k, piece.first[j], c)
    if piece.two[j] != 0.0:
        total += piece.two[j] * with_mean(p, piece, k, piece.second[j], c)
    return total


@part
def project(p: Posterior, piece: Piece, m: int) -> float:
    """Squared distance to the first ``m`` constraints; their multipliers go to ``y``."""
    G, b = floats2(m, m), floats(m)
    for k in range(m):
        b[k] = -form(p.mu, piece, k)
        for j in range(k + 1):
            G[k, j] = shared(p, piece, k, j)
            G[j, k] = G[k, j]
    nonnegative(G, b, m, piece.y)
    square = 0.0
    for k in range(m):
        square += b[k] * piece.y[k]
    return max(square, 0.0)


@bare
def moved(p: Posterior, piece: Piece, m: int, a: int, c: int) -> float:
    """Mean of answer ``a`` in ``c`` at the nearest point."""
    total = p.mu[a, c]
    for k in range(m):
        if piece.y[k] != 0.0:
            total += piece.y[k] * with_mean(p, piece, k, a, c)
    return total


@bare
def copy_piece(piece: Piece, m: int, out: Piece) -> None:
    """Copy the first ``m`` constraints."""
    for k in range(m):
        out.first[k] = piece.first[k]
        out.second[k] = piece.second[k]
        out.metric[k] = piece.metric[k]
        out.one[k] = piece.one[k]
        out.two[k] = piece.two[k]
        out.offset[k] = piece.offset[k]
        out.y[k] = piece.y[k]
        out.limit[k] = piece.limit[k]
