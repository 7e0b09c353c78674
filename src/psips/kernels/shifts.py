"""Moves of a posterior: shifts along leads, how far it has come, what a pull adds to a move."""

from __future__ import annotations

import math

from psips.aliases import Floats, Ints
from psips.kernels.grids import floats2
from psips.kernels.jit import bare, part
from psips.kernels.posterior import Posterior


@bare
def move(p: Posterior, z: int, m: int, xs: Ints, cs: Ints, y: Floats, shift: Floats) -> None:
    """Write the shift along sum_k y_k (z - x_k)(c_k): the covariance with it.

    Separate: ``shift`` (n, d) holds the arms' moves; only rows z and xs are written.
    Joint: how theta (h, d) moves.
    Linear: ``shift`` (h, d); answer ``a`` moves by its row of W times it.
    """
    d = shift.shape[1]
    if p.separate:
        for e in range(d):
            shift[z, e] = 0.0
            for k in range(m):
                shift[xs[k], e] = 0.0
        for k in range(m):
            x, c = xs[k], cs[k]
            for e in range(d):
                shift[z, e] += y[k] * p.C[z, e, c]
                shift[x, e] -= y[k] * p.C[x, e, c]
        return
    for i in range(shift.shape[0]):
        for e in range(d):
            shift[i, e] = 0.0
    for k in range(m):
        if y[k] != 0.0:
            x, c = xs[k], cs[k]
            if p.G.shape[0] > 0:
                for i in range(shift.shape[0]):
                    for e in range(d):
                        i_e = i * d + e
                        shift[i, e] += y[k] * (p.X[i_e, z * d + c] - p.X[i_e, x * d + c])
                continue
            for i in range(shift.shape[0]):
                along = y[k] * (p.W[z, i] - p.W[x, i])
                for e in range(d):
                    shift[i, e] += along * p.Sigma[e, c]


@bare
def moved(p: Posterior, a: int, shift: Floats, touched: bool, out: Floats) -> None:
    """Write the means of answer ``a`` after a shift into ``out`` (d,).

    ``touched`` says whether it is one of those that the shift is along.
    """
    for c in range(out.shape[0]):
        total = p.mu[a, c]
        if p.separate:
            if touched:
                total += shift[a, c]
        elif p.G.shape[0] > 0 and p.A.shape[0] == 0:
            total += shift[a, c]
        elif p.G.shape[0] > 0:
            for i in range(shift.shape[0]):
                total += p.Z[a, i] * shift[i, c]
        else:
            for i in range(shift.shape[0]):
                total += p.W[a, i] * shift[i, c]
        out[c] = total


@bare
def move_point(
    p: Posterior, z: int, m: int, xs: Ints, shift: Floats, values: Floats, theta: Floats
) -> None:
    """Move a point drawn: its ``values`` (n, d) if separate, its ``theta`` (h, d) if linear."""
    d = shift.shape[1]
    if p.separate:
        for k in range(-1, m):
            a = z if k < 0 else xs[k]
            for c in range(d):
                values[a, c] += shift[a, c]
                shift[a, c] = 0.0  # an arm that comes twice is moved once
        return
    for i in range(theta.shape[0]):
        for c in range(d):
            total = theta[i, c]
            if p.G.shape[0] > 0:
                total += shift[i, c]
            else:
                for j in range(theta.shape[0]):
                    total += p.F[i, j] * shift[j, c]
            theta[i, c] = total


@bare
def precision_form(R: Floats, a: int, x: Floats, then: Floats, row: Floats) -> float:
    """||x[a] - then[a]||^2 in the inverse of R[a] R[a]^T; ``row`` (d,) is room."""
    square = 0.0
    for c in range(row.shape[0]):
        rest = x[a, c] - then[a, c]
        for e in range(c):
            rest -= R[a, c, e] * row[e]
        row[c] = rest / R[a, c, c]
        square += row[c] * row[c]
    return square


@bare
def displacement(p: Posterior, then: Floats, R: Floats, V: Floats, row: Floats) -> float:
    """How far theta is from where it was ``then``, in the metric of that time.

    ``R`` (n, d, d) are the factors of that time, or ``V`` (h, h) the precision; linear, with
    the covariance of a result as it is now.
    """
    h, d = then.shape
    square = 0.0
    if p.separate:
        for a in range(h):
            for c in range(d):
                if p.theta[a, c] != then[a, c]:
                    square += precision_form(R, a, p.theta, then, row)
                    break
        return math.sqrt(square)
    if p.G.shape[0] > 0:
        for i in range(h):
            for c in range(d):
                along = 0.0
                for j in range(h):
                    for e in range(d):
                        along += V[i * d + c, j * d + e] * (p.theta[j, e] - then[j, e])
                square += along * (p.theta[i, c] - then[i, c])
        return math.sqrt(max(square, 0.0))
    for i in range(h):
        for j in range(h):
            for c in range(d):
                along = V[i, j] * (p.theta[i, c] - then[i, c])
                for e in range(d):
                    square += along * p.P[c, e] * (p.theta[j, e] - then[j, e])
    return math.sqrt(max(square, 0.0))


