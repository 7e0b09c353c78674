"""The action for pull requests: one comment, kept up to date, against a GitHub of our own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAIN = ROOT / "action" / "main.py"


class Forge:
    """Comments of one pull request, over HTTP as GitHub has them."""

    def __init__(self) -> None:
        self.comments: list[dict] = []
        self.refuse = False
        self.requests: list[str] = []
        forge = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *given: object) -> None:
                pass

            def answer(self, code: int, data: object) -> None:
                body = json.dumps(data).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def body(self) -> str:
                size = int(self.headers["Content-Length"])
                return json.loads(self.rfile.read(size))["body"]

            def do_GET(self) -> None:
                forge.requests.append(self.path)
                assert self.headers["Authorization"] == "Bearer secret"
                page = int(re.search(r"&page=(\d+)", self.path)[1])
                self.answer(200, forge.comments[100 * (page - 1) : 100 * page])

            def do_POST(self) -> None:
                assert self.path == "/repos/o/r/issues/7/comments"
                if forge.refuse:
                    self.body()
                    self.answer(403, {"message": "Resource not accessible by integration"})
                    return
                forge.add(self.body())
                self.answer(201, {})

            def do_PATCH(self) -> None:
                number = int(self.path.rpartition("/")[2])
                one = next(c for c in forge.comments if c["id"] == number)
                one["body"] = self.body()
                self.answer(200, {})

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def add(self, body: str, kind: str = "Bot", role: str = "NONE") -> None:
        number = len(self.comments) + 1
        user = {"type": kind}
        one = {"id": number, "body": body, "user": user, "author_association": role}
        self.comments.append(one)


@pytest.fixture
def forge() -> Iterator[Forge]:
    made = Forge()
    yield made
    made.server.shutdown()
    made.server.server_close()


def write(path: Path, shift: float) -> None:
    rows = [f"a,q{j},{j % 7 + shift + 0.01 * (j * 7919 % 13)}" for j in range(40)]
    path.write_text("\n".join(["arm,item,seconds", *rows]))


def act(forge: Forge, folder: Path, command: str, **inputs: str):
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "GITHUB_API_URL": forge.url,
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "RUNNER_TEMP": str(folder),
        "PSIPS_COMMAND": command,
        "PSIPS_TOKEN": "secret",
        **{f"PSIPS_{key.upper()}": text for key, text in inputs.items()},
    }
    return subprocess.run(
        [sys.executable, MAIN], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


def test_one_comment_is_kept(forge: Forge, tmp_path: Path) -> None:
    write(tmp_path / "base.csv", 0.0)
    write(tmp_path / "new.csv", 1.0)
    mark = "<!-- psips: psips -->"
    forge.add(f"{mark}\nnot by us", kind="User")  # anyone can write the mark
    for _ in range(100):
        forge.add("other")
    done = act(forge, tmp_path, "compare base.csv new.csv")
    assert done.returncode == 1, done.stderr
    assert len(forge.comments) == 102
    assert forge.comments[-1]["body"].startswith(f"{mark}\n> [!CAUTION]")
    assert "code=1\n" in (tmp_path / "output").read_text()
    assert "[!CAUTION]" in (tmp_path / "summary.md").read_text()
    again = act(forge, tmp_path, "compare base.csv base.csv")
    assert again.returncode == 0
    assert len(forge.comments) == 102
    assert "[!NOTE]" in forge.comments[-1]["body"]
    assert forge.comments[0]["body"].endswith("not by us")
    assert len([r for r in forge.requests if "page=2" in r]) == 2
    other = act(forge, tmp_path, "compare base.csv base.csv", name="x --> <b>")
    assert other.returncode == 0
    assert len(forge.comments) == 103
    assert forge.comments[-1]["body"].startswith("<!-- psips: x ___ _b_ -->\n")


def test_a_token_that_only_reads_is_no_failure(forge: Forge, tmp_path: Path) -> None:
    write(tmp_path / "base.csv", 0.0)
    forge.refuse = True
    done = act(forge, tmp_path, "compare base.csv base.csv")
    assert done.returncode == 0
    assert "::warning::psips could not comment (HTTP Error 403" in done.stdout
    assert "[!NOTE]" in (tmp_path / "summary.md").read_text()


def test_what_fails_a_step(forge: Forge, tmp_path: Path) -> None:
    write(tmp_path / "base.csv", 0.0)
    write(tmp_path / "new.csv", 1.0)
    assert act(forge, tmp_path, "compare base.csv new.csv", fail="false").returncode == 0
    done = act(forge, tmp_path, "compare base.csv nowhere.csv", fail="false")
    assert done.returncode == 2
    assert "nowhere.csv" in done.stderr
    assert len(forge.comments) == 1
    done = act(forge, tmp_path, "compare base.csv base.csv", comment="false")
    assert done.returncode == 0
    assert "[!CAUTION]" in forge.comments[0]["body"]


def test_nothing_of_the_command_is_run_by_a_shell(forge: Forge, tmp_path: Path) -> None:
    write(tmp_path / "base.csv", 0.0)
    act(forge, tmp_path, "compare base.csv '$(touch owned)'; touch owned", comment="false")
    assert not (tmp_path / "owned").exists()


def test_the_action_and_the_workflow_of_the_page_fit_together() -> None:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]  # inputs reach commands as variables alone
    passed = set(action["runs"]["steps"][1]["env"])
    read = set(re.findall(r"PSIPS_[A-Z_]+", MAIN.read_text()))
    assert read <= passed
    page = (ROOT / "docs" / "pull-requests.md").read_text()
    flows = [yaml.safe_load(t) for t in re.findall(r"```yaml\n(.*?)```", page, re.S)]
    assert flows
    used = [
        step["with"]
        for flow in flows
        for job in flow["jobs"].values()
        for step in job["steps"]
        if "psips@" in step.get("uses", "")
    ]
    assert used
    for given in used:
        assert set(given) <= set(action["inputs"])
