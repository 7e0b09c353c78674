"""What is compiled when: CPU seconds of the first `psips demo`, and of what comes after it.

    python benchmarks/compiling.py [ENTRY ...]

The demo runs with an empty cache of compiled code, and once more. Every other command runs
with a copy of the cache that the demo left, and once more. The second run compiles nothing;
the difference is what was compiled. User CPU time is taken, which other processes hardly
change; Markdown is printed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

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
ONE = ["simulate", "cov-boost", "--runs", "1", "--max-samples", "3000"]
ENTRIES = {
    "simulate, as the demo": ONE,
    "--stopping certified": [*ONE, "--stopping", "certified"],
    "--stopping predicted, to its stop": [*ONE[:-1], "50000", "--stopping", "predicted"],
    "--stopping glr --calibration heuristic": [*ONE, "--calibration", "heuristic"],
    "--stopping bayes": [*ONE, "--stopping", "bayes"],
    "--sampling posterior (PSIPS as published)": [*ONE, "--sampling", "posterior"],
    "--sampling ape (a rival)": [*ONE, "--sampling", "ape"],
    "--sampling track-and-stop (a rival)": [*ONE, "--sampling", "track-and-stop"],
    "simulate noc (with features)": ["simulate", "noc", "--runs", "1"],
    "study create and ask, no results": ["study", "ask", "fresh", "-n", "6"],
    "study status": ["study", "status", "trial"],
    "report": ["report", "trial", "--out", "report.html", "--overwrite"],
    "plan": ["plan", "design.toml", "--runs", "2"],
    "complexity": ["complexity", "cov-boost"],
}


def cpu_seconds(arguments: list[str], cache: Path, folder: Path) -> float:
    """Run the command line with a cache and return the user CPU time it took."""
    command = [sys.executable, "-m", "psips", *arguments]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    if "src" in os.environ.get("PYTHONPATH", ""):
        environment["PYTHONPATH"] = str(Path(os.environ["PYTHONPATH"]).resolve())
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    said = process.stdout.read().decode()
    _, code, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(code) != 0:
        raise SystemExit(f"psips {' '.join(arguments)} failed:\n{said}")
    return used.ru_utime


def main(wanted: list[str]) -> None:
    """Measure and print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder, demo = Path(name), Path(name, "demo")
        (folder / "design.toml").write_text(DESIGN)
        (folder / "results.csv").write_text(RESULTS)
        first = cpu_seconds(["demo"], demo, folder)
        again = cpu_seconds(["demo"], demo, folder)
        print("| first of its kind | CPU s | the second time | compiled |")
        print("|---|---|---|---|")
        print(f"| `psips demo` | {first:.1f} | {again:.1f} | {first - again:.1f} |", flush=True)
        aside = folder / "aside"  # the study is made with a cache that nothing else uses
        for trial in ("trial", "fresh"):
            create = ["study", "create", "design.toml", "--name", trial]
            cpu_seconds(create, aside, folder)
        cpu_seconds(["study", "tell", "trial", "--csv", "results.csv"], aside, folder)
        for entry, arguments in ENTRIES.items():
            if wanted and not any(word in entry for word in wanted):
                continue
            cache = folder / "cache"
            shutil.copytree(demo, cache)
            first = cpu_seconds(arguments, cache, folder)
            again = cpu_seconds(arguments, cache, folder)
            print(f"| {entry} | {first:.1f} | {again:.1f} | {first - again:.1f} |", flush=True)
            shutil.rmtree(cache)


if __name__ == "__main__":
    main(sys.argv[1:])
