"""What a run does and says, as plain data in which floats are hexadecimal: nothing is rounded.

Runs are seen through what people call (`Session`, `play`); of an engine only what it says about
its last judgement is looked at, and left out where a core has it no more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from psips.input.seeds import draw_key, generator
from psips.problem import Problem
from psips.rules import STOPPING
from psips.session import Session
from psips.session.verdicts import verdicts_of
from psips.simulation import play
from psips.simulation.environments import Environment

LOOKS = (10, 20, 40, 80, 160, 320, 640, 1280, 2560)  # results at which a run is looked at
DEEP = 60  # answers up to which a status is asked for
Found = dict[str, Any]


def plain(value: Any) -> Any:
    """Return a value as data that JSON can hold, floats to the bit."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value).hex()
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    return None if value is None else str(value)


def table(frame: Any) -> Found:
    """Return a DataFrame by column."""
    return {str(name): plain(frame[name].tolist()) for name in frame.columns}


class Watched:
    """A session whose asks, evidence and looks are written down."""

    def __init__(self, session: Session, *, deep: bool = True) -> None:
        self.session = session
        self.deep = deep and session.problem.n <= DEEP
        self.asks: list[int] = []
        self.evidence: list[str] = []  # after each judgement
        self.looks: dict[str, Found] = {}

    def asked(self, arm: str) -> None:
        self.asks.append(self.session.problem.arm_index(arm))

    def judged(self) -> None:
        """Write down what the stopping rule says, and look around now and then."""
        session = self.session
        outcome = outcome_of(session)
        told = ("evidence", "threshold", "log_hit", "settled")
        self.evidence.append(" ".join(outcome.get(name, "-") for name in told))
        if session.results in LOOKS:
            self.looks[str(session.results)] = look(session)
        if session.results == LOOKS[2] and self.deep:
            self.looks["early, in full"] = deep_look(session)

    def found(self) -> Found:
        """Return all of it, and a look at the end."""
        end = look(self.session)
        if self.deep:
            end |= deep_look(self.session)
        return {
            "asks": self.asks,
            "judged": self.evidence,
            "looks": self.looks,
            "end": end,
        }


def outcome_of(session: Session) -> Found:
    """Return what the stopping rule says; how many draws it would take only if it draws."""
    outcome = getattr(session.engine, "outcome", None)
    if outcome is None:
        return {}
    found = dict(plain(outcome._asdict()))
    if not STOPPING[session.rules.stopping].draws:
        # With calibration "proven" the numba core reads it beyond the end of a table of one.
        del found["log_budget"]
    return found


def look(session: Session) -> Found:
    """Return what is known, as far as it takes no draws."""
    found = {
        "results": session.results,
        "spent": session.spent,
        "stopped": session.stopped,
        "done": session.done,
        "candidate_set": session.candidate_set,
        "pareto_set": session.pareto_set,
        "pending": sum(session.pending.values()),
        "claim": session.claim,
    }
    if session.problem.K <= DEEP:
        found["pulls"] = list(session.pulls.values())
        found["proven"] = session.proven
    return {**dict(plain(found)), "outcome": outcome_of(session)}


def deep_look(session: Session) -> Found:
    """Return what takes draws: probabilities, verdicts with what they lack, the status."""
    status = session.status()
    found = {
        "text": str(status),
        "answers": table(status.answers),
        "arms": table(status.arms),
        "evidence": plain(status.evidence),
        "change": plain(status.probability_of_change),
        "covariances": plain(status.covariances),
        "noise": None if status.noise is None else table(status.noise),
        "outlook": None if status.outlook is None else str(status.outlook),
        "verdicts": [plain(vars(one)) for one in verdicts_of(session.noisy, session.engine)],
    }
    for name in ("ratio", "change_probability"):
        call = getattr(session.engine, name, None)
        if call is not None and session.candidate_set and not session.exact.front:
            found[name] = plain(call())
    if session.problem.tolerance and session.candidate_set:
        found["smaller set"] = smaller_set(session)
    return found


def smaller_set(session: Session) -> Any:
    """Return members that the smaller set leaves out, its evidence and its threshold."""
    weigh = getattr(session.engine, "_weigh_smaller", None)
    aside = getattr(session.engine, "_scratch_search", None)
    return None if weigh is None or aside is None else plain(weigh(aside()))


# ------------------------------------------------------------------------- ways to run


def pulls_of(session: Session) -> Any:
    belief = getattr(session.engine, "belief", None)
    return np.array(list(session.pulls.values()) if belief is None else belief.pulls)


