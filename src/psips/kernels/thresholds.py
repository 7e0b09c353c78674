"""Calibrations: the inflation c(t, delta), the budget M(t, delta) and the threshold beta.

``heuristic`` and ``proven`` are the paper's; ``sharp`` is measured, not proven.

With a tolerance the proofs stand. That of beta says how far theta_hat is from the truth, at all
times: if S_hat is not right, the truth is in Alt(S_hat), and the likelihood ratio below beta.
That of the draws bounds the posterior mass of Alt(S_hat) from below, if the truth is in it, by
the points whose leads in the half-spaces of one piece are at least those of the truth; offsets
of the half-spaces do not enter.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats
from psips.kernels.belief import Belief
from psips.kernels.codes import MEASURED as MEASURED
from psips.kernels.codes import PROVEN as PROVEN
from psips.kernels.codes import SHARP
from psips.kernels.front import MEMBERS, Front
from psips.kernels.grids import floats
from psips.kernels.jit import part
from psips.kernels.model import Model
from psips.kernels.records import Record, record

# Places in the estimate of Algorithm 2: p_t and C_t.
SPREAD, CENTRE = range(2)

S = 2.0  # the exponent s > 1 of the peeling, zeta(2) = pi^2 / 6
LOG_ZETA = math.log(math.pi**2 / 6.0)


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


@part
def lambert_bar(x: float) -> float:
    """W-bar_{-1}(x) = -W_{-1}(-e^-x), x >= 1: the root w >= 1 of w - log w = x."""
    if x <= 1.0:
        return 1.0
    w = x + math.log(x) + min(0.5, 1.0 / math.sqrt(x))
    for _ in range(60):
        step = (w - math.log(w) - x) / (1.0 - 1.0 / w)
        w -= step
        if abs(step) <= 1e-14 * w:
            break
    return w


@part
def beta(model: Model, calibration: Calibration, t: float, log_inverse: float) -> float:
    """Lemma concentration_threshold at confidence delta = exp(-log_inverse)."""
    K, h, d = model.K, model.h, model.d
    if model.unstructured:
        peel = math.log(1.0 + d / (2.0 * S) * math.log(max(t, K) / K))
        x = 2.0 / (d * K) * (K * S + K * LOG_ZETA + log_inverse) + 2.0 * S / d * peel + 1.0
        return 0.5 * d * K * lambert_bar(x)
    volume = math.log(calibration.extent * t / (h * model.xi) + 1.0)
    return (math.sqrt(log_inverse + 0.5 * d * h * volume) + calibration.bias) ** 2


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


@part
def inflation_and_budget(
    model: Model, calibration: Calibration, t: float, members: int
) -> tuple[float, float]:
    """Return (c, log M) after ``t`` results with ``members`` answers in S_hat."""
    t = max(t, math.e)
    log_inverse = calibration.log_inverse
    if calibration.code == PROVEN:
        doubled = log_inverse + math.log(2.0)
        c = beta(model, calibration, t, doubled) / log_inverse
        failures = doubled + S * math.log(t) + LOG_ZETA
        log_m = math.log(failures) + log_inverse - calibration.log_q[members]
    else:
        c = 1.0
        log_m = log_inverse + math.log(math.log(t) + log_inverse)
        if calibration.code == SHARP:
            log_m += math.log(calibration.kappa)
        else:
            c += math.log(math.log(t)) / log_inverse
    if log_m < 36.0:  # whole draws, as far as a float can tell
        log_m = math.log(math.ceil(math.exp(log_m)))
    return c, log_m


@part
def radius_of_rewards(
    model: Model,
    belief: Belief,
    front: Front,
    calibration: Calibration,
    t: float,
    estimate: Floats,
) -> float:
    """One step of Algorithm 2, "Estimate and Halve" (unstructured): return B.

    ``estimate`` holds p and C, 0 before the first step. They follow U and u only when
    these have fallen to half of them; as printed the comparison is the other way round,
    and the proof that B settles needs this one.
    """
    K, d, P, N, theta = model.K, model.d, model.P, belief.N, belief.theta
    members = front.members[: front.size[MEMBERS]]
    f = math.sqrt(beta(model, calibration, t, 2.0 * math.log(t)))
    u, U = 0.0, 0.0
    x = floats(d)
    for i in range(K):
        for j in range(-1, members.shape[0]):
            if j >= 0 and members[j] == i:
                continue
            inverse = 1.0 / N[i]
            for c in range(d):
                x[c] = theta[i, c]
                if j >= 0:
                    x[c] -= theta[members[j], c]
            if j >= 0:
                inverse += 1.0 / N[members[j]]
            square = 0.0
            for c in range(d):
                for e in range(d):
                    square += x[c] * P[c, e] * x[e]
            bound = f * math.sqrt(inverse) + math.sqrt(square)
            if j < 0:
                u = max(u, bound)
            else:
                U = max(U, bound if front.inside[i] else 2.0 * bound)
    if estimate[SPREAD] == 0.0 or estimate[SPREAD] >= 2.0 * U:
        estimate[SPREAD] = U
    if estimate[CENTRE] == 0.0 or 2.0 * u <= estimate[CENTRE]:
        estimate[CENTRE] = u
    return estimate[SPREAD] + estimate[CENTRE]
