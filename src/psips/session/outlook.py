"""At the end of a budget: what was earned, what is open, and what more would buy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psips.problem.question import cost_of
from psips.session.verdicts import Verdict, verdicts_of

if TYPE_CHECKING:
    from psips.problem import Problem
    from psips.session.session import Session
    from psips.session.status import Status

FURTHER = 0.1  # of the budget: the part of which the best use is told
NO_EXPLORING = 0.999  # alpha: the share of forced exploration falls with the asks at once
MOST = 1000  # asks made to tell it; of more, their shares are


@dataclass(frozen=True)
class Outlook:
    """What can be said when the budget is spent; nothing here is a claim but the proofs.

    Parameters
    ----------
    proven_in, proven_out, open : tuples of str
        Answers proven to be Pareto-optimal, proven not to be, and the others. With
        probability 1 - delta no proof is wrong.
    probability : float
        Posterior probability that the candidate set is the Pareto set.
    closing : dict
        By arm, about how many more results would settle the open answers that can be
        settled, if the estimates stay as they are, with an even chance for each.
    closing_cost : float
        What these cost.
    endless : tuple of str
        Open answers that no number of results would settle if the estimates stay as they are.
    further_budget : float
        A tenth of the budget.
    further : dict
        By arm, what the sampling rule would measure with it.
    text : str
        The same in sentences.
    """

    proven_in: tuple[str, ...]
    proven_out: tuple[str, ...]
    open: tuple[str, ...]
    probability: float
    closing: dict[str, int]
    closing_cost: float
    endless: tuple[str, ...]
    further_budget: float
    further: dict[str, int]
    text: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the outlook as plain data."""
        plain = dict(vars(self))
        plain.update({k: list(v) for k, v in plain.items() if isinstance(v, tuple)})
        if math.isnan(self.probability):
            plain["probability"] = None
        return plain


def outlook_of(session: Session, known: Status) -> Outlook:
    """Say what the results amount to, and what more of them would buy.

    Examples
    --------
    >>> from psips import Problem, Session
    >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
    >>> session = Session(problem, budget=4, rng=1)
    >>> for arm, value in (("A", 3.0), ("B", 2.0), ("A", 3.2), ("B", 2.4)):
    ...     session.tell(arm, value)
    >>> found = session.status().outlook
    >>> found.open, round(found.probability, 2), found.further
    (('A', 'B'), 0.82, {'A': 1})
    """
    problem = session.problem
    found = verdicts_of(problem, session.engine)
    by = {kind: tuple(v.answer for v in found if v.verdict == kind) for kind in VERDICTS}
    unsettled = [one for one in found if one.verdict == "open"]
    closing = _together(unsettled)
    endless = tuple(one.answer for one in unsettled if not one.more)
    budget = session.budget or 0.0
    tenth = max(FURTHER * budget, float(problem.costs.min()))
    tenth = tenth if problem.has_costs else math.ceil(tenth)
    outlook = Outlook(
        proven_in=by["in"],
        proven_out=by["out"],
        open=by["open"],
        probability=1.0 - known.probability_of_change,
        closing=closing,
        closing_cost=_cost(problem, closing),
        endless=endless,
        further_budget=tenth,
        further=_further(session, tenth),
        text="",
    )
    return Outlook(**{**vars(outlook), "text": _in_words(problem, budget, outlook)})


VERDICTS = ("in", "out", "open")


def _together(unsettled: list[Verdict]) -> dict[str, int]:
    """Further results of each arm that suffice for each of the open answers."""
    closing: dict[str, int] = {}
    for one in unsettled:
        for arm, count in one.more.items():
            closing[arm] = max(closing.get(arm, 0), count)
    return closing


def _cost(problem: Problem, counts: dict[str, int]) -> float:
    return float(sum(problem.costs[problem.arm_index(arm)] * n for arm, n in counts.items()))


def _further(session: Session, amount: float) -> dict[str, int]:
    """Ask a twin of the session what it would measure for a further amount.

    The twin hardly explores, and does not make up for what was asked before.
    """
    kept = session.snapshot()
    rules = {**kept["rules"], "alpha": NO_EXPLORING}
    twin = type(session).restore({**kept, "rules": rules, "budget": None})
    costs, arms, left = session.problem.costs, [], amount * (1 + 1e-9)
    twin.engine.learner.pending[:] = 0.0
    twin.engine.learner.played[:] = twin.engine.belief.N
    for _ in range(MOST):
        fits = costs <= left
        if not fits.any():
            break
        arm = session.problem.arm_index(twin.choose())
        if fits[arm]:
            arms.append(arm)
            left -= costs[arm]
        else:
            break
    counts = np.bincount(np.array(arms, np.int64), minlength=session.problem.K)
    if len(arms) == MOST:  # the rest goes the same way
        counts = np.floor(counts * amount / (costs @ counts)).astype(np.int64)
    return {session.problem.arms[a]: int(counts[a]) for a in np.flatnonzero(counts)}


def _in_words(problem: Problem, budget: float, found: Outlook) -> str:
    def listed(answers: tuple[str, ...]) -> str:
        return ", ".join(answers) or "none"

    text = f"The budget, {cost_of(problem, budget)}, is spent and the stop was not reached: "
    text += "nothing is claimed but the proofs. "
    text += f"Proven optimal: {listed(found.proven_in)}. "
    text += f"Proven not optimal: {listed(found.proven_out)}. Open: {listed(found.open)}. "
    if not math.isnan(found.probability):
        chance = f"{found.probability:.3g}" if found.probability < 0.9995 else "over 0.999"
        text += f"Probability of the candidate set, given the data: {chance}. "
    if found.closing:
        text += "To settle what is open takes about "
        text += (
            f"{cost_of(problem, found.closing_cost)} more, if the estimates stay as they are"
        )
        if found.endless:
            text += f", without {listed(found.endless)}, too close to others to say"
        text += ". "
    if found.further:
        parts = ", ".join(f"{n:,} of {arm}" for arm, n in found.further.items())
        text += f"Best use of {cost_of(problem, found.further_budget)} more: {parts}."
    return text.strip()
