"""What the data prove of each answer, in words.

With probability at least 1 - delta no verdict is wrong at any time, whichever rules choose
the arms and stop (the argument is in src/core/evidence/closed_testing.h). Unstructured problems
need nothing else, whether the noise is given or not (`psips.rules.promises` says what is
assumed of it); linear ones need ``parameter_set=Ball(...)`` or the rule ``predicted``.
With a tolerance "in" says that nothing beats the answer by more than it, and "out" that the
answer is dominated, or that the rival matches it up to the tolerance: both may be true of one.
With limits see `psips.session.constrained_verdicts`.

With the stopping rule ``predicted`` there are two kinds of evidence: these certificates, and
the claims of sets that were predicted. An answer is in or out as soon as either says so: the
certificates have a twentieth of delta and the predicted claims the rest, delta in all (the
argument is in ``src/core/stopping/predicted.h``).
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from psips._core import (
    CERTIFIED,
    IN,
    OPEN,
    OUT,
    further_results,
    open_verdicts,
    settle_answers,
    verdicts_by,
)
from psips.aliases import Floats, Ints
from psips.input.checks import RANK
from psips.interruptible import interruptible
from psips.problem import Problem
from psips.problem.design import spanning_rows
from psips.rules.stopping import has_certificates
from psips.session.constrained_verdicts import verdicts_within
from psips.session.engine import Engine
from psips.session.estimated import not_known
from psips.state.belief import Belief

ROUNDING = 1e-9  # coefficients below this are zero
EXCHANGES = 20  # simplex steps for each dimension: far beyond need, and any step will do


@dataclass(frozen=True)
class Verdict:
    """What is proven of one answer.

    Parameters
    ----------
    answer : str
    verdict : "in", "out" or "open"
    rival : str or None
        Out: who dominates it, or None if that is unknown apart. In: None. Open: of a
        candidate the rival that takes (about) the most further results to tell from it; of
        any other answer the candidate that takes the fewest to be proven to dominate it.
        Linear problems: the rival that there is the least evidence against, and the candidate
        with the most.
    objective : str or None
        Open: the objective in which the two are to be told apart.
    interval : (float, float) or None
        Open: of the answer's lead over the rival in that objective, in the user's units; an
        end is infinite while there are too few results to bound it.
    more : dict
        Open: arm to about how many more results of it would settle the comparison with the
        rival if the estimates stay as they are: prove that the rival does not dominate a
        candidate, or that it does dominate any other answer. They are shared between the
        arms so that few are needed in all. An answer that is no candidate is out then; a
        candidate is in once this is proven of every rival. Empty if no number of results
        would do, as when the two are estimated to be equal.
    reason : str
        The same as a sentence.
    """

    answer: str
    verdict: str
    rival: str | None
    objective: str | None
    interval: tuple[float, float] | None
    more: dict[str, int]
    reason: str


def verdicts_of(problem: Problem, engine: Engine, *, lacking: bool = True) -> list[Verdict]:
    """Return the verdict on each answer; without ``lacking``, not what open ones lack.

    Examples
    --------
    >>> from psips.session.session import Session
    >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
    >>> session = Session(problem, rng=1)
    >>> for value in (3.0, 4.0, 5.0):
    ...     receipt = session.tell("A", [value])
    ...     receipt = session.tell("B", [value - 9.0])
    >>> [(one.answer, one.verdict, one.reason) for one in verdicts_of(problem, session.engine)]
    [('A', 'in', 'beats every rival'), ('B', 'out', 'dominated by A')]
    """
    if not has_certificates(problem) and not engine.program.stopping.predicts:
        why = "a linear problem has certificates with parameter_set=Ball(...) only"
        if problem.marginal:
            why = "no proof is known for features unless the covariance is given"
        return [Verdict(name, "open", None, None, None, {}, why) for name in problem.answers]
    if problem.has_items:
        why = "no proof is known where results share items"
        return [Verdict(name, "open", None, None, None, {}, why) for name in problem.answers]
    if problem.limited:
        found_within = zip(problem.answers, verdicts_within(problem, engine), strict=True)
        return [
            Verdict(name, one.verdict, one.rival, None, None, {}, one.reason)
            for name, one in found_within
        ]
    if problem.tolerance.relative:
        why = "no proof is known for a tolerance that is a percentage"
        return [Verdict(name, "open", None, None, None, {}, why) for name in problem.answers]
    if not engine.ready:
        why = not_known(problem, engine) or "not every option has been measured"
        if not problem.unstructured:
            why = "the arms measured do not span the features yet"
        return [Verdict(name, "open", None, None, None, {}, why) for name in problem.answers]
    log_inverse = engine.program.options.calibration.log_inverse
    known = np.full(problem.n, OPEN)
    if engine.program.stopping.predicts:
        log_inverse -= math.log(CERTIFIED)
        for account in engine.predictions.in_turn:
            verdicts_by(account, known)
    if not has_certificates(problem):
        return [_by_claims(problem, *one) for one in zip(problem.answers, known, strict=True)]
    engine = engine.without_prior()
    belief = engine.belief
    known_so_far = engine.model, belief, engine.front, log_inverse, known
    if not lacking:
        codes, rivals = interruptible(settle_answers, *known_so_far)
        return [
            _settled(problem, z, codes[z], int(rivals[z]))
            or Verdict(name, "open", None, None, None, {}, "not proven")
            for z, name in enumerate(problem.answers)
        ]
    codes, rivals, objectives, least, most, levels = interruptible(open_verdicts, *known_so_far)
    wanted = np.flatnonzero((codes == OPEN) & (rivals >= 0))
    pairs = np.stack([wanted, rivals[wanted]], axis=1)
    promised = iter(_promises(engine, belief, pairs, levels[wanted]))
    found = []
    for z, name in enumerate(problem.answers):
        x = int(rivals[z])
        one = _settled(problem, z, codes[z], x)
        if one is not None:
            found.append(one)
        elif x < 0:
            found.append(Verdict(name, "open", None, None, None, {}, "nothing is known yet"))
        else:
            interval = (float(least[z]), float(most[z]))
            more = {problem.arms[a]: count for a, count in next(promised)}
            inside = bool(engine.front.inside[z])
            found.append(_missing(problem, (z, x, int(objectives[z])), inside, interval, more))
    return found


def _settled(problem: Problem, z: int, code: int, x: int) -> Verdict | None:
    """Return a verdict that is not open; ``x`` is the rival, or -1."""
    name = problem.answers[z]
    if code == IN:
        return Verdict(name, "in", None, None, None, {}, _unbeaten(problem))
    if code == OUT and x < 0:
        return _by_claims(problem, name, OUT)
    if code == OUT:
        rival = problem.answers[x]
        why = f"{rival} stands for it" if problem.tolerance else f"dominated by {rival}"
        return Verdict(name, "out", rival, None, None, {}, why)
    return None


def _unbeaten(problem: Problem) -> str:
    """Say why an answer is in."""
    if problem.tolerance:
        return "nothing beats it by more than the tolerance"
    return "beats every rival"


def _by_claims(problem: Problem, name: str, code: int) -> Verdict:
    """Return the verdict that predicted claims give, or that they do not."""
    out = "matched up to the tolerance" if problem.tolerance else "dominated"
    verdict, why = {
        IN: ("in", _unbeaten(problem)),
        OUT: ("out", f"{out}, by the claims predicted"),
        OPEN: ("open", "not proven by the claims predicted"),
    }[int(code)]
    return Verdict(name, verdict, None, None, None, {}, why)


def _missing(
    problem: Problem,
    which: tuple[int, int, int],
    inside: bool,
    interval: tuple[float, float],
    more: dict[str, int],
) -> Verdict:
    """Say what an open verdict lacks: of the answer, over the rival, in the objective."""
    z, x, c = which
    low, high = interval
    if problem.directions[c] == "min":
        low, high = -high, -low
    name, rival, objective = problem.answers[z], problem.answers[x], problem.objectives[c]
    kind = f"not proven to beat {rival}" if inside else f"not proven dominated by {rival}"
    if problem.tolerance:
        kind = f"not proven that {rival} stands for it"
        if inside:
            kind = f"not proven that {rival} does not beat it by more than the tolerance"
    reason = f"{kind}: {objective} differs by {low:.3g} to {high:.3g}"
    if not math.isfinite(high - low):
        reason = f"{kind}: too few results to say by how much {objective} differs"
    if not more:
        reason += "; no number of results would settle it while the estimates are equal"
    return Verdict(name, "open", rival, objective, (low, high), more, reason)


def _promises(
    engine: Engine, belief: Belief, pairs: Ints, levels: Floats
) -> list[list[tuple[int, int]]]:
    """Arms and how many more results of each settle each pair of an answer and its rival."""
    model = engine.model
    if not len(pairs):
        return []
    if model.unstructured:
        arms, weights = pairs, np.ones(pairs.shape)  # equal counts: least 1 / N_z + 1 / N_x
    else:
        arms, coefficients = combinations(model.A, model.Z[pairs[:, 0]] - model.Z[pairs[:, 1]])
        weights = np.abs(coefficients)
        weights[weights < ROUNDING * weights.max(axis=1, keepdims=True)] = 0.0
    inside = engine.front.inside
    counts = interruptible(
        further_results, model, belief, deepcopy(belief), inside, levels, pairs, arms, weights
    )
    return [
        [(int(arms[row, k]), int(counts[row, k])) for k in np.flatnonzero(counts[row])]
        for row in range(len(pairs))
    ]


def combinations(A: Floats, U: Floats) -> tuple[Ints, Floats]:
    """Write each row of ``U`` as a combination of few rows of ``A`` with small coefficients.

    Pulling arms in proportion to the absolute coefficients with the least sum is the design
    that tells u^T theta soonest (Elfving). The simplex method, for all rows of ``U``
    together: any r independent rows of ``A`` (of rank r) give some coefficients, one of them
    is exchanged at a time, and the sum never rises.

    Parameters
    ----------
    A : array (K, h)
        Features of the arms.
    U : array (m, h)
        Differences of answers, in the span of ``A``.

    Returns
    -------
    tuple
        Arms (m, r) and coefficients (m, r).
    """
    _, s, basis = np.linalg.svd(A, full_matrices=False)
    basis = basis[s > RANK * s[0]]
    A, U = A @ basis.T, U @ basis.T
    (m, r), rows = U.shape, np.arange(len(U))
    arms = np.tile(spanning_rows(A), (m, 1))
    signs = np.where(_coefficients(A[arms], U) < 0.0, -1.0, 1.0)
    for _ in range(EXCHANGES * r):
        used = A[arms[rows]]  # (m, r, r)
        prices = np.linalg.solve(used, signs[rows][..., None])[..., 0]
        saving = prices @ A.T
        enter = np.abs(saving).argmax(axis=1)
        gain = saving[np.arange(len(rows)), enter]
        going = np.abs(gain) > 1.0 + ROUNDING
        rows, used, enter, gain = rows[going], used[going], enter[going], gain[going]
        if not len(rows):
            break
        now = signs[rows] * _coefficients(used, U[rows])
        change = signs[rows] * _coefficients(used, np.sign(gain)[:, None] * A[enter])
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(change > ROUNDING, np.maximum(now, 0.0) / change, np.inf)
        leave = steps.argmin(axis=1)
        arms[rows, leave] = enter
        signs[rows, leave] = np.sign(gain)
    return arms, _coefficients(A[arms], U)


def _coefficients(used: Floats, U: Floats) -> Floats:
    """Write rows of ``U`` (m, r) in the bases ``used`` (m, r, r)."""
    return np.asarray(np.linalg.solve(used.swapaxes(1, 2), U[..., None])[..., 0], np.float64)
