"""Sampling rules: which arm to pull next.

Each rule is one step ``choose(run)``; the arm it returns counts as pending until it is told.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats
from psips.kernels.belief import SPANNED, ready
from psips.kernels.cover import LEARNER, is_eager
from psips.kernels.firsthit import LATE, early_hit, later_hit, tries
from psips.kernels.grids import floats
from psips.kernels.hedge import feed, weights
from psips.kernels.jit import call, part, standing, step
from psips.kernels.learner import aimed, posterior_gains, projected_gains
from psips.kernels.outcome import LOG_LEARNED
from psips.kernels.rng import LEARN, PULL, seed, uniform
from psips.kernels.scatter import ENOUGH
from psips.kernels.state import ASKED, MIXABILITY, REBUILD, TRACK, Run


@part
def unseen(run: Run) -> int:
    """Return an arm to pull before anything is judged, not asked for yet; -1 if there is none.

    Unstructured: the first of the arms with the fewest results, while they have too few, or
    such that all of them are the same. Linear: of the arms that span the others, until those
    with results do.
    """
    model, pulls, pending = run.scene.model, run.scene.belief.pulls, run.learner.pending
    first = -1
    if model.unstructured:
        fewest = float(model.noise.least)
        for a in range(model.K):
            if pulls[a] + pending[a] < fewest:
                first, fewest = a, pulls[a] + pending[a]
        freedom = run.scene.belief.scatter.freedom
        if first < 0 and freedom.shape[0] > 0:
            fewest = np.inf
            for a in range(model.K):
                if freedom[a] < ENOUGH and pending[a] == 0.0 and pulls[a] < fewest:
                    first, fewest = a, pulls[a]
    elif run.scene.belief.tally[SPANNED] == 0:
        for k in range(model.first.shape[0] - 1, -1, -1):
            if pulls[model.first[k]] + pending[model.first[k]] == 0.0:
                first = model.first[k]
    return first


@part
def opening(run: Run) -> int:
    """Return an arm that is to be pulled whatever the rule; -1, and count the ask, if none."""
    arm = unseen(run)
    if arm >= 0:
        run.learner.pending[arm] += 1.0
    else:
        run.learner.tally[ASKED] += 1
    return arm


@part
def informed(run: Run) -> bool:
    """Whether results suffice to judge; if not, the rule was asked ahead of the first ones."""
    return ready(run.scene.model, run.scene.belief)


@part
def share_of_exploring(run: Run) -> float:
    """Return gamma, the weight of w_exp in the mixture."""
    return float(run.learner.tally[ASKED]) ** -run.options.alpha


@part
def follow(run: Run, w: Floats, gamma: float, track: bool) -> int:
    """From weights ``w`` (K,) to an arm: the one that is most behind, or a draw."""
    model, learner, N = run.scene.model, run.learner, run.scene.belief.N
    arm, u, deficit = 0, 0.0, -np.inf
    if not track:
        seed(run.scene.draw.stream, run.key, learner.tally[ASKED], PULL)
        u = uniform(run.scene.draw.stream)
    for a in range(model.K):
        weight = (1.0 - gamma) * w[a] + gamma * model.explore[a]
        learner.played[a] += weight
        if track:
            short = learner.played[a] - N[a] - learner.pending[a]
            if short > deficit:
                arm, deficit = a, short
        else:
            if weight > 0.0 and u > 0.0:
                arm = a
            u -= weight
    learner.pending[arm] += 1.0
    return arm


@part
def first_hit(run: Run, who: int, scale: float, log_budget: float) -> float:
    """Log of the index of the first draw in Alt(S_hat), see `psips.kernels.firsthit`."""
    made = outside = 0
    if is_eager(run.scene.cover):
        found, outside = early_hit(run.scene, who, scale, log_budget)
        if found != LATE:
            return found
        made = tries(run.scene)
        call(run.steps[REBUILD], run)
    return later_hit(run.scene, who, scale, log_budget, made, outside)


@part
def draw_alternative(run: Run) -> float:
    """Draw the min learner's point; return the scale of the draw, 0 if there was no hit."""
    seed(run.scene.draw.stream, run.key, run.learner.tally[ASKED], LEARN)
    scale = 1.0 / math.sqrt(run.options.eta)
    run.outcome[LOG_LEARNED] = first_hit(run, LEARNER, scale, np.inf)
    return scale if run.outcome[LOG_LEARNED] < np.inf else 0.0


