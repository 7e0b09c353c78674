"""A log of an evaluation: one model, prompt or agent on the samples of one task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MODEL, TASK, FILE = "model", "task", "file"
MOST_SAMPLES = 1_000_000  # of all logs
NAMED = 120  # characters of a setting in the name of an option
WORDS = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0}
WORDS["false"] = 0.0  # scores that are words; C, I, P and N: correct, incorrect, partial, none


@dataclass
class Log:
    """What a log says.

    Parameters
    ----------
    names : mapping
        By which its option may be called: model, task, file, and its settings.
    samples : list of (item, values)
        One for each epoch; a sample that ended in an error has no values.
    marks : dict
        By item what the sample was, as far as the log says, to see whether logs agree.
    ways : dict
        By metric "max" or "min", where the log says it.
    failed : int
        Samples that ended in an error.
    left_out : dict
        Scores that are no numbers.
    state : str
        Empty if the evaluation was completed, else what became of it.
    extra : set of str
        Metrics that are compared only if they are asked for.
    """

    names: Mapping[str, str]
    samples: list[tuple[str, dict[str, float]]] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)
    ways: dict[str, str] = field(default_factory=dict)
    failed: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    state: str = ""
    extra: set[str] = field(default_factory=set)


def score_of(value: Any) -> float | None:
    """Return a score as a number; NaN if it is missing, None if it is none.

    Examples
    --------
    >>> score_of("C"), score_of(True), score_of("0.5"), score_of(None)
    (1.0, 1.0, 0.5, nan)
    >>> score_of("Paris"), score_of([1, 2])
    (None, None)
    """
    if value is None:
        return math.nan
    if isinstance(value, bool | int | float):
        return _finite(value)
    if not isinstance(value, str):
        return None
    word = value.strip().casefold()
    if word in WORDS:
        return WORDS[word]
    try:
        return _finite(word) if len(word) < 40 and "_" not in word else None
    except ValueError:
        return None


def _finite(value: Any) -> float:
    """Return a number, NaN if it is not finite."""
    try:
        number = float(value)
    except OverflowError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def flat(name: str, value: Any) -> dict[str, float | None]:
    """Return the numbers of a score; a score of several has a metric for each."""
    if isinstance(value, Mapping):
        return {f"{name}.{key}": score_of(one) for key, one in value.items()}
    return {name: score_of(value)}


def settings(prefix: str, given: Any) -> dict[str, str]:
    """Return settings as texts by name, those that are short."""
    if not isinstance(given, Mapping):
        return {}
    found = {}
    for key, value in given.items():
        if isinstance(value, str | int | float | bool) and len(str(value)) <= NAMED:
            found[f"{prefix}{key}"] = str(value)
    return found
