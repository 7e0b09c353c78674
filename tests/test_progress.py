"""How many more results it takes: one estimate, the same everywhere, tested by what came."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from psips import Problem, Session, Study
from psips.cli.study_text import progress_of as told_text
from psips.report import report
from psips.session.progress import Progress, progress_at
from psips.study.plain import status_data

HERE = Path(__file__).parent
RUNS = {"noc-transductive": 20}  # 0.4 s each; 200 of the others


@pytest.fixture(scope="module")
def benchmark() -> Iterator[ModuleType]:
    folder = str(HERE.parent / "benchmarks")
    sys.path.insert(0, folder)
    try:
        import progress

        yield progress
    finally:
        sys.path.remove(folder)


def straight(results: int, evidence: float, threshold: float) -> float:
    """Go on in a straight line, as if evidence grew with the results: the broken version."""
    return results * (threshold / max(evidence, 1e-9) - 1.0)


@pytest.mark.parametrize(
    "name", ["cov-boost", "correlated", "noc-transductive", "random", "unknown noise"]
)
def test_what_is_predicted_half_way_is_what_is_needed(name: str, benchmark: ModuleType) -> None:
    found = benchmark.predictions(name, RUNS.get(name, 200))
    whole, rest, inside = benchmark.ratios(found)
    assert 0.6 < rest < 1.7  # of what remains, which is the harder of the two
    assert 0.6 < whole < 1.7
    assert inside > 0.5


def test_a_straight_line_would_be_caught(benchmark: ModuleType) -> None:
    builder, params = benchmark.FIVE["correlated"]
    made = benchmark.instance(builder, **params)
    rest = []
    for seed in range(60):
        for needed, session in benchmark.stages(made, seed, (0.5,)):
            more = straight(session.results, *session.engine.ratio())
            rest.append(more / (needed - session.results))
    assert np.median(rest) > 1.7


def test_estimates_are_in_order_and_shrink_with_evidence() -> None:
    for share in np.linspace(-0.5, 0.999, 200):
        one = progress_at(500, float(share))
        assert 1.0 <= one.low <= one.more <= one.high
        assert one.low <= one.beyond
    every = [progress_at(500, float(share)).more for share in np.linspace(0.01, 0.999, 99)]
    assert every == sorted(every, reverse=True)


def near_tie() -> Session:
    problem = Problem(
        objectives={"taste": "max", "price": "min"}, covariance=[1, 1], arms=["A", "B", "C"]
    )
    session = Session(problem, rng=1)
    means = {"A": (5.0, 1.0), "B": (4.9, 0.6), "C": (2.0, 3.0)}
    lab = np.random.default_rng(4)
    while session.results < 300:
        arm = session.ask()
        session.tell(arm, lab.normal(means[arm], 1.0))
    assert not session.stopped
    return session


def test_a_status_has_one_estimate() -> None:
    known = near_tie().status()
    text = " ".join(str(known).split())
    assert "of the way" not in text
    assert text.count(" more") == 1  # one number of results to go, not two that disagree
    assert str(known.progress) in text
    assert f"right with probability {1 - known.probability_of_change:.3g}" in text
    assert "hardest comparison" in text
    assert "remaining" not in known.evidence


def test_nothing_is_estimated_before_anything_is_known_and_after_the_stop() -> None:
    problem = Problem(objectives=["taste"], covariance=[1], arms=["A", "B"])
    session = Session(problem, rng=1)
    assert session.status().progress is None
    while not session.done:
        arm = session.ask()
        session.tell(arm, 5.0 if arm == "A" else 0.0)
    assert session.status().progress is None


@pytest.mark.parametrize("stopping", ["glr", "certified", "bayes", "posterior"])
def test_every_rule_that_can_tell_has_an_estimate(stopping: str) -> None:
    problem = Problem(objectives=["taste"], covariance=[1], arms=["A", "B"])
    session = Session(problem, rng=1, stopping=stopping)
    for number in range(40):
        session.tell("AB"[number % 2], float(number % 2) * 0.2 + math.sin(number))
    progress = session.status().progress
    assert isinstance(progress, Progress)
    assert progress.low >= 1.0


def test_a_study_says_it_everywhere_the_same_and_in_time() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def clock() -> datetime:
        return now

    problem = Problem(objectives=["taste"], covariance=[1], arms=["A", "B"])
    study = Study.create(problem, "sqlite://", name="tea", seed=1, clock=clock)
    lab = np.random.default_rng(2)
    for _ in range(30):
        ticket = study.ask()
        now += timedelta(minutes=10)
        study.tell(ticket, lab.normal(0.5 if ticket.arm == "A" else 0.0))
    known = study.status()
    assert known.progress is not None
    assert known.progress.seconds == 600.0
    assert "at the pace so far" in str(known.progress)
    plain = status_data(study.state, known, [])
    assert plain["progress"] == known.progress.to_dict()
    assert (
        told_text(study)
        == f"not stopped: 30 results in all; {known.progress.short} to the stop"
    )
    assert str(known.progress) in report(study)
