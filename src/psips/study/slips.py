"""Values so far from what is known that they are likely slips of a keyboard.

Noise alone does not take a result ten standard deviations away from the others of its arm: a
decimal point, a unit or a column does, or a variance that was registered too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from psips.aliases import Floats
from psips.problem import Problem
from psips.problem.noise import KNOWN
from psips.study.ledger import Result, Values
from psips.study.rows import Told

FAR = 10.0  # standard deviations from the median of the arm's results
ENOUGH = 1000  # results of an arm that are looked at, the latest
VERY_FAR = 100.0  # the same from every other arm, for an arm without results
SPREADS = 10.0  # and so many times what lies between the other arms
LEAST = 10  # results from which on standard deviations are estimated, if they are not given
NORMAL = 1.4826  # standard deviations of a normal in its median distance from the median
NEAR = 5.0  # standard deviations within which a value is offered instead
SLIPS = (10.0, 100.0, 1000.0, 0.1, 0.01, 0.001, -1.0)  # what a value may be off by


class FarValueWarning(UserWarning):
    """A result was recorded that is too far from the others to be noise."""


def find_slips(
    problem: Problem, study: str, results: Sequence[Result], told: Sequence[Told]
) -> list[str]:
    """Say which of the new results are too far from what is known to be noise.

    Parameters
    ----------
    problem : Problem
    study : str
        Its name, for the command that corrects the value.
    results : sequence of Result
        Those told before.
    told : sequence of Told
        The new ones, which are compared with each other as well.
    """
    sd = _deviations(problem, results, told)
    new: dict[str, list[int]] = {}
    for place, one in enumerate(told):
        new.setdefault(one.arm, []).append(place)
    old: dict[str, list[Values]] = {}
    for result in results:
        if result.arm in new and not result.withdrawn:
            old.setdefault(result.arm, []).append(result.values)
    found: list[tuple[int, int, float, str]] = []  # place, objective, compared with, whose
    for arm, places in new.items():
        known = old.get(arm, [])[-ENOUGH:]
        values = _compared(problem, [told[place].values for place in places])
        whose = f"the other results of arm {arm!r}"
        rows = np.concatenate([_compared(problem, known), values])
        if len(rows) >= 3:
            centre = _median(rows)
            for k, c in np.argwhere(np.abs(values - centre) > FAR * sd).tolist():
                found.append((places[k], c, float(centre[c]), whose))
        elif len(rows) == 2:
            for c in np.flatnonzero(np.abs(rows[1] - rows[0]) > FAR * sd).tolist():
                found.append((places[-1], c, float(rows[0, c]), whose))
        else:
            for c, middle in _far_from_others(problem, results, told, arm, values[0], sd):
                found.append((places[0], c, middle, "every other arm"))
    return [
        _sentence(problem, study, len(results) + place + 1, told[place], c, middle, sd, whose)
        for place, c, middle, whose in sorted(found)
    ]


def _far_from_others(
    problem: Problem,
    results: Sequence[Result],
    told: Sequence[Told],
    arm: str,
    values: Floats,
    sd: Floats,
) -> list[tuple[int, float]]:
    """Compare the first result of an arm with the other arms: objectives, and the nearest."""
    rows: dict[str, list[Values]] = {}
    known = [(one.arm, one.values) for one in results if not one.withdrawn]
    for other, row in (*known, *((one.arm, one.values) for one in told)):
        if other != arm:
            rows.setdefault(other, []).append(row)
    if not rows:
        return []
    medians = np.array([_median(_compared(problem, r[-ENOUGH:])) for r in rows.values()])
    far = []
    for c in range(problem.d):
        known = medians[np.isfinite(medians[:, c]), c]
        away = np.abs(known - values[c])
        if len(known) and away.min() > max(VERY_FAR * sd[c], SPREADS * np.ptp(known)):
            far.append((c, float(known[away.argmin()])))
    return far


def _compared(problem: Problem, rows: Sequence[Values]) -> Floats:
    """Return results (N, d) as they are compared; NaN where a value is missing."""
    return problem.compared(np.array(rows, dtype=np.float64).reshape(-1, problem.d))


def _median(rows: Floats) -> Floats:
    """Return the median of each column; NaN of one in which everything is missing."""
    seen = [column[np.isfinite(column)] for column in rows.T]
    return np.array([np.median(one) if len(one) else np.nan for one in seen])


def _deviations(problem: Problem, results: Sequence[Result], told: Sequence[Told]) -> Floats:
    """Return the standard deviations (d,) of one result; NaN while they are not known.

    If they are to be estimated: by the median distance from the medians of the arms, which a
    slip does not change much.
    """
    given = np.sqrt(np.diag(problem.usual_covariance))
    if problem.noise == KNOWN or not np.isnan(given).all():
        return given
    rows: dict[str, list[Values]] = {}
    pairs = [(result.arm, result.values) for result in results if not result.withdrawn]
    for arm, values in (*pairs, *((one.arm, one.values) for one in told)):
        rows.setdefault(arm, []).append(values)
    enough = [_compared(problem, some[-ENOUGH:]) for some in rows.values() if len(some) > 2]
    if sum(map(len, enough)) < LEAST:
        return given
    away = np.abs(np.concatenate([some - _median(some) for some in enough]))
    sd = NORMAL * _median(away)
    return np.where(sd > 0, sd, np.nan)


def _sentence(
    problem: Problem,
    study: str,
    number: int,
    told: Told,
    c: int,
    middle: float,
    sds: Floats,
    whose: str,
) -> str:
    objective, value, sd = problem.objectives[c], told.values[c], float(sds[c])
    assert value is not None
    point = np.zeros(problem.d)
    point[c] = middle
    about = float(problem.measured(point)[c])
    meant = _instead(value, lambda v: _away(problem, c, v, middle) / sd)
    return (
        f"{told.where}{objective} = {value:g} is {_away(problem, c, value, middle) / sd:,.0f} "
        f"standard deviations from {whose} (about {about:g}): if it is a slip, `psips study "
        f"correct {study} --result {number} --value {objective}={meant}`"
    )


def _away(problem: Problem, c: int, value: float, middle: float) -> float:
    """Return how far a value of an objective is from a middle, as they are compared."""
    if problem.scales[c].log:
        value = math.log(value) if value > 0 else math.inf
    return abs(value - middle)


def _instead(value: float, away: Callable[[float], float]) -> str:
    """Return what may have been meant: the value with its point or its sign elsewhere."""
    meant = [value / slip for slip in SLIPS if away(value / slip) <= NEAR]
    return f"{min(meant, key=away):g}" if meant else "..."
