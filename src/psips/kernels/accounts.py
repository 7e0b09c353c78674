"""Accounts: a predicted set, the claims that prove it, and what was told since.

See `psips.kernels.claims` for the evidence and `psips.kernels.predicted` for the rule.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.kernels.claims import (
    CENTRE,
    KAPPA,
    SPREAD,
    UNSEEN,
    Claims,
    Pieces,
    claims_of,
    cover_alternative,
)
from psips.kernels.front import Front
from psips.kernels.grids import as_array, as_grid, ints
from psips.kernels.halfspace import beats, held, may_beat
from psips.kernels.jit import bare, kernel, part, standing
from psips.kernels.lead_evidence import evidence
from psips.kernels.model import Model
from psips.kernels.outcome import EVIDENCE, HINT, STOPPED, THRESHOLD
from psips.kernels.posterior import Posterior, posterior_of, refresh_all, refresh_means
from psips.kernels.records import Record, record
from psips.kernels.settling import IN, OUT

CERTIFIED = 0.05  # of delta goes to the certificates that are looked at beside the accounts
SHARE = 0.85  # of what is left of delta goes to the next set
REFUTED = 2.0  # a claim trails for good if its score is this far below -L
# Of an account: it takes too long; its set is to be predicted again; with a tolerance, it is to
# be compared with another set that is right.
LATE, ANEW, OTHER = range(3)
SETTLED, PIECES = HINT, HINT + 1  # places in the outcome


def level_of(log_inverse: float, before: int) -> float:
    """Return L of a set that is predicted after ``before`` others."""
    return log_inverse - math.log1p(-CERTIFIED) - math.log(SHARE) - before * math.log1p(-SHARE)


@record
class Account(Record):
    """A predicted set: what was known then, its claims, and what was told since.

    Verdicts on single answers. Each piece belongs to one answer: the leaves of z's tree to z,
    outside S1, and "i below j" to i. The answers have an order, fixed at t_1: those outside S1
    before its members. A verdict is given, OUT or IN, when all pieces of the answer and of
    those before it are settled. P(any of them is wrong, ever) <= exp(-L): let a be the first
    answer in the order whose verdict would be wrong. If it is outside S1, it is in S(theta), no
    member dominates it, and theta is in a leaf of its tree. If it is a member, all outside S1
    are rightly out, S(theta) is a subset of S1, one of it dominates a, and theta is in "a below
    j". So theta is in a piece of a, the first of which is fixed by theta and what was told
    until t_1, and no wrong verdict is given before that piece has reached L. With a tolerance
    the first wrong verdict is of an answer that no member holds, or of a member that some
    answer beats by more than epsilon, and theta is in one of its pieces by definition.
    """

    level: Floats  # (1,) L; 0 if there is no account
    due: Floats  # (3,) results told, those before it too, at which it is LATE, ANEW, OTHER
    inside: Mask  # (n,) S1
    N1: Floats  # (K,) results told until the prediction
    B1: Floats  # (h, d) and their sums
    V1: Floats  # (h, h) linear: V of these, and
    C1: Floats  # (h, h) its inverse; (0, 0) if unstructured
    z: Ints  # (P,) of the pieces
    length: Ints  # (P,)
    xs: Ints  # (P, R)
    first: Ints  # (P + 1,) and what else `Claims` has
    involved: Ints  # (D,)
    arms: Ints  # (D, A); linear: answers
    G: Floats  # (D, A, d)
    s: Floats  # (D, A)
    q: Floats  # (D, A)
    log_weight: Floats  # (D,)
    offset: Floats  # (D,)
    lead: Floats  # (D,)
    settled: Mask  # (P,)
    left: Ints  # (P,) pieces not settled, the first size[0]
    size: Ints  # (1,)
    n: Floats  # (K,) results told since, as last weighed; -1 if never
    mean: Floats  # (n, d) and their means; linear: of the answers, by these results
    W: Floats  # (n, h) linear: answers whitened by these results; (0, 0) if unstructured
    value: Floats  # (P,) largest score of a piece's claims: likelihood ratio, log-weight added
    best: Ints  # (P,) the claim that has it
    work: Floats  # (2, A)
    touched: Mask  # (n,)
    order: Ints  # (n,) in which answers get their verdicts
    owner: Ints  # (P,) the answer that a piece belongs to
    hint: Floats  # (2,) of `psips.kernels.settling.all_settled`


def _assemble(
    level: float,
    inside: Mask,
    known: tuple[Floats, Floats, Floats, Floats],
    pieces: Pieces,
    claims: Claims,
    square: Floats,
    pairs: int,
) -> Account:
    """Return an account that nothing was told to; ``known`` is N1, B1, V1 and C1.

    ``square`` (P,) says how clear the first claim of each piece was at the prediction; the
    first ``pairs`` pieces are "i below j".
    """
    N1, B1, V1, C1 = known
    n, d = len(inside), B1.shape[1]
    P = pieces.z.shape[0]
    owner = pieces.z.copy()
    owner[:pairs] = pieces.xs[:pairs, 0]
    clear = np.full(n, np.inf)
    np.minimum.at(clear, owner, square)
    return Account(
        np.full(1, level),
        np.full(3, np.inf),
        inside.copy(),
        N1.copy(),
        B1.copy(),
        V1,
        C1,
        pieces.z,
        pieces.length,
        pieces.xs,
        claims.first,
        claims.involved,
        claims.arms,
        claims.G,
        claims.s,
        claims.q,
        claims.log_weight,
        claims.offset,
        claims.lead,
        np.zeros(P, np.bool_),
        np.arange(P),
        np.full(1, P),
        np.full(len(N1), -1.0),
        np.zeros((n, d)),
        np.zeros((n if len(V1) else 0, len(V1))),
        np.full(P, UNSEEN),
        claims.first[:P].copy(),
        np.zeros((2, claims.arms.shape[1])),
        np.zeros(n, np.bool_),
        np.lexsort((-clear, inside)),
        owner,
        np.array([0.0, -1.0]),
    )


def open_account(model: Model, inside: Mask, N1: Floats, B1: Floats, level: float) -> Account:
    """Predict the set ``inside`` from counts and sums; claims are a function of these alone."""
    if model.unstructured:
        V1: Floats = np.zeros((0, 0))
        C1, F1 = V1, V1
        posterior = posterior_of(model, N1, B1 / N1[:, None], F1)
    else:
        V1 = model.xi * np.eye(model.h) + model.A.T @ (N1[:, None] * model.A)
        C1 = np.asarray(np.linalg.inv(V1), np.float64)
        F1 = np.ascontiguousarray(np.linalg.cholesky(C1))
        posterior = posterior_of(model, N1, C1 @ B1, F1)
    found = predict(posterior, inside, level)
    pieces, claims = Pieces(*found[0]), Claims(*found[1])
    first = claims.first[:-1]
    arms, s = claims.arms[first], claims.s[first]  # those not involved have s = 0
    if model.unstructured:
        variance = (s / N1[arms]).sum(axis=1)
    else:
        W = posterior.W
        variance = s[:, 0] * ((W[arms[:, 0]] - W[arms[:, 1]]) ** 2).sum(axis=1)
    square = claims.lead[first] ** 2 / np.maximum(variance, 1e-300)
    return _assemble(level, inside, (N1, B1, V1, C1), pieces, claims, square, found[2])


@kernel
def predict(p: Posterior, inside: Mask, level: float) -> tuple[Any, Any, int]:
    """Return the pieces of Alt(S1), S1 where ``inside``, their claims, how many are pairs."""
    refresh_all(p)
    pieces, pairs = cover_alternative(p, as_grid(inside))
    claims = claims_of(p, pieces, level)
    return (
        (
            as_array(pieces.z),
            as_array(pieces.length),
            as_array(pieces.xs),
            as_array(pieces.cs),
            as_array(pieces.y),
        ),
        (
            as_array(claims.first),
            as_array(claims.involved),
            as_array(claims.arms),
            as_array(claims.G),
            as_array(claims.s),
            as_array(claims.q),
            as_array(claims.log_weight),
            as_array(claims.offset),
            as_array(claims.lead),
            as_array(claims.aim),
        ),
        pairs,
    )


def no_account(model: Model) -> Account:
    """Return what stands for an account while nothing was predicted."""
    K, d = model.K, model.d
    none, lists = np.zeros(0, np.int64), np.zeros((0, d), np.int64)
    pieces = Pieces(none, none, lists, lists, np.zeros((0, d)))
    claims = Claims(
        np.zeros(1, np.int64),
        none,
        np.zeros((0, 1), np.int64),
        np.zeros((0, 1, d)),
        np.zeros((0, 1)),
        np.zeros((0, 1)),
        np.zeros(0),
        np.zeros(0),
        np.zeros(0),
        np.zeros(0),
    )
    width = 0 if model.unstructured else model.h
    known = (
        np.zeros(K),
        np.zeros((model.h, d)),
        np.zeros((width, width)),
        np.zeros((width,) * 2),
    )
    return _assemble(0.0, np.zeros(model.n, np.bool_), known, pieces, claims, np.zeros(0), 0)


@bare
def _score(account: Account, o: int, pending: Floats, theta: Floats, out: Floats) -> float:
    """Likelihood ratio of a claim, negative if it trails; ``out`` (2, A) gets its v and lead.

    Results that are pending count as if their arm's mean stayed as it is, and the lead were at
    least its standard error: a claim that trails is not to have all of a batch.
    """
    lead, total, before = account.offset[o], 0.0, 0.0
    waiting = False
    d = account.mean.shape[1]
    for a in range(account.involved[o]):
        arm = account.arms[o, a]
        n = account.n[arm]
        if n + pending[arm] <= 0.0:
            return UNSEEN
        waiting = waiting or pending[arm] > 0.0
        out[0, a] = account.s[o, a] / (n + pending[arm])
        total += out[0, a]
        before += account.s[o, a] / max(n, 1.0)
        for c in range(d):
            mean = account.mean[arm, c] if n > 0.0 else theta[arm, c]
            lead += account.G[o, a, c] * mean
    if waiting:
        lead = max(lead, math.sqrt(before))
    out[1, 0] = lead
    ratio = 0.5 * lead * lead / total
    return ratio if lead > 0.0 else -ratio - 1.0


@bare
def look(
    account: Account, k: int, pending: Floats, theta: Floats, out: Floats
) -> tuple[float, float, int]:
    """Return the largest ratio of a piece's claims; the largest score, and whose it is."""
    most, best, which = UNSEEN, -np.inf, account.first[k]
    for o in range(account.first[k], account.first[k + 1]):
        ratio = _score(account, o, pending, theta, out)
        most = max(most, ratio)
        if ratio + account.log_weight[o] > best:
            best, which = ratio + account.log_weight[o], o
    return most, best, which


