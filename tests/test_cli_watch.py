"""``psips study watch``: what it shows, when it ends, and what it does at the stop."""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from psips import Problem, Study
from psips.cli import main
from psips.session.live import drawn

MEANS = {"A": (2.0, 0.0), "B": (0.0, 2.0), "<C> [bold]": (-1.5, -1.5)}


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with a study that has a result of each option."""
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    problem = Problem(objectives=["gain", "health"], covariance=[1, 1], arms=list(MEANS))
    study = Study.create(problem, url, name="trial", seed=1)
    for arm, mean in MEANS.items():
        study.tell(arm, mean)
    study.store.close()
    return url


def tell_until_the_stop(url: str) -> None:
    study = Study.open("trial", url)
    rng = np.random.default_rng(1)
    while not study.stopped:
        study.tell_many(
            [
                {"arm": arm, **dict(zip(("gain", "health"), rng.normal(mean), strict=True))}
                for arm, mean in MEANS.items()
            ]
        )
        time.sleep(0.05)
    study.store.close()


def watch(monkeypatch: pytest.MonkeyPatch, url: str, *more: str) -> int:
    words = ["psips", "study", "watch", "trial", "--store", url, "--every", "0.2", *more]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_it_follows_until_the_stop(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    others = threading.Thread(target=tell_until_the_stop, args=[url])

    def sleep(seconds: float) -> None:  # what was there first has been shown
        if others.ident is None:
            others.start()
        time.sleep(seconds)

    monkeypatch.setattr("psips.cli.watch.time", SimpleNamespace(sleep=sleep))
    assert watch(monkeypatch, url) == 3
    others.join()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("open after 3 measurements; A, B; right with probability ")
    assert "more results" in lines[0]
    assert lines[-1].startswith("stopped after ")
    assert "A, B" in lines[-1]
    assert len(lines) >= 2


def test_the_command_at_the_stop_gets_the_status(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell_until_the_stop(url)
    script = tmp_path / "note.py"
    script.write_text(
        "import sys, pathlib; pathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read())"
    )
    out = tmp_path / "note; touch injected"
    order = f"{sys.executable} {script} '{out}'"
    assert watch(monkeypatch, url, "--on-stop", order) == 3
    data = json.loads(out.read_text())
    assert (data["study"], data["stopped"]) == ("trial", True)
    assert data["pareto_set"] == ["A", "B"]
    assert not (tmp_path / "injected").exists()  # no shell reads it


def test_the_address_at_the_stop_gets_the_status(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tell_until_the_stop(url)
    got: list[dict[str, object]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["content-length"])
            got.append(json.loads(self.rfile.read(size)))
            self.send_response(200 if self.path == "/fine" else 500)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        base = f"http://127.0.0.1:{server.server_port}"
        assert watch(monkeypatch, url, "--on-stop", f"{base}/fine") == 3
        assert got[0]["stopped"] is True
        assert watch(monkeypatch, url, "--on-stop", f"{base}/broken") == 1
        assert "--on-stop was not carried out" in capsys.readouterr().err
    finally:
        server.shutdown()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--every", "0"), "--every must lie between"),
        (("--on-stop", "no-such-command now"), "there is no such command"),
        (("--on-stop", "echo 'open"), "cannot be read"),
        (("--on-stop", ""), "must be a command or an address"),
    ],
)
def test_what_is_refused_at_the_start(
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    says: str,
) -> None:
    assert watch(monkeypatch, url, *words) == 2
    assert says in capsys.readouterr().err


def test_a_command_that_fails_is_said(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tell_until_the_stop(url)
    order = f"{sys.executable} -c 'raise SystemExit(7)'"
    assert watch(monkeypatch, url, "--on-stop", order) == 1
    assert "it ended with code 7" in capsys.readouterr().err


def test_a_closed_study_is_not_watched_for_ever(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = Study.open("trial", url)
    study.close()
    study.store.close()
    assert watch(monkeypatch, url) == 0
    assert "closed after 3 measurements" in capsys.readouterr().out


def test_names_are_texts_in_a_terminal(url: str) -> None:
    study = Study.open("trial", url)
    console = Console(width=90, force_terminal=True, color_system=None, record=True)
    console.print(drawn(study.name, study.problem, study.status()))
    text = console.export_text()
    assert "<C> [bold]" in text
    assert text.index("A ") < text.index("<C>")  # the likeliest are at the top
    study.store.close()
