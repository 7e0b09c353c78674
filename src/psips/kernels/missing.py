"""What open verdicts lack: how wide their intervals are, and which results would close them."""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.kernels.belief import Belief, refactor
from psips.kernels.certificates import (
    LOG_FOUR,
    dominance,
    escape,
    evidence,
    log_volume,
    looked_along,
    value,
)
from psips.kernels.front import Front
from psips.kernels.grids import as_array, as_grid, floats, ints, ints2
from psips.kernels.halfspace import is_tolerant, may_beat, may_hold
from psips.kernels.jit import kernel, part
from psips.kernels.marginal import BISECTIONS, least_lead, singly
from psips.kernels.model import Model
from psips.kernels.settling import (
    ESCAPES,
    IN,
    OPEN,
    OUT,
    OUTSIDE,
    WITHIN,
    judge_answers,
)

MOST = 1e9  # results of one arm; whatever needs more is not going to be settled
ROUGH = 1e-3  # relative error allowed in them
GROWTHS = 200  # of an interval that is too short, at most
STEPS = 200  # of the search for a number of results, at most


@part
def half_width(
    model: Model, belief: Belief, i: int, j: int, c: int, volume: float, L: float
) -> float:
    """How far D-hat_c can be from D_c, either side, before E reaches ``L``."""
    s = math.sqrt(model.Sigma[c, c])
    if not model.unstructured:
        square = 0.0
        for k in range(model.h):
            along = 0.0
            for f in range(model.h):
                along += (model.Z[i, f] - model.Z[j, f]) * belief.F[f, k]
            square += along * along
        spread = s * math.sqrt(2.0 * L + volume)
        return math.sqrt(square) * (spread + math.sqrt(model.xi) * model.ball[c])
    first, second = belief.N[i], belief.N[j]
    unit = s * math.sqrt(2.0 * (1.0 / first + 1.0 / second))
    low = unit * math.sqrt(max(L - LOG_FOUR, 0.0))  # E is at most (width / unit)^2 + log 4
    high = unit * math.sqrt(L)
    for _ in range(GROWTHS):
        if not evidence(first, second, s, high) < L:
            break
        low = high
        high *= 1.5
    for _ in range(BISECTIONS):
        if high - low <= 1e-6 * high:
            break
        middle = 0.5 * (low + high)
        if evidence(first, second, s, middle) < L:
            low = middle
        else:
            high = middle
    return high


@part
def results_needed(first: float, second: float, variance: float) -> float:
    """Fewest results to add to two counts until 1 / N_i + 1 / N_j is at most ``variance``."""
    if variance <= 0.0:
        return np.inf
    even = 2.0 / variance
    if even >= max(first, second):
        return 2.0 * even - first - second
    return max(1.0 / (variance - 1.0 / max(first, second)) - min(first, second), 0.0)


@part
def decisive(
    model: Model, belief: Belief, Y: Floats, inside: Mask, verdict: Ints, z: int, L: float
) -> int:
    """Rival that decides how long an open verdict takes; -1 if the estimates do not tell.

    Of a candidate ``z``, which has to escape all: the one that takes the most results, as
    far as a test for one fixed time shows. Of others, which one is enough to dominate: the
    one that takes the fewest.
    """
    rival = -1
    tolerant = is_tolerant(model.slack, model.give, model.control)
    best = 0.0 if inside[z] else np.inf
    rows = Y.shape[0] if inside[z] else model.d
    scale = floats(rows)  # variance along each row, times the nats it needs
    for row in range(rows):
        for c in range(model.d):
            for e in range(model.d):
                scale[row] += Y[row, c] * Y[row, e] * model.Sigma[c, e]
        scale[row] *= L if row < model.d else L + LOG_FOUR
    for x in range(model.n):
        if x == z or not (inside[z] or inside[x]):
            continue
        if verdict[x] == OUT and not tolerant:
            continue
        if not (inside[z] or may_hold(model.facts, model.give, x, z)):
            continue  # it never dominates z
        if inside[z] and not may_beat(model.facts, model.give, x, z):
            continue  # z escapes it whatever is measured
        ratio = 0.0 if inside[z] else np.inf  # of squared lead and variance, for each nat
        for row in range(rows):
            lead = 0.0
            for c in range(model.d):
                ahead = belief.theta[z, c] - belief.theta[x, c]
                lead += Y[row, c] * ((ahead if inside[z] else -ahead) - model.slack[c])
            lead = max(lead, 0.0)
            found = lead * lead / scale[row]
            ratio = max(ratio, found) if inside[z] else min(ratio, found)
        total = results_needed(belief.N[z], belief.N[x], 0.5 * ratio)
        if inside[z]:
            if total >= best and escape(model, belief, Y, z, x, 0.0, L) < L:
                best = total
                rival = x
        elif total < best:
            best = total
            rival = x
    return rival


