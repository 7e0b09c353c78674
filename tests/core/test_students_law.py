"""Quantiles of Student's law against SciPy's."""

from __future__ import annotations

import pytest
from scipy import stats

from psips._core import students_quantile


@pytest.mark.parametrize("p", [1e-12, 1e-6, 1e-3, 0.05, 0.3, 0.49])
def test_quantiles(p: float) -> None:
    for freedom in (0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 30.0, 400.0, 5e3, 1e5):
        assert students_quantile(freedom, p) == pytest.approx(stats.t.isf(p, freedom), rel=1e-8)


@pytest.mark.parametrize(
    ("freedom", "p"), [(0.0, 0.1), (-1.0, 0.1), (1e10, 0.1), (2.0, 0.0), (2.0, 0.6)]
)
def test_what_has_no_quantile(freedom: float, p: float) -> None:
    with pytest.raises(ValueError, match="expected freedom"):
        students_quantile(freedom, p)
