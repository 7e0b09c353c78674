"""Truths as users give them, and environments as the kernels read them."""

from __future__ import annotations

from typing import Any

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, check_keys
from psips.input.checks import frozen
from psips.problem import Problem
from psips.problem.measurements import is_frame
from psips.state.source import Source


def factors(problem: Problem) -> Floats:
    """Return the Cholesky factor (K, d, d) of the noise of each arm, 0 in exact metrics."""
    if problem.noisy is not problem:
        found = np.zeros((problem.K, problem.d, problem.d))
        rest = problem.noisy.facts.rest if problem.noisy.facts else []
        found[np.ix_(range(problem.K), rest, rest)] = factors(problem.noisy)
        return found
    given = problem.usual_covariance if problem.covariance is None else problem.covariance
    if np.isnan(given).any():
        raise InputError(
            "to simulate results the covariance of their noise is needed, but it is to be "
            "estimated: give the problem a noise_guess"
        )
    turned = given * np.outer(problem.signs, problem.signs) + 0.0
    shape = (problem.K, problem.d, problem.d)
    return np.ascontiguousarray(np.broadcast_to(np.linalg.cholesky(turned), shape))


def filled_source(problem: Problem, kind: int, means: Floats, **parts: Any) -> Source:
    """Fill a source; kernels are compiled for writable C-ordered arrays of these types.

    It is one of the metrics that have noise.
    """
    d, facts = problem.d, problem.noisy.facts
    rest = list(range(d)) if facts is None else facts.rest
    return Source(
        kind=kind,
        means=np.ascontiguousarray(problem.inward(means)[:, rest]),
        L=np.ascontiguousarray(parts.get("L", np.zeros((0, d, d)))[:, rest][:, :, rest]),
        low=np.zeros(len(rest)),
        high=parts.get("high", np.zeros(d))[rest],
        rows=np.ascontiguousarray(parts.get("rows", np.zeros((0, d)))[:, rest]),
        starts=parts.get("starts", np.zeros(1, np.int64)),
    )


def read_truth(
    problem: Problem, what: str, given: Any, kind: str, rows: tuple[str, ...]
) -> Floats:
    """Read one row of finite numbers per arm or feature, matched by name in a DataFrame."""
    of_theta = kind == "feature"
    if is_frame(given):
        if of_theta and problem.intercept and len(given) == len(rows) - 1:
            rows = rows[:-1]
        index = [str(name) for name in given.index]
        columns = [str(name) for name in given.columns]
        check_keys(f"{kind} in {what}", index, rows)
        check_keys(f"objective in {what}", columns, problem.objectives)
        for label, names, known in (
            (kind, index, rows),
            ("objective", columns, problem.objectives),
        ):
            for name in known:
                if names.count(name) != 1:
                    raise InputError(f"{what} must have one entry for {label} {name!r}")
        places = np.ix_(
            [index.index(r) for r in rows], [columns.index(o) for o in problem.objectives]
        )
        given = given.to_numpy()[places]
    try:
        truth = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers in a rectangular array") from None
    if of_theta:
        truth, rows = problem.complete(truth), problem.feature_names
    if truth.shape != (len(rows), problem.d):
        raise InputError(
            f"{what} must have one row per {kind} and one column per objective, shape "
            f"{(len(rows), problem.d)}, got {truth.shape}"
        )
    for i, c in np.argwhere(~np.isfinite(truth)):
        raise InputError(
            f"{what} of {rows[i]!r} in objective {problem.objectives[c]!r} must be finite, "
            f"got {truth[i, c]}"
        )
    return frozen(truth)
