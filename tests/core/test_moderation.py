"""Variances of many arms that inform each other: law, estimate, and what it may not do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from psips import Problem, Session
from psips._core import least_freedom
from psips.problem.instances import Instance
from psips.simulation import simulate
from psips.simulation.environments import environment_of
from psips.state.belief import DEGREES, LEAST, VARIANCE

GRID = 2.0 ** np.arange(9)


def session_of(sd: np.ndarray, results: int, seed: int, delta: float = 0.1) -> Session:
    """A session told so many results of each arm, all at once at the end."""
    rng = np.random.default_rng(seed)
    made = Problem(arms=len(sd), objectives=["x"], covariance="per-arm")
    session = Session(made, delta=delta, rng=1)
    for _ in range(results):
        for arm in range(len(sd)):
            session.engine.learn(arm, rng.normal(0.0, sd[arm], 1))
    return session


def naive_prior(s2: np.ndarray, nu: np.ndarray) -> tuple[float, float]:
    """s0^2 and d0 by the densities of SciPy."""
    centre = np.mean(np.log(s2) - special.digamma(nu / 2) + np.log(nu / 2))
    scales = np.exp(centre + special.digamma(GRID / 2) - np.log(GRID / 2))
    fits = [
        stats.f.logpdf(s2 / scale, nu, d0).sum() + np.log(s2 / scale).sum()
        for d0, scale in zip(GRID, scales, strict=True)
    ]
    at = int(np.flatnonzero(np.array(fits) >= max(fits) - 2.0)[0])
    return (scales[at], GRID[at]) if at else (0.0, 0.0)


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.5])
@pytest.mark.parametrize("K", [7, 40])
def test_prior_by_densities(spread: float, K: int) -> None:
    rng = np.random.default_rng(K)
    session = session_of(2.0 * np.exp(spread * rng.normal(size=K)), 5, 3)
    noise = session.engine.belief.noise_estimate
    # the prior is estimated when the results have grown: the last time, at this many
    session.engine.belief.noise_estimate.fitted[1] = 0.0
    session.engine.learn(0, np.array([0.1]))
    n = noise.count[:, 0, 0]
    s2 = (noise.cross[:, 0, 0] - noise.sums[:, 0, 0] ** 2 / n) / (n - 1)
    variance, degrees = naive_prior(s2, n - 1)
    assert noise.prior[DEGREES, 0] == degrees
    assert noise.prior[VARIANCE, 0] == pytest.approx(variance, rel=1e-9)


def variances(session: Session) -> tuple[np.ndarray, np.ndarray]:
    """Variance of one result of each arm, as estimated, and its degrees of freedom."""
    engine = session.engine
    pulls = engine.belief.pulls
    return engine.covariances()[:, 0, 0] * pulls, engine.belief.noise_estimate.freedom


def test_alike_arms_inform_each_other_and_few_or_unlike_ones_do_not() -> None:
    many, freedom = variances(session_of(np.ones(100), 4, 1))
    assert np.median(freedom) >= 8.0
    assert np.std(np.log(many)) < 0.5
    _, freedom = variances(session_of(np.ones(5), 4, 1))
    assert np.allclose(freedom, 3.0)
    unlike, freedom = variances(session_of(np.exp(3 * np.linspace(-1, 1, 40)), 4, 1))
    assert freedom.max() <= 5.0
    assert np.std(np.log(unlike)) > 1.0


def test_an_arm_that_is_far_noisier_keeps_its_own_variance() -> None:
    sd = np.ones(100)
    sd[17] = 10.0
    for seed in range(5):
        found, freedom = variances(session_of(sd, 8, seed))
        assert found[17] > 20.0
        assert freedom[17] == 7.0
        assert np.delete(found, 17).max() < 6.0


@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_few_results_are_not_taken_for_ordinary(delta: float) -> None:
    """Below the least number of degrees of freedom an arm has its own variance."""
    nu = least_freedom(delta)
    assert stats.chi2.cdf(0.04 * nu, nu) <= delta / 2 * 1.05
    assert stats.chi2.cdf(0.04 * (nu - 1), nu - 1) > delta / 2
    session = session_of(np.ones(50), int(nu), 2, delta)
    noise = session.engine.belief.noise_estimate
    assert noise.prior[LEAST, 0] == nu
    assert np.all(noise.freedom == nu - 1)
    for arm in range(50):
        session.engine.learn(arm, np.array([0.3 * arm % 1.0]))
    assert np.median(noise.freedom) > nu


def ordinary(delta: float, results: int, runs: int) -> int:
    """In how many runs an arm that is ten times as noisy passes for an ordinary one."""
    sd = np.ones(20)
    sd[7] = 10.0
    taken = 0
    for seed in range(runs):
        noise = session_of(sd, results, seed, delta).engine.belief.noise_estimate
        taken += noise.freedom[7] > results - 1
    return taken


def test_a_noisy_arm_seldom_passes_for_an_ordinary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """In at most half of delta; if two results were enough, in 16%."""
    results = int(least_freedom(0.1)) + 1
    assert ordinary(0.1, results, 300) <= stats.binom.ppf(0.999, 300, 0.05)
    monkeypatch.setattr("psips.session.engine.least_freedom", lambda _: 1.0)
    assert ordinary(0.1, 2, 300) > stats.binom.ppf(0.999, 300, 0.05)


def test_a_noisy_best_arm_is_found() -> None:
    """Twenty arms, the best of which is ten times as noisy as the others."""
    mu = -0.002 * np.arange(20.0)[:, None]
    mu[7] += 1.0
    sd = np.full(20, 0.1)
    sd[7] = 1.0
    shared: dict[str, Any] = {"arms": 20, "objectives": ["x"], "epsilon": 0.5}
    truth = Instance("", Problem(covariance=sd[:, None, None] ** 2, **shared), mu)
    asked = Problem(covariance="per-arm", **shared)
    sets = [simulate(asked, environment_of(truth), rng=seed) for seed in range(60)]
    assert sum(not truth.is_right(one.candidate_set) for one in sets) <= 6


def test_many_options_with_few_results_each() -> None:
    """The price of unknown noise for 100 options with some eight results each."""
    ratios = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        mu = rng.normal(size=(100, 2))
        shared = {"arms": 100, "objectives": ["x", "y"], "epsilon": 0.1}
        truth = Instance("", Problem(covariance=np.full(2, 0.35**2), **shared), mu)
        asked = Problem(covariance="per-arm", **shared)
        known, unknown = (
            simulate(problem, environment_of(truth), rng=seed).results
            for problem in (truth.problem, asked)
        )
        ratios.append(unknown / known)
    assert np.median(ratios) <= 1.4
