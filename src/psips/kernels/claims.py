"""Claims predicted from a first phase, and the evidence that later results give for them.

Let S1 be a set that was predicted from the results told until time t_1.

Pieces. A list of convex cones, fixed at t_1, that covers Alt(S1): for each ordered pair of S1
the piece "i below j" (j at least i in every objective), and for each z outside S1 the leaves of
a tree that branches on objectives: "z is at least x_1 in c_1, .., x_m in c_m". It is complete.
If S(theta) is not S1, either a member of S1 is dominated by another; or no member dominates
another and some z in S(theta) is outside S1, as otherwise S(theta) is a proper subset of
S1, and a member left out would be dominated by one of S(theta), a member too. This z is
dominated by no x in S1: it is above x somewhere, or equal to it. So at every node some branch
holds, and theta is in a leaf. Every leaf is kept; how deep the tree goes is a matter of cost.

Claims. On the piece (z; x_k, c_k) each y >= 0 gives f(theta) = sum_k y_k (x_k - z)(c_k) <= 0:
the claim "f > 0" is false there. A few y are fixed at t_1 with weights that sum to 1: the
multipliers of the projection of theta_hat(t_1) on the piece, and each constraint alone.

Evidence of one claim, from results told after t_1 alone. f is a sum of one part for each arm
involved, f = sum_a G_a.mu_a, and G_a.x is N(G_a.mu_a, s_a^2) for a result x of arm a. After n_a
results let v_a = s_a^2 / n_a, V = diag(v), e_a the mean of G_a.x less its expectation at theta.
The ratio of the likelihood with the parts' means shifted by u to that of theta is
exp(u'V^-1 e - u'V^-1 u / 2), a product over results in which each factor has mean 1 given the
past, whichever arm was chosen: a nonnegative martingale from t_1 on, of mean 1; and so is its
average over any law of u that is fixed at t_1. With q_a > 0 the variances v_a that are expected
at the stop, and 1 a vector of ones, that law is

    u = D r + eta,   r = q / 1'q,   eta ~ N(0, R),   R = kappa (diag(q) - q q' / 1'q),

D > 0 a normal of mean m and variance tau^2 given that it is positive, independent of eta. The
lead f grows by D (1'r = 1, R 1 = 0), and eta lets the arms share it otherwise than expected.
Integrating eta, then D, with W = (V + R)^-1, H = V^-1 - W, c = W r, B = r'W r,

    log E(e) = e'He / 2 + psi(c'e) - log det(I + V^-1 R) / 2,
    psi(A) = log of the mean over D of exp(D A - D^2 B / 2).

The least of it over theta with f <= 0. These are the e with 1'e >= f-hat, f-hat the
estimate of f. As R 1 = 0, (V + R) 1 = V 1 and so W V 1 = 1, H V 1 = 0, c'V 1 = 1: moving e
along V 1 changes c'e only, and psi increases because D > 0. So the least is at 1'e = f-hat.
There e = V 1 f-hat / 1'v + w with 1'w = 0, and log E depends on w through
w'Hw / 2 + psi(c'w + A_0), A_0 = f-hat / 1'v. For a given c'w = a, w'Hw is least a^2 / h, with

    h = (sum_a v_a^2 / q_a / (1'v)^2 - 1 / 1'q) / kappa + 1 / 1'v - B,

found from H V = W R: Hw = nu 1 + mu c is solved by w = V b with R b = mu (r - v / 1'v), that is
b = (mu / kappa) (1 / 1'q - v / (q 1'v)) + constant. What is left, the least of
a^2 / (2 h) + psi(A_0 + a), is convex in one variable; psi lies above its tangent at
A_0 - h l, of slope g, so that

    h l^2 / 2 + psi(A_0 - h l) - h (l - g)^2 / 2

is a lower bound for every l, and exact at l = g. It is taken after a few Newton steps.
Where f-hat <= 0, or an arm involved has no result yet, E is taken for 0, which is below it.

An average is at most the largest value, so at e = V 1 f-hat / 1'v, where the ratio is largest
for u = e, log E <= f-hat^2 / (2 1'v): the likelihood ratio of a claim, which is cheap, bounds
its evidence.

Evidence of a piece: the logarithm of the weighted sum of E over its y. If theta is in the
piece, all its claims are false and the sum of the least E is at most that of the E at theta,
a nonnegative martingale of mean 1. By Ville's inequality P(it ever reaches L) <= exp(-L).

With a tolerance (`psips.kernels.halfspace`) the pieces have offsets: "j is above i by more
than epsilon in every objective", for i in S1 and any other answer j, and "z is above x_k by
more than epsilon in c_k". They cover all theta at which S1 is not right, by definition: either
some j beats a member i so, or some z outside is held by no x in S1, and at every node some
branch holds. On a piece each y >= 0 gives f(theta) + sum_k y_k epsilon(c_k) <= 0; f is tested
against another number than 0, so that its lead grows by that, and the rest stands as it is.

A set. If S(theta) is not S1 (with a tolerance: if S1 is not right), theta lies in some piece,
and the first such piece of the list is fixed by theta and the results until t_1. Stopping with
S1 needs every piece, hence that one, to have reached L. So P(stop with S1, which is wrong) <=
exp(-L): the number of claims does not count. A piece that reached L once is settled for ever.
What sets are predicted, and L of each, see `psips.kernels.predicted`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.kernels.cone import project, still_holding
from psips.kernels.grids import flags, floats, floats2, floats3, ints, ints2
from psips.kernels.halfspace import may_beat, may_hold
from psips.kernels.jit import part
from psips.kernels.posterior import Posterior, apart, variance

DEPTH = 3  # constraints of a leaf, at most
NEAR = (3.0, 6.0)  # leaves further than this, from the nearest squared distance, are not split
JOINT = 0.8  # weight of the direction that the projection has
KAPPA = 0.7  # how far the arms' shares of the lead are expected to be off
CENTRE, SPREAD = 0.5, 0.6  # m and tau of the lead to come, in leads predicted
AIM = 1.0  # the forecast goes by leads of at least this many standard errors
MARGIN = 1.5  # nats that a claim's ratio is expected to have above its evidence at the stop
UNSEEN = -1e9  # score of a claim with an arm that has no result yet
FORECAST = 200  # sweeps of the forecast, at most
STEP = 0.05  # .. and by how much one of them raises the counts


class Pieces(NamedTuple):
    """Cones (z; x_k, c_k), k < length."""

    z: Ints  # (P,)
    length: Ints  # (P,)
    xs: Ints  # (P, R)
    cs: Ints  # (P, R)
    y: Floats  # (P, R) multipliers of the projection


class Claims(NamedTuple):
    """Directions of the pieces: those of piece k are first[k], .., first[k + 1] - 1."""

    first: Ints  # (P + 1,)
    involved: Ints  # (D,) number of arms
    arms: Ints  # (D, DEPTH + 1)
    G: Floats  # (D, DEPTH + 1, d)
    s: Floats  # (D, DEPTH + 1) variance of one result's part
    q: Floats  # (D, DEPTH + 1) variances of the parts expected at the stop; linear: of f, first
    log_weight: Floats  # (D,)
    offset: Floats  # (D,) what a tolerance adds to the lead
    lead: Floats  # (D,) predicted, at least its standard error
    aim: Floats  # (D,) predicted, what the forecast goes by


@part
def _leaves(
    p: Posterior, members: Ints, z: int, near: float, pieces: Pieces, begin: int, most: int
) -> tuple[int, float]:
    """Write the leaves of z's tree from ``begin`` on; return their end, and the nearest."""
    K, d = p.mu.shape
    mu = p.mu
    shift = floats2(K, d)
    root, safest = members[0], -np.inf
    for x in members:
        lead = np.inf
        for c in range(d):
            spread = math.sqrt(variance(p, z, x, c, apart(p, z, x)))
            lead = min(lead, (mu[x, c] - mu[z, c] - p.slack[c]) / spread)
        if lead > safest and may_hold(p.facts, p.give, x, z):
            root, safest = x, lead
    closed = flags(most)
    square = floats(most)
    n = 0
    for c in range(d):
        k = begin + n
        pieces.z[k], pieces.length[k] = z, 1
        pieces.xs[k, 0], pieces.cs[k, 0] = root, c
        square[n] = project(p, z, 1, pieces.xs[k], pieces.cs[k], pieces.y[k])
        n += 1
    while True:
        open_leaf = -1
        for i in range(n):
            if not closed[i] and (open_leaf < 0 or square[i] < square[open_leaf]):
                open_leaf = i
        if open_leaf < 0:
            break
        k = begin + open_leaf
        m = pieces.length[k]
        x = -1
        if m < DEPTH and n + d - 1 <= most and square[open_leaf] <= near:
            xs, cs, y = pieces.xs[k], pieces.cs[k], pieces.y[k]
            x = still_holding(p, z, m, xs, cs, y, members, shift)
        if x < 0:
            closed[open_leaf] = True
            continue
        for c in range(d - 1, -1, -1):  # the last takes the place of what is split
            leaf = open_leaf if c == 0 else n
            to = begin + leaf
            for i in range(m):
                pieces.xs[to, i], pieces.cs[to, i] = pieces.xs[k, i], pieces.cs[k, i]
            pieces.xs[to, m], pieces.cs[to, m] = x, c
            pieces.z[to], pieces.length[to] = z, m + 1
            square[leaf] = project(p, z, m + 1, pieces.xs[to], pieces.cs[to], pieces.y[to])
            if c > 0:
                n += 1
    nearest = np.inf
    for i in range(n):
        nearest = min(nearest, square[i])
    return begin + n, nearest


