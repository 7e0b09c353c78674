"""Figures of the pages: limits are shaded, and what a tolerance would have saved is drawn."""

from __future__ import annotations

import re

import numpy as np
import pytest

from psips import Problem, Study
from psips.web.charts import evidence_picture, front
from psips.web.looks import course_of, look_at


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
    return front(look_at(study.state, "2026-01-01T00:00:00Z", study.store), 0, 1, False)


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
    course = course_of(study_of(exact, [[0.0], [0.02]], 500)).drawn()
    assert course.saved
    first = course.saved[-1]
    assert f"{first.stopped:,}: a stop with 0.2 on gain" in evidence_picture(course)
    tolerant = exact.asking(epsilon=0.2)
    assert "a stop with" not in evidence_picture(
        course_of(study_of(tolerant, [[0.0], [0.02]], 500)).drawn()
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
