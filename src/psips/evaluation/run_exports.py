"""What ``psips run --export FILE.json`` wrote, as a table: options by rounds.

Rounds of two files are not the same items: what they have in common, the state of the machine,
is of one file alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from psips.errors import InputError, quote
from psips.evaluation.scores import Scores, arranged
from psips.input.files import read_text, shown
from psips.input.strict_json import read_json

MARKS = (b'"ended"', b'"candidate_set"')  # in the first bytes


def looks_like_run(head: bytes) -> bool:
    """Whether the first bytes of a JSON file are those of an export."""
    return all(mark in head for mark in MARKS)


def read_run(path: Path, metrics: list[str]) -> Scores:
    """Read the measurements of an export."""
    name = shown(path)
    try:
        data = read_json(read_text("the export", path))
    except InputError as error:
        raise InputError(f"the export {name} cannot be read: {error}") from None
    samples, known = _list(data, "samples"), _list(data, "metrics")
    if not samples or not known:
        raise InputError(f"{name} has no measurements: export it with psips run again")
    about = {str(one.get("name")): one for one in known if isinstance(one, dict)}
    chosen = metrics or list(about)
    for metric in chosen:
        if metric not in about:
            raise InputError(f"{name} has no metric {quote(metric)}: it has {', '.join(about)}")
    cells: dict[tuple[str, tuple[str, ...]], list[list[float]]] = {}
    for number, one in enumerate(samples, start=1):
        if not (isinstance(one, dict) and isinstance(one.get("option"), str)):
            raise InputError(f"{name}: measurement {number} names no option")
        values = [one.get(metric) for metric in chosen]
        if not all(isinstance(value, int | float | None) for value in values):
            raise InputError(f"{name}: measurement {number} has values that are not numbers")
        row = [float("nan") if value is None else float(value) for value in values]
        item = f"{path}, round {one.get('round')}"
        cells.setdefault((one["option"], (item,)), []).append(row)
    ratios = tuple(m for m in chosen if about[m].get("logarithms") is True)
    ways = {m: str(about[m].get("direction")) for m in chosen}
    return arranged(cells, chosen, {}, 0, ratios)._replace(
        ways={m: way for m, way in ways.items() if way in ("max", "min")}, ratios=ratios
    )


def _list(data: Any, key: str) -> list[Any]:
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, list) else []
