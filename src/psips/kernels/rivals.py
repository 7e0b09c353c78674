"""The steps of rival methods: APE, elimination and Top-Two Thompson Sampling.

In units of one measurement's standard deviation in each objective, M(i, j) is by how much arm
i is above arm j where it does best, max_c (mu_i - mu_j)(c), on the estimates, and
m(i, j) = -M(i, j) by how much j is above i in every objective. The radius of an arm's
estimates is b_i = sqrt(2 beta(N_i) / N_i) with beta(n) = log(1 / delta) + log log n, the
threshold with which the methods are compared; it is not proven.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.kernels.belief import Belief, ready
from psips.kernels.draws import Draw
from psips.kernels.front import MEMBERS, Front, elect_plainly
from psips.kernels.jit import part
from psips.kernels.model import Floats, Ints, Model
from psips.kernels.pareto import Mask
from psips.kernels.rng import LEARN, Stream, log_tail, normal, normal_above, seed, uniform
from psips.kernels.round import (
    APE,
    ASKED,
    BY_APE,
    BY_ELIMINATION,
    ELIMINATION,
    EVIDENCE,
    STOPPED,
    THRESHOLD,
    TOP_TWO,
    Learner,
    Options,
    fixed_weights,
    next_arm,
    unseen,
)

# Standing of an arm in the elimination.
ACTIVE, ACCEPTED, DROPPED = range(3)


class Rival(NamedTuple):
    """State of the rival methods; updated in place."""

    standing: Ints  # (K,) ACTIVE, ACCEPTED or DROPPED
    rounds: Ints  # (1,) rounds of the elimination that are over
    logs: Floats  # (K,) logarithms of Track-and-Stop's weights, the largest 0
    steepest: Floats  # (1,) largest entry of a gradient so far


def empty_rival(K: int) -> Rival:
    """Return the state of a method that has not begun."""
    return Rival(np.zeros(K, np.int64), np.zeros(1, np.int64), np.zeros(K), np.zeros(1))


@part
def radius(log_inverse: float, n: float) -> float:
    """Return b_i after ``n`` pulls."""
    return math.sqrt(2.0 * (log_inverse + math.log(math.log(max(n, math.e)))) / n)


@part
def standardise(Sigma: Floats, theta: Floats, points: Floats) -> None:
    """Write the means in units of the standard deviations."""
    for c in range(theta.shape[1]):
        scale = 1.0 / math.sqrt(Sigma[c, c])
        for a in range(theta.shape[0]):
            points[a, c] = scale * theta[a, c]


@part
def lead(points: Floats, i: int, j: int) -> float:
    """M(i, j)."""
    most = points[i, 0] - points[j, 0]
    for c in range(1, points.shape[1]):
        most = max(most, points[i, c] - points[j, c])
    return most


@part
def fewest(N: Floats, pending: Floats, standing: Ints, among: int) -> int:
    """Return the arm least pulled of those with standing up to ``among``; -1 if none."""
    arm = -1
    for a in range(N.shape[0]):
        if standing[a] <= among and (arm < 0 or N[a] + pending[a] < N[arm] + pending[arm]):
            arm = a
    return arm


@part
def index_of(points: Floats, b: Floats, inside: Mask, i: int) -> float:
    """APE's index: by how much it is clear that ``i`` is in S_hat, or that it is not."""
    index = np.inf if inside[i] else -np.inf
    for j in range(points.shape[0]):
        if j != i:
            if inside[i]:
                index = min(index, lead(points, i, j) - b[i] - b[j])
            else:
                index = max(index, -lead(points, i, j) - b[i] - b[j])
    return index


@part
def clear_arms(model: Model, belief: Belief, front: Front, log_inverse: float) -> int:
    """Return how many arms have an index of at least 0."""
    points, b = np.empty((model.K, model.d)), np.empty(model.K)
    standardise(model.Sigma, belief.theta, points)
    for a in range(model.K):
        b[a] = radius(log_inverse, belief.N[a])
    clear = 0
    for i in range(model.K):
        if index_of(points, b, front.inside, i) >= 0.0:
            clear += 1
    return clear


