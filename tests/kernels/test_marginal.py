"""Evidence of each arm by itself: against exact capitals, and how often false claims pass."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest
from scipy.special import logsumexp, ndtr
from scipy.stats import t as students_t

from psips.aliases import Floats
from psips.kernels.grids import as_grid
from psips.kernels.marginal import (
    BINARY,
    BOUNDED,
    COUNT,
    FLOOR,
    FOURTH,
    KEPT,
    LARGEST,
    LOG_WEIGHTS,
    MEAN,
    MOST,
    NORMAL,
    PLACES,
    RHOS,
    SECOND,
    STAKES,
    STUDENT,
    THIRD,
    TIGHT,
    WIDTH,
    capital,
    counted,
    evidence_apart,
)

SPREAD = 0.2  # of normal values
LAWS = {"normal": NORMAL, "student": STUDENT, "bounded": BOUNDED, "binary": BINARY}


@numba.njit
def capital_of(law: int, arm: Floats, m: float) -> float:
    return capital(law, as_grid(arm), m)


@numba.njit
def evidence_of(law: int, first: Floats, second: Floats, offset: float, enough: float) -> float:
    return evidence_apart(law, as_grid(first), as_grid(second), offset, enough)


def described(x: Floats, law: int, low: float = 0.0, high: float = 1.0) -> Floats:
    """What is known of an arm with values ``x``."""
    arm = np.zeros(PLACES)
    centred = x - x.mean()
    arm[COUNT], arm[MEAN], arm[SECOND] = len(x), x.mean(), (centred**2).mean()
    arm[THIRD], arm[FOURTH] = (centred**3).mean(), (centred**4).mean()
    arm[FLOOR], arm[WIDTH] = low, high - low
    if law == NORMAL:
        arm[SECOND] = SPREAD**2
    return arm


def exact(x: Floats, law: int, m: float, low: float = 0.0, high: float = 1.0) -> float:
    """Log of the capital, from its definition: value by value, or by Student's law."""
    n, e = len(x), x.mean() - m
    parts, weights = [0.0], [KEPT]
    if law in (NORMAL, STUDENT):
        for rho, weight in zip(RHOS, LOG_WEIGHTS, strict=True):
            one = -0.5 * math.log1p(n / rho)
            if law == NORMAL:
                v = n * e / math.sqrt(SPREAD**2 * (n + rho))
                one += math.log(2 * ndtr(v)) + v * v / 2
            else:
                total = ((x - m) ** 2).sum()
                rest = total - (n * e) ** 2 / (n + rho)
                one += n / 2 * math.log(total / rest)
                one += math.log(2 * students_t.cdf(n * e / math.sqrt((n + rho) * rest / n), n))
            parts.append(one)
            weights.append((1 - KEPT) * math.exp(weight))
    else:
        for b in STAKES:
            stake = min(b * (m - low) / (high - low), MOST)
            parts.append(float(np.log1p(stake * (x - m) / (m - low)).sum()))
            weights.append((1 - KEPT) / len(STAKES))
    return float(logsumexp(parts, b=weights))