@bare
def piece_evidence(account: Account, k: int, nothing: Floats, theta: Floats) -> float:
    """Log of the weighted sum of E over the claims of a piece; those that trail add 0."""
    top, total = -np.inf, 0.0
    work = account.work
    for o in range(account.first[k], account.first[k + 1]):
        if _score(account, o, nothing, theta, work) <= 0.0:
            continue
        scale = SPREAD * account.lead[o]
        found = evidence(
            account.involved[o],
            work[0],
            account.q[o],
            work[1, 0],
            CENTRE * account.lead[o],
            scale * scale,
            KAPPA,
            work[1],
        )
        found += account.log_weight[o]
        if found > top:
            total = 1.0 + total * math.exp(top - found)
            top = found
        else:
            total += math.exp(found - top)
    return top + math.log(total) if total > 0.0 else -np.inf


@standing
@bare
def weigh(pulls: Floats, B: Floats, theta: Floats, nothing: Floats, account: Account) -> None:
    """Bring an account up to date with the results told."""
    K, d = B.shape
    some = False
    for a in range(K):
        n = pulls[a] - account.N1[a]
        account.touched[a] = n != account.n[a]
        if account.touched[a]:
            some = True
            account.n[a] = n
            for c in range(d):
                account.mean[a, c] = (B[a, c] - account.B1[a, c]) / max(n, 1.0)
    if not some:
        return
    level = account.level[0]
    stay = 0
    for i in range(account.size[0]):
        k = account.left[i]
        touched = account.touched[account.z[k]]
        for j in range(account.length[k]):
            touched = touched or account.touched[account.xs[k, j]]
        if touched:
            most, account.value[k], account.best[k] = look(
                account, k, nothing, theta, account.work
            )
            if most >= level:  # it bounds the evidence
                account.settled[k] = piece_evidence(account, k, nothing, theta) >= level
        if not account.settled[k]:
            account.left[stay] = k
            stay += 1
    account.size[0] = stay


