"""The two rules that CONTRIBUTING walks through compile with the core's headers, and work."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from psips import Problem, Session

ROOT = Path(__file__).parents[2]
ENTRIES = """
#include "sampling/common.h"
#include "stopping/common.h"
namespace psips {
CODE
}
extern "C" std::int64_t choose(psips::Run* run) {
    return psips::with_run(*run, [](auto& state) { return psips::choose_last(state); });
}
extern "C" std::int64_t judge(psips::Run* run) {
    return psips::with_run(*run, [](auto& state) { return psips::judge_fifty(state); });
}
"""


def steps_of_the_page() -> str:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```cpp\n(.*?)```", page, flags=re.S)
    assert len(blocks) == 2
    return "\n".join(blocks)


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_the_steps_of_the_page(tmp_path: Path) -> None:
    source, made = tmp_path / "rules.cpp", tmp_path / "rules.so"
    source.write_text(ENTRIES.replace("CODE", steps_of_the_page()))
    words = ["g++", "-std=c++20", "-O0", "-shared", "-fPIC", f"-I{ROOT / 'src' / 'core'}"]
    subprocess.run([*words, str(source), "-o", str(made)], check=True)
    library = ctypes.CDLL(str(made))
    problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B", "C"])
    engine = Session(problem, stopping="never", rng=1).engine
    run = ctypes.c_void_p(engine._run.address)
    asked = []
    while engine.outcome.stopped == 0.0:
        asked.append(library.choose(run))
        engine.learn(asked[-1], np.zeros(1))
        library.judge(run)
    assert asked == [0, 1] + [2] * 50
    assert (engine.outcome.evidence, engine.outcome.threshold) == (50.0, 50.0)
