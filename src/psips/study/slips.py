"""Values so far from what is known that they are likely slips of a keyboard.

Noise alone does not take a result ten standard deviations away from the others of its arm: a
decimal point, a unit or a column does, or a variance that was registered too small.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psips.kernels.model import Floats
from psips.problem import Problem
from psips.study.ledger import Result
from psips.study.rows import Told

FAR = 10.0  # standard deviations from the median of the arm's results
ENOUGH = 1000  # results of an arm that are looked at, the latest
VERY_FAR = 100.0  # the same from every other arm, for an arm without results
SPREADS = 10.0  # and so many times what lies between the other arms
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
    sd = np.sqrt(np.diag(problem.usual_covariance))
    new: dict[str, list[int]] = {}
    for place, one in enumerate(told):
        new.setdefault(one.arm, []).append(place)
    old: dict[str, list[tuple[float, ...]]] = {}
    for result in results:
        if result.arm in new and not result.withdrawn:
            old.setdefault(result.arm, []).append(result.values)
    found: list[tuple[int, int, float, str]] = []  # place, objective, compared with, whose
    for arm, places in new.items():
        known = old.get(arm, [])[-ENOUGH:]
        values = np.array([told[place].values for place in places])
        whose = f"the other results of arm {arm!r}"
        rows = np.concatenate([np.reshape(known, (-1, len(sd))), values])
        if len(rows) >= 3:
            centre = np.median(rows, axis=0)
            for k, c in np.argwhere(np.abs(values - centre) > FAR * sd).tolist():
                found.append((places[k], c, float(centre[c]), whose))
        elif len(rows) == 2:
            for c in np.flatnonzero(np.abs(rows[1] - rows[0]) > FAR * sd).tolist():
                found.append((places[-1], c, float(rows[0, c]), whose))
        else:
            for c, middle in _far_from_others(problem, results, told, arm, values[0], sd):
                found.append((places[0], c, middle, "every other arm"))
    return [
        _sentence(problem, study, len(results) + place + 1, told[place], c, middle, whose)
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
    rows: dict[str, list[tuple[float, ...]]] = {}
    known = [(one.arm, one.values) for one in results if not one.withdrawn]
    for other, row in (*known, *((one.arm, one.values) for one in told)):
        if other != arm:
            rows.setdefault(other, []).append(row)
    if not rows:
        return []
    medians = np.array([np.median(some[-ENOUGH:], axis=0) for some in rows.values()])
    far = []
    for c in range(problem.d):
        away = np.abs(medians[:, c] - values[c])
        if away.min() > max(VERY_FAR * sd[c], SPREADS * np.ptp(medians[:, c])):
            far.append((c, float(medians[away.argmin(), c])))
    return far


def _sentence(
    problem: Problem, study: str, number: int, told: Told, c: int, middle: float, whose: str
) -> str:
    objective, value = problem.objectives[c], told.values[c]
    sd = float(np.sqrt(problem.usual_covariance[c, c]))
    return (
        f"{told.where}{objective} = {value:g} is {abs(value - middle) / sd:,.0f} standard "
        f"deviations from {whose} (about {middle:g}): if it is a slip, `psips study correct "
        f"{study} --result {number} --value {objective}={_instead(value, middle, sd)}`"
    )


def _instead(value: float, middle: float, sd: float) -> str:
    """Return what may have been meant: the value with its point or its sign elsewhere."""
    meant = [value / slip for slip in SLIPS if abs(value / slip - middle) <= NEAR * sd]
    return f"{min(meant, key=lambda v: abs(v - middle)):g}" if meant else "..."
