"""How often the default enters a wrong set at a truth with ties, by its own kernels.

A truth has options on a few levels in each metric, 1,000 standard errors apart, and options on
one level differ by next to nothing, which says on which side the truth is. In the coordinates
u (m,) of these ties, in which the noise is a standard normal, the rule stops with a wrong set
beyond a radius R(u). In log time u is a stationary Ornstein-Uhlenbeck process, which enters
that region at a rate of

    1/2 (integral over its boundary of density times distance of the tangent plane)
    = E_u[ wrong(u) x f(x) ],  x = R(u)^2,  f the density of chi2_m,  u uniform on the sphere,

for any region that is made of rays. So what the rule spends is computed from the radii at which
the rule as it is (cover, nearest points, ties around each, levels) stops, whatever its levels
are. Whether a set is wrong is computed here, not by the rule. Directions are drawn around the
ties and, in a second round, around those that counted most, and weighted (balance heuristic).

Regions with corners that point to the truth are entered somewhat more often than this says: see
`wrong_stops`, which walks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaln, ive

from psips import Problem
from psips._core import log_spent, lone_level, spending, testing
from psips.rules.program import window
from psips.state.belief import RESULTS, empty_belief
from psips.state.calibration import Calibration
from psips.state.codes import MEASURED
from psips.state.search import SearchState, capacity_for, empty_search

AROUND = 7  # degrees of freedom of the square of the length along a tie
FAR = 1000.0  # standard errors between levels
HAIR = 1e-7  # standard errors between options on one level
BEYOND = 8.0  # nats above the level of a lone tie beyond which a radius does not count


@dataclass
class Structure:
    """Options on levels (K, d), sides of ties (K, d), covariance (d, d), shares (K,)."""

    levels: np.ndarray
    sides: np.ndarray
    Sigma: np.ndarray
    shares: np.ndarray
    delta: float = 0.1
    found: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:  # kernels read arrays row by row
        for name in ("levels", "sides", "Sigma", "shares"):
            setattr(self, name, np.ascontiguousarray(getattr(self, name)))

    @property
    def calibration(self) -> Calibration:
        return calibration(self.delta, len(self.levels))

    @property
    def optimal(self) -> np.ndarray:
        """Which options are Pareto-optimal at the truth."""
        return pareto((self.levels + 1e-3 * self.sides)[None])[0]


def pareto(values: np.ndarray) -> np.ndarray:  # (N, K, d) -> (N, K)
    """Naively: who is not dominated."""
    no_worse = (values[:, :, None] >= values[:, None]).all(3)
    better = (values[:, :, None] > values[:, None]).any(3)
    return ~(no_worse & better).any(1)


@lru_cache
def calibration(delta: float, K: int = 2) -> Calibration:
    """As the default has it for K options."""
    low, high = window(None, K)
    rate = spending(delta, low, high)
    nothing = np.zeros(1)
    return Calibration(MEASURED, -math.log(delta), 1.0, nothing, 0.0, 0.0, rate, low, high)


def lone(one: Structure) -> float:
    """Level of a lone tie where it is lowest."""
    return float(lone_level(one.calibration.log_rate))


class Chart:
    """Coordinates of the ties of a structure, and the rule at its truth."""

    def __init__(self, one: Structure) -> None:
        K, d = one.levels.shape
        self.one = one
        self.results = math.exp(one.calibration.high)
        counts = self.results * one.shares / one.shares.sum()
        errors = np.sqrt(np.diag(one.Sigma)[None] / counts[:, None])
        apart = FAR * errors.max(0)
        self.truth = one.levels * apart + one.sides * HAIR * errors.max(0)
        levels = one.levels
        strict = np.sign(levels[:, None] - levels[None])
        beaten = (strict > 0).all(2).any(0)  # surely dominated
        # noise decides on a pair if it ties somewhere and what differs has one sign
        decided = (strict != 0).all(2) | ((strict > 0).any(2) & (strict < 0).any(2))
        rows, pairs = [], []
        self.alive = ~beaten
        self.group = np.tile(np.arange(K), (d, 1))  # in each metric, of options that tie
        for c in range(d):
            group = self.group[c]
            for a in range(K):
                for b in range(a):
                    alive = not (beaten[a] or beaten[b] or decided[a, b])
                    if alive and levels[a, c] == levels[b, c]:
                        row = np.zeros((K, d))
                        row[a, c], row[b, c] = 1.0, -1.0
                        pairs.append(row.ravel())
                        if group[a] != group[b]:
                            rows.append(row.ravel())
                            group[group == group[a]] = group[b]
        self.m = len(rows)
        if self.m == 0:
            return
        B = np.array(rows)
        cov = np.zeros((K * d, K * d))
        for a in range(K):
            cov[a * d : (a + 1) * d, a * d : (a + 1) * d] = one.Sigma / counts[a]
        L = np.linalg.cholesky(B @ cov @ B.T)
        self.T = np.linalg.solve(L, B @ cov).T.copy()  # noise of u: theta = truth + T u
        ties = np.array(pairs) @ self.T
        self.ties = ties / np.linalg.norm(ties, axis=1)[:, None]
        self.counts = counts

    def search(self) -> SearchState:
        K, d = self.one.levels.shape
        problem = Problem(
            objectives=[f"o{c}" for c in range(d)], covariance=self.one.Sigma, arms=K
        )
        model = problem.model
        belief = empty_belief(model)
        belief.N[:] = self.counts
        belief.pulls[:] = self.counts
        belief.tally[RESULTS] = round(self.counts.sum())
        return empty_search(model, belief, capacity_for(model))

    def wrong(self, u: np.ndarray) -> np.ndarray:
        K, d = self.one.levels.shape
        noise = (u @ self.T.T).reshape(len(u), K, d)
        values = noise + self.one.levels * FAR * 1e3 * np.abs(self.T).max()
        return (pareto(values) != self.one.optimal).any(1)

    def radii(self, u: np.ndarray, search: SearchState | None = None) -> np.ndarray:
        """R(u), inf where the set is right or the radius large."""
        K, d = self.one.levels.shape
        found = np.full(len(u), np.inf)
        wrong = self.wrong(u)
        if wrong.any():
            least = lone(self.one)
            some = np.full(int(wrong.sum()), np.inf)
            moves = np.ascontiguousarray((u[wrong] @ self.T.T).reshape(-1, K, d))
            start, most = math.sqrt(2 * least), math.sqrt(2 * (least + BEYOND + self.m))
            which = self.one.calibration
            testing.stopping_radii(
                search or self.search(), which, start, most, self.truth, moves, some
            )
            found[wrong] = some
        return found

    def allowed(self) -> float:
        """What may be spent in this e-fold."""
        return math.exp(log_spent(self.one.calibration, self.results, self.results))


def counted(R: np.ndarray, m: int) -> np.ndarray:
    """x f(x) at x = R^2, f the density of chi2_m."""
    found = np.zeros(len(R))
    x = R[np.isfinite(R)] ** 2 / 2.0
    found[np.isfinite(R)] = np.exp(m / 2 * np.log(x) - x - gammaln(m / 2))
    return found


# ------------------------------------------------------------------ directions


def _uniform(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    u = rng.normal(size=(n, m))
    return u / np.linalg.norm(u, axis=1)[:, None]


def _near_ties(rng: np.random.Generator, n: int, ties: np.ndarray) -> np.ndarray:
    m = ties.shape[1]
    u = rng.normal(size=(n, m))
    which = ties[rng.integers(len(ties), size=n)]
    length = np.sqrt(rng.chisquare(AROUND, n)) * rng.choice([-1.0, 1.0], n)
    u += (length - (u * which).sum(1))[:, None] * which
    return u / np.linalg.norm(u, axis=1)[:, None]


def _density_near_ties(u: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """Relative to uniform."""
    half = 0.5 * (ties.shape[1] - 1)
    log = gammaln(0.5) - gammaln(0.5 + half) - gammaln(AROUND / 2) + gammaln(AROUND / 2 + half)
    return math.exp(log) * (np.abs(u @ ties.T) ** (AROUND - 1)).mean(1)


def _von_mises_fisher(
    rng: np.random.Generator, centres: np.ndarray, kappa: float
) -> np.ndarray:
    """One draw around each centre (Wood 1994)."""
    n, m = centres.shape
    b = (m - 1) / (2 * kappa + math.sqrt(4 * kappa**2 + (m - 1) ** 2))
    x = (1 - b) / (1 + b)
    c = kappa * x + (m - 1) * math.log(1 - x * x)
    w, left = np.zeros(n), np.arange(n)
    while len(left):
        z = rng.beta((m - 1) / 2, (m - 1) / 2, len(left))
        t = (1 - (1 + b) * z) / (1 - (1 - b) * z)
        good = kappa * t + (m - 1) * np.log(1 - x * t) - c >= np.log(
            rng.uniform(size=len(left))
        )
        w[left[good]] = t[good]
        left = left[~good]
    v = rng.normal(size=(n, m))
    v -= (v * centres).sum(1)[:, None] * centres
    v /= np.linalg.norm(v, axis=1)[:, None]
    return w[:, None] * centres + np.sqrt(np.maximum(1 - w * w, 0.0))[:, None] * v


def _density_von_mises_fisher(
    u: np.ndarray, centres: np.ndarray, weights: np.ndarray, kappa: float
) -> np.ndarray:
    """Of the mixture, relative to uniform."""
    m = centres.shape[1]
    nu = m / 2 - 1
    log = nu * math.log(kappa / 2) - math.log(ive(nu, kappa)) - kappa - gammaln(m / 2)
    return np.exp(kappa * (u @ centres.T) + log) @ weights


def rate(
    chart: Chart, rng: np.random.Generator, first: int, second: int
) -> tuple[float, float]:
    """Return the rate at which the rule stops with a wrong set, and its standard error."""
    m = chart.m
    if m == 1:
        return float(counted(chart.radii(np.array([[-1.0], [1.0]])), 1).mean()), 0.0
    search = chart.search()
    if m == 2:
        n = first + second
        angle = 2 * math.pi * (np.arange(n) + rng.uniform()) / n
        R = chart.radii(np.column_stack([np.cos(angle), np.sin(angle)]), search)
        return float(counted(R, 2).mean()), 0.0
    even = first // 4
    u = np.concatenate([_uniform(rng, even, m), _near_ties(rng, first - even, chart.ties)])
    drawn = even / first + (1 - even / first) * _density_near_ties(u, chart.ties)
    value = counted(chart.radii(u, search), m) / drawn
    found, error = float(value.mean()), float(value.std() / math.sqrt(first))
    if second == 0 or found == 0.0:
        return found, error
    top = np.argsort(-value)[: max(16, first // 8)]
    top = top[value[top] > 0.0]
    centres, weights = u[top], value[top] / value[top].sum()
    kappa = 3.0 * m
    share = np.array([0.1, 0.3, 0.6])  # uniform, near ties, near those that counted
    n = np.round(share * second).astype(int)
    picked = centres[rng.choice(len(top), size=n[2], p=weights)]
    v = np.concatenate(
        [
            _uniform(rng, n[0], m),
            _near_ties(rng, n[1], chart.ties),
            _von_mises_fisher(rng, picked, kappa),
        ]
    )
    share = n / n.sum()
    drawn = share[0] + share[1] * _density_near_ties(v, chart.ties)
    drawn += share[2] * _density_von_mises_fisher(v, centres, weights, kappa)
    other = counted(chart.radii(v, search), m) / drawn
    again, wide = float(other.mean()), float(other.std() / math.sqrt(n.sum()))
    return again, wide


def excess(
    one: Structure, rng: np.random.Generator, first: int = 64, second: int = 64
) -> tuple[float, float]:
    """What the rule spends in an e-fold over what it may spend, and the standard error."""
    chart = Chart(one)
    if chart.m == 0:
        return 0.0, 0.0
    found, error = rate(chart, rng, first, second)
    return found / chart.allowed(), error / chart.allowed()


# ------------------------------------------------------------------ paths


def wrong_stops(
    one: Structure, runs: int, most: float, rng: np.random.Generator
) -> tuple[int, int]:
    """Return how many runs with fixed shares stopped with a wrong set, and how many at all."""
    from tie_error_quadrature import looks

    chart = Chart(one)
    search, which = chart.search(), one.calibration
    shares = one.shares / one.shares.sum()
    first = max(len(shares), 1.0 / shares.min())
    times = np.array([t for t in looks(most) if t >= first], float)
    T = chart.T * math.sqrt(chart.results)  # of one measurement in all
    truth = chart.truth * 100.0
    wrong = stopped = 0
    for _ in range(runs):
        normals = rng.normal(size=(len(times), chart.m))
        i = testing.walk(search, which, shares, truth, T, times, normals)
        if i >= 0:
            stopped += 1
            wrong += int(chart.wrong(normals[i][None])[0])
    return wrong, stopped
