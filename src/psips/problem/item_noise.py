"""How results scatter that share items: a guess, for plans and simulations alone.

A study estimates both variances from its results and does not look at this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, quote
from psips.input.checks import by_name, frozen
from psips.input.quantities import as_float
from psips.problem.noise import read_some
from psips.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class ItemNoise:
    """The noise of one result, and which part of it results on one item have in common.

    Between items and within them, objectives are correlated alike.

    Parameters
    ----------
    correlation : (d, d) array
    sd : (d,) array
        Of one result around the mean of its arm; NaN for values of 0 or 1, whose means say it.
    between : (d,) array
        Share of the variance that is between items. For values of 0 or 1: at the mean rate of
        the arms; arms that are further out share less.
    """

    correlation: Floats
    sd: Floats
    between: Floats

    @property
    def binary(self) -> Any:
        """Which objectives are 0 or 1, (d,)."""
        return np.isnan(self.sd)

    def within_items(self, problem: Problem, means: Floats) -> Problem:
        """Return a problem whose noise is that within items: all that comparisons feel.

        No rule can do with fewer results than it takes there, where the effects of the items
        would be known. Values of 0 or 1 have the variance of the arms' ``means`` on average.
        """
        rates = (means * (1.0 - means)).mean(axis=0)
        sd = np.sqrt(np.where(self.binary, rates, self.sd**2) * (1.0 - self.between))
        data = {k: v for k, v in problem.to_dict().items() if k not in ("blocks", "partial")}
        covariance = self.correlation * np.outer(sd, sd)
        return Problem.from_dict({**data, "covariance": covariance.tolist()})


def read_item_noise(
    problem: Problem, covariance: object, between: object, bernoulli: bool = False
) -> ItemNoise:
    """Read a guess of the noise of a problem with items.

    Parameters
    ----------
    problem : Problem
    covariance : matrix, variances, mapping from objective to variance, or None
        Of one result, items and all. Nothing need be said of values of 0 or 1.
    between : number, sequence, or mapping from objective to number
        The share of the variance that is between items, from 0 to below 1.
    bernoulli : bool
        Whether all values are 0 or 1.

    Examples
    --------
    >>> problem = Problem(objectives=["score", "speed"], arms=2, items=True)
    >>> read_item_noise(problem, [4.0, 1.0], 0.5).sd.tolist()
    [2.0, 1.0]
    """
    binary = np.array([bernoulli or scale.binary for scale in problem.scales])
    names = problem.objectives
    known = dict(zip(names, binary.tolist(), strict=True))
    if covariance is None and binary.all():
        covariance = {}
    if isinstance(covariance, Mapping):
        covariance = {**{name: 0.25 for name in names if known[name]}, **covariance}
    if covariance is None:
        raise InputError(
            "the covariance of one result is needed to simulate it: give the guess of the "
            "noise a 'covariance' next to 'between'"
        )
    exact = [name for name, scale in zip(names, problem.scales, strict=True) if scale.exact]
    matrix = read_some(names, covariance, exact)
    sd = np.sqrt(np.diag(matrix))
    size = np.where(sd > 0.0, sd, 1.0)
    correlation = matrix / np.outer(size, size)
    np.fill_diagonal(correlation, 1.0)
    return ItemNoise(
        frozen(correlation),
        frozen(np.where(binary, np.nan, sd)),
        frozen(_shares(names, between)),
    )


def _shares(names: tuple[str, ...], given: object) -> Floats:
    if isinstance(given, Mapping):
        given = by_name("the share between items", "objective", names, given)
    each = given if isinstance(given, list | tuple | np.ndarray) else [given] * len(names)
    found = [as_float(one) for one in each]
    if len(found) != len(names):
        raise InputError(
            f"the share between items must be one number, or one for each of the {len(names)} "
            f"objectives, got {len(found)}"
        )
    for name, one, value in zip(names, each, found, strict=True):
        if value is None or not 0.0 <= value < 1.0:
            raise InputError(
                f"the share of the variance of {quote(name)} that is between items must be a "
                f"number from 0 to below 1, got {quote(one)}"
            )
    return np.array(found, float)
