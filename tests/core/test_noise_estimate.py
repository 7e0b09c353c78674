"""The covariance of an arm's mean: against direct formulas, with and without missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from psips import NoiseGuess, Problem, Session
from psips._core import students_share, testing
from psips.aliases import Floats
from psips.session.joint import _of_binary
from psips.state.belief import NoiseEstimate, empty_noise_estimate
from psips.state.posterior import Posterior, posterior_of

D, K = 3, 2
MIX = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [-0.5, 0.5, 0.7]])


def feed(
    problem: Problem, arms: Any, rows: Floats, level: float
) -> tuple[NoiseEstimate, Floats]:
    """Take in results; return the scatter and the means."""
    model = problem.model
    s = empty_noise_estimate(model)
    s.level[0] = level
    N, theta = np.zeros(problem.K), np.zeros((problem.K, problem.d))
    sums = np.zeros((problem.K, problem.d))
    for arm, row in zip(arms, problem.inward(problem.compared(rows)), strict=True):
        N[arm] += 1
        sums[arm] += row
        theta[arm] = sums[arm] / N[arm]
        testing.take_in(model.noise, s, N, arm, row, theta)
    return s, theta


def make(covariance: Any, **more: Any) -> Problem:
    objectives = {"a": "max", "b": "min", "c": "max"}
    return Problem(objectives=objectives, covariance=covariance, arms=K, **more)


def results(seed: int, n: int, missing: float = 0.0) -> tuple[Any, Floats]:
    rng = np.random.default_rng(seed)
    arms = rng.integers(0, K, n)
    rows = 1e4 + rng.normal(size=(n, D)) @ MIX.T * (1 + arms[:, None])
    rows[rng.random((n, D)) < missing] = np.nan
    keep = ~np.isnan(rows).all(axis=1)
    return arms[keep], rows[keep]


def drawn_to_zero(S: Floats, freedom: float) -> Floats:
    """Naive: correlations shrunk by d + 1 results."""
    shrunk = S * freedom / (freedom + D + 1)
    return np.where(np.eye(D) > 0, S, shrunk)


def naive(
    problem: Problem, arms: Any, rows: Floats, arm: int, level: float
) -> tuple[Floats, float]:
    """Covariance of the mean of an arm, results without missing values."""
    x = problem.inward(rows)
    scatter, freedom = np.zeros((D, D)), 0.0
    guess, worth = np.zeros((D, D)), 0.0
    if problem.noise_guess is not None:
        turn = np.outer(problem.signs, problem.signs)
        guess, worth = problem.usual_covariance * turn, problem.noise_guess.results
    for a in range(K) if problem.noise == "estimate" else [arm]:
        own = x[arms == a]
        scatter += (own - own.mean(axis=0)).T @ (own - own.mean(axis=0)) + worth * guess
        freedom += len(own) - 1 + worth
    Sigma = drawn_to_zero(scatter / freedom, freedom)
    share = students_share(freedom - (D - 1), level)
    return Sigma * share / (arms == arm).sum(), freedom - (D - 1)


@pytest.mark.parametrize("word", ["estimate", "per-arm"])
@pytest.mark.parametrize("guess", [None, NoiseGuess([1, 2, 3], 2.5)])
def test_estimated(word: str, guess: NoiseGuess | None) -> None:
    problem = make(word, noise_guess=guess)
    arms, rows = results(1, 60)
    s, _ = feed(problem, arms, rows, 7.0)
    for arm in range(K):
        expected, freedom = naive(problem, arms, rows, arm, 7.0)
        assert s.freedom[arm] == pytest.approx(freedom)
        assert s.C[arm] == pytest.approx(expected, rel=1e-8)


def test_estimates_do_not_depend_on_the_order_of_other_arms() -> None:
    problem = make("per-arm")
    arms, rows = results(2, 60)
    s, _ = feed(problem, arms, rows, 7.0)
    order = np.argsort(arms, kind="stable")
    again, _ = feed(problem, arms[order], rows[order], 7.0)
    assert np.array_equal(s.C, again.C)


@pytest.mark.parametrize("each", [False, True])
def test_known_noise_with_missing_values_is_weighted_least_squares(each: bool) -> None:
    Sigma = MIX @ MIX.T
    problem = make([Sigma, 4 * Sigma] if each else Sigma, partial=True)
    arms, rows = results(3, 50, missing=0.3)
    s, theta = feed(problem, arms, rows, 7.0)
    for arm in range(K):
        # One linear model for every value there is, solved as a whole.
        own = rows[arms == arm]
        design = np.concatenate([np.eye(D)[~np.isnan(row)] for row in own])
        values = np.concatenate([row[~np.isnan(row)] for row in own])
        noise = np.zeros((len(values), len(values)))
        at = 0
        for row in own:
            seen = ~np.isnan(row)
            end = at + seen.sum()
            factor = 4.0 if each and arm == 1 else 1.0
            noise[at:end, at:end] = factor * Sigma[np.ix_(seen, seen)]
            at = end
        precision = design.T @ np.linalg.solve(noise, design)
        mean = np.linalg.solve(precision, design.T @ np.linalg.solve(noise, values))
        turn = np.outer(problem.signs, problem.signs)
        assert theta[arm] == pytest.approx(problem.inward(mean), rel=1e-12)
        assert s.C[arm] == pytest.approx(np.linalg.inv(precision) * turn, rel=1e-9)


def test_estimated_noise_with_missing_values() -> None:
    problem = make("per-arm", partial=True)
    arms, rows = results(4, 400, missing=0.2)
    s, theta = feed(problem, arms, rows, 0.0)
    whole = feed(make("per-arm"), *results(4, 400), 0.0)[0]
    for arm in range(K):
        own = rows[arms == arm]
        plain = problem.inward(np.nanmean(own, axis=0))
        assert np.abs(theta[arm] - plain).max() < 0.5
        assert np.all(np.diag(s.C[arm]) > 0.9 * np.diag(whole.C[arm]))
        assert np.all(np.linalg.eigvalsh(s.C[arm]) > 0)
    # Without missing values the two ways agree.
    arms, rows = results(4, 60)
    with_room = feed(problem, arms, rows, 7.0)
    without = feed(make("per-arm"), arms, rows, 7.0)
    assert pytest.approx(without[0].C, rel=1e-9) == with_room[0].C
    assert with_room[1] == pytest.approx(without[1], rel=1e-12)


def test_nothing_is_known_of_too_few_results() -> None:
    problem = make("per-arm")
    assert problem.model.noise.least == D + 1
    arms, rows = results(5, 60)
    first = np.flatnonzero(arms == 0)
    for n, known in ((D, False), (D + 1, True)):
        s, _ = feed(problem, arms[first[:n]], rows[first[:n]], 7.0)
        assert (s.freedom[0] >= 1) == known
    rows[:, 1] = 3.0  # an arm that has always the same value
    assert feed(problem, arms, rows, 7.0)[0].freedom.tolist() == [0, 0]


def test_binary_values_never_seem_to_be_certain() -> None:
    problem = Problem(objectives={"failed": {"direction": "min", "kind": "binary"}},
                      covariance="per-arm", arms=2)  # fmt: skip
    s, _ = feed(problem, [0] * 8, np.zeros((8, 1)), 0.0)
    assert s.C[0, 0, 0] == pytest.approx(0.1 * 0.9 / 8)
    s, _ = feed(problem, [0] * 8, np.ones((8, 1)), 0.0)
    assert s.C[0, 0, 0] == pytest.approx(0.1 * 0.9 / 8)


@pytest.mark.parametrize("direction", ["max", "min"])
@pytest.mark.parametrize(
    ("word", "first", "second", "expected"),
    [
        ("per-arm", [0, 0, 0], [1, 0], 1 / 5 * 4 / 5),  # no 1 in 3: as 1 in 5
        ("per-arm", [1, 1, 1], [1, 0], 4 / 5 * 1 / 5),
        ("per-arm", [0, 1, 1, 1], [0, 0], 4 / 6 * 2 / 6),
        ("estimate", [0, 0, 0], [0, 0], 1 / 7 * 6 / 7),  # of all arms together
        ("estimate", [1, 0, 1], [1, 1], 5 / 7 * 2 / 7),
    ],
)
def test_the_variance_of_binary_values_has_one_of_each_added(
    direction: str, word: str, first: list[int], second: list[int], expected: float
) -> None:
    problem = Problem(
        objectives={"ok": {"direction": direction, "kind": "binary"}}, covariance=word, arms=2
    )
    arms = [0] * len(first) + [1] * len(second)
    s, _ = feed(problem, arms, np.array([*first, *second], float)[:, None], 0.0)
    assert s.C[0, 0, 0] == pytest.approx(expected / len(first))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_same_of_a_fit_and_of_items(sign: float) -> None:
    assert _of_binary(sign * np.zeros(3)) == pytest.approx(1 / 5 * 4 / 5)
    assert _of_binary(sign * np.array([0.0, 1.0, 1.0, 1.0])) == pytest.approx(4 / 6 * 2 / 6)
    problem = Problem(
        objectives={"ok": {"direction": "max" if sign > 0 else "min", "kind": "binary"}},
        arms=2,
        items=True,
    )
    engine = Session(problem, rng=1).engine
    values = [(0, 1.0), (0, 1.0), (0, 1.0), (1, 0.0), (1, 1.0)]
    for arm, x in values:
        engine.learn(arm, np.array([sign * x]))
    engine.between[:] = 0.1
    floor = np.array([[4 / 5 * 1 / 5], [2 / 4 * 2 / 4]])
    found = engine._at_least(np.array([[0.0], [0.0]]), np.array([0.3]))
    assert found == pytest.approx(0.3 / 0.4 * floor)  # what items share is not in it
    large = np.array([[0.2], [0.24]])
    assert engine._at_least(large.copy(), np.array([0.3])) == pytest.approx(large)


@pytest.mark.parametrize("freedom", [2, 3, 5, 10, 30, 100])
@pytest.mark.parametrize("level", [5.0, 8.0, 14.0])
def test_students_tail(freedom: int, level: float) -> None:
    exact = stats.t.isf(stats.norm.sf(np.sqrt(level)), freedom) ** 2 / level
    share = students_share(float(freedom), level)
    assert exact * 0.999 <= share <= exact * (2.4 if freedom < 5 else 1.15)


def growth_of(p: Posterior, R: Floats) -> float:
    return testing.variance_growth(p, R)


@pytest.mark.parametrize("covariance", ["per-arm", np.eye(D)])
def test_growth_bounds_every_variance(covariance: Any) -> None:
    model = make(covariance).model
    rng = np.random.default_rng(1)
    p = posterior_of(model, np.ones(K), np.zeros((K, D)), np.zeros((0, 0)))
    for size in (0.1, 1.0):
        then = np.array([np.eye(D) + np.tril(rng.normal(size=(D, D)), -1) for _ in range(K)])
        p.R[:] = then
        assert growth_of(p, then) == 1.0
        p.R[:] = then + size * np.tril(rng.uniform(size=(K, D, D)))
        X = np.linalg.solve(then, p.R)
        M = X @ np.swapaxes(X, 1, 2)
        if not isinstance(covariance, str):
            assert growth_of(p, then) == 1.0  # known: precision only grows
            continue
        expected = 1.0 + max(np.linalg.norm(one - np.eye(D)) for one in M)
        assert growth_of(p, then) == pytest.approx(expected)
        assert growth_of(p, then) >= np.linalg.eigvalsh(M).max()
