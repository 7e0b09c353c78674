"""How long ask and say about a study take here, against another version of psips.

    python benchmarks/study_calls.py OTHER [HERE]

OTHER and HERE are folders ``src`` of two versions. Each runs in a process of its own, with a
study in a SQLite file; they take turns, a few calls at a time, so that whatever else the
machine does slows both alike. Printed are the medians over the turns, and their ratio.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

TURNS, CALLS, WARM = 150, 4, 5
RULES = {"sampling": "directed", "stopping": "posterior", "calibration": "heuristic"}


def work() -> None:
    """Make a study, and do a turn for each line of standard input."""
    import numpy as np

    from psips import Problem
    from psips.study import Study

    arms = [f"arm {k}" for k in range(20)]
    problem = Problem(arms=arms, objectives=["a", "b", "c"], covariance=[1.0, 1.0, 1.0])
    means = dict(zip(arms, np.random.default_rng(1).normal(size=(20, 3)), strict=True))
    rng = np.random.default_rng(2)
    named = list(inspect.signature(Study.tell).parameters)[1] == "values"  # as it was at first
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/a.db"
        study = Study.create(problem, store, name="s", seed=1, delta=0.01, **RULES)
        for _ in sys.stdin:
            spent = {"ask": [0.0, 0.0], "tell": [0.0, 0.0]}
            for _ in range(CALLS):
                start = time.perf_counter(), time.process_time()
                ticket = study.ask()
                between = time.perf_counter(), time.process_time()
                values = means[ticket.arm] + rng.normal(size=3)
                if named:
                    study.tell(values, ticket=ticket.id)
                else:
                    study.tell(ticket, values)
                end = time.perf_counter(), time.process_time()
                for k in range(2):
                    spent["ask"][k] += between[k] - start[k]
                    spent["tell"][k] += end[k] - between[k]
            print(json.dumps(spent), flush=True)


def worker(source: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(source).resolve())}
    words = [sys.executable, "-W", "ignore", __file__, "--work"]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=environment)


def turn(one: subprocess.Popen[str]) -> dict[str, Any]:
    assert one.stdin is not None
    assert one.stdout is not None
    one.stdin.write("go\n")
    one.stdin.flush()
    return dict(json.loads(one.stdout.readline()))


def compare(other: str, here: str) -> None:
    workers = [worker(other), worker(here)]
    rows = []
    for k in range(TURNS + WARM):
        order = workers if k % 2 else workers[::-1]
        found = {id(one): turn(one) for one in order}
        if k >= WARM:
            rows.append([found[id(one)] for one in workers])
    for one in workers:
        one.communicate()
    print(f"{TURNS} turns of {CALLS} calls, milliseconds a call, medians")
    for call in ("ask", "tell"):
        for k, kind in enumerate(("elapsed", "CPU")):
            old, new = (median(row[v][call][k] for row in rows) / CALLS * 1e3 for v in (0, 1))
            figures = f"other {old:6.2f}  here {new:6.2f}  ratio {new / old:.2f}"
            print(f"{call:4} {kind:7}  {figures}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--work"]:
        work()
    elif len(sys.argv) in (2, 3):
        here = str(Path(__file__).parents[1] / "src")
        compare(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else here)
    else:
        sys.exit(__doc__)
