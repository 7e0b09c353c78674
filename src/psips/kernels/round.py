"""The steps of a round: judge what was told, and from the min learner to the next arm."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.kernels.belief import SPANNED, Belief, ready
from psips.kernels.cover import Cover, refresh
from psips.kernels.draws import Draw
from psips.kernels.firsthit import first_hit
from psips.kernels.front import (
    EAGER,
    LIVE,
    MEMBERS,
    Front,
    copy_rows,
    elect_plainly,
    find_change,
    image,
)
from psips.kernels.hedge import feed, weights
from psips.kernels.jit import kernel, part, spliced
from psips.kernels.learner import posterior_gains, projected_gains, shares
from psips.kernels.literal import in_ball_hit, shared_draws
from psips.kernels.model import Floats, Ints, Model
from psips.kernels.ratio import EVERY, all_pieces, glr_threshold, passes
from psips.kernels.rng import PULL, STOP, Stream, seed, uniform
from psips.kernels.thresholds import (
    MEASURED,
    Calibration,
    inflation_and_budget,
    radius_of_rewards,
)
from psips.kernels.tree import build

# Sampling rules.
POSTERIOR, PROJECTED, DIRECTED, UNIFORM, ROUND_ROBIN, ORACLE = range(6)
APE, ELIMINATION, TRACK_AND_STOP, TOP_TWO = range(6, 10)
# Stopping rules.
NEVER, BY_POSTERIOR, BY_GLR, BY_CERTIFICATES, BY_BAYES, BY_APE, BY_ELIMINATION = range(7)
BY_PREDICTION = 7
# How the weights become arms.
TRACK, MIXTURE = range(2)

# Places in Learner.tally.
ASKED, FRESH = range(2)
# Places in the outcome.
STOPPED, LOG_HIT, LOG_BUDGET, INFLATION, LOG_LEARNED = range(5)
EVIDENCE, THRESHOLD, HINT = range(5, 8)  # of the rules that do not draw; HINT has two
OUTCOMES = 9


class Options(NamedTuple):
    """Which rules, and their numbers."""

    sampling: int
    stopping: int
    draws: int
    tracking: int
    eta: float  # 0: Algorithm 2, "Estimate and Halve"
    alpha: float
    calibration: Calibration
    target: Floats  # (K,) weights of the oracle, (0,) otherwise


class Learner(NamedTuple):
    """State of the sampling rule; updated in place."""

    gains: Floats  # (K,) cumulative gains of AdaHedge
    gap: Floats  # (1,) its cumulative mixability gap
    played: Floats  # (K,) sum of the weights played
    pending: Floats  # (K,) asked and not yet told
    estimate: Floats  # (2,) p_t and C_t of Algorithm 2, 0 if not yet set
    point: Floats  # (h, d) the learner's hit among the shared literal draws
    tally: Ints  # (2,) asks made; whether ``point`` is fresh


@kernel
def empty_learner(model: Model) -> Learner:
    """Return the state of a sampling rule that has not been asked."""
    return Learner(
        np.zeros(model.K),
        np.zeros(1),
        np.zeros(model.K),
        np.zeros(model.K),
        np.zeros(2),
        np.zeros((model.h, model.d)),
        np.zeros(2, np.int64),
    )


@spliced
def calibrate(
    model: Model, options: Options, belief: Belief, front: Front, outcome: Floats
) -> None:
    """Inflation and budget for the results told so far."""
    outcome[INFLATION], outcome[LOG_BUDGET] = inflation_and_budget(
        model.unstructured,
        model.K,
        model.h,
        model.d,
        model.xi,
        options.calibration,
        float(belief.tally[0]),
        front.size[MEMBERS],
    )


@spliced
def evaluate(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    outcome: Floats,
    key: Stream,
) -> None:
    """Candidate set and stopping rule for the data as they stand."""
    size = front.size
    outcome[STOPPED] = 0.0
    outcome[LOG_HIT] = 0.0
    if ready(model.unstructured, belief.pulls, belief.tally):
        if size[EAGER] == 2:
            size[EAGER] = 1
        if size[EAGER] == 1:
            elect_plainly(model, belief, front, draw.piece)
        elif not refresh(model, belief, front, cover, draw.piece):
            build(model, belief, front, cover, front.reach[2])
        calibrate(model, options, belief, front, outcome)
        front.reach[2] = max(outcome[INFLATION], 1.0 / options.eta)
        if options.stopping == BY_POSTERIOR:
            seed(draw.stream, key, belief.tally[0], STOP)
            scale = math.sqrt(outcome[INFLATION])
            outcome[LOG_HIT] = first_hit(
                model, belief, front, cover, draw, scale, outcome[LOG_BUDGET]
            )
            outcome[STOPPED] = 1.0 if outcome[LOG_HIT] == np.inf else 0.0
        elif options.stopping == BY_GLR:
            judge_by_ratio(model, options, belief, front, cover, draw, outcome)


@part
def judge_by_ratio(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    outcome: Floats,
) -> None:
    """Stop when the likelihood ratio against every other set is large.

    EVIDENCE is told at the stop only: before it, a bound from an earlier round may have been
    enough to go on. `psips.kernels.ratio.weigh_ratio` has it in full.
    """
    calibration = options.calibration
    t = belief.tally[0]
    threshold = glr_threshold(model, calibration, float(t))
    found = passes(model, belief, front, draw, calibration.handicap, threshold)
    if found >= threshold and calibration.code == MEASURED:
        found = 0.0
        if t % (1 + t // EVERY) == 0:
            build(model, belief, front, cover, max(1.0, 1.0 / options.eta))
            found = all_pieces(model, front, cover, calibration.handicap, float(t))
    outcome[THRESHOLD] = threshold
    outcome[STOPPED] = 1.0 if found >= threshold else 0.0
    outcome[EVIDENCE] = found if found >= threshold else 0.0


@spliced
def find_response(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    outcome: Floats,
) -> float:
    """Draw the min learner's point; return the scale of the draw, 0 if there was no hit."""
    scale = 1.0 / math.sqrt(options.eta)
    outcome[LOG_LEARNED] = first_hit(model, belief, front, cover, draw, scale, np.inf)
    return scale if outcome[LOG_LEARNED] < np.inf else 0.0


