"""Compiled code finds a place, and compiling is announced: once, and only if it happens."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import numba
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
    one = min(tmp_path.rglob("*.nbi"))
    one.unlink()  # as if nothing had needed this kernel before
    other = run(SMALL, NUMBA_CACHE_DIR=str(tmp_path))
    assert (other.stderr, other.stdout) == ("", cold.stdout)
    assert one.exists()  # it was compiled
    (mark,) = tmp_path.rglob(compiling.MARK)
    os.utime(mark, (0, 0))  # the kernels have changed since
    one.unlink()
    again = run(SMALL, NUMBA_CACHE_DIR=str(tmp_path))
    assert again.stderr == f"{said}\n"


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


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    """Code that somebody left there would be run as whoever starts psips."""
    shared, private = tmp_path / "shared", tmp_path / "private"
    shared.mkdir()
    shared.chmod(0o777)
    private.mkdir()
    found = run(SMALL, NUMBA_CACHE_DIR=str(shared), TMPDIR=str(private))
    assert list(shared.iterdir()) == []
    (folder,) = private.glob("psips-compiled-*")
    assert found.stdout.splitlines()[1].startswith(str(folder))
    assert f"is kept in {folder}, because another user owns {shared} or can" in found.stderr
    assert found.stderr.count("\n") == 1
    shared.chmod(0o700)
    used = run(SMALL, NUMBA_CACHE_DIR=str(shared), TMPDIR=str(private))
    assert used.stdout.splitlines()[1].startswith(str(shared))


def test_a_folder_that_is_not_there_is_made_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)  # as that for temporary files, where anybody could make it first
    wanted = tmp_path / "compiled"
    found = run(SMALL, NUMBA_CACHE_DIR=str(wanted))
    assert found.stdout.splitlines()[1].startswith(str(wanted))
    assert stat.S_IMODE(wanted.stat().st_mode) == 0o700


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(
    ("mode", "owner", "group", "trusted"),
    [
        (0o700, "me", "me", True),
        (0o755, "me", "other", True),
        (0o775, "me", "me", True),  # a group that is the user's alone
        (0o775, "me", "other", False),
        (0o777, "me", "me", False),
        (0o1777, "me", "me", False),
        (0o755, "root", "root", True),
        (0o755, "source", "other", True),
        (0o777, "root", "root", False),
        (0o700, "other", "other", False),
        (0o755, "other", "me", False),
    ],
)
def test_whom_a_folder_is_trusted_to(
    mode: int,
    owner: str,
    group: str,
    trusted: bool,
    inside: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the folder itself as of those in it, which is where numba puts its files."""
    ids = {"root": 0, "me": 1001, "other": 1002, "source": 1003}
    asked = tmp_path / "numba"
    (asked / "kernels_1").mkdir(parents=True)
    changed = asked / "kernels_1" if inside else asked

    def look(path: str) -> os.stat_result:
        found = list(os.lstat(path))
        found[0], found[4], found[5] = stat.S_IFDIR | 0o700, ids["me"], ids["me"]
        if path == str(changed):
            found[0], found[4], found[5] = stat.S_IFDIR | mode, ids[owner], ids[group]
        elif path == compiling.HERE:
            found[4] = ids["source"]
        return os.stat_result(found)

    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: ids["me"])
        patch.setattr(os, "stat", look)
        found = compiling._trusted(str(asked))
    assert found == trusted


@pytest.mark.parametrize("place", ["source/__pycache__", "cache/numba"])
def test_no_place_is_trusted_for_being_the_usual_one(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, folder = tmp_path / "source", tmp_path / place
    source.mkdir()
    if not place.startswith("source"):
        (source / "__pycache__").touch()  # not a folder, so numba turns to the next place
    folder.mkdir(parents=True)
    monkeypatch.setattr(compiling, "HERE", str(source))
    monkeypatch.setattr(compiling, "_users_cache", lambda: str(tmp_path / "cache" / "numba"))
    monkeypatch.setattr(compiling, "_temporary", "")
    monkeypatch.setattr(compiling, "_reason", "")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(numba.config, "CACHE_DIR", numba.config.CACHE_DIR)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    compiling.prepare_cache()
    assert os.environ["NUMBA_CACHE_DIR"] == ""
    folder.chmod(0o777)
    compiling.prepare_cache()
    private = next(tmp_path.glob("psips-compiled-*"))
    assert os.environ["NUMBA_CACHE_DIR"] == numba.config.CACHE_DIR == str(private)
    assert compiling._reason == f"another user owns {folder} or can write to it"


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
