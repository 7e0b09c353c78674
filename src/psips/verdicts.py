"""What the data prove of each answer, in words.

With probability at least 1 - delta no verdict is wrong at any time, whichever rules choose
the arms and stop (the argument is in `psips.kernels.certificates`). Unstructured problems
need nothing else; linear ones need ``parameter_set=Ball(...)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from psips.engine import Engine
from psips.kernels.certificates import IN, OUT
from psips.kernels.missing import verdicts
from psips.problem import Problem
from psips.rules import has_certificates


@dataclass(frozen=True)
class Verdict:
    """What is proven of one answer.

    Parameters
    ----------
    answer : str
    verdict : "in", "out" or "open"
    rival : str or None
        Out: who dominates it. Open: whom it is hardest to tell from. In: None.
    objective : str or None
        Open: the objective in which the two are to be told apart.
    interval : (float, float) or None
        Open: of the answer's lead over the rival in that objective, in the user's units.
    more : dict
        Open: arm to roughly how many more results of it would settle the matter, if the
        estimates are right; empty if they do not tell.
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


def verdicts_of(problem: Problem, engine: Engine) -> list[Verdict]:
    """Return the verdict on each answer.

    Examples
    --------
    >>> from psips.session import Session
    >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
    >>> session = Session(problem, rng=1)
    >>> for value in (3.0, 4.0, 5.0):
    ...     session.tell("A", [value])
    ...     session.tell("B", [value - 9.0])
    >>> [(one.answer, one.verdict, one.reason) for one in verdicts_of(problem, session.engine)]
    [('A', 'in', 'beats every rival'), ('B', 'out', 'dominated by A')]
    """
    if not has_certificates(problem):
        why = "a linear problem has certificates with parameter_set=Ball(...) only"
        return [Verdict(name, "open", None, None, None, {}, why) for name in problem.answers]
    if problem.unstructured and not (engine.belief.pulls > 0).all():
        why = "some arms have not been measured"
        return [Verdict(name, "open", None, None, None, {}, why) for name in problem.answers]
    log_inverse = engine.options.calibration.log_inverse
    codes, rivals, objectives, widths = verdicts(
        engine.model, engine.data, engine.front, log_inverse
    )
    found = []
    for z, name in enumerate(problem.answers):
        x = int(rivals[z])
        if codes[z] == OUT:
            rival = problem.answers[x]
            found.append(Verdict(name, "out", rival, None, None, {}, f"dominated by {rival}"))
        elif codes[z] == IN:
            found.append(Verdict(name, "in", None, None, None, {}, "beats every rival"))
        elif x < 0:
            found.append(Verdict(name, "open", None, None, None, {}, "nothing is known yet"))
        else:
            found.append(_missing(problem, engine, z, x, int(objectives[z]), widths[z]))
    return found


def _missing(problem: Problem, engine: Engine, z: int, x: int, c: int, width: float) -> Verdict:
    """Say what an open verdict lacks."""
    model, belief = engine.model, engine.data
    values = belief.theta if problem.unstructured else model.Z @ belief.theta
    lead = float(values[z, c] - values[x, c])
    inside = bool(engine.front.inside[z])
    low, high = lead - width, lead + width
    if problem.directions[c] == "min":
        low, high = -high, -low
    name, rival, objective = problem.answers[z], problem.answers[x], problem.objectives[c]
    kind = "not proven to beat" if inside else "not proven dominated by"
    reason = f"{kind} {rival}: {objective} differs by {low:.3g} to {high:.3g}"
    more: dict[str, int] = {}
    if lead != 0.0 and (lead > 0.0) == inside:
        factor = max((width / lead) ** 2, 1.0)
        if problem.unstructured:
            variance = 1.0 / belief.N[z] + 1.0 / belief.N[x]
            for a in (z, x):  # the better measured of the two has less to add
                extra = 2.0 * (factor - 1.0) * min(belief.N[z], belief.N[x])
                share = 1.0 / (belief.N[a] * variance)
                more[problem.arms[a]] = max(1, math.ceil(extra * share))
            listed = " and ".join(f"{count:,} of {arm}" for arm, count in more.items())
            reason += f"; about {listed} more"
        else:
            extra = max(1, math.ceil((factor - 1.0) * float(belief.tally[0])))
            reason += f"; about {extra:,} more results"
    return Verdict(name, "open", rival, objective, (low, high), more, reason)
