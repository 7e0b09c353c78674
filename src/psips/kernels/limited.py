"""The steps of a run where answers have to keep limits, see `psips.kernels.limits`.

``directed``: a piece of the alternative is drawn with probability proportional to exp of minus
half its squared distance, which is about its posterior mass, and pulled for as
`psips.kernels.learner.shares` says. The rule ``glr`` looks at the nearest of them, as
`psips.kernels.ratio.all_pieces` does.

``two-stage`` is the rival: with half of delta it first finds who keeps the limits, and then,
with the other half, the front of these.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.kernels.belief import RESULTS
from psips.kernels.choosing import follow, informed, opening, share_of_exploring
from psips.kernels.front import LIVE, MEMBERS
from psips.kernels.grids import flags, floats, ints
from psips.kernels.halfspace import ESCAPE, PAIR, may_hold
from psips.kernels.jit import bare, kernel, part, step
from psips.kernels.learner import shares
from psips.kernels.limits import (
    ALLOWED,
    BELOW,
    ENTERS,
    FRONT,
    WHOLE,
    Piece,
    applies,
    empty_piece,
    form,
    gains_of,
    list_pieces,
    nearest_of,
    put_lead,
    put_limit,
    room_for,
    select,
    shared,
)
from psips.kernels.model import LimitModel
from psips.kernels.outcome import EVIDENCE, STOPPED, THRESHOLD
from psips.kernels.posterior import Posterior, refresh_means
from psips.kernels.ratio import (
    AWAY,
    OFF,
    TOGETHER,
    behind_by,
    counted,
    early,
    glr_threshold,
    mirrored,
    share_of_tie,
    together,
)
from psips.kernels.response import CLEAR
from psips.kernels.rng import LEARN, seed, uniform
from psips.kernels.scene import Scene
from psips.kernels.state import ASKED, TRACK, Run
from psips.kernels.thresholds import Calibration

NARROW = 2.0  # what a tie counts for beside one that it varies against, see `ways_out`


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


@bare
def in_play(p: Posterior, kind: int, piece: Piece, m: int, drawn: bool) -> int:
    """How many of the constraints a piece counts for, see `psips.kernels.response`.

    Those of BELOW at the estimate, and with ``drawn`` at the nearest point too.
    """
    count = 0
    for k in range(m):
        if kind == BELOW:
            ahead = form(p.mu, piece, k)
            if drawn:
                there = ahead
                for j in range(m):
                    there += piece.y[j] * shared(p.C, piece, k, j)
                ahead = min(ahead, there)
            if ahead < CLEAR * math.sqrt(shared(p.C, piece, k, k)):
                count += 1
        elif piece.y[k] > 0.0:
            count += 1
    return min(count, p.mu.shape[1])


@part
def times(
    p: Posterior,
    limits: LimitModel,
    inside: Mask,
    kind: int,
    piece: Piece,
    m: int,
    number: int,
) -> float:
    """How often a piece counts, see `psips.kernels.ratio.all_pieces`."""
    twice = False
    if kind == BELOW and not p.diagonal:
        twice = in_play(p, kind, piece, m, True) > number
    for k in range(m):
        if piece.y[k] > 0.0 and not twice:
            z, x, c = piece.first[k], piece.second[k], piece.metric[k]
            if limits.aims[c] == 0.0 or z == x:
                twice = beside_another(p, limits, piece, k)
                continue
            if kind == ENTERS and not p.diagonal:
                twice = together(p, limits.aims, z, x)
            twice = twice or mirrored(p, limits.aims, inside, z, x, c)
    found = 1.0
    if kind == ENTERS:
        found = ways_out(p, limits, listed(inside), piece.first[0])
    return 2.0 * found if twice else found


@part
def results_of(scene: Scene, piece: Piece, m: int) -> float:
    """About how many results tell of a piece, see `psips.kernels.ratio.results_of`."""
    C, found = scene.posterior.C, float(scene.belief.tally[RESULTS])
    for k in range(m):
        if piece.y[k] > 0.0:
            a, b, c = piece.first[k], piece.second[k], piece.metric[k]
            one, two = piece.one[k] ** 2 * C[a, c, c], piece.two[k] ** 2 * C[b, c, c]
            alone = one * counted(scene, a, c) + two * counted(scene, b, c)
            found = min(found, 2.0 * alone / (one + two))
    return found


@part
def beside_another(p: Posterior, limits: LimitModel, piece: Piece, k: int) -> bool:
    """Whether noise the other way than that which says of limit ``k`` may be wrong, too.

    It is if another answer is beside a limit by the same noise, that of a control.
    """
    pair = empty_piece(2)
    pair.first[0], pair.second[0], pair.metric[0] = (
        piece.first[k],
        piece.second[k],
        piece.metric[k],
    )
    pair.one[0], pair.two[0], pair.offset[0] = piece.one[k], piece.two[k], piece.offset[k]
    spread = math.sqrt(shared(p.C, pair, 0, 0))
    for v in range(p.mu.shape[0]):
        for l in range(limits.bound.shape[0]):  # noqa: E741
            if v == pair.first[0] or not applies(limits, v, l):
                continue
            put_limit(pair, 1, limits, v, l, 1.0)
            width = math.sqrt(shared(p.C, pair, 1, 1))
            alike = shared(p.C, pair, 0, 1) / (spread * width)
            if abs(alike) <= TOGETHER:
                continue
            off = form(p.mu, pair, 1) / width - alike * form(p.mu, pair, 0) / spread
            if abs(off) < OFF + 2.0 * math.sqrt(max(1.0 - alike * alike, 0.0)):
                return True
    return False


@part
def ways_out(p: Posterior, limits: LimitModel, members: Ints, z: int) -> float:
    """How often z might have been taken for one that is out, see `psips.kernels.ratio.chances`.

    By a limit that it keeps by a hair, as by a member that it is ahead of by a hair: what noise
    has done to the one hides the other, or noise the other way would have done the other.
    Where the two vary against each other noise is wrong in nearly every direction: what is
    right is a narrow wedge.
    """
    L = limits.bound.shape[0]
    ways = empty_piece(L + members.shape[0])
    n = 0
    for l in range(L):  # noqa: E741
        if applies(limits, z, l):
            put_limit(ways, n, limits, z, l, 1.0)
            n += 1
    for x in members:
        behind, c = behind_by(p, limits.aims, z, x)
        if behind < np.inf and may_hold(p.facts, p.give, x, z):
            put_lead(ways, n, p.slack, z, x, c)
            n += 1
    held, clearest = 0, -np.inf
    for k in range(n):
        ways.y[k] = math.sqrt(shared(p.C, ways, k, k))
        if -form(p.mu, ways, k) / ways.y[k] > clearest:
            held, clearest = k, -form(p.mu, ways, k) / ways.y[k]
    count = 1.0
    for k in range(n):
        if k != held:
            alike = shared(p.C, ways, held, k) / (ways.y[held] * ways.y[k])
            behind = -form(p.mu, ways, k) / ways.y[k]
            rest = math.sqrt(max(1.0 - alike * alike, 0.0))
            if alike >= -TOGETHER:
                count += share_of_tie(behind, clearest, alike)
            elif behind - alike * clearest > -AWAY * max(rest, OFF):
                count += NARROW
    return count


@part
def listed(inside: Mask) -> Ints:
    """Return the answers where ``inside``."""
    every, count = ints(inside.shape[0]), 0
    for a in range(inside.shape[0]):
        if inside[a]:
            every[count] = a
            count += 1
    return every[:count]


@part
def evidence(
    scene: Scene, calibration: Calibration, allowed: Mask, inside: Mask, mode: int
) -> float:
    """Evidence against the nearest of all pieces."""
    p, limits = scene.posterior, scene.model.limits
    room = room_for(p, limits)
    work, best = empty_piece(room), empty_piece(room)
    pieces = list_pieces(p, limits, allowed, inside, mode)
    most, t = 1e-300, float(scene.belief.tally[RESULTS])
    threshold, begun = glr_threshold(scene.model, calibration, t), early(t)
    for k in range(pieces.shape[0]):
        kind, a, b = pieces[k, 0], pieces[k, 1], pieces[k, 2]
        square, m = nearest_of(p, limits, inside, kind, a, b, mode, work, best)
        number = in_play(p, kind, best, m, p.tolerant)
        factor = calibration.handicap[PAIR if kind == BELOW else ESCAPE, number]
        share = threshold / (threshold + early(results_of(scene, best, m)) - begun)
        value = math.exp(-0.5 * factor * square)
        value *= times(p, limits, inside, kind, best, m, number)
        most = max(most, value**share)
    return -math.log(most)


@step
def judge_limited(run: Run) -> int:
    """Stop when the likelihood ratio against every other set is large."""
    scene, outcome, calibration = run.scene, run.outcome, run.options.calibration
    allowed, inside = flags(scene.model.n), flags(scene.model.n)
    select(scene.posterior.mu, scene.model.facts, scene.model.limits, allowed, inside)
    t = float(scene.belief.tally[RESULTS])
    outcome[THRESHOLD] = glr_threshold(scene.model, calibration, t)
    outcome[EVIDENCE] = evidence(scene, calibration, allowed, inside, WHOLE)
    outcome[STOPPED] = 1.0 if outcome[EVIDENCE] >= outcome[THRESHOLD] else 0.0
    return 0


@part
def stage(scene: Scene, calibration: Calibration, allowed: Mask, inside: Mask) -> int:
    """Return which of the two stages is not done; -1 if both are."""
    t = float(scene.belief.tally[RESULTS])
    level = glr_threshold(scene.model, calibration, t) + math.log(2.0)
    if evidence(scene, calibration, allowed, inside, ALLOWED) < level:
        return ALLOWED
    return FRONT if evidence(scene, calibration, allowed, inside, FRONT) < level else -1


@step
def judge_two_stage(run: Run) -> int:
    """Stop when both stages are done."""
    scene, outcome, calibration = run.scene, run.outcome, run.options.calibration
    allowed, inside = flags(scene.model.n), flags(scene.model.n)
    select(scene.posterior.mu, scene.model.facts, scene.model.limits, allowed, inside)
    t = float(scene.belief.tally[RESULTS])
    outcome[THRESHOLD] = glr_threshold(scene.model, calibration, t) + math.log(2.0)
    outcome[EVIDENCE] = min(
        evidence(scene, calibration, allowed, inside, ALLOWED),
        evidence(scene, calibration, allowed, inside, FRONT),
    )
    outcome[STOPPED] = 1.0 if outcome[EVIDENCE] >= outcome[THRESHOLD] else 0.0
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
    t = float(scene.belief.tally[RESULTS])
    found = evidence(scene, calibration, allowed, inside, WHOLE)
    return found, glr_threshold(scene.model, calibration, t)
