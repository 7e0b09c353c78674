"""Calibrations against direct transcriptions of the paper's lemmas."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import naive
from core.entries import plain_model
from psips._core import testing
from psips.state.calibration import Calibration, log_q
from psips.state.codes import HEURISTIC, PROVEN, SHARP

beta, lambert_bar = testing.beta, testing.lambert_bar
calibrated = testing.inflation_and_budget


@pytest.mark.parametrize("x", [1.0001, 1.5, 2, 5, 20, 100, 600])
def test_lambert(x: float) -> None:
    w = lambert_bar(x)
    assert w == pytest.approx(naive.lambert_bar(x), rel=1e-7)
    assert w - math.log(w) == pytest.approx(x, rel=1e-12)


def test_lambert_at_and_below_one() -> None:
    assert lambert_bar(1.0) == 1.0
    assert lambert_bar(0.5) == 1.0
    w = lambert_bar(1 + 1e-9)  # where scipy's is good to four digits only
    assert w == pytest.approx(1 + math.sqrt(2e-9), abs=1e-9)


@pytest.mark.parametrize(("K", "d"), [(5, 2), (10, 1), (20, 3)])
@pytest.mark.parametrize("t", [20.0, 100.0, 1e5])
@pytest.mark.parametrize("delta", [0.5, 0.1, 1e-9])
def test_beta_unstructured(K: int, d: int, t: float, delta: float) -> None:
    ours = beta(plain_model(np.eye(d), K=K), calibration(PROVEN, delta), t, -math.log(delta))
    assert ours == pytest.approx(naive.beta_unstructured(K, d, t, delta), rel=1e-9)


@pytest.mark.parametrize(("h", "d", "xi"), [(4, 2, 1.0), (3, 1, 0.1)])
@pytest.mark.parametrize("t", [1.0, 1e4])
def test_beta_linear(h: int, d: int, xi: float, t: float) -> None:
    L_A, L_M, smallest, delta = 1.7, 2.5, 0.4, 0.01
    bias = math.sqrt(xi * d * L_M**2 / (2 * smallest))
    model = plain_model(np.eye(d), A=np.ones((9, h)), xi=xi)
    given = replace(calibration(PROVEN, delta), extent=L_A**2, bias=bias)
    ours = beta(model, given, t, -math.log(delta))
    assert ours == pytest.approx(
        naive.beta_linear(h, d, xi, L_A, L_M, smallest, t, delta), rel=1e-12
    )


@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-30, 1e-300])
@pytest.mark.parametrize("size", [1, 3])
def test_q(delta: float, size: int) -> None:
    log_delta = math.log(delta)
    # 1) diagonal
    model = plain_model(np.diag([1.0, 2.0]), K=5)
    expected = min(naive.r(log_delta, 2), naive.r(log_delta, 2 + size))
    assert log_q(model, -log_delta, size) == pytest.approx(expected, rel=1e-9)
    # 1) correlated
    Sigma = np.array([[1.0, -0.6], [-0.6, 2.0]])
    model = plain_model(Sigma, K=5)
    inverse = np.linalg.inv(Sigma)
    sigma_bar = np.linalg.norm(inverse, 2)
    d_Sigma = np.ones(2) @ np.linalg.inv(sigma_bar * Sigma) @ np.ones(2)
    expected = -0.5 * math.log(np.linalg.det(Sigma * sigma_bar)) + min(
        naive.r(log_delta * d_Sigma / 2, 2),
        naive.r(log_delta * (d_Sigma + size) / (2 + size), 2 + size),
    )
    assert log_q(model, -log_delta, size) == pytest.approx(expected, rel=1e-9)
    # 2) linear, one objective
    model = plain_model(np.eye(1), A=np.eye(3))
    assert log_q(model, -log_delta, size) == pytest.approx(naive.r(log_delta, 1), rel=1e-9)


def calibration(code: int, delta: float, kappa: float = 1.0) -> Calibration:
    table = np.array([math.nan, -1.5, -2.5])
    return Calibration(code, -math.log(delta), kappa, table, 0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("delta", [0.1, 0.01, 1e-6])
@pytest.mark.parametrize("t", [5.0, 1000.0])
def test_heuristic_and_sharp(delta: float, t: float) -> None:
    M = 1 / delta * math.log(t / delta)
    c, log_M = calibrated(plain_model(np.eye(2), K=5), calibration(HEURISTIC, delta), t, 2)
    assert c == pytest.approx(1 + math.log(math.log(t)) / math.log(1 / delta), rel=1e-12)
    assert math.exp(log_M) == pytest.approx(math.ceil(M), rel=1e-9)
    c, log_M = calibrated(plain_model(np.eye(2), K=5), calibration(SHARP, delta, 0.5), t, 2)
    assert c == 1.0
    assert math.exp(log_M) == pytest.approx(math.ceil(M / 2), rel=1e-9)


def test_proven() -> None:
    delta, t = 0.05, 300.0
    c, log_M = calibrated(plain_model(np.eye(2), K=5), calibration(PROVEN, delta), t, 2)
    assert c == pytest.approx(naive.beta_unstructured(5, 2, t, delta / 2) / math.log(1 / delta))
    M = math.log(2 * t**2 * (math.pi**2 / 6) / delta) / (delta * math.exp(-2.5))
    assert math.exp(log_M) == pytest.approx(math.ceil(M), rel=1e-9)


def test_budgets_beyond_floats() -> None:
    tiny = Calibration(HEURISTIC, 2000.0, 1.0, np.zeros(1), 0.0, 0.0, 0.0, 0.0, 0.0)
    c, log_M = calibrated(plain_model(np.eye(2), K=5), tiny, 100.0, 2)
    assert 1 < c < 1.001
    assert log_M == pytest.approx(2000 + math.log(math.log(100) + 2000))
    c, _ = calibrated(plain_model(np.eye(2), K=5), calibration(HEURISTIC, 0.1), 1.0, 2)
    assert c == 1.0  # log log t is not defined yet
