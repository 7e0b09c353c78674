"""Try psips as it is installed in this environment: the core, a session, the command line.

For a wheel on a system where the tests are not run: `python .ci/installed.py`.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

import psips
from psips import Problem, Session, _core

CHECKOUT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Fail unless psips comes from an installation, and finds a Pareto set."""
    package = Path(psips.__file__).resolve().parent
    if package.is_relative_to(CHECKOUT / "src"):
        sys.exit(f"psips is that of the checkout ({package}), not an installed one")
    info = _core.build_info()
    print(package, info)
    if info["sanitized"] or not info["checked"]:
        sys.exit("the core of a wheel checks every index, and has no sanitizers")
    problem = Problem(
        arms=["A", "B", "C"], objectives={"x": "max", "y": "max"}, covariance=[1, 1]
    )
    session = Session(problem, delta=0.1, rng=1)
    truth = {"A": (0.0, 3.0), "B": (3.0, 0.0), "C": (-2.0, -2.0)}
    noise = np.random.default_rng(2)
    while not session.done:
        arm = session.ask()
        session.tell(arm, noise.normal(truth[arm], 1.0))
    if session.pareto_set != ("A", "B"):
        sys.exit(f"the Pareto set is ('A', 'B'), psips says {session.pareto_set}")
    subprocess.run([sys.executable, "-m", "psips", "--version"], check=True)


if __name__ == "__main__":
    main()
