"""How well the confidence is founded, in one word, and which stopping rule that takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psips.errors import InputError, NoProofError, unknown
from psips.problem import Problem
from psips.problem.goals_and_budget import read_goal
from psips.rules.config import BY_PROOFS, OWN, Rules
from psips.rules.promises import kind_of_promise
from psips.rules.stopping import BAYESIAN, HEURISTIC, MEASURED, NONE, PROVEN, has_certificates

GUARANTEES = {
    "validated": (MEASURED, PROVEN),
    "proven": (PROVEN,),
}  # kinds of promise that suffice
CHEAPEST = ("predicted", BY_PROOFS)  # the proven rules, those that take fewer results first
OFFERED = {
    MEASURED: "is validated by simulation, not proven",
    HEURISTIC: "is a heuristic that can err more often than delta",
    BAYESIAN: "bounds a posterior probability, not a rate of errors",
    NONE: "promises nothing",
}


def choices_for(
    problem: Problem, choices: Mapping[str, Any], goal: str | None = None
) -> dict[str, Any]:
    """Return choices of rules with the stopping rule that a guarantee or a goal needs.

    ``guarantee="proven"`` takes the proven rule that needs the fewest results and is made for
    the problem; "validated" is what the default has.

    Examples
    --------
    >>> problem = Problem(objectives=["gain"], covariance=[1], arms=2)
    >>> choices_for(problem, {"delta": 0.05, "guarantee": "proven"})
    {'delta': 0.05, 'stopping': 'predicted'}
    >>> choices_for(Problem(objectives=["gain"], arms=2), {"guarantee": "proven"})
    {'stopping': 'certified'}
    >>> choices_for(problem, {"guarantee": "validated"})
    {}
    >>> choices_for(problem, {}, goal="1 optimal")
    {'stopping': 'certified'}
    """
    found = {**({} if goal is None else {"stopping": BY_PROOFS}), **choices}
    guarantee = found.pop("guarantee", None)
    if guarantee is None:
        return found
    if not isinstance(guarantee, str) or guarantee not in GUARANTEES:
        raise unknown("guarantee", str(guarantee), list(GUARANTEES))
    said = {key for key in ("stopping", "calibration") if choices.get(key, OWN) != OWN}
    if guarantee == "proven" and not said:
        found["stopping"] = _cheapest(problem, found, goal)
    rules = Rules(**found)
    kind = kind_of_promise(rules)
    if kind not in GUARANTEES[guarantee]:
        blamed = ("stopping", "calibration", "sampling", "draws")
        one = next(key for key in blamed if key in found)
        raise InputError(
            f"guarantee={guarantee!r} and {one}={found[one]!r} contradict each other: the "
            f"stopping rule {rules.stopping!r} with them {OFFERED[kind]}; leave one of them out"
        )
    return found


def _cheapest(problem: Problem, choices: Mapping[str, Any], goal: str | None) -> str:
    """Return the first proven rule that is made for the problem, or say what is in the way."""
    aim = read_goal(problem, goal)
    refusals = []
    for name in CHEAPEST if goal is None else (BY_PROOFS,):
        try:
            Rules(**{**choices, "stopping": name}).check(problem.noisy, aim)
        except InputError as refusal:
            refusals.append(refusal)
        else:
            return name
    found = _in_the_way(problem, goal)
    if found is None:  # the other rules chosen
        raise refusals[-1]
    what, remedy = found
    raise NoProofError(
        f"no stopping rule is proven for {what}: {remedy}, or choose guarantee='validated', "
        f"which is the default"
    )


def _in_the_way(problem: Problem, goal: str | None) -> tuple[str, str] | None:
    """Return what no proof is known for, and what to do about it."""
    if problem.has_items:
        return "results that share items", "leave the items out"
    if problem.limited:
        return "limits", "leave the limits out"
    if problem.prior is not None:
        return "problems with a prior", "leave the prior out"
    if problem.tolerance.relative:
        return "a tolerance that is a percentage", "give it as a number"
    if not problem.unstructured and problem.marginal:
        return (
            "features unless one covariance is given and results are complete",
            "give covariance=... for all options, and no missing values",
        )
    if goal is not None and not has_certificates(problem):
        return "a goal with features", "give parameter_set=Ball(...), or leave the goal out"
    return None
