"""Kernels are compiled for kinds of arguments, not for their values."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core import types

from psips.kernels.jit import kernel, part, stamp


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


# A part in one file, kernels in two others. What is compiled is told by name.
FILES = {
    "low.py": """
from psips.kernels.jit import part, standing

@part
def add(x: int) -> int:
    return x + 1

@standing
@part
def double(x: int) -> int:
    return 2 * add(x)
""",
    "one.py": """
from psips.kernels.jit import kernel
from low import add, double

@kernel
def first(x: int) -> int:
    return double(x) + add(x)
""",
    "two.py": """
from psips.kernels.jit import kernel
from low import add, double

@kernel
def second(x: int) -> int:
    return double(x) - add(x)
""",
    "three.py": """
from psips.kernels.jit import kernel
from psips.kernels.late import late
from low import add

@late
def seldom(x: float, y: int) -> float:
    return add(y) + 0.5 * x

@kernel
def third(x: int) -> float:
    total = 0.0
    for k in range(x):
        total += seldom(k, x) if x > 3 else 1.0
    return total
""",
}
RUN = """
import sys
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    from {module} import {name}
    found = {name}({given})
print(found, *sorted({{e.data["dispatcher"].py_func.__name__ for _, e in compiled.buffer}}))
"""


def compiled_by(folder: Path, module: str, name: str, given: int = 3) -> list[str]:
    """Call a kernel in a process of its own; its result, and what was compiled for it."""
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": path}
    code = RUN.format(module=module, name=name, given=given)
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env=environment,
        capture_output=True,
        text=True,
    )
    return done.stdout.split()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_what_one_kernel_compiled_another_finds(folder: Path) -> None:
    assert compiled_by(folder, "one", "first") == ["12", "add", "double", "first"]
    assert compiled_by(folder, "two", "second") == ["4", "second"]
    assert compiled_by(folder, "one", "first") == ["12"]
    assert compiled_by(folder, "two", "second") == ["4"]


@pytest.mark.parametrize("lost", ["low.add*", "low.double*", "low.*", "one.*"])
def test_a_cache_that_lost_files_is_filled_again(folder: Path, lost: str) -> None:
    compiled_by(folder, "one", "first")
    compiled_by(folder, "two", "second")
    for file in (folder / "cache").rglob(lost):
        file.unlink()
    assert compiled_by(folder, "two", "second")[0] == "4"
    assert compiled_by(folder, "one", "first")[0] == "12"
    assert compiled_by(folder, "one", "first") == ["12"]


def test_the_cache_is_of_these_kernels_alone(tmp_path: Path) -> None:
    before = stamp(tmp_path)
    (tmp_path / "one.py").write_text("x = 1\n")
    between = stamp(tmp_path)
    (tmp_path / "one.py").write_text("x = 12\n")
    assert len({before, between, stamp(tmp_path)}) == 3


def test_what_is_late_is_compiled_when_it_is_called(folder: Path) -> None:
    assert compiled_by(folder, "three", "third") == ["3.0", "third"]
    (total,) = compiled_by(folder, "three", "third", 2)
    assert total == "2.0"
    assert compiled_by(folder, "three", "third", 4) == ["23.0", "add", "seldom"]
    assert compiled_by(folder, "three", "third", 4) == ["23.0"]


@pytest.mark.parametrize("collecting", [True, False])
def test_the_collector_is_as_it_was_after_compiling(collecting: bool) -> None:
    @kernel
    def fresh(x: int) -> int:
        return x + 1

    before = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        assert fresh(1) == 2
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if before else gc.disable)()


def test_any_changed_kernel_makes_the_cache_stale(folder: Path) -> None:
    compiled_by(folder, "one", "first")
    changed = RUN.replace("import sys", "import psips.kernels.jit as jit; jit.STAMP += (0,)")
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", changed.format(module="one", name="first", given=3)],
        check=True,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["12", "add", "double", "first"]


# Reads and writes one place beyond each kind of array, in parts that steps would call too.
OUTSIDE = """
import numpy as np
from psips.kernels.grids import as_grid, floats, floats2
from psips.kernels.jit import bare, kernel, part

@bare
def read(x, k):
    return x[k]

@part
def write(x, i, j):
    x[i, j] = 1.0
    return x[0, 0]

@kernel
def array(x, k):
    return x[k]

@kernel
def grid(x, k):
    return read(as_grid(x), k)

@kernel
def made(k):
    return write(floats2(2, 3), 1, k)

@kernel
def row(k):
    return floats2(2, 3)[1][k]

@kernel
def beyond(k):
    return floats(3)[k:].shape[0]

x = np.zeros(3)
for call in (lambda k: array(x, k), lambda k: grid(x, k), made, row, beyond):
    call(2)
    for k in (4, -1):
        if call is not beyond and k == 4:
            k = 3
        try:
            call(k)
        except IndexError:
            print("caught")
"""


def test_checks_of_every_index_can_be_switched_on(tmp_path: Path) -> None:
    script = tmp_path / "outside.py"
    script.write_text(OUTSIDE)
    settings = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, str(script)], env=settings, capture_output=True, text=True, check=False
    )
    assert ran.stdout.split() == ["caught"] * 9, ran.stdout + ran.stderr
