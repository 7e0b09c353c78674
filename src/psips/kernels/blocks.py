"""Results that share blocks: the posterior of a mixed model, and its two kinds of variance.

A result of arm a in block b is mu_a + u_b + e, with u_b ~ N(0, U) common to the block and
e ~ N(0, Sigma_a). With P_a = Sigma_a^-1, n_ab results of a in b and
M_b = U^-1 + sum_a n_ab P_a, the block effects integrated out, block b adds to the precision
V (K d, K d)

    diag_a(n_ab P_a) - (n_ab P_a M_b^-1 n_cb P_c)_ac

and one further result of a adds H' Q^-1 H, of rank d: H takes the means to what the result is
expected to be less its mean given the block so far, and Q = Sigma_a + M_b^-1. U = 0 is no
blocks; a large U compares within blocks only. U that is too large costs precision but claims
none that is not there: the covariance of any weighted mean grows with U.
"""

from __future__ import annotations

import math

from psips.aliases import Floats, Ints
from psips.kernels.belief import refactor
from psips.kernels.grids import as_grid, floats, floats2
from psips.kernels.jit import kernel, part
from psips.kernels.scatter import invert


@part
def spread_of_block(root: Floats, S: Floats, out: Floats) -> None:
    """Write M^-1 = root (I + root' S root)^-1 root', with U = root root'; U may be 0."""
    d = root.shape[0]
    inner, inverse, half = floats2(d, d), floats2(d, d), floats2(d, d)
    for i in range(d):
        for j in range(d):
            inner[i, j] = 1.0 if i == j else 0.0
            for k in range(d):
                for m in range(d):
                    inner[i, j] += root[k, i] * S[k, m] * root[m, j]
    invert(inner, d, inverse)
    for i in range(d):
        for j in range(d):
            for k in range(d):
                half[i, j] += root[i, k] * inverse[k, j]
    for i in range(d):
        for j in range(d):
            total = 0.0
            for k in range(d):
                total += half[i, k] * root[j, k]
            out[i, j] = total


@part
def precision_in_block(count: Floats, P: Floats, S: Floats) -> None:
    """Write S = sum_a n_a P_a of one block, ``count`` (K,)."""
    d = S.shape[0]
    for i in range(d):
        for j in range(d):
            S[i, j] = 0.0
    for a in range(count.shape[0]):
        if count[a] > 0.0:
            for i in range(d):
                for j in range(d):
                    S[i, j] += count[a] * P[a, i, j]


@kernel
def add_blocks(
    counts: Floats, sums: Floats, precision: Floats, between: Floats, V: Floats, B: Floats
) -> None:
    """Write V (K d, K d) and B (K d,) of all results.

    ``counts`` (J, K) and ``sums`` (J, K, d) by block and arm, ``precision`` (K, d, d) of one
    result of each arm, ``between`` (d, d) a factor of U.
    """
    n, x, P, root, out, right = (
        as_grid(counts),
        as_grid(sums),
        as_grid(precision),
        as_grid(between),
        as_grid(V),
        as_grid(B),
    )
    J, K = n.shape
    d = root.shape[0]
    S, spread, total, common = floats2(d, d), floats2(d, d), floats(d), floats(d)
    for i in range(K * d):
        right[i] = 0.0
        for j in range(K * d):
            out[i, j] = 0.0
    PM = floats2(K * d, d)  # n_a P_a M^-1
    for b in range(J):
        precision_in_block(n[b], P, S)
        spread_of_block(root, S, spread)
        for i in range(d):
            total[i] = 0.0
        for a in range(K):
            if n[b, a] > 0.0:
                for i in range(d):
                    for j in range(d):
                        total[i] += P[a, i, j] * x[b, a, j]
                        PM[a * d + i, j] = 0.0
                        for k in range(d):
                            PM[a * d + i, j] += n[b, a] * P[a, i, k] * spread[k, j]
        for i in range(d):
            common[i] = 0.0
            for j in range(d):
                common[i] += spread[i, j] * total[j]
        for a in range(K):
            if n[b, a] > 0.0:
                for i in range(d):
                    for j in range(d):
                        right[a * d + i] += P[a, i, j] * (x[b, a, j] - n[b, a] * common[j])
                        out[a * d + i, a * d + j] += n[b, a] * P[a, i, j]
                for c in range(K):
                    if n[b, c] > 0.0:
                        for i in range(d):
                            for j in range(d):
                                less = 0.0
                                for k in range(d):
                                    less += PM[a * d + i, k] * P[c, k, j]
                                out[a * d + i, c * d + j] -= n[b, c] * less


