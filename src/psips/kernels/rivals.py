"""The steps of rival methods: APE, elimination and Top-Two Thompson Sampling.

In units of one measurement's standard deviation in each objective, M(i, j) is by how much arm
i is above arm j where it does best, max_c (mu_i - mu_j)(c), on the estimates, and
m(i, j) = -M(i, j) by how much j is above i in every objective. The radius of an arm's
estimates is b_i = sqrt(2 beta(N_i) / N_i) with beta(n) = log(1 / delta) + log log n, the
threshold with which the methods are compared; it is not proven. APE compares M(i, j) with
b_i + b_j, as published. Elimination does better with the radius of the difference itself,
sqrt(b_i^2 + b_j^2) with log(K / delta) in the place of log(1 / delta): one share of delta for
each arm. (With log(1 / delta) it errs in up to half of the runs at delta 0.1 on a staircase of
ten arms; the sum b_i + b_j, as published, takes 14% more samples on COV-BOOST at delta 0.1 and
38% more at 0.01.)
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.kernels.belief import Belief
from psips.kernels.choosing import informed, unseen
from psips.kernels.draws import begin_draw, look_at_all
from psips.kernels.front import MEMBERS, Front
from psips.kernels.grids import flags, floats, floats2, ints
from psips.kernels.jit import part, step
from psips.kernels.judging import no_draws
from psips.kernels.model import Model
from psips.kernels.outcome import EVIDENCE, STOPPED, THRESHOLD
from psips.kernels.rival import ACCEPTED, ACTIVE, DROPPED, OVER
from psips.kernels.rng import LEARN, log_tail, normal_above, seed, uniform
from psips.kernels.scene import Scene
from psips.kernels.state import ASKED, Run


@part
def radius(log_inverse: float, n: float) -> float:
    """Return b_i after ``n`` pulls."""
    return math.sqrt(2.0 * (log_inverse + math.log(math.log(max(n, math.e)))) / n)


@part
def standardise(Sigma: Floats, theta: Floats, points: Floats) -> None:
    """Write the means in units of the standard deviations, by objective (d, K)."""
    for c in range(theta.shape[1]):
        scale = math.sqrt(Sigma[c, c])
        for a in range(theta.shape[0]):
            points[c, a] = theta[a, c] / scale


@part
def leads(points: Floats, i: int, row: Floats) -> None:
    """Write M(i, j) for every arm j."""
    for j in range(row.shape[0]):
        row[j] = points[0, i] - points[0, j]
    for c in range(1, points.shape[0]):
        for j in range(row.shape[0]):
            row[j] = max(row[j], points[c, i] - points[c, j])


@part
def lead(points: Floats, i: int, j: int) -> float:
    """M(i, j)."""
    most = points[0, i] - points[0, j]
    for c in range(1, points.shape[0]):
        most = max(most, points[c, i] - points[c, j])
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
def indices(points: Floats, b: Floats, inside: Mask, index: Floats) -> None:
    """APE's indices: by how much it is clear that an arm is in S_hat, or that it is not.

    ``points`` (d, K) are the standardised means.
    """
    K = points.shape[1]
    row = floats(K)
    for i in range(K):
        leads(points, i, row)
        if inside[i]:
            index[i] = np.inf
            row[i] = np.inf
            for j in range(K):
                index[i] = min(index[i], row[j] - b[i] - b[j])
        else:
            index[i] = -np.inf
            row[i] = np.inf
            for j in range(K):
                index[i] = max(index[i], -row[j] - b[i] - b[j])


@part
def clear_arms(model: Model, belief: Belief, front: Front, log_inverse: float) -> int:
    """Return how many arms have an index of at least 0."""
    K = model.K
    points, b, index = floats2(model.d, K), floats(K), floats(K)
    standardise(model.Sigma, belief.theta, points)
    for a in range(K):
        b[a] = radius(log_inverse, belief.N[a])
    indices(points, b, front.inside, index)
    clear = 0
    for a in range(K):
        if index[a] >= 0.0:
            clear += 1
    return clear


@part
def ape_arm(
    model: Model, belief: Belief, front: Front, pending: Floats, log_inverse: float
) -> int:
    """Return the less pulled of b_t, with the smallest index, and its nearest rival c_t."""
    K = model.K
    points, b, n, index = floats2(model.d, K), floats(K), floats(K), floats(K)
    standardise(model.Sigma, belief.theta, points)
    for a in range(K):
        n[a] = belief.N[a] + pending[a]
        b[a] = radius(log_inverse, n[a])
    indices(points, b, front.inside, index)
    unclear = 0
    for i in range(K):
        if index[i] < index[unclear]:
            unclear = i
    leads(points, unclear, index)
    rival, least = unclear, np.inf
    for j in range(K):
        if j != unclear and index[j] - b[j] < least:
            rival, least = j, index[j] - b[j]
    return rival if n[rival] < n[unclear] else unclear


@part
def eliminate(run: Run) -> None:
    """Once every active arm has a result more (Auer et al. 2016), accept and drop arms."""
    model, belief, rival = run.scene.model, run.scene.belief, run.rival
    standing = rival.standing
    over = np.inf
    for a in range(model.K):
        if standing[a] == ACTIVE:
            over = min(over, belief.N[a])
    if over < np.inf and over > rival.rounds[OVER]:
        rival.rounds[OVER] = int(over)
        close_round(model, belief, standing, run.options.calibration.log_inverse)


@part
def close_round(model: Model, belief: Belief, standing: Ints, log_inverse: float) -> None:
    """Accept P2 and drop what is not in A1; i and j run over the active arms."""
    active = ints(model.K)
    size = 0
    for a in range(model.K):
        if standing[a] == ACTIVE:
            active[size] = a
            size += 1
    points, b = floats2(model.d, size), floats(size)
    A1, P1 = flags(size), flags(size)
    log_inverse += math.log(float(model.K))  # a share of delta for each arm
    for i in range(size):
        b[i] = radius(log_inverse, belief.N[active[i]])
        for c in range(model.d):
            points[c, i] = belief.theta[active[i], c] / math.sqrt(model.Sigma[c, c])
    for i in range(size):  # A1: nothing active surely dominates it
        A1[i] = True
        for j in range(size):
            if -lead(points, i, j) > math.hypot(b[i], b[j]):
                A1[i] = False
                break
    for i in range(size):  # P1: surely above each of A1 in some objective
        P1[i] = A1[i]
        for j in range(size):
            apart = math.hypot(b[i], b[j])
            if P1[i] and A1[j] and j != i and lead(points, i, j) < apart:
                P1[i] = False
    for j in range(size):  # P2: and not needed any more to drop one of the others
        if not A1[j]:
            standing[active[j]] = DROPPED
        elif P1[j]:
            needed = False
            for i in range(size):
                apart = math.hypot(b[i], b[j])
                if A1[i] and not P1[i] and lead(points, i, j) <= apart:
                    needed = True
                    break
            if not needed:
                standing[active[j]] = ACCEPTED


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
def top_two_arm(scene: Scene) -> int:
    """Return the leader of a posterior draw (d = 1), or with probability 1/2 its challenger.

    The challenger is the best of the first further draw in which the leader is not (Russo
    2016). That draw is made at once, whatever its probability: the leader l loses on the
    union of the half-spaces x_j > x_l; pick one in proportion to its probability, draw
    inside it, and keep the draw with probability 1 / how many of them hold it.
    """
    K, p, stream, values = scene.model.K, scene.posterior, scene.draw.stream, scene.draw.values
    leader = _draw_all(scene)
    if uniform(stream) < 0.5:
        return leader
    log_p, top = floats(K), -np.inf
    for j in range(K):
        spread = math.sqrt(p.C[leader, 0, 0] + p.C[j, 0, 0])
        log_p[j] = -np.inf
        if j != leader:
            log_p[j] = log_tail((p.mu[leader, 0] - p.mu[j, 0]) / spread)
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
        _draw_all(scene)
        v_j, v_l = p.C[j, 0, 0], p.C[leader, 0, 0]
        spread = math.sqrt(v_j + v_l)
        gap = p.mu[leader, 0] - p.mu[j, 0]
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
def _draw_all(scene: Scene) -> int:
    """Draw every arm's mean from the posterior (d = 1); return the best."""
    begin_draw(scene, 1.0)
    look_at_all(scene, 1.0)
    best = 0
    for a in range(scene.model.K):
        if scene.draw.values[a, 0] > scene.draw.values[best, 0]:
            best = a
    return best


