"""Calibrations of the stopping rules, and log q(t, delta); see `src/core/thresholds.h`."""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats
from psips.state.model import Model
from psips.state.records import Record, record


@record
class Calibration(Record):
    """A calibration at a confidence; what does not change during a run is in it."""

    code: int
    log_inverse: float  # log(1 / delta)
    kappa: float  # of SHARP
    log_q: Floats  # (n + 1,) log q(t, delta) by |S_hat|, PROVEN only
    extent: float  # max ||a||^2, linear
    bias: float  # sqrt(xi d L_M^2 / (2 lambda_min(Sigma))), linear
    log_rate: float  # MEASURED: log of what is spent in an e-fold of measurements, see `ratio`
    low: float  # .. from this log of measurements
    high: float  # .. to this one


def log_mills(x: float) -> float:
    """Log of R(x) / sqrt(2 pi), R(x) = P(X > x) / f(x): log P(X > x) + x^2 / 2."""
    if x < 25.0:
        return math.log(0.5 * math.erfc(x * 0.7071067811865476)) + 0.5 * x * x
    q = 1.0 / (x * x)
    series = 1.0 - q * (1.0 - 3.0 * q * (1.0 - 5.0 * q * (1.0 - 7.0 * q)))
    return -math.log(x * 2.5066282746310002) + math.log(series)


def log_r(log_inverse: float, size: float) -> float:
    """Log of r(delta, n) = (R(sqrt(2 log(1/delta) / n)) / sqrt(2 pi))^n."""
    return size * log_mills(math.sqrt(2.0 * log_inverse / size))


def log_q(model: Model, log_inverse: float, members: int) -> float:
    """Log of q(t, delta) of Lemma delta_correctness, in its three cases."""
    d = model.d
    if not model.unstructured:
        return log_r(log_inverse, 1.0)
    both = float(d + members)
    if model.diagonal:
        return min(log_r(log_inverse, float(d)), log_r(log_inverse, both))
    sigma_bar = 1.0 / np.linalg.eigvalsh(model.Sigma)[0]
    d_sigma = model.P.sum() / sigma_bar
    log_det = math.log(np.linalg.det(model.Sigma)) + d * math.log(sigma_bar)
    pair = log_r(log_inverse * d_sigma / d, float(d))
    escape = log_r(log_inverse * (d_sigma + members) / both, both)
    return float(-0.5 * log_det + min(pair, escape))
