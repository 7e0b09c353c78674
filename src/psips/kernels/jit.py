"""The one place that decides how kernels are compiled.

Compiling is what a first run waits for. Whole-array assignments, sorts and products of
NumPy arrays each bring a dozen helpers to compile: kernels on the way to a run are bare
loops instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a kernel: cached on disk, no Python objects, IEEE arithmetic, GIL released."""
    compiled: F = numba.njit(cache=True, nogil=True, fastmath=False, error_model="numpy")(function)
    return compiled


def part(function: F) -> F:
    """Compile a kernel that only other kernels call: no entry from Python, so less to build."""
    compiled: F = numba.njit(
        cache=True,
        nogil=True,
        fastmath=False,
        error_model="numpy",
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(function)
    return compiled


def spliced(function: F) -> F:
    """Paste a kernel into its one caller.

    LLVM optimises everything below a kernel again for each kernel above it; the few large
    ones at the top are therefore pasted together, which halves the time to compile.
    """
    compiled: F = numba.njit(
        cache=True, nogil=True, fastmath=False, error_model="numpy", inline="always"
    )(function)
    return compiled


@intrinsic  # type: ignore[untyped-decorator]
def lent(typingctx: Any, array: Any) -> Any:  # noqa: ARG001
    """View an array without owning it: no reference counting, which costs more than a draw.

    The array must outlive the view; the run's state does, because its engine holds it.
    """
    if not isinstance(array, types.Array):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = cgutils.create_struct_proxy(signature.return_type)(context, builder, value=args[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        return view._getvalue()

    return array(array), codegen
