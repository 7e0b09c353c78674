"""Brute-force twins of the kernels: slow, short, and written from the definitions."""

from __future__ import annotations

import math

import numba
import numpy as np
from scipy.optimize import nnls
from scipy.special import lambertw, log_ndtr
from scipy.special import zeta as riemann


def dominates(x: np.ndarray, z: np.ndarray) -> bool:
    """At least z in every objective, above it in one."""
    return bool((x >= z).all() and (x > z).any())


def pareto_mask(mu: np.ndarray) -> np.ndarray:
    """By comparing every pair."""
    return np.array([not any(dominates(x, z) for x in mu) for z in mu])


def adahedge(losses: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """Weights played and Delta after each round: the code of de Rooij et al., line by line."""

    def mix(eta: float, L: np.ndarray) -> tuple[np.ndarray, float]:
        mn = L.min()
        w = (mn == L).astype(float) if eta == math.inf else np.exp(-eta * (L - mn))
        s = w.sum()
        return w / s, mn - math.log(s / len(L)) / eta

    T, K = losses.shape
    L, Delta = np.zeros(K), 0.0
    played, Deltas = [], []
    for t in range(T):
        eta = math.inf if Delta == 0 else math.log(K) / Delta
        w, M_prev = mix(eta, L) if eta > 0 else (np.ones(K) / K, 0.0)
        h = w @ losses[t]
        L = L + losses[t]
        M = mix(eta, L)[1] if eta > 0 else h
        Delta += max(0.0, h - (M - M_prev))
        played.append(w)
        Deltas.append(Delta)
    return np.array(played), Deltas


def least_distance(U: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the x of smallest norm with U x >= b (Lawson and Hanson's LDP by NNLS)."""
    E = np.vstack([U.T, b])
    f = np.zeros(len(E))
    f[-1] = 1.0
    u, _ = nnls(E, f, maxiter=1000)
    rest = E @ u - f
    return -rest[:-1] / rest[-1]


def piece(
    Z: np.ndarray,  # (n, h)
    theta: np.ndarray,  # (h, d)
    V: np.ndarray,  # (h, h)
    Sigma: np.ndarray,  # (d, d)
    z: int,
    xs: list[int],
    cs: list[int],
) -> tuple[float, np.ndarray]:
    """Squared distance to "z above xs[k] in objective cs[k]" and the nearest point (h, d)."""
    F = np.linalg.cholesky(np.linalg.inv(V))
    L = np.linalg.cholesky(Sigma)
    rows, b = [], []
    for x, c in zip(xs, cs, strict=True):
        rows.append(np.outer((Z[z] - Z[x]) @ F, L[c]).ravel())  # theta + F G L^T
        b.append(float((Z[x] - Z[z]) @ theta[:, c]))
    G = least_distance(np.array(rows), np.array(b)) if max(b) > 0 else np.zeros(theta.size)
    return float(G @ G), theta + F @ G.reshape(theta.shape) @ L.T


def lambert_bar(x: float) -> float:
    return -float(lambertw(-math.exp(-x), -1).real)


def beta_unstructured(K: int, d: int, t: float, delta: float, s: float = 2.0) -> float:
    """Lemma concentration_threshold, first display."""
    inside = 2 / (d * K) * math.log(math.exp(K * s) * riemann(s) ** K / delta)
    inside += 2 * s / d * math.log(1 + d / (2 * s) * math.log(t / K)) + 1
    return d * K / 2 * lambert_bar(inside)


def beta_linear(
    h: int, d: int, xi: float, L_A: float, L_M: float, smallest: float, t: float, delta: float
) -> float:
    """Lemma concentration_threshold, second display, with the bias of its proof."""
    first = math.sqrt(math.log(1 / delta * (L_A**2 / (h * xi) * t + 1) ** (d * h / 2)))
    return (first + math.sqrt(xi * d * L_M**2 / (2 * smallest))) ** 2


def r(log_delta: float, n: int) -> float:
    """Log of r(delta, n) of Lemma delta_correctness."""
    x = math.sqrt(-2 / n * log_delta)
    log_R = log_ndtr(-x) + x**2 / 2 + math.log(2 * math.pi) / 2
    return n * (log_R - math.log(2 * math.pi) / 2)


@numba.njit
def _in_alt(values: np.ndarray, inside: np.ndarray) -> bool:
    """Whether the Pareto set of values is not ``inside``, from the definition."""
    n, d = values.shape
    for z in range(n):
        dominated = False
        for x in range(n):
            at_least, above = True, False
            for c in range(d):
                if values[x, c] < values[z, c]:
                    at_least = False
                    break
                above = above or values[x, c] > values[z, c]
            if at_least and above:
                dominated = True
                break
        if dominated == inside[z]:
            return True
    return False


@numba.njit
def literal_hits(
    rng: np.random.Generator,
    theta: np.ndarray,  # (h, d)
    F: np.ndarray,  # (h, h), F F^T = V^-1 times the inflation
    L: np.ndarray,  # (d, d)
    Z: np.ndarray,  # (n, h)
    inside: np.ndarray,  # (n,)
    ball: np.ndarray,  # (d,)
    index: np.ndarray,  # (samples,)
    points: np.ndarray,  # (samples, h, d)
) -> None:
    """Draw plain posterior points until one is in Theta and Alt, again and again."""
    h, d = theta.shape
    n = Z.shape[0]
    identity = Z.shape[1] == 0  # unstructured: F is diagonal too
    G = np.empty((h, d))
    values = np.empty((n, d))
    for sample in range(index.shape[0]):
        count = 0
        while True:
            count += 1
            point = points[sample]
            for i in range(h):
                for c in range(d):
                    G[i, c] = rng.standard_normal()
            for i in range(h):
                for c in range(d):
                    point[i, c] = theta[i, c]
            for i in range(h):
                for j in range(i if identity else 0, i + 1 if identity else h):
                    for c in range(d):
                        for e in range(c + 1):
                            if L[c, e] != 0.0:
                                point[i, c] += F[i, j] * G[j, e] * L[c, e]
            if identity:
                values[:] = point
            else:
                values[:] = 0.0
                for a in range(n):
                    for i in range(h):
                        for c in range(d):
                            values[a, c] += Z[a, i] * point[i, c]
            if not _in_alt(values, inside):
                continue
            held = True
            for c in range(d):
                square = 0.0
                for i in range(h):
                    square += point[i, c] ** 2
                held = held and square <= ball[c] ** 2
            if held:
                break
        index[sample] = count
