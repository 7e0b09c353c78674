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
BESIDE = ("lowest", "sanitized", "nocompiler")


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


def checkout(folder: Path, python: str, scripts: dict[str, str]) -> dict[str, str]:
    """Write a checkout in which only `.ci/run` is real; return the environment to run it in."""
    tools = folder / "tools"
    tools.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    (tools / "env").symlink_to(shutil.which("env") or "")
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    for name in ("pip", "ruff", "lint-imports", "mypy"):
        script(folder / ".venv" / "bin" / name, "exit 0")
    script(folder / ".venv" / "bin" / "python", python)
    for name, text in scripts.items():
        script(folder / ".ci" / name, text)
    return {"PATH": str(tools), "TMPDIR": str(folder)}


def run(folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(folder / ".ci" / "run")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("failing", [None, *BESIDE])
def test_a_failing_script_fails_the_whole(failing: str | None, tmp_path: Path) -> None:
    """And what it printed is shown, with its name; of the others nothing."""
    scripts = {name: f"echo said by {name}; exit {int(name == failing)}" for name in BESIDE}
    ran = run(tmp_path, checkout(tmp_path, "exit 0", scripts))
    if failing is None:
        assert ran.returncode == 0, ran.stderr
        assert "said by" not in ran.stdout
    else:
        assert ran.returncode == 1
        assert f"said by {failing}\n" in ran.stdout
        assert f"see .ci/{failing}\n" in ran.stdout
        assert ran.stdout.count("said by") == 1


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_failing_test_ends_what_runs_beside(tmp_path: Path) -> None:
    """The scripts that check something else, with all that they started."""
    started_all = " && ".join(f"[ -s {name}.pid ]" for name in BESIDE)
    tests = f'case "$*" in *pytest*) until {started_all}; do sleep 0.05; done; exit 3;; esac'
    scripts = {
        name: f"sleep 120 &\necho $! > {name}.new\ncat {name}.new > {name}.pid\nwait"
        for name in BESIDE
    }
    ran = run(tmp_path, checkout(tmp_path, tests, scripts))
    started = [int((tmp_path / f"{name}.pid").read_text()) for name in BESIDE]
    try:
        assert ran.returncode == 3, ran.stderr
        end = time.monotonic() + 10.0
        while any(map(alive, started)) and time.monotonic() < end:
            time.sleep(0.05)
        assert [alive(one) for one in started] == [False] * len(BESIDE)
    finally:
        for one in started:
            if alive(one):
                os.kill(one, 9)
