"""Values at a cutoff: the true ones are larger."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.evaluation.scores import Scores

FEWEST_EQUAL = 3  # equal values at the end that are no chance
SHARE = 0.01  # of all values, at least so many
TIMES = 3  # as often as any other value


SHARE_TOO = "; let the share below the cutoff be a metric as well"


class Cutoff(NamedTuple):
    """Values of a metric that look as if they were cut off."""

    metric: str
    at: float
    by_arm: dict[str, float]  # share of the values that are at the cutoff, the largest first
    share: float
    values: int
    log: bool
    counted: bool  # whether some metric is 0 or 1, such as whether it was solved

    def __str__(self) -> str:
        arm, most = next(iter(self.by_arm.items()))
        mean = "mean logarithms" if self.log else "means"
        return (
            f"{self.metric}: {self.values:,} values ({self.share:.0%}) are the largest, "
            f"{self.at:g}, and look censored by a cutoff: the true ones are larger, so the "
            f"{mean} compared here are too low, most of all that of {arm} ({most:.0%} of its "
            f"values){'' if self.counted else SHARE_TOO}"
        )


def find_cutoff(scores: Scores, c: int, log: bool = False) -> Cutoff | None:
    """Return the cutoff of a metric, if its largest values look like one.

    Many values are the largest, where values are otherwise rarely equal. A share that is 1 was
    not cut off: it cannot be larger.
    """
    values = scores.values[..., c]  # (K, J)
    known = values[~np.isnan(values)]
    if not known.size:
        return None
    distinct, counts = np.unique(known, return_counts=True)
    top, others = int(counts[-1]), counts[:-1]
    if top < max(FEWEST_EQUAL, SHARE * known.size) or len(distinct) < 1 + FEWEST_EQUAL:
        return None
    if top < TIMES * others.max() or len(others) < 0.5 * others.sum():
        return None
    at = float(distinct[-1])
    if at == 1.0 and distinct[0] >= 0.0:
        return None
    shares: Floats = np.mean(values == at, axis=1) / np.mean(~np.isnan(values), axis=1)
    columns = np.moveaxis(scores.values, 2, 0)
    counted = any(np.isin(one[~np.isnan(one)], (0.0, 1.0)).all() for one in columns)
    order = np.argsort(-shares, kind="stable")
    by_arm = {scores.arms[a]: float(shares[a]) for a in order}
    return Cutoff(scores.metrics[c], at, by_arm, top / known.size, top, log, counted)
