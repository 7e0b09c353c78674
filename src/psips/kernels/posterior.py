"""The posterior of the answers, as all other kernels see it: means, covariances, draws, shifts.

Separate arms (unstructured problems): the arms' means are independent, and arm ``a`` has the
covariance ``C[a]`` (d, d) with the lower Cholesky factor ``R[a]``. How it came about is known
to `fill` alone: another model of the noise is another way to write C[a] and R[a].
Linear problems: Sigma (x) V^-1, through the rows W = Z F with F F^T = V^-1.
Arms that share blocks: one covariance ``G`` of all arms in all objectives, entry a d + c being
objective c of arm a, with the factor F F^T = G; how it came about is known to
`psips.kernels.blocks` alone. It is what a linear problem is where nothing else is said: points
are drawn whole.
Linear problems whose results lack values, or have noise of each arm's own, are joint too: the
precision of theta is (h d, h d), see `psips.kernels.joint`; ``G`` is of the answers, and ``X``
the covariance of theta with them (with blocks, where answers are rows of theta, G itself).
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import Belief
from psips.kernels.fitted import FACTOR, UNIT
from psips.kernels.grids import floats2
from psips.kernels.jit import bare, part
from psips.kernels.model import OWN as OWN_NOISE
from psips.kernels.model import POOLED, Floats, Ints, Model, Stream
from psips.kernels.records import Record, record
from psips.kernels.rng import normal


@record
class Posterior(Record):
    """What is believed of the answers, and the offset of the half-spaces between them.

    ``mu`` is as last refreshed; of a linear problem ``W`` too, perhaps for some answers only.
    """

    separate: bool
    diagonal: bool  # objectives are independent
    mu: Floats  # (n, d) means of the answers
    C: Floats  # (n, d, d) covariance of each arm's mean; (0, 0, 0) if linear
    R: Floats  # (n, d, d) its lower Cholesky factor; linear: (1, d, d) L if it is estimated
    known: Floats  # (n,) pulls that C and R stand for; (0,) if linear
    W: Floats  # (n, h) whitened answers; (0, 0) if separate
    N: Floats  # (K,) pulls of each arm, or weights
    theta: Floats  # (h, d) mean of the parameter
    F: Floats  # (h, h) factor of V^-1; (0, 0) if separate; (h d, h d) if joint
    A: Floats  # (K, h) features of the arms; (0, 0) if separate
    Z: Floats  # (n, h) features of the answers; (0, 0) if separate
    Sigma: Floats  # (d, d) covariance of one measurement, as given or `fitted`
    L: Floats  # (d, d) its lower Cholesky factor
    P: Floats  # (d, d) its inverse
    unit: Floats  # (d,) its standard deviations: what leads are compared in
    slack: Floats  # (d,) offset of the half-spaces
    tolerant: bool  # it is not 0
    relative: Floats  # (d,) which part of a control's mean it is, 0 where it is a number
    control: int  # the control; -1 if nothing is relative
    own: Floats  # (K, d, d) covariance of each arm's mean, if it is not Sigma / N_a
    pooled: bool  # a result of one arm changes that of all
    room: Floats  # (2, d, d) if the covariance can grow, (0, 0, 0) otherwise
    G: Floats  # (n d, n d) covariance of all answers' means if joint, (0, 0) otherwise
    X: Floats  # (h d, n d) that of theta with them, likewise
    H: Floats  # (K, d, n d) what the next result of each arm tells; linear: (K, d, d)


OWN = ("mu", "C", "R", "known", "W")  # fields that are refreshed; the others are shared


def posterior_of(
    model: Model,
    N: Floats,
    theta: Floats,
    F: Floats,
    own: Floats | None = None,
    G: Floats | None = None,
    X: Floats | None = None,
) -> Posterior:
    """Return a posterior that reads pulls, mean and factor from here; not refreshed."""
    n, d = model.n, model.d
    estimated = model.noise.mode in (POOLED, OWN_NOISE)
    separate = model.unstructured and not model.joint
    arms = n if separate else 0
    own = np.zeros((0, 0, 0)) if own is None else own
    fitted = estimated and not model.unstructured and not model.joint and len(own) > 0
    blocks = model.unstructured and model.joint
    G = np.zeros((0, 0)) if G is None else G
    covariance, L, P, unit = (
        (*own[:UNIT], own[UNIT, 0])
        if fitted
        else (model.Sigma, model.L, model.P, model.unit.copy() if estimated else model.unit)
    )
    return Posterior(
        separate,
        model.diagonal,
        np.zeros((n, d)),
        np.zeros((arms, d, d)),
        own[FACTOR : FACTOR + 1] if fitted else np.zeros((arms, d, d)),
        np.zeros(arms),
        np.zeros((n, n) if blocks else (0, model.h) if len(G) else model.Z.shape),
        N,
        theta,
        F,
        model.A,
        np.eye(n) if blocks else model.Z,
        covariance,
        L,
        P,
        unit,
        model.slack if model.control < 0 else model.slack.copy(),
        bool(model.slack.any()) or model.control >= 0,
        model.relative,
        model.control,
        own if separate else np.zeros((0, 0, 0)),
        model.noise.mode == POOLED,
        np.zeros((2, d, d) if fitted or (estimated and separate) else (0, 0, 0)),
        G,
        np.zeros((0, 0)) if X is None else X,
        np.zeros((model.K, d, n * d if blocks else d) if model.joint else (0, 0, 0)),
    )


def empty_posterior(model: Model, belief: Belief) -> Posterior:
    """Return the posterior that a belief gives, not refreshed."""
    own, G, X = belief.scatter.C, belief.G, belief.X
    return posterior_of(model, belief.N, belief.theta, belief.F, own, G, X)


# ------------------------------------------------------------------ keeping it up to date


@bare
def fill(p: Posterior, a: int) -> None:
    """Write the covariance of arm ``a``'s mean and its factor: Sigma / N_a, or its own."""
    if p.own.shape[0] > 0:
        for c in range(p.mu.shape[1]):
            for e in range(p.mu.shape[1]):
                p.C[a, c, e] = p.own[a, c, e]
                p.R[a, c, e] = 0.0
            for e in range(c + 1):
                total = p.C[a, c, e]
                for k in range(e):
                    total -= p.R[a, c, k] * p.R[a, e, k]
                p.R[a, c, e] = math.sqrt(total) if c == e else total / p.R[a, e, e]
        return
    n = p.N[a]
    root = math.sqrt(n)
    for c in range(p.mu.shape[1]):
        for e in range(p.mu.shape[1]):
            p.C[a, c, e] = p.Sigma[c, e] / n
            p.R[a, c, e] = p.L[c, e] / root


