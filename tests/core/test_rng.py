"""Random numbers: their laws, and that a stream is a function of key, counter and purpose."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_ndtr

import laws
from psips._core import testing


def stream(counter: int = 0, purpose: int = 1, key: tuple[int, int] = (5, 8)) -> np.ndarray:
    made = np.empty(4, np.uint64)
    testing.seed(made, np.array(key, np.uint64), counter, purpose)
    return made


def many(kind: str, n: int, parameter: float = 0.0, counter: int = 0) -> np.ndarray:
    out = np.empty(n)
    testing.fill(kind, stream(counter), parameter, out)
    return out


def normal_laws(x: np.ndarray) -> list[float]:
    """p-values: the whole law, its width, far tails (a branch of the ziggurat), sign."""
    tails = [
        stats.binomtest(int((np.abs(x) > far).sum()), len(x), 2 * stats.norm.sf(far)).pvalue
        for far in (2.0, 3.0, 3.6541528853610088, 4.2)
    ]
    sign = stats.binomtest(int((x > 0).sum()), len(x)).pvalue
    width = math.erfc(abs((x**2).mean() - 1) * math.sqrt(len(x)) / 2)
    return [stats.kstest(x, "norm").pvalue, width, *tails, sign]


def test_normals() -> None:
    x = many("normal", 1_000_000)
    assert min(normal_laws(x)) > laws.FAIR
    beyond = np.abs(x[np.abs(x) > 3.6541528853610088])
    assert stats.kstest(stats.norm.sf(beyond) / stats.norm.sf(3.6541528853610088), "uniform")[
        1
    ] > (laws.FAIR)


def test_normals_a_little_too_wide_are_caught() -> None:
    assert min(normal_laws(1.005 * many("normal", 1_000_000))) < laws.CAUGHT


def test_normals_without_their_tail_are_caught() -> None:
    assert min(normal_laws(np.clip(many("normal", 1_000_000), -3.65, 3.65))) < laws.CAUGHT


def test_uniforms_and_exponentials() -> None:
    u = many("uniform", 1_000_000)
    assert stats.kstest(u, "uniform").pvalue > laws.FAIR
    assert 0 < u.min() < u.max() < 1
    assert stats.kstest(many("exponential", 1_000_000), "expon").pvalue > laws.FAIR


@pytest.mark.parametrize("bound", [-1.0, 0.0, 0.5, 3.0, 10.0, 40.0])
def test_normals_above_a_bound(bound: float) -> None:
    x = many("normal_above", 200_000, bound)
    assert x.min() >= bound
    above = np.exp(log_ndtr(-x) - log_ndtr(-bound))  # uniform if the law is right
    assert stats.kstest(above, "uniform").pvalue > laws.FAIR
    broken = bound + 1.02 * (x - bound)
    assert (
        stats.kstest(np.exp(log_ndtr(-broken) - log_ndtr(-bound)), "uniform")[1] < laws.CAUGHT
    )


@pytest.mark.parametrize("p", [0.3, 0.01])
def test_geometric_draws(p: float) -> None:
    index = np.exp(many("log_geometric", 200_000, math.log(p)))
    assert np.allclose(index, np.rint(index), rtol=1e-9)
    index = np.rint(index)
    assert index.min() == 1
    assert laws.geometric(index, p) > laws.FAIR
    assert laws.geometric(index + 1, p) < laws.CAUGHT  # counting from 0, or from 2
    assert laws.geometric(index, 1.03 * p) < laws.CAUGHT


@pytest.mark.parametrize("log_p", [-26.9, -27.1, -40.0, -2000.0])
def test_geometric_draws_of_tiny_probabilities(log_p: float) -> None:
    waited = np.exp(many("log_geometric", 100_000, log_p) + log_p)
    assert stats.kstest(waited, "expon").pvalue > laws.FAIR
    assert stats.kstest(1.03 * waited, "expon").pvalue < laws.CAUGHT


def test_a_certain_success_comes_first() -> None:
    assert (many("log_geometric", 5, 0.0) == 0.0).all()


def test_log_tail() -> None:
    r = np.concatenate([np.linspace(-8, 60, 2001), [24.999999, 25.0, 100.0, 1e4, 1e8]])
    out = r.copy()
    testing.fill("log_tail", stream(), 0.0, out)
    assert np.allclose(out, log_ndtr(-r), rtol=1e-9, atol=1e-15)


def test_a_stream_depends_on_all_it_is_named_by() -> None:
    names = [(0, 1, (5, 8)), (1, 1, (5, 8)), (0, 2, (5, 8)), (0, 1, (5, 9)), (0, 1, (6, 8))]
    names += [(1, 0, (5, 8)), (0, 1, (8, 5)), (2**40, 1, (5, 8))]
    samples = []
    for name in names:
        out = np.empty(100_000)
        testing.fill("normal", stream(*name), 0.0, out)
        samples.append(out)
    for i in range(len(samples)):
        for j in range(i):
            assert laws.correlation(samples[i], samples[j]) > laws.FAIR
    assert laws.correlation(samples[0], samples[0] + 20 * samples[1]) < laws.CAUGHT


def test_first_draws_of_consecutive_streams_are_independent() -> None:
    first = np.array([many("normal", 1, counter=counter)[0] for counter in range(20_000)])
    assert stats.kstest(first, "norm").pvalue > laws.FAIR
    assert laws.correlation(first[1:], first[:-1]) > laws.FAIR


def test_a_stream_repeats_to_the_bit() -> None:
    assert (many("normal", 1000, counter=3) == many("normal", 1000, counter=3)).all()
    assert (many("normal", 1000, counter=3) != many("normal", 1000, counter=4)).any()
