"""A damaged snapshot is refused in a sentence, or is a session that can be used."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from psips import InputError, Session
from psips._core import COVER_DEPTH as DEPTH
from snapshots import MADE, go_on, whole

HERE = Path(__file__).parent
CASES = 360
HUGE = 2**40


def endings(first: int, last: int) -> list[dict[str, Any]]:
    """How snapshots ended; a process that crashes or hangs is followed by another one."""
    found: list[dict[str, Any]] = []
    while first < last:
        command = [sys.executable, "-X", "faulthandler", str(HERE / "snapshots.py")]
        numbers = [str(number) for number in (first, last, 1)]
        ran = subprocess.run([*command, *numbers], capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        found += [line for line in lines if "name" in line]
        if ran.returncode == 0:
            break
        first = lines[-1]["number"] if lines else first
        wrong = f"the process ended with code {ran.returncode}: {ran.stderr[-2000:]}"
        found.append({"number": first, "wrong": wrong, "refused": ""})
        first += 1
    return found


def test_damaged_snapshots_are_refused_or_can_be_used() -> None:
    found = endings(0, CASES)
    assert [one["number"] for one in found] == list(range(CASES))
    assert {one["number"]: one["wrong"] for one in found if one["wrong"]} == {}
    refused = [one for one in found if one["refused"]]
    assert 0.2 * CASES < len(refused) < 0.9 * CASES


@pytest.mark.parametrize("name", MADE)
def test_an_undamaged_one_is_restored(name: str) -> None:
    go_on(name, json.loads(whole(name)))


def test_the_kinds_of_sessions_have_all_parts_between_them() -> None:
    kept = [json.loads(whole(name)) for name in MADE]
    parts = {key for one in kept for key in one} | {
        key for one in kept for key in one["engine"]
    }
    assert {"items", "exact", "time", "budget", "goal"} <= parts
    assert {
        "sets",
        "accounts",
        "baseline",
        "items",
        "joint",
        "noise_estimate",
        "nearest",
    } <= parts
    assert any(one["engine"]["cover"]["life"][1] > 0 for one in kept)
    assert any(one["engine"]["nearest"][1] for one in kept)
    assert any(one["engine"].get("accounts") for one in kept)


def put(*place: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        for key in place[:-1]:
            data = data[key]
        data[place[-1]] = value

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("default", put("front", "members", 0, value=HUGE)),
        ("default", put("front", "outside", 0, value=-1)),
        ("default", put("front", "dominator", 0, value=4)),
        ("default", put("front", "size", 0, value=5)),
        ("default", put("front", "size", 1, value=HUGE)),
        ("default", put("front", "inside", 0, value=False)),
        ("default", put("nearest", 0, 0, value=HUGE)),
        ("default", put("nearest", 0, 1, value=HUGE)),
        ("default", put("nearest", 0, 1, value=-1)),
        ("default", put("nearest", 0, 2, value=7)),
        ("default", put("nearest", 1, 0, value=-5)),
        ("default", put("nearest", 2, 0, value=HUGE)),
        ("default", put("belief", "tally", 0, value=31)),
        ("default", put("belief", "pulls", 0, value=-3.0)),
        ("default", put("belief", "theta", 0, value=[float("nan"), 0.0])),
        ("default", put("key", 0, value=2**70)),
        ("default", put("cover", "life", 0, value=4)),
        ("default", put("cover", "life", 1, value=HUGE)),
        ("predicted", put("cover", "shape", 0, 0, value=4)),
        ("predicted", put("cover", "shape", 0, 1, value=DEPTH + 1)),
        ("predicted", put("cover", "terms", 0, 0, 0, value=HUGE)),
        ("predicted", put("cover", "terms", 0, 0, 1, value=2)),
        ("predicted", put("cover", "shape", 0, 3, value=2)),
        ("predicted", put("active", value=3)),
        ("predicted", put("accounts", 0, "inside", value=[True])),
        ("predicted", put("accounts", 0, "B1", value=[[0.0, 0.0]])),
        ("certified", put("outcome", 7, value="1e12")),
        ("tolerance", put("sets", "passed", 0, value=HUGE)),
        ("tolerance", put("sets", "chosen", value=[0, 0])),
        ("baseline", put("baseline", "standing", 0, value=9)),
        ("items", put("items", "arms", 0, value=4)),
        ("items", put("items", "where", 0, value=HUGE)),
        ("items", put("items", "place_of", 0, value=[0, HUGE])),
        ("features, missing", put("joint", "arms", 0, value=-1)),
        ("features, missing", put("joint", "arms", 0, value=2**60)),
        ("limits", put("noise_estimate", "C", 2, 1, 1, value=-1.0)),
    ],
)
def test_what_would_point_outside_is_refused(
    name: str, change: Callable[[dict[str, Any]], None]
) -> None:
    data = json.loads(whole(name))
    before = copy.deepcopy(data)
    change(data["engine"])
    assert data != before
    with pytest.raises(InputError, match=r"the snapshot is damaged \(.+\): restore") as error:
        Session.restore(data)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("items", put("items", "told", 0, value=[HUGE])),
        ("items", put("items", "told", value=[])),
        ("items", put("items", "open", value=[[9, 0, 1]])),
        ("items", put("items", "names", 1, value="1")),
        ("listed items", put("items", "names", 0, value="other")),
        ("repeats", put("exact", "rows", 0, 0, value=4)),
        ("repeats", put("exact", "rows", 0, 1, value=[1.0])),
        ("default", put("time", "elapsed", value=float("nan"))),
        ("default", put("time", value=3)),
        ("default", put("problem", "box", value=3)),
        ("default", put("engine", value=[])),
    ],
)
def test_so_is_what_does_not_fit_the_problem(
    name: str, change: Callable[[dict[str, Any]], None]
) -> None:
    data = json.loads(whole(name))
    change(data)
    with pytest.raises(InputError, match="the snapshot is damaged"):
        Session.restore(data)
