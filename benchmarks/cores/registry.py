"""The list of cases, and how one is added."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from cores.runs import Found, played, told

from psips.problem import Problem
from psips.problem.instances import Instance
from psips.simulation.environments import environment_of


class Case(NamedTuple):
    """What is run, and with which seed."""

    name: str
    seed: int
    run: Callable[[int], Found]


CASES: dict[str, Case] = {}


def case(name: str, run: Callable[[int], Found]) -> None:
    assert name not in CASES, name
    CASES[name] = Case(name, zlib.crc32(name.encode()), run)


def play_case(name: str, made: Callable[[], Instance], **how: Any) -> None:
    """Add a simulated run of an instance; ``target`` may be "even"."""

    def run(seed: int) -> Found:
        one = made()
        return played(one.problem, environment_of(one), seed, **aimed(how, one.problem))

    case(name, run)


def told_case(name: str, made: Callable[[], Instance], way: Any = told, **how: Any) -> None:
    """Add a session that is told by hand."""

    def run(seed: int) -> Found:
        one = made()
        return dict(way(one.problem, environment_of(one), seed, **aimed(how, one.problem)))

    case(name, run)


def aimed(how: dict[str, Any], problem: Problem) -> dict[str, Any]:
    if how.get("sampling") == "oracle":
        w = 1.0 + np.arange(problem.K) % 3
        return {**how, "target": (w / w.sum()).tolist()}
    return how
