"""Trials of a study of Optuna (tested with 5.0.0) measured again."""

from __future__ import annotations

import numpy as np
import pytest

optuna = pytest.importorskip("optuna")

from psips import InputError  # noqa: E402
from psips.adapters.confirming import layers  # noqa: E402
from psips.adapters.optuna import confirm  # noqa: E402

NOISE = 0.3


def means(x: float, y: float) -> np.ndarray:
    """Loss and time: the front is y = 0."""
    return np.array([(1 - x) ** 2 + y, x**2 + y])


@pytest.fixture(scope="module")
def finished():
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    rng = np.random.default_rng(1)
    study = optuna.create_study(
        directions=["minimize", "minimize"], sampler=optuna.samplers.RandomSampler(seed=1)
    )

    def objective(trial):
        x = trial.suggest_categorical("x", [0.0, 0.5, 1.0])
        y = trial.suggest_categorical("y", [0.0, 0.5, 1.0])
        return tuple(means(x, y) + NOISE * rng.normal(size=2))

    study.optimize(objective, n_trials=60)
    return study


def parameters(study, number: int) -> tuple[float, float]:
    found = study.trials[number].params
    return found["x"], found["y"]


def test_the_front_is_that_of_the_means_and_flukes_are_named(finished) -> None:
    rng = np.random.default_rng(2)

    def again(trial):
        x = trial.suggest_categorical("x", [0.0, 0.5, 1.0])
        y = trial.suggest_categorical("y", [0.0, 0.5, 1.0])
        return tuple(means(x, y) + NOISE * rng.normal(size=2))

    before = [trial.values for trial in finished.trials]
    found = confirm(finished, again, trials=9, seed=1)
    assert found.stopped
    assert {parameters(finished, n) for n in found.front} == {
        (0.0, 0.0),
        (0.5, 0.0),
        (1.0, 0.0),
    }
    assert set(found.trials.index[found.trials["is on the front"]]) == set(found.front)
    best = {trial.number for trial in finished.best_trials}
    assert set(found.flukes) == (best & set(found.trials.index)) - set(found.front)
    assert set(found.overlooked) == set(found.front) - best
    assert found.results == found.trials["results"].sum() == found.session.results
    assert "flukes" in str(found)
    assert before == [trial.values for trial in finished.trials]


def test_items_are_shared_by_the_trials(finished) -> None:
    def again(trial, fold):
        shared = np.random.default_rng(fold).normal(size=2)
        x = trial.suggest_categorical("x", [0.0, 0.5, 1.0])
        y = trial.suggest_categorical("y", [0.0, 0.5, 1.0])
        own = np.random.default_rng([fold, int(10 * x), int(10 * y)]).normal(size=2)
        return tuple(means(x, y) + shared + 0.2 * own)

    found = confirm(finished, again, trials=9, items=range(500), workers=2, seed=1)
    assert found.stopped
    assert {parameters(finished, n) for n in found.front} == {
        (0.0, 0.0),
        (0.5, 0.0),
        (1.0, 0.0),
    }
    assert found.session.problem.has_items


def test_a_budget_ends_without_a_claim(finished) -> None:
    def again(trial):
        x = trial.suggest_categorical("x", [0.0, 0.5, 1.0])
        return (x, x + trial.suggest_categorical("y", [0.0, 0.5, 1.0]))

    found = confirm(finished, again, trials=9, budget=10)
    assert not found.stopped
    assert found.results == 10
    assert "not confirmed yet" in str(found)


def test_with_a_tolerance_trials_that_tie_do_not_keep_it_from_stopping(finished) -> None:
    rng = np.random.default_rng(3)

    def again(trial):  # x says nothing: three trials of each y are equal
        trial.suggest_categorical("x", [0.0, 0.5, 1.0])
        y = trial.suggest_categorical("y", [0.0, 0.5, 1.0])
        return tuple(y + NOISE * rng.normal(size=2))

    open_ = confirm(finished, again, trials=9, budget=3000, seed=1)
    assert not open_.stopped
    found = confirm(finished, again, trials=9, budget=3000, epsilon=0.2, seed=1)
    assert found.stopped
    assert {y for _, y in (parameters(finished, n) for n in found.front)} == {0.0}


def test_trials_that_are_not_there_are_refused(finished) -> None:
    with pytest.raises(InputError, match="no complete trial 999"):
        confirm(finished, lambda trial: (0, 0), trials=[0, 999])
    empty = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(InputError, match="at least two different trials"):
        confirm(empty, lambda trial: (0, 0))


def test_layers_are_fronts_of_what_is_left() -> None:
    values = np.random.default_rng(0).normal(size=(40, 2))
    found = layers(values, 15)
    assert len(found) == len(set(found)) >= 15
    left = set(range(40)) - set(found)
    for k in left:
        assert any((values[j] >= values[k]).all() for j in found)
