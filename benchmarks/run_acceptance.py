"""``psips run`` next to hyperfine: ten compressors, the set of 200 runs of each, 30 repeats.

    python benchmarks/run_acceptance.py measure FILE --repeats 30 --out acceptance.jsonl
    python benchmarks/run_acceptance.py measure FILE --repeats 10 --waves 2 --out waves.jsonl
    python benchmarks/run_acceptance.py summary acceptance.jsonl

Needs hyperfine, lz4, zstd, gzip, brotli, bzip2, xz. FILE should be about 250 kB. A repeat is

1. a few rounds of all commands in a random order: over all repeats 200 runs of each, whose
   geometric means are the truth;
2. `psips run` as a command of its own, from its start to its end;
3. hyperfine, N runs of each command, with N doubled until its 90% intervals of the mean times
   are as narrow as those that `psips run` gave, or until it took `--patience` times as long.

So all three see the same machine. ``--waves P`` lets P processes work for some seconds and rest
for some, at random, all the time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from psips.commands.running import Runner
from psips.problem.tolerance import is_right
from psips.simulation.summary import clopper_pearson

PROGRAMS = (
    *("lz4 -1", "lz4 -9", "zstd -1", "zstd -5", "zstd -12"),
    *("gzip -1", "gzip -6", "brotli -5", "bzip2 -9", "xz -3"),
)
METRICS = ("time", "memory", "size")
DELTA, TOLERANCE, TRUTH = 0.1, math.log1p(0.02), 200
WAVE = """
import random, time
while True:
    end = time.monotonic() + random.uniform(1, 6)
    while time.monotonic() < end:
        sum(range(10_000))
    time.sleep(random.uniform(1, 6))
