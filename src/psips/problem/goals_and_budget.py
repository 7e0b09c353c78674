"""What is asked besides the whole Pareto set: budgets, other goals, and of which items."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from psips.errors import InputError, quote
from psips.input.checks import read_positive
from psips.problem.problem import Problem
from psips.state.codes import COUNT, SETTLE

ROUNDING = 1e-9  # of a budget, so that ten times 0.1 is 1
THESE, LIKE_THESE = "these", "like these"  # items that a question is of


def cost_of(problem: Problem, amount: float) -> str:
    """Say what was spent, or may be: a number of results, or a cost.

    Examples
    --------
    >>> from psips.problem.problem import Problem
    >>> cost_of(Problem(objectives=["yield"], covariance=[1], arms=2), 30)
    '30 results'
    """
    if problem.has_costs:
        return f"a cost of {amount:,.10g}"
    return f"{amount:,.0f} result{'' if amount == 1 else 's'}"


def read_budget(problem: Problem, given: object) -> float | None:
    """Read what may be spent: results, or cost if the problem has costs."""
    if given is None:
        return None
    budget = read_positive("the budget", given)
    if not problem.has_costs and budget != int(budget):
        raise InputError(
            f"the budget must be a whole number of results, got {quote(given)}; a problem with "
            "costs has a budget in their unit"
        )
    opening = problem.model.first if not problem.unstructured else np.arange(problem.K)
    least = float(problem.costs[opening].sum())
    if budget * (1 + ROUNDING) < least:
        raise InputError(
            f"the budget must cover the first results, without which nothing can be said, "
            f"{cost_of(problem, least)}; got {quote(given)}"
        )
    return budget


def read_of(problem: Problem, given: object) -> str:
    """Read of which items the question is; left out: of all like those measured.

    Examples
    --------
    >>> problem = Problem(objectives=["gain"], arms=2, items=True)
    >>> read_of(problem, None)
    'like these'
    >>> read_of(problem, "these")
    Traceback (most recent call last):
    psips.errors.InputError: a question of these items needs a list of all of them: register ...
    """
    if given is None:
        return LIKE_THESE
    if given not in (THESE, LIKE_THESE):
        raise InputError(f"of must be {THESE!r} or {LIKE_THESE!r}, got {quote(given)}")
    if given == THESE and not problem.items:
        raise InputError(
            "a question of these items needs a list of all of them: register it with "
            "items=[...]"
        )
    return str(given)


def has_room(problem: Problem, budget: float, left: float, n: int) -> bool:
    """Whether what is left of a budget suffices for ``n`` results of the cheapest arm."""
    return bool(n * problem.costs.min() <= left + ROUNDING * budget)


def room_for(problem: Problem, budget: float | None, spent: float, left: float, n: int) -> int:
    """Return for how many of ``n`` arms the budget has room; refuse if for none."""
    if budget is None or has_room(problem, budget, left, n):
        return n
    room = math.floor((left + ROUNDING * budget) / float(problem.costs.min()))
    if room > 0:
        return room
    pending = max(budget - spent - left, 0.0)
    waiting = f", {cost_of(problem, pending)} pending" if pending > 0 else ""
    raise InputError(
        f"the budget, {cost_of(problem, budget)}, has no room for {n:,} more "
        f"({cost_of(problem, spent)} told{waiting}): results are still taken"
    )


class Goal(NamedTuple):
    """What is to be proven instead of the whole set."""

    text: str  # as it was given
    kind: int  # see `psips.state.codes`
    number: int  # how many answers, or which one


def read_goal(problem: Problem, given: object) -> Goal | None:
    """Read a goal; None stands for the whole set.

    Parameters
    ----------
    problem : Problem
    given : str or None
        ``"2 optimal"``: two answers proven to be Pareto-optimal. ``"settle A"``: the answer A
        proven in or out. ``"beat control"``: an answer proven to dominate the control, or the
        control proven to be optimal, so that none does.

    Examples
    --------
    >>> from psips.problem.problem import Problem
    >>> problem = Problem(objectives=["y"], covariance=[1], arms=["A", "B"], control="B")
    >>> read_goal(problem, "beat control").number, read_goal(problem, "1 optimal").number
    (1, 1)
    """
    if given is None:
        return None
    text = given if isinstance(given, str) else ""
    first, _, rest = text.strip().partition(" ")
    if text.strip() == "beat control":
        if problem.control is None:
            raise InputError(
                "the goal 'beat control' needs a control: give the problem one "
                "(control=...), or choose the goal 'settle NAME'"
            )
        return Goal(text, SETTLE, problem.answer_index(problem.control))
    if first == "settle" and rest:
        return Goal(text, SETTLE, problem.answer_index(rest))
    if rest == "optimal" and first.isascii() and first.isdecimal():
        if not 1 <= int(first) <= problem.n:
            raise InputError(
                f"the goal {quote(text)} asks for {first} Pareto-optimal answers: expected 1 "
                f"to {problem.n}, the number of answers"
            )
        return Goal(text, COUNT, int(first))
    raise InputError(
        f"the goal must be 'N optimal', 'settle NAME' or 'beat control', got {quote(given)}; "
        "leave it out for the whole set"
    )


def goal_reached(
    problem: Problem, goal: Goal, verdicts: Mapping[str, tuple[str, str | None]]
) -> str:
    """Say what was proven when a goal was reached; empty if it was not.

    Parameters
    ----------
    problem : Problem
    goal : Goal
    verdicts : mapping from answer to (verdict, rival)
    """
    proven = [name for name, (verdict, _) in verdicts.items() if verdict == "in"]
    settled = all(verdict != "open" for verdict, _ in verdicts.values())
    if goal.kind == COUNT:
        if len(proven) < goal.number and not settled:
            return ""
        few = "" if len(proven) >= goal.number else "; there are no others"
        return f"proven optimal: {', '.join(proven)}{few}"
    name = problem.answers[goal.number]
    verdict, rival = verdicts[name]
    if verdict == "open":
        return ""
    if verdict == "in":
        return f"{name} is proven optimal: nothing dominates it"
    return f"{name} is proven not optimal: {rival} dominates it"
