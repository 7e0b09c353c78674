"""Tails and quantiles of laws against SciPy's, over wide grids."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import special, stats

from psips import _core, laws

FREEDOM = np.array([0.5, 1, 1.5, 2, 3, 7, 19, 30, 31.5, 64, 400, 5e3, 1e5])
SHAPES = np.array([0.5, 1, 2, 7.5, 30, 400, 2e4])
P = np.array([1e-30, 1e-12, 1e-6, 1e-3, 0.025, 0.3, 0.5, 0.7, 0.975, 0.999999])


def agree(found: np.ndarray, expected: np.ndarray, rel: float = 1e-10) -> None:
    expected = np.broadcast_to(expected, found.shape)
    told = np.abs(expected) > 1e-250  # SciPy's of less lose their digits
    assert told.sum() > told.size / 4
    np.testing.assert_allclose(found[told], expected[told], rtol=rel)
    assert (found[~told] < 1e-245).all()


def test_normal_tails() -> None:
    z = np.linspace(-38.0, 38.0, 4001)
    below, above = laws.normal_tails(z)
    agree(below, special.ndtr(z))
    agree(above, special.ndtr(-z))


def test_probit() -> None:
    p = np.concatenate([np.logspace(-300, -0.31, 800), 1.0 - np.logspace(-15, -0.31, 200)])
    agree(laws.probit(p), special.ndtri(p))
    near = 0.5 + np.array([-1e-3, -1e-9, 1e-12, 0.2499, 0.2501])
    agree(np.abs(laws.probit(near)), np.abs(special.ndtri(near)))
    assert laws.probit([0.0, 0.5, 1.0]).tolist() == [-np.inf, 0.0, np.inf]


def test_chi_square() -> None:
    f = FREEDOM[:, None]
    x = f * np.concatenate([np.logspace(-6, 2.5, 300), 1.0 + np.linspace(-0.2, 0.2, 81)])
    below, above = laws.chi_square_tails(f, x)
    agree(below, special.gammainc(f / 2, x / 2))
    agree(above, special.gammaincc(f / 2, x / 2))
    agree(laws.chi_square_quantile(f, P), special.chdtri(f, P))


def test_student() -> None:
    f, t = FREEDOM[:, None], np.concatenate([-np.logspace(-3, 8, 200), np.logspace(-3, 8, 200)])
    below, above = laws.students_tails(f, t)
    agree(below, special.stdtr(f, t))
    agree(above, special.stdtr(f, -t))
    agree(np.abs(laws.students_quantile(f, P)), np.abs(stats.t.isf(P, f)))


def test_student_of_one_and_two_degrees() -> None:
    """Cauchy's law, and t / sqrt(2 + t^2): in formulas without cancellation."""
    t = np.logspace(-8, 8, 300)
    cauchy, second = laws.students_tails([[1.0], [2.0]], t)[1]
    np.testing.assert_allclose(cauchy, np.arctan2(1.0, t) / np.pi, rtol=1e-13)
    root = np.sqrt(2.0 + t**2)
    np.testing.assert_allclose(second, 1.0 / (root * (root + t)), rtol=1e-13)


def test_f() -> None:
    above, below = (g.reshape(-1, 1) for g in np.meshgrid(FREEDOM[:-1], FREEDOM[:-1]))
    ratio = np.logspace(-4, 4, 161)
    found = laws.f_tails(above, below, ratio)
    agree(found[0], special.fdtr(above, below, ratio))
    agree(found[1], special.fdtrc(above, below, ratio))


def test_beta() -> None:
    a, b = (g.reshape(-1, 1) for g in np.meshgrid(SHAPES, SHAPES))
    x = np.concatenate([np.logspace(-6, -0.31, 100), 1.0 - np.logspace(-3, -0.31, 60)])
    below, above = laws.beta_tails(a, b, x)
    agree(below, special.betainc(a, b, x))
    agree(above, special.betaincc(a, b, x))
    agree(laws.beta_quantile(a, b, P), special.betainccinv(a, b, P))


@pytest.mark.parametrize("law", ["normal", "chi-square", "student", "beta"])
def test_quantiles_are_the_inverse_of_tails(law: str) -> None:
    shapes = SHAPES if law != "normal" else [1.0]
    rows = np.array(list(product(shapes, shapes, P)))
    at = _core.quantiles(law, rows)
    tails = _core.tails(law, np.column_stack([rows[:, :2], at]))
    p = rows[:, 2]
    smaller = np.where(p <= 0.5, tails[:, 1] / p, tails[:, 0] / (1.0 - p))
    # next to 1 a number cannot say how far from it, which the tail of a beta law depends on
    sure = at < 0.99 if law == "beta" else np.isfinite(at)
    assert sure.mean() > 0.6
    assert np.abs(smaller - 1.0)[sure].max() < 1e-10


def test_ends_and_what_is_not_known() -> None:
    assert laws.chi_square_tails(3.0, [0.0, np.inf])[1].tolist() == [1.0, 0.0]
    assert laws.f_tails(3.0, 4.0, [-1.0, 0.0, np.inf])[1].tolist() == [1.0, 1.0, 0.0]
    assert laws.beta_tails(3.0, 4.0, [-1.0, 0.0, 1.0])[0].tolist() == [0.0, 0.0, 1.0]
    assert laws.students_tails(3.0, [-np.inf, np.inf])[1].tolist() == [1.0, 0.0]
    assert np.isnan(laws.students_tails(np.nan, 1.0)[0])
    assert np.isnan(laws.chi_square_tails(3.0, np.nan)[0])
    assert laws.chi_square_quantile(3.0, [0.0, 1.0]).tolist() == [np.inf, 0.0]
    assert laws.beta_quantile(3.0, 2.0, [0.0, 1.0]).tolist() == [1.0, 0.0]
    assert np.isnan(laws.beta_quantile(3.0, 2.0, 1.5))


@pytest.mark.parametrize("freedom", [0.0, -1.0, 1e10])
def test_what_is_no_law(freedom: float) -> None:
    with pytest.raises(ValueError, match="above 0 and up to 1e9"):
        laws.chi_square_tails(freedom, 1.0)
    with pytest.raises(ValueError, match="the laws are"):
        _core.tails("cauchy", np.ones((1, 3)))


def test_shapes_go_together() -> None:
    below, above = laws.students_tails(np.ones((4, 1)), np.zeros(3))
    assert below.shape == above.shape == (4, 3)
    assert laws.probit(0.975).shape == ()
