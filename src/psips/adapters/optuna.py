"""Trials of an Optuna study measured again, until its Pareto front is confirmed.

The front of an optimisation with noisy objectives is in part luck: the best of many trials are
those that were lucky too. So the values by which trials were found do not count here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psips.errors import InputError
from psips.evaluation.evaluating import evaluate
from psips.kernels.model import Floats
from psips.problem import Problem
from psips.rules.promises import short_promise
from psips.session import Session

if TYPE_CHECKING:
    import optuna
    import pandas as pd

FEWEST = 20  # trials that are measured again, if there are as many


@dataclass(frozen=True, eq=False)
class Confirmation:
    """What came of measuring trials again.

    Parameters
    ----------
    stopped : bool
        Whether the front is confirmed; otherwise the budget, or the items, have ended.
    front : tuple of int
        Numbers of the trials on the front, as measured again.
    flukes : tuple of int
        Trials on the study's front that are not on it.
    overlooked : tuple of int
        Trials on it that are not on the study's front.
    results : int
        Measurements made.
    promise : str
        What stands behind the front.
    trials : DataFrame
        By trial that was measured again: how often, whether it was and is on the front, and for
        each objective the study's value, the estimate and its standard error.
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
        lines = [
            f"front after {self.results:,} measurements, {state}: {_listed(self.front)}",
            f"flukes, on the study's front and not on this one: {_listed(self.flukes)}",
            f"overlooked, on this front and not on the study's: {_listed(self.overlooked)}",
        ]
        return "\n".join([*lines, "", self.trials.to_string()])


def confirm(
    study: optuna.Study,
    objective: Callable[..., Any],
    *,
    trials: int | Iterable[int] = FEWEST,
    items: Mapping[str, Any] | Iterable[Any] | None = None,
    workers: int = 1,
    budget: float | None = None,
    seed: int | None = None,
    **choices: Any,
) -> Confirmation:
    """Measure the trials near the front of a study again, until the front is confirmed.

    Parameters
    ----------
    study : optuna.Study
        Finished, with one objective or several; it is not changed.
    objective : callable
        That of the study: it is called with an ``optuna.trial.FixedTrial`` of a trial's
        parameters, and with an item if there are any. Its noise must be that of the study:
        another seed, another fold, another day.
    trials : int or numbers of trials
        How many at least: the front, then what would be the front without it, and so on. Or
        which.
    items : names or mapping, optional
        What the trials share, as folds or seeds: see `psips.evaluate`.
    workers : int
        Threads that measure, with items.
    budget : number, optional
        Measurements that may be made.
    seed : int, optional
    **choices
        Fields of `Rules`, such as ``delta=0.05``.
    """
    import optuna

    chosen = _chosen(study, trials)
    names = [str(trial.number) for trial in chosen]
    ways = ["min" if d == optuna.study.StudyDirection.MINIMIZE else "max" for d in _ways(study)]
    metrics = list(study.metric_names or [f"value {c}" for c in range(len(ways))])
    objectives = dict(zip(metrics, ways, strict=True))
    parameters = {str(trial.number): trial.params for trial in chosen}

    def measure(name: str, *item: Any) -> Any:
        return objective(optuna.trial.FixedTrial(parameters[name], int(name)), *item)

    if items is None:
        session = Session(
            Problem(objectives=objectives, arms=names), rng=seed, budget=budget, **choices
        )
        while not session.stopped and not session.exhausted:
            arm = session.ask()
            session.tell(arm, measure(arm))
    else:
        session = evaluate(
            names,
            items,
            measure,
            objectives=objectives,
            workers=workers,
            budget=budget,
            seed=seed,
            progress=False,
            **choices,
        ).session
    return _confirmation(study, session, chosen, metrics)


def _ways(study: optuna.Study) -> Any:
    return study.directions


def _chosen(study: optuna.Study, trials: int | Iterable[int]) -> list[Any]:
    """Return the trials to measure again; of those with equal parameters the first."""
    import optuna

    complete = study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE])
    distinct: dict[str, Any] = {}
    for trial in complete:
        distinct.setdefault(repr(sorted(trial.params.items())), trial)
    known = list(distinct.values())
    if not isinstance(trials, int):
        wanted = list(trials)
        found = {trial.number: trial for trial in complete}
        missing = [number for number in wanted if number not in found]
        if missing:
            raise InputError(f"the study has no complete trial {missing[0]}: choose others")
        return [found[number] for number in wanted]
    if len(known) < 2:
        raise InputError(
            f"confirming a front takes at least two different trials, and the study has "
            f"{len(known)}: let it run longer"
        )
    signs = [1.0 if d == optuna.study.StudyDirection.MAXIMIZE else -1.0 for d in _ways(study)]
    values = np.array([trial.values for trial in known]) * signs
    return [known[k] for k in layers(values, max(int(trials), 2))]


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


def _confirmation(
    study: optuna.Study, session: Session, chosen: list[Any], metrics: list[str]
) -> Confirmation:
    status = session.status()
    front = tuple(int(name) for name in session.candidate_set)
    best = {trial.number for trial in study.best_trials}
    table = status.arms[["pulls"]].rename(columns={"pulls": "results"})
    table.index = table.index.astype(int).rename("trial")
    table["was on the front"] = [number in best for number in table.index]
    table["is on the front"] = [number in front for number in table.index]
    for c, metric in enumerate(metrics):
        table[f"{metric} found"] = [trial.values[c] for trial in chosen]
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