@bare
def growth(p: Posterior, R: Floats) -> float:
    """Return what no variance has grown beyond since the factors were ``R``.

    The largest eigenvalue of M = R^-1 C R^-T is at most 1 + ||M - I||, of any arm; linear: of
    the covariance of a result. 1 if covariances cannot grow.
    """
    most = 1.0
    if p.room.shape[0] == 0:
        return most
    X, M, d = p.room[0], p.room[1], p.mu.shape[1]
    for a in range(p.R.shape[0]):
        same = True
        for c in range(d):
            for e in range(c + 1):
                if p.R[a, c, e] != R[a, c, e]:
                    same = False
        if same:
            continue
        for j in range(d):
            for c in range(d):
                rest = p.R[a, c, j]
                for e in range(c):
                    rest -= R[a, c, e] * X[e, j]
                X[c, j] = rest / R[a, c, c]
        square = 0.0
        for c in range(d):
            for e in range(d):
                M[c, e] = -1.0 if c == e else 0.0
                for j in range(d):
                    M[c, e] += X[c, j] * X[e, j]
                square += M[c, e] ** 2
        above = 0.0
        for c in range(d):
            above = max(above, M[c, c])
        if d > 1:
            above = math.sqrt(square)
        most = max(most, 1.0 + above)
    return most


@bare
def _gains_of_change(p: Posterior, change: Floats, gains: Floats) -> None:
    """g(a) = ||change^T a||^2 in Sigma^-1, linear; ``change`` (h, d) is whitened on the way.

    If joint, in the inverse of the arm's own covariance.
    """
    h, d = change.shape
    if p.G.shape[0] > 0:
        for a in range(gains.shape[0]):
            gains[a] = 0.0
            for c in range(d):
                along = 0.0
                for e in range(c + 1):
                    for i in range(h):
                        along += p.H[a, c, e] * p.A[a, i] * change[i, e]
                gains[a] += along * along
        return
    for i in range(h):
        for c in range(d):
            for e in range(c):
                change[i, c] -= p.L[c, e] * change[i, e]
            change[i, c] /= p.L[c, c]
    for a in range(gains.shape[0]):
        gains[a] = 0.0
        for c in range(d):
            along = 0.0
            for i in range(h):
                along += p.A[a, i] * change[i, c]
            gains[a] += along * along


@part
def gains_of_point(
    p: Posterior, values: Floats, theta: Floats, row: Floats, gains: Floats
) -> None:
    """By arm, what a pull adds to the squared distance of a point drawn from theta_hat.

    N_a g(a) are the arms' shares of it: of separate arms ||values[a] - mu[a]||^2 in C[a]^-1.
    """
    if p.separate:
        for a in range(gains.shape[0]):
            gains[a] = precision_form(p.R, a, values, p.mu, row) / p.N[a]
        return
    h, d = theta.shape
    change = floats2(h, d)
    for i in range(h):
        for c in range(d):
            change[i, c] = theta[i, c] - p.theta[i, c]
    _gains_of_change(p, change, gains)


@part
def gains_of_move(
    p: Posterior, z: int, m: int, xs: Ints, cs: Ints, y: Floats, shift: Floats, gains: Floats
) -> None:
    """Write the same for theta_hat moved by ``shift``, made of these z, xs, cs and y.

    Arm a moves by s = C[a] v, v its multipliers, and its share is s'C[a]^-1 s = v.s. With
    blocks a pull adds what its next result tells of the move, see `psips.kernels.blocks`.
    """
    if p.separate:
        for a in range(gains.shape[0]):
            gains[a] = 0.0
        for k in range(m):
            gains[z] += y[k] * shift[z, cs[k]] / p.N[z]
            gains[xs[k]] -= y[k] * shift[xs[k], cs[k]] / p.N[xs[k]]
        return
    if p.G.shape[0] > 0 and p.A.shape[0] > 0:
        _gains_of_change(p, shift, gains)
        return
    if p.G.shape[0] > 0:
        for a in range(gains.shape[0]):
            gains[a] = 0.0
            for i in range(p.H.shape[1]):
                along = 0.0
                for b in range(shift.shape[0]):
                    for c in range(shift.shape[1]):
                        along += p.H[a, i, b * shift.shape[1] + c] * shift[b, c]
                gains[a] += along * along
        return
    h, d = shift.shape
    change = floats2(h, d)
    unwhiten(p, shift, change)
    _gains_of_change(p, change, gains)


@bare
def unwhiten(p: Posterior, shift: Floats, change: Floats) -> None:
    """Write how theta (h, d) changes by a shift of a linear problem: F shift."""
    for i in range(shift.shape[0]):
        for c in range(shift.shape[1]):
            total = 0.0
            for j in range(shift.shape[0]):
                total += p.F[i, j] * shift[j, c]
            change[i, c] = total
