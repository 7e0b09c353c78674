"""What is assumed of the values of each objective, and which tests that calls for.

* Numbers: normal around the mean of their arm. All tests.
* 0 or 1: a probability of each arm that does not change. Tests in the order of time; the others
  are about normal values. A column that is 0 or 1 throughout is tested as one, whatever it was
  registered as.
* Numbers within a range, where a rule stops that rests on nothing but the range: a mean that
  does not change. Tests in the order of time.

All results are assumed to be independent, given the arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.diagnostics.deviations import LEAST_FREEDOM, Found
from psips.diagnostics.findings import Finding
from psips.diagnostics.residuals import Residuals
from psips.errors import listing
from psips.problem import Problem

EXPECTED = 5.0  # rare values, or pairs of them, from which on their sums are about normal


class Kinds(NamedTuple):
    """Objectives by what is assumed of them: masks (d,)."""

    normal: Mask
    binary: Mask
    bounded: Mask  # within a range, of any distribution

    def text(self, problem: Problem) -> str:
        """Say what is assumed of results, for people."""
        estimated = problem.covariance is None
        noise = "that is estimated" if estimated else "registered"
        if self.normal.all():
            return (
                "results that are independent and normal around the mean of their arm, with "
                f"the covariance {noise}"
            )
        parts = []
        if self.normal.any():
            parts.append(
                f"normal around the mean of their arm in {_names(problem, self.normal)}, with "
                f"the variance {noise}"
            )
        if self.binary.any():
            parts.append(
                "0 or 1, with a probability of each arm that does not change, in "
                f"{_names(problem, self.binary)}"
            )
        if self.bounded.any():
            parts.append(
                "within the range registered, around a mean of each arm that does not change, "
                f"in {_names(problem, self.bounded)}"
            )
        return f"results that are independent: {'; '.join(parts)}"


def kinds_of(problem: Problem, values: Floats, any_law: bool) -> Kinds:
    """Return what is assumed of each objective.

    Parameters
    ----------
    problem : Problem
    values : (N, d) array
    any_law : bool
        Whether what is promised rests on ranges alone, where there are any.
    """
    declared = np.array([scale.binary for scale in problem.scales], dtype=bool)
    seen = np.array([set(column.tolist()) == {0.0, 1.0} for column in values.T], dtype=bool)
    ranges = [any_law and scale.range is not None for scale in problem.scales]
    bounded = np.array(ranges, dtype=bool)
    binary = declared | seen
    return Kinds(~binary & ~bounded, binary, bounded & ~binary)


def not_registered(problem: Problem, kinds: Kinds) -> list[Finding]:
    """Name objectives that are 0 or 1 and were not registered as such."""
    names = [
        name
        for name, scale, binary in zip(
            problem.objectives, problem.scales, kinds.binary, strict=True
        )
        if binary and not scale.binary
    ]
    if not names:
        return []
    what = f"every value of {listing(names)} is 0 or 1"
    advice = (
        "register it with kind = 'binary': its noise then follows from its mean, and it is not "
        "taken for normal"
    )
    return [Finding("kind", what, tuple(names), None, advice)]


def testable(
    problem: Problem, kinds: Kinds, found: Residuals, rates: Floats
) -> tuple[Ints, list[str]]:
    """Return objectives that tests in the order of time can judge, and why not the others.

    Parameters
    ----------
    problem, kinds
    found : Residuals
    rates : (N, d) array
        The mean of each result's arm.
    """
    rare = np.minimum(np.clip(rates, 0.0, 1.0), np.clip(1.0 - rates, 0.0, 1.0))
    few = kinds.binary & ((rare**2).sum(axis=0) < EXPECTED) & (found.squares > 0.0)
    names = _names(problem, few)
    untested = [f"drift and autocorrelation of {names} (too few 0s, or too few 1s)"]
    ok = ~few & (found.squares > 0.0)
    return np.flatnonzero(ok), untested if few.any() and found.freedom >= LEAST_FREEDOM else []


def on(found: Residuals, columns: Ints) -> Residuals:
    """Return the residuals of some objectives."""
    return Residuals(found.arms, found.values[:, columns], found.sizes, found.freedom)


def back(seen: Sequence[Found], columns: Ints) -> list[Found]:
    """Return what was found in some objectives with their places among all."""
    return [one._replace(place=(*one.place[:-1], int(columns[one.place[-1]]))) for one in seen]


def _names(problem: Problem, mask: Mask) -> str:
    return listing([problem.objectives[c] for c in np.flatnonzero(mask)])
