"""CPU time of two source trees that take turns, so that whatever else runs slows both alike.

    python benchmarks/compare_cores.py time TREE_A [TREE_B] [--only WORD] [--turns N]

A tree is a folder ``src``, or ``src=PYTHON`` to run it with another interpreter. Rounds are
measured in one process per tree, commands in a new one each; both warm: everything was run once
before. The ratio is the median over the turns of B over A, with its quartiles. CPU time is user
and system time of all threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

LONGEST = 240.0  # seconds after which a measure is given up
RARE = "slow: "  # measures with this in front are made only if they are asked for by name
Measured = dict[str, float]  # amount (rounds, or 1) and CPU seconds

# ---------------------------------------------------------------- measured in a process


def started(problem: Any, seed: int, **choices: Any) -> tuple[Any, Any]:
    """Return a session and the key of its noise, as the campaigns make them."""
    from psips.input.seeds import draw_key, generator
    from psips.lab.cells import seed_of
    from psips.session import Session

    rng = generator(seed_of(0, seed))
    session = Session(problem, rng=rng, **choices)
    return session, draw_key(rng)


def rounds(problem: Any, environment: Any, seed: int, cap: int, skip: int = 0) -> Measured:
    """Measure a run to its stop or to a cap, without the first results."""
    from psips.simulation import play

    session, key = started(problem, seed)
    if skip:
        play(session, environment, key, max_results=skip)
    began, before = time.process_time(), session.results
    play(session, environment, key, max_results=cap)
    return {"amount": session.results - before, "cpu": time.process_time() - began}


def plain(K: int, d: int, size: float, seed: int, covariance: Any = None) -> Any:
    """Return a problem of K arms and its environment."""
    from psips.problem import Problem
    from psips.simulation.environments import GaussianEnvironment

    means = size * np.random.default_rng(seed).normal(size=(K, d))
    noise = [1.0] * d if covariance is None else covariance
    problem = Problem(objectives=[f"objective {c}" for c in range(d)], covariance=noise, arms=K)
    return problem, GaussianEnvironment(problem, means)


FULL = [[1.0, 0.4, -0.3], [0.4, 1.2, 0.1], [-0.3, 0.1, 0.8]]


def of_instance(name: str, turn: int, cap: int) -> Measured:
    from psips.lab.instances import instance
    from psips.simulation.environments import environment_of

    made = instance(name)
    return rounds(made.problem, environment_of(made), turn, cap)


def of_plain(turn: int, cap: int, skip: int, *shape: Any) -> Measured:
    return rounds(*plain(*shape), turn, cap, skip)


def of_answers(turn: int, n: int) -> Measured:
    """Measure the first rounds with n answers, ten features and three objectives."""
    from psips.lab.bench import _growing
    from psips.simulation.environments import GaussianEnvironment

    found = next(one for one in _growing() if one[0] == "|Z|" and one[-1] == n)
    problem, theta = found[2:4]
    return rounds(problem, GaussianEnvironment(problem, theta), turn, 60, 10)


def table_of(K: int) -> tuple[Any, Any, Any]:
    """Return a problem of K arms, a session, and a result of each arm as a table."""
    import pandas as pd

    problem, environment = plain(K, 2, 1.0, 8)
    session, key = started(problem, 0)
    values = [environment.result(arm, 0, key) for arm in range(K)]
    frame = pd.DataFrame(np.array(values), columns=list(problem.objectives))
    frame.insert(0, "arm", problem.arms)
    return problem, session, frame


def of_table(K: int, what: str) -> Measured:
    """Measure a table told at once, results told one by one, or the status after them."""
    _, session, frame = table_of(K)
    rows = list(frame.itertuples(index=False))
    began = time.process_time()
    if what == "rows":
        for arm, *values in rows:
            session.tell(arm, values)
    else:
        session.tell(frame)
    if what == "status":
        began = time.process_time()
        session.status()
    return {"amount": 1.0, "cpu": time.process_time() - began}


def of_predicted(turn: int, K: int, cap: int) -> Measured:
    """Measure the rule 'predicted' with a tolerance."""
    from psips.problem import Problem
    from psips.simulation import play
    from psips.simulation.environments import GaussianEnvironment

    means = 3.0 * np.random.default_rng(9).normal(size=(K, 2))
    problem = Problem(objectives=["a", "b"], covariance=[1.0, 1.0], arms=K, epsilon=0.5)
    environment = GaussianEnvironment(problem, means)
    session, key = started(problem, turn, stopping="predicted")
    began = time.process_time()
    play(session, environment, key, max_results=cap)
    return {"amount": session.results, "cpu": time.process_time() - began}


ROUNDS: dict[str, Callable[[int], Measured]] = {
    "COV-BOOST, to the stop": lambda turn: of_instance("cov-boost", turn, 10**6),
    "noc, to the stop": lambda turn: of_instance("noc", turn, 10**6),
    "K 60, full covariance": lambda turn: of_plain(turn, 10_000, 0, 60, 3, 1.5, 6, FULL),
    "K 1,000, first 20,000": lambda turn: of_plain(turn, 20_000, 0, 1000, 3, 3.0, 5),
    "K 1,000, to the stop": lambda turn: of_plain(turn, 10**6, 0, 1000, 3, 12.0, 5),
    "100,000 answers, early": lambda turn: of_answers(turn, 100_000),
    "K 1,000, d 2, early": lambda turn: of_plain(turn, 2_000, 1000, 1000, 2, 1.0, 8),
    "K 10,000, d 2, early": lambda turn: of_plain(turn, 11_000, 10_000, 10_000, 2, 1.0, 8),
    "K 1,000, d 6, early": lambda turn: of_plain(turn, 1_200, 1000, 1000, 6, 1.0, 8),
    "K 10,000, d 6, early": lambda turn: of_plain(turn, 10_050, 10_000, 10_000, 6, 1.0, 8),
    "10,000 arms told in a table": lambda _: of_table(10_000, "table"),
    "status of 10,000 arms": lambda _: of_table(10_000, "status"),
    RARE + "10,000 arms told one by one": lambda _: of_table(10_000, "rows"),
    RARE + "predicted, tolerance, 200 options": lambda turn: of_predicted(turn, 200, 2_000),
}


def work() -> None:
    """Make the measures named on standard input, a line for each."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        name, turn = json.loads(line)
        out.write(json.dumps(ROUNDS[name](turn)) + "\n")
        out.flush()


