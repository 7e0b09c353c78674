"""Verdicts by enumerating all sets, evidence by brute minimisation, one claim at a time."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp, ndtr

from psips._core import testing
from psips.problem import Problem
from psips.problem.parameters import Ball


def directions(d: int, Sigma: np.ndarray) -> np.ndarray:
    """Each objective, each two of them together, and all; one standard deviation each."""
    unit = 1 / np.sqrt(np.diag(Sigma))
    rows = [*np.eye(d)]
    rows += [unit * np.isin(np.arange(d), two) for two in combinations(range(d), 2)]
    return np.array([*rows, unit] if d > 2 else rows)


def log_g(N: float, s: float, e: float) -> float:
    """Logarithm of the mixture, written down term by term."""
    parts, q = [], testing.ASTRAY
    for rho, weight in zip(testing.RHOS, testing.LOG_WEIGHTS, strict=True):
        v = N * e / (s * np.sqrt(N + rho))
        sides = 2 * ((1 - q) * ndtr(v) + q * ndtr(-v))
        parts.append(weight - 0.5 * np.log(1 + N / rho) + np.log(sides) + v**2 / 2)
    return float(logsumexp(parts))


def evidence_in_the_plane(first: float, second: float, s: float, lead: float) -> float:
    """Least log product over all means in which i does not beat j."""
    if lead <= 0:
        return 0.0

    def at(x: np.ndarray) -> float:  # e_i, and by how much m_j exceeds m_i
        return log_g(first, s, x[0]) + log_g(second, s, lead + x[1] ** 2 - x[0])

    starts = [(lead * f, g) for f in (0.1, 0.5, 0.9) for g in (0.1, 1.0)]
    return max(0.0, min(minimize(at, start, method="Nelder-Mead").fun for start in starts))


def evidence(first: float, second: float, s: float, lead: float) -> float:
    """The same on the line where the two means are equal."""
    if lead <= 0:
        return 0.0
    far = 5 * s / min(first, second) ** 0.5 + lead
    found = minimize_scalar(
        lambda x: log_g(first, s, x) + log_g(second, s, lead - x), bounds=(-far, far + lead)
    )
    return max(0.0, float(found.fun))


def verdicts(problem: Problem, mu: np.ndarray, N: np.ndarray, delta: float) -> list[str]:
    """What all sets that are not rejected agree on."""
    n, d = mu.shape
    Sigma = problem.covariance
    Y = directions(d, Sigma)
    E = np.zeros((n, n, len(Y)))
    for i in range(n):
        for j in range(n):
            for k, y in enumerate(Y):
                if i != j:
                    s = np.sqrt(y @ Sigma @ y)
                    E[i, j, k] = evidence(N[i], N[j], s, y @ (mu[i] - mu[j]))
                    E[i, j, k] -= 0.0 if k < d else np.log(4)
    left = []
    for size in range(1, n + 1):
        within, outside, escapes = (level(problem, kind, size, delta) for kind in range(3))
        for S in combinations(range(n), size):
            rest = [z for z in range(n) if z not in S]
            dominated = any(
                (E[x, z, :d] >= L).all()
                for group, L in ((S, within), (rest, outside))
                for x in group
                for z in S
                if x != z
            )
            escaped = any(all((E[z, x] >= escapes).any() for x in S) for z in rest)
            if not dominated and not escaped:
                left.append(set(S))
    return [
        "in" if all(z in S for S in left) else "open" if any(z in S for S in left) else "out"
        for z in range(n)
    ]


def level(problem: Problem, kind: int, size: int, delta: float) -> float:
    """Evidence that a claim within S, from outside it, or of an escape needs."""
    n, d = problem.n, problem.d
    m = d + 0.25 * (len(directions(d, problem.covariance)) - d)
    if not problem.unstructured:
        return float(np.log(m / delta))
    outside = 0.05 if size < n else 0.0
    within = 0.0 if size == 1 else 0.6 if size < n else 1.0
    shares = within, outside, 1 - within - outside
    number = size * (size - 1), size * (n - size), (n - size) * m
    return float(np.log(number[kind] / shares[kind] / delta)) if number[kind] > 0 else 0.0


def evidence_linear(
    problem: Problem, N: np.ndarray, theta: np.ndarray, i: int, j: int, y: np.ndarray
) -> float:
    """Evidence from the self-normalised bound, in formulas of linear algebra."""
    assert isinstance(problem.parameter_set, Ball)
    xi, A, Z = problem.model.xi, problem.features, problem.answer_features
    assert A is not None
    assert Z is not None
    V = xi * np.eye(problem.h) + A.T @ np.diag(N) @ A
    u = Z[i] - Z[j]
    radius = np.broadcast_to(np.asarray(problem.parameter_set.radius, float), problem.d)
    clear = u @ theta @ y / np.sqrt(u @ np.linalg.solve(V, u)) - np.sqrt(xi) * y @ radius
    volume = np.linalg.slogdet(V / xi)[1]
    return max(0.5 * (max(clear, 0) ** 2 / (y @ problem.covariance @ y) - volume), 0.0)


def told_apart(
    problem: Problem, N: np.ndarray, theta: np.ndarray, z: int, x: int, inside: bool
) -> float:
    """Evidence that a candidate escapes ``x``, or that ``x`` dominates any other ``z``."""
    Sigma, Y = problem.covariance, directions(problem.d, problem.covariance)
    i, j = (z, x) if inside else (x, z)
    found = []
    for y in Y:
        if problem.unstructured:
            lead = y @ (theta[i] - theta[j])
            found.append(evidence(N[i], N[j], float(np.sqrt(y @ Sigma @ y)), lead))
        else:
            found.append(evidence_linear(problem, N, theta, i, j, y))
    alone, together = found[: problem.d], [one - np.log(4) for one in found[problem.d :]]
    return max(alone + together) if inside else min(alone)
