"""Early stopping of evaluations by Inspect (tested with inspect_ai 0.3.285)."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest

inspect_ai = pytest.importorskip("inspect_ai")

from inspect_ai import Task  # noqa: E402
from inspect_ai import eval as run_tasks  # noqa: E402
from inspect_ai.dataset import MemoryDataset, Sample  # noqa: E402
from inspect_ai.scorer import Score, mean, scorer  # noqa: E402
from inspect_ai.solver import solver  # noqa: E402

from psips import InputError  # noqa: E402
from psips.adapters.inspect import Contest  # noqa: E402

SKILL = {"weak": (0.0, 1.0), "good": (1.0, 1.0), "cheap": (0.3, 3.0)}
RIGHT = ("good", "cheap")


@solver
def answer(name: str):
    async def solve(state, generate):
        state.metadata["solved by"] = name
        return state

    return solve


def noisy(name: str, item: str, c: int) -> float:
    shared = np.random.default_rng([c, crc32(item.encode())]).normal()
    own = np.random.default_rng([c, crc32(f"{name} {item}".encode())]).normal()
    return float(SKILL[name][c] + shared + 0.3 * own)


@scorer(metrics=[mean()])
def quality():
    async def score(state, target):
        return Score(value=noisy(state.metadata["solved by"], str(state.sample_id), 0))

    return score


@scorer(metrics=[mean()])
def thrift():
    async def score(state, target):
        return Score(value=noisy(state.metadata["solved by"], str(state.sample_id), 1))

    return score


def tasks(contest: Contest, n: int) -> list[Task]:
    samples = [Sample(id=f"q{j}", input="?", target="!") for j in range(n)]
    return [
        Task(
            name=name,
            dataset=MemoryDataset(samples),
            solver=answer(name),
            scorer=[quality(), thrift()],
            early_stopping=contest.arm(name),
        )
        for name in SKILL
    ]


def test_samples_are_left_out_once_the_set_is_known(tmp_path) -> None:
    contest = Contest(SKILL, {"quality": "max", "thrift": "max"}, seed=1)
    logs = run_tasks(
        tasks(contest, 120),
        model="mockllm/model",
        max_tasks=3,
        max_samples=4,
        display="none",
        log_dir=str(tmp_path),
    )
    assert [log.status for log in logs] == ["success"] * 3
    session = contest.session
    assert session.stopped
    assert session.pareto_set == RIGHT
    assert session.results < 200
    summaries = [log.results.early_stopping for log in logs]
    assert all(summary.manager == "psips" for summary in summaries)
    left_out = sum(len(summary.early_stops) for summary in summaries)
    assert left_out >= 360 - session.results - 12
    assert all(tuple(s.metadata["candidate_set"]) == RIGHT for s in summaries)


def test_what_comes_after_the_stop_does_not_reopen_it() -> None:
    contest = Contest(
        SKILL, {"quality": "max", "thrift": "max"}, seed=1, values=lambda scores: scores
    )
    items = [f"q{j}" for j in range(300)]
    contest.begin(items)
    stops = set()
    for item in items:
        for name in SKILL:
            scores = {"quality": noisy(name, item, 0), "thrift": noisy(name, item, 1)}
            contest.tell(name, item, scores)
            if contest.session.stopped:
                stops.add(contest.session.results)
    assert len(stops) == 1
    assert contest.session.stopped
    assert contest.session.results < 900


def test_a_dataset_that_ends_is_measured_whole(tmp_path) -> None:
    contest = Contest(
        SKILL, {"quality": "max", "thrift": "max"}, seed=1, delta=1e-9, patience=0.2
    )
    logs = run_tasks(
        tasks(contest, 6),
        model="mockllm/model",
        max_tasks=3,
        display="none",
        log_dir=str(tmp_path),
    )
    assert [log.status for log in logs] == ["success"] * 3
    assert contest.session.results == 18


def test_names_are_checked() -> None:
    contest = Contest(SKILL, ["quality"])
    with pytest.raises(InputError, match="unknown arm 'best'"):
        contest.arm("best")
    with pytest.raises(InputError, match="no task has begun"):
        _ = contest.session
