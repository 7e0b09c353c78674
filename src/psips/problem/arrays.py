"""A problem as the kernels read it: arrays, every objective maximised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from psips.aliases import Floats
from psips.problem.coordinates import (
    Coordinates,
    orthonormal,
    reexpress,
    scaled,
    spanning_arms,
)
from psips.problem.costs import per_cost
from psips.problem.data import Facts, ProblemData
from psips.problem.design import g_optimal
from psips.problem.noise import KNOWN, noise_model
from psips.problem.parameters import Ball
from psips.state.model import BALL, BOX, Model

LATER = 1e-300  # a tolerance that is a part of the control's value, before that is known


def model_of(data: ProblemData, coordinates: Coordinates) -> Model:
    """Return the arrays, with the features in these coordinates."""
    # Kernels are compiled for writable C-ordered arrays, hence the copies.
    turn = np.outer(data.signs, data.signs)
    usual = data.usual_covariance
    Sigma = np.where(np.isnan(usual), np.eye(data.d), usual * turn) + 0.0  # no negative zeros
    noise = noise_model(
        data.noise,
        data.covariance,
        data.noise_guess,
        data.scales,
        data.K,
        data.signs,
        data.partial,
    )
    apart = noise.given if len(noise.given) else Sigma
    apart = apart * (1.0 - np.eye(data.d))
    diagonal = data.d == 1 or (data.noise == KNOWN and not np.any(apart))
    P = np.diag(1.0 / np.diag(Sigma)) if diagonal else np.linalg.inv(Sigma)
    kind, ball, low, high = data.theta_limits()
    A, Z, basis = coordinates
    explore, frame = np.full(data.K, 1.0 / data.K), np.zeros((0, 0))
    spend = explore
    first = np.zeros(0, np.int64)
    if data.features is not None:
        explore = g_optimal(A)
        worth = 1.0 / np.sqrt(data.costs)[:, None]  # one of cost 4 tells as much as a half
        spend = explore if np.all(worth == 1.0) else g_optimal(A * worth)
        if data.regularization is None:
            frame = orthonormal(data.features).A
            first = spanning_arms(frame * worth)
    if kind == BOX and not data.unstructured:
        units = np.diag(basis)[:, None]
        low, high = low / units, high / units
    facts, give, kept = empty_facts(data.facts, data.n)
    return Model(
        unstructured=data.unstructured,
        diagonal=diagonal,
        K=data.K,
        n=data.n,
        h=data.K if data.unstructured else A.shape[1],
        d=data.d,
        A=A,
        Z=Z,
        Sigma=Sigma,
        L=np.ascontiguousarray(np.linalg.cholesky(Sigma)),
        P=np.ascontiguousarray((P + P.T) / 2),
        xi=_xi(data, Sigma, kind, ball),
        kind=kind,
        ball=ball,
        low=low,
        high=high,
        explore=explore,
        costs=data.costs.copy(),
        thrift=per_cost(spend, data.costs),
        frame=frame,
        first=first,
        noise=noise,
        unit=np.sqrt(np.diag(Sigma)),
        slack=0.0 - data.tolerance.amounts,
        relative=data.tolerance.shares.copy(),
        control=data.answer_index(data.control) if data.tolerance.shares.any() else -1,
        level=np.zeros(data.d),
        facts=facts,
        give=give,
        even=np.zeros_like(give),
        limits=replace(data.limit_model, kept=kept),
        joint=data.joint,
    )


def empty_facts(facts: Facts | None, n: int) -> tuple[Floats, Floats, Floats]:
    """Return facts (n, e), tolerances (e,) and who keeps limits (n,), before results."""
    if facts is None:
        return np.zeros((n, 0)), np.zeros(0), np.zeros(0)
    aims, tolerance = list(facts.aims), facts.whole.tolerance
    give = np.where(tolerance.shares[aims] > 0.0, LATER, tolerance.amounts[aims])
    return np.full((n, len(aims)), np.nan), give, np.ones(n if facts.limited else 0)


def coordinates_of(data: ProblemData) -> Coordinates:
    """Return the features as the kernels read them, see `psips.problem.coordinates`."""
    A, Z = data.features, data.answer_features
    if A is None or Z is None:
        nothing = np.zeros((0, 0))
        return Coordinates(nothing, nothing, nothing)
    if data.regularization is not None or isinstance(data.parameter_set, Ball):
        return Coordinates(A.copy(), Z.copy(), np.eye(data.h))
    if data.parameter_set is not None:
        return scaled(A, Z)
    found = orthonormal(A)
    if data.transductive:
        return found._replace(Z=reexpress(Z, found))
    places = [data.arm_index(answer) for answer in data.answers]
    return found._replace(Z=np.ascontiguousarray(found.A[places]))


def _xi(data: ProblemData, Sigma: Floats, kind: int, ball: Floats) -> float:
    """Return the regularisation of the kernels."""
    if data.unstructured:
        return 0.0
    if data.regularization is not None:
        return data.regularization
    return float(np.mean(np.diag(Sigma) / ball**2)) if kind == BALL else 0.0
