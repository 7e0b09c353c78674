"""Rivals that divide a budget: empirical gap elimination, EGE-SR and EGE-SH.

Kone, Kaufmann and Richert (2024), "Bandit Pareto Set Identification: the Fixed Budget Setting",
written down from its description of the method. There are rounds. At the end of each, every
active arm has been pulled equally often; with S the Pareto set of the active arms' means, each
active arm has an empirical gap (`psips.problem.gaps`, among the active arms), and those with
the largest gaps leave: they are accepted if they are in S and dropped if not. The arm that is
left in the end is accepted. All results of an arm count, in every round.

An arm that alone dominates another has a gap no larger than the other's, so of equal gaps the
dropped arm leaves first: its dominator is still needed. Gaps are in units of one measurement's
standard deviation in each objective.

* EGE-SR: K - 1 rounds, one arm leaves in each. Round r ends at
  n_r = ceil((T - K) / (logbar(K) (K + 1 - r))) pulls of every active arm, with
  logbar(K) = 1/2 + sum_{i=2..K} 1/i, as in successive rejects (Audibert et al. 2010).
* EGE-SH: R = ceil(log2 K) rounds, after each of which the half with the smaller gaps stays,
  rounded up. Round r adds floor(T / (|A_r| R)) pulls of every active arm, as in sequential
  halving (Karnin et al. 2013).
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Mask
from psips.kernels.choosing import unseen
from psips.kernels.grids import flags, floats, floats2, ints
from psips.kernels.jit import part, step
from psips.kernels.outcome import EVIDENCE, STOPPED, THRESHOLD
from psips.kernels.rival import ACCEPTED, ACTIVE, DROPPED
from psips.kernels.rivals import adopt, fewest, lead
from psips.kernels.state import ASKED, BUDGET, Run


@part
def end_of_round(K: int, budget: float, halving: bool, over: int) -> float:
    """Return the pulls of each active arm at the end of the round after ``over`` others."""
    if not halving:
        logbar = 0.5
        for i in range(2, K + 1):
            logbar += 1.0 / i
        return max(1.0, math.ceil((budget - K) / (logbar * (K - over))))
    rounds = math.ceil(math.log2(K))
    size, pulls = K, 0.0
    for _ in range(over + 1):
        pulls += max(1.0, math.floor(budget / (size * rounds)))
        size = (size + 1) // 2
    return pulls


@part
def empirical_gaps(points: Floats, inside: Mask, gaps: Floats) -> None:
    """Write the Pareto set of ``points`` (d, n) and the gap of each."""
    n = gaps.shape[0]
    for i in range(n):
        inside[i] = True
        for j in range(n):
            if lead(points, i, j) <= 0.0 and lead(points, j, i) > 0.0:
                inside[i] = False
    for i in range(n):
        if not inside[i]:
            gaps[i] = -np.inf
            for j in range(n):
                if inside[j]:
                    gaps[i] = max(gaps[i], -lead(points, i, j))
    for i in range(n):
        if inside[i]:
            gaps[i] = np.inf
            for j in range(n):
                if inside[j] and j != i:
                    gaps[i] = min(gaps[i], lead(points, i, j), lead(points, j, i))
                elif not inside[j]:
                    gaps[i] = min(gaps[i], max(lead(points, j, i), 0.0) + gaps[j])


@part
def close_round(run: Run, leave: int) -> None:
    """Let ``leave`` active arms go."""
    model, standing = run.scene.model, run.rival.standing
    active = ints(model.K)
    size = 0
    for a in range(model.K):
        if standing[a] == ACTIVE:
            active[size] = a
            size += 1
    points, inside, gaps = floats2(model.d, size), flags(size), floats(size)
    for i in range(size):
        for c in range(model.d):
            points[c, i] = run.scene.belief.theta[active[i], c] / math.sqrt(model.Sigma[c, c])
    empirical_gaps(points, inside, gaps)
    for _ in range(leave):
        gone = -1
        for i in range(size):
            if standing[active[i]] != ACTIVE:
                continue
            dropped_first = gone >= 0 and gaps[i] == gaps[gone] and inside[gone] > inside[i]
            if gone < 0 or gaps[i] > gaps[gone] or dropped_first:
                gone = i
        standing[active[gone]] = ACCEPTED if inside[gone] else DROPPED


@part
def eliminate_by_gaps(run: Run, halving: bool) -> int:
    """Close the rounds that are over; return how many arms are active."""
    K, rival = run.scene.model.K, run.rival
    while True:
        active, least = 0, np.inf
        for a in range(K):
            if rival.standing[a] == ACTIVE:
                active += 1
                least = min(least, run.scene.belief.N[a])
        if active == 1:
            for a in range(K):
                if rival.standing[a] == ACTIVE:
                    rival.standing[a] = ACCEPTED
            active = 0
        end = end_of_round(K, run.room[BUDGET], halving, rival.rounds[0])
        if active == 0 or least < end:
            return active
        close_round(run, active // 2 if halving else 1)
        rival.rounds[0] += 1


@part
def choose_ege(run: Run, halving: bool) -> int:
    """Return the active arm with the fewest pulls; of all arms when the rounds are over."""
    arm = unseen(run)
    if arm < 0:
        run.learner.tally[ASKED] += 1
        N, pending, standing = run.scene.belief.N, run.learner.pending, run.rival.standing
        open_rounds = eliminate_by_gaps(run, halving) > 0
        arm = fewest(N, pending, standing, ACTIVE if open_rounds else DROPPED)
    run.learner.pending[arm] += 1.0
    return arm


@part
def judge_ege(run: Run, halving: bool) -> int:
    """End when no arm is active; the answer is what was accepted, once and for all."""
    active = 0
    if run.outcome[STOPPED] == 0.0:
        active = eliminate_by_gaps(run, halving)
    if active == 0:
        adopt(run.rival.standing, run.scene.front)
    run.outcome[EVIDENCE] = float(run.scene.model.K - active)
    run.outcome[THRESHOLD] = float(run.scene.model.K)
    run.outcome[STOPPED] = 1.0 if active == 0 else 0.0
    return 0


@step
def choose_rejects(run: Run) -> int:
    """EGE-SR."""
    return choose_ege(run, False)


@step
def choose_halving(run: Run) -> int:
    """EGE-SH."""
    return choose_ege(run, True)


@step
def judge_rejects(run: Run) -> int:
    """EGE-SR."""
    return judge_ege(run, False)


@step
def judge_halving(run: Run) -> int:
    """EGE-SH."""
    return judge_ege(run, True)
