"""The likelihood ratio against every other Pareto set, and what it must exceed.

GLR = half the squared distance of theta_hat to Alt(S_hat), in the metric of the counts. With
beta(t, delta) of Lemma concentration_threshold the truth is nearer than that at all times
with probability 1 - delta (``proven``). ``heuristic`` is log(1/delta) + log log(1 + t).

``measured`` puts right where ``heuristic`` errs, on options that all but tie. The evidence is
that of a Brownian motion there, B(t)^2 / (2 t), which crosses a level c about (c / 4 pi)^(1/2)
exp(-c) times in an e-fold of t: every e-fold is as large a chance to err as every other, and a
threshold says how much of delta is spent in which. Experiments end after some hundred to some
ten thousand results; there it is lowest, and flat. With x = log t it is

    log(1/delta) + 1/2 log((log(1/delta) + 0.4) / (log 10 + 0.4)) + 1.28
      + 1.5 log(1 + ((5.3 - x) / 2)^2)     before x = 5.3, 200 results,
      + 2 log(1 + ((x - 10.3) / 2)^2)      from x = 10.3 on, 30,000 results:

the root of a level makes small deltas err more often in relation to them, which the second term
puts right, and what is spent in all later e-folds together is finite. Such a motion is left on
the wrong side less often than delta, however long it is looked at (`tests/ties.py`).
Its e-folds are those of the results that tell of the tie: among hundreds of others two options
have few while t is large, so what is asked for besides after few results goes by `results_of`.

The noise that takes theta_hat out of "i below j" in k objectives at once has the squared length
of k normals: such a distance counts for less, ``handicap``, see `psips.rules.handicaps`.
With a tolerance it is MORE: where the truth is as far off as the tolerance allows, nothing
takes the estimates away from a set that is wrong by a little, and every look until the stop is
a chance to err (measured: benchmarks/tolerance.py).

Whether the GLR has passed the threshold is found without the whole search in most rounds: the
piece of Alt that was nearest last time bounds the distance from above.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.kernels.belief import RESULTS
from psips.kernels.cone import project
from psips.kernels.cover import (
    ANSWER,
    CONSTRAINTS,
    KIND,
    OBJECTIVE,
    RECORDS,
    RIVAL,
    is_complete,
)
from psips.kernels.front import MEMBERS
from psips.kernels.grids import floats
from psips.kernels.halfspace import ESCAPE, PAIR, is_tolerant, lead, may_hold
from psips.kernels.jit import bare, kernel, part, standing
from psips.kernels.model import Model
from psips.kernels.posterior import (
    Posterior,
    apart,
    cov,
    refresh_all,
    refresh_listed,
    refresh_means,
    variance,
)
from psips.kernels.response import best_response, counts_for, drawn_in, held_back
from psips.kernels.scene import Scene
from psips.kernels.thresholds import MEASURED, PROVEN, Calibration, beta
from psips.kernels.tree import build

LEVEL = 1.28  # above log(1/delta), where the threshold is lowest
CURVE, POWER = 0.4, 0.5  # see above: the root of a level
LOG_TEN = math.log(10.0)
LOW, HIGH = 5.3, 10.3  # e-folds of results between which the threshold is lowest
WIDTH, EARLY, LONG = 2.0, 1.5, 2.0  # how it rises on either side
MORE = 1.1  # nats with a tolerance, measured
TOGETHER = 0.8  # correlation from which on objectives vary together
ALIKE = 2.0  # standard errors by which leads differ at most that may all be of ties
NEARBY, AWAY = 1.0, 2.5  # standard errors that an answer may be ahead of a member it ties with
HELD, HOLDING = 0.75, 2.0  # .. and that it may be behind
AGAIN = 1.25  # what another near-tie counts for: two together have a longer tail
OFF = 0.25  # standard errors by which a tie may be off what another's noise makes of it
EVERY = 500  # all pieces are looked at about this often while the results grow e-fold


@bare
def is_time(t: int, new: int) -> bool:
    """Whether all pieces are looked at after ``t`` results, of which ``new`` were not judged.

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
def early(t: float) -> float:
    """Return what is asked for besides after ``t`` results, if these are few."""
    return EARLY * math.log1p((max(LOW - math.log(max(t, 1.0)), 0.0) / WIDTH) ** 2)


