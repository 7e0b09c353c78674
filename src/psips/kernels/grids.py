"""Arrays as kernels see them: where they begin and how long they are, and nothing else.

NumPy arrays may be strided, indexed from the end, viewed in a dozen ways; compiled, every
access to one of them is thirty instructions long before it is optimised away again. A grid is
contiguous and indexed by integers from 0, and knows slices of its first axis. The fields of
records are grids; `floats`, `ints` and their like make new ones, filled with zeros. Without
the compiler they are NumPy arrays.

No index is checked, unless NUMBA_BOUNDSCHECK=1 is set: then those of grids are checked as numba
checks those of arrays, and an index out of bounds is an IndexError (`.ci/checked`).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import (
    RefType,
    impl_ret_borrowed,
    impl_ret_new_ref,
    iternext_impl,
    lower_builtin,
)
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    ConcreteTemplate,
    infer_global,
    signature,
)
from numba.extending import infer_getattr, lower_getattr, register_model
from numba.np.arrayobj import make_array, populate_array

from psips.aliases import Floats, Ints, Mask, Stream

_WORD = ir.IntType(64)


class GridType(types.IterableType):
    """The type of a grid: what is in it, and how many axes it has."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype = dtype
        self.ndim = ndim
        super().__init__(name=f"grid({dtype}, {ndim})")

    @property
    def iterator_type(self) -> Any:
        """The type of an iterator."""
        return GridIteratorType(self)


class GridIteratorType(types.common.SimpleIteratorType):
    """The type of an iterator over a grid of one axis."""

    def __init__(self, grid: GridType) -> None:
        self.grid = grid
        super().__init__(f"iter({grid})", grid.dtype)


@register_model(GridType)
class _GridModel(models.StructModel):
    def __init__(self, manager: Any, kind: GridType) -> None:
        members = [
            ("meminfo", types.MemInfoPointer(kind.dtype)),
            ("data", types.CPointer(kind.dtype)),
            *((f"n{k}", types.intp) for k in range(kind.ndim)),
        ]
        super().__init__(manager, kind, members)


@register_model(GridIteratorType)
class _GridIteratorModel(models.StructModel):
    def __init__(self, manager: Any, kind: GridIteratorType) -> None:
        members = [("index", types.EphemeralPointer(types.intp)), ("grid", kind.grid)]
        super().__init__(manager, kind, members)


def make_grid(context: Any, builder: Any, kind: GridType, address: Any, shape: Any) -> Any:
    """Return a grid that owns nothing."""
    grid = cgutils.create_struct_proxy(kind)(context, builder)
    grid.data = builder.inttoptr(address, grid.data.type)
    grid.meminfo = ir.Constant(grid.meminfo.type, None)
    for k in range(kind.ndim):
        setattr(grid, f"n{k}", shape[k])
    return grid._getvalue()


def _item(grid: GridType, index: Any) -> Any:
    """Return the type of what an index leads to, or None."""
    if isinstance(index, types.Integer):
        return grid.dtype if grid.ndim == 1 else GridType(grid.dtype, grid.ndim - 1)
    if isinstance(index, types.SliceType) and not index.has_step:
        return grid
    parts = getattr(index, "types", ())  # of a tuple
    if parts and all(isinstance(part, types.Integer) for part in parts):
        rest = grid.ndim - len(index)
        return grid.dtype if rest == 0 else GridType(grid.dtype, rest) if rest > 0 else None
    return None


