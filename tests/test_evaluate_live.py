"""What `evaluate` shows while it runs, and what it does at the stop."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from psips import Problem, Session, evaluate
from psips.errors import InputError
from psips.evaluation.progress import Progress, Screen
from psips.evaluation.sources import SessionSource

SKILL = {"small": 0.1, "large <b>": 0.9}
ITEMS = [f"q{n}" for n in range(300)]
OBJECTIVES = {"score": "max"}
SCRIPT = """
import random, sys, time
from psips import evaluate

skill = {"small": 0.1, "large <b>": 0.9}

def run(arm, item):
    time.sleep(0.02)
    return skill[arm] + random.Random(f"{arm} {item}").gauss(0, 1.0)

items = [f"q{n}" for n in range(300)]
found = evaluate(list(skill), items, run, objectives={"score": "max"}, workers=2, seed=1)
print(found.pareto_set)
"""


def score(arm: str, item: str) -> float:
    return SKILL[arm] + 0.001 * len(item)


def evaluated(**more: Any) -> Any:
    return evaluate(
        list(SKILL),
        ITEMS,
        score,
        objectives=OBJECTIVES,
        workers=2,
        seed=1,
        epsilon=0.01,
        **more,
    )


def test_a_pipe_gets_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert ended.stdout == "('large <b>',)\n"
    assert ended.stderr == ""


def test_a_terminal_shows_the_front_live() -> None:
    """Standard error is a terminal: front, probabilities and estimate, drawn over and over."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        assert process.stdout is not None
        assert process.stdout.read() == b"('large <b>',)\n"
    os.close(ours)
    text = shown.decode()
    assert "large <b>" in text
    assert "█" in text
    assert "running" in text
    assert "stopped after" in text
    assert process.returncode == 0


def session_of() -> Session:
    problem = Problem(objectives=OBJECTIVES, arms=list(SKILL), items=ITEMS, name="models")
    session = Session(problem, seed=1)
    for item in ITEMS[:20]:
        for arm in SKILL:
            session.tell(arm, score(arm, item) + len(item) * 0.1, item=item)
    return session


def test_what_takes_long_is_drawn_less_often() -> None:
    session, drawn = session_of(), []

    class Slow(SessionSource):
        stopped = False  # type: ignore[assignment]

        def status(self) -> Any:
            drawn.append(1)
            time.sleep(0.02)
            return self.session.status()

    screen = Screen(Console(file=io.StringIO(), force_terminal=True, width=90))
    told = Progress(40, 0, 2, 3.0, ("large <b>",))
    for _ in range(5):
        screen.report(told, Slow(session))
    screen.close()
    assert len(drawn) == 1


def test_the_screen_says_how_it_goes() -> None:
    file = io.StringIO()
    screen = Screen(Console(file=file, force_terminal=True, width=90, color_system=None))
    screen.report(Progress(40, 3, 2, 61.4, ("large <b>",)), SessionSource(session_of()))
    screen.close()
    shown = file.getvalue()
    for said in ("models: ", "large <b>", "40 measurements", "3 failed, 2 calls running, 61 s"):
        assert said in shown


def test_the_command_at_the_stop_gets_the_status(tmp_path: Path) -> None:
    script, target = tmp_path / "keep.py", tmp_path / "told.json"
    script.write_text("import sys; open(sys.argv[1], 'w').write(sys.stdin.read())")
    found = evaluated(on_stop=f"{sys.executable} {script} {target}")
    data = json.loads(target.read_text())
    assert found.stopped
    assert (data["stopped"], data["pareto_set"]) == (True, ["large <b>"])
    assert data["results"] == found.results
    assert set(data["answers"]) == set(SKILL)


def test_an_order_that_fails_keeps_the_answer() -> None:
    with pytest.warns(UserWarning, match="on_stop was not carried out: it ended with code 7"):
        found = evaluated(on_stop=f"{sys.executable} -c 'raise SystemExit(7)'")
    assert found.pareto_set == ("large <b>",)


def test_without_a_stop_nothing_is_done(tmp_path: Path) -> None:
    target = tmp_path / "told"
    found = evaluated(on_stop=f"touch {target}", budget=2)
    assert not found.stopped
    assert not target.exists()


@pytest.mark.parametrize("order", ["no-such-command now", "", "echo 'open", 7])
def test_what_is_refused_at_the_start(order: Any) -> None:
    with pytest.raises(InputError, match="on_stop"):
        evaluated(on_stop=order)