@part
def glr_threshold(model: Model, calibration: Calibration, t: float) -> float:
    """Return what the GLR must exceed after ``t`` results."""
    log_inverse = calibration.log_inverse
    if calibration.code == PROVEN:
        return beta(model, calibration, t, log_inverse)
    if calibration.code == MEASURED:
        more = MORE if is_tolerant(model.slack, model.even, model.control) else 0.0
        late = LONG * math.log1p((max(math.log(max(t, 1.0)) - HIGH, 0.0) / WIDTH) ** 2)
        return calibration.lowest + early(t) + late + more
    return log_inverse + math.log(math.log(1.0 + max(t, math.e)))


@part
def likelihood_ratio(scene: Scene, handicap: Floats, ceiling: float) -> float:
    """GLR of theta_hat against Alt(S_hat), or ``ceiling`` if it is larger."""
    p, front, draw = scene.posterior, scene.front, scene.draw
    refresh_all(p)
    members = front.members[: front.size[MEMBERS]]
    over, by, near = draw.nearest_xs, draw.nearest_cs, draw.nearest
    weight = floats(max(members.shape[0], scene.model.d))
    return 0.5 * best_response(p, members, 2.0 * ceiling, handicap, near, over, by, weight)


@part
def bound_of_ratio(scene: Scene, handicap: Floats) -> float:
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
    in_play = counts_for(p, pair, z, m, xs[0], y)
    return 0.5 * square * handicap[PAIR if pair else ESCAPE, in_play]


@part
def passes(scene: Scene, handicap: Floats, threshold: float) -> float:
    """Return the GLR if it is below the threshold, or a bound that is; else the threshold."""
    bound = bound_of_ratio(scene, handicap)
    if bound < threshold:
        return bound
    return likelihood_ratio(scene, handicap, threshold)


@standing
@part
def all_pieces(scene: Scene, handicap: Floats, threshold: float) -> float:
    """Evidence against all of Alt, from a fresh cover: that against the nearest of its pieces.

    A lone near-tie, which is what the threshold is made for, is left on the wrong side by half
    of the motions that leave it. But with correlated objectives both sides may be wrong: where
    x is worse than z by a hair throughout, and objectives vary against each other, noise either
    way makes the two look incomparable; where they are incomparable by a hair and objectives
    vary together, noise either way has one dominate the other. The other side may be a third
    answer's, see `mirrored`. Such a piece counts twice.

    Several near-ties that must all be settled err less often than one: a stop waits for the
    last, and by then what noise has done to the first is seen. Not so where the set is wrong
    by any one of them, and what noise has done to one hides the others: an answer that is
    ahead of several members by a hair, see `chances`, counts as often.

    ``threshold`` is that after all results. Where few of them tell of a piece it is higher for
    it; instead its evidence is taken for less, in the same relation.
    """
    p, front, cover = scene.posterior, scene.front, scene.cover
    members, aims = front.members[: front.size[MEMBERS]], scene.model.limits.aims
    if not is_complete(cover):
        return 0.0
    most, told = 1e-300, float(scene.belief.tally[RESULTS])
    begun = early(told)
    for k in range(cover.life[RECORDS]):
        z, m = cover.shape[k, ANSWER], cover.shape[k, CONSTRAINTS]
        x = cover.terms[k, 0, RIVAL]
        pair = cover.shape[k, KIND] == PAIR
        in_play = min(m, scene.model.d)
        if pair:
            in_play = counts_for(p, True, z, m, x, cover.y[k])
        factor = handicap[PAIR if pair else ESCAPE, in_play]
        few = told
        for i in range(m):
            if cover.y[k, i] > 0.0:
                rival, c = cover.terms[k, i, RIVAL], cover.terms[k, i, OBJECTIVE]
                few = min(few, results_of(scene, z, rival, c))
        share = threshold / (threshold + early(few) - begun)
        value = math.exp(-0.5 * factor * cover.r[k] ** 2)
        if (2.0 * AGAIN * value * members.shape[0]) ** share <= most:
            continue  # others are nearer, however often this one counts
        twice = False
        if not p.diagonal:
            twice = drawn_in(p, z, x) > in_play if pair else together(p, aims, z, x)
        for i in range(m):
            rival, c = cover.terms[k, i, RIVAL], cover.terms[k, i, OBJECTIVE]
            if cover.y[k, i] > 0.0 and not twice:
                twice = mirrored(p, aims, front.inside, z, rival, c)
        if twice:
            value *= 2.0
        if not pair:
            value *= chances(p, aims, z, members)
        most = max(most, value**share)
    return -math.log(most)


