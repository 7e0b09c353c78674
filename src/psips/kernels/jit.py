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

_njit: Any = numba.njit
_FLAGS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "fastmath": False,
    "error_model": "numpy",
}


def kernel(function: F) -> F:
    """Compile a kernel: cached on disk, no Python objects, IEEE arithmetic, GIL released."""
    compiled: F = _njit(**_FLAGS)(function)
    return compiled


def part(function: F) -> F:
    """Compile a kernel that only other kernels call: no entry from Python, so less to build."""
    compiled: F = _njit(**_FLAGS, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return compiled


def bare(function: F) -> F:
    """Compile a part that counts no references, which costs more than a draw.

    It must neither allocate an array, nor call what does, nor return one.
    """
    compiled: F = _njit(**_FLAGS, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)(
        function
    )
    return compiled


def spliced(function: F) -> F:
    """Paste a kernel into its caller.

    LLVM optimises everything below a kernel again for each kernel above it; the few large
    ones at the top are therefore pasted together, which halves the time to compile.
    """
    compiled: F = _njit(**_FLAGS, inline="always")(function)
    return compiled


@intrinsic
def _lent(typingctx: Any, array: Any) -> Any:  # noqa: ARG001
    if not isinstance(array, types.Array):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        proxy: Any = cgutils
        view = proxy.create_struct_proxy(signature.return_type)(context, builder, value=args[0])
        view.meminfo = proxy.get_null_value(view.meminfo.type)
        return view._getvalue()

    return array(array), codegen


# View an array without owning it: no reference counting, which costs more than a draw. The
# array must outlive the view; the state of a run does, because its engine holds it.
lent: Any = _lent
