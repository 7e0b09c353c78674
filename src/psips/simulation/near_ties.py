"""Near-ties: which pairs of answers make an experiment long.

The cost of a near-tie is defined by the characteristic time (`psips.theory.geometry`): T* of
telling only these two answers apart, everything else being known, as a share of T*. Shares do
not add up to 1, for a sample may serve several comparisons; an answer that several others
dominate need not be told from each of them, and the one that dominates it most counts.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats, Mask
from psips.errors import InputError
from psips.problem import Problem
from psips.problem.exact import with_facts
from psips.problem.instances import Instance
from psips.simulation.near_limits import alone, comparisons
from psips.theory.geometry import complexity

TIES = 6  # near-ties looked at
MANY = 40  # answers from which on what leaving one out saves is worked out of the nearest pairs
PAIRS = 30  # .. of which there are so many


class NearTie(NamedTuple):
    """Two answers that are hard to tell apart, or an answer and a limit.

    ``share`` is the cost as the module defines it. ``saves`` is the share by which T* falls
    if ``without`` were left out: the one of the two whose absence helps more.
    """

    answers: tuple[str, str]
    share: float
    without: str
    saves: float


def near_ties(truth: Instance, t_star: float, most: int = TIES) -> tuple[NearTie, ...]:
    """Name the pairs of answers whose separation costs most, see the module.

    Examples
    --------
    >>> problem = Problem(objectives=["yield"], covariance=[1.0], arms=["A", "B", "C"])
    >>> truth = Instance("", problem, np.array([[3.0], [2.8], [0.0]]))
    >>> tie, _ = near_ties(truth, complexity(problem, truth.theta).t_star)
    >>> tie.answers, round(tie.share, 2), tie.without, round(tie.saves, 2)
    (('B', 'A'), 1.0, 'B', 1.0)
    """
    if truth.problem.limits and truth.problem.noisy.facts is not None:
        return ()  # limits that are facts have no near-ties
    if truth.problem.limits:
        return _beside_limits(truth, t_star, most)
    names = truth.problem.answers
    everyone = set(range(truth.problem.n))
    many = truth.problem.n > MANY
    whole = _t_star(truth, _in_pairs(truth, everyone)) if many else t_star
    ties = []
    for pair in _closest_pairs(truth, everyone, most):
        share = min(1.0, _t_star(truth, set(pair)) / t_star)
        found = []
        for one in pair:
            rest = everyone - {one}
            found.append((_t_star(truth, _in_pairs(truth, rest) if many else rest), one))
        least, left_out = min(found)
        saves = max(0.0, 1.0 - least / whole)
        i, j = pair
        ties.append(NearTie((names[i], names[j]), share, names[left_out], saves))
    return tuple(sorted(ties, key=lambda tie: -tie.share))


def _beside_limits(truth: Instance, t_star: float, most: int) -> tuple[NearTie, ...]:
    names, everyone = truth.problem.answers, set(range(truth.problem.n))
    control = truth.problem.limit_model.control
    needed = control if any(one.factor for one in truth.problem.limits) else -1
    ties = []
    for one in comparisons(truth)[:most]:
        either = {one.answer, *((one.rival,) if one.rival >= 0 else ())} - {needed}
        rests = [(_t_star(truth, everyone - {z}), z) for z in sorted(either)]
        rest, left_out = min(rests, default=(t_star, one.answer))
        saves = max(0.0, 1.0 - rest / t_star)
        share = min(1.0, one.t_star / t_star)
        ties.append(NearTie((names[one.answer], one.text), share, names[left_out], saves))
    return tuple(ties)


def _in_pairs(truth: Instance, answers: set[int]) -> set[int]:
    """Return those of the answers that are in one of the nearest pairs."""
    return {one for pair in _closest_pairs(truth, answers, PAIRS) for one in pair}


def _closest_pairs(truth: Instance, answers: set[int], most: int) -> list[tuple[int, int]]:
    """Pairs within the Pareto set, and others with the optimal answer furthest above them.

    The nearest first: by the distance, in standard deviations, that swaps the two. Of these
    answers, as if there were no others.
    """
    from psips._core import pareto_mask

    problem, kept = truth.problem, np.array(sorted(answers))
    mu = problem.inward(truth.means)
    inside = kept[pareto_mask(np.ascontiguousarray(mu[kept]))].tolist()
    left = problem.noisy
    model = with_facts(left.facts, left.model, mu)
    rest = list(range(problem.d)) if left.facts is None else left.facts.rest
    mu = mu[:, rest] / np.sqrt(np.diag(left.usual_covariance))
    ahead = model.facts[:, None] - model.facts  # (n, n, e): of the first over the second
    beats = (ahead >= 0.0) & ((model.give == 0.0) | (ahead > model.give))
    beating: Mask = np.asarray(beats.all(axis=2))
    holding: Mask = np.asarray((-ahead <= model.give).all(axis=2))
    pairs = []
    for i, j in combinations(inside, 2):
        lead = mu[i] - mu[j]
        ways = [(lead, j, i), (-lead, i, j)]  # "i below j", "j below i"
        swaps = [np.sum(np.maximum(by, 0) ** 2) for by, a, b in ways if beating[a, b]]
        if swaps:
            pairs.append((float(min(swaps)), i, j))
    for z in sorted(answers - set(inside)):
        holders = [x for x in inside if holding[x, z]]
        slack, x = max((float(np.min(mu[x] - mu[z])), x) for x in holders)
        pairs.append((slack**2, z, x))
    return [(i, j) for _, i, j in sorted(pairs)[:most]]


def _t_star(truth: Instance, answers: set[int]) -> float:
    """T* of the question about some of the answers only; one that is left has its limits."""
    if len(answers) < 2:
        return alone(truth, *answers) if truth.problem.limits else 0.0
    problem, kept = truth.problem, sorted(answers)
    unused = {"prior"}  # by T*, nor is a parameter set
    if not problem.limits or problem.limit_model.control not in answers:
        unused.add("control")
    data = {key: value for key, value in problem.to_dict().items() if key not in unused}
    data.update(ball=None, box=None)
    if problem.tolerance:
        data["epsilon"] = dict(zip(problem.objectives, truth.epsilon.tolist(), strict=True))
    if problem.answer_features is None:
        data["arms"] = [problem.arms[a] for a in kept]
        data["costs"] = problem.costs[kept].tolist()
        if problem.covariance is not None and problem.covariance.ndim == 3:
            data["covariance"] = problem.covariance[kept].tolist()
        return finite_t_star(Problem.from_dict(data), truth.theta[kept])
    given = len(data["feature_names"])  # without the intercept
    rows = problem.answer_features[kept, :given].tolist()
    data["answers"] = [[problem.answers[a], row] for a, row in zip(kept, rows, strict=True)]
    return finite_t_star(Problem.from_dict(data), truth.theta)


def finite_t_star(problem: Problem, theta: Floats) -> float:
    """Return T*, infinite at a tie."""
    try:
        return complexity(problem, theta, tolerance=0.01).t_star
    except InputError:  # a tie: leaving an answer out may uncover one
        return float("inf")