def values(law: int, n: int, mean: float, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    if law in (NORMAL, STUDENT):
        return rng.normal(mean, SPREAD, n)
    if law == BINARY:
        return (np.arange(n) < round(mean * n)).astype(float)
    return rng.beta(8 * mean, 8 * (1 - mean), n)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("n", [2, 5, 40, 900])
def test_capital_is_at_most_what_it_is_by_definition(law: int, n: int) -> None:
    for seed in range(5):
        x = values(law, n, 0.6, seed)
        for m in (0.05, 0.3, 0.5, 0.58, 0.7):
            found, defined = capital_of(law, described(x, law), m), exact(x, law, m)
            assert math.log(KEPT) - 1e-12 <= found <= defined + 1e-9
            if law in (NORMAL, BINARY):
                assert found == pytest.approx(min(defined, LARGEST + math.log(KEPT)), abs=3.0)
                assert found == pytest.approx(defined, abs=1e-9) or defined > LARGEST - 3.0
            elif law == STUDENT and m < x.mean():
                assert found > min(defined, LARGEST - 3.0) - 0.7  # the bound of its law
            elif law == BOUNDED and 0.5 * x.mean() < m < x.mean():
                share = 0.9 if m > 0.95 * x.mean() else 0.4  # of a mean near m, and far from it
                assert found > share * defined - 0.3


def test_capitals_do_not_increase_in_the_mean_tested() -> None:
    """What the cells rely on, of the exact ones."""
    for law in LAWS.values():
        x = values(law, 60, 0.6, 3)
        found = [exact(x, law, m) for m in np.linspace(0.01, 0.99, 197)]
        assert np.all(np.diff(found) <= 1e-9)


def test_capital_at_the_ends_of_the_range() -> None:
    ones, zeros = described(np.ones(9), BINARY), described(np.zeros(9), BINARY)
    assert capital_of(BINARY, ones, 0.0) == np.inf
    assert capital_of(BINARY, zeros, -0.1) == math.log(KEPT)  # true, and not claimed
    assert capital_of(BINARY, zeros, 0.5) < 0.0
    assert capital_of(BOUNDED, described(np.full(50, 0.99), BOUNDED), 0.01) > 10.0


def test_alike_normal_values_prove_nothing() -> None:
    assert capital_of(STUDENT, described(np.ones(50), STUDENT), 0.0) == math.log(KEPT)


def mirrored(x: Floats, law: int) -> Floats:
    return described(-x, law, -1.0, 0.0)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(
    ("first", "second", "offset"),
    [(60, 60, 0.0), (700, 20, 0.0), (15, 400, 0.0), (99, 80, -0.1)],
)
def test_evidence_is_the_least_over_all_means(
    law: int, first: int, second: int, offset: float
) -> None:
    """Nowhere, over pairs of means that make the claim false, is it less."""
    x, y = values(law, first, 0.75, 1), values(law, second, 0.35, 2)
    i, j = described(x, law), mirrored(y, law)
    found = evidence_of(law, i, j, offset, 0.0)
    grid = np.linspace(0.001, 0.999, 2001)
    up = np.array([capital_of(law, i, m) for m in grid])
    down = np.array([capital_of(law, j, offset - m) for m in grid])
    least = counted_of(law, float(np.min(up + down)))
    assert found > 0.5
    assert found <= least + 1e-9
    assert found >= 0.998 * least - TIGHT - 0.05
    for m in (0.2, 0.4, 0.55, 0.7):  # exact capitals, and means that are not equal
        for further in (m, m + 0.02, m + 0.15):
            both = exact(x, law, m) + exact(-y, law, offset - further, -1.0, 0.0)
            assert found <= counted_of(law, both) + 1e-9


def counted_of(law: int, both: float) -> float:
    return float(counted.py_func(law, both))  # type: ignore[attr-defined]


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_evidence_falls_with_the_offset(law: int) -> None:
    i, j = described(values(law, 80, 0.7, 1), law), mirrored(values(law, 90, 0.4, 2), law)
    found = [evidence_of(law, i, j, o, 0.0) for o in (-0.4, -0.2, 0.0, 0.1, 0.2, 0.5)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == 0.0
    assert evidence_of(law, i, j, 0.0, 1e9) < 1e9  # some number below what is enough


# Sources of values with mean 0 (normal) or between 0 and 1; both arms have the same mean.
GAUSS, EVEN, RARE, COIN = range(4)
# How the evidence is broken.
SOUND, GUESSED, TRUNCATED = range(3)


@numba.njit
def drawn(source: int, rng: Any, arm: int) -> float:
    if source == GAUSS:
        return float(rng.normal() * (1.0 if arm == 0 else 3.0))
    if source == EVEN:
        return float(0.4 + 0.2 * rng.random())
    if source == RARE:
        return 1.0 if rng.random() < 0.03 else 0.0
    return 1.0 if rng.random() < 0.5 else 0.0


@numba.njit
def false_claims(
    rng: Any, law: int, source: int, runs: int, pulls: int, level: float, broken: int
) -> int:
    """How many runs ever claim that the first of two arms with equal means is better.

    Who chooses the arms knows all, and tries: uneven counts while the first is ahead; the arm
    with the better chance otherwise.
    """
    false = 0
    for _ in range(runs):
        S = np.zeros((2, 5))  # counts and sums of powers
        k = 0
        while k < pulls:
            arm = k % 2
            if k > 8 and k % 3 == 0:
                ahead = S[0, 1] / S[0, 0] > S[1, 1] / S[1, 0]
                arm = 1 if ahead and S[1, 0] < 20.0 * S[0, 0] else 0
            x = drawn(source, rng, arm)
            S[arm, 0] += 1.0
            for p in range(1, 5):
                S[arm, p] += x**p
            k += 1
            if S[0, 0] < 2.0 or S[1, 0] < 2.0 or S[0, 1] / S[0, 0] <= S[1, 1] / S[1, 0]:
                continue
            both = np.zeros((2, PLACES))
            for a in range(2):
                n, m = S[a, 0], S[a, 1] / S[a, 0]
                s2, s3, s4 = S[a, 2] / n, S[a, 3] / n, S[a, 4] / n
                sign = 1.0 if a == 0 else -1.0
                both[a, COUNT], both[a, MEAN] = n, sign * m
                both[a, SECOND] = max(s2 - m * m, 0.0)
                both[a, THIRD] = sign * (s3 - 3 * m * s2 + 2 * m**3)
                both[a, FOURTH] = s4 - 4 * m * s3 + 6 * m * m * s2 - 3 * m**4
                both[a, FLOOR], both[a, WIDTH] = 0.0 if a == 0 else -1.0, 1.0
                if broken == TRUNCATED:
                    both[a, FOURTH] = -(both[a, SECOND] ** 2)
            grids = as_grid(both)
            used = NORMAL if broken == GUESSED else law
            if evidence_apart(used, grids[0], grids[1], 0.0, level) >= level:
                false += 1
                break
    return false


RUNS, CHANCE = 1500, 0.01
BOUND = CHANCE * RUNS + 3 * math.sqrt(CHANCE * RUNS)


@pytest.mark.parametrize(
    ("law", "source"),
    [(STUDENT, GAUSS), (BOUNDED, EVEN), (BOUNDED, RARE), (BOUNDED, COIN), (BINARY, RARE),
     (BINARY, COIN)],
)  # fmt: skip
def test_false_claims_pass_their_level_as_rarely_as_promised(law: int, source: int) -> None:
    rng, level = np.random.default_rng(1), -math.log(CHANCE)
    assert false_claims(rng, law, source, RUNS, 1000, level, SOUND) <= BOUND


@pytest.mark.parametrize(
    ("law", "source", "broken"), [(STUDENT, GAUSS, GUESSED), (BOUNDED, RARE, TRUNCATED)]
)
def test_broken_evidence_is_caught(law: int, source: int, broken: int) -> None:
    """An estimated variance taken for known; a bound of the logarithm cut short."""
    rng, level = np.random.default_rng(1), -math.log(CHANCE)
    assert false_claims(rng, law, source, RUNS, 1000, level, broken) > BOUND


@pytest.mark.timeout(60)
@pytest.mark.parametrize("ahead", [1, 2, 3, 5, 9, 100, 3000])
def test_a_search_ends_where_no_number_is_between_two_others(ahead: int) -> None:
    """Cells between neighbours of 1e12 cannot be halved until they are narrow enough."""
    spacing = float(np.spacing(1e12))
    arm = np.zeros(PLACES)
    arm[COUNT], arm[SECOND] = 1e4, spacing**2
    for k in range(20):
        first, second = arm.copy(), arm.copy()
        first[MEAN], second[MEAN] = 1e12 + (ahead + k) * spacing, -1e12 - k * spacing
        found = evidence_of(STUDENT, first, second, 0.0, 0.0)
        near, level = arm.copy(), arm.copy()
        near[MEAN], level[MEAN] = ahead * spacing, 0.0
        assert 0.0 <= found <= 1.3 * evidence_of(STUDENT, near, level, 0.0, 0.0)  # a bound
