"""Files that were written before mean what they meant: stored examples of every format.

Stores and exports of studies are in ``tests/store``; see the page on versions. To store what a
new format means: ``python tests/test_formats.py NAME``, and never again for that name.
"""

from __future__ import annotations

import getpass
import json
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips import Problem, Session, Study
from psips.problem.problem_file import ProblemFile, read_problem_file
from psips.session.engine import FORMAT
from psips.store import open_store
from psips.store.tables import FORMAT as STORE_FORMAT

FOLDER = Path(__file__).parent / "formats"
PROBLEMS = sorted(FOLDER.glob("*.toml"))
SNAPSHOTS = sorted(FOLDER.glob("snapshot-*.json"))
STORE = FOLDER / "store-2.db"


def _plain(rows: Any) -> Any:
    if rows is None:
        return None
    return {key: np.asarray(value).tolist() for key, value in rows._asdict().items()}


def meaning(file: ProblemFile) -> dict[str, Any]:
    """All that a problem file says, as plain data."""
    return {
        "problem": file.problem.to_dict(),
        "theta": None if file.theta is None else np.asarray(file.theta).tolist(),
        "noise": file.noise,
        "results": _plain(file.results),
        "guess": _plain(file.guess),
        "delta": file.delta,
        "seed": file.seed,
        "budget": file.budget,
        "goal": file.goal,
        "rules": {**file.rules, **file.rules.get("tuning", {})},
        "study": file.study,
    }


def same(was: Any, now: Any) -> bool:
    """Whether all that was said is said still; more may be."""
    if isinstance(was, dict):
        return all(key in now and same(value, now[key]) for key, value in was.items())
    return bool(was == now)


@pytest.mark.parametrize("path", PROBLEMS, ids=lambda path: path.stem)
def test_a_problem_file_means_what_it_meant(path: Path) -> None:
    stored = json.loads(path.with_suffix(".json").read_text())
    now = json.loads(json.dumps(meaning(read_problem_file(path))))
    assert same(stored, now)


def test_another_meaning_is_seen() -> None:
    stored = json.loads((FOLDER / "arms-0.1.json").read_text())
    now = json.loads(json.dumps(stored))
    now["problem"]["new"] = 1
    assert same(stored, now)
    now["problem"]["partial"] = False
    assert not same(stored, now)


def lab(seed: int, problem: Problem, session: Session, n: int) -> Session:
    rng = np.random.default_rng(seed)
    for _ in range(n):
        arm = session.ask()
        session.tell(arm, rng.normal(problem.arm_index(arm), 1.0, problem.d))
    return session


def example() -> Session:
    problem = Problem(arms=["A", "B", "C"], objectives={"x": "max", "y": "min"})
    return lab(2, problem, Session(problem, delta=0.05, rng=1, budget=900), 40)


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: path.stem)
def test_a_snapshot_of_every_format_since_6_is_restored(path: Path) -> None:
    data = json.loads(path.read_text())
    number = int(path.stem.split("-")[1])
    assert data["snapshot"]["format"] == number
    session = Session.restore(data["snapshot"])
    assert session.results == data["results"]
    assert list(session.candidate_set) == data["candidate_set"]
    assert session.budget == data["budget"]
    assert lab(3, session.problem, session, 5).results == data["results"] + 5


def test_there_is_a_snapshot_of_the_present_format() -> None:
    assert FOLDER / f"snapshot-{FORMAT}.json" in SNAPSHOTS


@pytest.mark.usefixtures("tags")
def test_a_store_of_format_2_is_read_and_written(tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(STORE, copy)
    with open_store(f"sqlite:///{copy}") as store:
        assert store.format == 2
        if STORE_FORMAT > 2:
            store.migrate()
        study = Study.open("kept", store)
        assert study.verify().problems == ()
        assert study.results == 6
        study.tell("A", {"x": 1.0, "y": 0.2})
        assert study.results == 7
        assert study.verify().problems == ()


def make(name: str) -> None:
    """Store what a format means now."""
    if name.startswith("snapshot"):
        session = example()
        data = {
            "snapshot": session.snapshot(),
            "results": session.results,
            "candidate_set": list(session.candidate_set),
            "budget": session.budget,
        }
        (FOLDER / f"{name}.json").write_text(json.dumps(data))
    elif name.startswith("store"):
        problem = Problem(
            arms=["A", "B"], objectives={"x": "max", "y": "min"}, covariance=[1, 1]
        )
        socket.gethostname, getpass.getuser = lambda: "laboratory", lambda: "ann"
        with open_store(f"sqlite:///{FOLDER / name}.db", create=True) as store:
            study = Study.create(problem, store, name="kept", seed=1, user="ann")
            for ticket in study.ask(6):
                study.tell(ticket, {"x": 1.0, "y": 0.5})
    else:
        file = read_problem_file(FOLDER / f"{name}.toml")
        text = json.dumps(meaning(file), indent=1)
        (FOLDER / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    make(sys.argv[1])