class Tree:
    """A source tree: a process that measures rounds, and a folder in which commands run."""

    def __init__(self, given: str, folder: Path) -> None:
        source, _, python = given.partition("=")
        self.python = python or sys.executable
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(Path(source).resolve())}
        self.process: subprocess.Popen[str] | None = None
        folder.mkdir()

    def measure(self, name: str, turn: int) -> Measured | None:
        """Return what a measure came to; None if its process died or did not end."""
        from threading import Timer

        if self.process is None:
            pipe, words = subprocess.PIPE, [self.python, "-W", "ignore", __file__]
            self.process = subprocess.Popen(
                words, stdin=pipe, stdout=pipe, text=True, env=self.environment
            )
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([name, turn]) + "\n")
        process.stdin.flush()
        timer = Timer(LONGEST, process.kill)
        timer.start()
        line = process.stdout.readline()
        timer.cancel()
        if line:
            return dict(json.loads(line))
        process.wait()
        self.process = None
        return None

    def command(self, words: list[str]) -> Measured:
        """Return the CPU time of a command in a process of its own."""
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                [self.python, *words],
                cwd=self.folder,
                env=self.environment,
                stdout=said,
                stderr=subprocess.STDOUT,
            )
            _, code, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(code)
            if process.returncode != 0:
                said.seek(0)
                sys.exit(
                    f"{' '.join(words)} failed in {self.environment['PYTHONPATH']}:\n"
                    + said.read()
                )
        return {"amount": 1.0, "cpu": used.ru_utime + used.ru_stime}

    def end(self) -> None:
        if self.process is not None:
            self.process.communicate()


# -------------------------------------------------------------------------- commands

PSIPS = ["-m", "psips"]
COMMANDS: dict[str, list[str]] = {
    "import psips": ["-c", "import psips"],
    "psips --help": [*PSIPS, "--help"],
    "psips demo": [*PSIPS, "demo"],
    "study ask": [*PSIPS, "study", "ask", "trial"],
    "study tell": [
        *(*PSIPS, "study", "tell", "trial", "--arm", "A", "--value", "gain=3.1"),
        *("--value", "cost=1.2"),
    ],
    "study status": [*PSIPS, "study", "status", "trial"],
    "report": [*PSIPS, "report", "trial", "--out", "report.html", "--overwrite"],
}


LARGE = 10_000
LARGE_DESIGN = """name = "large"
arms = {arms}
[[objectives]]
name = "gain"
variance = 1.0
[[objectives]]
name = "cost"
direction = "min"
variance = 1.0
"""
OF_LARGE = {  # of a study of 10,000 arms, made again for each turn
    "study tell, 10,000 arms": [*PSIPS, "study", "tell", "large", "--csv", "large.csv"],
    "study status, 10,000 arms": [*PSIPS, "study", "status", "large"],
}


