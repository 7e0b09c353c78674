"""Evaluations on workers: threads, processes, an event loop; failures, and calls that hang."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from psips import InputError, Problem, Study, evaluate

SKILL = {"a": 0.2, "b": 0.8, "c": 0.5, "d": 0.9}
PRICE = {"a": 1.0, "b": 2.0, "c": 2.5, "d": 4.0}
RIGHT = ("a", "b", "d")
OBJECTIVES = {"score": "max", "price": "min"}
ITEMS = [f"q{n}" for n in range(2000)]


def score(arm: str, item: str) -> dict[str, float]:
    """Return what a call gives: the same for the same arm and item."""
    shared = np.random.default_rng(crc32(item.encode())).normal(size=2)
    own = np.random.default_rng(crc32(f"{arm} {item}".encode())).normal(size=2)
    return {
        "score": SKILL[arm] + shared[0] + 0.3 * own[0],
        "price": PRICE[arm] + shared[1] + 0.3 * own[1],
    }


async def score_later(arm: str, item: str) -> dict[str, float]:
    await asyncio.sleep(0.001)
    return score(arm, item)


@pytest.mark.parametrize(
    ("pool", "run"), [("threads", score), ("processes", score), (None, score_later)]
)
def test_all_kinds_of_workers_find_the_set(pool, run) -> None:
    told = []
    found = evaluate(
        SKILL.keys(),
        ITEMS,
        run,
        objectives=OBJECTIVES,
        workers=3,
        pool=pool,
        seed=1,
        progress=told.append,
    )
    assert found.stopped
    assert found.pareto_set == RIGHT
    assert found.failures == []
    assert told[-1].front == RIGHT
    assert told[-1].results == found.results < 4000
    assert not any(found.session.pending.values())


def test_objects_are_handed_over_by_name() -> None:
    arms = {name: (name, SKILL[name]) for name in SKILL}
    items = {item: item.encode() for item in ITEMS}
    seen = set()

    def run(arm, item):
        seen.add((type(arm), type(item)))
        return score(arm[0], item.decode())

    found = evaluate(arms, items, run, objectives=OBJECTIVES, seed=1)
    assert found.pareto_set == RIGHT
    assert seen == {(tuple, bytes)}


def test_errors_are_tried_again_and_then_given_up() -> None:
    tries: dict[tuple[str, str], int] = {}
    lock = threading.Lock()

    def run(arm, item):
        with lock:
            n = tries[arm, item] = tries.get((arm, item), 0) + 1
        kind = crc32(f"{item}".encode()) % 10
        if kind == 0 and n == 1:
            raise ConnectionError("once")
        if kind == 1:
            raise ValueError("always")
        return score(arm, item)

    found = evaluate(list(SKILL), ITEMS, run, objectives=OBJECTIVES, seed=1, retries=1)
    assert found.pareto_set == RIGHT
    assert found.failures
    assert {str(error) for *_, error in found.failures} == {"always"}
    assert max(tries.values()) == 2
    hard = [pair for pair in tries if crc32(pair[1].encode()) % 10 == 1]
    given_up = {(arm, item) for arm, item, _ in found.failures}
    assert given_up <= set(hard)


def test_an_arm_that_always_fails_is_an_error() -> None:
    def run(arm, item):
        if arm == "c":
            raise ValueError("broken")
        return score(arm, item)

    with pytest.raises(InputError, match="20 calls of arm 'c' failed one after the other"):
        evaluate(list(SKILL), ITEMS, run, objectives=OBJECTIVES, seed=1, retries=0)


def test_values_that_are_none_are_failures_not_results() -> None:
    def run(arm, item):
        return {"score": "?"} if item.endswith("7") else score(arm, item)

    found = evaluate(list(SKILL), ITEMS, run, objectives=OBJECTIVES, seed=1, retries=0)
    assert found.pareto_set == RIGHT
    assert all(item.endswith("7") for _, item, _ in found.failures)


@pytest.mark.parametrize("pool", ["threads", "processes", "asyncio"])
def test_calls_that_never_answer_are_given_up(pool: str) -> None:
    run = hang_later if pool == "asyncio" else hang
    begin = time.perf_counter()
    found = evaluate(
        list(SKILL),
        ITEMS,
        run,
        objectives=OBJECTIVES,
        workers=4,
        pool=pool,
        seed=1,
        timeout=0.3,
        retries=0,
    )
    assert found.pareto_set == RIGHT
    assert found.failures
    assert all(isinstance(error, TimeoutError) for *_, error in found.failures)
    assert time.perf_counter() - begin < 60


def hangs(arm: str, item: str) -> bool:
    return crc32(f"{arm}{item}".encode()) % 40 == 0


def hang(arm, item):
    if hangs(arm, item):
        time.sleep(3600)
    return score(arm, item)


async def hang_later(arm, item):
    if hangs(arm, item):
        await asyncio.sleep(3600)
    return score(arm, item)


def test_a_study_keeps_asks_and_results(tmp_path) -> None:
    problem = Problem(objectives=OBJECTIVES, arms=list(SKILL), items=ITEMS)
    url = f"sqlite:///{tmp_path}/s.db"
    study = Study.create(problem, url, name="s", seed=1)
    found = evaluate(list(SKILL), ITEMS, score, study=study, workers=4, progress=False)
    assert found.pareto_set == RIGHT == study.state.session.pareto_set
    assert len(study.told) == found.results
    assert study.open_tickets() == []
    assert all(result.item in ITEMS for result in study.told)
    assert Study.open("s", url).verify().problems == ()


def test_items_or_a_budget_may_end() -> None:
    found = evaluate(list(SKILL), ITEMS[:5], score, objectives=OBJECTIVES, seed=1, delta=1e-6)
    assert not found.stopped
    assert found.pareto_set == found.candidate_set
    assert found.pareto_set
    assert found.results == 20
    assert 0.0 < found.probability < 1.0
    assert f"Pareto set of these items: {', '.join(found.pareto_set)}\n" in str(found)
    assert "all items were used without a stop, after 20 results of 20\n" in str(found)
    assert f"● {found.pareto_set[0]}  " in str(found)
    assert "● Pareto set;" in str(found)
    short = evaluate(list(SKILL), ITEMS, score, objectives=OBJECTIVES, seed=1, budget=18)
    assert short.results == 18
    assert short.pareto_set is None
    assert str(short).startswith("ended without a stop, after 18 results of 8,000\ncandidate")
    given = {"objectives": OBJECTIVES, "seed": 1, "delta": 1e-6}
    longer = evaluate(list(SKILL), ITEMS, score, budget=60, **given)
    assert longer.pareto_set is None
    assert "● candidate set;" in str(longer)


def test_of_these_items_the_last_call_settles_all() -> None:
    given: dict[str, Any] = {"objectives": OBJECTIVES, "seed": 1, "delta": 1e-6, "of": "these"}
    found = evaluate(list(SKILL), ITEMS[:5], score, **given)
    assert (found.stopped, found.results, found.probability) == (True, 20, 1.0)
    assert "Pareto set of these items, for certain: " in str(found)

    def run(arm: str, item: str) -> dict[str, float]:
        if (arm, item) == ("a", ITEMS[2]):
            raise ValueError("no answer")
        return score(arm, item)

    lacking = evaluate(list(SKILL), ITEMS[:5], run, **given)
    assert (lacking.stopped, lacking.results) == (False, 19)
    assert "Pareto set of these items, with probability " in str(lacking)
    with pytest.raises(InputError, match="of must be 'these' or 'like these'"):
        evaluate(list(SKILL), ITEMS[:5], run, **{**given, "of": "those"})


def test_items_that_end_in_a_study_name_the_set(tmp_path) -> None:
    problem = Problem(objectives=OBJECTIVES, arms=list(SKILL), items=ITEMS[:5])
    study = Study.create(problem, f"sqlite:///{tmp_path}/s.db", name="s", seed=1, delta=1e-6)

    def run(arm: str, item: str) -> dict[str, float]:
        if (arm, item) == ("a", ITEMS[2]):
            raise ValueError("no answer")
        return score(arm, item)

    found = evaluate(list(SKILL), ITEMS[:5], run, study=study, workers=2, progress=False)
    assert (found.stopped, found.results) == (False, 19)
    assert found.pareto_set == found.candidate_set
    assert "1 call failed, the last (arm 'a', item 'q2') with ValueError" in str(found)


def test_calls_that_all_fail_are_an_error() -> None:
    def run(arm: str, item: str) -> float:
        raise RuntimeError("no key")

    with pytest.raises(InputError, match=r"every call failed, 20 in all.*RuntimeError: no key"):
        evaluate(list(SKILL), ITEMS[:5], run, objectives=OBJECTIVES, seed=1)


def test_items_are_any_text() -> None:
    odd = ["What is\n2 + 2?", "\U0001f469\u200d\U0001f52c", " x ", "q" * 500, "\ud83d"]
    seen = set()

    def run(arm: str, item: str) -> dict[str, float]:
        seen.add(item)
        return score(arm, item.encode("utf-8", "replace").decode())

    found = evaluate(list(SKILL), odd, run, objectives=OBJECTIVES, seed=1, delta=1e-9)
    assert seen == set(odd)
    assert found.failures == []
    assert found.results == 20


def test_with_a_tolerance_equal_options_do_not_keep_it_from_stopping() -> None:
    def same(arm: str, item: str) -> tuple[float, float]:
        rng = np.random.default_rng([len(arm), *item.encode()])
        return tuple(rng.normal(size=2))

    given = {"objectives": OBJECTIVES, "seed": 1, "workers": 2}
    assert not evaluate(["a", "bb"], ITEMS, same, **given).stopped
    found = evaluate(["a", "bb"], ITEMS, same, epsilon=1.5, **given)
    assert found.stopped
    assert found.session.problem.tolerance


def test_many_workers_are_busy_and_cost_little_more() -> None:
    """Bounds for a busy machine; benchmarks/evaluate_pool.py measures."""
    calls = []

    async def slow(arm, item):
        calls.append((arm, item))
        await asyncio.sleep(0.005 + 0.2 * (crc32(f"t{arm}{item}".encode()) % 1000) / 1000)
        return score(arm, item)

    one, many, busy = 0, 0, []
    for seed in range(4):
        given = {"objectives": OBJECTIVES, "seed": seed, "progress": False, "delta": 0.01}
        one += evaluate(list(SKILL), ITEMS, score, workers=1, **given).results
        calls.clear()
        found = evaluate(list(SKILL), ITEMS, slow, workers=16, **given)
        assert found.pareto_set == RIGHT
        assert len(set(calls)) == len(calls)
        many += len(calls)
        busy.append(found.busy)
    assert np.mean(busy) > 0.6
    assert many < 1.3 * one + 4 * 20


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"workers": 0}, "number of workers"),
        ({"retries": -1}, "retries must be"),
        ({"timeout": 0}, "timeout must be"),
        ({"pool": "fibres"}, "unknown kind of pool"),
        ({"pool": "asyncio"}, "awaits a coroutine function"),
        ({"objectives": None}, "needs the objectives"),
    ],
)
def test_what_makes_no_sense_is_refused(given, words) -> None:
    with pytest.raises(InputError, match=words):
        evaluate(list(SKILL), ITEMS, score, **{"objectives": OBJECTIVES, **given})


@pytest.mark.parametrize("given", ["abcd", b"abcd", 4, None])
@pytest.mark.parametrize("kind", ["arm", "item"])
def test_one_text_or_a_number_is_no_list_of_names(kind, given) -> None:
    arms, items = (given, ITEMS) if kind == "arm" else (list(SKILL), given)
    with pytest.raises(InputError, match=f"^{kind}s must be names, or a mapping from names"):
        evaluate(arms, items, score, objectives=OBJECTIVES)


def test_threads_that_hold_a_session_at_the_end_are_no_news() -> None:
    """The core listed what it calls leaks: 40 lines after an evaluation that went well."""
    code = (
        "import threading, time\n"
        "from psips import Problem, Session\n"
        "session = Session(Problem(arms=['a', 'b'], objectives=['x']))\n"
        "hold = lambda s: time.sleep(60)\n"
        "threading.Thread(target=hold, args=(session,), daemon=True).start()\n"
        "session.tell(session.ask(), [1.0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