@part
def cover_alternative(p: Posterior, inside: Mask) -> tuple[Pieces, int]:
    """Pieces that cover Alt(S1), S1 where ``inside``; how many of them, first, are pairs."""
    K, d = p.mu.shape
    most = 4 * d if d <= 4 else d + 8  # leaves of a tree
    everyone, size = ints(K), 0
    for a in range(K):
        if inside[a]:
            everyone[size] = a
            size += 1
    members = everyone[:size]
    above = K if p.tolerant else size  # answers that a member can be below
    room = size * (above - 1) + (K - size) * most
    R = max(d, DEPTH)
    pieces = Pieces(
        ints(room),
        ints(room),
        ints2(room, R),
        ints2(room, R),
        floats2(room, R),
    )
    P = 0
    nearest = np.inf
    for i in members:
        for k in range(above):
            j = k if p.tolerant else members[k]
            if i != j and may_beat(p.facts, p.give, j, i):
                pieces.z[P], pieces.length[P] = j, d
                for c in range(d):
                    pieces.xs[P, c], pieces.cs[P, c] = i, c
                square = project(p, int(j), d, pieces.xs[P], pieces.cs[P], pieces.y[P])
                nearest = min(nearest, square)
                P += 1
    pairs = P
    for z in range(K):  # how near the alternative is, with trees as coarse as they can be
        if not inside[z]:
            nearest = min(nearest, _leaves(p, members, z, 0.0, pieces, pairs, most)[1])
    near = NEAR[0] * nearest + NEAR[1] if p.separate else -1.0
    for z in range(K):
        if not inside[z]:
            P, _ = _leaves(p, members, z, near, pieces, P, most)
    found = Pieces(
        pieces.z[:P],
        pieces.length[:P],
        pieces.xs[:P],
        pieces.cs[:P],
        pieces.y[:P],
    )
    return found, pairs


