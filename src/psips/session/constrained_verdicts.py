"""Verdicts with limits: which answers are proven to be in the set, and which not.

Let A be the answers that keep all limits at the truth, S the Pareto set of these, n answers in
all, l sides of limits and d objectives. These claims are false
(`src/core/evidence/limit_evidence.h`):

* of each answer and limit "it keeps it" or "it breaks it": n l of them;
* an answer of A outside S is dominated by some x in S, one that is fixed by the truth. The
  claims "it beats x in objective c" are false: at most (n - 1) d;
* "x dominates z" for z in S and x in A, in some objective: at most n (n - 1).

Each kind has its share of delta and each claim an equal part, so that with probability
1 - delta no false claim is ever made. Then what follows is true:

* z is in, if it keeps all limits, proven, and every x breaks one, proven, or is beaten by z
  somewhere, proven. For z breaks no limit, and if some answer of A dominated it, so would the x
  of S above, which neither breaks a limit nor is beaten by z anywhere;
* z is out, if it breaks a limit, proven, or if some x keeps all limits and dominates z, both
  proven.

With a tolerance claims are up to epsilon. "In" says that z keeps its limits and nothing in A
beats it by more: what does is dominated by an x in S that does too, or is in S. "Out" by
dominance says that x keeps its limits and stands for z, n (n - 1) claims again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from psips._core import evidence_within
from psips.aliases import Floats, Mask
from psips.interruptible import interruptible
from psips.problem import Problem
from psips.problem.limits import keeping
from psips.state.model import Model

if TYPE_CHECKING:
    from psips.session.engine import Engine

LIMITS, ESCAPES, DOMINANCE = 0.5, 0.25, 0.25  # shares of delta


class Levels(NamedTuple):
    """Evidence that a claim of each kind needs."""

    limit: float
    escape: float
    dominance: float


class Found(NamedTuple):
    """What is proven of one answer: "in", "out" or "open", by whom, and why."""

    verdict: str
    rival: str | None
    reason: str


def levels_of(n: int, sides: int, d: int, log_inverse: float) -> Levels:
    """Return the levels for n answers, sides of limits, and objectives."""
    return Levels(
        math.log(n * max(sides, 1) / LIMITS) + log_inverse,
        math.log((n - 1) * max(d, 1) / ESCAPES) + log_inverse,
        math.log(n * (n - 1) / DOMINANCE) + log_inverse,
    )


def judged(
    kept: Floats, broken: Floats, leads: Floats, levels: Levels, escaping: bool
) -> tuple[Mask, Mask, Mask, Mask]:
    """Return what follows from evidence, see `psips._core.evidence_within`.

    Parameters
    ----------
    kept, broken : (n, l) arrays
    leads : (n, n, d) array
        Of the objectives alone.
    levels : Levels
    escaping : bool
        Whether leads may be used at all.

    Returns
    -------
    tuple
        Who keeps all limits (n,), who breaks one (n,), whom z has left behind (n, n) (by a
        lead, or because it breaks a limit), and by whom z is dominated (n, n).
    """
    keeps = np.asarray((kept >= levels.limit).all(axis=1))
    breaks = np.asarray((broken >= levels.limit).any(axis=1))
    ahead = leads.max(axis=2) >= levels.escape
    above = leads.min(axis=2) >= levels.dominance
    if not escaping:
        ahead, above = np.zeros_like(ahead), np.zeros_like(above)
    behind = ahead | breaks[None, :] | np.eye(len(keeps), dtype=bool)
    return keeps, breaks, behind, (above & keeps[:, None]).T


def verdicts_within(problem: Problem, engine: Engine) -> list[Found]:
    """Return what is proven of each answer."""
    if not engine.ready:
        return [Found("open", None, "some options have too few measurements")] * problem.n
    model = engine.model
    aims = model.limits.aims > 0
    kept, broken, leads = interruptible(evidence_within, model, engine.belief)
    leads = leads[:, :, aims]
    if problem.facts is not None:
        kept, broken, leads = with_facts(model, kept, broken, leads)
    log_inverse = engine.program.options.calibration.log_inverse
    levels = levels_of(problem.n, len(problem.limits), int(aims.sum()), log_inverse)
    known = judged(kept, broken, leads, levels, not problem.tolerance.relative)
    estimated = keeping(engine.belief.theta, model.limits)
    inside = np.asarray(engine.front.inside, np.bool_)
    return [
        _found(problem, z, inside, known, (kept, broken, leads), estimated)
        for z in range(problem.n)
    ]


def with_facts(
    model: Model, kept: Floats, broken: Floats, leads: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return evidence with what exact metrics say, which is certain.

    A limit more, for theirs together, and instead of leads the most and the least of them:
    z has left x behind where an exact metric says that x never beats it, and does not dominate
    x where one says that it never holds x.
    """
    facts, give = model.facts, model.give
    ahead = facts[None] - facts[:, None]  # (n, n, e): of x over z
    beaten = ((ahead >= 0.0) & ((give == 0.0) | (ahead > give))).all(axis=2)
    holding = (ahead <= give).all(axis=2)
    if leads.shape[2]:
        most, least = leads.max(axis=2), leads.min(axis=2)
    else:  # exact metrics decide alone; equal answers dominate neither
        most = np.where((ahead == 0.0).all(axis=2), np.inf, 0.0)
        least = np.where((ahead < 0.0).any(axis=2), np.inf, 0.0)
    most, least = np.where(beaten, most, np.inf), np.where(holding, least, 0.0)
    if len(model.limits.kept):
        fine = model.limits.kept[:, None] > 0.0
        kept = np.hstack([kept, np.where(fine, np.inf, 0.0)])
        broken = np.hstack([broken, np.where(fine, 0.0, np.inf)])
    return kept, broken, np.stack([most, least], axis=2)


