"""Results so far from the others of their arm that they are hardly noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats, Ints
from psips.diagnostics.deviations import furthest
from psips.diagnostics.findings import Finding, some
from psips.diagnostics.noise_scale import noise_scale
from psips.diagnostics.residuals import residuals_of
from psips.errors import quote
from psips.laws import students_tails
from psips.problem import Problem
from psips.problem.noise import PER_ARM

ONE_IN = 50  # one result in so many may be a slip,
MAX_OUTLIERS = 20  # and no more than so many


class Outlier(NamedTuple):
    """A result that is far from the others of its arm in an objective."""

    p_value: float  # corrected for the number of values
    row: int
    objective: int
    deviations: float
    sd: float  # in which that is, as values are compared


def find_outliers(
    problem: Problem,
    arms: Ints,
    values: Floats,
    units: Floats,
    columns: Ints,
    places: Sequence[str],
    level: float,
) -> tuple[list[Finding], Ints]:
    """Return a finding, if there is any, and the rows that are not among them.

    Parameters
    ----------
    problem : Problem
    arms : (N,) array of int
    values : (N, d) array
        As they are compared.
    units : (d,) or (N, d) array
        Standard deviations in which the noise is the same for all.
    columns : array of int
        Objectives that are looked at.
    places : sequence of str
        What to call each result.
    level : float
        Chance of a finding in results that are as assumed.
    """
    most = min(MAX_OUTLIERS, max(1, len(arms) // ONE_IN))
    if problem.noise == PER_ARM:
        seen = _by_their_arm(problem, arms, values, columns, level)[: most + 1]
    else:
        seen = _one_by_one(arms, values, units, columns, level, most + 1)
    rows = np.arange(len(arms))
    if not seen:
        return [], rows
    many = len(seen) > most
    shown = problem.measured(values)
    words = []
    for one in seen:
        c, arm = one.objective, arms[one.row]
        pair = np.sum(arms == arm) == 2  # and either of the two may be wrong
        whose = "the only other one of the arm" if pair else "the others of the arm"
        logs = ", of logarithms" if problem.scales[c].log else ""
        words.append(
            f"{places[one.row]}: {problem.objectives[c]} = {shown[one.row, c]:g} of arm "
            f"{quote(problem.arms[arm])} is {abs(one.deviations):.1f} standard deviations "
            f"({one.sd:.3g} each{logs}) from {whose}"
        )
    advice = (
        "look the value up and correct it, or leave the result out and write down why; if it "
        "is right, the noise has rare large deviations, and what is promised does not hold"
    )
    if many:
        advice = (
            "so many are hardly slips: the noise has heavy tails. Look for results of another "
            "kind among them, or transform the values"
        )
    where = tuple(places[one.row] for one in seen)
    more = "at least " if many else ""
    what = f"{more}{len(seen)} too far to be noise; {some(words)}" if many else some(words)
    finding = Finding("outliers", what, where, seen[0].p_value, advice)
    return [finding], rows if many else np.setdiff1d(rows, [one.row for one in seen])


def _one_by_one(
    arms: Ints, values: Floats, units: Floats, columns: Ints, level: float, most: int
) -> list[Outlier]:
    """Find the result furthest from the others, then the next, by the noise of all arms."""
    kept = np.arange(len(arms))
    scaled = (values / units)[:, columns]
    units = np.broadcast_to(units, values.shape)
    seen: list[Outlier] = []
    while len(seen) < most and len(columns):
        far = furthest(residuals_of(arms[kept], scaled[kept]))
        if not far or far[0].p_value >= level:
            break
        one, row = far[0], int(kept[far[0].place[0]])
        c = int(columns[one.place[1]])
        seen.append(Outlier(one.p_value, row, c, one.size, one.sd * float(units[row, c])))
        kept = kept[kept != row]
    return seen


def _by_their_arm(
    problem: Problem, arms: Ints, values: Floats, columns: Ints, level: float
) -> list[Outlier]:
    """Find results that are far by the noise of their own arm, see `noise_scale`."""
    scale = noise_scale(problem, arms, values)
    sizes = np.bincount(arms, minlength=problem.K)[arms]
    away = (values - scale.centre[arms]) * np.where(sizes == 2, np.sqrt(2.0), 1.0)[:, None]
    sd, freedom = scale.sd[arms], scale.freedom[arms]
    known = np.isfinite(sd) & (freedom > 0.0) & (sizes > 1)[:, None]
    known &= np.isin(np.arange(problem.d), columns)
    scores = np.where(known, away / np.where(known, sd, 1.0), 0.0)
    p = 2.0 * students_tails(np.where(known, freedom, 1.0), np.abs(scores))[1] * known.sum()
    found: dict[int, Outlier] = {}
    taken: set[int] = set()  # arms with two results, of which one is named
    for row, c in np.argwhere(known & (p < level)).tolist():
        one = Outlier(float(p[row, c]), row, c, float(scores[row, c]), float(sd[row, c]))
        found[row] = min(found.get(row, one), one)
    for row in sorted(found, reverse=True):
        if sizes[row] == 2 and int(arms[row]) in taken:
            del found[row]
        elif sizes[row] == 2:
            taken.add(int(arms[row]))
    return sorted(found.values())
