"""Results that the noise cannot explain are held: recorded, but not counted until confirmed.

The noise is registered, so it can be said what it cannot do: put two results of one arm
more than ``limit`` standard deviations of their difference apart, by the noise of that arm
where each has its own. A result that far from all others of its arm is held. If the arm has one
other result only, no one knows which of the two is wrong, and both are held, until a third
agrees with one of them. An arm's only result has none to be compared with: if it lies that far
outside everything that was measured of other arms, it waits for a second that agrees with it.

A result that counts is put in doubt by a new one only. When results are corrected, withdrawn
or confirmed, those that are held are judged again, and count if their reason has gone.

If the noise is not registered but estimated, or guessed, nothing is held: there is no saying
what it cannot do. Values that are missing are not compared, nor are values of 0 or 1.

Events of older schemas were judged by one noise for all arms (the mean of theirs, or a guess),
and keep that meaning: ``own_noise`` says which of the two is in force.

All of this is a function of the results in the order in which they were told, and of those
changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from psips.aliases import Floats
from psips.diagnostics.noise_scale import given_deviations

if TYPE_CHECKING:
    from psips.problem import Problem
    from psips.study.ledger import Result


class Ends:
    """The least and the largest value of all arms but one, without a look at all of them.

    By side and objective the two arms that reach farthest, and how far; ``low`` and ``high``
    (K, d) are infinite of arms without values.
    """

    def __init__(self, low: Floats, high: Floats) -> None:
        self._reach = np.full((2, 2, low.shape[1]), -math.inf)  # (side, rank, objective)
        self._arms = np.full((2, 2, low.shape[1]), -1)
        for side, far in enumerate((-low, high)):
            order = np.argsort(-far, axis=0, kind="stable")[:2]
            self._arms[side, : len(order)] = order
            self._reach[side, : len(order)] = np.take_along_axis(far, order, axis=0)

    def widen(self, arm: int, low: Floats, high: Floats) -> None:
        """Take note of what an arm reaches now, which is not less than before."""
        for side, far in enumerate((-low, high)):
            reach, arms = self._reach[side], self._arms[side]
            for c in np.flatnonzero(far > reach[1]).tolist():
                if arms[0, c] != arm and far[c] > reach[0, c]:
                    reach[1, c], arms[1, c] = reach[0, c], arms[0, c]
                    reach[0, c], arms[0, c] = far[c], arm
                else:
                    rank = 0 if arms[0, c] == arm else 1
                    reach[rank, c], arms[rank, c] = far[c], arm

    def without(self, arm: int) -> tuple[Floats, Floats]:
        """Return the least and the largest value of the arms but one, in each objective."""
        far = np.where(self._arms[:, 0] == arm, self._reach[:, 1], self._reach[:, 0])
        return -far[0], far[1]


class Holder:
    """Which values of each arm count, as far as needed to judge the next result."""

    def __init__(self, problem: Problem, limit: float | None) -> None:
        self.limit = limit
        self.own_noise = True
        self._problem = problem
        usual = np.sqrt(np.diag(problem.usual_covariance))  # NaN if it is not known
        usual = np.where(usual > 0.0, usual, np.nan)  # exact: compared when it is told
        self._usual = np.broadcast_to(usual, (problem.K, problem.d))
        self._own = given_deviations(problem)
        self._all_known = {
            own: bool(np.isfinite(sd).all())
            for own, sd in ((True, self._own), (False, self._usual))
        }
        self._arms = {arm: place for place, arm in enumerate(problem.arms)}
        self._of: list[list[Result]] = [[] for _ in problem.arms]
        self._count = np.zeros(len(self._arms), np.int64)
        shape = (problem.K, problem.d)
        self._low, self._high = np.full(shape, math.inf), np.full(shape, -math.inf)
        self._ends = Ends(self._low, self._high)
        self._opened: int | None = None  # the arm of the first result that counts

    def restore(self, results: Sequence[Result]) -> None:
        """Take over results whose fate is known."""
        if self.limit is not None:
            for result in results:
                self._of[self._arms[result.arm]].append(result)
            self.look_again(self._arms)

    def look_again(self, arms: Iterable[str]) -> None:
        """Take note that the values or the fate of results of these arms have changed."""
        if self.limit is None:
            return
        for name in arms:
            arm = self._arms[name]
            self._count[arm] = 0
            self._low[arm], self._high[arm] = math.inf, -math.inf
            for result in self._of[arm]:
                if result.counts:
                    self._widen(arm, result)
        self._ends = Ends(self._low, self._high)
        first = [next((r.number for r in of if r.counts), math.inf) for of in self._of]
        least = min(first)
        self._opened = first.index(least) if least < math.inf else None

    def take(self, result: Result) -> bool:
        """Decide on a new result; return whether the fate of an earlier one has changed."""
        if self.limit is None:
            return False
        arm = self._arms[result.arm]
        others = self._of[arm]
        others.append(result)
        changed = False
        if self._count[arm] == 0:
            friend = next((r for r in others[:-1] if r.held and self._agree(r, result)), None)
            if friend is not None and not friend.withdrawn:
                friend.held, changed = False, True
            elif self._is_outside(arm, result):
                result.held = True
                return False
        elif self._far(result, self._low[arm], self._high[arm]):
            result.held = True
            if self._count[arm] == 1:
                changed = self._doubt(arm)
            return changed
        if changed:
            self.look_again([result.arm])
        else:
            self._count_in(arm, result)
        return self._doubt_the_opening(arm) or changed

    def judge_again(self) -> None:
        """Release the held results whose reason has gone; called when results have changed."""
        waiting = [r for of in self._of for r in of if r.held and not r.withdrawn]
        waiting.sort(key=lambda result: result.number)
        released = self.limit is not None
        while released:  # one that counts again may agree with others
            released = False
            for result in waiting:
                if result.held and not self._is_contradicted(result):
                    result.held, released = False, True
                    self.look_again([result.arm])

    def _is_contradicted(self, result: Result) -> bool:
        """Whether a held result is too far from what it is to be compared with."""
        arm = self._arms[result.arm]
        if self._count[arm]:
            return self._far(result, self._low[arm], self._high[arm])
        others = [r for r in self._of[arm] if r is not result and not r.withdrawn]
        if others:
            return not any(self._agree(result, other) for other in others)
        return self._is_outside(arm, result)

    def _count_in(self, arm: int, result: Result) -> None:
        self._widen(arm, result)
        if self._opened is None:
            self._opened = arm

    def _widen(self, arm: int, result: Result) -> None:
        """Take a result into what was measured of its arm."""
        self._count[arm] += 1
        x = self._compared(result)
        self._low[arm] = np.fmin(self._low[arm], x)
        self._high[arm] = np.fmax(self._high[arm], x)
        self._ends.widen(arm, self._low[arm], self._high[arm])

    def _compared(self, result: Result) -> Floats:
        """Return values as they are compared; NaN where one is missing."""
        return self._problem.compared(np.array(result.values, dtype=np.float64))

    def _doubt(self, arm: int) -> bool:
        """Hold the only result of an arm, unless someone has confirmed it."""
        sole = next(r for r in self._of[arm] if r.counts)
        if sole.confirmed:
            return False
        sole.held = True
        self.look_again([sole.arm])
        return True

    def _doubt_the_opening(self, arm: int) -> bool:
        """Look at the very first result again, now that others are there to compare with."""
        first = self._opened
        if first is None or first == arm or self._count[first] != 1:
            return False
        sole = next(r for r in self._of[first] if r.counts)
        return self._is_outside(first, sole) and self._doubt(first)

    @property
    def _sd(self) -> Floats:
        """Standard deviations (K, d) of one result of each arm, NaN where nothing is held."""
        return self._own if self.own_noise else self._usual

    def _agree(self, one: Result, other: Result) -> bool:
        return not self._far(one, self._compared(other), self._compared(other))

    def _is_outside(self, arm: int, result: Result) -> bool:
        """Whether a result is far outside what was measured of the other arms."""
        x = self._compared(result)
        least, most = self._ends.without(arm)
        if self._all_known[self.own_noise] and not ((x < least) | (x > most)).any():
            return False  # without a look at every arm, of which there may be thousands
        others = self._count > 0
        others[arm] = False
        if self.limit is None or not others.any() or np.isnan(self._sd[arm]).all():
            return False
        low, high = self._low[others], self._high[others]
        reach = self.limit * np.hypot(self._sd[arm], self._sd[others])
        known = np.isfinite(low) & np.isfinite(reach)
        above = ((x - high > reach) | ~known).all(axis=0)
        below = ((low - x > reach) | ~known).all(axis=0)
        return bool(np.any((above | below) & known.any(axis=0) & np.isfinite(x)))

    def _far(self, result: Result, low: Floats, high: Floats) -> bool:
        """Whether a result is far from others of its arm, which lie between these."""
        x, sd = self._compared(result), math.sqrt(2.0) * self._sd[self._arms[result.arm]]
        beyond = np.maximum(low - x, x - high) / sd
        known = np.isfinite(low) & np.isfinite(x) & np.isfinite(sd)
        return self.limit is not None and not bool((beyond[known] <= self.limit).all())