@bare
def add_verdicts(account: Account, verdict: Ints) -> None:
    """Write the verdicts that an account gives."""
    open_yet = account.touched
    for a in range(open_yet.shape[0]):
        open_yet[a] = account.level[0] == 0.0
    for i in range(account.size[0]):
        open_yet[account.owner[account.left[i]]] = True
    for a in account.order:
        if open_yet[a]:
            break
        verdict[a] = IN if account.inside[a] else OUT


@kernel
def verdicts_by(account: Account, verdict: Ints) -> None:
    """As ``add_verdicts``, from outside."""
    add_verdicts(account, as_grid(verdict))


@bare
def same_set(inside: Mask, other: Mask) -> bool:
    """Whether two sets are one."""
    same = True
    for a in range(inside.shape[0]):
        same = same and inside[a] == other[a]
    return same


@bare
def refuted(account: Account) -> bool:
    """Whether all claims of some piece look false."""
    for i in range(account.size[0]):
        value = account.value[account.left[i]]
        if UNSEEN + 10.0 < value < -account.level[0] - REFUTED:
            return True
    return False


@part
def is_right(p: Posterior, inside: Mask) -> bool:
    """Whether the set ``inside`` is right, up to the tolerance, at the estimates."""
    n = inside.shape[0]
    everyone, size = ints(n), 0
    for a in range(n):
        if inside[a]:
            everyone[size] = a
            size += 1
    members = everyone[:size]
    refresh_means(p)
    for z in range(n):
        if not inside[z] and not held(p.mu, p.slack, p.facts, p.give, members, z):
            return False
        for i in members:
            if i != z and may_beat(p.facts, p.give, z, i) and beats(p.mu, p.slack, z, i):
                return False
    return True


