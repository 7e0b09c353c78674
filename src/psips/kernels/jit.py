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
