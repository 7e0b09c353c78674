"""Metrics of which a few items make up the means: what was not measured matters most.

What is looked at is the values less the means of items and of options. If their mean is skewed,
it is not normal, as every stop takes it to be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from psips.aliases import Floats
from psips.errors import listing

SKEWED = 0.25  # skewness of a mean over all these items from which on it is doubted
CHANCE = 4.0  # standard deviations of the skewness of as many Gaussian values
NAMED = 3  # options that are named


def few_items(values: Floats) -> list[int]:
    """Return the options of which a few items make up the mean; none where values are 0 or 1.

    ``values`` (K, J) by option and item, NaN where there is none; as they are compared.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> even = rng.normal(size=(2, 40))
    >>> few_items(even), few_items(even + [[0.0], [30.0]] * (np.arange(40) == 7))
    ([], [0, 1])
    """
    known = values[~np.isnan(values)]
    shared = (~np.isnan(values)).sum(axis=0) > 1  # what one alone has is its own mean
    if not shared.any() or np.isin(known, (0.0, 1.0)).all():
        return []
    rest = values[:, shared] - np.nanmean(values[:, shared], axis=0)
    return [a for a, row in enumerate(rest) if _skewed(row[~np.isnan(row)])]


def doubt_text(metric: str, options: Sequence[str], instead: str = "") -> str:
    """Say of which options a few items make up the mean, and what to do; "" if of none."""
    if not options:
        return ""
    more = f" and {len(options) - NAMED} more" if len(options) > NAMED else ""
    return (
        f"{metric}: a few items make up much of the mean of {listing(options[:NAMED])}{more}, "
        f"so that a wrong set is likelier than stated{instead}"
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
