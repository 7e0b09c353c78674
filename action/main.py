"""What `action.yml` runs: a command of psips, the summary of the run, and one comment.

Everything comes in by environment variables and is never part of a shell command. Where the
comment cannot be written (a pull request from a fork has a token that only reads), the
summary of the run has it all, and the step says so.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

PER_PAGE, PAGES = 100, 30  # comments that are looked through for ours
WORSE, BAD_INPUT = 1, 2
TIMEOUT = 30  # seconds of a request
WRITERS = ("OWNER", "MEMBER", "COLLABORATOR")  # whose comments may be ours, besides bots
MOST = 65_000  # characters of a comment


def main() -> int:
    """Run it all; return the exit code of the step."""
    command = shlex.split(os.environ["PSIPS_COMMAND"])
    if "--format" not in command:
        command += ["--format", "github"]
    done = subprocess.run(
        [sys.executable, "-m", "psips", *command],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    found = Path(os.environ.get("RUNNER_TEMP", ".")) / "psips.md"
    found.write_text(done.stdout, encoding="utf-8")
    append("GITHUB_OUTPUT", f"code={done.returncode}\nmarkdown={found}\n")
    if not done.stdout:
        print(f"::error::psips ended with code {done.returncode} and said why above")
        return done.returncode or WORSE
    append("GITHUB_STEP_SUMMARY", done.stdout + "\n")
    if os.environ.get("PSIPS_COMMENT", "true") == "true":
        comment(done.stdout)
    fails = done.returncode >= BAD_INPUT or os.environ.get("PSIPS_FAIL", "true") == "true"
    return done.returncode if fails and done.returncode != 3 else 0


def append(variable: str, text: str) -> None:
    """Add a text to one of the files that the runner reads."""
    path = os.environ.get(variable)
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def comment(text: str) -> None:
    """Write the comment, or write over the one of before."""
    number = pull_request()
    if not number:
        print("psips: this run is of no pull request, so there is no comment")
        return
    mark = f"<!-- psips: {name()} -->"
    body = f"{mark}\n{text}"[:MOST]
    repository = os.environ["GITHUB_REPOSITORY"]
    try:
        ours = find(f"repos/{repository}/issues/{number}/comments", mark)
        if ours is None:
            call("POST", f"repos/{repository}/issues/{number}/comments", {"body": body})
        else:
            call("PATCH", f"repos/{repository}/issues/comments/{ours}", {"body": body})
    except (urllib.error.URLError, TimeoutError, ValueError) as error:
        print(
            f"::warning::psips could not comment ({one_line(error)}); the summary of this run "
            "has what it found. A comment needs 'permissions: pull-requests: write', and a "
            "pull request from a fork has a token that only reads"
        )


def name() -> str:
    """Return the name that tells comments apart; nothing in it ends the mark."""
    given = os.environ.get("PSIPS_NAME", "psips")
    return "".join(c if c.isalnum() or c in " ._" else "_" for c in given)[:100]


def pull_request() -> int:
    """Return the number of the pull request; 0 if there is none."""
    given = os.environ.get("PSIPS_PULL_REQUEST", "").strip()
    if given:
        return int(given) if given.isdecimal() else 0
    path = os.environ.get("GITHUB_EVENT_PATH")
    if not path or not Path(path).is_file():
        return 0
    event = json.loads(Path(path).read_text(encoding="utf-8"))
    found = (event.get("pull_request") or {}).get("number") or 0
    return int(found)


def find(address: str, mark: str) -> int | None:
    """Return our comment of an earlier run: by the mark, and by who wrote it."""
    for page in range(1, PAGES + 1):
        comments = call("GET", f"{address}?per_page={PER_PAGE}&page={page}")
        for one in comments:
            writes = (one.get("user") or {}).get("type") == "Bot"
            writes = writes or one.get("author_association") in WRITERS
            if writes and (one.get("body") or "").startswith(mark):
                return int(one["id"])
        if len(comments) < PER_PAGE:
            return None
    return None


def call(method: str, address: str, data: dict[str, Any] | None = None) -> Any:
    """Make a request of GitHub."""
    base = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    request = urllib.request.Request(
        f"{base}/{address}",
        method=method,
        data=None if data is None else json.dumps(data).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {os.environ.get('PSIPS_TOKEN', '')}",
            "Content-Type": "application/json",
            "User-Agent": "psips",
        },
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        return json.loads(answer.read())


def one_line(error: object) -> str:
    """Return an error as it may stand in a command of the runner's log."""
    return " ".join(str(error).split()).replace("%", "%25")


if __name__ == "__main__":
    sys.exit(main())