@infer_global(operator.getitem)
class _Get(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:  # noqa: ARG002
        grid, index = args
        if isinstance(grid, GridType):
            item = _item(grid, index)
            if item is not None:
                return signature(item, grid, _plain(index))
        return None


@infer_global(operator.setitem)
class _Set(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:  # noqa: ARG002
        grid, index, _ = args
        if isinstance(grid, GridType) and _item(grid, index) == grid.dtype:
            return signature(types.none, grid, _plain(index), grid.dtype)
        return None


def _plain(index: Any) -> Any:
    """Return the type of an index without what is literal in it."""
    if isinstance(index, types.BaseTuple):
        return types.UniTuple(types.intp, len(index))
    return types.intp if isinstance(index, types.Integer) else index


def _lead(context: Any, builder: Any, kind: GridType, value: Any, index: list[Any]) -> Any:
    """Return the grid and a pointer to what an index leads to."""
    grid = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    if context.enable_boundscheck:
        for k, place in enumerate(index):
            cgutils.do_boundscheck(context, builder, place, getattr(grid, f"n{k}"), k)
    return grid, builder.gep(grid.data, [_offset(builder, kind, grid, index)])


def _offset(builder: Any, kind: GridType, grid: Any, index: list[Any]) -> Any:
    """Return how many numbers of a grid come before what an index leads to."""
    offset = index[0]
    for k in range(1, kind.ndim):
        offset = builder.mul(offset, getattr(grid, f"n{k}"), flags=["nsw"])
        if k < len(index):
            offset = builder.add(offset, index[k], flags=["nsw"])
    return offset


def _get(context: Any, builder: Any, sig: Any, args: Any, index: list[Any]) -> Any:
    kind, item = sig.args[0], sig.return_type
    grid, pointer = _lead(context, builder, kind, args[0], index)
    if not isinstance(item, GridType):
        return context.unpack_value(builder, item, pointer)
    view = cgutils.create_struct_proxy(item)(context, builder)
    view.meminfo = grid.meminfo
    view.data = pointer
    for k in range(item.ndim):
        setattr(view, f"n{k}", getattr(grid, f"n{k + kind.ndim - item.ndim}"))
    return impl_ret_borrowed(context, builder, item, view._getvalue())


@lower_builtin(operator.getitem, GridType, types.intp)
def _get_at(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _get(context, builder, sig, args, [args[1]])


@lower_builtin(operator.getitem, GridType, types.UniTuple)
def _get_at_all(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _get(context, builder, sig, args, cgutils.unpack_tuple(builder, args[1]))


@lower_builtin(operator.getitem, GridType, types.SliceType)
def _get_part(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind = sig.args[0]
    part = context.make_helper(builder, sig.args[1], args[1])
    grid = cgutils.create_struct_proxy(kind)(context, builder, value=args[0])
    if context.enable_boundscheck:  # an empty part may begin at the end
        end = builder.add(grid.n0, ir.Constant(_WORD, 1))
        cgutils.do_boundscheck(context, builder, part.start, end, 0)
    pointer = builder.gep(grid.data, [_offset(builder, kind, grid, [part.start])])
    beyond = builder.icmp_signed("<", part.stop, grid.n0)
    stop = builder.select(beyond, part.stop, grid.n0)
    grid.data = pointer
    grid.n0 = builder.sub(stop, part.start)
    return impl_ret_borrowed(context, builder, kind, grid._getvalue())


@lower_builtin(operator.setitem, GridType, types.intp, types.Any)
def _set_at(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    _, pointer = _lead(context, builder, sig.args[0], args[0], [args[1]])
    context.pack_value(builder, sig.args[2], args[2], pointer)


@lower_builtin(operator.setitem, GridType, types.UniTuple, types.Any)
def _set_at_all(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    index = cgutils.unpack_tuple(builder, args[1])
    _, pointer = _lead(context, builder, sig.args[0], args[0], index)
    context.pack_value(builder, sig.args[2], args[2], pointer)


@infer_getattr
class _Attributes(AttributeTemplate):
    key = GridType

    def resolve_shape(self, grid: GridType) -> Any:
        return types.UniTuple(types.intp, grid.ndim)


@lower_getattr(GridType, "shape")
def _shape(context: Any, builder: Any, kind: GridType, value: Any) -> Any:
    grid = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    lengths = [getattr(grid, f"n{k}") for k in range(kind.ndim)]
    return context.make_tuple(builder, types.UniTuple(types.intp, kind.ndim), lengths)


@lower_builtin("getiter", GridType)
def _getiter(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    iterator = context.make_helper(builder, sig.return_type)
    iterator.index = cgutils.alloca_once_value(builder, ir.Constant(_WORD, 0))
    iterator.grid = args[0]
    if context.enable_nrt:
        context.nrt.incref(builder, sig.args[0], args[0])
    return impl_ret_new_ref(context, builder, sig.return_type, iterator._getvalue())


@lower_builtin("iternext", GridIteratorType)
@iternext_impl(RefType.UNTRACKED)
def _iternext(context: Any, builder: Any, sig: Any, args: Any, result: Any) -> None:
    kind = sig.args[0]
    iterator = context.make_helper(builder, kind, value=args[0])
    grid = cgutils.create_struct_proxy(kind.grid)(context, builder, value=iterator.grid)
    index = builder.load(iterator.index)
    valid = builder.icmp_signed("<", index, grid.n0)
    result.set_valid(valid)
    with builder.if_then(valid):
        pointer = builder.gep(grid.data, [index])
        result.yield_(context.unpack_value(builder, kind.grid.dtype, pointer))
        builder.store(builder.add(index, ir.Constant(_WORD, 1)), iterator.index)


def floats(n: int) -> Floats:
    """Return ``n`` numbers."""
    return np.zeros(n)


def floats2(n: int, m: int) -> Floats:
    """Return numbers in ``n`` rows of ``m``."""
    return np.zeros((n, m))


def floats3(n: int, m: int, r: int) -> Floats:
    """Return numbers along three axes."""
    return np.zeros((n, m, r))


def ints(n: int) -> Ints:
    """Return ``n`` integers."""
    return np.zeros(n, np.int64)


def ints2(n: int, m: int) -> Ints:
    """Return integers in ``n`` rows of ``m``."""
    return np.zeros((n, m), np.int64)


def flags(n: int) -> Mask:
    """Return ``n`` booleans."""
    return np.zeros(n, np.bool_)


def words(n: int) -> Stream:
    """Return ``n`` integers without a sign."""
    return np.zeros(n, np.uint64)


def as_grid(array: Any) -> Any:
    """Return a NumPy array that was handed to a kernel as a grid."""
    return array


def as_array(grid: Any) -> Any:
    """Return a grid as the NumPy array that a kernel hands back."""
    return grid


def _teach(function: Any, dtype: Any, ndim: int) -> None:
    """Tell the compiler how a grid is made."""
    kind = GridType(dtype, ndim)

    class Makes(ConcreteTemplate):
        key = function
        cases = (signature(kind, *([types.intp] * ndim)),)

    def make(context: Any, builder: Any, sig: Any, shape: Any) -> Any:  # noqa: ARG001
        count = ir.Constant(_WORD, context.get_abi_sizeof(context.get_data_type(dtype)))
        for length in shape:
            count = builder.mul(count, length)
        grid = cgutils.create_struct_proxy(kind)(context, builder)
        grid.meminfo = context.nrt.meminfo_alloc(builder, count)
        data = context.nrt.meminfo_data(builder, grid.meminfo)
        cgutils.memset(builder, data, count, 0)
        grid.data = builder.bitcast(data, grid.data.type)
        for k in range(ndim):
            setattr(grid, f"n{k}", shape[k])
        return impl_ret_new_ref(context, builder, kind, grid._getvalue())

    infer_global(function, types.Function(Makes))
    lower_builtin(function, *([types.intp] * ndim))(make)


_teach(floats, types.float64, 1)
_teach(floats2, types.float64, 2)
_teach(floats3, types.float64, 3)
_teach(ints, types.int64, 1)
_teach(ints2, types.int64, 2)
_teach(flags, types.boolean, 1)
_teach(words, types.uint64, 1)


@infer_global(as_grid)
class _AsGrid(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:  # noqa: ARG002
        (array,) = args
        return signature(GridType(array.dtype, array.ndim), array)


@lower_builtin(as_grid, types.Array)
def _as_grid(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind = sig.return_type
    array = make_array(sig.args[0])(context, builder, args[0])
    grid = cgutils.create_struct_proxy(kind)(context, builder)
    grid.meminfo, grid.data = array.meminfo, array.data
    for k, length in enumerate(cgutils.unpack_tuple(builder, array.shape)):
        setattr(grid, f"n{k}", length)
    return impl_ret_borrowed(context, builder, kind, grid._getvalue())


@infer_global(as_array)
class _AsArray(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:  # noqa: ARG002
        (grid,) = args
        return signature(types.Array(grid.dtype, grid.ndim, "C"), grid)


@lower_builtin(as_array, GridType)
def _as_array(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind = sig.return_type
    grid = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0])
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    array = make_array(kind)(context, builder)
    shape = [getattr(grid, f"n{k}") for k in range(kind.ndim)]
    strides = [ir.Constant(_WORD, size)]
    for extent in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], extent))
    populate_array(
        array, data=grid.data, shape=shape, strides=strides, itemsize=size, meminfo=grid.meminfo
    )
    return impl_ret_borrowed(context, builder, kind, array._getvalue())
