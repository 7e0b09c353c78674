"""The posterior of the answers, as every search sees it; see `src/core/posterior.h`."""

from __future__ import annotations

import numpy as np

from psips.aliases import Floats
from psips.state.belief import FACTOR, UNIT, Belief
from psips.state.model import OWN as OWN_NOISE
from psips.state.model import POOLED, Model
from psips.state.records import Record, record


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
    facts: Floats  # (n, e) exact metrics
    give: Floats  # (e,) their tolerances


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
        bool(model.slack.any()) or model.control >= 0 or bool(model.give.any()),
        model.relative,
        model.control,
        own if separate else np.zeros((0, 0, 0)),
        model.noise.mode == POOLED,
        np.zeros((2, d, d) if fitted or (estimated and separate) else (0, 0, 0)),
        G,
        np.zeros((0, 0)) if X is None else X,
        np.zeros((model.K, d, n * d if blocks else d) if model.joint else (0, 0, 0)),
        model.facts,
        model.give,
    )


def empty_posterior(model: Model, belief: Belief) -> Posterior:
    """Return the posterior that a belief gives, not refreshed."""
    own, G, X = belief.noise_estimate.C, belief.G, belief.X
    return posterior_of(model, belief.N, belief.theta, belief.F, own, G, X)
