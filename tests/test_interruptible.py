"""Ctrl-C is seen within a second while compiled code is at work, and a status is bounded."""

from __future__ import annotations

import _thread
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from psips.__main__ import command
from psips._core import testing
from psips.interruptible import interruptible
from psips.problem import Problem
from psips.session import Session

MEANS = np.array([[9.0, 0.0], [0.0, 9.0], [-9.0, -9.0]])


@contextmanager
def interrupted_after(seconds: float) -> Iterator[list[float]]:
    """Interrupt the main thread; the list becomes how long it took to be seen."""
    begun = []

    def interrupt() -> None:
        begun.append(time.perf_counter())
        _thread.interrupt_main()

    timer = threading.Timer(seconds, interrupt)
    timer.start()
    seen: list[float] = []
    try:
        with pytest.raises(KeyboardInterrupt):
            yield seen
    finally:
        timer.cancel()
    seen.append(time.perf_counter() - begun[0])


def turn(rounds: int) -> float:
    """Work of the core, which leaves Python alone meanwhile."""
    return testing.keep_busy(rounds)


def test_compiled_code_is_left_at_once() -> None:
    assert interruptible(turn, 10) == pytest.approx(turn(10))
    with interrupted_after(0.3) as seen:
        interruptible(turn, 2_000_000_000)
    assert seen[0] < 1.0


def test_a_command_is_left_at_once() -> None:
    """The signal is seen, what is registered runs, and Python does not take itself apart."""
    code = (
        "import atexit, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs may ignore it\n"
        "import psips.cli as cli\n"
        "class Part:\n"
        "    def __del__(self): print('taken apart', flush=True)\n"
        "part, main = Part(), cli.main\n"
        "cli.main = lambda: (atexit.register(print, 'over'), main())\n"
        "sys.argv = 'psips simulate cov-boost --runs 100000 --json'.split()\n"
        "print('begun', flush=True)\n"
        "cli.command()\n"
    )
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(4.0)
        begin = time.perf_counter()
        process.send_signal(signal.SIGINT)
        left = process.stdout.read()
        spent = time.perf_counter() - begin
    assert process.returncode == 130
    assert left == "over\n"
    assert spent < 2.0  # one second of an idle processor


STARTS = {
    "python -m psips": "import runpy; runpy.run_module('psips', run_name='__main__')",
    "psips": "from psips.__main__ import command; command()",
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    "module", ["typer", "psips.cli.simulate", "numpy", "psips._core", "joblib"]
)
def test_ctrl_c_while_modules_are_imported(start: str, module: str) -> None:
    """Some are imported before the command line has begun, others by the command."""
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs may ignore it\n"
        "class Finder:\n"
        "    def find_spec(self, name, *rest):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.argv = 'psips simulate correlated --runs 2'.split()\n"
        f"{STARTS[start]}\n"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_ctrl_c_before_the_command_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    ended: list[int] = []
    monkeypatch.setattr("psips.cli.command", interrupted)
    monkeypatch.setattr(os, "_exit", ended.append)
    command()
    assert ended == [130]


def test_other_threads_call_as_ever() -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(interruptible(turn, 10)))
    thread.start()
    thread.join()
    assert found == [turn(10)]


def test_what_goes_wrong_is_raised() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interruptible(fail)


def at_its_limit(delta: float) -> Session:
    """A session that draws literally, so clear a case that a round needs all of M draws."""
    problem = Problem(objectives=["a", "b"], covariance=[1, 1], arms=3)
    session = Session(problem, rng=1, draws="literal", sampling="round-robin", delta=delta)
    session.engine.know(np.full(3, 50.0), 50.0 * MEANS)
    return session


@pytest.mark.parametrize(
    "step", [lambda s: s.engine.judge(), lambda s: s.tell(s.problem.arms[0], MEANS[0])]
)
def test_a_round_of_many_draws_can_be_left(step: Callable[[Session], Any]) -> None:
    """10^13 draws would take a month."""
    at_its_limit(0.1).engine.judge()  # compile
    session = at_its_limit(1e-12)
    with interrupted_after(0.5) as seen:
        step(session)
    assert seen[0] < 1.0
    assert not session.stopped  # what was not looked at is no reason to stop
    time.sleep(0.5)  # of a busy machine, for the draw that was under way
    made = session.engine.proposals.copy()
    time.sleep(0.2)
    assert (session.engine.proposals == made).all()  # nothing goes on behind the searches


@pytest.mark.parametrize("pulls", [1.0, 20.0])
@pytest.mark.parametrize("d", [3, 6])
def test_a_large_status_is_bounded(pulls: float, d: int) -> None:
    """A thousand arms: about a second of an idle processor, at most two; this one is shared."""
    rng = np.random.default_rng(3)
    names = [f"objective {c}" for c in range(d)]
    small = Problem(objectives=names, covariance=[1.0] * d, arms=40)
    problem = Problem(objectives=names, covariance=[1.0] * d, arms=1000)
    for one in (small, problem):
        session = Session(one, rng=1)
        mu = rng.normal(size=(one.K, d))
        session.engine.know(np.full(one.K, pulls), pulls * mu)
        session.engine.judge()
        begin = time.process_time()
        answers = session.status().answers
        spent = time.process_time() - begin
    assert spent < 3.0
    chance, error = answers["probability"], answers["probability se"]
    assert chance.between(0, 1).all()
    assert (error <= 0.1).all()
    draws = 100
    share = np.zeros(1000)
    for _ in range(draws):
        points = mu + rng.normal(size=mu.shape) / np.sqrt(pulls)
        above = np.ones((1000, 1000), bool)
        for c in range(d):
            above &= points[:, c][:, None] <= points[:, c][None, :]
        share += (above.sum(axis=1) == 1) / draws
    allowed = np.hypot(error, np.sqrt((share * (1 - share) + 1 / draws) / draws))
    apart = np.abs(chance.to_numpy() - share) / allowed
    assert apart.max() < 6.0
    assert np.sqrt((apart**2).mean()) < 1.3


def test_code_that_was_asked_to_end_is_waited_for() -> None:
    """It may still be writing what the caller looks at next."""
    stop, over = np.zeros(1), []

    def work() -> None:
        while stop[-1] == 0.0:
            time.sleep(0.01)
        time.sleep(0.2)
        over.append(True)

    with interrupted_after(0.1):
        interruptible(work, stop=stop)
    assert over == [True]