@part
def _write_claim(
    p: Posterior, pieces: Pieces, k: int, y: Floats, weight: float, claims: Claims, o: int
) -> None:
    """Direction ``y`` of piece ``k`` becomes claim ``o``."""
    d = p.mu.shape[1]
    claims.arms[o, 0] = pieces.z[k]
    n = 1
    for i in range(pieces.length[k]):
        if y[i] > 0.0:
            x, c = pieces.xs[k, i], pieces.cs[k, i]
            at = n
            for a in range(1, n):
                if claims.arms[o, a] == x:
                    at = a
            if at == n:
                claims.arms[o, n] = x
                n += 1
            claims.G[o, at, c] += y[i]
            claims.G[o, 0, c] -= y[i]
            claims.offset[o] -= y[i] * p.slack[c]
    claims.involved[o] = n
    lead, variance = claims.offset[o], 0.0
    for a in range(n):
        for c in range(d):
            lead += claims.G[o, a, c] * p.mu[claims.arms[o, a], c]
            for e in range(d):
                claims.s[o, a] += claims.G[o, a, c] * claims.G[o, a, e] * p.Sigma[c, e]
        if p.separate:
            variance += claims.s[o, a] / p.N[claims.arms[o, a]]
    if not p.separate:  # z and one other
        variance = claims.s[o, 0] * apart(p, pieces.z[k], claims.arms[o, 1])
    claims.log_weight[o] = math.log(weight)
    claims.lead[o] = max(lead, math.sqrt(variance))
    claims.aim[o] = max(lead, AIM * math.sqrt(variance))