def _found(
    problem: Problem,
    z: int,
    inside: Mask,
    known: tuple[Mask, Mask, Mask, Mask],
    evidence: tuple[Floats, Floats, Floats],
    estimated: Mask,
) -> Found:
    """Say what is proven of z; ``known`` is what `judged` returns."""
    keeps, breaks, behind, below = known
    kept, broken, leads = evidence
    if breaks[z]:
        return Found("out", None, f"{_breach(problem, int(broken[z].argmax()))}, proven")
    if keeps[z] and behind[z].all() and (inside[z] or not below[z].any()):
        rest = "beats every rival that may keep them"
        if problem.tolerance:
            rest = "nothing that may keep them beats it by more than the tolerance"
        return Found("in", None, f"keeps its limits, and {rest}")
    if below[z].any():
        rival = problem.answers[int(np.flatnonzero(below[z])[0])]
        if problem.tolerance:
            return Found("out", rival, f"{rival}, which keeps the limits, stands for it")
        return Found("out", rival, f"dominated by {rival}, which keeps the limits")
    if not estimated[z].all():
        worst = int(np.flatnonzero(~estimated[z])[0])
        return Found("open", None, f"{_breach(problem, worst)}, not proven")
    if problem.tolerance.relative:
        why = "no proof is known for a tolerance that is a percentage"
        return Found("open", None, f"{why}, but of limits")
    if not keeps[z]:
        limit = problem.limits[int(kept[z].argmin())].text
        return Found("open", None, f"not proven to keep the limit {limit}")
    if inside[z]:
        x = int(np.where(behind[z], np.inf, leads[z].max(axis=1)).argmin())
        rival = problem.answers[x]
        said = f"to beat {rival}"
        if problem.tolerance:
            said = f"that {rival} does not beat it by more than the tolerance"
        return Found("open", rival, f"not proven {said}")
    x = int(np.where(inside, leads[:, z].min(axis=1), -1.0).argmax())
    rival = problem.answers[x]
    lacks = "" if keeps[x] else ", nor that this one keeps the limits"
    said = f"that {rival} stands for it" if problem.tolerance else f"dominated by {rival}"
    return Found("open", rival, f"not proven {said}{lacks}")


def _breach(problem: Problem, which: int) -> str:
    if which >= len(problem.limits):
        return "a limit on an exact metric is broken"
    one = problem.limits[which]
    return one.broken(problem.objectives[one.metric])