@part
def ape_arm(
    model: Model, belief: Belief, front: Front, pending: Floats, log_inverse: float
) -> int:
    """Return the less pulled of b_t, with the smallest index, and its nearest rival c_t."""
    K = model.K
    points, b, n = np.empty((K, model.d)), np.empty(K), np.empty(K)
    standardise(model.Sigma, belief.theta, points)
    for a in range(K):
        n[a] = belief.N[a] + pending[a]
        b[a] = radius(log_inverse, n[a])
    unclear, least = 0, np.inf
    for i in range(K):
        index = index_of(points, b, front.inside, i)
        if index < least:
            unclear, least = i, index
    rival, least = unclear, np.inf
    for j in range(K):
        if j != unclear:
            near = lead(points, unclear, j) - b[j]
            if near < least:
                rival, least = j, near
    return rival if n[rival] < n[unclear] else unclear


@part
def eliminate(model: Model, belief: Belief, rival: Rival, log_inverse: float) -> None:
    """Once every active arm has a result more (Auer et al. 2016), accept and drop arms."""
    K, standing = model.K, rival.standing
    over = np.inf
    for a in range(K):
        if standing[a] == ACTIVE:
            over = min(over, belief.N[a])
    if over == np.inf or over <= rival.rounds[0]:
        return
    rival.rounds[0] = int(over)
    points, b = np.empty((K, model.d)), np.empty(K)
    standardise(model.Sigma, belief.theta, points)
    A1, P1 = np.zeros(K, np.bool_), np.zeros(K, np.bool_)
    for i in range(K):
        if standing[i] == ACTIVE:
            b[i] = radius(log_inverse, belief.N[i])
    for i in range(K):  # A1: nothing active surely dominates it
        A1[i] = standing[i] == ACTIVE
        for j in range(K):
            if A1[i] and standing[j] == ACTIVE and -lead(points, i, j) > b[i] + b[j]:
                A1[i] = False
    for i in range(K):  # P1: surely above each of A1 in some objective
        P1[i] = A1[i]
        for j in range(K):
            if P1[i] and A1[j] and j != i and lead(points, i, j) < b[i] + b[j]:
                P1[i] = False
    for j in range(K):  # P2: and not needed any more to drop one of the others
        if standing[j] == ACTIVE and not A1[j]:
            standing[j] = DROPPED
        elif P1[j]:
            needed = False
            for i in range(K):
                if A1[i] and not P1[i] and lead(points, i, j) <= b[i] + b[j]:
                    needed = True
                    break
            if not needed:
                standing[j] = ACCEPTED


@part
def adopt(standing: Ints, front: Front) -> None:
    """Make the accepted arms the candidate set."""
    front.size[MEMBERS] = 0
    for a in range(standing.shape[0]):
        front.inside[a] = standing[a] == ACCEPTED
        if front.inside[a]:
            front.members[front.size[MEMBERS]] = a
            front.size[MEMBERS] += 1


@part
def top_two_arm(model: Model, belief: Belief, draw: Draw, key: Stream, asked: int) -> int:
    """Return the leader of a posterior draw (d = 1), or with probability 1/2 its challenger.

    The challenger is the best of the first further draw in which the leader is not (Russo
    2016). That draw is made at once, whatever its probability: the leader l loses on the
    union of the half-spaces x_j > x_l; pick one in proportion to its probability, draw
    inside it, and keep the draw with probability 1 / how many of them hold it.
    """
    K, stream, values = model.K, draw.stream, draw.values
    sigma = model.L[0, 0]
    seed(stream, key, asked, LEARN)
    leader = _draw_all(stream, belief, sigma, values)
    if K == 1 or uniform(stream) < 0.5:
        return leader
    log_p, top = np.empty(K), -np.inf
    for j in range(K):
        gap = belief.theta[leader, 0] - belief.theta[j, 0]
        spread = sigma * math.sqrt(1.0 / belief.N[leader] + 1.0 / belief.N[j])
        log_p[j] = -np.inf if j == leader else log_tail(gap / spread)
        top = max(top, log_p[j])
    total = 0.0
    for j in range(K):
        log_p[j] = math.exp(log_p[j] - top)
        total += log_p[j]
    while True:
        u = uniform(stream) * total
        j = 0
        for k in range(K):
            if log_p[k] > 0.0 and u > 0.0:
                j = k
            u -= log_p[k]
        _draw_all(stream, belief, sigma, values)
        v_j, v_l = 1.0 / belief.N[j], 1.0 / belief.N[leader]
        spread = sigma * math.sqrt(v_j + v_l)
        gap = belief.theta[leader, 0] - belief.theta[j, 0]
        wanted = spread * normal_above(stream, gap / spread) - gap
        shift = (wanted - (values[j, 0] - values[leader, 0])) / (v_j + v_l)
        values[j, 0] += shift * v_j
        values[leader, 0] -= shift * v_l
        held, challenger = 1, j  # j is above the leader, up to rounding
        for k in range(K):
            if k not in (j, leader) and values[k, 0] > values[leader, 0]:
                held += 1
                if values[k, 0] > values[challenger, 0]:
                    challenger = k
        if held == 1 or uniform(stream) * held < 1.0:
            return challenger


