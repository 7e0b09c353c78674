"""Instances that a search found to break a rule: on file, added to and never removed from."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from psips.errors import InputError
from psips.lab.instances import instance


@dataclass(frozen=True)
class Found:
    """A built-in instance that broke a rule, and how often it erred there.

    Parameters
    ----------
    instance : str
    params : dict
        Of the instance, those that are not left as they are by default.
    rule : str
        The rule that broke, by its name in the calibration.
    delta : float
    errors, runs : int
        On seeds that had no part in its being found.
    """

    instance: str
    params: dict[str, Any]
    rule: str
    delta: float
    errors: int
    runs: int


def found_path() -> Path:
    """Return where the instances that were found are kept."""
    return Path(str(files("psips").joinpath("data", "found.json")))


def read_found(path: Path | None = None) -> list[Found]:
    """Return the instances that were found, those of the package by default."""
    path = found_path() if path is None else path
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the found instances {str(path)!r}: {error}") from None
    if not isinstance(entries, list):
        raise InputError(f"{str(path)!r}: expected a list, got {type(entries).__name__}")
    return [_read_entry(path, number, entry) for number, entry in enumerate(entries, start=1)]


def _read_entry(path: Path, number: int, entry: Any) -> Found:
    names = {field.name for field in fields(Found)}
    if not isinstance(entry, dict) or set(entry) != names:
        raise InputError(
            f"{str(path)!r}, entry {number}: expected the keys {', '.join(sorted(names))}, "
            f"got {entry!r}"
        )
    try:
        instance(entry["instance"], **entry["params"])
    except (InputError, TypeError) as error:
        raise InputError(f"{str(path)!r}, entry {number}: {error}") from None
    return Found(**entry)


def add_found(new: Sequence[Found], path: Path | None = None) -> int:
    """Add instances to the file, but for those in it already, and return how many were new."""
    path = found_path() if path is None else path
    every = read_found(path)
    before = len(every)
    known = [(one.instance, one.params) for one in every]
    for one in new:
        if (one.instance, one.params) not in known:
            every.append(one)
            known.append((one.instance, one.params))
    lines = ",\n".join(json.dumps(asdict(one)) for one in every)
    beside = path.with_name(f"{path.name}.part")
    try:
        beside.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        raise InputError(f"cannot add to the found instances {str(path)!r}: {error}") from None
    return len(every) - before
