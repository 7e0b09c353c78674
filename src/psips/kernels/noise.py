"""Results of pulls: the n-th result of an arm depends on the key, the arm and n alone.

Rules that are compared with the same key therefore meet the same noise.
"""

from __future__ import annotations

from psips.kernels.grids import floats
from psips.kernels.jit import kernel
from psips.kernels.model import Floats, Ints, Stream
from psips.kernels.records import Record, record
from psips.kernels.rng import NOISE, normal, seed, uniform

GAUSSIAN, BERNOULLI, RESAMPLE = range(3)


@record
class Source(Record):
    """Where results come from."""

    kind: int
    means: Floats  # (K, d), max orientation
    L: Floats  # (d, d) Cholesky factor of the noise, GAUSSIAN
    low: Floats  # (d,) value of a failure, BERNOULLI
    high: Floats  # (d,) value of a success, BERNOULLI
    rows: Floats  # (R, d) recorded results, sorted by arm, RESAMPLE
    starts: Ints  # (K + 1,) where each arm's rows begin


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
                x[c] += source.L[c, e] * g[e]
    elif source.kind == BERNOULLI:
        for c in range(d):
            success = (source.means[arm, c] - source.low[c]) / (source.high[c] - source.low[c])
            x[c] = source.high[c] if uniform(stream) < success else source.low[c]
    else:
        first, last = source.starts[arm], source.starts[arm + 1]
        row = first + int(uniform(stream) * (last - first))
        for c in range(d):
            x[c] = source.rows[row, c]
