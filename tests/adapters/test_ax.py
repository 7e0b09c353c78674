"""Trials of an experiment of Ax (tested with 1.3.1) measured again."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ax")

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig

from psips import InputError
from psips.adapters.ax import confirm

NOISE = 0.3
RIGHT = {(0.0, 0.0), (0.5, 0.0), (1.0, 0.0)}


def means(x: float, y: float) -> np.ndarray:
    """Gain and time: the front is y = 0."""
    return np.array([-((1 - x) ** 2) - y, x**2 + y])


def a_client(objective: str | None = "gain, -time") -> Client:
    client = Client(random_seed=1)
    client.configure_experiment(
        parameters=[
            ChoiceParameterConfig(
                name=name, values=[0.0, 0.5, 1.0], parameter_type="float", is_ordered=True
            )
            for name in ("x", "y")
        ]
    )
    if objective is not None:
        client.configure_optimization(objective=objective)
    return client


@pytest.fixture(scope="module")
def finished() -> Client:
    """Every point three times, by hand: no model is fitted."""
    rng = np.random.default_rng(1)
    client = a_client()
    for _ in range(3):
        for x in (0.0, 0.5, 1.0):
            for y in (0.0, 0.5, 1.0):
                number = client.attach_trial(parameters={"x": x, "y": y})
                gain, time = means(x, y) + NOISE * rng.normal(size=2)
                client.complete_trial(number, raw_data={"gain": gain, "time": (time, NOISE)})
    client.attach_trial(parameters={"x": 0.0, "y": 0.5})  # is not complete
    return client


def parameters(client: Client, number: int) -> tuple[float, float]:
    row = client.summarize().set_index("trial_index").loc[number]
    return float(row["x"]), float(row["y"])


def test_the_front_is_that_of_the_means_and_flukes_are_named(finished) -> None:
    rng = np.random.default_rng(2)

    def again(point):
        gain, time = means(point["x"], point["y"]) + NOISE * rng.normal(size=2)
        return {"gain": (gain, NOISE), "time": time, "other": 1.0}

    before = finished.summarize()
    found = confirm(finished, again, trials=9, seed=1)
    assert found.stopped
    assert {parameters(finished, n) for n in found.front} == RIGHT
    assert found.session.problem.directions == ("max", "min")
    done = before.dropna(subset=["gain", "time"])
    points = done[["gain", "time"]].to_numpy() * [1, -1]
    best = {
        int(number)
        for number, one in zip(done["trial_index"], points, strict=True)
        if not ((points >= one).all(axis=1) & (points > one).any(axis=1)).any()
    }
    was = found.trials.index[found.trials["was on the front"]]
    assert set(was) == best & set(found.trials.index)
    assert set(found.flukes) == (best & set(found.trials.index)) - set(found.front)
    assert set(found.overlooked) == set(found.front) - best
    assert found.flukes or found.overlooked  # the front as found is not the right one
    assert found.results == found.trials["results"].sum()
    assert before.equals(finished.summarize())


def test_items_are_shared_by_the_trials(finished) -> None:
    def again(point, fold):
        shared = np.random.default_rng(fold).normal(size=2)
        key = [fold, int(10 * point["x"]), int(10 * point["y"])]
        own = np.random.default_rng(key).normal(size=2)
        gain, time = means(point["x"], point["y"]) + shared + 0.2 * own
        return {"gain": gain, "time": time}

    found = confirm(finished._experiment, again, trials=9, items=range(500), seed=1)
    assert found.stopped
    assert {parameters(finished, n) for n in found.front} == RIGHT


def test_what_cannot_be_confirmed_is_refused(finished) -> None:
    with pytest.raises(InputError, match="no complete trial 27"):
        confirm(finished, dict, trials=[0, 27])
    with pytest.raises(InputError, match="no value of 'time'"):
        confirm(finished, lambda point: {"gain": 1.0}, trials=[0, 1])
    with pytest.raises(InputError, match="at least two different trials, and there are 0"):
        confirm(a_client(), dict)
    with pytest.raises(InputError, match="has no objective"):
        confirm(a_client(None), dict)
    with pytest.raises(InputError, match="each objective must be one metric"):
        confirm(a_client("2 * gain - time"), dict)


def test_the_example_runs() -> None:
    """Trials that it confirms are on the front of the means without noise."""
    example = Path(__file__).parents[2] / "examples" / "with_ax.py"
    made = runpy.run_path(str(example))
    assert made["found"].stopped
    assert set(made["found"].front) <= set(made["found"].trials.index)
