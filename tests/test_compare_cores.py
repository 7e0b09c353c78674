"""The comparison of cores says what differs: `benchmarks/compare_cores.py`."""

from __future__ import annotations

import importlib.util
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[1] / "benchmarks" / "compare_cores.py"
SPEC = importlib.util.spec_from_file_location("compare_cores", FILE)
assert SPEC is not None
assert SPEC.loader is not None
cores = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(cores)


def record() -> dict[str, Any]:
    """A record as a run leaves it."""
    number = 0.1
    return {
        "case": "group/one",
        "error": "",
        "rounds": 3,
        "asks": "0 1 2",
        "found": {
            "judged": [f"{number.hex()} inf - nan", f"{(2 * number).hex()} inf - nan"],
            "end": {"results": 3, "stopped": True, "candidate_set": ["A"], "x": number.hex()},
        },
        "cpu": 0.5,
    }


def set_ask(other: dict[str, Any]) -> None:
    other["asks"] = "0 2 2"


def drop_ask(other: dict[str, Any]) -> None:
    other["asks"] = "0 1"


def round_number(other: dict[str, Any]) -> None:
    other["found"]["end"]["x"] = (0.1 + 2e-17).hex()


def change_number(other: dict[str, Any]) -> None:
    other["found"]["judged"][1] = f"{(0.3).hex()} inf - nan"


def lose_number(other: dict[str, Any]) -> None:
    other["found"]["judged"][1] = "nan inf - nan"


def change_set(other: dict[str, Any]) -> None:
    other["found"]["end"]["candidate_set"] = ["A", "B"]


def fail(other: dict[str, Any]) -> None:
    other["error"] = "InputError: no"


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (lambda other: None, "equal", ""),
        (round_number, "rounding", "end.x"),
        (change_number, "fields", "judged[1].0: 0.2 and 0.3, relative 0.33"),
        (lose_number, "fields", "judged[1].0"),
        (change_set, "fields", "end.candidate_set"),
        (set_ask, "asks", "ask 2 differs: arm 1 in A, 2 in B"),
        (drop_ask, "asks", "ask 3 differs: arm 2 in A, none in B"),
        (fail, "error", "B: InputError: no"),
    ],
)
def test_every_difference_is_named(change: Any, kind: str, words: str) -> None:
    one, other = record(), deepcopy(record())
    change(other)
    verdict = cores.compared(one, other)
    assert verdict.kind == kind
    assert words in "; ".join(verdict.words)


def test_rounding_is_one_unit_in_the_last_place() -> None:
    other = record()
    round_number(other)
    assert other != record()  # else the test above could not fail


def test_the_summary_counts_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    lines = [{**record(), "case": f"group/{k}"} for k in range(3)]
    a.write_text("\n".join(map(json.dumps, lines)))
    assert cores.diff(a, a, False)
    set_ask(lines[1])
    b.write_text("\n".join(map(json.dumps, lines[:2])))
    assert not cores.diff(a, b, False)
    said = capsys.readouterr().out
    assert "group/1: asks" in said
    assert "group/2: missing" in said
    assert said.splitlines()[-3].split()[:8] == ["all", *"3100101"]


def test_a_field_that_one_core_lacks_is_no_difference() -> None:
    one, other = record(), record()
    one["found"]["end"]["ratio"] = "0x1p0"
    verdict = cores.compared(one, other)
    assert verdict.kind == "equal"
    assert verdict.words == ["only in one: end.ratio"]