@part
def hedge(run: Run, hit: bool, gains: Floats, w: Floats) -> None:
    """Write AdaHedge's weights into ``w``; it is then fed the gains of the hit."""
    learner = run.learner
    weights(learner.gains, learner.gap[MIXABILITY], w)
    if hit:
        learner.gap[MIXABILITY] = feed(learner.gains, learner.gap[MIXABILITY], w, gains)


@step
def choose_directed(run: Run) -> int:
    """Pull for the piece of Alt(S_hat) in which the draw fell."""
    arm = opening(run)
    if arm >= 0:
        return arm
    return direct(run)


@standing
@part
def direct(run: Run) -> int:
    """Draw a piece of Alt(S_hat) and pull for it; the rule has no memory."""
    if not informed(run):
        return follow(run, run.scene.model.explore, 0.0, run.options.tracking == TRACK)
    w, gains = floats(run.scene.model.K), floats(run.scene.model.K)
    if draw_alternative(run) > 0.0:
        projected_gains(run.scene, gains)
    model, gamma = run.scene.model, share_of_exploring(run)
    aimed(model, run.scene.belief.N, gains, gamma, w)
    return follow(run, w, 0.0, run.options.tracking == TRACK)


@step
def choose_projected(run: Run) -> int:
    """Play AdaHedge against the point of the drawn piece that is nearest to theta."""
    arm = opening(run)
    if arm >= 0:
        return arm
    if not informed(run):
        return follow(run, run.scene.model.explore, 0.0, run.options.tracking == TRACK)
    w, gains = floats(run.scene.model.K), floats(run.scene.model.K)
    hit = draw_alternative(run) > 0.0
    if hit:
        hit = projected_gains(run.scene, gains)
    hedge(run, hit, gains, w)
    return follow(run, w, share_of_exploring(run), run.options.tracking == TRACK)


@step
def choose_posterior(run: Run) -> int:
    """Play AdaHedge against the point drawn, as published."""
    arm = opening(run)
    if arm >= 0:
        return arm
    if not informed(run):
        return follow(run, run.scene.model.explore, 0.0, run.options.tracking == TRACK)
    w, gains = floats(run.scene.model.K), floats(run.scene.model.K)
    scale = draw_alternative(run)
    if scale > 0.0:
        posterior_gains(run.scene, scale, gains)
    hedge(run, scale > 0.0, gains, w)
    return follow(run, w, share_of_exploring(run), run.options.tracking == TRACK)


@step
def choose_uniform(run: Run) -> int:
    """Pull any arm with the same probability."""
    arm = opening(run)
    if arm >= 0:
        return arm
    w = floats(run.scene.model.K)
    for a in range(run.scene.model.K):
        w[a] = 1.0 / run.scene.model.K
    return follow(run, w, 0.0, False)


@step
def choose_round_robin(run: Run) -> int:
    """Pull the arm with the fewest results."""
    arm = opening(run)
    if arm < 0:
        N, pending = run.scene.belief.N, run.learner.pending
        arm = 0
        for a in range(run.scene.model.K):
            if N[a] + pending[a] < N[arm] + pending[arm]:
                arm = a
        pending[arm] += 1.0
    return arm


@step
def choose_oracle(run: Run) -> int:
    """Follow the weights w* of the truth."""
    arm = opening(run)
    if arm >= 0:
        return arm
    return follow(run, run.options.target, 0.0, run.options.tracking == TRACK)
