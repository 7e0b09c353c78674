"""The compiled module itself: that it is loaded, and how it was built."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from psips import _core

sanitized = pytest.mark.skipif(
    "PSIPS_SANITIZED" not in os.environ, reason="only with the core of .ci/sanitized"
)


def test_how_it_was_built() -> None:
    info = _core.build_info()
    assert list(info) == ["compiler", "checked", "sanitized"]
    assert str(info["compiler"]).split()[0] in {"gcc", "clang", "msvc"}
    assert info["checked"] is True
    assert info["sanitized"] is ("PSIPS_SANITIZED" in os.environ)


def test_refuses_arguments_it_does_not_take() -> None:
    """An exception of C++ crosses into Python, with the sanitizers too."""
    with pytest.raises(TypeError, match="build_info"):
        _core.build_info(1)  # type: ignore[call-arg]


@sanitized
def test_sanitizers_see_a_read_behind_the_end() -> None:
    code = "from psips import _core; _core.read_behind_the_end()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr
    assert "read_behind_the_end" in done.stderr
