"""``psips run`` on compressors, or on a recording of them: is the set right, and how soon?

    python benchmarks/commands.py record FILE --rounds 200   # 12 commands, into recorded.json
    python benchmarks/commands.py replay recorded.json --metrics time,size
    python benchmarks/commands.py errors recorded.json --gap 0.15

`record` runs all commands in every round, whatever is known. `replay` takes the recorded mean
as the truth and lets ``psips run`` measure the recording, from a random round on, in its order:
noise as it was, other programs included. `errors` takes the recorded noise of three commands
chosen at random and gives them means: the second is slower than the first by GAP (of
logarithms), the third by 0.5; there is no tolerance.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from psips.commands.measuring import Measuring, Question
from psips.commands.metrics import TAKEN, Metric
from psips.commands.options import Option, make_options
from psips.commands.running import Ran, Runner
from psips.problem.tolerance import is_right

COMMANDS = {
    "gzip -{g} -c {f} > {o}": ("g", "1,6,9"),
    "bzip2 -{b} -c {f} > {o}": ("b", "9"),
    "xz -{x} -c {f} > {o}": ("x", "0"),
    "zstd -{z} -c {f} > {o}": ("z", "1,3,9"),
    "lz4 -{l} -c {f} > {o}": ("l", "1,9"),
    "brotli -{r} -c {f} > {o}": ("r", "1,5"),
}
METRICS = ("time", "cpu", "memory", "size")
TOLERANCE = math.log1p(0.02)
PAUSE = 0.002  # seconds between two runs of a replay


def record(file: Path, rounds: int, seconds: float, out: Path) -> None:
    """Run every command in every round."""
    target = str(out.with_suffix(".out").absolute())
    scanned = {name: values.split(",") for name, values in COMMANDS.values()}
    fixed = {"f": [str(file.absolute())], "o": [target]}
    options = make_options(list(COMMANDS), {**scanned, **fixed})
    order, rows, begin = random.Random(5), [], time.monotonic()
    loads = []
    with Runner().at_work() as runner:
        for option in options:
            runner.run(option.command)
        for number in range(rounds):
            order.shuffle(options)
            for option in options:
                ran = runner.run(option.command)
                assert not ran.failure, ran.failure
                values = (ran.time, ran.cpu, ran.memory, os.path.getsize(target))
                name = " ".join(option.command.split()[:2])
                rows.append((name, number, *values))
            loads.append(os.getloadavg()[0])
            if time.monotonic() - begin > seconds:
                break
    os.remove(target)
    out.write_text(json.dumps(rows))
    took = time.monotonic() - begin
    print(f"{len(rows):,} runs in {took:.0f} s, load {min(loads):.1f} to {max(loads):.1f}")


class Recorded:
    """Instead of a `Runner`: each run is what the command had in a recorded round.

    The next round is due as soon as a command is run again, so that no value comes twice.
    """

    shell, timeout, left_running = "sh", None, 0

    def __init__(self, values: dict[str, Any], start: int) -> None:
        self.values, self.place, self.now = values, start, 0.0
        self.used: set[str] = set()

    @contextmanager
    def at_work(self) -> Iterator[Recorded]:
        """Do nothing."""
        yield self

    def run(self, command: str, **_: Any) -> Ran:
        """Return the run of the round."""
        if command in self.used:
            self.place += 1
            self.used.clear()
        self.used.add(command)
        rows = self.values[command]
        row = rows[self.place % len(rows)]
        self.now += row[0] + PAUSE
        return Ran(*row[:3], 0)


def read(file: Path) -> dict[str, Any]:
    """Return values (rounds, 4) by command."""
    found: dict[str, list[list[float]]] = {}
    for name, _, *values in json.loads(file.read_text()):
        found.setdefault(name, []).append(values)
    fewest = min(map(len, found.values()))
    return {name: np.array(rows[:fewest]) for name, rows in found.items()}


def measure(
    values: dict[str, Any], metrics: list[Metric], seed: int, order: list[str], **asked: Any
) -> Measuring:
    """Let ``psips run`` measure a recording."""
    start = random.Random(seed).randrange(len(next(iter(values.values()))))
    machine = Recorded(values, start)
    question = Question(seed=seed, **asked)
    options = [Option(name, name) for name in order]
    measuring = Measuring(options, metrics, question, machine, clock=lambda: machine.now)
    measuring.go()
    return measuring


def replay(file: Path, names: list[str], runs: int) -> None:
    """Say how often the set of a replay is right."""
    values = read(file)
    columns = [METRICS.index(name) for name in names]
    truth = np.array([[np.log(x[:, c]).mean() for c in columns] for x in values.values()])
    sizes = {name: float(x[0, 3]) for name, x in values.items()}

    class Taken(Metric):
        def value(self, ran: Ran, option: str, _: Any) -> float:
            return sizes[option] if self.source == "size" else TAKEN[self.source](ran)

    metrics = [Taken(name, name, log=True, exact=name == "size") for name in names]
    right = open_ = 0
    counts, seconds = [], []
    for seed in range(runs):
        found = measure(values, metrics, seed, list(values), time_limit=60.0)
        counts.append(len(found.known.samples))
        seconds.append(found.seconds)
        if found.passed is None:
            open_ += 1
            continue
        members = found.known.judged.candidate_set if found.known.stopped else found.passed
        inside = np.array([name in members for name in values])
        right += is_right(-truth, inside, np.full(len(names), TOLERANCE))
    print(
        f"{', '.join(names)}: {right} right, {runs - right - open_} wrong, {open_} not known "
        f"after 60 s, of {runs}; {np.mean(counts):.0f} runs and {np.mean(seconds):.1f} s of "
        f"commands on average"
    )


def errors(file: Path, gap: float, runs: int) -> None:
    """Say how often the fastest of three is not found, with recorded noise."""
    noise = {name: np.log(x[:, 0]) - np.log(x[:, 0]).mean() for name, x in read(file).items()}
    wrong = open_ = 0
    counts = []
    for seed in range(runs):
        chance = random.Random(seed)
        chosen = chance.sample(list(noise), 3)
        means = dict(zip("abc", (0.0, gap, 0.5), strict=True))
        values = {}
        for name, one in zip("abc", chosen, strict=True):
            x = np.exp(means[name] + noise[one])[:, None]
            values[name] = np.hstack([x, x, np.full_like(x, 1e6)])
        order = list("abc")
        chance.shuffle(order)
        metrics = [Metric("time", "time", log=True)]
        found = measure(values, metrics, seed, order, time_limit=3600.0, tolerance={})
        counts.append(len(found.known.samples))
        open_ += not found.known.stopped
        wrong += found.known.stopped and found.known.session.candidate_set != ("a",)
    print(f"gap {gap}: {wrong} wrong, {open_} not known, of {runs}; {np.mean(counts):.0f} runs")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("record", "replay", "errors"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=280.0)
    parser.add_argument("--out", type=Path, default=Path("recorded.json"))
    parser.add_argument("--metrics", default="time,size")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--gap", type=float, default=0.15)
    given = parser.parse_args()
    if given.what == "record":
        record(given.file, given.rounds, given.seconds, given.out)
    elif given.what == "replay":
        replay(given.file, given.metrics.split(","), given.runs)
    else:
        errors(given.file, given.gap, given.runs)


if __name__ == "__main__":
    main()
