"""Evidence for the claims of a predicted set in linear problems.

Pieces and claims are those of `psips.kernels.claims`, with one other answer x in each piece, so
that a claim is f(theta) = u'theta y > 0, u = x - z, y >= 0. What is told after t_1 is a linear
regression of y.(result) on the arms' features, with h unknowns and noise of variance
s^2 = y'Sigma y. Let J = sum a a' over these results: the design, which may depend on them. As
in `claims`, the ratio of the likelihood with theta y shifted by w to that of the truth is
exp((w'Je - w'Jw / 2) / s^2), e the error of least squares, a product over results in which each
factor has mean 1 given the past; its average over a law of w that is fixed at t_1 is a
nonnegative martingale of mean 1 from t_1 on. Neither a prior nor a bound on theta is needed.

The law is that of `claims` with matrices for vectors. V = s^2 J^-1 is the covariance of e;
Q = s^2 beta C_1, C_1 the inverse of the design until t_1, is the one expected at the stop, with
beta so that u'Qu is what the lead predicted needs; and

    w = D r + eta,   r = Q u / u'Q u,   eta ~ N(0, R),   R = kappa (Q - Q u u'Q / u'Q u).

As u'r = 1 and R u = 0, the steps there hold with u in the place of the vector of ones:
W V u = u, H V u = 0, c'V u = 1, and moving e along V u changes c'e only. What is needed is

    v = u'V u,   q = u'Q u,   u'V Q^-1 V u,   k = u'Q (V + kappa Q)^-1 Q u,
    left = 1 - kappa k / q,   B = k / (q^2 left),
    log det(I + V^-1 R) = log det(I + kappa V^-1 Q) + log left,
    h = (u'V Q^-1 V u / v^2 - 1 / q) / kappa + 1 / v - B,

the last from H w = nu u + mu c, which is solved by w = V b with R b = mu (r - V u / v), that is
b = (mu / kappa) Q^-1 (r - V u / v) and a multiple of u. Before J is regular the evidence is
taken for 0.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats
from psips.kernels.accounts import Account, weigh
from psips.kernels.belief import Belief, refactor, solve
from psips.kernels.claims import CENTRE, SPREAD, UNSEEN
from psips.kernels.grids import floats, floats2
from psips.kernels.jit import kernel, part
from psips.kernels.late import late
from psips.kernels.lead_evidence import least_evidence
from psips.kernels.model import Model

KAPPA = 0.5  # how far the design is expected to be off; h - 1 directions pay for it
REGULAR = 1e-9  # a pivot of J below this much of V's is taken for 0


@part
def later_design(belief: Belief, account: Account, J: Floats) -> bool:
    """Set ``J`` to the design since the prediction; whether it is regular."""
    h = J.shape[0]
    L = floats2(h, h)
    for i in range(h):
        for j in range(h):
            J[i, j] = belief.V[i, j] - account.V1[i, j]
    for i in range(h):
        for j in range(i + 1):
            total = J[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if total <= REGULAR * belief.V[i, i]:
                    return False
                L[i, i] = math.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    return True


@part
def functional_evidence(
    model: Model, account: Account, F: Floats, o: int, lead: float, out: Floats
) -> float:
    """Least log E of claim ``o``, whose lead is estimated; F F' = J^-1."""
    h = model.h
    z, x, s = account.arms[o, 0], account.arms[o, 1], account.s[o, 0]
    q = account.q[o, 0]
    v = c1 = determinant = 0.0
    u, inward, outward = floats(h), floats(h), floats(h)  # u, C_1 u, J^-1 u
    for i in range(h):
        u[i] = model.Z[x, i] - model.Z[z, i]
        determinant -= 2.0 * math.log(F[i, i])
    for i in range(h):
        along = account.W[x, i] - account.W[z, i]
        v += s * along * along
        for j in range(h):
            inward[i] += account.C1[i, j] * u[j]
            outward[j] += F[j, i] * along
    for i in range(h):
        c1 += u[i] * inward[i]
    beta = q / (s * c1)
    off = 0.0
    M, L = floats2(h, h), floats2(h, h)
    for i in range(h):
        for j in range(h):
            off += s * outward[i] * account.V1[i, j] * outward[j] / beta
            M[i, j] = KAPPA * beta * account.C1[i, j]
            for k in range(h):
                M[i, j] += F[i, k] * F[j, k]
    part_of = 0.0  # k
    half = floats(h)  # L^-1 C_1 u
    for i in range(h):
        for j in range(i + 1):
            total = M[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(total) if i == j else total / L[j, j]
        half[i] = inward[i]
        for j in range(i):
            half[i] -= L[i, j] * half[j]
        half[i] /= L[i, i]
        part_of += s * beta * beta * half[i] * half[i]
        determinant += 2.0 * math.log(L[i, i])
    left = 1.0 - KAPPA * part_of / q
    determinant += math.log(left)
    B = part_of / (q * q * left)
    scale = SPREAD * account.lead[o]
    centre = CENTRE * account.lead[o]
    return least_evidence(v, q, off, B, determinant, lead, centre, scale * scale, KAPPA, out)


@late
def weigh_functionals(model: Model, belief: Belief, account: Account) -> int:
    """Bring the account of a linear problem up to date with the results told."""
    h, d = model.h, model.d
    F = floats2(h, h)
    J = floats2(h, h)
    if not later_design(belief, account, J):
        return 0
    refactor(J, F)
    later, theta, out = floats2(h, d), floats2(h, d), floats(2)
    for i in range(h):
        for c in range(d):
            later[i, c] = belief.B[i, c] - account.B1[i, c]
    solve(F, later, theta)
    for a in range(model.n):
        for c in range(d):
            account.mean[a, c] = 0.0
            for i in range(h):
                account.mean[a, c] += model.Z[a, i] * theta[i, c]
        for k in range(h):
            account.W[a, k] = 0.0
            for i in range(k + 1):
                account.W[a, k] += model.Z[a, i] * F[i, k]
    level = account.level[0]
    stay = 0
    for i in range(account.size[0]):
        k = account.left[i]
        z, x = account.z[k], account.xs[k, 0]
        square = 0.0
        for f in range(h):
            square += (account.W[x, f] - account.W[z, f]) ** 2
        most, account.value[k] = -np.inf, UNSEEN
        top, total = -np.inf, 0.0
        for again in range(2):
            if again == 1 and most < level:  # the ratio bounds the evidence
                break
            for o in range(account.first[k], account.first[k + 1]):
                lead = account.offset[o]
                for c in range(d):
                    lead += account.G[o, 1, c] * (account.mean[x, c] - account.mean[z, c])
                ratio = 0.5 * lead * lead / max(account.s[o, 0] * square, 1e-300)
                ratio = ratio if lead > 0.0 else -ratio - 1.0
                if again == 0:
                    most = max(most, ratio)
                    if ratio + account.log_weight[o] > account.value[k]:
                        account.value[k] = ratio + account.log_weight[o]
                        account.best[k] = o
                elif lead > 0.0:
                    found = functional_evidence(model, account, F, o, lead, out)
                    found += account.log_weight[o]
                    if found > top:
                        total = 1.0 + total * math.exp(top - found)
                        top = found
                    else:
                        total += math.exp(found - top)
        account.settled[k] = total > 0.0 and top + math.log(total) >= level
        if not account.settled[k]:
            account.left[stay] = k
            stay += 1
    account.size[0] = stay
    return 0


@part
def weigh_claims(model: Model, belief: Belief, account: Account) -> None:
    """Bring an account up to date with the results told."""
    if model.unstructured:
        weigh(belief.pulls, belief.B, belief.theta, floats(model.K), account)
    else:
        weigh_functionals(model, belief, account)


@kernel
def weigh_account(model: Model, belief: Belief, account: Account) -> None:
    """Look at all of an account, which was away."""
    for a in range(model.K):
        account.n[a] = -1.0
    stay = 0
    for k in range(account.z.shape[0]):
        if not account.settled[k]:
            account.left[stay] = k
            stay += 1
    account.size[0] = stay
    weigh_claims(model, belief, account)
