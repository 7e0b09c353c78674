"""Where the results of simulated pulls come from; see `src/core/source.h`."""

from __future__ import annotations

from psips.aliases import Floats, Ints
from psips.state.records import Record, record

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