@part
def results_of(scene: Scene, z: int, x: int, c: int) -> float:
    """About how many results tell of the lead of z over x in ``c``.

    Twice the variance that it has by one result of either over that which it has: N_z + N_x
    where these are balanced. With features its variance over what another result takes off
    it, of the arm that tells most, which is the same where they are. All results where the
    posterior is joint.
    """
    p = scene.posterior
    if p.separate:
        of_z, of_x = p.C[z, c, c], p.C[x, c, c]
        alone = of_z * counted(scene, z, c) + of_x * counted(scene, x, c)
        return 2.0 * alone / (of_z + of_x)
    if p.G.shape[0] > 0:
        return float(scene.belief.tally[RESULTS])
    h = p.W.shape[1]
    along = floats(h)  # V^-1 (z - x)
    for i in range(h):
        for j in range(h):
            along[i] += p.F[i, j] * (p.W[z, j] - p.W[x, j])
    most = 1e-300
    for a in range(p.A.shape[0]):
        told = 0.0
        for i in range(h):
            told += p.A[a, i] * along[i]
        most = max(most, told * told)
    return apart(p, z, x) / most


@bare
def counted(scene: Scene, a: int, c: int) -> float:
    """Results of arm ``a`` that have objective ``c``."""
    if scene.model.noise.partial:
        return max(scene.belief.scatter.count[a, c, c], 1.0)
    return scene.posterior.N[a]


@part
def together(p: Posterior, aims: Floats, z: int, x: int) -> bool:
    """Whether x is ahead of z alike in all objectives, several, and these vary together."""
    near = apart(p, z, x)
    least, most, several = np.inf, 0.0, False
    for c in range(p.mu.shape[1]):
        if aims[c] == 0.0:
            continue
        spread = math.sqrt(variance(p, z, x, c, near))
        behind = -lead(p.mu, p.slack, z, x, c) / spread
        least, most = min(least, behind), max(most, behind)
        for e in range(c):
            other = math.sqrt(variance(p, z, x, e, near))
            if aims[e] > 0.0 and cov(p, z, x, c, x, e) < TOGETHER * spread * other:
                return False
            several = several or aims[e] > 0.0
    return several and most - least < ALIKE


@part
def chances(p: Posterior, aims: Floats, z: int, members: Ints) -> float:
    """How often z might have been taken for dominated: once, and AGAIN for each near-tie more.

    Where z is ahead of several members by a hair in one objective each, the noise of any of
    them may decide. Besides the member that holds z most those count that may tie with it: in
    full while z is ahead by at most NEARBY standard errors of what the noise of the first
    leaves open, and not at all from AWAY on; those that hold z too are in its piece, and count
    the less, see `share_of_chance`. So do those whose leads vary together.
    """
    safest, held, at = -np.inf, -1, 0
    for x in members:
        behind, c = behind_by(p, aims, z, x)
        if behind > safest and may_hold(p.facts, p.give, x, z):
            safest, held, at = behind, x, c
    spread = math.sqrt(variance(p, z, held, at, apart(p, z, held)))
    count = 1.0
    for x in members:
        behind, c = behind_by(p, aims, z, x)
        if x == held or not may_hold(p.facts, p.give, x, z):
            continue
        other = math.sqrt(variance(p, z, x, c, apart(p, z, x)))
        alike = cov(p, z, held, at, x, c) / (spread * other)
        if alike >= -TOGETHER:  # others are `mirrored`
            count += share_of_tie(behind, safest, alike)
    return count


@bare
def share_of_tie(behind: float, held: float, alike: float) -> float:
    """Return what a tie counts for beside one in which an answer is behind by ``held``.

    Where the two vary together it counts less, and not at all if the answer is ahead by more
    than the noise that holds it leaves room for. Where they vary against each other, what
    counts is the lead with that noise taken out: at the stop such a tie looks clear.
    """
    rest = math.sqrt(max(1.0 - alike * alike, 0.0))
    left = (behind - alike * held) / max(rest, OFF)
    if alike >= 0.0:
        return rest * share_of_chance(left, behind)
    return share_of_chance(left, left)