"""


def command_of(program: str, file: Path) -> str:
    """Return the command that compresses a file."""
    return f"{program} -c {file} > out"


@contextmanager
def waves(processes: int) -> Iterator[None]:
    """Let processes work and rest by turns."""
    started = [subprocess.Popen([sys.executable, "-c", WAVE]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


def rounds(file: Path, number: int, order: random.Random) -> list[list[list[float]]]:
    """Run all commands in every round; return values (rounds, programs, metrics)."""
    found = []
    with Runner().at_work() as runner:
        for _ in range(number):
            row: list[list[float]] = [[] for _ in PROGRAMS]
            for k in order.sample(range(len(PROGRAMS)), len(PROGRAMS)):
                ran = runner.run(command_of(PROGRAMS[k], file))
                assert not ran.failure, ran.failure
                row[k] = [ran.time, ran.memory, os.path.getsize("out")]
            found.append(row)
    return found


def psips(file: Path, seed: int) -> dict[str, Any]:
    """Let `psips run` find the set; return what it says and how long all of it took."""
    words = [sys.executable, "-m", "psips", "run", "--json", "--delta", str(DELTA)]
    words += ["--seed", str(seed), "-m", "time", "-m", "memory", "-m", "size=out"]
    commands = [command_of(program, file) for program in PROGRAMS]
    begin = time.monotonic()
    done = subprocess.run([*words, *commands], capture_output=True, text=True, check=True)
    took = time.monotonic() - begin
    said = json.loads(done.stdout)
    by_command = {one["command"]: one for one in said["options"]}
    options = [by_command[command] for command in commands]
    times = [one["metrics"]["time"] for one in options]
    return {
        "seconds": took,
        "measuring": said["seconds"],
        "stopped": said["stopped"],
        "runs": [one["runs"] for one in options],
        "inside": [one["name"] in (said["pareto_set"] or ()) for one in options],
        "widths": [(t["high"] - t["low"]) / 2.0 / t["mean"] for t in times],
        "ratios": [one["ratio"] for one in options],
    }


def hyperfine(file: Path, runs: int, warmup: int) -> tuple[float, list[list[float]]]:
    """Run all commands so often; return how long it took, and times by command."""
    commands = [command_of(program, file) for program in PROGRAMS]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "times.json"
        words = ["hyperfine", "--style", "none", "--runs", str(runs), "--warmup", str(warmup)]
        begin = time.monotonic()
        subprocess.run(
            [*words, "--export-json", str(out), *commands], capture_output=True, check=True
        )
        took = time.monotonic() - begin
        results = json.loads(out.read_text())["results"]
    return took, [one["times"] for one in results]


def widths_of(times: list[list[float]]) -> list[float]:
    """Return half the 90% interval of each mean, as a part of it."""
    found = []
    for one in times:
        x, n = np.array(one), len(one)
        by = float(stdtrit(n - 1, 1.0 - DELTA / 2.0)) * float(x.std(ddof=1)) / math.sqrt(n)
        found.append(
            by / float(x.mean()) if x.any() else math.inf
        )  # less its shell: 0 at times
    return found


def until_as_narrow(file: Path, goal: list[float], most: float) -> dict[str, Any]:
    """Let hyperfine run until its intervals are as narrow as the goal, or the time is over."""
    seconds, runs = 0.0, 10  # its own least number
    times: list[list[float]] = [[] for _ in PROGRAMS]
    calls = []
    reached = False
    while not reached and seconds < most:
        took, new = hyperfine(file, runs, warmup=0 if calls else 1)
        seconds += took
        calls.append([took, runs])
        for one, more in zip(times, new, strict=True):
            one += more
        reached = all(w <= g for w, g in zip(widths_of(times), goal, strict=True))
        room = (most - seconds) / took * runs  # runs that there is still time for
        runs = int(max(5, min(len(times[0]), room)))
    return {"seconds": seconds, "reached": reached, "calls": calls, "times": times}


def measure(file: Path, repeats: int, processes: int, patience: float, out: Path) -> None:
    """Write a line for each repeat; those that the file has already count."""
    order = random.Random(1)
    each = math.ceil(TRUTH / repeats)
    file = file.absolute()
    with (
        waves(processes),
        out.open("a") as lines,
        tempfile.TemporaryDirectory() as folder,
    ):
        os.chdir(folder)
        for repeat in range(len(out.read_text().splitlines()), repeats):
            truth = rounds(file, each, order)
            found = psips(file, repeat)
            other = until_as_narrow(file, found["widths"], patience * found["seconds"])
            load = os.getloadavg()[0]
            line = {"truth": truth, "psips": found, "hyperfine": other, "load": load}
            lines.write(json.dumps(line) + "\n")
            lines.flush()
            print(
                f"{repeat + 1}: psips {found['seconds']:.1f} s, hyperfine "
                f"{other['seconds']:.1f} s{'' if other['reached'] else ' and not there'}, "
                f"load {load:.1f}",
                flush=True,
            )


def summary(file: Path) -> None:
    """Say how often the set was right, and what hyperfine took."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    x = np.log(np.concatenate([np.array(line["truth"]) for line in lines]))  # (rounds, K, d)
    means = x.mean(axis=0)
    own = [np.mean([line["psips"]["runs"][k] for line in lines]) for k in range(len(PROGRAMS))]
    print(f"{len(x)} runs of each; mean runs of psips")
    for k, program in enumerate(PROGRAMS):
        t, memory, size = np.exp(means[k])
        print(
            f"  {program:10} {1e3 * t:6.1f} ms  {memory / 1e6:6.2f} MB  {size / 1e3:6.1f} kB"
            f"  {own[k]:6.1f}"
        )
    epsilon = np.full(len(METRICS), TOLERANCE)
    known = [line["psips"] for line in lines if line["psips"]["stopped"]]
    right = sum(is_right(-means, np.array(one["inside"]), epsilon) for one in known)
    low, high = clopper_pearson(right, len(lines))
    print(f"right: {right} of {len(lines)} ({low:.1%} to {high:.1%}), {len(known)} stopped")
    front = np.mean([one["inside"] for one in known], axis=0)
    print("in the set:", *(f"{p} {f:.2f}" for p, f in zip(PROGRAMS, front, strict=True)))
    _compared("seconds", lines, lambda one: one["psips"]["seconds"])
    _compared("measuring", lines, lambda one: one["psips"]["measuring"])
    _by_hyperfine(lines, x)
    loads = [line["load"] for line in lines]
    print(f"load {min(loads):.1f} to {max(loads):.1f}")