@bare
def image(Z: Floats, theta: Floats, a: int, out: Floats) -> None:
    """Row ``a`` of ``out`` becomes row ``a`` of Z theta."""
    for c in range(theta.shape[1]):
        out[a, c] = 0.0
    for i in range(theta.shape[0]):
        for c in range(theta.shape[1]):
            out[a, c] += Z[a, i] * theta[i, c]


@bare
def follow_control(p: Posterior) -> None:
    """Set the offsets that are a part of the control's mean to what it is estimated to be."""
    if p.control >= 0:
        for c in range(p.mu.shape[1]):
            if p.relative[c] > 0.0:
                p.slack[c] = -p.relative[c] * abs(p.mu[p.control, c])


@bare
def refresh_means(p: Posterior) -> int:
    """Bring the means of all answers up to date, and the covariance of separate arms.

    Return the arm whose covariance has changed, if it is one; otherwise -1.
    """
    if not p.separate:
        for a in range(p.mu.shape[0]):
            image(p.Z, p.theta, a, p.mu)
        follow_control(p)
        return -1
    arm, changed = -1, 0
    for a in range(p.mu.shape[0]):
        for c in range(p.mu.shape[1]):
            p.mu[a, c] = p.theta[a, c]
        if p.known[a] != p.N[a] or p.pooled:
            p.known[a] = p.N[a]
            fill(p, a)
            arm = a
            changed += 1
    follow_control(p)
    if p.room.shape[0] > 0:
        for c in range(p.mu.shape[1]):
            total = 0.0
            for a in range(p.mu.shape[0]):
                total += p.C[a, c, c] * p.N[a]
            p.unit[c] = math.sqrt(total / p.mu.shape[0])
    return arm if changed == 1 else -1