@part
def _forecast(claims: Claims, level: float, K: int) -> Floats:
    """About how many results of each arm (K,) take each piece's first claim to its level."""
    want = level + MARGIN
    N = floats(K)
    for a in range(K):
        N[a] = 1e-6
    P = claims.first.shape[0] - 1
    for k in range(P):
        o = claims.first[k]
        for a in range(claims.involved[o]):
            arm = claims.arms[o, a]
            alone = 0.5 * want * claims.s[o, a] * claims.involved[o] / claims.aim[o] ** 2
            N[arm] = max(N[arm], alone)
    for _ in range(FORECAST):
        short = False
        for k in range(P):
            o = claims.first[k]
            variance = counts = 0.0
            for a in range(claims.involved[o]):
                variance += claims.s[o, a] / N[claims.arms[o, a]]
                counts += N[claims.arms[o, a]]
            if claims.aim[o] ** 2 < 2.0 * variance * want:
                short = True
                for a in range(claims.involved[o]):
                    arm = claims.arms[o, a]
                    N[arm] += STEP * counts * (claims.s[o, a] / N[arm]) / variance
        if not short:
            break
    return N


@part
def claims_of(p: Posterior, pieces: Pieces, level: float) -> Claims:
    """Directions, weights and forecasts of the pieces."""
    K, d = p.mu.shape
    P, R = pieces.xs.shape
    room = 0
    for k in range(P):
        room += pieces.length[k] + 1
    A = max(2, DEPTH + 1)
    claims = Claims(
        ints(P + 1),
        ints(room),
        ints2(room, A),
        floats3(room, A, d),
        floats2(room, A),
        floats2(room, A),
        floats(room),
        floats(room),
        floats(room),
        floats(room),
    )
    for i in range(room):
        for a in range(A):
            claims.q[i, a] = 1.0
    alone = floats(R)
    o = 0
    for k in range(P):
        claims.first[k] = o
        m = pieces.length[k]
        several = 0
        clearest, most = 0, -np.inf
        for i in range(m):
            if pieces.y[k, i] > 0.0:
                several += 1
            x, c = pieces.xs[k, i], pieces.cs[k, i]
            gap = p.mu[x, c] - p.mu[pieces.z[k], c] - p.slack[c]
            gap /= math.sqrt(variance(p, pieces.z[k], x, c, apart(p, pieces.z[k], x)))
            if gap > most:
                clearest, most = i, gap
        rest = (1.0 - JOINT) / m
        if several > 1:
            _write_claim(p, pieces, k, pieces.y[k], JOINT, claims, o)
            o += 1
        for step in range(m):  # the clearest first
            i = clearest if step == 0 else (step - 1 if step <= clearest else step)
            alone[i] = 1.0
            weight = rest if several > 1 or step > 0 else JOINT + rest
            _write_claim(p, pieces, k, alone, weight, claims, o)
            alone[i] = 0.0
            o += 1
    claims.first[P] = o
    if not p.separate:
        for i in range(o):
            claims.q[i, 0] = 0.5 * claims.aim[i] ** 2 / (level + MARGIN)
        return claims
    N = _forecast(claims, level, K)
    for i in range(o):
        for a in range(claims.involved[i]):
            claims.q[i, a] = claims.s[i, a] / N[claims.arms[i, a]]
    return claims
