"""Writers to be killed, and writers that compete: processes forked from one that is ready.

Importing and loading compiled code takes seconds, so it happens once, here. Each line read is
the job of a child: ``STORE NAME JOB``. What children do goes to standard output, a line after
each acknowledged step; a child that ends or is killed is reported by ``gone PID``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from psips.problem import Problem
from psips.study import Study

MEANS = {"A": (1.0, 1.0), "B": (1.1, 0.9), "C": (0.2, 1.2), "D": (0.9, 0.2)}


def problem() -> Problem:
    return Problem(
        objectives={"gain": "max", "cost": "min"}, covariance=[1.0, 0.5], arms=list(MEANS)
    )


def measured(ticket: str, arm: str) -> list[float]:
    """The result of a ticket, the same whoever measures it."""
    number = int(ticket.rpartition("-")[2])
    return [MEANS[arm][c] + ((number * (37 + 24 * c)) % 101 - 50) / 40 for c in range(2)]


def step(study: Study) -> None:
    """Take the next step of an experiment; which one depends on the log only."""
    state = study.state
    waiting = next(iter(state.ledger.waiting.values()), None)
    if waiting is None:
        study.ask(1 + state.seq % 3)
    else:
        study.tell(waiting, measured(waiting.id, waiting.arm))


def work_until_killed(study: Study) -> None:
    say("open")
    while True:
        step(study)
        state = study._journal.known
        say(f"kept {state.seq} {state.hash}")


def compete(study: Study, operations: int, who: str) -> None:
    """Ask and tell in turn; only the own tickets are told."""
    slowest = 0.0
    for turn in range(operations // 2):
        start = time.perf_counter()
        ticket = study.ask()
        say(f"ticket {who} {ticket.id}")
        if turn % 10 == 0:
            study.tell(ticket.arm, measured(ticket.id, ticket.arm))
        else:
            study.tell(ticket, measured(ticket.id, ticket.arm))
        slowest = max(slowest, time.perf_counter() - start)
    say(f"done {who} {slowest:.3f}")


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # one write: whole or not at all


def work(url: str, name: str, job: str) -> None:
    study = Study.open(name, url)
    if job == "killed":
        work_until_killed(study)
    else:
        who, operations = job.split(":")
        compete(study, int(operations), who)


def serve() -> None:
    twin = Study.create(problem(), "sqlite://", name="warm", seed=1)
    for _ in range(20):  # loads the compiled code, so that no child spends its life on that
        step(twin)
    import_module("psycopg")
    say("ready")
    for line in sys.stdin:
        jobs = [job.split("\t") for job in line.rstrip("\n").split("\f")]
        children = []
        for job in jobs:
            child = os.fork()
            if child == 0:
                try:
                    work(*job)
                except BaseException as error:
                    say(f"failed {error!r}")
                finally:
                    os._exit(0)
            children.append(child)
            say(f"born {child}")
        for child in children:
            os.waitpid(child, 0)
            say(f"gone {child}")


class WorkerPool:
    """The process above, seen from the tests."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self.orders, self.lines = process.stdin, process.stdout

    def start(self, *jobs: tuple[str, str, str]) -> None:
        self.orders.write("\f".join("\t".join(job) for job in jobs) + "\n")
        self.orders.flush()

    def read(self) -> list[str]:
        return self.lines.readline().split()


@contextmanager
def worker_pool() -> Iterator[WorkerPool]:
    path = os.pathsep.join(filter(None, sys.path))
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    made = WorkerPool(process)
    try:
        assert made.read() == ["ready"]
        yield made
    finally:
        made.orders.close()
        process.wait(60)


if __name__ == "__main__":
    serve()
