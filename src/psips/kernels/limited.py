"""The steps of a run where answers have to keep limits, see `psips.kernels.limits`.

``directed``: a piece of the alternative is drawn with probability proportional to exp of minus
half its squared distance, which is about its posterior mass, and pulled for as
`psips.kernels.learner.shares` says. The rule ``glr`` asks of each what `psips.kernels.ratio`
does.

``two-stage`` is the rival: with half of delta it first finds who keeps the limits, and then,
with the other half, the front of these.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Mask
from psips.kernels.belief import RESULTS
from psips.kernels.choosing import follow, informed, opening, share_of_exploring
from psips.kernels.constraint import empty_piece
from psips.kernels.front import LIVE, MEMBERS
from psips.kernels.grids import flags, floats
from psips.kernels.jit import kernel, part, step
from psips.kernels.learner import shares
from psips.kernels.limits import (
    ALLOWED,
    FRONT,
    WHOLE,
    gains_of,
    list_pieces,
    nearest_of,
    room_for,
    select,
)
from psips.kernels.outcome import EVIDENCE, STOPPED, THRESHOLD
from psips.kernels.posterior import refresh_means
from psips.kernels.ratio import CERTAIN, glr_threshold, is_time, shortfall
from psips.kernels.rng import LEARN, seed, uniform
from psips.kernels.scene import Scene
from psips.kernels.state import ASKED, NEW, TRACK, Run
from psips.kernels.thresholds import Calibration


@part
def renew(scene: Scene) -> None:
    """Bring the candidate set up to date."""
    model, front = scene.model, scene.front
    refresh_means(scene.posterior)
    allowed = flags(model.n)
    select(scene.posterior.mu, model.facts, model.limits, allowed, front.inside)
    front.size[MEMBERS] = 0
    front.size[LIVE] = 0
    for z in range(model.n):
        if front.inside[z]:
            front.members[front.size[MEMBERS]] = z
            front.size[MEMBERS] += 1
        else:
            front.outside[front.size[LIVE]] = z
            front.size[LIVE] += 1


@step
def renew_limited(run: Run) -> int:
    """Bring the candidate set up to date."""
    renew(run.scene)
    return 0


@part
def evidence(
    scene: Scene, calibration: Calibration, allowed: Mask, inside: Mask, mode: int
) -> tuple[float, float]:
    """Evidence and level of the piece that falls short most, see `ratio.weigh_pieces`."""
    p, limits = scene.posterior, scene.model.limits
    room = room_for(p, limits)
    work, best = empty_piece(room), empty_piece(room)
    pieces = list_pieces(p, limits, allowed, inside, mode)
    level = glr_threshold(scene.model, calibration, float(scene.belief.tally[RESULTS]))
    worst, found, at = -np.inf, CERTAIN, -1
    for ties in (False, True):
        every = worst <= 0.0
        if ties:
            worst = -np.inf
        for k in range(pieces.shape[0]):
            if ties and not every and k != at:
                continue
            kind, a, b = pieces[k, 0], pieces[k, 1], pieces[k, 2]
            square, m = nearest_of(p, limits, inside, kind, a, b, mode, work, best)
            asked, short = shortfall(scene, calibration, inside, best, m, square, ties)
            if short > worst:
                worst, found, level, at = short, 0.5 * square, asked, k
    return found, level


@part
def judge(run: Run, in_stages: bool) -> None:
    """Stop when every piece has its evidence; in stages, each with half of delta."""
    scene, outcome, calibration = run.scene, run.outcome, run.options.calibration
    t = scene.belief.tally[RESULTS]
    outcome[THRESHOLD] = glr_threshold(scene.model, calibration, float(t))
    outcome[EVIDENCE] = outcome[STOPPED] = 0.0
    if not is_time(t, run.latest[NEW]):
        return
    allowed, inside = flags(scene.model.n), flags(scene.model.n)
    select(scene.posterior.mu, scene.model.facts, scene.model.limits, allowed, inside)
    more = math.log(2.0) if in_stages else 0.0
    mode = FRONT if in_stages else WHOLE
    found, level = evidence(scene, calibration, allowed, inside, mode)
    if in_stages:
        other, asked = evidence(scene, calibration, allowed, inside, ALLOWED)
        if other - asked < found - level:
            found, level = other, asked
    outcome[THRESHOLD] = level + more
    outcome[EVIDENCE] = found
    outcome[STOPPED] = 1.0 if found >= level + more else 0.0


@step
def judge_limited(run: Run) -> int:
    """Stop when the likelihood ratio against every other set is large."""
    judge(run, False)
    return 0


@part
def stage(scene: Scene, calibration: Calibration, allowed: Mask, inside: Mask) -> int:
    """Return which of the two stages is not done; -1 if both are."""
    for mode in (ALLOWED, FRONT):
        found, level = evidence(scene, calibration, allowed, inside, mode)
        if found < level + math.log(2.0):
            return mode
    return -1


@step
def judge_two_stage(run: Run) -> int:
    """Stop when both stages are done."""
    judge(run, True)
    return 0


@part
def draw_gains(run: Run, allowed: Mask, inside: Mask, mode: int, gains: Floats) -> None:
    """Draw a piece and write its gains by arm."""
    scene, stream = run.scene, run.scene.draw.stream
    p, limits = scene.posterior, scene.model.limits
    room = room_for(p, limits)
    work, best = empty_piece(room), empty_piece(room)
    pieces = list_pieces(p, limits, allowed, inside, mode)
    P = pieces.shape[0]
    square = floats(P)
    nearest = np.inf
    for k in range(P):
        square[k], _ = nearest_of(
            p, limits, inside, pieces[k, 0], pieces[k, 1], pieces[k, 2], mode, work, best
        )
        nearest = min(nearest, square[k])
    total = 0.0
    for k in range(P):
        square[k] = math.exp(0.5 * (nearest - square[k]))
        total += square[k]
    seed(stream, run.key, run.learner.tally[ASKED], LEARN)
    pick = uniform(stream) * total
    which = -1
    for k in range(P):
        if which < 0 or pick > 0.0:
            which = k
        pick -= square[k]
    if which >= 0:
        kind, a, b = pieces[which, 0], pieces[which, 1], pieces[which, 2]
        _, m = nearest_of(p, limits, inside, kind, a, b, mode, work, best)
        gains_of(p, best, m, gains)


@part
def pull_for(run: Run, allowed: Mask, inside: Mask, mode: int) -> int:
    """Draw a piece and pull for it."""
    model = run.scene.model
    w, gains = floats(model.K), floats(model.K)
    draw_gains(run, allowed, inside, mode, gains)
    gamma = share_of_exploring(run)
    shares(run.scene.belief.N, gains, model.costs, model.thrift, gamma, w)
    return follow(run, w, 0.0, run.options.tracking == TRACK)


@part
def choose(run: Run, in_stages: bool) -> int:
    """Open, explore, or pull for a piece: of all, or of those of the stage that is not done."""
    arm = opening(run)
    if arm >= 0:
        return arm
    if not informed(run):
        return follow(run, run.scene.model.explore, 0.0, run.options.tracking == TRACK)
    allowed, inside, mode = flags(run.scene.model.n), flags(run.scene.model.n), WHOLE
    model, mu = run.scene.model, run.scene.posterior.mu
    select(mu, model.facts, model.limits, allowed, inside)
    if in_stages:
        mode = max(stage(run.scene, run.options.calibration, allowed, inside), ALLOWED)
    return pull_for(run, allowed, inside, mode)


@step
def choose_limited(run: Run) -> int:
    """Pull for a piece of the alternative."""
    return choose(run, False)


@step
def choose_two_stage(run: Run) -> int:
    """Pull to find who keeps the limits, then for the front of these."""
    return choose(run, True)


@kernel
def weigh_limited(scene: Scene, calibration: Calibration) -> tuple[float, float]:
    """Evidence and threshold for the data as they stand, for callers in Python."""
    refresh_means(scene.posterior)
    allowed, inside = flags(scene.model.n), flags(scene.model.n)
    select(scene.posterior.mu, scene.model.facts, scene.model.limits, allowed, inside)
    return evidence(scene, calibration, allowed, inside, WHOLE)
