"""Values so far from the others that they are likely typing errors.

Noise alone does not take a result ten standard deviations away from the others of its arm: a
decimal point, a unit or a column does, or a variance that was registered too small. The
standard deviations are those in force, see `psips.diagnostics.noise_scale`: of a value as
assumed it is said by chance in one of 10,000 cases at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from shlex import join
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.diagnostics.noise_scale import NoiseScale, noise_scale
from psips.errors import advice
from psips.problem import Problem
from psips.problem.noise import KNOWN
from psips.study.ledger import Result, Values
from psips.study.rows import Told

LATEST = 1000  # results of an arm that are looked at, the latest
VERY_FAR = 100.0  # standard deviations from every other arm, for an arm without results
SPREADS = 10.0  # and so many times what lies between the other arms
NEAR = 5.0  # standard deviations within which a value is offered instead
DEVIATIONS = " standard deviations ("  # in the sentence of every value that is far
SLIPS = (10.0, 100.0, 1000.0, 0.1, 0.01, 0.001, -1.0)  # what a value may be off by


class FarValueWarning(UserWarning):
    """A result was recorded that is too far from the others to be noise."""


def find_far_values(
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
    new: dict[str, list[int]] = {}
    for place, one in enumerate(told):
        new.setdefault(one.arm, []).append(place)
    if not new:
        return []
    rows: dict[str, list[Values]] = {arm: [] for arm in problem.arms}
    for result in results:
        if not result.withdrawn:
            rows[result.arm].append(result.values)
    for one in told:
        rows[one.arm].append(one.values)
    if problem.noise == KNOWN and all(len(rows[arm]) > 1 for arm in new):
        rows = {arm: rows[arm] if arm in new else [] for arm in rows}  # others tell nothing
    latest = [_compared(problem, rows[arm][-LATEST:]) for arm in problem.arms]
    arms = np.repeat(np.arange(problem.K), [len(some) for some in latest])
    scale = noise_scale(problem, arms, np.concatenate(latest))
    ordered = [np.sort(column[np.isfinite(column)]) for column in scale.centre.T]
    found: list[_Far] = []
    for arm, places in new.items():
        a = problem.arm_index(arm)
        values = _compared(problem, [told[place].values for place in places])
        if len(latest[a]) == 1:
            found += _far_from_others(scale, ordered, a, places[0], values[0])
        else:
            found += _far_from_its_own(scale, a, arm, places, values, latest[a])
    return [
        _sentence(problem, study, len(results) + far.place + 1, told[far.place], far)
        for far in sorted(found)
    ]


class _Far(NamedTuple):
    """A value that is far: of which result and objective, from what, in which unit."""

    place: int
    objective: int
    middle: float
    sd: float
    whose: str


def _far_from_its_own(
    scale: NoiseScale, a: int, arm: str, places: Sequence[int], values: Floats, rows: Floats
) -> list[_Far]:
    """Compare new results of an arm with its others; of two, the second with the first."""
    middle, reach = scale.centre[a], scale.reach[a]
    if len(rows) == 2:
        places, values, middle = places[-1:], rows[1:], rows[0]
        reach = reach * math.sqrt(2.0)
    whose = f"the other results of arm {arm!r}"
    return [
        _Far(places[k], c, float(middle[c]), float(scale.sd[a, c]), whose)
        for k, c in np.argwhere(np.abs(values - middle) > reach).tolist()
    ]


def _is_amid(ordered: Floats, value: float) -> bool:
    """Whether one of some values in order is near another one, for how far these reach."""
    i = int(np.searchsorted(ordered, value))
    others = np.concatenate([ordered[max(i - 1, 0) : i], ordered[i + 1 : i + 2]])
    if not len(others):
        return False
    least, most = ordered[1 if i == 0 else 0], ordered[-2 if i == len(ordered) - 1 else -1]
    return bool(np.abs(others - value).min() <= SPREADS * (most - least))


def _far_from_others(
    scale: NoiseScale, ordered: Sequence[Floats], a: int, place: int, values: Floats
) -> list[_Far]:
    """Compare the first result of an arm with the medians of the other arms.

    ``ordered`` are all medians in order: most arms are seen to be amid the others by these,
    without a look at each of them, of which there may be thousands.
    """
    far = []
    for c in range(len(values)):
        if not np.isfinite(values[c]) or _is_amid(ordered[c], values[c]):
            continue
        others = np.flatnonzero(np.isfinite(scale.centre[:, c]))
        others = others[others != a]
        if not len(others):
            continue
        known = scale.centre[others, c]
        away = np.abs(known - values[c])
        each = np.maximum(VERY_FAR * scale.sd[:, c], scale.reach[:, c])
        reach = np.hypot(each[a], each[others]) / math.sqrt(2.0)
        if np.all(away > np.maximum(reach, SPREADS * np.ptp(known))):
            near = int(away.argmin())
            sd = float(scale.sd[a, c])
            far.append(_Far(place, c, float(known[near]), sd, "every other arm"))
    return far


def _compared(problem: Problem, rows: Sequence[Values]) -> Floats:
    """Return results (N, d) as they are compared; NaN where a value is missing."""
    return problem.compared(np.array(rows, dtype=np.float64).reshape(-1, problem.d))


def _sentence(problem: Problem, study: str, number: int, told: Told, far: _Far) -> str:
    c, middle, sd = far.objective, far.middle, far.sd
    objective, value = problem.objectives[c], told.values[c]
    assert value is not None
    point = np.zeros(problem.d)
    point[c] = middle
    about = float(problem.measured(point)[c])
    meant = _instead(value, lambda v: _away(problem, c, v, middle) / sd)
    unit = f"{sd:.3g} each{', of logarithms' if problem.scales[c].log else ''}"
    words = ["psips", "study", "correct", study, "--result", str(number)]
    command = join([*words, "--value", f"{objective}={meant}"])
    correct = advice(f"`{command}`", f"correct it{'' if meant == '...' else f' ({meant}?)'}")
    return (
        f"{told.where}{objective} = {value:g} is {_away(problem, c, value, middle) / sd:,.0f}"
        f"{DEVIATIONS}{unit}) from {far.whose} (about {about:g}): if it is a slip, {correct}"
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
