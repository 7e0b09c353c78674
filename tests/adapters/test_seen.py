"""A run that was to test an adapter, and could not, fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TEST = """
import pytest
{}

def test_it():
    pass
"""


@pytest.mark.parametrize(
    ("wanted", "line", "code"),
    [
        ("other", "", 0),
        ("other", 'pytest.importorskip("psips_no_such_package")', 1),
        ("other", "pytestmark = pytest.mark.skip", 1),
        ("missing", "", 1),
        ("", "pytestmark = pytest.mark.skip", 0),
    ],
)
def test_skipped_adapters_are_seen(tmp_path: Path, wanted: str, line: str, code: int) -> None:
    shared = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    (tmp_path / "conftest.py").write_text(shared, encoding="utf-8")
    (tmp_path / "test_other.py").write_text(TEST.format(line), encoding="utf-8")
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "."]
    env = {**os.environ, "PSIPS_ADAPTERS": wanted}
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stdout
    if code:
        assert f"the tests of the adapter {wanted} were not run" in done.stdout
