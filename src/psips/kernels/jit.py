"""The one place that decides how kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

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
