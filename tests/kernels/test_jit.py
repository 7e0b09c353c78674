"""Kernels are compiled for kinds of arguments, not for their values."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
from numba.core import types

from psips.kernels.jit import kernel, part


def twice(dispatcher: Any) -> list[tuple[Any, ...]]:
    """Kinds of arguments that a function was compiled for more than once, literals aside."""
    seen = [tuple(types.unliteral(kind) for kind in sig) for sig in dispatcher.overloads]
    return [sig for sig in set(seen) if seen.count(sig) > 1]


def caller(helper: Any, compile: Any) -> Any:
    def call(n: int) -> int:
        return helper(1, True) + helper(2, False) + helper(n, n > 1)  # type: ignore[no-any-return]

    return compile(call)


def choice(x: int, up: bool) -> int:
    return x + 1 if up else x


def test_a_part_is_compiled_once_for_whatever_values() -> None:
    helper = part(choice)
    assert caller(helper, numba.njit)(3) == 8
    assert twice(helper) == []
    assert len(helper.overloads) == 1  # type: ignore[attr-defined]


def test_numba_alone_would_compile_it_for_each() -> None:
    helper = numba.njit(choice)
    assert caller(helper, numba.njit)(3) == 8
    assert twice(helper) != []


def test_a_kernel_called_from_python_too() -> None:
    helper = kernel(choice)
    assert (helper(1, True), helper(2, False)) == (2, 2)
    assert caller(helper, numba.njit)(3) == 8
    assert twice(helper) == []


# The default run of a session, in a process that has nothing compiled yet.
DEFAULT = """
import sys
from psips import Problem, Session
from test_jit import twice

session = Session(Problem(objectives=["a", "b"], covariance=[1, 1], arms=3), rng=1)
for k in range(12):
    arm = session.ask()
    session.tell(arm, [0.1 * k, -0.2 * k])
functions = {
    value
    for name, module in list(sys.modules.items())
    if name.startswith("psips.kernels.")
    for value in vars(module).values()
    if hasattr(value, "overloads") and value.overloads
}
assert len(functions) > 50, len(functions)
found = {f.__name__: twice(f) for f in functions if twice(f)}
assert not found, found
"""


def test_no_kernel_of_a_default_run_is_compiled_twice(tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    subprocess.run(
        [sys.executable, "-c", DEFAULT],
        check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": path},
    )
