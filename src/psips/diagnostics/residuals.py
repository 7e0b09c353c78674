"""Results as distances from the means of their arms, with what the tests need of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psips.aliases import Floats, Ints

ROUNDING = 1e-14  # share of the largest value below which a residual is a rounding error


@dataclass(frozen=True, eq=False)
class Residuals:
    """Results of several arms in the order of time, each less the mean of its arm.

    Parameters
    ----------
    arms : (N,) array of int
    values : (N, d) array
        The residuals.
    sizes : (N,) array of int
        How many results the arm of each result has.
    freedom : int
        Degrees of freedom: results less arms that have any.
    """

    arms: Ints
    values: Floats
    sizes: Ints
    freedom: int

    @property
    def squares(self) -> Floats:
        """Sum of squares of each objective, (d,)."""
        return np.asarray((self.values**2).sum(axis=0))


def residuals_of(arms: Ints, values: Floats) -> Residuals:
    """Subtract the mean of its arm from each result."""
    _, arms, counts = np.unique(arms, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), values.shape[1]))
    np.add.at(sums, arms, values)
    rest = values - (sums / counts[:, None])[arms]
    rest[np.abs(rest) < ROUNDING * np.abs(values).max(axis=0, initial=0.0)] = 0.0
    return Residuals(arms, rest, counts[arms], len(arms) - len(counts))


def pooled_covariance(arms: Ints, values: Floats) -> tuple[Floats, int]:
    """Estimate the covariance of one result from results of the same arms.

    Returns
    -------
    covariance : (d, d) array
    freedom : int
        Its degrees of freedom.
    """
    found = residuals_of(arms, values)
    return found.values.T @ found.values / max(found.freedom, 1), found.freedom
