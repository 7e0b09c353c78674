"""Damaged snapshots of sessions, made from a number, and what they are put through.

``python tests/snapshots.py FIRST LAST STEP`` goes through the snapshots with these numbers, and
prints for each a line when it begins and one with how it ended, as JSON. `test_snapshots.py`
runs it in processes of its own, so that a crash of compiled code is seen, and named.
"""

from __future__ import annotations

import copy
import json
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from psips import Problem, Session
from psips.errors import InputError

SEED = 128
LONGEST = 500  # characters of a message
PATIENCE = 300.0  # CPU seconds after which a snapshot counts as a hang
VALUES: tuple[Any, ...] = (
    *(-1, 0, 1, 2, 3, 5, 12, 13, 64, 1000, -1000, 2**31, -(2**31), 2**62, 2**63, 10**30),
    *(0.5, -0.5, 1e-300, 1e16, 1e300, -1e300, float("nan"), float("inf"), -float("inf")),
    *(None, True, False, "", "x", "nan", "1.0", "inf", [], {}, [0], [[]], [None], {"x": 0}),
)


def _two(**more: Any) -> Problem:
    return Problem(
        **{"arms": ["A", "B", "C", "D"], "objectives": {"x": "max", "y": "min"}, **more}
    )


MEANS = [[0.0, 0.0], [1.0, 1.5], [2.0, 0.7], [0.5, 2.0]]
TIED = [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [0.0, 1.0]]
SIX = [[1, 0], [1, 1], [1, 2], [1, 3], [1, 4], [1, 5]]
UNIT = {"covariance": [1, 1]}
NAMES = [f"a{k}" for k in range(6)]
MADE: dict[str, Callable[[], tuple[Problem, dict[str, Any], int]]] = {
    "default": lambda: (_two(), {"budget": 900, "time_limit": "1h"}, 30),
    "at the start": lambda: (_two(), {}, 3),
    "known noise": lambda: (_two(**UNIT), {"sampling": "posterior"}, 60),
    "halves": lambda: (_two(**UNIT), {"stopping": "posterior"}, 60),
    "predicted": lambda: (_two(**UNIT), {"stopping": "predicted"}, 150),
    "certified": lambda: (_two(), {"goal": "2 optimal"}, 30),
    "tolerance": lambda: (_two(**UNIT, epsilon={"x": 0.7, "y": 0.7}), {}, 400),
    "control": lambda: (_two(control="A", epsilon={"x": "5%"}), {}, 40),
    "limits": lambda: (_two(limits=["x >= 0.5"]), {}, 30),
    "missing values": lambda: (_two(partial=True), {}, 40),
    "baseline": lambda: (_two(**UNIT), {"sampling": "track-and-stop", "stopping": "glr"}, 30),
    "items": lambda: (_two(items=True), {}, 40),
    "listed items": lambda: (_two(items=[f"q{i}" for i in range(30)]), {}, 40),
    "features": lambda: (_two(arms=NAMES, features=SIX, **UNIT), {}, 40),
    "features, estimated": lambda: (_two(arms=NAMES, features=SIX), {}, 40),
    "features, missing": lambda: (_two(arms=NAMES, features=SIX, partial=True), {}, 40),
    "exact": lambda: (
        _two(objectives={"x": "max", "size": {"direction": "min", "kind": "exact"}}),
        {},
        30,
    ),
    "repeats": lambda: (_two(), {}, 25),
}


def _tell(session: Session, name: str, rng: np.random.Generator, n: int) -> None:
    """Ask and tell, as someone would who measures; with a tolerance until a set has passed."""
    for _ in range(n):
        if session.exhausted or (n > 100 and "sets" in session.engine.snapshot()):
            return
        asked = session.ask()
        arm = session.problem.arm_index(asked)
        values = rng.normal((TIED if name == "tolerance" else MEANS)[arm % 4], 1.0)
        if name in ("exact", "repeats"):
            values[1] = 10.0 + arm
        if session.problem.partial and rng.random() < 0.2:
            values[0] = np.nan
        session.tell(asked, values)


@cache
def whole(name: str) -> str:
    """A snapshot of a session of this kind, as it should be."""
    problem, choices, n = MADE[name]()
    session = Session(problem, rng=1, **choices)
    _tell(session, name, np.random.default_rng(2), n)
    return json.dumps(session.snapshot())


def _places(rng: np.random.Generator, data: Any) -> tuple[Any, Any]:
    """A place in nested data: what holds it, and its key."""
    holder, key = None, None
    here = data
    while isinstance(here, dict | list) and here:
        if holder is not None and rng.random() < 0.05:
            break
        holder = here
        keys = list(here) if isinstance(here, dict) else range(len(here))
        key = keys[int(rng.integers(len(keys)))]
        here = holder[key]
    return holder, key


def _damage(rng: np.random.Generator, data: dict[str, Any]) -> None:
    """Change one place: another value, none, one more, one after the other."""
    part: Any = data if rng.random() < 0.15 else data["engine"]
    if rng.random() < 0.1 and "items" in data:
        part = data["items"]
    holder, key = _places(rng, part)
    if holder is None:  # nothing is left there
        return
    here, way = holder[key], rng.random()
    if way < 0.1:
        del holder[key]
    elif way < 0.2 and isinstance(here, list):
        here.append(copy.deepcopy(here[0]) if here else 0)
    elif way < 0.3 and isinstance(here, int | float):
        holder[key] = here + int(rng.choice([-1, 1]))
    elif way < 0.4 and isinstance(holder, list):
        other = int(rng.integers(len(holder)))
        holder[key], holder[other] = holder[other], holder[key]
    elif way < 0.5 and isinstance(here, bool):
        holder[key] = not here
    else:
        holder[key] = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])


def damaged(number: int) -> tuple[str, dict[str, Any]]:
    """The snapshot with this number, and of what kind of session it was."""
    rng = np.random.default_rng([SEED, number])
    name = list(MADE)[number % len(MADE)]
    data: dict[str, Any] = json.loads(whole(name))
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        _damage(rng, data)
        if not isinstance(data.get("engine"), dict) or not data["engine"]:
            break
    return name, data


def go_on(name: str, data: dict[str, Any]) -> None:
    """Restore a session, and use it."""
    session = Session.restore(data)
    assert str(session.status())
    _tell(session, name, np.random.default_rng(3), 6)
    assert str(session.status())
    json.dumps(session.snapshot())


def ending(number: int) -> dict[str, Any]:
    """Put one snapshot through, and say how that ended."""
    name, data = damaged(number)
    wrong = refused = ""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            go_on(name, data)
        except InputError as error:
            refused = str(error)
        except Exception:
            wrong = traceback.format_exc()[-3000:]
    if len(refused) > LONGEST:
        wrong = f"a message of {len(refused)} characters: {refused[:200]} ..."
    seconds = time.process_time() - begin
    return {"name": name, "refused": refused, "wrong": wrong, "seconds": seconds}


def main(first: int, last: int, step: int) -> None:
    """Go through the snapshots from ``first`` to before ``last``, one in ``step``."""
    unraised: list[str] = []
    sys.unraisablehook = lambda hook: unraised.append(f"{hook.exc_value!r} in {hook.object!r}")
    for number in range(first, last, step):
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)  # its signal ends the process
        print(json.dumps({"number": number}), flush=True)
        found = ending(number)
        if unraised:  # an index out of bounds, where these are checked
            found["wrong"] = found["wrong"] or f"in compiled code: {unraised[0]}"
            unraised.clear()
        print(json.dumps({"number": number, **found}), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
