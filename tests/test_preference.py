"""Choosing from the front: the order of proven options, and how sure it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips import Problem, Session
from psips.errors import InputError
from psips.report import report
from psips.study import Study

GOALS = {"yield": "max", "cost": "min"}


def session_with(means: dict[str, list[float]], n: int, **choices: Any) -> Session:
    problem = Problem(objectives=GOALS, covariance=[[1, 0.3], [0.3, 0.5]], arms=list(means))
    session = Session(problem, rng=1, **choices)
    for _ in range(n):
        for arm, values in means.items():
            session.tell(arm, values)
    return session


FAR = {"A": [9.0, 5.0], "B": [8.0, 1.0], "C": [0.0, 9.0]}
CLOSE = {"A": [5.2, 5.0], "B": [2.2, 2.05], "C": [-6.0, 9.0]}


def test_only_proven_options_are_ordered() -> None:
    session = session_with(FAR, 40)
    assert session.pareto_set == ("A", "B")
    assert list(session.rank(weights={"yield": 1, "cost": 0.5}).index) == ["B", "A"]
    assert list(session.rank(weights={"yield": 1}).index) == ["A", "B"]
    early = session_with(FAR, 1, stopping="never")
    with pytest.raises(InputError, match="nothing is proven to be Pareto-optimal yet"):
        early.rank(weights={"yield": 1})


def test_probabilities_against_the_law() -> None:
    """With weights the scores are Gaussian: P(A ahead of B) is known in closed form."""
    from scipy.stats import norm

    session = session_with(CLOSE, 60)
    assert session.pareto_set == ("A", "B")
    w = np.array([1.0, 1.0])
    found = session.rank(weights={"yield": w[0], "cost": w[1]})
    oriented = np.array([1.0, -1.0]) * w
    variance = 2 * oriented @ session.problem.covariance @ oriented / 60
    lead = (np.array(CLOSE["A"]) - CLOSE["B"]) @ oriented
    chance = norm.cdf(lead / np.sqrt(variance))
    assert 0.55 < chance < 0.95
    assert found.loc["A", "best"] == pytest.approx(chance, abs=0.012)
    assert found.loc["A", "ahead"] == found.loc["A", "best"]
    assert found.loc["A", "se"] == pytest.approx(np.sqrt(variance / 2), rel=0.03)
    without = norm.cdf(lead / np.sqrt(2 * (1 + 0.5) / 60))  # correlation left out: caught
    assert abs(without - chance) > 0.02


def test_reference_point() -> None:
    session = session_with(FAR, 40)
    found = session.rank(reference={"yield": 8.5, "cost": 4.0})
    leads = {"A": min(0.5, -1 / np.sqrt(0.5)), "B": min(-0.5, 3 / np.sqrt(0.5))}
    assert found["score"].to_dict() == pytest.approx(leads)
    weighted = session.rank(
        reference={"yield": 8.5, "cost": 4.0}, weights={"yield": 10, "cost": 1}
    )
    assert weighted["score"].to_dict() == pytest.approx({"A": -1.0, "B": -5.0})


def test_linear_problems() -> None:
    problem = Problem(
        objectives=GOALS,
        covariance=[1, 1],
        arms=["A", "B", "C"],
        features=[[0.0], [1.0], [2.0]],
    )
    session = Session(problem, rng=1)
    for _ in range(60):
        for a, arm in enumerate(problem.arms):
            session.tell(arm, [2.0 * a, 3.0 * a])
    found = session.rank(weights={"yield": 1.0, "cost": 0.7})
    assert list(found.index) == ["A", "B", "C"]
    # B lies between the other two on a line, in every draw
    assert found.loc["B", "best"] == 0.0
    V = np.linalg.inv(60 * np.array([[3, 3], [3, 5.0]]))
    leading = 2.0 - 0.7 * 3.0
    sd = np.sqrt((1 + 0.49) * V[1, 1])
    from scipy.stats import norm

    assert found.loc["A", "best"] == pytest.approx(norm.cdf(-leading / sd), abs=0.012)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "give weights or a reference point"),
        ({"weights": {"yield": -1.0}}, "the weight of 'yield' must be at least 0, got -1"),
        ({"weights": {"taste": 1.0}}, "unknown objective in the weights 'taste'"),
        ({"weights": {"yield": 0}}, "all weights are 0"),
        ({"weights": {"yield": "much"}}, "must be finite numbers, got 'much' for 'yield'"),
        ({"weights": [1, 2]}, "must be a mapping from objective to number"),
        ({"reference": {"yield": 1}}, "the reference point has no entry for objective 'cost'"),
        (
            {"reference": {"yield": 1, "cost": 1}, "weights": {"yield": 1}},
            "every objective needs a positive weight",
        ),
    ],
)
def test_bad_preferences(given: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        session_with(FAR, 40).rank(**given)


def test_study_report_and_command(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 's.db'}"
    problem = Problem(objectives=GOALS, covariance=[1, 1], arms=list(FAR), name="front")
    study = Study.create(problem, store, seed=1)
    for _ in range(30):
        study.tell_many([{"arm": a, "yield": y, "cost": c} for a, (y, c) in FAR.items()])
    page = report(study, weights={"yield": 1, "cost": 0.5})
    assert "Choosing from the front" in page
    assert "Best by this preference: B" in page
    assert "Choosing from the front" not in report(study)
    command = [sys.executable, "-m", "psips", "study", "rank", "front", "--store", store]
    done = subprocess.run(
        [*command, "--weight", "yield=1", "--json"], capture_output=True, text=True, check=True
    )
    assert [row["option"] for row in json.loads(done.stdout)["options"]] == ["A", "B"]
    bad = subprocess.run([*command, "--weight", "yield"], capture_output=True, text=True)
    assert bad.returncode == 2
    assert "--weight must be objective=number, got 'yield'" in bad.stderr
