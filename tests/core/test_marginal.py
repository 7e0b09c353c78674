"""Evidence of each arm by itself: against exact capitals, and how often false claims pass."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logsumexp, ndtr
from scipy.stats import t as students_t

from psips._core import testing
from psips.aliases import Floats

KEPT, MOST, LARGEST_EXPONENT, TIGHT = (
    testing.KEPT,
    testing.MOST_STAKED,
    testing.LARGEST_EXPONENT,
    testing.TIGHT,
)
RHOS, LOG_WEIGHTS, STAKES = testing.RHOS, testing.LOG_WEIGHTS, testing.STAKES
NORMAL, STUDENT, BOUNDED, BINARY = range(4)  # what is known of values
COUNT, MEAN, SECOND, THIRD, FOURTH, FLOOR, WIDTH = range(7)  # places in what is known of an arm
PLACES = 7
SPREAD = 0.2  # of normal values
LAWS = {"normal": NORMAL, "student": STUDENT, "bounded": BOUNDED, "binary": BINARY}


def evidence_of(law: int, first: Floats, second: Floats, offset: float, enough: float) -> float:
    return float(testing.capital_evidence(law, first[None], second[None], offset, enough)[0])


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
            found, defined = testing.capital(law, described(x, law), m), exact(x, law, m)
            assert math.log(KEPT) - 1e-12 <= found <= defined + 1e-9
            if law in (NORMAL, BINARY):
                assert found == pytest.approx(
                    min(defined, LARGEST_EXPONENT + math.log(KEPT)), abs=3.0
                )
                assert (
                    found == pytest.approx(defined, abs=1e-9)
                    or defined > LARGEST_EXPONENT - 3.0
                )
            elif law == STUDENT and m < x.mean():
                assert (
                    found > min(defined, LARGEST_EXPONENT - 3.0) - 0.7
                )  # the bound of its law
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
    assert testing.capital(BINARY, ones, 0.0) == np.inf
    assert testing.capital(BINARY, zeros, -0.1) == math.log(KEPT)  # true, and not claimed
    assert testing.capital(BINARY, zeros, 0.5) < 0.0
    assert testing.capital(BOUNDED, described(np.full(50, 0.99), BOUNDED), 0.01) > 10.0


def test_alike_normal_values_prove_nothing() -> None:
    assert testing.capital(STUDENT, described(np.ones(50), STUDENT), 0.0) == math.log(KEPT)


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
    up = np.array([testing.capital(law, i, m) for m in grid])
    down = np.array([testing.capital(law, j, offset - m) for m in grid])
    least = testing.counted(law, float(np.min(up + down)))
    assert found > 0.5
    assert found <= least + 1e-9
    assert found >= 0.998 * least - TIGHT - 0.05
    for m in (0.2, 0.4, 0.55, 0.7):  # exact capitals, and means that are not equal
        for further in (m, m + 0.02, m + 0.15):
            both = exact(x, law, m) + exact(-y, law, offset - further, -1.0, 0.0)
            assert found <= testing.counted(law, both) + 1e-9


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


def drawn(source: int, rng: np.random.Generator, arm: Floats) -> Floats:
    """One value of each arm of ``arm`` (runs,)."""
    if source == GAUSS:
        return rng.normal(size=len(arm)) * np.where(arm == 0, 1.0, 3.0)
    u = rng.random(len(arm))
    if source == EVEN:
        return 0.4 + 0.2 * u
    return (u < (0.03 if source == RARE else 0.5)).astype(float)


def moments(S: Floats, sign: float, broken: int) -> Floats:
    """What is known of arms with the counts and sums of powers S (runs, 5)."""
    arms = np.zeros((len(S), PLACES))
    n, m = S[:, 0], S[:, 1] / S[:, 0]
    s2, s3, s4 = (S[:, 2:] / n[:, None]).T
    arms[:, COUNT], arms[:, MEAN] = n, sign * m
    arms[:, SECOND] = np.maximum(s2 - m * m, 0.0)
    arms[:, THIRD] = sign * (s3 - 3 * m * s2 + 2 * m**3)
    arms[:, FOURTH] = s4 - 4 * m * s3 + 6 * m * m * s2 - 3 * m**4
    arms[:, FLOOR], arms[:, WIDTH] = (0.0 if sign > 0 else -1.0), 1.0
    if broken == TRUNCATED:
        arms[:, FOURTH] = -(arms[:, SECOND] ** 2)
    return arms


def false_claims(
    rng: np.random.Generator,
    law: int,
    source: int,
    runs: int,
    pulls: int,
    level: float,
    broken: int,
) -> int:
    """How many runs ever claim that the first of two arms with equal means is better.

    Who chooses the arms knows all, and tries: uneven counts while the first is ahead; the arm
    with the better chance otherwise.
    """
    used = NORMAL if broken == GUESSED else law
    every, claimed = np.arange(runs), np.zeros(runs, bool)
    S = np.zeros((runs, 2, 5))  # counts and sums of powers
    for k in range(pulls):
        arm = np.full(runs, k % 2)
        if k > 8 and k % 3 == 0:
            ahead = S[:, 0, 1] / S[:, 0, 0] > S[:, 1, 1] / S[:, 1, 0]
            arm = (ahead & (S[:, 1, 0] < 20.0 * S[:, 0, 0])).astype(int)
        x = drawn(source, rng, arm)
        S[every, arm] += x[:, None] ** np.arange(5)
        if k < 3:
            continue
        looked = ~claimed & (S[:, 0, 1] / S[:, 0, 0] > S[:, 1, 1] / S[:, 1, 0])
        first, second = (moments(S[looked, a], 1.0 - 2.0 * a, broken) for a in range(2))
        claimed[looked] = testing.capital_evidence(used, first, second, 0.0, level) >= level
    return int(claimed.sum())


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
