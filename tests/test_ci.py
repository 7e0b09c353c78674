"""The script that runs all checks: what it leaves behind."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
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
    """Write a checkout whose `.ci/run` is real, but not its tools; return its environment."""
    tools = folder / "tools"
    tools.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    (tools / "env").symlink_to(shutil.which("env") or "")
    (folder / ".ci").mkdir()
    for name in ("run", "install", "python"):
        shutil.copy(ROOT / ".ci" / name, folder / ".ci" / name)
    script(folder / ".ci" / "workflows", "exit 0")
    for name in ("ruff", "lint-imports", "mypy"):
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
def test_a_failing_test_ends_the_parallel_jobs(tmp_path: Path) -> None:
    """The scripts that check something else, with all that they started."""
    started_all = " && ".join(f"[ -s {name}.pid ]" for name in BESIDE)
    waits = f"until {started_all}; do sleep 0.05; done; exit 3"
    tests = f'case "$*" in "-m pytest"*) {waits};; esac'
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


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
COMMAND = re.compile(r"^ *(?:- )?run: (.*)$", re.M)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_only_calls_scripts(workflow: Path) -> None:
    """What a step does is in `.ci` or `docs`, so that it can be run on any machine."""
    for command in COMMAND.findall(workflow.read_text()):
        called = [word for word in command.split() if re.search(r"^\.ci/|\.py$", word)]
        assert called[:1] == command.split()[:1], f"{command!r} begins with no script of .ci"
        for name in called:
            assert (ROOT / name).exists(), f"{command!r} calls {name}, which is not there"


def test_what_is_claimed_is_in_the_job_list() -> None:
    """Each Python of a classifier is tried on each system, and each wheel on each of them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    claimed = re.findall(
        r"Python :: (3\.\d+)$", "\n".join(project["project"]["classifiers"]), re.M
    )
    assert claimed
    jobs = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    listed = re.findall(r"\d\.\d+", re.search(r"python: \[(.*)\]", jobs)[1])  # type: ignore[index]
    assert set(claimed) <= set(listed)
    built = project["tool"]["cibuildwheel"]["build"]
    assert {f"cp{python.replace('.', '')}-*" for python in claimed} <= set(built)


def release(folder: Path, tag: str, **texts: str) -> subprocess.CompletedProcess[str]:
    """Run `.ci/release.py` in a checkout with these files."""
    files = {
        "pyproject.toml": '[project]\nversion = "1.2.0"\n',
        "CITATION.cff": "title: x\nversion: 1.2.0\n",
        "CHANGELOG.md": "# Changes\n\n## [1.2.0] - 2026-01-31\n\n- New.\n\n## [1.1.0] - 2025\n",
    }
    for name, text in {**files, **texts}.items():
        (folder / name).write_text(text)
    (folder / ".ci").mkdir()
    script = shutil.copy(ROOT / ".ci" / "release.py", folder / ".ci")
    return subprocess.run(
        [sys.executable, script, tag], capture_output=True, text=True, check=False
    )


def test_a_release_has_one_version(tmp_path: Path) -> None:
    assert release(tmp_path, "v1.2.0").stdout == "- New.\n"


@pytest.mark.parametrize(
    ("tag", "texts", "sentence"),
    [
        ("v1.3.0", {}, "the tag is v1.3.0"),
        ("1.2.0", {}, "expected v1.2.0"),
        ("v1.2.0", {"CITATION.cff": "version: 1.1.0\n"}, "CITATION.cff does not name"),
        ("v1.2.0", {"CHANGELOG.md": "## [1.2.0] - unreleased\n"}, "has no section"),
    ],
)
def test_a_release_with_two_versions_is_refused(
    tag: str, texts: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    refused = release(tmp_path, tag, **texts)
    assert refused.returncode == 1
    assert sentence in refused.stderr
    assert "Traceback" not in refused.stderr
