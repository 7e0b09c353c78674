"""Arguments of a session besides its problem: rules, a budget, a goal, an oracle's weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, check_keys, quote
from psips.problem import Problem
from psips.problem.goals_and_budget import THESE, read_of
from psips.rules import SAMPLING, Rules
from psips.rules.guarantee import choices_for

EITHER = ("glr", "never")  # rules that know how to count them


def read_rules(
    problem: Problem, rules: Rules | None, choices: Mapping[str, Any], goal: str | None = None
) -> Rules:
    """Return the rules given whole, or by keyword, with what goal and guarantee need.

    Examples
    --------
    >>> problem = Problem(objectives=["gain"], covariance=[1], arms=2)
    >>> read_rules(problem, None, {"guarantee": "proven"}).stopping
    'predicted'
    >>> read_rules(problem, None, {"smapling": "posterior"})
    Traceback (most recent call last):
    psips.errors.InputError: unknown rule 'smapling': did you mean 'sampling'? known: ...
    """
    if rules is None:
        return Rules(**choices_for(problem, choices, goal))
    if not isinstance(rules, Rules):
        raise InputError(f"rules must be a Rules object, got {quote(rules)}")
    if choices:
        raise InputError(f"give either rules or {next(iter(choices))!r}, not both")
    return rules


def read_population(problem: Problem, rules: Rules, given: object) -> str:
    """Read of which items the question is, and whether the rule knows how to count them."""
    of = read_of(problem, given)
    if of == THESE and rules.stopping not in EITHER:
        raise InputError(
            f"a question of these items needs the stopping rule {' or '.join(EITHER)}, got "
            f"{rules.stopping!r}"
        )
    return of


def check_listed(of: str, items: Iterable[str | None]) -> None:
    """Refuse results without an item where the question is of the items of a list."""
    if of == THESE and not all(items):
        raise InputError(
            "the question is of the items of the list: say of each result which it is of"
        )


def check_budgeted(rules: Rules, budget: float | None) -> None:
    """Refuse a rule that divides a budget where there is none."""
    if SAMPLING[rules.sampling].budgeted and budget is None:
        raise InputError(
            f"the sampling rule {rules.sampling!r} divides a budget: give one (budget=300), or "
            "choose another rule"
        )


def check_count(what: str, n: Any) -> None:
    """Refuse what is no whole number of at least 1."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(f"{what} must be a whole number of at least 1, got {quote(n)}")


def read_target(problem: Problem, given: Any) -> Floats:
    """Read the oracle's weights: a distribution over the arms."""
    if isinstance(given, Mapping):
        check_keys("arm", (str(arm) for arm in given), problem.arms)
        named = {str(arm): weight for arm, weight in given.items()}
        given = [named.get(arm, 0.0) for arm in problem.arms]
    try:
        weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"the target must be one weight per arm, got {quote(given)}") from None
    if weights.shape != (problem.K,):
        raise InputError(
            f"the target must have one weight per arm, {problem.K} in all, got {weights.shape}"
        )
    if not (np.all(weights >= 0) and abs(weights.sum() - 1) < 1e-6):
        raise InputError("the target must be weights of at least 0 that sum to 1")
    return weights
