"""Trials of an Optuna study measured again, until its Pareto front is confirmed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from psips.adapters.confirming import FEWEST_TRIALS, Candidate, Confirmation, confirm_front

if TYPE_CHECKING:
    import optuna


def confirm(
    study: optuna.Study,
    objective: Callable[..., Any],
    *,
    trials: int | Iterable[int] = FEWEST_TRIALS,
    items: Mapping[str, Any] | Iterable[Any] | None = None,
    workers: int = 1,
    budget: float | None = None,
    epsilon: Any = None,
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
    epsilon : number or mapping from objective to number, optional
        Largest difference that does not matter: trials that are equal are told apart by
        nothing else.
    seed : int, optional
    **choices
        Fields of `Rules`, such as ``delta=0.05``.
    """
    import optuna

    directions: Any = study.directions
    ways = ["min" if d == optuna.study.StudyDirection.MINIMIZE else "max" for d in directions]
    metrics = list(study.metric_names or [f"value {c}" for c in range(len(ways))])
    complete = study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE])

    def measure(trial: Candidate, *item: Any) -> Any:
        fixed = optuna.trial.FixedTrial(dict(trial.parameters), trial.number)
        return objective(fixed, *item)

    return confirm_front(
        [Candidate(trial.number, trial.params, trial.values) for trial in complete],
        dict(zip(metrics, ways, strict=True)),
        measure,
        best={trial.number for trial in study.best_trials} if complete else set(),
        trials=trials,
        items=items,
        workers=workers,
        budget=budget,
        epsilon=epsilon,
        seed=seed,
        **choices,
    )