@part
def spread_of(model: Model, belief: Belief, i: int, j: int, c: int) -> float:
    """Return what differences of two answers in ``c`` are compared with: their spread."""
    if singly(model):
        return math.sqrt(belief.scatter.C[i, c, c] + belief.scatter.C[j, c, c])
    return math.sqrt(model.Sigma[c, c])


@kernel
def verdicts(
    model: Model, belief: Belief, front: Front, log_inverse: float, known: Ints
) -> tuple[Ints, Ints, Ints, Floats, Floats, Floats]:
    """Verdicts for callers in Python, see `psips.kernels.settling.judge_answers`.

    Parameters
    ----------
    model, belief, front, log_inverse
        What the certificates go by; the last is log(1 / delta).
    known : array (n,)
        Verdicts known otherwise, or OPEN.

    Returns
    -------
    tuple
        verdict; rival, of open verdicts the `decisive` one if unstructured with one covariance
        (results of a linear problem bear on all comparisons, so there it is the rival with the
        least evidence, or the most; and so it is where claims are made `singly`); of open ones
        the objective in which the two are to be told apart, the least and the most that their
        difference in it can be, and the level that their claims are held to.
    """
    n = model.n
    Y = looked_along(model)
    verdict = ints(n)
    before = as_grid(known)
    for z in range(n):
        verdict[z] = before[z]
    rival = ints(n)
    strength = floats(n)
    levels = judge_answers(model, belief, front, Y, log_inverse, verdict, rival, strength)
    either = max(levels[WITHIN], levels[OUTSIDE])
    objective = ints(n)
    least, most = floats(n), floats(n)
    need = floats(n)
    volume = log_volume(model, belief)
    for z in range(n):
        if verdict[z] == OPEN and model.unstructured and not singly(model):
            L = levels[ESCAPES] if front.inside[z] else either
            x = decisive(model, belief, Y, front.inside, verdict, z, L)
            rival[z] = x if x >= 0 else rival[z]
        x = rival[z]
        if verdict[z] == OPEN and x >= 0:
            need[z] = levels[WITHIN] if verdict[x] == IN else either
            if front.inside[z]:
                need[z] = levels[ESCAPES]
            # a candidate needs one objective to be ahead in, the others are behind in each
            best = -np.inf
            for c in range(model.d):
                lead = value(model, belief, z, c) - value(model, belief, x, c)
                lead += model.slack[c] * (-1.0 if front.inside[z] else 1.0)
                lead /= spread_of(model, belief, z, x, c)
                if lead > best:
                    best = lead
                    objective[z] = c
            c = objective[z]
            if singly(model):
                spread = spread_of(model, belief, z, x, c)
                least[z] = least_lead(model, belief, z, x, c, spread, need[z])
                most[z] = -least_lead(model, belief, x, z, c, spread, need[z])
            else:
                lead = value(model, belief, z, c) - value(model, belief, x, c)
                width = half_width(model, belief, z, x, c, volume, need[z])
                least[z], most[z] = lead - width, lead + width
    return (
        as_array(verdict),
        as_array(rival),
        as_array(objective),
        as_array(least),
        as_array(most),
        as_array(need),
    )


