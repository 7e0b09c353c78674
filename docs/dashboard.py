"""Pictures of `psips serve` and of a notebook: `python docs/dashboard.py` (needs Chromium)."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from playwright.sync_api import sync_playwright

from psips import Problem, Study
from psips.store import open_store
from psips.web.app import make_app
from psips.web.server import settings

FOLDER = Path(__file__).parent / "figures" / "serve"
NAME = "boosters"
BOOSTERS = {
    "Moderna": (5.0, 2.0),
    "half Moderna": (4.6, 1.2),
    "Pfizer": (4.0, 0.9),
    "Novavax": (3.2, 1.4),
    "Valneva": (2.0, 0.8),
    "CureVac": (2.5, 2.1),
}
PICTURES = {  # name: path, width, height, colours, what to wait for
    "overview": ("", 900, 1200, "light", "html.drawn-by-script"),
    "comparisons": ("/comparisons", 900, 1240, "light", ".order"),
    "enter": ("/enter", 390, 760, "light", "#tell"),
}


def make(url: str) -> None:
    """A study on its way, with open tickets."""
    rng = np.random.default_rng(4)
    times = (datetime(2026, 3, 2, 9, tzinfo=UTC) + timedelta(minutes=5 * k) for k in count())
    problem = Problem(
        objectives={"immune response": "max", "side effects": "min"},
        covariance=[1.0, 0.25],
        arms=list(BOOSTERS),
    )
    with open_store(url, create=True) as store:
        study = Study.create(problem, store, name=NAME, seed=1, clock=lambda: next(times))
        for _ in range(14):
            rows = []
            for ticket in study.ask(12):
                values = rng.normal(BOOSTERS[ticket.arm], (1.0, 0.5))
                row = dict(zip(problem.objectives, values.round(2), strict=True))
                rows.append({"ticket": ticket.id, **row})
            study.tell_many(rows)
        study.ask(3)


@contextmanager
def served(url: str) -> Iterator[str]:
    """Serve a store from a thread."""
    with open_store(url) as store, socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(settings(make_app(store)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            time.sleep(0.05)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/studies/{NAME}"
        finally:
            server.should_exit = True
            thread.join()


def take(browser: Any, base: str, name: str) -> None:
    """Take one picture."""
    path, width, height, colours, ready = PICTURES[name]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=colours)
    page.goto(f"{base}{path}")
    page.wait_for_selector(ready, state="attached")
    page.wait_for_timeout(1500)
    page.screenshot(path=FOLDER / f"{name}.png")
    page.close()


def take_card(browser: Any, url: str) -> None:
    """Take a picture of what a notebook shows."""
    with open_store(url) as store:
        card = Study.open(NAME, store)._repr_html_()
    page = browser.new_page(viewport={"width": 780, "height": 200})
    page.set_content(f"<!DOCTYPE html><html lang=en><title>psips</title>{card}")
    page.screenshot(path=FOLDER.parent / "notebook.png", full_page=True)
    page.close()


def main() -> None:
    """Make all of them."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'studies.db'}"
        make(url)
        with served(url) as base, sync_playwright() as driver:
            found = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
            for name in PICTURES:
                take(browser, base, name)
            take_card(browser, url)
            browser.close()


if __name__ == "__main__":
    main()
