"""Whether two cores give the same runs, and how long they take.

    PYTHONPATH=TREE/src python benchmarks/compare_cores.py record OUT [--only WORD] [--jobs N]
    python benchmarks/compare_cores.py diff A B [--only WORD] [--all]
    python benchmarks/compare_cores.py list [--only WORD]
    python benchmarks/compare_cores.py time TREE_A [TREE_B] [--only WORD] [--turns N]

`record` runs the cases of `cores` with the package that is imported and writes one line
each. Cases run in processes of their own kind, so that one that crashes or does not end is
recorded as such, and the others go on. `diff` says per case whether everything is equal to the
bit, else at which result the arm asked for differs first, or which field, and by how much.
`time` takes turns between two source trees, see `cores/timing.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 240.0  # seconds after which a case is given up
CLOSE = 1e-9  # relative: numbers that differ by less may differ by rounding
SHOWN = 6  # fields that differ, of a case


# ------------------------------------------------------------------------------ record


def work() -> None:
    """Run the cases named on standard input, and write a line for each."""
    from cores.cases import CASES

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a case prints is not part of the record
    for line in sys.stdin:
        out.write(json.dumps(run(CASES[line.strip()])) + "\n")
        out.flush()


def run(case: Any) -> dict[str, Any]:
    """Run one case; what it raises is a record too."""
    began = time.process_time()
    error, found = "", {}
    try:
        found = case.run(case.seed)
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    asks = found.pop("asks", [])
    return {
        "case": case.name,
        "seed": case.seed,
        "error": error,
        "rounds": len(asks),
        "digest": hashlib.sha256(json.dumps(asks).encode()).hexdigest()[:16],
        "first": asks[:12],
        "last": asks[-12:],
        "asks": " ".join(map(str, asks)),
        "found": found,
        "cpu": round(time.process_time() - began, 3),
    }


class Worker:
    """A process that runs cases; one that dies or hangs is replaced."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def do(self, name: str) -> dict[str, Any]:
        if self.process is None:
            words = [sys.executable, "-W", "ignore", __file__, "work"]
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(name + "\n")
        process.stdin.flush()
        timer = threading.Timer(PATIENCE, process.kill)
        began = time.monotonic()
        timer.start()
        line = process.stdout.readline()
        timer.cancel()
        if line:
            return dict(json.loads(line))
        code = process.wait()
        self.process = None
        late = time.monotonic() - began >= PATIENCE
        error = f"did not end in {PATIENCE:g} s" if late else f"crashed with code {code}"
        return {"case": name, "error": error, "rounds": 0, "asks": "", "found": {}, "cpu": 0.0}

    def end(self) -> None:
        if self.process is not None:
            self.process.communicate()


