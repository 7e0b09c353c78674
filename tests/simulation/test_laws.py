"""Whole runs: first-hit draws and the published loop stop at times of the same law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from psips.lab.instances import instance
from psips.simulation import simulate_many

RUNS = 800


def stopping_times(name: str, seed: int, **rules: object) -> np.ndarray:
    params = {"rho": -0.9} if name == "correlated" else {}
    summary = simulate_many(instance(name, **params), runs=RUNS, seed=seed, **rules)
    assert summary.stopped == RUNS
    return np.array([run.results for run in summary.each])


@pytest.mark.parametrize("name", ["correlated", "rotated"])
def test_stopping_times(name: str) -> None:
    common = {"sampling": "posterior", "delta": 0.1}
    literal = stopping_times(name, 1, draws="literal", **common)
    again = stopping_times(name, 2, draws="literal", **common)
    first_hit = stopping_times(name, 3, draws="first-hit", **common)
    assert stats.ks_2samp(literal, again).pvalue > 1e-3  # the control
    assert stats.ks_2samp(literal, first_hit).pvalue > 1e-3
    eager = stopping_times(name, 4, draws="first-hit", sampling="posterior", delta=0.15)
    assert stats.ks_2samp(literal, eager).pvalue < 1e-3  # a budget of two thirds is caught
