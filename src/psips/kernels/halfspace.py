"""The half-space (z, x, c): "z is above x in objective c", up to an offset.

A point lies in it where the lead (z - x)(c) + slack[c] is at least 0. All half-spaces of a
problem have the same ``slack`` (d,): zeros, or the negative of a tolerance, "z is above x by
more than epsilon_c". The alternative of a set S is made of them: "i below j" lies in all
(j, i, c); "z escapes" lies, for each x in S, in some (z, x, c).

Without a slack, x holds z back where x dominates z, and i is below j where j dominates i;
with one, "holds" is weaker than domination, "beats" is stronger, and neither is transitive:
an answer j outside S can beat a member i though the member that holds j back does not. So
j runs over the members alone where there is no slack, and over all answers where there is.

A metric without noise is no coordinate of a point: it is the same at all of them. Its values
are ``facts`` (n, e), with tolerances ``give`` (e,). Where z is above x in one of them by more,
x never holds z back; where j is below i in one of them, i is never below j. Otherwise they have
no say: equal values are real ties, in which nothing escapes and nothing is spared.
"""

from __future__ import annotations

from psips.aliases import Floats, Ints
from psips.kernels.jit import bare

PAIR, ESCAPE = range(2)  # kinds of pieces: "i below j", "z escapes"


@bare
def is_tolerant(slack: Floats, give: Floats, control: int) -> bool:
    """Whether there is a tolerance, be it a number or a part of the ``control``'s mean."""
    some = control >= 0
    for e in range(give.shape[0]):
        some = some or give[e] != 0.0
    for c in range(slack.shape[0]):
        some = some or slack[c] != 0.0
    return some


@bare
def lead(values: Floats, slack: Floats, z: int, x: int, c: int) -> float:
    """By how much the point with ``values`` (n, d) lies in the half-space (z, x, c)."""
    return values[z, c] - values[x, c] + slack[c]


@bare
def may_hold(facts: Floats, give: Floats, x: int, z: int) -> bool:
    """Whether x can hold z back: in no exact metric is z above x by more than the tolerance."""
    for e in range(give.shape[0]):  # noqa: SIM110
        if facts[z, e] - facts[x, e] > give[e]:
            return False
    return True


@bare
def may_beat(facts: Floats, give: Floats, j: int, i: int) -> bool:
    """Whether i can be below j: j is above i by more than the tolerance in all exact metrics.

    Where there is no tolerance, j may be level.
    """
    for e in range(give.shape[0]):
        ahead = facts[j, e] - facts[i, e]
        if ahead < 0.0 or (give[e] > 0.0 and ahead <= give[e]):
            return False
    return True


@bare
def holds(values: Floats, slack: Floats, x: int, z: int) -> bool:
    """Whether x holds z back: in no objective does z lead, and it is not level in all."""
    behind = False
    for c in range(slack.shape[0]):
        ahead = lead(values, slack, z, x, c)
        if ahead > 0.0:
            return False
        if ahead < 0.0:
            behind = True
    return behind


@bare
def held(
    values: Floats, slack: Floats, facts: Floats, give: Floats, members: Ints, z: int
) -> bool:
    """Whether a member holds z back."""
    for x in members:  # noqa: SIM110
        if may_hold(facts, give, x, z) and holds(values, slack, x, z):
            return True
    return False


@bare
def beats(values: Floats, slack: Floats, j: int, i: int) -> bool:
    """Whether i is below j: j leads, or is level, in every objective, and not level in all."""
    above = False
    for c in range(slack.shape[0]):
        ahead = lead(values, slack, j, i, c)
        if ahead < 0.0:
            return False
        if ahead > 0.0:
            above = True
    return above
