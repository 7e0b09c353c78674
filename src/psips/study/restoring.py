"""Checks of a cached state: it must fit its ledger, and point at nothing outside itself."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from psips.aliases import Ints
from psips.kernels.cover import (
    ANSWER,
    CONSTRAINTS,
    DEPTH,
    GROUP,
    GROUPS,
    KIND,
    LEAVING,
    OBJECTIVE,
    RECORDS,
    RIVAL,
    STAGE,
)
from psips.kernels.front import LIVE, MEMBERS
from psips.kernels.halfspace import ESCAPE
from psips.problem import Problem
from psips.session.engine import Engine
from psips.study.ledger import Ledger


def fits(problem: Problem, engine: Engine, ledger: Ledger) -> bool:
    """Whether a run can go on safely, and knows as many results of each arm as count."""
    front, cover, n = engine.front, engine.cover, engine.model.n
    members, live = (int(front.size[k]) for k in (MEMBERS, LIVE))
    records = int(cover.life[RECORDS])
    counted = [problem.arm_index(result.arm) for result in ledger.results if result.counts]
    known = np.bincount(np.array(counted, np.int64), minlength=problem.K)
    shape, terms = cover.shape, cover.terms
    return (
        np.array_equal(engine.belief.pulls, known)
        and engine.results == len(counted)
        and 0 <= members <= n
        and 0 <= live <= n - members
        and 0 <= cover.life[STAGE] <= LEAVING
        and 0 <= records <= len(cover.r)
        and _within(front.members, n)
        and _within(front.outside, n)
        and _within(front.keeper, n)
        and _within(shape[:, ANSWER], n)
        and _within(shape[:, CONSTRAINTS], DEPTH + 1)
        and _within(shape[:, GROUPS], DEPTH + 1)
        and _within(shape[:, KIND], ESCAPE + 1)
        and _within(terms[..., RIVAL], n)
        and _within(terms[..., OBJECTIVE], engine.model.d)
        and _within(terms[..., GROUP], DEPTH)
        and _finite(engine)
    )


def _within(places: Ints, end: int) -> bool:
    return places.size == 0 or (int(places.min()) >= 0 and int(places.max()) < end)


def _finite(engine: Engine) -> bool:
    belief = engine.belief
    return all(np.isfinite(part).all() for part in (belief.N, belief.B, belief.theta))


@contextmanager
def no_garbage() -> Iterator[None]:
    """Keep the garbage collector out: with 100,000 results it takes 2/3 of the time."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()
