"""Records: what the core reads and changes, handed to it as one pointer.

A record is a block of 64-bit words in memory: for an array its address and its extents, for
another record its address, for a number the number. It never changes: arrays are changed in
place, and everything else is constant. `src/core/records.h` has a struct of the same layout for
each. The core owns nothing that it reaches through a record; the object in Python must live as
long as the call.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, dataclass_transform, get_type_hints

import numpy as np

from psips._core import layout
from psips.aliases import Floats, Ints, Mask, Stream


@dataclass_transform(frozen_default=True)
def record(cls: type) -> Any:
    """Make a class a record; its fields are arrays, numbers, booleans or other records."""
    return dataclass(frozen=True, eq=False)(cls)


_DTYPES: dict[Any, np.dtype[Any]] = {
    Floats: np.dtype(np.float64),
    Ints: np.dtype(np.int64),
    Mask: np.dtype(np.bool_),
    Stream: np.dtype(np.uint64),
}
_HINTS: dict[type, dict[str, Any]] = {}


def hints_of(cls: type) -> dict[str, Any]:
    """Return the types of the fields as they are written down."""
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls]


@cache
def _layout() -> dict[str, tuple[int, dict[str, int]]]:
    return layout()


def _check(name: str, value: Any, hint: Any) -> None:
    """Refuse what the core would read as something else."""
    dtype = _DTYPES.get(hint)
    if dtype is not None:
        if not isinstance(value, np.ndarray) or value.dtype != dtype:
            kind = getattr(value, "dtype", type(value).__name__)
            raise TypeError(f"{name} must be an array of {dtype}, not {kind}")
        return
    nested = isinstance(hint, type) and issubclass(hint, Record)
    if nested and not isinstance(value, hint):
        raise TypeError(f"{name} must be a {hint.__name__}, not {type(value).__name__}")


class Record:
    """Base of the dataclasses that kernels see as one pointer."""

    def __post_init__(self) -> None:
        hints = hints_of(type(self))
        for name, value in self.as_dict().items():
            _check(f"{type(self).__name__}.{name}", value, hints[name])
            fits = not isinstance(value, np.ndarray) or value.flags.carray
            if not fits:
                object.__setattr__(self, name, np.array(value, order="C"))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.as_dict().values())

    def as_dict(self) -> dict[str, Any]:
        """Fields by name, not copied."""
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]

    @cached_property
    def _block(self) -> np.ndarray[Any, Any]:
        hints = hints_of(type(self))
        size, places = _layout()[type(self).__name__]
        words: list[int] = []
        for name, value in self.as_dict().items():
            if len(words) != places[name]:
                raise ValueError(
                    f"what is before {type(self).__name__}.{name} has other extents"
                )
            if isinstance(value, np.ndarray):
                words += [value.ctypes.data, *value.shape]
            elif isinstance(value, Record):
                words.append(value.address)
            elif hints[name] is float:
                words.append(int(np.float64(value).view(np.int64)))
            else:
                words.append(int(value))
        if len(words) != size:
            raise ValueError(f"the last array of {type(self).__name__} has other extents")
        return np.array(words, np.int64)

    @cached_property
    def address(self) -> int:
        """Where the block is."""
        return int(self._block.ctypes.data)
