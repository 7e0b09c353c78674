"""What a session has been told, what follows from it, and what has been spent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from psips.aliases import Floats
from psips.errors import counted
from psips.problem import Problem
from psips.problem.instances import Results
from psips.problem.measurements import ITEM
from psips.problem.question import Goal, goal_reached, has_room
from psips.rules import Rules
from psips.session.engine import NOTHING, Engine
from psips.session.exact import Exact
from psips.session.items import Items
from psips.session.timing import TimeLimit
from psips.session.verdicts import verdicts_of

if TYPE_CHECKING:
    import pandas as pd


class Known:
    """The side of a `Session` that is looked at; nothing here changes it."""

    problem: Problem
    noisy: Problem  # what exact metrics leave of it, see `psips.problem.exact`
    exact: Exact
    rules: Rules
    goal: Goal | None
    budget: float | None
    time_limit: TimeLimit | None
    lost: float  # cost of results that do not count; set by studies
    items: Items | None
    engine: Engine
    _told: list[tuple[int, Floats]]  # as they were measured
    _blocks: list[str]  # items of these results, with blocks

    @property
    def pending(self) -> dict[str, int]:
        """Number of asks of each arm that were neither told nor taken back."""
        counts = self.engine.learner.pending.tolist()
        return {arm: int(n) for arm, n in zip(self.problem.arms, counts, strict=True)}

    @property
    def stopped(self) -> bool:
        """Whether the stopping rule holds for the results told so far."""
        return self.settled and not self.exact.lacking

    @property
    def settled(self) -> bool:
        """Whether the stopping rule holds, whatever repeats exact metrics still lack."""
        return self.engine.stopped or bool(self.exact.front)

    @property
    def candidate_set(self) -> tuple[str, ...]:
        """Pareto set of the estimates.

        Empty while an arm without features is unmeasured; with features, while the arms
        measured do not span them.
        """
        found = self.exact.front or self.engine.candidate
        return tuple(self.problem.answers[a] for a in found)

    @property
    def pareto_set(self) -> tuple[str, ...] | None:
        """The answer, once the session has stopped; None before.

        None too at a goal that leaves some answers open: see `proven`.
        """
        if not self.stopped or (self.goal is not None and self.proven["open"]):
            return None
        return self.candidate_set

    @property
    def proven(self) -> dict[str, tuple[str, ...]]:
        """Answers proven ``in`` the Pareto set, proven ``out`` of it, and ``open``."""
        found = verdicts_of(self.noisy, self.engine, lacking=False)
        return {
            kind: tuple(one.answer for one in found if one.verdict == kind)
            for kind in ("in", "out", "open")
        }

    @property
    def claim(self) -> str:
        """What the stop has shown, in words; empty before."""
        if not self.stopped:
            return ""
        if self.goal is None:
            within = " within the tolerance" if self.problem.tolerance else ""
            names = ", ".join(self.candidate_set)
            return f"Pareto set{within}: {names or NOTHING}"
        found = verdicts_of(self.noisy, self.engine, lacking=False)
        known = {one.answer: (one.verdict, one.rival) for one in found}
        return goal_reached(self.problem, self.goal, known)

    @property
    def results(self) -> int:
        """Number of results told."""
        return self.engine.results

    @property
    def spent(self) -> float:
        """What the results cost, which is their number if the problem has no costs."""
        return float(self.problem.costs @ self.engine.belief.pulls) + self.lost

    @property
    def left(self) -> float:
        """What remains of the budget, less what pending asks cost; infinite without one."""
        pending = float(self.problem.costs @ self.engine.learner.pending)
        return math.inf if self.budget is None else self.budget - self.spent - pending

    @property
    def exhausted(self) -> bool:
        """Whether the budget is used up by what was told, or the time limit is over."""
        if self.time_limit is not None and self.time_limit.over:
            return True
        if self.budget is None:
            return False
        return not has_room(self.problem, self.budget, self.budget - self.spent, 1)

    @property
    def has_next(self) -> bool:
        """Whether there is anything left to ask for: budget, time and items permitting."""
        if self.items is not None and not any(map(self.items.has_more, range(self.problem.K))):
            return False
        return self.has_room

    @property
    def has_room(self) -> bool:
        """Whether budget and time leave room for an ask; those that wait count as spent."""
        if self.exhausted:
            return False
        return self.budget is None or has_room(self.problem, self.budget, self.left, 1)

    @property
    def done(self) -> bool:
        """Whether to end the loop: stopped, or nothing is left to ask for.

        Asks that wait for their results count as spent; results are taken even so.
        """
        return self.stopped or not self.has_next

    @property
    def pulls(self) -> dict[str, int]:
        """Number of results told of each arm."""
        counts = self.engine.belief.pulls.tolist()
        return {arm: int(n) for arm, n in zip(self.problem.arms, counts, strict=True)}

    @property
    def told(self) -> Results:
        """Results in their order, since the session began or was restored."""
        arms = np.array([arm for arm, _ in self._told], np.int64)
        rows = np.array([row for _, row in self._told]).reshape(-1, self.problem.d)
        return Results(arms, rows)

    def to_frame(self) -> pd.DataFrame:
        """Return the results in their order as a DataFrame: arm, and a column per objective.

        Like `told`, since the session began or was restored.
        """
        import pandas as pd

        arms, values = self.told
        numbers = pd.RangeIndex(1, len(arms) + 1, name="result")
        frame = pd.DataFrame(values, columns=list(self.problem.objectives), index=numbers)
        frame.insert(0, "arm", [self.problem.arms[arm] for arm in arms])
        if self.items is not None:
            frame.insert(1, ITEM, self._blocks)
        return frame

    def rank(
        self,
        *,
        weights: Mapping[str, float] | None = None,
        reference: Mapping[str, float] | None = None,
    ) -> pd.DataFrame:
        """Order the options known to be Pareto-optimal by weights or a reference point.

        No new claim: see `psips.session.preference.rank`.
        """
        from psips.session.preference import rank

        options = self.pareto_set or self.proven["in"]
        facts = self.exact.values if self.noisy.facts is not None else None
        return rank(self.noisy, self.engine, options, weights, reference, facts)

    def __repr__(self) -> str:
        state = "stopped" if self.stopped else "open"
        return f"Session({self.problem!r}, {counted(self.results, 'result')}, {state})"
