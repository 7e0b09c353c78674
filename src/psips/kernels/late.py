"""Parts that are compiled when they are first called, not with what calls them.

A kernel serves every kind of problem, and most people have one kind: what only some need
would keep all waiting. A kernel finds the address of such a part in a cell, a word in memory
that has a name. At first that is the address of a function which has the part compiled, or
taken from disk, writes its address into the cell, and calls it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, get_type_hints

from llvmlite import binding, ir
from numba.core import config, types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

from psips.kernels.jit import step
from psips.kernels.pointers import type_of_all

F = TypeVar("F", bound=Callable[..., Any])

_KINDS: dict[Any, Any] = {int: types.int64, float: types.float64}
_IN_C: dict[Any, Any] = {int: ctypes.c_int64, float: ctypes.c_double}
_WORD = ir.IntType(64)


def late(function: F) -> F:
    """Have kernels compile a part when they first call it.

    It takes records and numbers, as its hints say, and returns a number.
    """
    if vars(config)["DISABLE_JIT"]:
        return function
    hints = get_type_hints(function)
    found = hints.pop("return")
    compiled: Any = step(function)
    native = ctypes.CFUNCTYPE(
        _IN_C[found], *(_IN_C.get(hint, ctypes.c_void_p) for hint in hints.values())
    )
    cell = ctypes.c_int64()

    def first(*args: Any) -> Any:
        kinds = tuple(_KINDS.get(hint) or type_of_all(hint) for hint in hints.values())
        compiled.compile(kinds)
        one = compiled.overloads[kinds]
        name = one.fndesc.llvm_cfunc_wrapper_name
        cell.value = one.library.get_pointer_to_function(name)
        return native(cell.value)(*args)

    calls_first = native(first)
    cell.value = ctypes.cast(calls_first, ctypes.c_void_p).value or 0
    symbol = f"{function.__module__}.{function.__qualname__}.cell"
    binding.add_symbol(symbol, ctypes.addressof(cell))

    @wraps(function)
    def stand_in(*args: Any) -> Any:
        return compiled(*args)

    @infer_global(stand_in, typing_key=symbol)
    class _Stands(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:  # noqa: ARG002
            pairs = zip(args, hints.values(), strict=True)
            return signature(_KINDS[found], *(_KINDS.get(hint, arg) for arg, hint in pairs))

    @lower_builtin(symbol, types.VarArg(types.Any))
    def _jump(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = builder.load(context.get_c_value(builder, _WORD, symbol))
        returned = context.get_value_type(sig.return_type)
        kind = ir.FunctionType(returned, [one.type for one in args])
        return builder.call(builder.inttoptr(place, kind.as_pointer()), args)

    kept: Any = stand_in
    kept.kept = calls_first, cell  # for as long as there are kernels that call them
    kept.compiled = compiled
    made: F = kept
    return made