@part
def stands(p: Posterior, front: Front, account: Account) -> bool:
    """Whether the account's set is right at the estimates.

    That is S_hat; with a tolerance several sets are right, and S_hat goes on changing among
    them while noise decides between options that match.
    """
    if account.level[0] == 0.0:
        return False
    return same_set(front.inside, account.inside) or (
        p.tolerant and is_right(p, account.inside)
    )


@part
def conclude(p: Posterior, front: Front, account: Account, outcome: Floats) -> bool:
    """Write what the account says; whether it can prove its set.

    It cannot if it does not stand, or if all claims of a piece look false.
    """
    right = stands(p, front, account)
    outcome[THRESHOLD] = account.level[0]
    outcome[PIECES] = float(account.z.shape[0])
    outcome[SETTLED] = float(account.z.shape[0] - account.size[0])
    outcome[EVIDENCE] = 0.0
    outcome[STOPPED] = 0.0
    if right:
        outcome[EVIDENCE] = account.level[0]
        for i in range(account.size[0]):
            value = account.value[account.left[i]]
            outcome[EVIDENCE] = min(outcome[EVIDENCE], max(value, 0.0))
        if account.size[0] == 0:
            outcome[STOPPED] = 1.0
    return right and not refuted(account)


@kernel
def conclude_account(p: Posterior, front: Front, account: Account, outcome: Floats) -> bool:
    """As ``conclude``, from outside."""
    return conclude(p, front, account, as_grid(outcome))
