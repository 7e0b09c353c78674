"""Samples of lm-evaluation-harness: ``samples_TASK_DATE.jsonl``, a line for each question."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from psips.errors import InputError, quote
from psips.evaluation.log import FILE, MODEL, TASK, Log, score_of
from psips.input.files import read_text, shown
from psips.input.strict_json import read_json

NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.\-]+)")
PLAIN = ("none", "")  # names of a filter that does nothing
GIVEN = "metrics"  # the key with the names of the metrics; logs of old versions lack it
NO_METRICS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"}
HASHES = "_hash"  # at the end of keys that are no metrics either


def looks_like_lm_eval(head: bytes) -> bool:
    """Whether the first bytes of a file are those of samples."""
    return head.lstrip().startswith(b"{") and b'"doc_id"' in head


def read_lm_eval(path: Path) -> Log:
    """Read the samples of a task, and of the results next to them the model and directions."""
    named = NAME.fullmatch(path.stem)
    task = named["task"] if named else path.stem
    results = _results(path, named["date"] if named else "")
    model = str(results.get("model_name") or "") or path.resolve().parent.name
    found = Log({MODEL: model, TASK: task, FILE: f"{path.resolve().parent.name}/{path.stem}"})
    rows = [_row(path, number, line) for number, line in _lines(path)]
    filters = {str(row.get("filter", "")) for row in rows}
    several = len(filters) > 1
    by_item: dict[tuple[str, str], list[dict[str, float]]] = {}
    for row in rows:
        kept = str(row.get("filter", ""))
        suffix = f",{kept}" if several or kept not in PLAIN else ""
        item = str(row["doc_id"])
        metrics = row.get(GIVEN)
        if not isinstance(metrics, list):
            metrics = [k for k in row if k not in NO_METRICS and not k.endswith(HASHES)]
        values = {}
        for metric in map(str, metrics):
            value = score_of(row.get(metric))
            if value is None:
                found.left_out[f"{metric}{suffix}"] = "is no number for each question"
            else:
                values[f"{metric}{suffix}"] = value
        by_item.setdefault((item, kept), []).append(values)
        found.marks.setdefault(item, str(row.get("doc_hash", "")))
    merged: dict[str, list[dict[str, float]]] = {}
    for (item, _), several_values in by_item.items():
        into = merged.setdefault(item, [])
        for place, values in enumerate(several_values):
            if place == len(into):
                into.append({})
            into[place].update(values)
    found.samples = [(item, values) for item, each in merged.items() for values in each]
    for metric, higher in _mapping(_mapping(results.get("higher_is_better")).get(task)).items():
        if isinstance(higher, bool):
            for known in {m for _, values in found.samples for m in values}:
                if known.partition(",")[0] == metric:
                    found.ways[known] = "max" if higher else "min"
    return found


def _lines(path: Path) -> list[tuple[int, str]]:
    text = read_text("the samples", path)
    return [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]


def _row(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = read_json(line, constants=True)
    except InputError as error:
        raise InputError(f"{shown(path)} line {number} cannot be read: {error}") from None
    if not isinstance(row, dict) or "doc_id" not in row:
        raise InputError(
            f"{shown(path)} line {number} is not a sample of lm-evaluation-harness: it has no "
            f"'doc_id', but {quote(line[:60])}"
        )
    return row


def _results(path: Path, date: str) -> dict[str, Any]:
    """Return the results that were written with the samples, if they are there."""
    beside = path.with_name(f"results_{date}.json")
    if not date or not beside.is_file():
        return {}
    try:
        return _mapping(read_json(read_text("the results", beside), constants=True))
    except InputError:
        return {}


def _mapping(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}
