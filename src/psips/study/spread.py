"""The noise of the results beside the one registered, on which every promise rests."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psips.study.state import State


class Spread(NamedTuple):
    """Standard deviation of results of the same arm, as a multiple of the one registered.

    ``low`` to ``high`` is its 95% interval.
    """

    objective: str
    ratio: float
    low: float
    high: float

    @property
    def off(self) -> bool:
        """Whether the interval says that the noise is not as registered."""
        return not self.low <= 1.0 <= self.high


def spreads(state: State) -> list[Spread]:
    """Return the spread in each objective; nothing while no arm has two results."""
    problem = state.problem
    if problem.covariance is None:
        return []
    counted = [
        result
        for result in state.ledger.results
        if not result.withdrawn and None not in result.values
    ]
    arms = np.array([problem.arm_index(result.arm) for result in counted], np.int64)
    pulls = np.bincount(arms, minlength=problem.K)
    if len(counted) == 0:
        return []
    freedom = len(counted) - np.count_nonzero(pulls)
    if freedom < 1:
        return []
    from scipy.stats import chi2

    values = problem.compared([result.values for result in counted])  # type: ignore[arg-type]
    sums = np.column_stack([np.bincount(arms, column, problem.K) for column in values.T])
    squares = ((values - (sums / np.maximum(pulls, 1)[:, None])[arms]) ** 2).sum(axis=0)
    ratios = np.sqrt(squares / freedom / np.diag(problem.usual_covariance)).tolist()
    low, high = np.sqrt(freedom / chi2.ppf([0.975, 0.025], freedom)).tolist()
    return [
        Spread(name, r, r * low, r * high)
        for name, r in zip(problem.objectives, ratios, strict=True)
    ]
