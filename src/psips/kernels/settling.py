"""Verdicts: which answers are in the Pareto set, and which are not, by closed testing.

The claims of two answers and their evidence E are those of `psips.kernels.certificates`: if a
claim is false, P(E >= L at any time) <= exp(-L).

One set. Suppose that S is the Pareto set, s of n answers. Then these claims are false:

* within: "x dominates z" for x and z in S, s (s - 1) of them. In some objective x does not
  beat z, and the evidence of "x dominates z" is the least over the objectives;
* from outside: "x dominates z" for z in S and x outside, s (n - s) of them;
* escapes: a z outside S has an x in S that is nowhere worse. The claims "z beats x" along the
  m directions looked at are false: (n - s) m claims, as x is fixed by z and the truth. (Those
  that combine objectives are held to log 4 more and count for a quarter in m.)

Each kind has a share of delta, which may depend on s, and each claim of it an equal part: its
level is log(number / (share delta)). S is rejected when a claim of the first two kinds reaches
its level, or when a z outside S has beaten every x in S somewhere, each at the level of
escapes. By the union bound the Pareto set is rejected, ever, with probability at most delta.
(Linear: the claims along one y fail together, so that the level is log(m / delta) for all.)

All sets. A verdict is what the sets that are not rejected agree on. They are not listed. Let
it be known that each of them contains the answers I and none of O, so that its size is from
|I| to n - |O|, and let the levels be the largest of these sizes.

* If some x in I dominates z at the level within, a set with z has both in it and is rejected:
  z is out. If x is not in I, the level from outside must be reached too.
* If z beats every x that is not in O somewhere at the level of escapes, a set without z is
  rejected: z is in.

I and O grow, the levels fall, and this goes on until nothing is added. The last claims cost
little: with all others settled, "x dominates z" within |I| + 1 answers.

What is known otherwise, with its own share of delta, may be put into I and O beforehand.

With a tolerance the claims are those up to epsilon, and what is proven is that a set R is right
(`psips.kernels.halfspace`): every z in R escapes all other answers, whatever is known of these,
and every z outside is held by some x in R. Let S be the Pareto set of the truth, s answers.

* If z in R is beaten by more than epsilon, it is not in S, and some x in S beats it so, as what
  dominates a better one does too: for each z outside S one x, fixed by the truth. The claims
  "z escapes x" are false: (n - s) m of them.
* If z outside R is held by no x in R, neither is what dominates z, and no such answer is in R,
  as it would hold z. So z may be taken from S. For each x in R the claim "x holds z" is false:
  s (s - 1) claims within S, s (n - s) from outside.

These are the numbers above, so the shares and levels are the same, with one difference: a
verdict does not tell who is in S, hence not its size, nor whether x is: the levels are the
largest of all sizes and of both kinds. R, the answers with the verdict IN, is wrong, ever, with
probability at most delta once no verdict is open. Before that, IN says that nothing beats the
answer by more than epsilon, and OUT that it is dominated, or that the rival holds it.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints
from psips.kernels.belief import Belief
from psips.kernels.certificates import dominance, escape, log_volume, looked_along
from psips.kernels.codes import AIM, COUNT, GOAL
from psips.kernels.front import MEMBERS, Front
from psips.kernels.grids import as_array, as_grid, floats, ints
from psips.kernels.halfspace import is_tolerant
from psips.kernels.jit import bare, kernel, part
from psips.kernels.model import Model

OPEN, IN, OUT = range(3)
HINTED, AGAINST = range(2)  # places of an open answer, and of its rival, in a hint
WITHIN, OUTSIDE, ESCAPES = range(3)  # kinds of claims
SHARE_WITHIN = 0.6  # of delta, where there are all three kinds; escapes have the rest
SHARE_OUTSIDE = 0.05


@bare
def share(kind: int, n: int, s: int) -> float:
    """Part of delta that a kind of claims has if the Pareto set has ``s`` answers."""
    outside = SHARE_OUTSIDE if s < n else 0.0
    within = 0.0 if s < 2 else SHARE_WITHIN if s < n else 1.0
    if kind == WITHIN:
        return within
    return outside if kind == OUTSIDE else 1.0 - within - outside


@bare
def level(
    model: Model, rows: int, kind: int, least: int, most: int, log_inverse: float
) -> float:
    """Evidence that a claim needs with ``rows`` directions and sets of such sizes."""
    m = model.d + 0.25 * (rows - model.d)
    if not model.unstructured:
        return math.log(m) + log_inverse
    n = model.n
    claims = 1.0
    for s in range(max(least, 2 if kind == WITHIN else 1), min(most, n - (kind != WITHIN)) + 1):
        number = s * (s - 1.0) if kind == WITHIN else (n - s) * m
        if kind == OUTSIDE:
            number = s * (n - s)
        claims = max(claims, number / share(kind, n, s))
    return math.log(claims) + log_inverse


@part
def judge_answers(
    model: Model,
    belief: Belief,
    front: Front,
    Y: Floats,
    log_inverse: float,
    verdict: Ints,
    rival: Ints,
    strength: Floats,
) -> Floats:
    """Settle what can be settled; return the levels by kind (3,) that open claims are held to.

    ``verdict`` has what is known otherwise, and OPEN. OUT: ``rival`` holds the answer; it
    is -1 if that was known otherwise. OPEN and no candidate: ``rival`` is the candidate nearest
    to dominating it. Else the answer it is hardest to tell from. ``strength`` is E.
    """
    n, rows = model.n, Y.shape[0]
    volume = log_volume(model, belief)
    members = front.members[: front.size[MEMBERS]]
    size = 0  # answers that will not be out
    for z in range(n):
        if verdict[z] == IN or (front.inside[z] and verdict[z] == OPEN):
            size += 1
    # No open answer but a candidate is held to less than this, whatever else is settled.
    faint = level(model, rows, WITHIN, size + 1, size + 1, log_inverse)
    inner = floats(n)  # evidence of "x dominates z" for x in I, and which
    by = ints(n)
    weighed = ints(n)  # whether x is one of these
    low = 0
    high = n
    for z in range(n):
        strength[z] = 0.0
        rival[z] = -1
        if verdict[z] == IN:
            low += 1
        elif verdict[z] == OUT:
            high -= 1
        elif not front.inside[z]:
            rival[z] = front.keeper[z]
            for x in members:
                found = dominance(model, belief, Y, x, z, volume, faint)
                if found > strength[z]:
                    strength[z] = found
                    rival[z] = x
    levels = floats(3)
    tolerant = is_tolerant(model.slack, model.give, model.control)
    while True:
        for kind in range(3):
            least = 0 if tolerant else low
            most = n if tolerant else high
            levels[kind] = level(model, rows, kind, least, most, log_inverse)
        before = high - low
        for x in members:
            if verdict[x] == IN and weighed[x] == 0 and not tolerant:
                weighed[x] = 1
                for z in range(n):
                    if verdict[z] == OPEN and not front.inside[z]:
                        found = dominance(model, belief, Y, x, z, volume, faint)
                        if found > inner[z]:
                            inner[z] = found
                            by[z] = x
        either = max(levels[WITHIN], levels[OUTSIDE])
        for z in range(n):
            if verdict[z] == OPEN and not front.inside[z]:
                if inner[z] >= levels[WITHIN]:
                    rival[z] = by[z]
                if inner[z] >= levels[WITHIN] or strength[z] >= either:
                    verdict[z] = OUT
                    high -= 1
        for z in members:
            if verdict[z] == OPEN:
                strength[z] = np.inf
                for x in range(n):
                    if x != z and (tolerant or verdict[x] != OUT):
                        found = escape(model, belief, Y, z, x, volume, levels[ESCAPES])
                        if found < strength[z]:
                            strength[z] = found
                            rival[z] = x
                if strength[z] >= levels[ESCAPES]:
                    verdict[z] = IN
                    low += 1
        if high - low == before:
            return levels


@kernel
def settle_answers(
    model: Model, belief: Belief, front: Front, log_inverse: float, known: Ints
) -> tuple[Ints, Ints]:
    """Verdicts and rivals for callers in Python, see `judge_answers`.

    ``known`` (n,) are verdicts known otherwise, or OPEN.
    """
    verdict, rival, strength = ints(model.n), ints(model.n), floats(model.n)
    before = as_grid(known)
    for z in range(model.n):
        verdict[z] = before[z]
    Y = looked_along(model)
    judge_answers(model, belief, front, Y, log_inverse, verdict, rival, strength)
    return as_array(verdict), as_array(rival)


@part
def all_settled(
    model: Model, belief: Belief, front: Front, log_inverse: float, verdict: Ints, hint: Floats
) -> bool:
    """Whether no verdict is open; ``hint`` (2,) remembers an answer that was, and its rival.

    ``verdict`` has what is known otherwise, IN for candidates only and OUT for others only,
    and OPEN; it is changed.
    """
    Y = looked_along(model)
    z, x = int(hint[HINTED]), int(hint[AGAINST])
    if x >= 0 and z != x and verdict[z] == OPEN:
        size = front.size[MEMBERS]
        volume = log_volume(model, belief)
        if front.inside[z]:
            L = level(model, Y.shape[0], ESCAPES, size - 1, size - 1, log_inverse)
            weak = front.inside[x] and escape(model, belief, Y, z, x, volume, L) < L
        else:
            L = level(model, Y.shape[0], WITHIN, size + 1, size + 1, log_inverse)
            weak = True
            for k in range(size):
                if dominance(model, belief, Y, front.members[k], z, volume, L) >= L:
                    weak = False
                    break
        if weak:
            return False
    rival = ints(model.n)
    strength = floats(model.n)
    judge_answers(model, belief, front, Y, log_inverse, verdict, rival, strength)
    weakest = -1
    for z in range(model.n):
        if verdict[z] == OPEN and (weakest < 0 or strength[z] < strength[weakest]):
            weakest = z
    if weakest < 0:
        return True
    hint[HINTED] = weakest
    hint[AGAINST] = rival[weakest]
    return False


@part
def reached(
    model: Model, belief: Belief, front: Front, log_inverse: float, goal: Ints, hint: Floats
) -> bool:
    """Whether enough answers are IN (COUNT), or one is not OPEN (SETTLE); or none is.

    ``hint`` (2,) is set to an open answer that it takes, and its rival: of candidates the one
    that would be proven soonest if its evidence went on growing as it has.
    """
    verdict, rival, strength = ints(model.n), ints(model.n), floats(model.n)
    Y = looked_along(model)
    levels = judge_answers(model, belief, front, Y, log_inverse, verdict, rival, strength)
    proven = unsettled = 0
    wanted, soonest = -1, np.inf
    for z in range(model.n):
        if verdict[z] == IN:
            proven += 1
        elif verdict[z] == OPEN:
            unsettled += 1
            if front.inside[z] and rival[z] >= 0:
                wait = (levels[ESCAPES] - strength[z]) / (strength[z] + 1.0)
                if model.unstructured:
                    wait /= 1.0 / belief.N[z] + 1.0 / belief.N[rival[z]]
                if wait < soonest:
                    wanted, soonest = z, wait
    if goal[GOAL] != COUNT:
        wanted = goal[AIM]
    hint[AGAINST] = -1.0
    if wanted >= 0:
        hint[HINTED], hint[AGAINST] = wanted, rival[wanted]
    if goal[GOAL] == COUNT:
        return proven >= goal[AIM] or unsettled == 0
    return verdict[wanted] != OPEN