@part
def _ask(run: Run) -> int:
    """Return an arm without a result; -1, and count the ask, if there is none."""
    arm = unseen(run)
    if arm < 0:
        run.learner.tally[ASKED] += 1
        if not informed(run):  # asked ahead of the first results
            arm = fewest(run.scene.belief.N, run.learner.pending, run.rival.standing, DROPPED)
    return arm


@step
def choose_ape(run: Run) -> int:
    """Pull the less pulled of the most unclear arm and its rival."""
    arm = _ask(run)
    if arm < 0:
        log_inverse = run.options.calibration.log_inverse
        scene, pending = run.scene, run.learner.pending
        arm = ape_arm(scene.model, scene.belief, scene.front, pending, log_inverse)
    run.learner.pending[arm] += 1.0
    return arm


@step
def choose_top_two(run: Run) -> int:
    """Pull the leader of a posterior draw, or its challenger."""
    arm = _ask(run)
    if arm < 0:
        seed(run.scene.draw.stream, run.key, run.learner.tally[ASKED], LEARN)
        arm = top_two_arm(run.scene)
    run.learner.pending[arm] += 1.0
    return arm


@step
def choose_elimination(run: Run) -> int:
    """Pull the active arms in turn."""
    arm = unseen(run)
    if arm < 0:
        run.learner.tally[ASKED] += 1
        N, pending, standing = run.scene.belief.N, run.learner.pending, run.rival.standing
        eliminate(run)
        arm = fewest(N, pending, standing, ACTIVE)
        if arm < 0:  # all is decided, yet another stopping rule goes on
            arm = fewest(N, pending, standing, DROPPED)
    run.learner.pending[arm] += 1.0
    return arm


@part
def _report(run: Run, settled: int) -> None:
    run.outcome[EVIDENCE] = float(settled)
    run.outcome[THRESHOLD] = float(run.scene.model.K)
    run.outcome[STOPPED] = 1.0 if settled == run.scene.model.K else 0.0


@step
def judge_ape(run: Run) -> int:
    """Stop when all of APE's indices are at least 0."""
    log_inverse = run.options.calibration.log_inverse
    no_draws(run)
    scene = run.scene
    _report(run, clear_arms(scene.model, scene.belief, scene.front, log_inverse))
    return 0


@step
def judge_elimination(run: Run) -> int:
    """Stop when no arm is active; the answer is what was accepted, once and for all."""
    standing, settled = run.rival.standing, 0
    if run.outcome[STOPPED] == 0.0:
        eliminate(run)
    for a in range(run.scene.model.K):
        if standing[a] != ACTIVE:
            settled += 1
    if settled == run.scene.model.K:
        adopt(standing, run.scene.front)
    _report(run, settled)
    return 0
