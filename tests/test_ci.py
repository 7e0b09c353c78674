"""The script that runs all checks: what it leaves behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("bash", "cat", "dirname", "id", "mktemp", "nice", "rm", "sh", "sleep")


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{text}\n")
    path.chmod(0o755)


def alive(process: int) -> bool:
    """Whether a process is there, and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_failing_test_ends_what_runs_beside(tmp_path: Path) -> None:
    """The tests with checked indices and the lowest versions, with all that they started."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    (tools / "env").symlink_to(shutil.which("env") or "")
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    for name in ("pip", "ruff", "lint-imports", "mypy"):
        script(tmp_path / ".venv" / "bin" / name, "exit 0")
    both = "[ -s lowest.pid ] && [ -s checked.pid ]"
    tests = f'case "$*" in *pytest*) until {both}; do sleep 0.05; done; exit 3;; esac'
    script(tmp_path / ".venv" / "bin" / "python", tests)
    for name in ("lowest", "checked"):
        script(tmp_path / ".ci" / name, f"sleep 120 &\necho $! > {name}.new\n"
               f"cat {name}.new > {name}.pid\nwait")  # fmt: skip
    ran = subprocess.run(
        [str(tmp_path / ".ci" / "run")],
        env={"PATH": str(tools), "TMPDIR": str(tmp_path)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    started = [int((tmp_path / f"{name}.pid").read_text()) for name in ("lowest", "checked")]
    try:
        assert ran.returncode == 3, ran.stderr
        end = time.monotonic() + 10.0
        while any(map(alive, started)) and time.monotonic() < end:
            time.sleep(0.05)
        assert [alive(one) for one in started] == [False, False]
    finally:
        for one in started:
            if alive(one):
                os.kill(one, 9)
