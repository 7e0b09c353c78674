"""How often a rule with a threshold errs on near-ties, by integration.

A lone tie, exactly (`wrong`): two equal options in one metric, measured in turn. After t
measurements the lead over its standard deviation is a standard normal z, and from one look to
the next z' = r z + sqrt(1 - r^2) e, r^2 the ratio of the information. The rule stops at the
first look with z^2 / 2 at or above the threshold. The density of z among those that go on is
carried from look to look by quadrature, and what is missing in the end has stopped, half of it
on the wrong side.

Several ties: wrong sets with evidence c or more are entered at a rate per e-fold of
measurements that is known in closed form for "x is below z by next to nothing in k metrics"
(`weights_of`, `rate_of_cone`), and from directions with a naive evaluator for any structure
(`naive_rate`). What a rule spends is the integral of the true rate, at the level that the rule
asks for in each e-fold (`spent`). It counts every entry, as if looks were continuous. Between
looks the estimates move by s = LOOKS_PER_EFOLD^-1/2 standard errors, and a boundary that is
only looked at now and then acts like one that is 0.583 s further out (Chernoff 1965, Siegmund
1985), whatever its shape, because (2 evidence)^1/2 is a distance: `errors` integrates with
levels moved so. At levels of 3 to 10 rates are below their limits, too (`rate_of_passage`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from scipy.optimize import nnls
from scipy.special import binom, dawsn, gammaln, log_ndtr
from scipy.stats import chi

from psips._core import DIRECTIONS, LOOKS_PER_EFOLD, log_spent, lone_level, testing
from tie_rule import Chart, Structure, calibration, counted, pareto

PANELS, POINTS = 44, 8  # of the quadrature, on the upper half
REACH = 6  # panels on either side that one step can reach, once looks are close
NEAR = 0.06  # .. standard deviation of a step from which on


def looks(most: float) -> Iterator[int]:
    """Times at which the default looks at all pieces, results being told one by one."""
    t = 2
    while t <= most:
        period = 1 + t // LOOKS_PER_EFOLD
        if period > LOOKS_PER_EFOLD:
            period = LOOKS_PER_EFOLD * 2 ** int(math.log2(period / LOOKS_PER_EFOLD))
        if t % period == 0:
            yield t
        t = (t // period + 1) * period


def information(t: int) -> float:
    return (t // 2) * (t - t // 2) / t


def wrong(threshold: Callable[[float], float], most: float) -> dict[int, float]:
    """Chance to have stopped on the wrong side, after powers of ten of results and ``most``."""
    x, w = np.polynomial.legendre.leggauss(POINTS)
    nodes = ((np.arange(PANELS)[:, None] + (x + 1) / 2) / PANELS).ravel()
    weights = np.tile(w / 2 / PANELS, PANELS)
    n = len(nodes)
    first = POINTS * np.clip(np.arange(n) // POINTS - REACH, 0, PANELS - 2 * REACH - 1)
    window = first[:, None] + np.arange(POINTS * (2 * REACH + 1))
    low = np.arange(POINTS * REACH)  # whose mirror images a step can reach
    times = looks(most)
    last = next(times)
    edge = math.sqrt(2 * threshold(last))
    z = edge * nodes
    mass = edge * weights * np.exp(-z * z / 2) * math.sqrt(2 / math.pi)
    found, mark = {}, 10.0
    for t in times:
        r = math.sqrt(information(last) / information(t))
        s = math.sqrt(1 - r * r)
        edge = math.sqrt(2 * threshold(t))
        new, old = edge * nodes / s, r * z / s
        if s < NEAR:
            density = (np.exp(-0.5 * (new[:, None] - old[window]) ** 2) * mass[window]).sum(1)
            apart = new[low, None] + old[low]
            density[low] += np.exp(-0.5 * apart**2) @ mass[low]
        else:
            density = (
                np.exp(-0.5 * (new[:, None] - old) ** 2)
                + np.exp(-0.5 * (new[:, None] + old) ** 2)
            ) @ mass
        z, last = edge * nodes, t
        mass = edge * weights * density / (s * math.sqrt(2 * math.pi))
        while mark <= t:
            found[round(mark)] = 0.5 * (1 - mass.sum())
            mark *= 10
    found[round(most)] = 0.5 * (1 - mass.sum())
    return found


# ------------------------------------------------------------------ exact rates of a cone


def orthant(n: int, rho: float) -> float:
    """P(all n normals of equal correlations are negative); any rho above -1 / (n - 1).

    A mixture over a common factor; for rho < 0 that factor is imaginary (Steck and Owen 1962).
    """
    if n <= 1 or rho == 0.0:
        return 0.5**n
    a = math.sqrt(abs(rho) / (1.0 - rho))
    fall = 1.0 if rho > 0.0 else 1.0 - n * a * a
    z = np.linspace(-12.0, 12.0, 20_001) / math.sqrt(fall)
    if rho > 0.0:
        value = np.exp(n * log_ndtr(a * z) - z * z / 2)
    else:
        y = a * z / math.sqrt(2)
        part = 0.5 * np.exp(-y * y) + 1j * dawsn(y) / math.sqrt(math.pi)
        value = np.exp(-fall * z * z / 2) * (part**n).real
    return float(value.sum() * (z[1] - z[0]) / math.sqrt(2 * math.pi))


def weights_of(k: int, rho: float) -> np.ndarray:
    """Chi-bar-square weights (k + 1,) of the distance to {k leads <= 0}, equal correlations."""
    found = []
    for j in range(k + 1):
        inverse = -rho / (1.0 + (j - 2) * rho) if j > 1 else 0.0  # of the j that are ahead
        given = rho / (1.0 + j * rho) if j < k - 1 else 0.0  # of the others, given those
        found.append(binom(k, j) * orthant(j, inverse) * orthant(k - j, given))
    return np.array(found)


def rate_of_cone(weights: np.ndarray) -> Callable[[float], float]:
    """-c d/dc of the tail sum_j w_j P(chi2_j >= 2 c)."""
    j = np.arange(1, len(weights))

    def rate(c: float) -> float:
        return float(weights[1:] @ np.exp(j / 2 * math.log(c) - c - gammaln(j / 2)))

    return rate


@lru_cache
def passages(j: int) -> tuple[np.ndarray, np.ndarray]:
    """Radii, and the mean e-folds until the length of j standard normals reaches them."""
    y = np.linspace(1e-4, 9.0, 9_000)
    inverse = chi.cdf(y, j) / chi.pdf(y, j)
    steps = (inverse[1:] + inverse[:-1]) * (y[1] - y[0])
    return y, np.append(0.0, np.cumsum(steps))


def rate_of_passage(weights: np.ndarray) -> Callable[[float], float]:
    """As `rate_of_cone`, which is its limit for large levels.

    Where j metrics are ahead the distance is the length of j normals; the rate at which it gets
    to r is 1 over the mean time that it takes, and smaller than in the limit by about
    1 + j / r^2.
    """

    def rate(c: float) -> float:
        r = math.sqrt(2 * c)
        found = (w / np.interp(r, *passages(j)) for j, w in enumerate(weights) if j > 0)
        return float(sum(found))

    return rate


# ------------------------------------------------------------------ rates of any structure


def naive_square(chart: Chart, u: np.ndarray) -> float:
    """Squared distance of u to where the set is another one, by enumeration."""
    levels = chart.one.levels
    K, d = levels.shape
    values = (chart.T @ u).reshape(K, d)
    T = chart.T.reshape(K, d, -1)
    far = 1e9 * np.abs(values).max()
    inside = pareto((values + far * levels)[None])[0]
    best = float(u @ u)

    def distance(rows: list[np.ndarray]) -> float:
        if not rows:
            return 0.0
        left = nnls(-np.array(rows).T, u)[1]  # what projecting on the polar cone leaves
        return float(u @ u - left * left)

    for i in np.flatnonzero(inside):
        for j in range(K):
            if j != i and (levels[j] >= levels[i]).all():
                ties = np.flatnonzero(levels[j] == levels[i])
                best = min(best, distance([T[j, c] - T[i, c] for c in ties]))
    for z in np.flatnonzero(~inside):
        choices = []
        for x in np.flatnonzero(inside):
            if not (levels[z] > levels[x]).any():
                choices.append([(x, c) for c in np.flatnonzero(levels[z] == levels[x])])
        for some in itertools.product(*choices):
            best = min(best, distance([T[z, c] - T[x, c] for x, c in some]))
    return best


def naive_rate(
    chart: Chart, directions: int, rng: np.random.Generator
) -> Callable[[float], float]:
    """Return the rate at which wrong sets are entered at a level, from uniform directions."""
    if chart.m == 1:
        u = np.array([[-1.0], [1.0]])
    elif chart.m == 2:
        angle = 2 * math.pi * (np.arange(directions) + 0.5) / directions
        u = np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        u = rng.normal(size=(directions, chart.m))
        u /= np.linalg.norm(u, axis=1)[:, None]
    wrong = u[chart.wrong(u)]
    squares = np.array([naive_square(chart, one) for one in wrong])
    squares = squares[squares > 1e-3]

    def rate(c: float) -> float:
        return float(counted(np.sqrt(2 * c / squares), chart.m).sum()) / len(u)

    return rate


# ------------------------------------------------------------------ the rule's own rates


def cone_of(one: Structure) -> tuple[np.ndarray, ...]:
    """Return the arrays of a `TieCone` of the core, as the rule has them."""
    chart = Chart(one)
    some = np.flatnonzero(chart.alive)
    levels, group = one.levels[some], chart.group[:, some]
    K = len(levels)
    at = np.ascontiguousarray(chart.T.reshape(*one.levels.shape, chart.m)[some])
    apart = levels[:, None] - levels[None]
    side = np.where(np.arange(K)[:, None] > np.arange(K), 1.0, -1.0)  # if it does not matter
    state = np.where(apart != 0, np.sign(apart), side[:, :, None])
    state[(group[:, :, None] == group[:, None]).transpose(1, 2, 0)] = 0.0
    truth = levels + 1e-3 * one.sides[some]
    leads = (truth[:, None] > truth[None]).astype(float)
    none, all_ = np.zeros((K, 0)), np.ones((K, K))
    limit = np.zeros((K, 0, chart.m))
    return at, limit, state, state.copy(), none, leads, none.copy(), all_, all_.copy()


def rate_of_rule(one: Structure) -> Callable[[float], float]:
    """Return the rate at a level that the rule works out for the structure."""
    squares, weights = np.zeros(DIRECTIONS), np.zeros(DIRECTIONS)
    found = testing.wrong_in_cone(*cone_of(one), False, squares, weights)
    m = Chart(one).m

    def rate(c: float) -> float:
        return float(weights[:found] @ counted(np.sqrt(2 * c / squares[:found]), m))

    return rate


def level_where(rate: Callable[[float], float], allowed: float, least: float) -> float:
    """Return the largest level, ``least`` or more, at which a rate has fallen so far."""
    high = least + 40.0
    if rate(least) <= allowed:
        return least
    low = least
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rate(middle) > allowed else (low, middle)
    return high


# ------------------------------------------------------------------ what is spent


def levels_of(
    delta: float, rule: Callable[[float], float], most: float = 1e9
) -> tuple[np.ndarray, np.ndarray]:
    """Logs of measurements from 2 to ``most``, and the levels that the rule asks for there."""
    x = np.linspace(math.log(2.0), math.log(most), 160)
    level = []
    for one in x:
        t = math.exp(one)
        wanted = log_spent(calibration(delta), t, t)
        lone = lone_level(wanted)
        level.append(level_where(rule, math.exp(wanted), lone))
    return x, np.array(level)


def spent(x: np.ndarray, level: np.ndarray, rate: Callable[[float], float]) -> float:
    """Integral of the true rate at the rule's levels over e-folds."""
    return float(np.trapezoid([rate(c) for c in level], x))


SHIFT = 0.5826 / math.sqrt(LOOKS_PER_EFOLD)  # -zeta(1/2) / sqrt(2 pi), times what a look moves


def errors(x: np.ndarray, level: np.ndarray, rate: Callable[[float], float]) -> float:
    """Chance to have entered, looks being LOOKS_PER_EFOLD in an e-fold."""
    moved = (np.sqrt(2 * level) + SHIFT) ** 2 / 2
    return -math.expm1(-spent(x, moved, rate))
