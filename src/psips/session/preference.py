"""Choosing from the front: proven options in the order of a preference, and how sure that is.

Weights or a reference point are given after the stop and decide nothing about it. Which
options are Pareto-optimal was proven, or claimed by the stopping rule; how they are ordered is
an estimate, with posterior probabilities (flat prior), and no claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, check_keys, quote
from psips.input.quantities import as_float
from psips.session.estimated import usual_variances

if TYPE_CHECKING:
    import pandas as pd

    from psips.problem import Problem
    from psips.problem.data import ProblemData
    from psips.session.engine import Engine

DRAWS = 20_000  # of the posterior: probabilities are off by less than 0.01


def rank(
    problem: Problem,
    engine: Engine,
    options: Sequence[str],
    weights: Mapping[str, float] | None,
    reference: Mapping[str, float] | None,
    facts: Floats | None = None,
) -> pd.DataFrame:
    """Order the options that are known to be Pareto-optimal by a preference.

    Parameters
    ----------
    problem, engine
        What is known.
    options : sequence of str
        Answers known to be optimal.
    weights : mapping from objective to a number of at least 0
        The score is the weighted sum of the means, those to minimise with a minus; an
        objective that is not named has weight 0.
    reference : mapping from objective to number
        The score is the smallest lead over the reference point, each objective in standard
        deviations of one measurement (exact ones in those of the options); all are named.
        Together with weights, leads are multiplied by them instead.
    facts : (n, d) array, optional
        Values of the exact metrics that were taken out of the problem, with all others.

    Returns
    -------
    DataFrame
        By option, the best first: ``score`` of the estimates, ``se``, its posterior standard
        deviation, ``best``, the posterior probability of having the largest score among these
        options, and ``ahead``, that of being ahead of the next one (NaN for the last).

    Examples
    --------
    >>> from psips import Problem, Session
    >>> problem = Problem(
    ...     objectives={"yield": "max", "cost": "min"}, covariance=[1, 1], arms=["A", "B"]
    ... )
    >>> session = Session(problem, rng=1)
    >>> for _ in range(40):
    ...     receipt = session.tell("A", [9.0, 5.0])
    ...     receipt = session.tell("B", [8.0, 1.0])
    >>> found = session.rank(weights={"yield": 1.0, "cost": 0.5})
    >>> list(found.index), found["best"].round(2).tolist()
    (['B', 'A'], [1.0, 0.0])
    """
    import pandas as pd

    if not options:
        raise InputError(
            "nothing is proven to be Pareto-optimal yet, so there is nothing to choose from: "
            "go on until the stop, or until a verdict is 'in'"
        )
    rows = [problem.answer_index(name) for name in options]
    means, draws = posterior(problem, engine, rows)
    sds = np.sqrt(usual_variances(problem, engine))
    whole: ProblemData = problem if problem.facts is None else problem.facts.whole
    if problem.facts is not None and facts is not None:
        rest = problem.facts.rest
        known = whole.outward(facts[rows])  # (m, d)
        means, part = known.copy(), means
        means[:, rest] = part
        draws, part = np.broadcast_to(known, (len(draws), *known.shape)).copy(), draws
        draws[..., rest] = part
        # of an exact metric leads are in standard deviations of its values over all answers
        sds, part = whole.outward(facts).std(axis=0), sds
        sds[rest] = part
        sds = np.where(sds > 0.0, sds, 1.0)
    score = _scorer(whole, sds, weights, reference)
    values, scores = score(means), score(draws)  # (m,), (DRAWS, m)
    order = np.argsort(-values, kind="stable")
    best = np.bincount(scores.argmax(axis=1), minlength=len(options)) / DRAWS
    ahead = np.full(len(options), np.nan)
    ahead[:-1] = (scores[:, order[:-1]] > scores[:, order[1:]]).mean(axis=0)
    columns = {
        "score": values[order],
        "se": scores.std(axis=0)[order],
        "best": best[order],
        "ahead": ahead,
    }
    names = pd.Index([options[i] for i in order], name="option")
    return pd.DataFrame(columns, index=names)


def in_words(table: pd.DataFrame) -> str:
    """Say which option is best by the preference, and how sure that is."""
    first = table.index[0]
    if len(table) == 1:
        return f"{first} is the only option to choose from."
    return (
        f"Best by this preference: {first}, with posterior probability "
        f"{table['best'].iloc[0]:.2g}. The order is an estimate, not a claim."
    )


def posterior(problem: Problem, engine: Engine, rows: list[int]) -> tuple[Floats, Floats]:
    """Return means (m, d) of some answers, and draws of them (DRAWS, m, d), user's units."""
    model = engine.model
    rng = np.random.default_rng(engine.key.tolist())
    m, d = len(rows), problem.d
    if model.unstructured:
        means = engine.means[rows]
        R = np.linalg.cholesky(engine.covariances()[rows])  # (m, d, d)
        spread = np.einsum("mcd,nmd->nmc", R, rng.standard_normal((DRAWS, m, d)))
    else:
        means = engine.means[rows]
        spread = engine.spread(rows, rng.standard_normal((DRAWS, model.h, d)))
    return problem.outward(means), problem.outward(means + spread)


def _scorer(problem: ProblemData, sds: Floats, weights: Any, reference: Any) -> Any:
    """Return the score of values (..., d) in the user's orientation."""
    if weights is None and reference is None:
        raise InputError("give weights or a reference point: without one there is no order")
    if weights is not None:
        w = _by_objective(problem, "weights", weights, 0.0)
        for name, value in zip(problem.objectives, w, strict=True):
            if value < 0:
                raise InputError(
                    f"the weight of {quote(name)} must be at least 0, got {value:g}: whether "
                    "it is minimised is part of the problem"
                )
        if not w.any():
            raise InputError("all weights are 0: give at least one objective a positive weight")
    if reference is None:
        return lambda values: problem.inward(values) @ w
    point = _by_objective(problem, "reference point", reference, None)
    scale = 1.0 / sds if weights is None else w
    if weights is not None and not w.all():
        raise InputError(
            "with a reference point every objective needs a positive weight: leave weights out "
            "to have leads in standard deviations"
        )
    return lambda values: (scale * problem.inward(np.asarray(values) - point)).min(axis=-1)


def _by_objective(problem: ProblemData, what: str, given: Any, default: float | None) -> Floats:
    if not isinstance(given, Mapping):
        raise InputError(
            f"the {what} must be a mapping from objective to number, got {quote(given)}"
        )
    named = {str(name): value for name, value in given.items()}
    check_keys(f"objective in the {what}", named, problem.objectives)
    found = []
    for name in problem.objectives:
        if name not in named and default is None:
            raise InputError(f"the {what} has no entry for objective {quote(name)}")
        value = as_float(named.get(name, default))
        if value is None or not np.isfinite(value):
            raise InputError(
                f"the {what} must be finite numbers, got {quote(named[name])} for {quote(name)}"
            )
        found.append(value)
    return np.array(found)
