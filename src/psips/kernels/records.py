"""Records: what kernels read and change, passed to them as one pointer.

A kernel with the whole state of a run as arguments would be handed hundreds of numbers, an
array being a pointer, a shape and strides; compiling would spend most of its time on them.
A record keeps them in a block of memory instead, which never changes: arrays are changed in
place, and everything else is constant. Kernels own nothing that they reach through a record,
so no references are counted; the object in Python must live as long as the call.
`psips.kernels.pointers` tells the compiler how to read one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, dataclass_transform, get_type_hints

import numpy as np


@dataclass_transform(frozen_default=True)
def record(cls: type) -> Any:
    """Make a class a record; its fields are arrays, numbers, booleans or other records."""
    return dataclass(frozen=True, eq=False)(cls)


_HINTS: dict[type, dict[str, Any]] = {}


def hints_of(cls: type) -> dict[str, Any]:
    """Return the types of the fields as they are written down."""
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls]


class Record:
    """Base of the dataclasses that kernels see as one pointer."""

    def __post_init__(self) -> None:
        for name, value in self.as_dict().items():
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
        words: list[int] = []
        for name, value in self.as_dict().items():
            if isinstance(value, np.ndarray):
                words += [value.ctypes.data, *value.shape]
            elif isinstance(value, Record):
                words.append(value.address)
            elif hints[name] is float:
                words.append(int(np.float64(value).view(np.int64)))
            else:
                words.append(int(value))
        return np.array(words, np.int64)

    @cached_property
    def address(self) -> int:
        """Where the block is."""
        return int(self._block.ctypes.data)

    @cached_property
    def _numba_type_(self) -> Any:
        from psips.kernels.pointers import type_of  # the compiler: import where it is used

        return type_of(self)