def _compared(what: str, lines: list[dict[str, Any]], seconds: Any) -> None:
    """Print the time of psips over that of hyperfine, which may not have been there."""
    own = np.array([seconds(one) for one in lines])
    other = np.array([one["hyperfine"]["seconds"] for one in lines])
    needed = np.array([_needed(one) for one in lines])
    there = sum(one["hyperfine"]["reached"] for one in lines)
    draws = np.random.default_rng(1).integers(len(own), size=(4000, len(own)))
    total = own[draws].sum(axis=1) / other[draws].sum(axis=1)
    low, high = np.quantile(total, [0.025, 0.975])
    print(
        f"{what}: psips {own.mean():.1f} s (median {np.median(own):.1f}), hyperfine "
        f"{other.mean():.1f} s (at least: {there} of {len(lines)} were there); ratio of sums "
        f"{own.sum() / other.sum():.3f} ({low:.3f} to {high:.3f}), median ratio "
        f"{np.median(own / other):.3f}\n"
        f"  with as many runs of each as it needs: {needed.mean():.1f} s, ratio of sums "
        f"{own.sum() / needed.sum():.3f}, median ratio {np.median(own / needed):.3f}"
    )


def _by_hyperfine(lines: list[dict[str, Any]], x: Any) -> None:
    """Print how often intervals of ratios of times hold the truth, and the sets by its means.

    Ratios are those to the fastest that psips found, its own of geometric means, hyperfine's of
    arithmetic ones, and so are the truths that they are compared with. Sets are those of
    hyperfine's means, with memory and size as they are.
    """
    geometric, arithmetic = np.exp(x[..., 0].mean(axis=0)), np.exp(x[..., 0]).mean(axis=0)
    epsilon = np.full(len(METRICS), TOLERANCE)
    truth = np.stack([np.log(arithmetic), *x.mean(axis=0).T[1:]], axis=1)
    held, right = np.zeros((len(lines), 2)), 0
    for place, line in enumerate(lines):
        own = np.array(line["psips"]["ratios"])  # (K, 3)
        fastest = int(own[:, 0].argmin())
        rest = [k for k in range(len(PROGRAMS)) if k != fastest]
        held[place, 0] = _share(own[rest], geometric[rest] / geometric[fastest])
        times = line["hyperfine"]["times"]
        means = np.maximum([np.mean(one) for one in times], 1e-9)
        errors = np.array([np.std(one, ddof=1) / math.sqrt(len(one)) for one in times]) / means
        by = 1.645 * np.hypot(errors, errors[fastest])
        ratio = means / means[fastest]
        ends = np.stack([ratio, ratio * (1.0 - by), ratio * (1.0 + by)], axis=1)
        held[place, 1] = _share(ends[rest], arithmetic[rest] / arithmetic[fastest])
        seen = np.stack([np.log(means), *truth.T[1:]], axis=1)
        beaten = (seen[:, None] >= seen[None, :]).all(axis=2) & (
            seen[:, None] > seen[None, :]
        ).any(axis=2)
        right += is_right(-truth, ~beaten.any(axis=1), epsilon)
    error = held.std(axis=0, ddof=1) / math.sqrt(len(lines)) * 1.96
    for name, share, by in zip(("psips", "hyperfine"), held.mean(axis=0), error, strict=True):
        print(f"{name}: {share:.0%} (± {by:.0%}) of its 90% intervals of ratios hold the truth")
    print(f"sets by hyperfine's means: {right} of {len(lines)} right")


def _share(intervals: Any, truth: Any) -> float:
    """Return the share of intervals (n, 3) that hold the truth."""
    return float(((intervals[:, 1] <= truth) & (truth <= intervals[:, 2])).mean())


def _needed(line: dict[str, Any]) -> float:
    """Return the seconds hyperfine would take if it knew how many runs each command needs."""
    times, goal = line["hyperfine"]["times"], line["psips"]["widths"]
    overhead = line["hyperfine"]["seconds"] - sum(map(sum, times))
    overhead /= sum(map(len, times))  # of a run: its shell, and what comes between
    seconds = 0.0
    for one, width, wide in zip(times, goal, widths_of(times), strict=True):
        runs = max(len(one) * (wide / width) ** 2, 2.0)
        seconds += runs * (float(np.mean(one)) + overhead)
    return seconds


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("measure", "summary"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--waves", type=int, default=0)
    parser.add_argument("--patience", type=float, default=3.0)
    parser.add_argument("--out", type=Path, default=Path("acceptance.jsonl"))
    given = parser.parse_args()
    if given.what == "measure":
        out = given.out.absolute()
        measure(given.file, given.repeats, given.waves, given.patience, out)
    else:
        summary(given.file)


if __name__ == "__main__":
    main()
