"""Metrics of which a few items make up the means: cells that were not measured matter most."""

from __future__ import annotations

import math
from shlex import quote as word

import numpy as np

from psips.aliases import Floats
from psips.errors import listing
from psips.evaluation.scores import Scores

SKEWED = 0.25  # skewness of a mean over the whole table from which on it is doubted
CHANCE = 4.0  # standard deviations of the skewness of as many Gaussian values


def doubt_of_few_items(scores: Scores, c: int, log: bool = False) -> str:
    """Say of which options a few items make up the mean of a metric; "" if of none.

    Looked at is what is left of the values without the means of items and of options.
    """
    values = scores.values[..., c]  # (K, J)
    known = values[~np.isnan(values)]
    if not known.size or np.isin(known, (0.0, 1.0)).all():
        return ""
    positive = bool((known > 0.0).all())
    rest = np.log(values) if log and positive else values
    seen = ~np.isnan(rest).all(axis=0)
    rest = rest[:, seen] - np.nanmean(rest[:, seen], axis=0)
    found = [scores.arms[a] for a, row in enumerate(rest) if _skewed(row[~np.isnan(row)])]
    if not found:
        return ""
    metric = scores.metrics[c]
    instead = f"; --log {word(metric)} compares logarithms" if positive and not log else ""
    return (
        f"{metric}: a few items make up much of the mean of {listing(found)}, so that a wrong "
        f"set is likelier than stated{instead}"
    )


def _skewed(x: Floats) -> bool:
    n = len(x)
    x = x - x.mean() if n else x
    largest = float(np.abs(x).max()) if n else 0.0
    if n < 3 or largest == 0.0:
        return False
    x = x / largest  # whose cubes are numbers, whatever the unit
    skewness = abs(float((x**3).sum())) * math.sqrt(n) / float((x * x).sum()) ** 1.5
    return bool(skewness > max(SKEWED * math.sqrt(n), CHANCE * math.sqrt(6.0 / n)))
