"""Pages of a large study: how long they take, and how soon a result is seen by another browser.

python benchmarks/large_study.py --arms 1000 --results 100000
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from serve import start_server

from psips.problem import Problem
from psips.store import open_store
from psips.study import Study
from psips.web.client import Client

BATCH = 10_000  # results told at once


def fill(url: str, arms: int, results: int) -> None:
    rng = np.random.default_rng(1)
    means = rng.normal(size=(arms, 2))
    problem = Problem(
        objectives={"gain": "max", "cost": "min"},
        covariance=[1.0, 0.5],
        arms=[f"arm {i}" for i in range(arms)],
    )
    with open_store(url, create=True) as store:
        study = Study.create(problem, store, name="large", seed=1)
        chosen = np.concatenate([np.arange(arms), rng.integers(0, arms, results - arms)])
        values = rng.normal(means[chosen], [1.0, 0.7])
        for low in range(0, results, BATCH):
            rows = zip(chosen[low : low + BATCH], values[low : low + BATCH], strict=True)
            study.tell_many(
                {"arm": problem.arms[a], "gain": x, "cost": y} for a, (x, y) in rows
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", type=int, default=1000)
    parser.add_argument("--results", type=int, default=100_000)
    parser.add_argument("--entries", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'large.db'}"
        fill(url, given.arms, given.results)
        server, port = start_server(url)
        try:
            measure(f"http://127.0.0.1:{port}", given.entries)
        finally:
            server.terminate()
            server.wait(30)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def measure(base: str, entries: int) -> None:
    client = Client(base)
    began = time.perf_counter()
    client.status()
    print(f"read after the start: {time.perf_counter() - began:.1f} s")
    study = "/studies/large"
    tabs = [study, f"{study}/enter", f"{study}/results", f"{study}/results?sort=gain&q=9"]
    tabs += [f"{study}/comparisons", f"{study}/log", f"{study}/design", f"{study}/charts.json"]
    for path in ("/", *tabs, f"{study}/evidence.svg"):
        began = time.perf_counter()
        urllib.request.urlopen(f"{base}{path}").read()
        print(f"{path}: {time.perf_counter() - began:.2f} s")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        began = time.perf_counter()
        page.goto(f"{base}/studies/large", wait_until="domcontentloaded")
        print(f"page in a browser: {time.perf_counter() - began:.2f} s")
        page.wait_for_selector("html.drawn-by-script", timeout=60_000)
        print(f"interactive chart: {time.perf_counter() - began:.2f} s")
        seconds = []
        for _ in range(entries):
            event = int(page.get_attribute("#pulse", "data-event") or 0)
            began = time.perf_counter()
            client.tell("arm 1", [0.1, 0.2])
            seen = f'#pulse[data-event="{event + 1}"]'
            page.wait_for_selector(seen, state="attached")
            seconds.append(time.perf_counter() - began)
        print(f"{entries} results told are seen: {' '.join(f'{s:.2f}' for s in seconds)} s")
        print(f"median {np.median(seconds):.2f} s, at most {max(seconds):.2f} s")
        browser.close()


if __name__ == "__main__":
    main()
