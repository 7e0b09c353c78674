"""Directions that follow from names, and those that have to be asked for."""

from __future__ import annotations

import warnings

import pytest

from psips import InputError, evaluate
from psips.input.directions import DirectionWarning, guess_direction, with_directions


@pytest.mark.parametrize(
    ("names", "way"),
    [
        ("cost latency time price error loss size memory tokens runtime_s p99Latency", "min"),
        ("cost_usd Binary-Size peakMemory total.tokens TIME2 rmse wall-time", "min"),
        ("accuracy score yield throughput F1 auc solved pass_rate test_accuracy R2", "max"),
        ("match exact_match strict-match", "max"),
        ("IgG x alpha depth temperature neg_log_loss survival_time cost_reduction", None),
        ("error_free accuracy_loss y timely scores_x_costs", None),
    ],
)
def test_guesses(names: str, way: str | None) -> None:
    assert {name: guess_direction(name) for name in names.split()} == dict.fromkeys(
        names.split(), way
    )


def test_objectives_of_all_forms() -> None:
    with pytest.warns(DirectionWarning, match="latency: less is better .guessed by the name"):
        assert with_directions(["score", "latency"]) == {"score": "max", "latency": "min"}
    with pytest.warns(DirectionWarning, match="score: more is better"):
        found = with_directions([("x", "min"), "score"])
    assert found == {"x": "min", "score": "max"}
    with pytest.warns(DirectionWarning):
        found = with_directions({"solved": {"kind": "binary"}, "x": {"direction": "min"}})
    assert found == {
        "solved": {"kind": "binary", "direction": "max"},
        "x": {"direction": "min"},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert with_directions({"x": "max", "size": "max"}) == {"x": "max", "size": "max"}
    with pytest.raises(InputError, match=r"less of 'x' is better.*objectives=\{'x': 'max'"):
        with_directions(["x", "cost"])


def test_evaluate_takes_less_of_a_cost_for_better() -> None:
    """Names alone were maximised: the more expensive option was the front."""

    def run(arm: str, item: int) -> dict[str, float]:
        cost = {"cheap": 1.0, "dear": 5.0}[arm]
        return {"cost": cost + 0.1 * ((item * len(arm)) % 7)}

    with pytest.warns(DirectionWarning, match="cost: less is better"):
        found = evaluate(
            ["cheap", "dear"], range(30), run, objectives=["cost"], seed=1, workers=1
        )
    assert found.candidate_set == ("cheap",)
    with pytest.raises(InputError, match="more or less of 'x' is better"):
        evaluate(["cheap", "dear"], range(30), run, objectives=["x"])