def prepare_large(tree: Tree, told: bool) -> None:
    """Make the study of 10,000 arms, with a result of each if they are ``told``."""
    rng = np.random.default_rng(8)
    arms = [f"arm {k}" for k in range(LARGE)]
    lines = [
        f"{arm},{x:.6f},{y:.6f}"
        for arm, (x, y) in zip(arms, rng.normal(size=(LARGE, 2)), strict=True)
    ]
    (tree.folder / "large.csv").write_text("\n".join(["arm,gain,cost", *lines, ""]))
    (tree.folder / "large.toml").write_text(LARGE_DESIGN.format(arms=json.dumps(arms)))
    (tree.folder / "psips.db").unlink(missing_ok=True)
    tree.command([*PSIPS, "study", "create", "large.toml"])
    if told:
        tree.command(OF_LARGE["study tell, 10,000 arms"])


DESIGN = """name = "trial"
delta = 0.1
arms = ["A", "B", "C", "D"]
[[objectives]]
name = "gain"
variance = 1.0
[[objectives]]
name = "cost"
direction = "min"
variance = 1.0
[truth]
A = { gain = 3.0, cost = 1.0 }
B = { gain = 2.0, cost = 0.5 }
C = { gain = 2.5, cost = 2.0 }
D = { gain = 1.0, cost = 3.0 }
"""
RESULTS = "arm,gain,cost\n" + "".join(
    f"{arm},{gain + noise},{cost - noise}\n"
    for arm, gain, cost in (("A", 3.0, 1.0), ("B", 2.0, 0.5), ("C", 2.5, 2.0), ("D", 1.0, 3.0))
    for noise in (-0.5, 0.0, 0.5)
)


def prepare(tree: Tree) -> None:
    """Make the study that the commands are about, of the trial of the demo."""
    (tree.folder / "design.toml").write_text(DESIGN)
    (tree.folder / "results.csv").write_text(RESULTS)
    tree.command([*PSIPS, "study", "create", "design.toml", "--name", "trial"])
    tree.command([*PSIPS, "study", "tell", "trial", "--csv", "results.csv"])


# ----------------------------------------------------------------------------- turns


def take_turns(given: list[str], only: str, turns: int) -> None:
    """Print a table of all measures."""
    if len(given) > 2:
        sys.exit("one or two trees can be timed")
    known = [*ROUNDS, *COMMANDS, *OF_LARGE]
    names = [n for n in known if only in n and (only or not n.startswith(RARE))]
    names = [only] if only in known else names
    if not names:
        sys.exit(f"no measure has {only!r} in its name")
    with tempfile.TemporaryDirectory() as name:
        trees = [Tree(one, Path(name, str(k))) for k, one in enumerate(given)]
        if any(one in COMMANDS for one in names):
            for tree in trees:
                prepare(tree)
        print("| measure | unit | A | B | B / A | quartiles | turns |")
        print("|---|---|---|---|---|---|---|")
        for one in names:
            print(row_of(one, trees, turns), flush=True)
        for tree in trees:
            tree.end()


def row_of(name: str, trees: list[Tree], turns: int) -> str:
    """Let the trees take turns with one measure and return its row of the table."""
    found: list[list[float]] = [[] for _ in trees]
    unit = "CPU s"
    for turn in range(-1, turns):  # the first is not counted: it warms up
        order = list(range(len(trees)))
        for k in order if turn % 2 else order[::-1]:
            made: Measured | None
            if name in OF_LARGE:
                prepare_large(trees[k], "status" in name)
                made = trees[k].command(OF_LARGE[name])
            elif name in COMMANDS:
                made = trees[k].command(COMMANDS[name])
            else:
                made = trees[k].measure(name, max(turn, 0))
            if made is None:
                return f"| {name} | {'AB'[k]} died, or took over {LONGEST:g} s | | | | | |"
            cost = made["cpu"] / max(made["amount"], 1.0)
            if made["amount"] != 1.0:
                unit, cost = "us a round", 1e6 * cost
            if turn >= 0:
                found[k].append(cost)
    cells = [f"{median(each):.4g}" for each in found] + [""] * (2 - len(found))
    ratio = quartiles = ""
    if len(found) == 2:
        ratios = [b / a for a, b in zip(*found, strict=True)]
        low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
        ratio, quartiles = f"{middle:.3f}", f"{low:.3f} to {high:.3f}"
    return f"| {name} | {unit} | {' | '.join(cells)} | {ratio} | {quartiles} | {turns} |"


if __name__ == "__main__":
    work()
