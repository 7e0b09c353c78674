"""Ask what to measure next, tell what came out, be told when to stop and what is optimal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from psips.compiling import watch
from psips.engine import FORMAT, Engine
from psips.errors import InputError, check_keys, quote
from psips.instances import Results
from psips.kernels.model import Floats
from psips.measurements import is_frame, read_results, read_values
from psips.problem import Problem
from psips.promises import short_promise
from psips.rules import Rules
from psips.seeds import Seed, draw_key
from psips.status import Status, status_of

if TYPE_CHECKING:
    import pandas as pd

watch()  # kernels are compiled when they are first called

_ABSENT = object()


class Session:
    """One adaptive experiment: it chooses arms, takes in results and judges them.

    A session never pulls an arm itself: whoever runs the experiment asks, measures and
    tells. What it does is a function of its key, of the asks made and of the results told,
    in their order.

    Parameters
    ----------
    problem : Problem
    rules : Rules, optional
        Or its fields by keyword: ``delta=0.05, sampling="posterior"``.
    rng : None, int, SeedSequence or Generator
        The session's key is its next two words of 64 bits; nothing else is drawn from it.
    target : (K,) weights, optional
        What the sampling rule ``oracle`` pulls by; for simulations.
    **choices
        Fields of `Rules`.

    Examples
    --------
    >>> problem = Problem(
    ...     objectives={"yield": "max", "cost": "min"}, covariance=[1, 1], arms=["A", "B", "C"]
    ... )
    >>> session = Session(problem, delta=0.05, rng=1)
    >>> session.ask(), session.ask(2)
    ('A', ['B', 'C'])
    >>> session.tell("A", {"yield": 9.0, "cost": 1.0})
    >>> session.tell("B", [1.0, 8.0])
    >>> session.tell("C", [7.0, 0.5])
    >>> session.candidate_set, session.stopped, session.pareto_set
    (('A', 'C'), False, None)
    """

    def __init__(
        self,
        problem: Problem,
        *,
        rules: Rules | None = None,
        rng: Seed = None,
        target: Any = None,
        **choices: Any,
    ) -> None:
        if not isinstance(problem, Problem):
            raise InputError(f"a session needs a Problem, got {quote(problem)}")
        self.problem = problem
        self.rules = read_rules(rules, choices)
        weights = None if target is None else _read_target(problem, target)
        program = self.rules.program(problem, weights)
        self.engine = Engine(problem.model, program, draw_key(rng), problem.prior_arrays)
        self._told: list[tuple[int, Floats]] = []  # as they were measured

    @overload
    def ask(self) -> str: ...

    @overload
    def ask(self, n: int) -> list[str]: ...

    def ask(self, n: int | None = None) -> str | list[str]:
        """Return the arm to measure next, or the next ``n``.

        Arms that were asked for and not yet told count as pulled in the choice of the next.
        Asking is allowed after the stop.

        Parameters
        ----------
        n : int, optional
            How many; a list is returned if it is given.
        """
        if n is None:
            return self.problem.arms[self.engine.choose()]
        _check_count("the number of arms to ask for", n)
        return [self.problem.arms[self.engine.choose()] for _ in range(n)]

    def tell(self, arm: Any, values: Any = _ABSENT) -> None:
        """Take in one result, or a table of many, and judge the evidence anew.

        Results need not have been asked for. They are checked before anything changes: a
        call that raises leaves the session as it was. A table is judged once, at its end.

        Parameters
        ----------
        arm : str or DataFrame
            A DataFrame has a column ``arm`` (or the arms' names as index) and a column per
            objective; its other columns are left alone.
        values : mapping by objective, sequence in their order, or number if there is one
            Left out with a DataFrame.
        """
        if is_frame(arm):
            if values is not _ABSENT:
                raise InputError("a table of results has its values in it: give nothing else")
            arms, rows = read_results(self.problem, arm)
        elif values is _ABSENT:
            raise InputError(
                f"tell needs an arm and its values, or a DataFrame; got {quote(arm)}"
            )
        else:
            index = self.problem.arm_index(arm)
            arms, rows = np.array([index]), read_values(self.problem, values)[None, :]
        if len(arms) == 0:
            return
        inward = self.problem.inward(self.problem.compared(rows))
        for index, row, x in zip(arms.tolist(), rows, inward, strict=True):
            self.engine.learn(index, x)
            self._told.append((index, row))
        self.engine.judge()

    def cancel(self, arm: object, n: int = 1) -> None:
        """Take back asks that will have no result: they no longer count as pending.

        Parameters
        ----------
        arm : str
            What was asked for and will not be told.
        n : int
            How many times.

        Examples
        --------
        >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
        >>> session = Session(problem, rng=1)
        >>> session.cancel(session.ask())
        >>> session.pending
        {'A': 0, 'B': 0}
        """
        index = self.problem.arm_index(arm)
        _check_count("the number of asks to take back", n)
        open_asks = int(self.engine.learner.pending[index])
        if n > open_asks:
            raise InputError(
                f"arm {quote(str(arm))} has {open_asks} asks without a result, so {n} cannot "
                "be taken back"
            )
        self.engine.learner.pending[index] -= n

    @property
    def pending(self) -> dict[str, int]:
        """Number of asks of each arm that were neither told nor taken back."""
        counts = self.engine.learner.pending.tolist()
        return {arm: int(n) for arm, n in zip(self.problem.arms, counts, strict=True)}

    @property
    def stopped(self) -> bool:
        """Whether the stopping rule holds for the results told so far."""
        return self.engine.stopped

    @property
    def candidate_set(self) -> tuple[str, ...]:
        """Pareto set of the estimates.

        Empty while an arm without features is unmeasured; with features, while the arms
        measured do not span them.
        """
        return tuple(self.problem.answers[a] for a in self.engine.candidate)

    @property
    def pareto_set(self) -> tuple[str, ...] | None:
        """The answer, once the session has stopped; None before."""
        return self.candidate_set if self.stopped else None

    @property
    def results(self) -> int:
        """Number of results told."""
        return self.engine.results

    @property
    def pulls(self) -> dict[str, int]:
        """Number of results told of each arm."""
        counts = self.engine.belief.pulls.tolist()
        return {arm: int(n) for arm, n in zip(self.problem.arms, counts, strict=True)}

    @property
    def told(self) -> Results:
        """Results in their order, since the session began or was restored."""
        arms = np.array([arm for arm, _ in self._told], np.int64)
        rows = np.array([row for _, row in self._told]).reshape(-1, self.problem.d)
        return Results(arms, rows)

    def to_frame(self) -> pd.DataFrame:
        """Return the results in their order as a DataFrame: arm, and a column per objective.

        Like `told`, since the session began or was restored.
        """
        import pandas as pd

        arms, values = self.told
        numbers = pd.RangeIndex(1, len(arms) + 1, name="result")
        frame = pd.DataFrame(values, columns=list(self.problem.objectives), index=numbers)
        frame.insert(0, "arm", [self.problem.arms[arm] for arm in arms])
        return frame

    def status(self) -> Status:
        """Return what is known now: estimates, candidate set and distance to stopping."""
        return status_of(
            self.problem, self.engine, self.candidate_set, short_promise(self.rules)
        )

    def snapshot(self) -> dict[str, Any]:
        """Return the whole session, random state included, as data that JSON can hold.

        Examples
        --------
        >>> import json
        >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
        >>> session = Session(problem, rng=1)
        >>> twin = Session.restore(json.loads(json.dumps(session.snapshot())))
        >>> twin.ask(5) == session.ask(5)
        True
        """
        target = self.engine.program.options.target.tolist()
        return {
            "format": FORMAT,
            "problem": self.problem.to_dict(),
            "rules": self.rules.to_dict(),
            "target": target or None,
            "engine": self.engine.snapshot(),
        }

    @classmethod
    def restore(cls, data: Mapping[str, Any]) -> Session:
        """Return the session that `snapshot` was taken of; it goes on to the bit."""
        if not isinstance(data, Mapping) or "format" not in data:
            raise InputError("this is not a snapshot of a session: it has no key 'format'")
        if data["format"] != FORMAT:
            raise InputError(
                f"the snapshot has format {data['format']!r}, but this version of psips reads "
                f"format {FORMAT}"
            )
        missing = [k for k in ("problem", "rules", "target", "engine") if k not in data]
        if missing:
            raise InputError(f"the snapshot lacks the key {missing[0]!r}: was it cut short?")
        problem = Problem.from_dict(data["problem"])
        session = cls(problem, rules=read_rules(None, data["rules"]), target=data["target"])
        try:
            session.engine.restore(data["engine"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the snapshot is damaged: {error!r}") from None
        return session

    def __repr__(self) -> str:
        state = "stopped" if self.stopped else "open"
        return f"Session({self.problem!r}, {self.results} results, {state})"


def read_rules(rules: Rules | None, choices: Mapping[str, Any]) -> Rules:
    """Return the rules given whole, or by keyword.

    Examples
    --------
    >>> read_rules(None, {"smapling": "posterior"})
    Traceback (most recent call last):
    psips.errors.InputError: unknown rule 'smapling': did you mean 'sampling'? known: ...
    """
    if rules is None:
        check_keys("rule", choices, [field.name for field in fields(Rules)])
        for name in ("delta", "alpha", "kappa", "eta"):
            value = choices.get(name)
            if isinstance(value, bool) or (isinstance(value, int) and value > sys.maxsize):
                raise InputError(f"{name} must be a number, got {quote(value)}")
        return Rules(**choices)
    if not isinstance(rules, Rules):
        raise InputError(f"rules must be a Rules object, got {quote(rules)}")
    if choices:
        raise InputError(f"give either rules or {next(iter(choices))!r}, not both")
    return rules


def _check_count(what: str, n: Any) -> None:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(f"{what} must be a whole number of at least 1, got {quote(n)}")


def _read_target(problem: Problem, given: Any) -> Floats:
    """Read the oracle's weights: a distribution over the arms."""
    if isinstance(given, Mapping):
        check_keys("arm", (str(arm) for arm in given), problem.arms)
        named = {str(arm): weight for arm, weight in given.items()}
        given = [named.get(arm, 0.0) for arm in problem.arms]
    try:
        weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"the target must be one weight per arm, got {quote(given)}") from None
    if weights.shape != (problem.K,):
        raise InputError(
            f"the target must have one weight per arm, {problem.K} in all, got {weights.shape}"
        )
    if not (np.all(weights >= 0) and abs(weights.sum() - 1) < 1e-6):
        raise InputError("the target must be weights of at least 0 that sum to 1")
    return weights
