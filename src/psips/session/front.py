"""The front of a problem as pictures show it: options with their marks, in the user's units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psips.pictures.front import MARKS, PROVEN_DOMINATED, Bound, Front, Metric, Option, title_of
from psips.problem import Problem

if TYPE_CHECKING:
    from psips.session.status import Status

# What the kinds of options are once the set is claimed, whether or not it is proven
CLAIMED = (
    "in the set, proven optimal",
    "in the set, as declared at the stop",
    "not in the set, as declared at the stop",
    "proven not optimal",
)
# .. with a tolerance other words are true of what is proven
IN, OUT = "proven optimal", "proven not optimal"


def front_of(problem: Problem, known: Status) -> Front:
    """Return what a picture of the front shows."""
    table = known.answers
    assert known.covariances is not None
    means = np.column_stack([table[f"{o} estimate"] for o in problem.labels]).tolist()
    errors = np.column_stack([table[f"{o} se"] for o in problem.labels]).tolist()
    marks = marks_of(known)
    labels = [label_of(known, mark) for mark in range(len(MARKS))]
    candidates = table["candidate"].tolist()
    metrics = [
        Metric(name, title_of(label, direction), 1 if sign > 0 else -1)
        for name, label, direction, sign in zip(
            problem.objectives, problem.labels, problem.directions, problem.signs, strict=True
        )
    ]
    bounds = [
        Bound(one.metric, one.bound, one.sign < 0, one.broken(problem.objectives[one.metric]))
        for one in problem.limits
        if not one.factor
    ]
    options = [
        Option(
            place,
            name,
            tuple(means[place]),
            tuple(errors[place]),
            known.covariances[place],
            marks[place],
            labels[marks[place]],
            candidates[place],
        )
        for place, name in enumerate(problem.answers)
    ]
    return Front(tuple(metrics), tuple(options), tuple(bounds), bool(problem.limits))


def marks_of(known: Status) -> list[int]:
    """Return which of `MARKS` each option has."""
    rows = zip(known.answers["candidate"], known.answers["verdict"], strict=True)
    return [_mark(candidate, verdict) for candidate, verdict in rows]


def _mark(candidate: bool, verdict: str) -> int:
    if verdict == "out":
        return PROVEN_DOMINATED
    if not candidate:
        return 2
    return 0 if verdict == "in" else 1


def label_of(known: Status, mark: int) -> str:
    """Say what one of `MARKS` means: after a stop without a goal the set is claimed."""
    text = CLAIMED[mark] if known.stopped and not known.goal else MARKS[mark].label
    if known.tolerated is not None:
        text = text.replace(IN, "proven: may be in")
        text = text.replace(OUT, "proven: may be left out")
    return text
