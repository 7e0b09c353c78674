"""Figures of the pages: limits are shaded, and what a tolerance would have saved is drawn."""

from __future__ import annotations

import re

import numpy as np
import pytest

from psips import Problem, Study
from psips.pictures.svg import front
from psips.web.charts import evidence_picture
from psips.web.view_models import time_series_of, view_of


def study_of(problem: Problem, means: list[list[float]], each: int) -> Study:
    study = Study.create(problem, "sqlite://", name="trial", seed=1)
    rng = np.random.default_rng(2)
    rows = [
        {"arm": arm, **dict(zip(problem.objectives, rng.normal(mean), strict=True))}
        for _ in range(each)
        for arm, mean in zip(problem.arms, means, strict=True)
    ]
    study.tell_many(rows)
    return study


def drawn_of(problem: Problem) -> str:
    study = study_of(problem, [[0, 0], [1, 1]], 40)
    view = view_of(study.state, "2026-01-01T00:00:00Z", study.store)
    return front(view.front, 0, 1)


@pytest.mark.parametrize("limit", ["harm <= 0.5", "gain >= 0.5", "harm between 0 and 0.5"])
def test_limits_are_shaded(limit: str) -> None:
    problem = Problem(
        arms=["A", "B"],
        objectives={"gain": "max", "harm": "min"},
        covariance=[1, 1],
        limits=[limit],
    )
    drawn = drawn_of(problem)
    shaded = re.findall(r'class="beyond" x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)"', drawn)
    assert len(shaded) == (2 if "between" in limit else 1)
    whole = [float(width) > 500 for _, _, width in shaded]  # across the figure, or part of it
    assert whole == [limit.startswith("harm")] * len(shaded)
    assert "harm above 0.5" in drawn or "gain below 0.5" in drawn
    exact = Problem(arms=["A", "B"], objectives=["gain", "harm"], covariance=[1, 1])
    assert "beyond" not in drawn_of(exact)


def test_what_a_tolerance_would_have_saved_is_drawn() -> None:
    exact = Problem(arms=["A", "B"], objectives=["gain"], covariance=[1])
    series = time_series_of(study_of(exact, [[0.0], [0.02]], 500)).drawn()
    assert series.saved
    first = series.saved[-1]
    assert f"{first.stopped:,}: a stop with 0.2 on gain" in evidence_picture(series)
    tolerant = exact.asking(epsilon=0.2)
    assert "a stop with" not in evidence_picture(
        time_series_of(study_of(tolerant, [[0.0], [0.02]], 500)).drawn()
    )


def test_the_front_is_of_those_who_keep_the_limits() -> None:
    two = {"gain": "max", "harm": "min"}
    free = Problem(arms=["A", "B"], objectives=two, covariance=[1, 1])
    kept = Problem(arms=["A", "B"], objectives=two, covariance=[1, 1], limits=["harm <= 0.5"])
    none = Problem(arms=["A", "B"], objectives=two, covariance=[1, 1], limits=["harm <= -9"])
    corners = []
    for problem in (free, kept, none):
        found = re.search(r'class="stairs whole" points="([^"]*)"', drawn_of(problem))
        corners.append(len(found[1].split()) if found else 0)
    assert corners == [5, 3, 0]


def extent(drawn: str) -> tuple[float, float]:
    """The lowest and the highest pixel that a region reaches, upright ellipses alone."""
    found = re.findall(
        r'translate\(([0-9.]+) ([0-9.]+)\)"><title>.*?</title><ellipse class="region" '
        r'rx="([0-9.]+)" ry="([0-9.]+)" transform="rotate\((-?[0-9.]+)\)"',
        drawn,
    )
    assert found
    low, high = np.inf, -np.inf
    for _, y, a, b, turn in found:
        angle = np.radians(float(turn))
        reach = np.hypot(float(a) * np.sin(angle), float(b) * np.cos(angle))
        low, high = min(low, float(y) - reach), max(high, float(y) + reach)
    return low, high


def test_the_frame_holds_every_region() -> None:
    problem = Problem(arms=["A", "B"], objectives=["gain", "harm"], covariance=[1, 4])
    study = study_of(problem, [[0, 0], [1, 1]], 3)
    view = view_of(study.state, "2026-01-01T00:00:00Z", study.store)
    low, high = extent(front(view.front, 0, 1, False))
    assert low >= 12
    assert high <= 440 - 52


def test_a_plane_says_that_it_hides_metrics() -> None:
    three = Problem(arms=["A", "B"], objectives=["gain", "harm", "cost"], covariance=[1] * 3)
    study = study_of(three, [[0, 0, 0], [1, 1, 1]], 3)
    view = view_of(study.state, "2026-01-01T00:00:00Z", study.store)
    said = "Options behind the line may be optimal in metrics that are not shown."
    assert said in front(view.front, 0, 1, False)
    two = Problem(arms=["A", "B"], objectives=["gain", "harm"], covariance=[1, 1])
    assert said not in drawn_of(two)