@spliced
def evaluate_literally(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    draw: Draw,
    learner: Learner,
    outcome: Floats,
    key: Stream,
) -> None:
    """As ``evaluate``, with the published loop: the learner's hit is found on the way."""
    size = front.size
    outcome[STOPPED] = 0.0
    outcome[LOG_HIT] = 0.0
    learner.tally[FRESH] = 0
    if ready(model.unstructured, belief.pulls, belief.tally):
        elect_plainly(model, belief, front, draw.piece)
        calibrate(model, options, belief, front, outcome)
        members = front.members[: size[MEMBERS]]
        if options.eta == 0.0:
            radius_of_rewards(
                model.P,
                belief.N,
                belief.theta,
                front.inside,
                members,
                float(belief.tally[0]),
                learner.estimate,
            )
        if options.stopping == BY_POSTERIOR:
            seed(draw.stream, key, belief.tally[0], STOP)
            learns = options.eta > 0.0 and options.sampling <= DIRECTED
            outcome[LOG_HIT], outcome[LOG_LEARNED] = shared_draws(
                model,
                belief,
                front,
                draw,
                members,
                outcome[INFLATION],
                outcome[LOG_BUDGET],
                max(options.eta, 1e-300),
                learns,
                learner.point,
            )
            outcome[STOPPED] = 1.0 if outcome[LOG_HIT] == np.inf else 0.0
            learner.tally[FRESH] = 1 if outcome[LOG_LEARNED] < np.inf else 0


