"""Values so far from what is known that they are likely slips of a keyboard.

Noise alone does not take a result ten standard deviations away from the others of its arm: a
decimal point, a unit or a column does, or a variance that was registered too small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from psips.kernels.model import Floats
from psips.problem import Problem
from psips.study.ledger import Result
from psips.study.rows import Told

FAR = 10.0  # standard deviations from the arm's other results (see `_centre`)
VERY_FAR = 100.0  # the same from every other arm, for an arm without results
SPREADS = 10.0  # and so many times what lies between the other arms
NEAR = 5.0  # standard deviations within which a value is offered instead
SLIPS = (10.0, 100.0, 1000.0, 0.1, 0.01, 0.001, -1.0)  # what a value may be off by


class FarValueWarning(UserWarning):
    """A result was recorded that is too far from the others to be noise."""


def find_slips(
    problem: Problem, study: str, results: Iterable[Result], told: Sequence[Told]
) -> list[str]:
    """Say which of the new results are too far from what is known to be noise.

    Parameters
    ----------
    problem : Problem
    study : str
        Its name, for the command that corrects the value.
    results : iterable of Result
        Those told before.
    told : sequence of Told
        The new ones; each is compared with the ones before it as well.
    """
    sd = np.sqrt(np.diag(problem.covariance))
    known: dict[str, list[tuple[float, ...]]] = {}
    count = 0
    for result in results:
        count += 1
        if not result.withdrawn:
            known.setdefault(result.arm, []).append(result.values)
    medians: dict[str, Floats] = {}
    said = []
    for number, new in enumerate(told, start=count + 1):
        own = known.setdefault(new.arm, [])
        centre = _centre(own, new.values) if own else None
        others = [
            medians.setdefault(arm, np.median(rows, axis=0)) if arm != new.arm else None
            for arm, rows in known.items()
            if rows and centre is None
        ]
        for c, objective in enumerate(problem.objectives):
            value = new.values[c]
            if centre is not None:
                middle, limit = float(centre[c]), FAR * sd[c]
                whom = f"the other results of arm {new.arm!r}"
            elif others:
                column = np.array([m[c] for m in others if m is not None])
                middle = float(column[np.abs(column - value).argmin()])
                limit = max(VERY_FAR * sd[c], SPREADS * float(np.ptp(column)))
                whom = "every other arm"
            else:
                continue
            if abs(value - middle) > limit:
                away = abs(value - middle) / sd[c]
                better = _instead(value, middle, float(sd[c]))
                said.append(
                    f"{new.where}{objective} = {value:g} is {away:,.0f} standard deviations "
                    f"from {whom} (about {middle:g}): if it is a slip, "
                    f"`psips study correct {study} --result {number} --value "
                    f"{objective}={better}`"
                )
        own.append(new.values)
        medians.pop(new.arm, None)
    return said


def _centre(own: Sequence[tuple[float, ...]], values: tuple[float, ...]) -> Floats:
    """Return what to compare with: the median, or of one or two results the nearer."""
    rows = np.array(own)
    if len(own) > 2:
        return np.asarray(np.median(rows, axis=0), np.float64)
    nearest = np.abs(rows - np.array(values)).argmin(axis=0)
    return np.asarray(rows[nearest, np.arange(rows.shape[1])], np.float64)


def _instead(value: float, middle: float, sd: float) -> str:
    """Return what may have been meant: the value with its point or its sign elsewhere."""
    meant = [value / slip for slip in SLIPS if abs(value / slip - middle) <= NEAR * sd]
    return f"{min(meant, key=lambda v: abs(v - middle)):g}" if meant else "..."
