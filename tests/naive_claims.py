"""Naive twins of ``src/core/predicted``: matrices, quadrature and a minimiser of scipy's."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy import integrate, optimize, stats


class Law(NamedTuple):
    """Shifts u = D r + eta, D a normal (centre, square) that is positive."""

    q: np.ndarray
    centre: float
    square: float
    kappa: float

    @property
    def r(self) -> np.ndarray:
        return self.q / self.q.sum()

    @property
    def spread(self) -> np.ndarray:
        return self.kappa * (np.diag(self.q) - np.outer(self.q, self.q) / self.q.sum())

    def draw(self, rng: np.random.Generator, size: int) -> np.ndarray:
        tau = math.sqrt(self.square)
        D = stats.truncnorm.rvs(
            -self.centre / tau, np.inf, self.centre, tau, size=size, random_state=rng
        )
        eta = rng.multivariate_normal(np.zeros(len(self.q)), self.spread, size=size)
        return D[:, None] * self.r + eta


def log_average(A: float, B: float, law: Law) -> float:
    """Log of the mean over D of exp(D A - D^2 B / 2), by quadrature."""
    tau = math.sqrt(law.square)
    precision = B + 1 / law.square
    top = max((A + law.centre / law.square) / precision, 0.0)
    high = top * A - top * top * B / 2 - (top - law.centre) ** 2 / (2 * law.square)

    def density(D: float) -> float:
        return math.exp(D * A - D * D * B / 2 - (D - law.centre) ** 2 / (2 * law.square) - high)

    width = 12 / math.sqrt(precision)
    points = [max(top - width, 0.0), top, top + width]
    total = sum(
        integrate.quad(density, a, b, epsabs=0, limit=200)[0]
        for a, b in itertools.pairwise(points)
        if b > a
    )
    usual = stats.norm.sf(0, law.centre, tau) * math.sqrt(2 * math.pi) * tau
    return high + math.log(total / usual)


def log_ratio(e: np.ndarray, v: np.ndarray, law: Law) -> float:
    """Log of the averaged likelihood ratio at a null point."""
    P, r, R = np.diag(1 / v), law.r, law.spread
    W = np.linalg.inv(np.diag(v) + R)
    c = W @ r
    _, determinant = np.linalg.slogdet(np.eye(len(v)) + P @ R)
    return 0.5 * e @ (P - W) @ e + log_average(c @ e, r @ c, law) - 0.5 * determinant


def evidence(v: np.ndarray, lead: float, law: Law) -> float:
    """Least log E over all e with 1'e >= lead, one-sided constraint and all."""
    n = len(v)
    start = lead * v / v.sum()
    if n == 1:
        found = optimize.minimize_scalar(
            lambda e: log_ratio(np.array([e]), v, law),
            bounds=(lead, 3 * lead),
            method="bounded",
        )
        return min(float(found.fun), log_ratio(np.array([lead]), v, law))
    found = optimize.minimize(
        lambda e: log_ratio(e, v, law),
        start + 0.1 * v,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda e: e.sum() - lead},
        options={"ftol": 1e-12, "maxiter": 300},
    )
    return min(float(found.fun), log_ratio(start, v, law))


def evidence_along(u: np.ndarray, V: np.ndarray, Q: np.ndarray, lead: float, law: Law) -> float:
    """Least log E over all errors e with u'e >= lead: the law with matrices for vectors."""
    q = u @ Q @ u
    r, R = Q @ u / q, law.kappa * (Q - np.outer(Q @ u, Q @ u) / q)
    P, W = np.linalg.inv(V), np.linalg.inv(V + R)
    c = W @ r
    _, determinant = np.linalg.slogdet(np.eye(len(u)) + P @ R)

    def at(e: np.ndarray) -> float:
        return 0.5 * e @ (P - W) @ e + log_average(c @ e, r @ c, law) - 0.5 * determinant

    start = V @ u * lead / (u @ V @ u)
    found = optimize.minimize(
        at,
        1.1 * start,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda e: u @ e - lead},
        options={"ftol": 1e-12, "maxiter": 300},
    )
    return min(float(found.fun), at(start))