@spliced
def find_response_literally(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    draw: Draw,
    learner: Learner,
    outcome: Floats,
) -> float:
    """As ``find_response``: the hit of the shared draws, or of further ones."""
    members = front.members[: front.size[MEMBERS]]
    eta = options.eta
    if eta == 0.0:
        radius = learner.estimate[0] + learner.estimate[1]
        eta = 1.0 / (8.0 * radius * radius)
        outcome[LOG_LEARNED] = in_ball_hit(
            model, belief, front, draw, members, eta, radius, learner.point
        )
    elif learner.tally[FRESH] == 0:
        _, outcome[LOG_LEARNED] = shared_draws(
            model,
            belief,
            front,
            draw,
            members,
            1.0 / eta,
            outcome[LOG_BUDGET] + np.inf,
            eta,
            True,
            learner.point,
        )
    learner.tally[FRESH] = 0
    scale = 0.0
    if outcome[LOG_LEARNED] < np.inf:
        copy_rows(learner.point, draw.theta)
        draw.made[2] += 1.0
        for a in range(model.n):
            draw.drawn[a] = int(draw.made[2])
            if model.unstructured:
                for c in range(model.d):
                    draw.values[a, c] = learner.point[a, c]
            else:
                image(model.Z, learner.point, a, draw.values)
        live = front.live[: front.size[LIVE]]
        if find_change(draw.values, members, live, front.keeper, draw.piece):
            scale = 1.0 / math.sqrt(eta)
    return scale


@spliced
def play(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    draw: Draw,
    learner: Learner,
    scale: float,
    w: Floats,
) -> None:
    """Weights into ``w``: AdaHedge's, who is then fed the gains of the min learner's point.

    The directed rule has no memory: its weights are those of the piece just drawn.
    """
    gains = np.zeros(model.K)
    hit = scale > 0.0
    if hit and options.sampling == POSTERIOR:
        posterior_gains(model, belief, front, draw, scale, gains)
    elif hit:
        hit = projected_gains(model, belief, front, draw, gains)
    if options.sampling == DIRECTED:
        shares(belief.N, gains, model.explore, w)
    else:
        weights(learner.gains, learner.gap[0], w)
        if hit:
            learner.gap[0] = feed(learner.gains, learner.gap[0], w, gains)


@spliced
def next_arm(
    model: Model,
    options: Options,
    belief: Belief,
    learner: Learner,
    draw: Draw,
    key: Stream,
    learned: bool,
    w: Floats,
) -> int:
    """From weights, or without, to the arm to pull; it counts as pending until it is told."""
    K = model.K
    N, pending, played = belief.N, learner.pending, learner.played
    arm = 0
    if options.sampling == ROUND_ROBIN:
        for a in range(K):
            if N[a] + pending[a] < N[arm] + pending[arm]:
                arm = a
    else:
        gamma = float(learner.tally[ASKED]) ** -options.alpha if learned else 0.0
        track = options.tracking == TRACK and options.sampling != UNIFORM
        u = 0.0
        if not track:
            seed(draw.stream, key, learner.tally[ASKED], PULL)
            u = uniform(draw.stream)
        deficit = -np.inf
        for a in range(K):
            weight = (1.0 - gamma) * w[a] + gamma * model.explore[a]
            played[a] += weight
            if track:
                short = played[a] - N[a] - pending[a]
                if short > deficit:
                    arm, deficit = a, short
            else:
                if weight > 0.0 and u > 0.0:
                    arm = a
                u -= weight
    pending[arm] += 1.0
    return arm


@spliced
def unseen(model: Model, belief: Belief, learner: Learner) -> int:
    """Return an arm to pull before anything is judged, not asked for yet; -1 if there is none.

    Unstructured: the first arm without a result. Linear: of the arms that span the others,
    until those with results do.
    """
    first = -1
    if model.unstructured:
        for a in range(model.K - 1, -1, -1):
            if belief.pulls[a] + learner.pending[a] == 0.0:
                first = a
    elif belief.tally[SPANNED] == 0:
        for k in range(model.first.shape[0] - 1, -1, -1):
            if belief.pulls[model.first[k]] + learner.pending[model.first[k]] == 0.0:
                first = model.first[k]
    return first


@spliced
def fixed_weights(model: Model, options: Options, belief: Belief, w: Floats) -> bool:
    """Weights of the rules that learn nothing into ``w``; False if the rule does learn."""
    fixed = True
    waiting = not ready(model.unstructured, belief.pulls, belief.tally)
    for a in range(model.K):
        if options.sampling == UNIFORM:
            w[a] = 1.0 / model.K
        elif options.sampling == ORACLE:
            w[a] = options.target[a]
        elif options.sampling == ROUND_ROBIN or waiting:
            w[a] = model.explore[a]  # asked ahead of the first results: explore
        else:
            fixed = False
    return fixed
