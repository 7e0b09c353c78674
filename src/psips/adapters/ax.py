"""Trials of an Ax experiment measured again, until its Pareto front is confirmed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from psips.adapters.confirming import FEWEST_TRIALS, Candidate, Confirmation, confirm_front
from psips.errors import InputError, quote

if TYPE_CHECKING:
    from ax.api.client import Client
    from ax.core.experiment import Experiment


def confirm(
    experiment: Client | Experiment,
    evaluate: Callable[..., Any],
    *,
    trials: int | Iterable[int] = FEWEST_TRIALS,
    items: Mapping[str, Any] | Iterable[Any] | None = None,
    workers: int = 1,
    budget: float | None = None,
    epsilon: Any = None,
    seed: int | None = None,
    **choices: Any,
) -> Confirmation:
    """Measure the trials near the front of an experiment again, until it is confirmed.

    Outcome constraints are not looked at.

    Parameters
    ----------
    experiment : ax.Client or Experiment
        With its objective and completed trials of one arm each; it is not changed.
    evaluate : callable
        What the experiment was told the outcome of: it is called with a trial's parameters (a
        dict), and with an item if there are any, and returns a mapping from metric to value, or
        to a value and its standard error, which is not used. Its noise must be that of the
        experiment: another seed, another fold, another day.
    trials, items, workers, budget, epsilon, seed, **choices
        See `psips.adapters.optuna.confirm`.
    """
    held: Any = getattr(experiment, "_experiment", experiment)
    objectives = _objectives(held)

    def measure(trial: Candidate, *item: Any) -> list[Any]:
        found = evaluate(dict(trial.parameters), *item)
        missing = [metric for metric in objectives if metric not in found]
        if missing:
            raise InputError(f"the evaluation returned no value of {quote(missing[0])}")
        pairs = [found[metric] for metric in objectives]
        return [one[0] if isinstance(one, tuple | list) else one for one in pairs]

    return confirm_front(
        _candidates(held, list(objectives)),
        objectives,
        measure,
        trials=trials,
        items=items,
        workers=workers,
        budget=budget,
        epsilon=epsilon,
        seed=seed,
        **choices,
    )


def _objectives(experiment: Any) -> dict[str, str]:
    """Return directions by metric; one that is a sum of metrics is refused."""
    if experiment.optimization_config is None:
        raise InputError(
            "the experiment has no objective: configure its optimisation, so that it is known "
            "which metrics are to be maximised"
        )
    objective = experiment.optimization_config.objective
    parts = [part.strip() for part in objective.expression.split(",")]
    weights = objective.metric_weights
    if len(parts) != len(weights):
        raise InputError(
            f"each objective must be one metric, got {quote(objective.expression)}: a front of "
            f"sums of metrics is not confirmed"
        )
    names = {signature: name for name, signature in objective.metric_name_to_signature.items()}
    return {names[one]: "min" if weight < 0 else "max" for one, weight in weights}


def _candidates(experiment: Any, metrics: list[str]) -> list[Candidate]:
    """Return the trials that are complete and have a value of every metric."""
    frame = experiment.lookup_data().df
    found = frame.groupby(["trial_index", "metric_name"])["mean"].mean()
    candidates = []
    for number, trial in experiment.trials.items():
        if not trial.status.is_completed:
            continue
        if len(trial.arms) != 1:
            raise InputError(
                f"trial {number} is a batch of {len(trial.arms)} arms: trials of one arm each "
                f"are measured again"
            )
        values = [float(found.get((number, metric), float("nan"))) for metric in metrics]
        if all(value == value for value in values):
            candidates.append(Candidate(int(number), trial.arms[0].parameters, values))
    return candidates
