"""The parts of an engine as plain data, for snapshots."""

from __future__ import annotations

from typing import Any

import numpy as np

from psips.state.records import Record

_RECORD_FIELDS = ("shape", "terms", "y", "gap", "L", "b", "r", "mass")


def arrays_of(part: Record) -> dict[str, Any]:
    """Return its fields that are arrays, by name."""
    return {k: v for k, v in part.as_dict().items() if isinstance(v, np.ndarray)}


def plain_of(part: Record, used: int | None) -> dict[str, Any]:
    """Arrays as nested lists; of a cover only the ``used`` records."""
    plain = {}
    for name, array in arrays_of(part).items():
        cut = used is not None and name in _RECORD_FIELDS
        plain[name] = (array[:used] if cut else array).tolist()
    return plain


def fill(part: Record, plain: dict[str, Any]) -> None:
    """Write what `plain_of` returned into the arrays."""
    fill_arrays(arrays_of(part), plain)


def fill_arrays(arrays: dict[str, Any], plain: dict[str, Any]) -> None:
    """Write nested lists into arrays by their names; empty ones have none."""
    for name, array in arrays.items():
        if not array.size:
            continue
        values = np.asarray(plain[name], array.dtype)
        if values.size:
            array[: len(values)] = values
