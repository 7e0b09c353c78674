"""The likelihood ratio against every other Pareto set, and what it must exceed.

GLR = half the squared distance of theta_hat to Alt(S_hat), in the metric of the counts. With
beta(t, delta) of Lemma concentration_threshold the truth is nearer than that at all times
with probability 1 - delta (``proven``). ``heuristic`` is log(1/delta) + log log(1 + t).

``measured`` bounds how often a wrong set is entered. In log time the errors of the estimates
are a stationary process: each e-fold of measurements adds the same risk at the same level. So
delta is spent over e-folds: with x the log of the measurements, at a rate of

    r(x) = SPENT delta / E     between x = low and x = high, and falling on either side, as
    1 / (1 + (distance / WIDTH)^2)^TAIL,

E the e-folds that this amounts to. Each piece of the alternative must have the evidence at
which the rate of entries into wrong sets, at the least favourable truth near it, has fallen to
r (`psips.kernels.tie_levels`). For a lone tie the rate at level c is (c / 4 pi)^(1/2) exp(-c).
The rate counts every entry, and looks come at intervals, so that errors are fewer than what is
spent: `tests/ties.py` integrates how often such a rule errs, and SPENT makes that delta.

The measurements that count early are those that inform the piece, `results_of`: among hundreds
of options two have few while there are many in all.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Mask
from psips.kernels.belief import RESULTS
from psips.kernels.cone import project
from psips.kernels.constraint import Piece, empty_piece, put_lead
from psips.kernels.cover import (
    ANSWER,
    CONSTRAINTS,
    DEPTH,
    KIND,
    OBJECTIVE,
    RECORDS,
    RIVAL,
    is_complete,
)
from psips.kernels.front import MEMBERS
from psips.kernels.grids import floats
from psips.kernels.halfspace import PAIR
from psips.kernels.jit import bare, kernel, part, standing
from psips.kernels.model import Model
from psips.kernels.posterior import between, refresh_all, refresh_listed, refresh_means
from psips.kernels.response import best_response, held_back
from psips.kernels.scene import Scene
from psips.kernels.thresholds import MEASURED, PROVEN, Calibration, beta
from psips.kernels.tie_levels import level_with_ties
from psips.kernels.tree import build

SPENT = 1.2  # of delta by the rate of entries, of which a wrong stop is not each
WIDTH, TAIL = 2.0, 2.0  # how spending falls before and after the e-folds expected
EVERY = 200  # looks while the measurements grow e-fold
CERTAIN = 690.0  # nats of evidence beyond which a float knows no chance


@bare
def is_time(t: int, new: int) -> bool:
    """Whether to look after ``t`` results, of which ``new`` were not judged.

    The first EVERY results are looked at one by one, later ones about EVERY times while they
    grow e-fold, and always at the end of a table that spans such a time. From EVERY^2 on a
    period of 1 + t // EVERY would have no multiple among the results that have it.
    """
    period = 1 + t // EVERY
    if period > EVERY:
        power = EVERY
        while 2 * power <= period:
            power *= 2
        period = power
    return t // period > (t - new) // period


@bare
def log_spent(calibration: Calibration, informing: float, t: float) -> float:
    """Log of what is spent in an e-fold after ``t`` results, of which some inform a piece."""
    early = max(calibration.low - math.log(max(informing, 1.0)), 0.0) / WIDTH
    late = max(math.log(max(t, 1.0)) - calibration.high, 0.0) / WIDTH
    fall = math.log1p(early * early) + math.log1p(late * late)
    return calibration.log_rate - TAIL * fall


@bare
def highest(level: float, d: int) -> float:
    """Return a level above all that ties may ask for, given that of a lone one."""
    return level + 5.0 + d


@bare
def lone_level(log_rate: float) -> float:
    """Return the level c at which a lone tie is entered at a rate: (c / 4 pi)^(1/2) e^-c."""
    c = max(-log_rate, 0.5)
    for _ in range(8):
        c = max(0.5 * math.log(c / (4.0 * math.pi)) - log_rate, 0.5)
    return c


@part
def glr_threshold(model: Model, calibration: Calibration, t: float) -> float:
    """Return what the GLR must exceed after ``t`` results, or at least."""
    if calibration.code == PROVEN:
        return beta(model, calibration, t, calibration.log_inverse)
    if calibration.code == MEASURED:
        return lone_level(log_spent(calibration, t, t))
    return calibration.log_inverse + math.log(math.log(1.0 + max(t, math.e)))


@part
def likelihood_ratio(scene: Scene, ceiling: float) -> float:
    """GLR of theta_hat against Alt(S_hat), or ``ceiling`` if it is larger."""
    p, front, draw = scene.posterior, scene.front, scene.draw
    refresh_all(p)
    members = front.members[: front.size[MEMBERS]]
    over, by, near = draw.nearest_xs, draw.nearest_cs, draw.nearest
    weight = floats(max(members.shape[0], scene.model.d))
    return 0.5 * best_response(p, members, 2.0 * ceiling, near, over, by, weight)


@part
def bound_of_ratio(scene: Scene) -> float:
    """Return a value that the GLR is at most: by the piece that was nearest last time."""
    p, front, draw = scene.posterior, scene.front, scene.draw
    z, m = draw.nearest[ANSWER], draw.nearest[CONSTRAINTS]
    if z < 0 or m == 0:
        return np.inf
    members = front.members[: front.size[MEMBERS]]
    xs, cs, y = draw.nearest_xs, draw.nearest_cs, floats(m)
    pair = draw.nearest[KIND] == PAIR
    if front.inside[z] != pair and not (pair and p.tolerant):
        return np.inf  # a member does not escape
    for k in range(m):
        if not front.inside[xs[k]]:
            return np.inf
    if p.separate:
        refresh_means(p)
    refresh_listed(p, draw.nearest[:1])
    refresh_listed(p, members)
    square = project(p, z, m, xs, cs, y)
    if not pair and held_back(p, z, m, xs, cs, y, members):
        return np.inf  # the nearest point of that piece is not in Alt any more
    return 0.5 * square


@part
def passes(scene: Scene, threshold: float) -> float:
    """Return the GLR if it is below the threshold, or a bound that is; else the threshold."""
    bound = bound_of_ratio(scene)
    if bound < threshold:
        return bound
    return likelihood_ratio(scene, threshold)


# ------------------------------------------------------------------ measured


@bare
def counted(scene: Scene, a: int, c: int) -> float:
    """Results of arm ``a`` that have objective ``c``."""
    if scene.model.noise.partial:
        return max(scene.belief.scatter.count[a, c, c], 1.0)
    return scene.posterior.N[a]


@part
def results_of(scene: Scene, piece: Piece, m: int) -> float:
    """About how many results inform the constraints of a piece: the fewest of any.

    Twice the variance that a constraint has by one result of either answer over that which it
    has: N_z + N_x where these are balanced. With features its variance over what another
    result takes off it, of the arm that tells most, which is the same where they are. All
    results where the posterior is joint.
    """
    p, few = scene.posterior, float(scene.belief.tally[RESULTS])
    if not p.separate and p.G.shape[0] > 0:
        return few
    along = floats(p.W.shape[1])  # V^-1 (z - x)
    for k in range(m):
        if piece.y[k] <= 0.0:
            continue
        z, x, c = piece.first[k], piece.second[k], piece.metric[k]
        if p.separate:
            one = piece.one[k] ** 2 * between(p, z, c, z, c)
            two = piece.two[k] ** 2 * between(p, x, c, x, c)
            alone = one * counted(scene, z, c) + two * counted(scene, x, c)
            share = 2.0 if two > 0.0 else 1.0
            few = min(few, share * alone / (one + two))
            continue
        square, most = 0.0, 1e-300
        for i in range(p.W.shape[1]):
            square += (p.W[z, i] - p.W[x, i]) ** 2
            along[i] = 0.0
            for j in range(p.W.shape[1]):
                along[i] += p.F[i, j] * (p.W[z, j] - p.W[x, j])
        for a in range(p.A.shape[0]):
            told = 0.0
            for i in range(p.W.shape[1]):
                told += p.A[a, i] * along[i]
            most = max(most, told * told)
        few = min(few, square / most)
    return few


@part
def shortfall(
    scene: Scene,
    calibration: Calibration,
    inside: Mask,
    piece: Piece,
    m: int,
    square: float,
    ties: bool,
) -> tuple[float, float]:
    """Return the level of a piece, and by how much its evidence is below it (or above, < 0).

    The level of a lone tie, or of the ties around the piece.
    """
    t, evidence = float(scene.belief.tally[RESULTS]), 0.5 * square
    wanted = log_spent(calibration, results_of(scene, piece, m), t)
    level = lone_level(wanted)
    if ties and evidence < highest(level, scene.model.d):
        p, limits = scene.posterior, scene.model.limits
        enough = max(evidence, level)
        level = level_with_ties(p, limits, inside, piece, m, wanted, level, enough, scene.ties)
    return level, level - evidence


@part
def nearest_falls_short(scene: Scene, calibration: Calibration, least: float) -> bool:
    """Whether the evidence does not suffice, by the nearest piece alone."""
    if bound_of_ratio(scene) < least:
        return True
    p, front, draw = scene.posterior, scene.front, scene.draw
    if likelihood_ratio(scene, least) < least:
        return True
    likelihood_ratio(scene, highest(least, scene.model.d))
    z, m = draw.nearest[ANSWER], draw.nearest[CONSTRAINTS]
    if z < 0:
        return False
    piece = empty_piece(m)
    for k in range(m):
        put_lead(piece, k, p.slack, z, draw.nearest_xs[k], draw.nearest_cs[k])
    square = project(p, z, m, draw.nearest_xs, draw.nearest_cs, piece.y)
    return shortfall(scene, calibration, front.inside, piece, m, square, True)[1] > 0.0


@bare
def put_record(scene: Scene, k: int, piece: Piece) -> int:
    """Put the constraints of record ``k`` of the cover; how many."""
    cover, slack, d = scene.cover, scene.posterior.slack, scene.model.d
    z, m = cover.shape[k, ANSWER], cover.shape[k, CONSTRAINTS]
    pair = cover.shape[k, KIND] == PAIR
    for c in range(d if pair else 0):  # all of them, though some may be met already
        put_lead(piece, c, slack, z, cover.terms[k, 0, RIVAL], c)
        piece.y[c] = 0.0
    for i in range(m):
        rival, c = cover.terms[k, i, RIVAL], cover.terms[k, i, OBJECTIVE]
        at = c if pair else i
        put_lead(piece, at, slack, z, rival, c)
        piece.y[at] = cover.y[k, i]
    return d if pair else m


@standing
@part
def weigh_pieces(scene: Scene, calibration: Calibration) -> tuple[float, float]:
    """Evidence and level of the piece that falls short most, from a fresh cover.

    Ties are looked at around the piece that falls short most without them, or around all
    pieces if none does.
    """
    cover, inside = scene.cover, scene.front.inside
    level = glr_threshold(scene.model, calibration, float(scene.belief.tally[RESULTS]))
    if not is_complete(cover):
        return 0.0, level
    piece = empty_piece(max(DEPTH, scene.model.d))
    worst, at = -np.inf, -1
    for k in range(cover.life[RECORDS]):
        m = put_record(scene, k, piece)
        short = shortfall(scene, calibration, inside, piece, m, cover.r[k] ** 2, False)[1]
        if short > worst:
            worst, at = short, k
    if at < 0:
        return CERTAIN, level
    found, every = 0.5 * cover.r[at] ** 2, worst <= 0.0
    worst = -np.inf
    for k in range(cover.life[RECORDS]):
        if every or k == at:
            m = put_record(scene, k, piece)
            square = cover.r[k] ** 2
            asked, short = shortfall(scene, calibration, inside, piece, m, square, True)
            if short > worst:
                worst, found, level = short, 0.5 * square, asked
    return found, level


@kernel
def weigh_ratio(scene: Scene, calibration: Calibration, spare: float) -> tuple[float, float]:
    """Evidence and threshold for the data as they stand, in full, for people to read.

    ``spare`` is the largest inflation of any draw, as in `psips.kernels.tree.build`.
    """
    build(scene, spare)
    return weigh_cover(scene, calibration)


@part
def weigh_cover(scene: Scene, calibration: Calibration) -> tuple[float, float]:
    """Evidence for the set that the cover was built for, and the threshold."""
    if calibration.code == MEASURED:
        return weigh_pieces(scene, calibration)
    threshold = glr_threshold(scene.model, calibration, float(scene.belief.tally[RESULTS]))
    return likelihood_ratio(scene, np.inf), threshold


def spending(delta: float, low: float, high: float) -> float:
    """Return the log of the rate at which delta is spent between two logs of measurements."""
    start = low / WIDTH  # the tails: integrals of (1 + y^2)^-2 up to here, and without end
    before = 0.5 * (start / (1.0 + start * start) + math.atan(start))
    efolds = high - low + WIDTH * (before + 0.25 * math.pi)
    return math.log(SPENT * delta / efolds)


def looked_at(log_rate: float) -> float:
    """Return z^2 of the normal at whose tail the rule looks where its threshold is lowest.

    Student's law is given this tail, see `psips.kernels.scatter`.
    """
    plain = getattr(lone_level, "py_func", lone_level)  # only kernels call what is compiled
    return 2.0 * float(plain(log_rate))
