"""What is compiled before the workers of a test run start, and how long that may take."""

from __future__ import annotations

import subprocess
import sys

import pytest

# A session of every kind that most tests need: what it compiles is kept for the workers.
COMMON = """
import numpy as np
from psips.problem.instances import instance
from psips.session import Session
from psips.simulation.environments import environment_of

for name, draws in (("noc-transductive", "first-hit"), ("correlated", "literal")):
    made = instance(name)
    rng = np.random.default_rng(1)
    chooser = Session(made.problem, draws=draws, rng=rng)
    trial = environment_of(made).start(rng)
    for _ in range(8):
        arm = chooser.ask()
        chooser.tell(arm, trial.pull(arm))
"""
PATIENCE = 600.0  # seconds that compiling may take; usually it is one minute


def compile_first(code: str, patience: float) -> None:
    """Run code in a process of its own, and end the tests if it fails or takes too long."""
    try:
        subprocess.run([sys.executable, "-c", code], check=True, timeout=patience)
    except subprocess.TimeoutExpired:
        pytest.exit(f"compiling the kernels took longer than {patience:g} s", 3)
    except subprocess.CalledProcessError as error:
        pytest.exit(f"compiling the kernels failed with exit code {error.returncode}", 3)
