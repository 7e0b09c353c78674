"""How the compiler reads a record: see `psips.kernels.records`."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    register_model,
    unbox,
)

from psips.kernels.grids import GridType, make_grid
from psips.kernels.records import Record, hints_of

_WORD = ir.IntType(64)
_POINTER = ir.IntType(8).as_pointer()
_SCALARS: dict[Any, Any] = {int: types.int64, float: types.float64, bool: types.boolean}


class RecordType(types.Type):
    """The type of a record: its fields and, for each, the first of its words."""

    def __init__(self, title: str, members: tuple[tuple[str, Any], ...]) -> None:
        self.members = members
        self.places: dict[str, tuple[int, Any]] = {}
        place = 0
        for name, kind in members:
            self.places[name] = place, kind
            place += 1 + (kind.ndim if isinstance(kind, GridType) else 0)
        listed = ", ".join(f"{name}: {kind}" for name, kind in members)
        super().__init__(name=f"{title}({listed})")


@register_model(RecordType)
class _RecordModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _POINTER)


@infer_getattr
class _Fields(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, record: Any, name: str) -> Any:  # type: ignore[override]
        return record.places[name][1] if name in record.places else None


@lower_getattr_generic(RecordType)
def _read(context: Any, builder: Any, record: RecordType, value: Any, name: str) -> Any:
    """Read a field; what was read once need not be read again."""
    place, kind = record.places[name]
    words = builder.bitcast(value, _WORD.as_pointer())

    def word(k: int) -> Any:
        found = builder.load(builder.gep(words, [ir.Constant(ir.IntType(32), place + k)]))
        found.set_metadata("invariant.load", builder.module.add_metadata([]))
        return found

    if isinstance(kind, GridType):
        shape = [word(1 + k) for k in range(kind.ndim)]
        return make_grid(context, builder, kind, word(0), shape)
    if isinstance(kind, RecordType):
        return builder.inttoptr(word(0), _POINTER)
    if kind == types.float64:
        return builder.bitcast(word(0), ir.DoubleType())
    if kind == types.boolean:
        return builder.icmp_unsigned("!=", word(0), ir.Constant(_WORD, 0))
    return word(0)


@unbox(RecordType)
def _hand_over(kind: RecordType, record: Any, c: Any) -> Any:  # noqa: ARG001
    address = c.pyapi.object_getattr_string(record, "address")
    value = c.builder.inttoptr(c.pyapi.long_as_ulonglong(address), _POINTER)
    c.pyapi.decref(address)
    return NativeValue(value)


_KNOWN: dict[tuple[Any, ...], RecordType] = {}


def type_of(one: Record) -> RecordType:
    """Return the type of a record: that of each of its fields."""
    values = one.as_dict()
    key = (type(one), *map(_kind, values.values()))
    if key not in _KNOWN:
        hints = hints_of(type(one))
        members: list[tuple[str, Any]] = []
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                members.append((name, GridType(numba.from_dtype(value.dtype), value.ndim)))
            elif isinstance(value, Record):
                members.append((name, value._numba_type_))
            else:
                members.append((name, _SCALARS[hints[name]]))
        _KNOWN[key] = RecordType(type(one).__name__, tuple(members))
    return _KNOWN[key]


def type_of_all(kind: type[Record]) -> RecordType:
    """Return the type that all records of a class have had so far."""
    (only,) = {found for key, found in _KNOWN.items() if key[0] is kind}
    return only


def _kind(value: Any) -> Any:
    """Return what tells the type of a field from others."""
    if isinstance(value, np.ndarray):
        return value.dtype.char, value.ndim
    return value._numba_type_ if isinstance(value, Record) else None
