"""Metrics without noise: a binary's size, a price, a number of parameters.

One result of an arm tells all of such a metric: comparisons and limits in it are facts. So the
kernels are given the other metrics, what is left of the problem (`without`), and the facts
next to them: between whom a comparison is open at all, and who breaks a limit (`state_facts`).
What a fact says of two answers is in `src/core/constraint.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from psips.aliases import Floats, Mask
from psips.errors import InputError, listing, quote
from psips.input.checks import frozen
from psips.problem.data import Facts, ProblemData
from psips.problem.limits import ONLY, keeping
from psips.problem.parameters import Ball, Box, Prior
from psips.problem.tolerance import Tolerance
from psips.state.model import Model

P = TypeVar("P", bound=ProblemData)

ROUNDING = 1e-12  # relative: what differs by less from a tolerance or a limit is at it


def declared(problem: ProblemData) -> tuple[int, ...]:
    """Return the columns of the metrics that are registered as exact."""
    return tuple(c for c, scale in enumerate(problem.scales) if scale.exact)


def check_exact(problem: ProblemData) -> None:
    """Refuse exact metrics where an answer has no results of its own."""
    columns = declared(problem)
    if len(columns) == problem.d:
        raise InputError(
            "every metric is exact, without noise, so that one result of each option settles "
            "everything: compare the values themselves, or add a metric that has noise"
        )
    if columns and not problem.unstructured:
        names = listing([problem.objectives[c] for c in columns])
        raise InputError(
            f"{names} has no noise, and features describe metrics that do: leave out the "
            f"features, or {names}"
        )


def without(problem: P, columns: Sequence[int]) -> P:
    """Return what is left of a problem when these metrics are facts; itself if there are none.

    Examples
    --------
    >>> from psips.problem import Problem
    >>> problem = Problem(objectives=["speed", "size"], arms=2, covariance=[1, 0])
    >>> without(problem, [1]).objectives
    ('speed',)
    """
    if not columns:
        return problem
    limits = problem.limits
    facts = Facts(
        problem,
        tuple(columns),
        tuple(c for c in columns if problem.directions[c] != ONLY),
        any(limit.metric in columns for limit in limits),
    )
    rest = facts.rest
    fields: dict[str, Any] = {
        name: tuple(getattr(problem, name)[c] for c in rest)
        for name in ("objectives", "directions", "scales")
    }
    covariance, guess, tolerance = problem.covariance, problem.noise_guess, problem.tolerance
    if covariance is not None:
        covariance = frozen(covariance[..., rest, :][..., rest])
    if guess is not None:
        matrix = problem.usual_covariance[np.ix_(rest, rest)]
        guess = replace(guess, covariance=matrix.tolist())
    kept = [limit for limit in limits if limit.metric in rest]
    fields |= {
        "facts": facts,
        "signs": frozen(problem.signs[rest]),
        "covariance": covariance,
        "noise_guess": guess,
        "tolerance": Tolerance(
            tolerance.given,
            frozen(tolerance.amounts[rest]),
            frozen(tolerance.shares[rest]),
        ),
        "limits": tuple(one._replace(metric=rest.index(one.metric)) for one in kept),
        "parameter_set": _bounds_without(problem, rest),
        "prior": _prior_without(problem.prior, rest),
    }
    found = object.__new__(type(problem))
    kept_fields = {one.name: getattr(problem, one.name) for one in dataclass_fields(problem)}
    found.__dict__.update(kept_fields | fields)
    return found


def _bounds_without(problem: ProblemData, rest: list[int]) -> Ball | Box | None:
    bounds, d = problem.parameter_set, problem.d
    if isinstance(bounds, Ball):
        radii = np.broadcast_to(np.asarray(bounds.radius, float), (d,))
        return Ball(radii[rest].tolist())
    if isinstance(bounds, Box):
        ends = (bounds.low, bounds.high)
        wide = (np.broadcast_to(np.asarray(end, float), (problem.h, d)) for end in ends)
        return Box(*(end[:, rest].tolist() for end in wide))
    return None


def _prior_without(prior: Prior | None, rest: list[int]) -> Prior | None:
    if prior is None:
        return None
    return Prior(np.array(prior.means)[:, rest], np.array(prior.pulls))


def private(model: Model) -> Model:
    """Return a model with facts of its own, which others do not see change."""
    if not model.facts.size and not len(model.limits.kept):
        return model
    limits = replace(model.limits, kept=model.limits.kept.copy())
    return replace(model, facts=model.facts.copy(), give=model.give.copy(), limits=limits)


def state_facts(facts: Facts | None, values: Floats, model: Model) -> None:
    """Write what exact metrics say into a model.

    Parameters
    ----------
    facts : Facts or None
    values : (n, d) array
        Of all metrics, as the kernels see them; NaN where nothing is known.
    model : Model
        A `private` one.
    """
    if facts is None:
        return
    whole, aims = facts.whole, list(facts.aims)
    model.facts[:] = values[:, aims]
    control = None if whole.control is None else values[whole.answer_index(whole.control)]
    epsilon = np.nan_to_num(whole.tolerance.at(control)[aims])
    size = np.nan_to_num(np.abs(model.facts)).max(axis=0, initial=0.0)
    model.give[:] = np.where(epsilon > 0.0, epsilon + ROUNDING * size, model.give)
    if facts.limited:
        model.limits.kept[:] = keeps_facts(facts, values)


def with_facts(facts: Facts | None, model: Model, values: Floats) -> Model:
    """Return a model of its own that knows these values (n, d) of exact metrics."""
    found = private(model)
    state_facts(facts, values, found)
    return found


def keeps_facts(facts: Facts, values: Floats) -> Mask:
    """Return which answers (n,) keep the limits on exact metrics; all, where it is unknown."""
    whole = facts.whole
    which = [k for k, limit in enumerate(whole.limits) if limit.metric in facts.columns]
    limits = whole.limit_model
    size = np.nan_to_num(np.abs(values[:, limits.metric])).max(axis=0, initial=0.0)
    eased = replace(limits, bound=limits.bound - ROUNDING * (size + np.abs(limits.bound)))
    known = np.where(np.isnan(values), 0.0, values)
    kept = keeping(known, eased) | np.isnan(values)[:, limits.metric]
    return np.asarray(kept[:, which].all(axis=1))


def clash(problem: ProblemData, c: int, arm: str, was: float, value: float) -> str:
    """Say that an exact metric has changed."""
    named = quote(problem.objectives[c])
    return (
        f"{named} is registered as exact, without noise, and was {was!r} for arm "
        f"{quote(arm)}, got {value!r}: correct the value, or register {named} with kind = "
        f"'number'"
    )
