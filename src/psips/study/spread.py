"""The noise of the results that count, compared with the noise registered."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from psips.diagnostics import LOOKS, Diagnosis, diagnose
from psips.diagnostics.lack_of_fit import fit_of
from psips.laws import spread_of_sd
from psips.rules.promises import kind_of_promise
from psips.rules.stopping import PROVEN
from psips.study.ledger import Result
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


def diagnosis_of(state: State, results: Sequence[Result]) -> Diagnosis:
    """Say whether some results of a study satisfy the assumptions."""
    whole, problem = state.problem, state.session.noisy
    arms = np.array([problem.arm_index(r.arm) for r in results], dtype=np.int64)
    values = np.array([r.values for r in results], dtype=float).reshape(-1, whole.d)
    if problem.facts is not None:
        values = values[:, problem.facts.rest]
    places = [f"result {result.number}" for result in results]
    fit = fit_of(problem, state.session.engine.belief)
    ranges = problem.covariance is None and kind_of_promise(state.rules) == PROVEN
    return diagnose(problem, arms, values, places, LOOKS, fit, any_law=ranges)


def spreads(state: State) -> list[Spread]:
    """Return the spread in each objective; nothing while no arm has two results."""
    problem = state.problem
    if problem.covariance is None:
        return []
    counted = [r for r in state.ledger.results if r.counts and None not in r.values]
    if not counted:
        return []
    places = {arm: place for place, arm in enumerate(problem.arms)}
    arms = np.fromiter((places[r.arm] for r in counted), np.int64, len(counted))
    pulls = np.bincount(arms, minlength=problem.K)
    freedom = len(counted) - np.count_nonzero(pulls)
    if freedom < 1:
        return []

    cells = chain.from_iterable(r.values for r in counted)
    told = np.fromiter(cells, np.float64, len(counted) * problem.d)
    values = problem.compared(told.reshape(-1, problem.d))
    noisy = problem.noisy
    if noisy.facts is not None:
        values = values[:, noisy.facts.rest]
    sums = np.column_stack([np.bincount(arms, column, problem.K) for column in values.T])
    assert noisy.covariance is not None
    given = np.diagonal(noisy.covariance, axis1=-2, axis2=-1)
    given = np.broadcast_to(given, (problem.K, noisy.d))[arms]  # of each result's own arm
    rest = values - (sums / np.maximum(pulls, 1)[:, None])[arms]
    ratios = np.sqrt((rest**2 / given).sum(axis=0) / freedom).tolist()
    low, high = map(float, spread_of_sd(freedom))
    return [
        Spread(name, r, r * low, r * high)
        for name, r in zip(noisy.objectives, ratios, strict=True)
    ]