def record(out: Path, only: str, jobs: int) -> None:
    names = chosen(only)
    waiting: queue.Queue[str] = queue.Queue()
    for name in names:
        waiting.put(name)
    done: dict[str, dict[str, Any]] = {}
    lock = threading.Lock()
    with out.open("w") as file:

        def take_turns() -> None:
            worker = Worker()
            while True:
                try:
                    name = waiting.get_nowait()
                except queue.Empty:
                    break
                line = worker.do(name)
                with lock:
                    done[name] = line
                    file.write(json.dumps(line) + "\n")
                    file.flush()
                    said = line["error"][:60] or f"{line['rounds']} asks"
                    count = f"{len(done)}/{len(names)}"
                    print(f"{count} {name}: {line['cpu']:.2f} s, {said}", file=sys.stderr)
            worker.end()

        threads = [threading.Thread(target=take_turns) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with out.open("w") as file:  # in their order
        for name in names:
            file.write(json.dumps(done[name]) + "\n")
    errors = sum(bool(line["error"]) for line in done.values())
    cpu = sum(line["cpu"] for line in done.values())
    print(f"{len(done)} cases, {errors} of them errors, {cpu:.0f} CPU seconds: {out}")


def chosen(only: str) -> list[str]:
    from cores.cases import CASES

    names = [name for name in CASES if only in name]
    if not names:
        sys.exit(f"no case has {only!r} in its name")
    return names


# -------------------------------------------------------------------------------- diff


class Difference(NamedTuple):
    """A field that two cores do not agree on."""

    path: str
    one: Any
    other: Any
    relative: float  # infinite if it is not a number in both


def number(value: Any) -> float | None:
    """Return the number that a field is, None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        if not value.lstrip("-").startswith(("0x", "inf", "nan")):
            return None
        return float.fromhex(value)
    return float(value)


def differences(a: Any, b: Any, path: str = "") -> Iterator[Difference]:
    """Yield the fields that differ; one that only one core has does not count."""
    if a == b:
        return
    if isinstance(a, dict) and isinstance(b, dict):
        for key in a:
            if key in b:
                yield from differences(a[key], b[key], f"{path}.{key}".lstrip("."))
        return
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from differences(x, y, f"{path}[{k}]")
        return
    if isinstance(a, str) and isinstance(b, str) and " " in a and " " in b:
        parts, others = a.split(), b.split()  # several numbers in one text
        numbers = [number(one) for one in (*parts, *others) if one != "-"]
        if len(parts) == len(others) and None not in numbers and numbers:
            for k, (x, y) in enumerate(zip(parts, others, strict=True)):
                yield from differences(x, y, f"{path}.{k}")
            return
    x, y = number(a), number(b)
    if x is None or y is None:
        yield Difference(path, a, b, math.inf)
    elif x != y and not (math.isnan(x) and math.isnan(y)):
        size = max(abs(x), abs(y))
        relative = abs(x - y) / size if math.isfinite(size) else math.inf
        yield Difference(path, x, y, relative)


def only_in_one(a: Any, b: Any, path: str = "") -> Iterator[str]:
    """Yield the fields that only one core has."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in {**a, **b}:
            where = f"{path}.{key}".lstrip(".")
            if key in a and key in b:
                yield from only_in_one(a[key], b[key], where)
            else:
                yield where


KINDS = (
    *("equal", "rounding", "fields", "asks", "error", "missing"),
)  # of outcomes, the gravest last


class Verdict(NamedTuple):
    """How a case compares."""

    kind: str
    words: list[str]
    relative: float = 0.0


def compared(a: dict[str, Any] | None, b: dict[str, Any] | None) -> Verdict:
    """Compare the two records of one case."""
    if a is None or b is None:
        return Verdict("missing", ["only in " + ("B" if a is None else "A")])
    if a["error"] != b["error"]:
        said = [f"{name}: {one['error'] or 'no error'}" for name, one in (("A", a), ("B", b))]
        return Verdict("error", said)
    lone = list(only_in_one(a["found"], b["found"]))
    notes = [f"only in one: {', '.join(lone[:SHOWN])}"] if lone else []
    asks, others = a["asks"].split(), b["asks"].split()
    if asks != others:
        pairs = enumerate(zip(asks, others, strict=False))
        first = next((k for k, (x, y) in pairs if x != y), min(len(asks), len(others)))
        here, there = (one[first] if first < len(one) else "none" for one in (asks, others))
        words = [f"ask {first + 1} differs: arm {here} in A, {there} in B"]
        earlier = list(differences(a["found"].get("judged"), b["found"].get("judged")))
        if earlier:
            words.append(f"judgement differs first at {earlier[0].path}: {shown(earlier[0])}")
        ends = [one["found"].get("end", {}) for one in (a, b)]
        for what in ("results", "stopped", "candidate_set"):
            x, y = (end.get(what) for end in ends)
            words.append(f"{what}: {'the same' if x == y else f'{x} in A, {y} in B'}")
        return Verdict("asks", words + notes)
    found = list(differences(a["found"], b["found"]))
    if not found:
        return Verdict("equal", notes)
    most = max(one.relative for one in found)
    words = [f"{one.path}: {shown(one)}" for one in found[:SHOWN]]
    if len(found) > SHOWN:
        worst = max(found, key=lambda one: one.relative)
        words.append(f".. {len(found)} in all, at most at {worst.path}: {shown(worst)}")
    return Verdict("rounding" if most <= CLOSE else "fields", words + notes, most)


def shown(one: Difference) -> str:
    if math.isinf(one.relative):
        return f"{cut(one.one)} in A, {cut(one.other)} in B"
    return f"{one.one!r} and {one.other!r}, relative {one.relative:.2g}"


def cut(value: Any, most: int = 200) -> str:
    text = repr(value)
    return text if len(text) <= most else text[:most] + ".."


def read(path: Path) -> dict[str, dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["case"]: line for line in lines}


def diff(a: Path, b: Path, everything: bool, only: str = "") -> bool:
    """Print how the records compare; whether everything is equal to the bit."""
    one, other = read(a), read(b)
    groups: dict[str, Counter[str]] = {}
    relative: dict[str, float] = {}
    cpu: dict[str, list[float]] = {}
    for name in {**one, **other}:
        if only not in name:
            continue
        x, y = one.get(name), other.get(name)
        verdict = compared(x, y)
        group = name.split("/")[0]
        groups.setdefault(group, Counter())[verdict.kind] += 1
        relative[group] = max(relative.get(group, 0.0), verdict.relative)
        times = cpu.setdefault(group, [0.0, 0.0])
        if x is not None and y is not None:
            times[0] += x["cpu"]
            times[1] += y["cpu"]
        if verdict.kind != "equal" or everything or verdict.words:
            print(f"{name}: {verdict.kind}")
            for words in verdict.words:
                print(f"    {words}")
    heads = ["group", "cases", *KINDS, "largest", "CPU A", "CPU B"]
    rows = [
        [group, counts.total(), *(counts[kind] for kind in KINDS), f"{relative[group]:.1e}"]
        + [f"{seconds:.1f}" for seconds in cpu[group]]
        for group, counts in groups.items()
    ]
    whole = sum(groups.values(), Counter())
    seconds = [f"{sum(each):.1f}" for each in zip(*cpu.values(), strict=True)]
    most = f"{max(relative.values(), default=0.0):.1e}"
    rows.append(["all", whole.total(), *(whole[kind] for kind in KINDS), most, *seconds])
    print()
    widths = [max(len(str(row[k])) for row in [heads, *rows]) for k in range(len(heads))]
    for row in [heads, *rows]:
        cells = [str(cell) for cell in row]
        print(
            cells[0].ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True)),
        )
    print(
        "\nequal: to the bit; rounding: the same asks, numbers differ by at most "
        f"{CLOSE:g}; fields: the same asks, something else differs; asks: another arm was "
        "asked for; error: another error"
    )
    return whole["equal"] == whole.total()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    actions = parser.add_subparsers(dest="action", required=True)
    one = actions.add_parser("record")
    one.add_argument("out", type=Path)
    one.add_argument("--only", default="")
    one.add_argument("--jobs", type=int, default=1)
    one = actions.add_parser("diff")
    one.add_argument("a", type=Path)
    one.add_argument("b", type=Path)
    one.add_argument("--only", default="")
    one.add_argument("--all", action="store_true", help="list equal cases too")
    actions.add_parser("list").add_argument("--only", default="")
    actions.add_parser("work")
    one = actions.add_parser("time")
    one.add_argument("trees", nargs="+", help="one or two folders src, or src=PYTHON")
    one.add_argument("--only", default="")
    one.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    if given.action == "record":
        record(given.out, given.only, given.jobs)
    elif given.action == "diff":
        sys.exit(0 if diff(given.a, given.b, given.all, given.only) else 1)
    elif given.action == "list":
        print(*chosen(given.only), sep="\n")
    elif given.action == "work":
        work()
    else:
        from cores.timing import take_turns

        take_turns(given.trees, given.only, given.turns)


if __name__ == "__main__":
    main()
