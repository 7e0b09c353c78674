"""Near-ties where there are limits: answers next to a limit, and side by side.

An answer of the set has to be told from each of its limits, and from every other answer of the
set. Any other answer is out for one reason, the clearest: a limit that it breaks, or an answer
of the set that dominates it. The cost is T* of this one comparison, everything else being
known: 2 (sum over arms of |v| sd sqrt(cost))^2 / gap^2 for a gap v.mu.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.problem.instances import Instance
from psips.problem.limits import keeping


class Comparison(NamedTuple):
    """One thing to be told: its T*, the answer, and its rival or the text of a limit."""

    t_star: float
    answer: int
    rival: int  # -1 of a limit
    text: str


def comparisons(truth: Instance) -> list[Comparison]:
    """Return what has to be told apart, the most expensive first.

    Examples
    --------
    >>> from psips.problem import Problem
    >>> problem = Problem(
    ...     objectives=["yield"], covariance=[1.0], arms=["A", "B"], limits=["yield >= 1"]
    ... )
    >>> for one in comparisons(Instance("", problem, np.array([[1.1], [0.0]]))):
    ...     print(problem.arms[one.answer], one.text, round(one.t_star, 1))
    A yield >= 1 200.0
    B yield >= 1 2.0
    """
    problem = truth.problem
    inside = [problem.answer_index(name) for name in truth.pareto_set]
    found = [
        one
        for z, which in product(inside, range(len(problem.limits)))
        for one in _limit(truth, z, which)
    ]
    found += [_apart(truth, i, j) for i, j in combinations(inside, 2)]
    for z in set(range(problem.n)) - set(inside):
        kept = keeping(problem.inward(truth.means), problem.limit_model)[z]
        reasons = [one for k in np.flatnonzero(~kept) for one in _limit(truth, z, int(k))]
        reasons += [_above(truth, x, z) for x in inside]
        found.append(min(reasons))
    return sorted(found, reverse=True)


def alone(truth: Instance, z: int) -> float:
    """Return T* of the question whether z keeps its limits, if it is the only answer."""
    kept = keeping(truth.problem.inward(truth.means), truth.problem.limit_model)[z]
    each = [
        (bool(kept[k]), one.t_star) for k in range(len(kept)) for one in _limit(truth, z, k)
    ]
    broken = [t_star for keeps, t_star in each if not keeps]
    return min(broken) if broken else max((t_star for _, t_star in each), default=0.0)


def _limit(truth: Instance, z: int, which: int) -> list[Comparison]:
    """Tell on which side of a limit z is; nothing where it says nothing of z."""
    problem, limits = truth.problem, truth.problem.limit_model
    mu, c, factor = problem.inward(truth.means), limits.metric[which], limits.factor[which]
    gap = limits.sign[which] * (mu[z, c] - factor * mu[limits.control, c])
    weight = _effort(truth, z)[c]
    if z == limits.control:
        weight *= abs(1.0 - factor)
    elif factor != 0.0:
        weight += abs(factor) * _effort(truth, limits.control)[c]
    if weight == 0.0:
        return []
    t_star = _t_star((gap - limits.bound[which]) / weight)
    return [Comparison(t_star, z, -1, problem.limits[which].text)]


def _apart(truth: Instance, i: int, j: int) -> Comparison:
    """Tell that of two answers of the set neither is below the other.

    About, where their noise differs.
    """
    problem, aims = truth.problem, truth.problem.limit_model.aims > 0
    both = 0.5 * (_covariance(truth, i) + _covariance(truth, j))[np.ix_(aims, aims)]
    root = np.linalg.inv(np.linalg.cholesky(both))
    lead = (problem.inward(truth.means)[i] - problem.inward(truth.means)[j])[aims]
    gap = min(_beyond_zero(root, turned - truth.epsilon[aims]) for turned in (lead, -lead))
    weight = np.sqrt(problem.costs[i]) + np.sqrt(problem.costs[j])
    return Comparison(_t_star(gap / weight), i, j, problem.answers[j])


def _beyond_zero(root: Floats, lead: Floats) -> float:
    """Return the length of root @ (y - lead), at least, over y >= 0."""
    from psips._core import solve_nnqp

    y, G = np.zeros(len(lead)), root.T @ root
    solve_nnqp(G, G @ lead, y)
    return float(np.linalg.norm(root @ (y - lead)))


def _above(truth: Instance, x: int, z: int) -> Comparison:
    """Tell that z is below x, up to the tolerance: nowhere above."""
    problem, aims = truth.problem, truth.problem.limit_model.aims > 0
    lead = problem.inward(truth.means)[x] - problem.inward(truth.means)[z] + truth.epsilon
    gap = (lead / (_effort(truth, x) + _effort(truth, z)))[aims].min()
    return Comparison(_t_star(max(gap, 0.0)), z, x, problem.answers[x])


def _effort(truth: Instance, a: int) -> Floats:
    """By metric (d,), the standard deviation of a result, times the root of its cost."""
    return np.asarray(np.sqrt(truth.problem.costs[a] * np.diag(_covariance(truth, a))))


def _covariance(truth: Instance, a: int) -> Floats:
    given = truth.problem.covariance
    return given[a] if given is not None and given.ndim == 3 else truth.problem.usual_covariance


def _t_star(gap: float) -> float:
    return float(2.0 / gap**2) if gap != 0.0 else float("inf")
