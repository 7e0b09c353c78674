"""Checks of a stored state: its indices must not point outside it.

The core checks every index, and treats a wrong one as a bug. States from files are checked
here, once, so that a damaged snapshot ends in one sentence.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psips._core import COVER_DEPTH as DEPTH
from psips.state.belief import RESULTS, SPANNED, Belief
from psips.state.records import Record
from psips.state.run import DROPPED, HINT, Learner, Run
from psips.state.search import (
    ANSWER,
    CONSTRAINTS,
    ESCAPE,
    GROUP,
    GROUPS,
    KIND,
    LEAVING,
    LIVE,
    MEMBERS,
    OBJECTIVE,
    RECORDS,
    RIVAL,
    STAGE,
    Cover,
    Draw,
    Front,
)

# What a state can raise that is not what was stored, whoever made it.
UNREADABLE = (
    *(KeyError, TypeError, ValueError, IndexError),
    *(AttributeError, OverflowError, RecursionError),
)


# Members of the state that had another name in earlier formats of snapshots.
_NAMES_OF_6 = {
    "scatter": "noise_estimate",
    "keeper": "dominator",
    "rival": "baseline",
    "blocks": "items",
    "block_of": "place_of",
}
FORMER_NAMES: dict[Any, dict[str, str]] = {6: _NAMES_OF_6}


def with_present_names(state: Any, names: dict[str, str]) -> Any:
    """Return a stored state with the names that its members have now.

    Examples
    --------
    >>> with_present_names({"front": {"keeper": [0]}, "key": [1]}, {"keeper": "dominator"})
    {'front': {'dominator': [0]}, 'key': [1]}
    """
    if not isinstance(state, dict):
        return state
    return {names.get(key, key): with_present_names(part, names) for key, part in state.items()}


def require(holds: Any, what: str) -> None:
    """Raise a ValueError, with what is wrong, unless it holds."""
    if not holds:
        raise ValueError(what)


def within(places: Any, end: int, first: int = 0) -> bool:
    """Whether all are indices of an array of this length; -1 may say that there is none."""
    places = np.asarray(places)
    return bool(((places >= first) & (places < end)).all())


def reason(error: Exception) -> str:
    """Say what is wrong with a state that could not be read."""
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    return str(error)[:200]


def check_state(run: Run, hinted: bool, *sets: list[int]) -> None:
    """Raise a ValueError if what was stored would let a run read or write elsewhere.

    ``hinted`` says that the outcome ends with answers, ``sets`` are sets of answers.
    """
    search = run.search
    n, d = search.model.n, search.model.d
    _check_numbers("belief", search.belief, ("pulls", "N", "B", "theta", "V", "F"))
    gains = ("gains", "gap", "played", "pending", "estimate", "point")
    _check_numbers("learner", run.learner, gains)
    _check_counts(search.belief, run.learner)
    _check_front(search.front, n)
    _check_cover(search.cover, n, d)
    _check_nearest(search.draw, n, d)
    require(within(run.baseline.standing, DROPPED + 1), "an arm's standing is unknown")
    for one in sets:
        require(within(one, n) and len(set(one)) == len(one), f"{one} is no set of answers")
    if hinted:
        hint = run.outcome[HINT:]
        require(within(hint, n, -1), "the answer that is open is none of the answers")


def _check_numbers(name: str, part: Record, fields: tuple[str, ...]) -> None:
    for field in fields:
        finite = np.isfinite(getattr(part, field)).all()
        require(finite, f"{name}.{field} is not all finite")


def _check_counts(belief: Belief, learner: Learner) -> None:
    told = int(belief.tally[RESULTS])
    require((belief.pulls >= 0.0).all(), "an arm has fewer than 0 results")
    require((belief.pulls <= belief.N).all(), "an arm has fewer results than were told")
    require(belief.pulls.sum() == told, f"the arms' results do not add up to {told}")
    require(belief.tally[SPANNED] in (0, 1), "belief.tally is not what it was")
    require((learner.pending >= 0.0).all(), "fewer than 0 results of an arm are awaited")


def _check_front(front: Front, n: int) -> None:
    members, live = (int(front.size[k]) for k in (MEMBERS, LIVE))
    require(0 <= members <= n and 0 <= live <= n - members, "no such number of answers")
    for places in (front.members, front.outside, front.dominator):
        require(within(places, n), "the candidate set has none of the answers")
    listed = np.sort(front.members[:members])
    require(np.array_equal(listed, np.flatnonzero(front.inside)), "two candidate sets")
    require(not front.inside[front.outside[:live]].any(), "an answer is in the set and not")


def _check_cover(cover: Cover, n: int, d: int) -> None:
    shape, terms = cover.shape, cover.terms
    records = int(cover.life[RECORDS])
    require(within(cover.life[STAGE], LEAVING + 1), "the cover's stage is unknown")
    require(0 <= records <= len(cover.r), f"there is no room for {records} records")
    require(within(shape[:, ANSWER], n), "a record is of none of the answers")
    require(within(shape[:, [CONSTRAINTS, GROUPS]], DEPTH + 1), "a record is too long")
    require(within(shape[:, KIND], ESCAPE + 1), "a record is of an unknown kind")
    require(within(terms[..., RIVAL], n), "a record's rival is none of the answers")
    require(within(terms[..., OBJECTIVE], d), "a record's objective is none")
    used, group = shape[:records], terms[:records, :, GROUP]
    held = np.arange(group.shape[1]) < used[:, [CONSTRAINTS]]
    for k in range(group.shape[1]):
        needed = k < used[:, GROUPS]
        there = ((group == k) & held).any(axis=1)
        require((there == needed).all(), "a record's groups are not those of its constraints")


def _check_nearest(draw: Draw, n: int, d: int) -> None:
    """Check the piece of the alternative that was nearest at the last look."""
    answer, length = int(draw.nearest[ANSWER]), int(draw.nearest[CONSTRAINTS])
    kind = int(draw.nearest[KIND])
    require(within(answer, n, -1), "the nearest piece is of none of the answers")
    require(within(kind, ESCAPE + 1, -1), "the nearest piece is of an unknown kind")
    fits = within(length, len(draw.nearest_xs) + 1)
    require(fits or answer < 0, "the nearest piece has another length")
    require(within(draw.nearest_xs, n), "a rival of the nearest piece is none of the answers")
    require(within(draw.nearest_cs, d), "an objective of the nearest piece is none")