@part
def _draw_all(stream: Stream, belief: Belief, sigma: float, values: Floats) -> int:
    """Draw every arm's mean from the posterior (d = 1); return the best."""
    best = 0
    for a in range(belief.N.shape[0]):
        values[a, 0] = belief.theta[a, 0] + sigma / math.sqrt(belief.N[a]) * normal(stream)
        if values[a, 0] > values[best, 0]:
            best = a
    return best


@part
def choose_by_rule(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    draw: Draw,
    learner: Learner,
    rival: Rival,
    key: Stream,
    w: Floats,
) -> int:
    """Return the next arm; it counts as pending until it is told. ``w`` (K,) is room."""
    arm = unseen(model, belief, learner)
    if arm < 0:
        learner.tally[ASKED] += 1
        log_inverse, pending = options.calibration.log_inverse, learner.pending
        if options.sampling == ELIMINATION:
            eliminate(model, belief, rival, log_inverse)
            arm = fewest(belief.N, pending, rival.standing, ACTIVE)
            if arm < 0:  # all is decided, yet another stopping rule goes on
                arm = fewest(belief.N, pending, rival.standing, DROPPED)
        elif options.sampling == APE or options.sampling == TOP_TWO:
            if not ready(model.unstructured, belief.N):  # asked ahead of the first results
                arm = fewest(belief.N, pending, rival.standing, DROPPED)
            elif options.sampling == APE:
                arm = ape_arm(model, belief, front, pending, log_inverse)
            else:
                arm = top_two_arm(model, belief, draw, key, learner.tally[ASKED])
        else:
            learned = not fixed_weights(model, options, belief, w)
            arm = next_arm(model, options, belief, learner, draw, key, learned, w)
            pending[arm] -= 1.0
    learner.pending[arm] += 1.0
    return arm


@part
def judge_by_radii(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    draw: Draw,
    rival: Rival,
    outcome: Floats,
) -> None:
    """Candidate set and stopping rule, without a posterior, for the data as they stand."""
    if not ready(model.unstructured, belief.N):
        outcome[STOPPED] = 0.0
        return
    log_inverse = options.calibration.log_inverse
    outcome[THRESHOLD] = float(model.K)
    if options.stopping == BY_ELIMINATION:
        if outcome[STOPPED] == 1.0:  # the answer is what was accepted, once and for all
            return
        eliminate(model, belief, rival, log_inverse)
        decided = 0
        for a in range(model.K):
            if rival.standing[a] != ACTIVE:
                decided += 1
        outcome[EVIDENCE] = float(decided)
    elect_plainly(model, belief, front, draw.piece)
    if options.stopping == BY_APE:
        outcome[EVIDENCE] = float(clear_arms(model, belief, front, log_inverse))
    stopped = options.stopping >= BY_APE and outcome[EVIDENCE] == outcome[THRESHOLD]
    outcome[STOPPED] = 1.0 if stopped else 0.0
    if stopped and options.stopping == BY_ELIMINATION:
        adopt(rival.standing, front)
