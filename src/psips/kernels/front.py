"""The candidate set S_hat and the answers that could still change it."""

from __future__ import annotations

import numpy as np

from psips.kernels.belief import Belief
from psips.kernels.cone import Metric
from psips.kernels.grids import flags, floats2, ints
from psips.kernels.jit import bare, part
from psips.kernels.model import Floats, Ints, Mask, Model
from psips.kernels.pareto import dominates, pareto_set
from psips.kernels.records import Record, record

# Places in Front.size. EAGER is 1 while there is no cover, 2 if there should be none from
# the next round on.
MEMBERS, LIVE, RECORDS, AGE, REJECTED, COVERED, EAGER = range(7)
# Places in Front.reach: distance of the nearest piece; from which on pieces were left out of
# the cover; the largest inflation of any draw that it has to serve.
NEAREST, LEFT_OUT, SPARE = range(3)


@record
class Front(Record):
    """S_hat and what lies around it.

    While the front is "eager" (no cover; early on, when hits come within a few draws) every
    answer outside S_hat is live. With a cover only those that can matter are.
    """

    inside: Mask  # (n,) S_hat
    members: Ints  # (n,) S_hat as a list, the first size[MEMBERS]
    live: Ints  # (n,) answers outside S_hat that could escape, the first size[LIVE]
    keeper: Ints  # (n,) for each answer outside, a member that dominates it
    mu: Floats  # (n, d) means of the answers, up to date for members and live ones
    W: Floats  # (n, h) whitened answers, likewise if there is a cover; (0, 0) if unstructured
    inverse: Floats  # (n,) 1 / N; (0,) if linear
    reach: Floats  # (3,)
    size: Ints  # (8,) the last is left from older snapshots
    metric: Metric  # means and covariance, as last refreshed


def empty_front(model: Model) -> Front:
    """Return a front that has seen nothing."""
    n = model.n
    width = 0 if model.unstructured else model.h
    size = np.zeros(8, np.int64)
    size[EAGER] = 1
    mu = np.zeros((n, model.d))
    W = np.zeros((model.Z.shape[0], width))
    inverse = np.zeros(model.K if model.unstructured else 0)
    return Front(
        np.zeros(n, np.bool_),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        mu,
        W,
        inverse,
        np.zeros(3),
        size,
        Metric(model.unstructured, inverse, W, model.Sigma, mu),
    )


@bare
def copy_rows(source: Floats, target: Floats) -> None:
    """Copy a matrix."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@part
def image(Z: Floats, theta: Floats, a: int, out: Floats) -> None:
    """Row ``a`` of ``out`` becomes row ``a`` of Z theta."""
    for c in range(theta.shape[1]):
        out[a, c] = 0.0
    for i in range(theta.shape[0]):
        for c in range(theta.shape[1]):
            out[a, c] += Z[a, i] * theta[i, c]


@bare
def refresh_means(
    unstructured: bool, N: Floats, theta: Floats, Z: Floats, mu: Floats, inverse: Floats
) -> None:
    """Bring the means of all answers up to date, and 1 / N."""
    if unstructured:
        for a in range(N.shape[0]):
            inverse[a] = 1.0 / N[a]
            for c in range(theta.shape[1]):
                mu[a, c] = theta[a, c]
    else:
        for a in range(Z.shape[0]):
            image(Z, theta, a, mu)


@bare
def refresh_listed(
    Z: Floats, theta: Floats, F: Floats, which: Ints, mu: Floats, W: Floats
) -> None:
    """Bring means and whitened features of some answers up to date (linear)."""
    for k in range(which.shape[0]):
        a = which[k]
        image(Z, theta, a, mu)
        image(Z, F, a, W)


@bare
def find_change(values: Floats, members: Ints, live: Ints, keeper: Ints, piece: Ints) -> bool:
    """Whether ``values`` have another Pareto set than S_hat, and by which piece of Alt.

    ``piece`` becomes (j, i) for "i below j" or (z, -1) for "z escapes".
    """
    for i in members:
        for j in members:
            if i != j and dominates(values, j, i):
                piece[0] = j
                piece[1] = i
                return True
    for z in live:
        if not dominates(values, keeper[z], z):
            held = False
            for x in members:
                if dominates(values, x, z):
                    held = True
                    break
            if not held:
                piece[0] = z
                piece[1] = -1
                return True
    return False


@part
def elect(
    mu: Floats, inside: Mask, members: Ints, live: Ints, keeper: Ints, size: Ints
) -> None:
    """Make S_hat the Pareto set of the current means; everything else is live.

    Only old members and answers that no old member dominates can belong to it, so what is
    sorted is a small part of the answers; n d operations otherwise.
    """
    n, d = mu.shape
    old = size[MEMBERS]
    rivals = ints(n)
    count = 0
    for z in range(n):
        if not inside[z]:
            held = False
            if old > 0:
                held = dominates(mu, keeper[z], z)
            k = 0
            while not held and k < old:
                if dominates(mu, members[k], z):
                    keeper[z] = members[k]
                    held = True
                k += 1
            if held:
                continue
        rivals[count] = z
        count += 1
    points = floats2(count, d)
    best = flags(count)
    for k in range(count):
        for c in range(d):
            points[k, c] = mu[rivals[k], c]
    pareto_set(points, best)
    size[MEMBERS] = 0
    for k in range(count):
        z = rivals[k]
        inside[z] = best[k]
        if best[k]:
            members[size[MEMBERS]] = z
            size[MEMBERS] += 1
    for k in range(count):
        z = rivals[k]
        if not best[k]:
            for j in range(size[MEMBERS]):
                if dominates(mu, members[j], z):
                    keeper[z] = members[j]
                    break
    size[LIVE] = 0
    for z in range(n):
        if not inside[z]:
            if not inside[keeper[z]]:  # it has left; what dominates it dominates z
                keeper[z] = keeper[keeper[z]]
            live[size[LIVE]] = z
            size[LIVE] += 1


@part
def elect_plainly(model: Model, belief: Belief, front: Front, piece: Ints) -> None:
    """Candidate set without a cover: keep S_hat unless theta is in Alt(S_hat)."""
    size = front.size
    refresh_means(model.unstructured, belief.N, belief.theta, model.Z, front.mu, front.inverse)
    members = front.members[: size[MEMBERS]]
    whole = size[MEMBERS] + size[LIVE] == front.mu.shape[0]
    if not whole or find_change(
        front.mu, members, front.live[: size[LIVE]], front.keeper, piece
    ):
        elect(front.mu, front.inside, front.members, front.live, front.keeper, size)