def played(
    problem: Problem,
    environment: Environment,
    seed: int,
    *,
    steps: int = 300,
    cap: int = 3000,
    deep: bool = True,
    **choices: Any,
) -> Found:
    """Simulate: some results one by one, to see who is pulled, then on to the cap."""
    rng = generator(seed)
    session = Session(problem, rng=rng, **choices)
    key = draw_key(rng)
    watched = Watched(session, deep=deep)
    before = pulls_of(session).copy()

    def watch(now: Session) -> None:
        after = pulls_of(now)
        for arm in np.flatnonzero(after != before):
            watched.asks += [int(arm)] * int(after[arm] - before[arm])
        if (after != before).any():
            watched.judged()
        before[:] = after

    play(session, environment, key, max_results=steps, watch=watch, every=1)
    found = {"steps": plain(session.results)}
    run = play(session, environment, key, max_results=max(cap, steps))
    taken = {name: value for name, value in vars(run).items() if name != "seconds"}
    return {**found, **watched.found(), "run": plain(taken)}


def values_of(x: Any, rng: np.random.Generator, holes: float) -> list[float | None]:
    """Return values as they are told, some missing."""
    values: list[float | None] = [float(v) for v in x]
    if holes:
        gone = rng.uniform(size=len(values)) < holes
        if not gone.all():
            values = [None if hole else v for v, hole in zip(values, gone, strict=True)]
    return values


def told(
    problem: Problem,
    environment: Environment,
    seed: int,
    *,
    cap: int = 250,
    batch: int = 0,
    restore: int = 0,
    holes: float = 0.0,
    cancel: int = 0,
    other: Callable[[int, Any], Any] | None = None,
    deep: bool = True,
    **choices: Any,
) -> Found:
    """Ask and tell by hand.

    With ``batch`` so many are asked for, and told in another order, the last of them after the
    next batch was asked for. ``restore``: after so many results the session is written down and
    read back. ``cancel``: every so many asks one is taken back. ``other``: makes other values.
    """
    rng = generator(seed)
    session = Session(problem, rng=rng, **choices)
    trial = environment.start(rng)
    watched = Watched(session, deep=deep)
    late: list[Any] = []
    while not session.done and session.results < cap:
        asked = session.ask(batch) if batch else [session.ask()]
        for one in asked:
            watched.asked(one.arm)
        if cancel and len(watched.asks) % cancel == 0:
            session.cancel(asked.pop())
        turn = [*late, *(asked[k] for k in rng.permutation(len(asked)))]
        late = [turn.pop()] if batch and len(turn) > 1 else []
        for one in turn:
            tell(session, trial, one, rng, holes, other)
            watched.judged()
            if restore and session.results == restore:
                session = Session.restore(json.loads(json.dumps(session.snapshot())))
                watched.session = session
    return watched.found()


def tell(
    session: Session,
    trial: Any,
    asked: Any,
    rng: np.random.Generator,
    holes: float,
    other: Callable[[int, Any], Any] | None,
) -> None:
    if session.items is not None:
        x = trial.environment.pull(asked, session.items.place(asked.item), trial.key)
    else:
        x = trial.pull(asked)
    if other is not None:
        x = other(session.problem.arm_index(asked), x)
    session.tell(asked, values_of(x, rng, holes))


def tabled(
    problem: Problem,
    environment: Environment,
    seed: int,
    *,
    rows: int = 120,
    tables: int = 3,
    deep: bool = True,
    **choices: Any,
) -> Found:
    """Tell tables of results that were not asked for, and ask after each."""
    import pandas as pd

    rng = generator(seed)
    session = Session(problem, rng=rng, **choices)
    trial = environment.start(rng)
    watched = Watched(session, deep=deep)
    for _ in range(tables):
        first = list(problem.arms) if not session.results else []
        arms = first + [str(a) for a in rng.choice(problem.arms, max(rows - len(first), 1))]
        values = np.array([trial.pull(arm) for arm in arms])
        frame = pd.DataFrame(values, columns=list(problem.objectives))
        frame.insert(0, "arm", arms)
        session.tell(frame)
        watched.judged()
        if not session.done:
            for ticket in session.ask(4):
                watched.asked(ticket.arm)
    return watched.found()


def finite(value: str) -> float:
    """Return the number that `plain` wrote, NaN if it is no number."""
    try:
        return float.fromhex(value)
    except (ValueError, OverflowError):
        return math.nan