@part
def settled(
    model: Model, belief: Belief, Y: Floats, inside: bool, z: int, x: int, L: float
) -> bool:
    """Whether a candidate ``z`` escapes ``x``, or ``x`` dominates any other ``z``, at ``L``."""
    volume = log_volume(model, belief)
    if inside:
        return escape(model, belief, Y, z, x, volume, L) >= L
    return dominance(model, belief, Y, x, z, volume, L) >= L


@part
def raise_counts(
    model: Model,
    belief: Belief,
    trial: Belief,
    arms: Ints,
    weights: Floats,
    reach: float,
    extra: Ints,
) -> float:
    """Set ``trial`` to ``belief`` with no count below ``reach`` times its weight.

    ``extra`` receives what that adds to each of ``arms``; return the largest of them.
    """
    most = 0.0
    for k in range(arms.shape[0]):
        a = arms[k]
        added = max(math.floor(reach * weights[k] - belief.N[a] + 0.5), 0.0)
        extra[k] = int(added)
        trial.N[a] = belief.N[a] + added
        most = max(most, added)
    if not model.unstructured:
        for i in range(model.h):
            for j in range(model.h):
                total = belief.V[i, j]
                for k in range(arms.shape[0]):
                    total += extra[k] * model.A[arms[k], i] * model.A[arms[k], j]
                trial.V[i, j] = total
        refactor(trial.V, trial.F)
    return most


@kernel
def further(
    model: Model,
    belief: Belief,
    trial: Belief,
    candidates: Mask,
    levels: Floats,
    comparisons: Ints,
    pulled: Ints,
    suited: Floats,
) -> Ints:
    """How many further results settle each comparison, if the estimates stay as they are.

    Parameters
    ----------
    model, belief
        See `verdicts`.
    levels : array (m,)
        What the claims of each comparison are held to.
    candidates : array (n,) of bool
    trial : Belief
        A copy of ``belief``, changed in the course.
    comparisons : array (m, 2)
        Answers with an open verdict, and their rivals.
    pulled, suited : array (m, s)
        For each of them distinct arms, and the counts that suit it best up to a common factor.

    Returns
    -------
    array (m, s)
        Of each arm: with counts raised to the least multiple of the weights, not lowered
        where they are above, the claims hold. Zeros where no number of results is enough.
    """
    inside, pairs, need = as_grid(candidates), as_grid(comparisons), as_grid(levels)
    arms, weights = as_grid(pulled), as_grid(suited)
    Y = looked_along(model)
    extra = ints2(arms.shape[0], arms.shape[1])
    for row in range(pairs.shape[0]):
        z, x = pairs[row, 0], pairs[row, 1]
        low = np.inf  # up to here nothing is added
        top = 0.0
        for k in range(arms.shape[1]):
            if weights[row, k] > 0.0:
                low = min(low, belief.N[arms[row, k]] / weights[row, k])
                top = max(top, weights[row, k])
        # The claims' evidence is convex in the counts: once enough, more is enough as well.
        high = np.inf
        step = 1.0 / top
        reach = low + step
        for _ in range(STEPS):
            most = raise_counts(
                model, belief, trial, arms[row], weights[row], reach, extra[row]
            )
            if settled(model, trial, Y, inside[z], z, x, need[row]):
                high = reach
            elif most > MOST:
                break
            else:
                low = reach
            if high == np.inf:
                step *= 4.0
                reach += step
            elif (high - low) * top > max(0.5, ROUGH * most):
                reach = 0.5 * (low + high)
            else:
                break
        if high < np.inf:
            raise_counts(model, belief, trial, arms[row], weights[row], high, extra[row])
        for k in range(arms.shape[1]):
            trial.N[arms[row, k]] = belief.N[arms[row, k]]
            if high == np.inf:
                extra[row, k] = 0
    return as_array(extra)
