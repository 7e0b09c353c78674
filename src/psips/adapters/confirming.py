"""Trials of an optimisation measured again, until its Pareto front is confirmed.

The front of an optimisation with noisy objectives is in part luck: the best of many trials are
those that were lucky too. So the values by which trials were found do not count here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, counted
from psips.evaluation.evaluating import evaluate
from psips.problem import Problem
from psips.rules.promises import short_promise
from psips.session import Session

if TYPE_CHECKING:
    import pandas as pd

FEWEST_TRIALS = 20  # trials that are measured again, if there are as many


class Candidate(NamedTuple):
    """A trial as it was found."""

    number: int
    parameters: Mapping[str, Any]
    values: Sequence[float]  # by objective


@dataclass(frozen=True, eq=False)
class Confirmation:
    """The result of measuring trials again.

    Parameters
    ----------
    stopped : bool
        Whether the front is confirmed; otherwise the budget, or the items, have ended.
    front : tuple of int
        Numbers of the trials on the front, as measured again.
    flukes : tuple of int
        Trials on the front as found that are not on it.
    overlooked : tuple of int
        Trials on it that are not on the front as found.
    results : int
        Measurements made.
    promise : str
        What stands behind the front.
    trials : DataFrame
        By trial that was measured again: how often, whether it was and is on the front, and for
        each objective the value found, the estimate and its standard error.
    session : Session
        What is known.
    """

    stopped: bool
    front: tuple[int, ...]
    flukes: tuple[int, ...]
    overlooked: tuple[int, ...]
    results: int
    promise: str
    trials: pd.DataFrame
    session: Session

    def __str__(self) -> str:
        state = f"confirmed ({self.promise})" if self.stopped else "not confirmed yet"
        measured = counted(self.results, "measurement")
        lines = [
            f"front after {measured}, {state}: {_listed(self.front)}",
            f"flukes, on the front as found and not on this one: {_listed(self.flukes)}",
            f"overlooked, on this front and not as found: {_listed(self.overlooked)}",
        ]
        return "\n".join([*lines, "", self.trials.to_string()])


def confirm_front(
    candidates: Sequence[Candidate],
    objectives: Mapping[str, str],
    measure: Callable[..., Any],
    *,
    best: set[int] | None = None,
    trials: int | Iterable[int] = FEWEST_TRIALS,
    items: Mapping[str, Any] | Iterable[Any] | None = None,
    workers: int = 1,
    budget: float | None = None,
    epsilon: Any = None,
    seed: int | None = None,
    **choices: Any,
) -> Confirmation:
    """Measure the trials near a front again, until the front is confirmed.

    Parameters
    ----------
    candidates : sequence of Candidate
        All trials that are complete.
    objectives : mapping from name to direction
    measure : callable
        It is called with a candidate, and with an item if there are any.
    best : set of int, optional
        Numbers of the trials on the front as found; by their values, if left out.
    trials, items, workers, budget, epsilon, seed, **choices
        See `psips.adapters.optuna.confirm`.
    """
    if best is None:
        best = {candidates[k].number for k in layers(_inward(candidates, objectives), 1)}
    chosen = {str(one.number): one for one in _chosen(candidates, objectives, trials)}

    def run(name: str, *item: Any) -> Any:
        return measure(chosen[name], *item)

    if items is None:
        problem = Problem(objectives=objectives, arms=list(chosen), epsilon=epsilon)
        session = Session(problem, seed=seed, budget=budget, **choices)
        while not session.done:
            arm = session.ask()
            session.tell(arm, run(arm))
    else:
        session = evaluate(
            list(chosen),
            items,
            run,
            objectives=objectives,
            workers=workers,
            budget=budget,
            epsilon=epsilon,
            seed=seed,
            progress=False,
            **choices,
        ).session
    return _confirmation(session, list(chosen.values()), best)


def _inward(candidates: Sequence[Candidate], objectives: Mapping[str, str]) -> Floats:
    """Values (n, d), more being better."""
    signs = [-1.0 if way == "min" else 1.0 for way in objectives.values()]
    return np.array([one.values for one in candidates], float).reshape(-1, len(signs)) * signs


def _chosen(
    candidates: Sequence[Candidate], objectives: Mapping[str, str], trials: int | Iterable[int]
) -> list[Candidate]:
    """Return the trials to measure again; of those with equal parameters the first."""
    if not isinstance(trials, int):
        found = {one.number: one for one in candidates}
        wanted = list(trials)
        missing = [number for number in wanted if number not in found]
        if missing:
            raise InputError(f"there is no complete trial {missing[0]}: choose others")
        return [found[number] for number in wanted]
    distinct: dict[str, Candidate] = {}
    for one in candidates:
        distinct.setdefault(repr(sorted(one.parameters.items())), one)
    known = list(distinct.values())
    if len(known) < 2:
        raise InputError(
            f"a front is confirmed among at least two different trials, and there are "
            f"{len(known)}: let the optimisation run longer"
        )
    return [known[k] for k in layers(_inward(known, objectives), max(int(trials), 2))]


def layers(values: Floats, least: int) -> list[int]:
    """Return places of points, front by front, until there are enough; more is better.

    Examples
    --------
    >>> layers(np.array([[2.0, 2.0], [1.0, 1.0], [0.0, 3.0], [0.0, 0.0]]), 3)
    [0, 2, 1]
    """
    left = list(range(len(values)))
    found: list[int] = []
    while left and len(found) < least:
        front = [
            k
            for k in left
            if not any(
                (values[j] >= values[k]).all() and (values[j] > values[k]).any() for j in left
            )
        ]
        found += front
        left = [k for k in left if k not in front]
    return found


def _confirmation(session: Session, chosen: list[Candidate], best: set[int]) -> Confirmation:
    status = session.status()
    front = tuple(int(name) for name in session.candidate_set)
    table = status.arms[["pulls"]].rename(columns={"pulls": "results"})
    table.index = table.index.astype(int).rename("trial")
    table["was on the front"] = [number in best for number in table.index]
    table["is on the front"] = [number in front for number in table.index]
    for c, metric in enumerate(session.problem.objectives):
        table[f"{metric} found"] = [one.values[c] for one in chosen]
        for what in ("estimate", "se"):
            table[f"{metric} {what}"] = status.arms[f"{metric} {what}"].to_numpy()
    measured = set(table.index)
    return Confirmation(
        session.stopped,
        front,
        tuple(sorted((best & measured) - set(front))),
        tuple(sorted(set(front) - best)),
        session.results,
        short_promise(session.rules),
        table,
        session,
    )


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers)) or "none"
