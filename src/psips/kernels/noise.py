"""Results of pulls: the n-th result of an arm depends on the key, the arm and n alone.

Rules that are compared with the same key therefore meet the same noise. STUDENT is t with 3
degrees of freedom and LOGNORMAL is skewed; both have the covariance given, and no rule here is
made for them.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints, Stream
from psips.kernels.grids import floats
from psips.kernels.jit import bare, kernel
from psips.kernels.model import Model
from psips.kernels.records import Record, record
from psips.kernels.rng import NOISE, normal, seed, uniform

GAUSSIAN, BERNOULLI, RESAMPLE, STUDENT, LOGNORMAL = range(5)


@record
class Source(Record):
    """Where results come from."""

    kind: int
    means: Floats  # (K, d), max orientation
    L: Floats  # (K, d, d) Cholesky factor of the noise of each arm; (0, d, d) if it has none
    low: Floats  # (d,) value of a failure: BERNOULLI, and of objectives that are 0 or 1
    high: Floats  # (d,) value of a success; that of a failure where there are none
    rows: Floats  # (R, d) recorded results, sorted by arm, RESAMPLE
    starts: Ints  # (K + 1,) where each arm's rows begin


@bare
def skewed(g: float) -> float:
    """Turn a standard normal into a log-normal of mean 0 and variance 1, of shape 1."""
    return (math.exp(g - 0.5) - 1.0) / math.sqrt(math.e - 1.0)


@kernel
def pull(source: Source, key: Stream, arm: int, nth: int, stream: Stream, x: Floats) -> None:
    """Write the ``nth`` result of ``arm`` into ``x`` (d,)."""
    d = x.shape[0]
    seed(stream, key, nth * source.means.shape[0] + arm, NOISE)
    if source.kind == GAUSSIAN:
        g = floats(d)
        for c in range(d):
            g[c] = normal(stream)
            x[c] = source.means[arm, c]
            for e in range(c + 1):
                x[c] += source.L[arm, c, e] * g[e]
        for c in range(d):
            if source.high[c] != source.low[c]:  # 0 or 1: a success on its side of 0
                x[c] = source.high[c] if x[c] * source.high[c] > 0.0 else source.low[c]
    elif source.kind == STUDENT or source.kind == LOGNORMAL:
        g = floats(d)
        for c in range(d):
            g[c] = normal(stream)
        if source.kind == STUDENT:
            square = 0.0
            for _ in range(3):
                square += normal(stream) ** 2
        for c in range(d):
            g[c] = g[c] / math.sqrt(square) if source.kind == STUDENT else skewed(g[c])
            x[c] = source.means[arm, c]
            for e in range(c + 1):
                x[c] += source.L[arm, c, e] * g[e]
    elif source.kind == BERNOULLI:
        for c in range(d):
            success = (source.means[arm, c] - source.low[c]) / (source.high[c] - source.low[c])
            x[c] = source.high[c] if uniform(stream) < success else source.low[c]
    else:
        first, last = source.starts[arm], source.starts[arm + 1]
        row = first + int(uniform(stream) * (last - first))
        for c in range(d):
            x[c] = source.rows[row, c]


def nowhere(model: Model) -> Source:
    """Return a source that is never pulled, for single steps."""
    d = model.d
    return Source(
        0,
        np.zeros((model.K, d)),
        np.zeros((0, d, d)),
        np.zeros(d),
        np.zeros(d),
        np.zeros((0, d)),
        np.zeros(1, np.int64),
    )
