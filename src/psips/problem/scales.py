"""What the numbers of an objective are: any, within a range, 0 or 1, exact, logarithms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from psips.errors import InputError, check_keys, quote, unknown
from psips.input.quantities import as_float

KEYS = ("direction", "kind", "range", "transform")
KINDS = ("number", "binary", "exact")
TRANSFORMS = ("none", "log")


class Scale(NamedTuple):
    """Which values an objective may have, and whether their logarithms are compared.

    ``exact``: without noise, so that all results of an arm have the same value.

    Examples
    --------
    >>> Scale(range=(0.0, 5.0)).check("score", 6.0)
    Traceback (most recent call last):
    psips.errors.InputError: the value of 'score' must lie between 0 and 5, got 6.0
    """

    range: tuple[float, float] | None = None
    binary: bool = False
    log: bool = False
    exact: bool = False

    @property
    def plain(self) -> bool:
        """Whether nothing is known of the values."""
        return self == Scale()

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest of what is compared; infinite if nothing is known."""
        if self.range is None:
            return -math.inf, math.inf
        low, high = self.range
        return (math.log(low), math.log(high)) if self.log else (low, high)

    def check(self, objective: str, value: float) -> float:
        """Return a value of a result, if it may be one."""
        if self.binary and value not in (0.0, 1.0):
            raise InputError(
                f"the value of {quote(objective)} must be 0 or 1 (it is binary), got {value!r}"
            )
        if self.range is not None and not self.range[0] <= value <= self.range[1]:
            low, high = self.range
            raise InputError(
                f"the value of {quote(objective)} must lie between {low:g} and {high:g}, got "
                f"{value!r}"
            )
        if self.log and not value > 0.0:
            raise InputError(
                f"the value of {quote(objective)} must be positive, since its logarithm is "
                f"taken, got {value!r}"
            )
        return value

    def label(self, objective: str) -> str:
        """Return how an objective is called where its mean is shown."""
        return f"{objective} (mean of log)" if self.log else objective

    def to_dict(self) -> dict[str, Any]:
        """Return what is not as usual, as plain data."""
        return {
            **({"kind": "binary"} if self.binary else {"kind": "exact"} if self.exact else {}),
            **({"range": list(self.range)} if self.range and not self.binary else {}),
            **({"transform": "log"} if self.log else {}),
        }


def read_scale(objective: str, given: Mapping[Any, Any]) -> Scale:
    """Read what an objective's table says of its values.

    Examples
    --------
    >>> read_scale("score", {"range": [0, 5]})
    Scale(range=(0.0, 5.0), binary=False, log=False, exact=False)
    >>> read_scale("latency", {"direction": "min", "transform": "log"}).log
    True
    """
    named = f"objective {quote(objective)}"
    check_keys(f"key of {named}", map(str, given), KEYS)
    kind, transform = given.get("kind", KINDS[0]), given.get("transform", TRANSFORMS[0])
    if kind not in KINDS:
        raise unknown(f"kind of {named}", kind, KINDS)
    if transform not in TRANSFORMS:
        raise unknown(f"transform of {named}", transform, TRANSFORMS)
    ends = _read_range(named, given["range"]) if "range" in given else None
    binary, log = kind == "binary", transform == "log"
    if binary and (ends not in (None, (0.0, 1.0)) or log):
        other = "transform" if log else "range"
        raise InputError(f"{named} is binary, that is 0 or 1: leave out its {other}")
    if log and ends is not None and not ends[0] > 0.0:
        raise InputError(
            f"{named} has the range {ends[0]:g} to {ends[1]:g}, but logarithms need values "
            f"above 0: raise its lower end, or leave out the transform"
        )
    return Scale((0.0, 1.0) if binary else ends, binary, log, kind == "exact")


def _read_range(named: str, given: Any) -> tuple[float, float]:
    pair = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else []
    numbers = [as_float(end) for end in pair]
    low, high = numbers if len(numbers) == 2 else (None, None)
    if low is None or high is None or not (math.isfinite(high - low) and low < high):
        raise InputError(
            f"the range of {named} must be [lowest, highest], two finite numbers, got "
            f"{quote(given)}"
        )
    return low, high