@bare
def refresh_listed(p: Posterior, which: Ints) -> None:
    """Bring means and covariances of some answers of a linear problem up to date."""
    if not p.separate:
        for a in which:
            image(p.Z, p.theta, a, p.mu)
            if p.G.shape[0] == 0:
                image(p.Z, p.F, a, p.W)


@bare
def refresh_all(p: Posterior) -> None:
    """Bring means and covariances of all answers up to date."""
    refresh_means(p)
    if not p.separate and p.G.shape[0] == 0:
        for a in range(p.mu.shape[0]):
            image(p.Z, p.F, a, p.W)


# ------------------------------------------------------------------ covariances of leads


@bare
def cov(p: Posterior, z: int, x: int, c: int, v: int, e: int) -> float:
    """Covariance of the leads (z - x)(c) and (z - v)(e)."""
    if p.separate:
        total = p.C[z, c, e]
        if x == v:
            total += p.C[x, c, e]
        return total
    if p.G.shape[0] > 0:
        d = p.mu.shape[1]
        above, below, other = z * d + c, x * d + c, v * d + e
        total = p.G[above, z * d + e] - p.G[above, other]
        return total - p.G[below, z * d + e] + p.G[below, other]
    total = 0.0
    for i in range(p.W.shape[1]):
        total += (p.W[z, i] - p.W[x, i]) * (p.W[z, i] - p.W[v, i])
    return total * p.Sigma[c, e]


@bare
def apart(p: Posterior, z: int, x: int) -> float:
    """Return what `variance` needs of z and x whatever the objective; 0 if they are equal."""
    if p.separate or p.G.shape[0] > 0:
        return 1.0
    total = 0.0
    for i in range(p.W.shape[1]):
        total += (p.W[z, i] - p.W[x, i]) ** 2
    return total


@bare
def variance(p: Posterior, z: int, x: int, c: int, distance: float) -> float:
    """Variance of the lead (z - x)(c); ``distance`` is how far they are `apart`."""
    if p.separate:
        return p.C[z, c, c] + p.C[x, c, c]
    if p.G.shape[0] > 0:
        return cov(p, z, x, c, x, c)
    return distance * p.Sigma[c, c]


# ------------------------------------------------------------------ draws


@bare
def draw_answer(p: Posterior, stream: Stream, scale: float, a: int, values: Floats) -> None:
    """Draw row ``a`` of ``values`` (n, d), separate arms: mean + scale R[a] g."""
    d = values.shape[1]
    for c in range(d):
        values[a, c] = normal(stream)
    for c in range(d - 1, -1, -1):
        total = 0.0
        for e in range(c + 1):
            total += p.R[a, c, e] * values[a, e]
        values[a, c] = p.mu[a, c] + scale * total


@bare
def draw_theta(p: Posterior, stream: Stream, scale: float, row: Floats, theta: Floats) -> None:
    """Draw ``theta`` (h, d), linear: mean + scale F G L^T, G standard normal.

    If joint, mean + scale F g.
    """
    h, d = theta.shape
    for i in range(h):
        for c in range(d):
            theta[i, c] = p.theta[i, c]
    if p.G.shape[0] > 0:
        for j in range(h * d):
            g = scale * normal(stream)
            for i in range(h):
                for c in range(d):
                    theta[i, c] += p.F[i * d + c, j] * g
        return
    for j in range(h):
        for c in range(d):
            row[c] = normal(stream)
        for c in range(d - 1, -1, -1):
            total = 0.0
            for e in range(c + 1):
                total += p.L[c, e] * row[e]
            row[c] = scale * total
        for i in range(h):
            for c in range(d):
                theta[i, c] += p.F[i, j] * row[c]


# ------------------------------------------------------------------ shifts along leads


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


# ------------------------------------------------------------------ precision


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
