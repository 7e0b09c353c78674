"""How an experiment came to be where it is: its results in order, looked at now and then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from psips._core import spans
from psips.aliases import Floats, Ints
from psips.errors import InputError, quote
from psips.input.seeds import Key
from psips.problem import Problem
from psips.problem.exact import with_facts, without
from psips.rules import STOPPING, Rules
from psips.rules.evidence import Curve
from psips.session import Session
from psips.session.engine import Engine
from psips.session.engines import engine_for
from psips.session.mixed import MixedEngine
from psips.session.status import settled
from psips.state.belief import empty_noise_estimate
from psips.state.model import Model
from psips.study import Study

LOOKS = 100  # of a long history this many moments are looked at
FEW_LOOKS = 30  # the same, beyond a hundred answers, where a look takes 0.1 s


class History(NamedTuple):
    """Results in the order in which they were told, as they count now."""

    problem: Problem
    rules: Rules
    key: Key
    arms: Ints  # (N,) positions in ``problem.arms``
    values: Floats  # (N, d) in the user's orientation
    items: Ints | None = None  # (N,) which of them share an item
    exact: tuple[tuple[int, ...], Floats] | None = None  # metrics without noise, and values

    def looks(self, first: int, most: int = LOOKS) -> Ints:
        """Return at most ``most`` numbers of results, evenly from ``first`` to the last."""
        last = len(self.arms)
        return np.unique(np.linspace(min(first, last), last, most).astype(np.int64))

    @property
    def left(self) -> tuple[Problem, Model]:
        """What exact metrics leave of the problem, and its model."""
        columns, values = self.exact or ((), self.values)
        left = without(self.problem, columns)
        return left, with_facts(left.facts, left.model, values)

    @property
    def known(self) -> int:
        """Number of results from which on there are estimates; 0 if there are none."""
        model = self.problem.model
        places, first = np.unique(self.arms, return_index=True)
        if model.unstructured:
            return int(first.max()) + 1 if len(places) == model.K else 0
        if not len(model.first):
            return min(1, len(self.arms))
        pulls = np.zeros(model.K)
        for place in np.sort(first):
            pulls[self.arms[place]] = 1.0
            if spans(model.frame, pulls):
                return int(place) + 1
        return 0


class Evidence(NamedTuple):
    """What a stopping rule compares, look by look.

    ``value`` against ``threshold``; ``curve`` says what they are. Rules that count draws have
    ``level``, the probability at which they expect to stop.
    """

    curve: Curve
    results: Ints
    value: Floats
    threshold: Floats
    level: Floats | None


def history_of(source: Session | Study) -> History:
    """Return the results of a session or study in their order, without the withdrawn ones.

    Examples
    --------
    >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
    >>> session = Session(problem, rng=1)
    >>> receipt = session.tell("B", 3.0)
    >>> history_of(session).arms.tolist()
    [1]
    """
    if isinstance(source, Study):
        state = source.state
        problem, session = state.problem, state.session
        counted = [result for result in state.ledger.results if result.counts]
        arms = np.array([problem.arm_index(result.arm) for result in counted], np.int64)
        values = np.array([r.values for r in counted], dtype=np.float64).reshape(-1, problem.d)
    elif isinstance(source, Session):
        problem, session = source.problem, source
        arms, values = source.told
        if len(arms) != source.results:
            raise InputError(
                f"this session has {source.results} results, but the order of only "
                f"{len(arms)} is known: a snapshot keeps what they amount to. A study keeps all"
            )
    else:
        raise InputError(f"expected a Session or a Study, got {quote(source)}")
    engine = session.engine
    items = engine.data.where if isinstance(engine, MixedEngine) else None
    exact = session.exact.columns, session.exact.values.copy()
    return History(problem, session.rules, engine.key, arms, values, items, exact)


def pulls_over_time(history: History, most: int = LOOKS) -> tuple[Ints, Ints]:
    """Return numbers of results (T,), and how many of each arm were among them (T, K)."""
    looks = history.looks(0, most)
    order = np.argsort(history.arms, kind="stable")
    ends = np.cumsum(np.bincount(history.arms, minlength=history.problem.K))
    of_each = np.split(order, ends[:-1])
    return looks, np.stack([np.searchsorted(places, looks) for places in of_each], axis=1)


def evidence_over_time(history: History, most: int | None = None) -> Evidence:
    """Judge the first results of a history as the stopping rule in use does.

    Each look takes the results as if they had been told together.
    """
    rule = STOPPING[history.rules.stopping]
    if not history.known:
        nothing = np.zeros(0)
        return Evidence(rule.curve, np.zeros(0, np.int64), nothing, nothing, None)
    usual = LOOKS if history.problem.n <= 100 else FEW_LOOKS
    looks = history.looks(history.known, usual if most is None else most)
    curve, delta = rule.curve, history.rules.delta
    left, _ = history.left
    rows = [
        (look, *curve.read(engine, partial(settled, left, engine), delta))
        for look, engine in zip(looks.tolist(), _replay(history, looks), strict=True)
        if engine.ready  # not before the noise is known, if it is estimated
    ]
    at, value, threshold, level = np.array(rows).reshape(-1, 4).T
    return Evidence(
        *(curve, at.astype(np.int64), value, threshold),
        None if np.isnan(level).all() else level,
    )


def _replay(history: History, looks: Ints) -> Iterator[Engine]:
    """Yield a run that knows the first results, judged, for each number of them."""
    problem, model = history.left
    known = history.rules
    alone = not STOPPING[known.stopping].partner  # else it needs a sampling rule's own state
    stopping = known.stopping if alone else "never"
    # How arms were chosen does not matter here, nor how draws are made: their law is the same.
    rules = replace(known, sampling="uniform", stopping=stopping, draws="first-hit")
    rules = replace(rules, tuning=replace(known.tuning, eta=1.0))
    program = rules.program(problem)
    x = history.problem.inward(history.problem.compared(history.values))
    if problem.facts is not None:
        x = np.ascontiguousarray(x[:, problem.facts.rest])
    by_one = (
        len(empty_noise_estimate(model).C) > 0
    )  # the noise is worked out from single results
    if STOPPING[known.stopping].curve.retold or by_one:  # or: what came after the prediction
        yield from _retold(engine_for(model)(model, program, history.key), history, x, looks)
        return
    N, sums = np.zeros(model.K), np.zeros((model.K, model.d))
    done = 0
    for look in looks.tolist():
        arms, rows = history.arms[done:look], x[done:look]
        N += np.bincount(arms, minlength=model.K)
        np.add.at(sums, arms, rows)
        done = look
        engine = Engine(model, program, history.key, problem.prior_arrays)
        engine.know(N, sums if model.unstructured else model.A.T @ sums, sums)
        engine.judge()
        yield engine


def _retold(engine: Engine, history: History, x: Floats, looks: Ints) -> Iterator[Engine]:
    """Yield a run after each number of results, judged after every one."""
    wanted = set(looks.tolist())
    for told, arm in enumerate(history.arms.tolist(), start=1):
        if isinstance(engine, MixedEngine) and history.items is not None:
            engine.learn(arm, x[told - 1], int(history.items[told - 1]))
        else:
            engine.learn(arm, x[told - 1])
        engine.judge()
        if told in wanted:
            yield engine