@part
def forecast(
    arm: int,
    n: Floats,
    P: Floats,
    Sigma: Floats,
    root: Floats,
    spread: Floats,
    L: Floats,
    H: Floats,
) -> None:
    """Write M^-1 of a block, the factor L of Q, and L^-1 H (d, K d), of a result of ``arm``."""
    d, wide = H.shape
    S = floats2(d, d)
    precision_in_block(n, P, S)
    spread_of_block(root, S, spread)
    for i in range(d):
        for j in range(wide):
            H[i, j] = 0.0
        H[i, arm * d + i] = 1.0
        for a in range(n.shape[0]):
            if n[a] > 0.0:
                for j in range(d):
                    for k in range(d):
                        H[i, a * d + j] -= n[a] * spread[i, k] * P[a, k, j]
    for i in range(d):
        for j in range(i + 1):
            total = Sigma[i, j] + spread[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(total) if i == j else total / L[j, j]
    for i in range(d):
        for j in range(wide):
            for k in range(i):
                H[i, j] -= L[i, k] * H[k, j]
            H[i, j] /= L[i, i]


@kernel
def look_ahead(
    counts: Floats, places: Ints, precision: Floats, within: Floats, between: Floats, H: Floats
) -> None:
    """Write L^-1 H (K, d, K d) for the next result of each arm, in the block ``places`` (K,).

    A place beyond the blocks there are is one without results. A result adds ||L^-1 H x||^2 to
    the squared length of a change x (K d,) of the means.
    """
    n, where, P, Sigma, root, out = (
        as_grid(counts),
        as_grid(places),
        as_grid(precision),
        as_grid(within),
        as_grid(between),
        as_grid(H),
    )
    K, d = out.shape[0], out.shape[1]
    nothing, spread, L = floats(K), floats2(d, d), floats2(d, d)
    for a in range(K):
        here = n[where[a]] if where[a] < n.shape[0] else nothing
        forecast(a, here, P, Sigma[a], root, spread, L, out[a])


@kernel
def add_result(
    arm: int,
    result: Floats,
    count: Floats,
    sum_: Floats,
    precision: Floats,
    within: Floats,
    between: Floats,
    V: Floats,
    F: Floats,
    G: Floats,
    B: Floats,
) -> None:
    """Take in one result (d,): V, F and G = F F' = V^-1 by d updates of rank one, and B.

    ``count`` (K,) and ``sum_`` (K, d) are those of its block, not yet with this result;
    ``within`` (d, d) is Sigma_a of its arm.
    """
    x, n, s, P = as_grid(result), as_grid(count), as_grid(sum_), as_grid(precision)
    V_, F_, G_, B_ = as_grid(V), as_grid(F), as_grid(G), as_grid(B)
    K, d = s.shape
    wide = K * d
    spread, L, H = floats2(d, d), floats2(d, d), floats2(d, wide)
    forecast(arm, n, P, as_grid(within), as_grid(between), spread, L, H)
    surprise, u, w = floats(d), floats(wide), floats(wide)
    for i in range(d):
        surprise[i] = x[i]
        for a in range(K):
            for j in range(d):
                for k in range(d):
                    surprise[i] -= spread[i, k] * P[a, k, j] * s[a, j]
    for i in range(d):
        for k in range(i):
            surprise[i] -= L[i, k] * surprise[k]
        surprise[i] /= L[i, i]
    for i in range(d):
        v = H[i]
        q = 0.0
        for j in range(wide):
            u[j] = 0.0
            w[j] = 0.0
        for k in range(wide):
            if v[k] != 0.0:
                for j in range(wide):
                    u[j] += F_[k, j] * v[k]
        for j in range(wide):
            q += u[j] * u[j]
        for k in range(wide):
            for j in range(wide):
                w[k] += F_[k, j] * u[j]
        g = (1.0 - 1.0 / math.sqrt(1.0 + q)) / q
        for k in range(wide):
            B_[k] += v[k] * surprise[i]
            for j in range(wide):
                F_[k, j] -= g * w[k] * u[j]
                G_[k, j] -= w[k] * w[j] / (1.0 + q)
                V_[k, j] += v[k] * v[j]


@kernel
def expect(
    arms: Ints,
    blocks: Ints,
    results: Floats,
    counts: Floats,
    precision: Floats,
    between: Floats,
    means: Floats,
    S_within: Floats,
    shares: Floats,
) -> None:
    """Write what the variances within blocks are the means of, by those so far (an EM step).

    Parameters
    ----------
    arms, blocks : array (T,)
    results : array (T, d)
    counts, precision, between
        As in `add_blocks`.
    means : array (K, d)
    S_within : array (K, 2, d, d)
        Becomes the sums over results of each arm of r r' and of M^-1, r being the residual
        less the expected effect of its block.
    shares : array (K,)
        Becomes how many results of each arm remain, less what the block effects took.
    """
    who, where, x, n, P, root, mu, inside, left = (
        as_grid(arms),
        as_grid(blocks),
        as_grid(results),
        as_grid(counts),
        as_grid(precision),
        as_grid(between),
        as_grid(means),
        as_grid(S_within),
        as_grid(shares),
    )
    J, K = n.shape
    d = root.shape[0]
    effect, spread = floats2(J, d), floats2(J, d * d)
    S, one, r = floats2(d, d), floats2(d, d), floats(d)
    for t in range(who.shape[0]):
        a, b = who[t], where[t]
        for i in range(d):
            for j in range(d):
                effect[b, i] += P[a, i, j] * (x[t, j] - mu[a, j])
    for i in range(d):
        for j in range(d):
            for a in range(K):
                inside[a, 0, i, j] = 0.0
                inside[a, 1, i, j] = 0.0
    for b in range(J):
        precision_in_block(n[b], P, S)
        spread_of_block(root, S, one)
        for i in range(d):
            r[i] = 0.0
            for j in range(d):
                r[i] += one[i, j] * effect[b, j]
                spread[b, i * d + j] = one[i, j]
        for i in range(d):
            effect[b, i] = r[i]
    for a in range(K):
        left[a] = 0.0
    for t in range(who.shape[0]):
        a, b = who[t], where[t]
        taken = 0.0
        for i in range(d):
            r[i] = x[t, i] - mu[a, i] - effect[b, i]
            for j in range(d):
                taken += P[a, i, j] * spread[b, j * d + i]
                inside[a, 1, i, j] += spread[b, i * d + j]
        for i in range(d):
            for j in range(d):
                inside[a, 0, i, j] += r[i] * r[j]
        left[a] += max(1.0 - taken / d, 0.0)


@kernel
def factor(V: Floats, F: Floats, G: Floats) -> None:
    """Write F, a factor of V^-1, and G = F F'; V is positive definite."""
    from_, to, whole = as_grid(V), as_grid(F), as_grid(G)
    refactor(from_, to)
    wide = to.shape[0]
    for i in range(wide):
        for j in range(i + 1):
            total = 0.0
            for k in range(wide):
                total += to[i, k] * to[j, k]
            whole[i, j] = total
            whole[j, i] = total
