"""What a tolerance allows, in words, and what one would save."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from psips.aliases import Floats, Mask, Stream
from psips.errors import InputError
from psips.problem import Problem
from psips.problem.exact import with_facts, without
from psips.problem.instances import Results
from psips.problem.tolerance import Tolerance
from psips.rules import Rules
from psips.session.engine import Engine
from psips.session.engines import engine_for
from psips.session.estimated import usual_variances
from psips.session.mixed import MixedEngine

SUGGESTED = (0.05, 0.1, 0.2)  # standard deviations of one result
PARTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # the same, of the tolerance that ends a run
FEW = 0.01  # a probability below which a change is not worth a word
MOST_REPLAYED = 20_000  # results; of more no one waits for what might have been

MEANING = (
    "a set is right if nothing in it is beaten by more than the tolerance in every objective, "
    "and everything left out is matched, up to the tolerance in every objective, by something "
    "in it"
)


@dataclass(frozen=True)
class Tolerated:
    """What may be otherwise within the tolerance.

    Parameters
    ----------
    given : str
        The tolerance.
    stand_ins : dict
        Left out, though it may be optimal: by answer, which one stands for it.
    maybe_beaten : tuple of str
        In the set, though another may be better by less.
    replaceable : dict
        In the set, though another member seems to match it within the tolerance and to be
        better by more than that in some objective: by answer, which one.
    """

    given: str
    stand_ins: dict[str, str]
    maybe_beaten: tuple[str, ...]
    replaceable: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        text = (
            f"tolerance: {self.given}; an option may be left out if another matches it within "
            "the tolerance, and may be in if nothing beats it by more than that"
        )
        if self.stand_ins:
            pairs = [f"{left} ({by} stands for it)" for left, by in self.stand_ins.items()]
            text += f"; left out, though possibly optimal: {', '.join(pairs)}"
        if self.maybe_beaten:
            text += f"; in, though possibly beaten by less: {', '.join(self.maybe_beaten)}"
        if self.replaceable:
            pairs = [f"{z} ({by} seems to match it)" for z, by in self.replaceable.items()]
            text += f"; in, though you may not need it: {', '.join(pairs)}"
        return text


def tolerated_of(
    problem: Problem, engine: Engine, inside: Mask, optimal: Floats
) -> Tolerated | None:
    """Return what may be otherwise; None without a tolerance.

    Parameters
    ----------
    problem : Problem
    engine : Engine
    inside : (n,) array of bool
        Which answers are candidates.
    optimal : (n,) array
        Their probabilities of being optimal.
    """
    if not problem.tolerance:
        return None
    stands = {}
    if inside.any():
        for z in np.flatnonzero(~inside & (optimal > FEW)):
            stands[problem.answers[z]] = problem.answers[_stand_in(engine, problem, int(z))]
    doubtful = np.flatnonzero(inside & (optimal < 1.0 - FEW))
    return Tolerated(
        str(problem.tolerance),
        stands,
        tuple(problem.answers[z] for z in doubtful),
        replaceable(problem, engine),
    )


def _means(problem: Problem, engine: Engine) -> tuple[Floats, Floats]:
    """Return the means of the answers (n, d), maximised, and the tolerance at them (d,)."""
    means = engine.means
    control = None if problem.control is None else means[problem.answer_index(problem.control)]
    return means, problem.tolerance.at(control)


def replaceable(problem: Problem, engine: Engine) -> dict[str, str]:
    """Return members that another member seems to make superfluous, and which one."""
    if not engine.candidate:
        return {}
    means, epsilon = _means(problem, engine)
    aims = engine.model.limits.aims > 0
    members = engine.candidate
    found = {}
    for z in members:
        lead = (means[members] - means[z])[:, aims]
        facts = engine.model.facts[members] - engine.model.facts[z]
        matched = (lead >= -epsilon[aims]).all(axis=1) & (-facts <= engine.model.give).all(
            axis=1
        )
        matched &= (lead > epsilon[aims]).any(axis=1) | (facts > engine.model.give).any(axis=1)
        if matched.any():
            x = members[int(np.where(matched, lead.min(axis=1), -np.inf).argmax())]
            found[problem.answers[z]] = problem.answers[x]
    return found


def _stand_in(engine: Engine, problem: Problem, z: int) -> int:
    """Return the candidate that most surely matches z up to the tolerance."""
    means, epsilon = _means(problem, engine)
    variances = np.diagonal(engine.covariances(), axis1=1, axis2=2)
    members, aims = engine.candidate, engine.model.limits.aims > 0
    spare = (means[members] - means[z] + epsilon) / np.sqrt(variances[members] + variances[z])
    facts = engine.model.facts[z] - engine.model.facts[members]
    barred = (facts > engine.model.give).any(axis=1)
    least = spare[:, aims].min(axis=1, initial=np.inf)
    return members[int(np.where(barred, -np.inf, least).argmax())]


@dataclass(frozen=True)
class Saving:
    """When a run would have stopped with a tolerance, told the same results.

    Parameters
    ----------
    tolerance : str
    stopped : int or None
        After how many results; None if it would not have stopped.
    candidate_set : tuple of str
        Then, or after all results.
    results : int
        Told in all.
    """

    tolerance: str
    stopped: int | None
    candidate_set: tuple[str, ...]
    results: int
    amounts: dict[str, float | str] = field(default_factory=dict)  # by objective

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "epsilon": self.amounts,
            "stopped": self.stopped,
            "candidate_set": list(self.candidate_set),
        }

    def __str__(self) -> str:
        found = ", ".join(self.candidate_set)
        if self.stopped is None:
            return f"with {self.tolerance} this would not have stopped by now either"
        return (
            f"with {self.tolerance} this would have stopped at {self.stopped:,}, with {found}"
        )


def savings(
    problem: Problem,
    rules: Rules,
    told: Results,
    key: Stream,
    epsilons: Sequence[object],
    items: Sequence[int] = (),
    exact: tuple[Sequence[int], Floats] | None = None,
) -> tuple[Saving, ...]:
    """Judge results again, one after the other, as if there had been a tolerance.

    Parameters
    ----------
    problem : Problem
    rules : Rules
    told : Results
        In their order, as they were measured.
    key : (2,) array of uint64
        Of the run, for rules that draw.
    epsilons : sequence
        Tolerances as `Problem` takes them.
    items : sequence of int
        Where results share items, the item of each; -1 of those that have none.
    exact : (columns, values), optional
        Which metrics are exact, and what they are (n, d), every one maximised.

    Returns
    -------
    tuple of Saving
        Nothing for rules that a tolerance is not made for, and where results share items
        that are not given.
    """
    if problem.has_items and not items:
        return ()  # results without their items tell less
    x = problem.inward(problem.compared(told.values))
    found = []
    for epsilon in epsilons:
        tolerant = problem.asking(epsilon=epsilon)
        columns, values = exact or ((), x)
        left = without(tolerant, columns)
        model = with_facts(left.facts, left.model, values)
        try:
            program = rules.program(left)
        except InputError:  # a rule that has no use for one
            return ()
        engine = engine_for(model)(model, program, key, left.prior_arrays)
        rest = range(problem.d) if left.facts is None else left.facts.rest
        rows = np.ascontiguousarray(x[:, list(rest)])
        for k, (arm, row) in enumerate(zip(told.arms.tolist(), rows, strict=True)):
            if isinstance(engine, MixedEngine):
                engine.learn(arm, row, items[k], asked=False)
            else:
                engine.learn(arm, row)
            engine.judge()
            if engine.stopped:
                break
        names = tuple(problem.answers[a] for a in engine.candidate)
        stopped = engine.results if engine.stopped else None
        given = tolerant.tolerance
        found.append(Saving(_of(given), stopped, names, len(told.arms), given.given))
    return tuple(found)


def earlier(found: Sequence[Saving]) -> str:
    """Say with which tolerances a run would have stopped earlier; empty if with none.

    Examples
    --------
    >>> found = [(0.1, 20), (0.2, 12), (0.3, 12), (0.4, 9)]
    >>> earlier([Saving(f"a tolerance of {t} on x", n, ("A",), 20) for t, n in found])
    '0.2 on x at 12 results, 0.4 on x at 9, with A'
    """
    least: dict[int, Saving] = {}
    for one in found:
        if one.stopped is not None and one.stopped < one.results:
            least.setdefault(one.stopped, one)
    if not least:
        return ""
    sets = {one.candidate_set for one in least.values()}
    parts = []
    for k, (stopped, one) in enumerate(least.items()):
        text = f"{one.tolerance.removeprefix('a tolerance of ')} at {stopped:,}"
        text += " results" if k == 0 else ""
        parts.append(text if len(sets) == 1 else f"{text} with {', '.join(one.candidate_set)}")
    if len(sets) > 1:
        return "; ".join(parts)
    return f"{', '.join(parts)}, with {', '.join(sets.pop())}"


def suggested(problem: Problem, engine: Engine) -> list[dict[str, float | str]]:
    """Return tolerances that are worth a thought: parts of the noise's standard deviation.

    Nothing where there is a tolerance already, or too many results to judge them again.
    """
    variances = usual_variances(problem, engine)
    known = np.isfinite(variances).all() and (variances > 0).all() and engine.results > 0
    if problem.tolerance or not known or engine.results > MOST_REPLAYED:
        return []
    aims = np.flatnonzero(problem.model.limits.aims).tolist()
    return [
        dict(_amount(problem, int(c), part * math.sqrt(variances[c])) for c in aims)
        for part in SUGGESTED
    ]


def ending_tolerance(
    problem: Problem,
    rules: Rules,
    told: Results,
    engine: Engine,
    items: Sequence[int],
    exact: tuple[Sequence[int], Floats],
) -> Saving | None:
    """Return the least tolerance, of some, with which results would have led to a stop.

    Tolerances are parts of the standard deviation of one result within its item.
    """
    left = without(problem, exact[0])
    sds = np.sqrt(usual_variances(left, engine))
    if isinstance(engine, MixedEngine):
        sds = np.sqrt(np.diagonal(engine.within, axis1=1, axis2=2).mean(axis=0))
    aims = [c for c in np.flatnonzero(left.model.limits.aims).tolist() if sds[c] > 0]
    if problem.tolerance or not aims or not np.isfinite(sds).all():
        return None
    best, low, high = None, 0, len(PARTS)
    while low < high:
        middle = (low + high) // 2
        epsilon = dict(_amount(left, int(c), PARTS[middle] * sds[c]) for c in aims)
        found = savings(problem, rules, told, engine.key, [epsilon], items, exact)
        if found and found[0].stopped is not None:
            best, high = found[0], middle
        else:
            low = middle + 1
    return best


def _of(tolerance: Tolerance) -> str:
    return f"a tolerance of {' and '.join(str(tolerance).split(', '))}"


def _amount(problem: Problem, c: int, value: float) -> tuple[str, float | str]:
    """Return an objective and a tolerance on it, of logarithms a percentage."""
    name = problem.objectives[c]
    if problem.scales[c].log:
        return name, f"{_rounded(100.0 * math.expm1(value)):g}%"
    return name, _rounded(value)


def _rounded(value: float) -> float:
    """Return a positive number with two digits."""
    return round(value, 1 - math.floor(math.log10(value)))