@bare
def share_of_chance(ahead: float, behind: float) -> float:
    """Return what a tie counts for, by how many standard errors an answer is behind.

    ``ahead`` decides how far it may be ahead, negative if it is, and ``behind`` how far behind.
    """
    far, held = (AWAY + ahead) / (AWAY - NEARBY), (HOLDING - behind) / (HOLDING - HELD)
    return AGAIN * max(min(far, held, 1.0), 0.0)


@part
def behind_by(p: Posterior, aims: Floats, z: int, x: int) -> tuple[float, int]:
    """Return how many standard errors z is behind x where it is least so, and where."""
    near = apart(p, z, x)
    least, at = np.inf, 0
    for c in range(p.mu.shape[1]):
        if aims[c] > 0.0:
            behind = -lead(p.mu, p.slack, z, x, c)
            behind /= math.sqrt(variance(p, z, x, c, near))
            if behind < least:
                least, at = behind, c
    return least, at


@part
def mirrored(p: Posterior, aims: Floats, inside: Mask, z: int, x: int, c: int) -> bool:
    """Whether noise the other way than that which parts z and x in ``c`` may be wrong, too.

    It is if another pair ties in that noise, and its order matters. A pair of z and v: either
    the noise moves v against x; or with x, and z would then dominate v, a member. A pair of x
    and v, where the noise moves v as z: v, a member, would dominate x; or v, no member, would
    escape from x, and z does not hold it.
    """
    spread = math.sqrt(variance(p, z, x, c, apart(p, z, x)))
    ahead = lead(p.mu, p.slack, z, x, c) / spread
    for v in range(p.mu.shape[0]):
        if v in (z, x):
            continue
        for hub in range(2):
            one, other = (z, x) if hub == 0 else (x, z)
            near = apart(p, one, v)
            if near <= 0.0:
                continue
            for e in range(p.mu.shape[1]):
                width = math.sqrt(variance(p, one, v, e, near))
                alike = cov(p, one, other, c, v, e) / (spread * width)
                if abs(alike) <= TOGETHER:
                    continue
                wanted = alike * ahead if hub == 0 else -alike * ahead  # of a tie
                off = lead(p.mu, p.slack, one, v, e) / width - wanted
                if abs(off) >= OFF + 2.0 * math.sqrt(max(1.0 - alike * alike, 0.0)):
                    continue
                if alike < 0.0:
                    matters = hub == 0
                elif hub == 0:
                    matters = inside[v] and as_good(p, aims, z, v, e)
                elif inside[v]:
                    matters = as_good(p, aims, v, x, e)
                else:
                    matters = as_good(p, aims, x, v, e) and not as_good(p, aims, z, v, e)
                if matters:
                    return True
    return False


@part
def as_good(p: Posterior, aims: Floats, a: int, b: int, e: int) -> bool:
    """Whether ``a`` is not clearly worse than ``b`` in any objective but ``e``."""
    if not may_hold(p.facts, p.give, a, b):
        return False
    near = apart(p, a, b)
    for c in range(p.mu.shape[1]):
        if c != e and aims[c] > 0.0:
            ahead = lead(p.mu, p.slack, a, b, c)
            if ahead < -ALIKE * math.sqrt(variance(p, a, b, c, near)):
                return False
    return True


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
    threshold = glr_threshold(scene.model, calibration, float(scene.belief.tally[RESULTS]))
    found = likelihood_ratio(scene, calibration.handicap, np.inf)
    if calibration.code == MEASURED:
        found = min(found, all_pieces(scene, calibration.handicap, threshold))
    return found, threshold


def lowest(log_inverse: float) -> float:
    """Return the least threshold of ``measured``, at log(1/delta)."""
    return log_inverse + POWER * math.log((log_inverse + CURVE) / (LOG_TEN + CURVE)) + LEVEL


def looked_at(log_inverse: float) -> float:
    """Return z^2 of the normal at whose tail the rule looks where its threshold is lowest.

    Student's law is given this tail, see `psips.kernels.scatter`.
    """
    return 2.0 * lowest(log_inverse)
