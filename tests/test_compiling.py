"""Compiled code finds a place, and compiling is announced: once, and only if it happens."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from psips import compiling
from warming import compile_first

SMALL = """
import numpy as np
import psips.session
from psips.kernels.belief import spans
print(spans(np.eye(2), np.ones(2)), spans(np.eye(2), np.zeros(2)))
print(spans._cache.cache_path)
"""
# As if neither the installation nor the home folder could be written to.
READ_ONLY = """
import os, tempfile
made, access, temporary = os.makedirs, os.access, tempfile.TemporaryFile
def fixed(path):
    return not os.path.abspath(path).startswith(os.environ["WRITABLE"])
def refuse(call, path, *more, **others):
    if fixed(path):
        raise PermissionError(13, "Permission denied", path)
    return call(path, *more, **others)
os.makedirs = lambda path, *a, **k: refuse(made, path, *a, **k)
os.access = lambda path, mode, **k: not fixed(path) and access(path, mode, **k)
tempfile.TemporaryFile = lambda *a, dir=None, **k: refuse(lambda _: temporary(*a, dir=dir), dir)
"""


def run(code: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**environment, **settings},
    )


def test_said_once_and_only_when_compiling(tmp_path: Path) -> None:
    cold = run(SMALL, NUMBA_CACHE_DIR=str(tmp_path))
    said = "psips: compiling for the first time on this machine, which takes up to a minute"
    assert cold.stderr == f"{said}\n"
    warm = run(SMALL, NUMBA_CACHE_DIR=str(tmp_path))
    assert warm.stderr == ""
    assert warm.stdout == cold.stdout


def test_an_installation_that_cannot_be_written_to(tmp_path: Path) -> None:
    settings = {"TMPDIR": str(tmp_path), "WRITABLE": str(tmp_path), "HOME": "/nowhere"}
    cold = run(READ_ONLY + SMALL, **settings)
    (folder,) = tmp_path.glob("psips-compiled-*")
    assert cold.stdout.splitlines()[1].startswith(str(folder))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert cold.stderr.count("\n") == 1
    assert f"compiled code is kept in {folder}" in cold.stderr
    warm = run(READ_ONLY + SMALL, **settings)
    assert (warm.stderr, warm.stdout) == ("", cold.stdout)


def test_nobody_else_can_put_code_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first = Path(compiling._temporary_folder())
    assert Path(compiling._temporary_folder()) == first
    first.chmod(0o777)
    second = Path(compiling._temporary_folder())
    assert second != first
    assert stat.S_IMODE(second.stat().st_mode) == 0o700
    first.rmdir()
    first.symlink_to(second)
    assert Path(compiling._temporary_folder()) not in (first, second)


# A study before its first result, of every kind of problem, asked for more than it has arms.
FRESH = """
import psips
from numba.core import event

unrelated = psips.Problem(objectives=["a"], covariance=[1], arms=4)
rows = [[x, x * x] for x in (0.0, 0.3, 0.7, 1.1, 1.9, 2.0, 3.1)]
linear = psips.Problem(objectives=["a"], covariance=[1], features=rows)
bounded = psips.Problem(
    objectives=["a"], covariance=[1], features=rows, parameter_set=psips.Ball(3.0)
)
with event.install_recorder("numba:compile") as compiled:
    for problem in (unrelated, linear, bounded):
        for stopping in ("glr", "posterior", "certified", "predicted", "bayes"):
            try:
                study = psips.Study.create(
                    problem, "sqlite://", name="trial", seed=1, stopping=stopping
                )
            except psips.NoProofError:
                continue
            study.ask(12)
            print(study.status())
            study.diagnosis()
    assert compiled.buffer == [], compiled.buffer
"""
# What the recorder sees of a kernel that is needed.
NEEDED = """
    import numpy as np
    from psips.kernels.belief import spans
    spans(np.eye(2), np.ones(2))
    assert compiled.buffer != []
"""


def test_a_study_without_results_compiles_nothing(tmp_path: Path) -> None:
    run(FRESH + NEEDED, NUMBA_CACHE_DIR=str(tmp_path))


def test_tests_do_not_wait_for_a_compiler_that_hangs() -> None:
    begin = time.monotonic()
    with pytest.raises(pytest.exit.Exception, match="compiling the kernels took longer"):
        compile_first("import time; time.sleep(60)", 0.5)
    assert time.monotonic() - begin < 30
    with pytest.raises(pytest.exit.Exception, match="failed with exit code 7"):
        compile_first("raise SystemExit(7)", 30)
    compile_first("pass", 30)
