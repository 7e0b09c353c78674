"""Checks of laws: p-values that a right sampler passes and a broken one does not."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

FAIR = 1e-3  # a right sampler's p-values are above it (seeds are fixed)
CAUGHT = 1e-6  # a broken sampler's smallest p-value is below it


def same_law(first: np.ndarray, second: np.ndarray) -> float:
    """Two-sample Kolmogorov-Smirnov."""
    return float(stats.ks_2samp(first, second, method="asymp").pvalue)


def same_counts(first: np.ndarray, second: np.ndarray, bins: int = 20) -> float:
    """Two-sample chi-square on bins of about equal content; for integers and ties."""
    edges = np.unique(np.quantile(np.concatenate([first, second]), np.linspace(0, 1, bins + 1)))
    edges = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    table = np.array([np.histogram(sample, edges)[0] for sample in (first, second)])
    table = table[:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def geometric(index: np.ndarray, p: float | None = None, bins: int = 20) -> float:
    """Chi-square of indices against Geometric(p), p estimated if it is not given."""
    fitted = p is None
    rate = 1.0 / index.mean() if p is None else p
    edges = np.unique(stats.geom.ppf(np.linspace(0, 1, bins + 1)[1:-1], rate))
    cuts = np.concatenate([[0.0], edges, [np.inf]])
    expected = np.diff(stats.geom.cdf(cuts, rate)) * len(index)
    observed = np.histogram(index, cuts + 0.5)[0]
    keep = expected > 5
    observed = np.append(observed[keep], observed[~keep].sum())
    expected = np.append(expected[keep], expected[~keep].sum())
    observed, expected = observed[expected > 0], expected[expected > 0]
    square = float(((observed - expected) ** 2 / expected).sum())
    return float(stats.chi2.sf(square, len(observed) - 1 - fitted))


def correlation(first: np.ndarray, second: np.ndarray) -> float:
    """p-value of no correlation."""
    r = float(np.corrcoef(first, second)[0, 1])
    return math.erfc(abs(r) * math.sqrt(len(first) / 2))
