"""A predicted set and its claims, as the core reads them; see `src/core/predicted`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips._core import CERTIFIED, UNSEEN, predict
from psips.aliases import Floats, Ints, Mask
from psips.state.model import Model
from psips.state.posterior import posterior_of
from psips.state.records import Record, record

SHARE = 0.85  # of what the certificates leave of delta goes to the next set
# Of an account: it takes too long; its set is to be predicted again; with a tolerance, it is to
# be compared with another set that is right.
LATE, RENEWED, OTHER = range(3)


def level_of(log_inverse: float, before: int) -> float:
    """Return L of a set that is predicted after ``before`` others."""
    return log_inverse - math.log1p(-CERTIFIED) - math.log(SHARE) - before * math.log1p(-SHARE)


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
    arms: Ints  # (D, A)
    G: Floats  # (D, A, d)
    s: Floats  # (D, A) variance of one result's part
    q: Floats  # (D, A) variances of the parts expected at the stop; linear: of f, first
    log_weight: Floats  # (D,)
    offset: Floats  # (D,) what a tolerance adds to the lead
    lead: Floats  # (D,) predicted, at least its standard error
    aim: Floats  # (D,) predicted, what the forecast goes by


@record
class Account(Record):
    """A predicted set: what was known then, its claims, and what was told since."""

    level: Floats  # (1,) L; 0 if there is no account
    due: Floats  # (3,) results told, those before it too, at which it is LATE, RENEWED, OTHER
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
    hint: Floats  # (2,) an answer that certificates left open, and its rival; or -1


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
