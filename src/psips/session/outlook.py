"""When a budget runs out: what is proven, what is undecided, and what more would buy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from psips.input.durations import duration_text
from psips.problem import Problem
from psips.problem.goals_and_budget import cost_of
from psips.session.verdicts import Verdict

VERDICTS = ("in", "out", "open")
MOST_ASKS = 1000  # made to tell what a further amount would buy; of more, their shares are
FURTHER = 0.1  # of the budget: the part of which the best use is told


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
        A tenth of the budget, or of what was spent when the time was over.
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


def outlook_of(
    problem: Problem,
    budget: float,
    found: list[Verdict],
    probability: float,
    spend: Callable[[float], dict[str, int]],
    time_limit: float | None = None,
) -> Outlook:
    """Say what the results amount to, and what more of them would buy.

    Parameters
    ----------
    problem : Problem
    budget : float
    found : list of Verdict
    probability : float
        Of the candidate set.
    spend : callable
        What the sampling rule would measure for an amount, by arm.
    time_limit : float or None
        Seconds, if it is the time that is over.

    Examples
    --------
    >>> from psips import Problem, Session
    >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
    >>> session = Session(problem, budget=4, rng=1)
    >>> for arm, value in (("A", 3.0), ("B", 2.0), ("A", 3.2), ("B", 2.4)):
    ...     receipt = session.tell(arm, value)
    >>> found = session.status().outlook
    >>> found.open, round(found.probability, 2), found.further
    (('A', 'B'), 0.82, {'A': 1})
    """
    by = {kind: tuple(v.answer for v in found if v.verdict == kind) for kind in VERDICTS}
    unsettled = [one for one in found if one.verdict == "open"]
    closing = _together(unsettled)
    endless = tuple(one.answer for one in unsettled if not one.more)
    tenth = max(FURTHER * budget, float(problem.costs.min()))
    tenth = tenth if problem.has_costs else math.ceil(tenth)
    outlook = Outlook(
        proven_in=by["in"],
        proven_out=by["out"],
        open=by["open"],
        probability=probability,
        closing=closing,
        closing_cost=_cost(problem, closing),
        endless=endless,
        further_budget=tenth,
        further=spend(tenth),
        text="",
    )
    over = f"The budget, {cost_of(problem, budget)}, is spent"
    if time_limit is not None:
        over = f"The time limit, {duration_text(time_limit)}, is over"
    return Outlook(**{**vars(outlook), "text": _in_words(problem, over, outlook)})


def _together(unsettled: list[Verdict]) -> dict[str, int]:
    """Further results of each arm that suffice for each of the open answers."""
    closing: dict[str, int] = {}
    for one in unsettled:
        for arm, count in one.more.items():
            closing[arm] = max(closing.get(arm, 0), count)
    return closing


def _cost(problem: Problem, counts: dict[str, int]) -> float:
    return float(sum(problem.costs[problem.arm_index(arm)] * n for arm, n in counts.items()))


def _in_words(problem: Problem, over: str, found: Outlook) -> str:
    def listed(answers: tuple[str, ...]) -> str:
        return ", ".join(answers) or "none"

    text = f"{over} and the stop was not reached: "
    text += "only what is proven is claimed. "
    text += f"Proven optimal: {listed(found.proven_in)}. "
    text += f"Proven not optimal: {listed(found.proven_out)}. Open: {listed(found.open)}. "
    if not math.isnan(found.probability):
        chance = f"{found.probability:.3g}" if found.probability < 0.9995 else "over 0.999"
        text += f"Probability of the candidate set, given the data: {chance}. "
    if found.endless:
        text += f"Too close to others to say: {listed(found.endless)}. "
    if found.further:
        parts = ", ".join(f"{n:,} of {arm}" for arm, n in found.further.items())
        text += f"Best use of {cost_of(problem, found.further_budget)} more: {parts}."
    return text.strip()


def further_asks(problem: Problem, choose: Callable[[], str], amount: float) -> dict[str, int]:
    """Return by arm what ``choose`` chooses for an amount."""
    costs, left = problem.costs, amount * (1 + 1e-9)
    counts = np.zeros(problem.K)
    for _ in range(MOST_ASKS):
        arm = problem.arm_index(choose())
        if costs[arm] > left:
            break
        counts[arm] += 1
        left -= costs[arm]
    if counts.sum() == MOST_ASKS:  # the rest goes the same way
        counts = np.floor(counts * amount / (costs @ counts))
    return {problem.arms[a]: int(counts[a]) for a in np.flatnonzero(counts)}
